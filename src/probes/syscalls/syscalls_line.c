/* See syscalls_line.h. */
#include "probes/syscalls/syscalls_line.h"

#include <string.h>

#include "probes/syscalls/syscalls_pointed.h"
#include "sys/calls/quoted.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscall_flags.h"
#include "sys/calls/syscall_value.h"
#include "sys/calls/syscalls.h"

/* Calls that are written, or whose result is, in a way of their own. */
enum special {
	PLAIN,
	CLONE,
	FCNTL,
	FUTEX,
	IOCTL,
	MAPS, /* returns an address */
	MREMAP,
	OPEN,
	OPENAT,
	POSITION, /* of a vector: in two arguments, of which the first is enough */
	PRCTL,
	POLL,
	PSELECT,
	SELECT,
	UMASK,
};

static const struct {
	const char *name;
	u8 special;
} specials[] = {
	{"brk", MAPS},
	{"clone", CLONE},
	{"fcntl", FCNTL},
	{"futex", FUTEX},
	{"ioctl", IOCTL},
	{"mmap", MAPS},
	{"mmap2", MAPS},
	{"mremap", MREMAP},
	{"open", OPEN},
	{"openat", OPENAT},
	{"poll", POLL},
	{"ppoll", POLL},
	{"prctl", PRCTL},
	{"pselect6", PSELECT},
	{"select", SELECT},
	{"preadv", POSITION},
	{"preadv2", POSITION},
	{"pwritev", POSITION},
	{"pwritev2", POSITION},
	{"shmat", MAPS},
	{"umask", UMASK},
};

/* What is known of a call, found once. */
struct known {
	const char *name;
	const u8 *args;
	u8 special;
	bool found;
};

/* A call being written. */
struct line {
	struct str *s;
	const struct syscalls_call *c;
	const char *name;
	const u8 *args;
	u8 special;
};

u32 syscalls_copied_bytes(const struct syscalls_call *c)
{
	u32 n = 0;

	for (u32 k = 0; k < SYSCALLS_COPIES; k++)
		n += c->copied[k];
	return n;
}

bool syscalls_call_valid(const struct syscalls_call *c)
{
	return c->h.size >= sizeof(*c) && syscalls_copied_bytes(c) <= c->h.size - sizeof(*c);
}

static struct known known_find(u32 abi, u32 nr)
{
	bool compat = abi == SYSCALL_COMPAT;
	struct known k = {
		.name = compat ? syscall_compat_name(nr) : syscall_name(nr), .found = true};

	k.args = k.name ? syscall_args_of(k.name, compat) : NULL;
	for (size_t i = 0; k.name && i < ARRAY_SIZE(specials); i++)
		if (!strcmp(specials[i].name, k.name))
			k.special = specials[i].special;
	return k;
}

static struct known known_of(u32 abi, u32 nr)
{
	static struct known all[2][SYSCALL_NUMBERS];
	struct known *k = &all[abi == SYSCALL_COMPAT][nr % SYSCALL_NUMBERS];

	if (nr >= SYSCALL_NUMBERS)
		return known_find(abi, nr);
	if (!k->found)
		*k = known_find(abi, nr);
	return *k;
}

bool syscalls_args_known(u32 abi, u32 nr)
{
	return known_of(abi, nr).args;
}

void syscalls_name_add(struct str *s, u32 abi, u32 nr)
{
	const char *name = known_of(abi, nr).name;

	str_add(s, abi == SYSCALL_COMPAT ? "compat:" : abi == SYSCALL_X32 ? "x32:" : "");
	if (name)
		str_add(s, name);
	else
		str_addf(s, "syscall_%d", (s32)nr);
}

static void clone_flags_add(struct str *s, u64 flags)
{
	u64 signal = flags & 0x7f; /* CSIGNAL; the bits above are CLONE_NEWTIME's in unshare */

	if (flags & ~0x7fULL || !signal)
		flags_add(s, clone_flags, flags & ~0x7fULL);
	if (!signal)
		return;
	if (flags & ~0x7fULL)
		str_addc(s, '|');
	signal_add(s, signal);
}

/* Of fcntl: what it is depends on the command. */
static void lock_add(struct line *l, u32 i)
{
	u64 command = l->c->args[1], v = l->c->args[i];

	switch (command) {
	case 2: /* F_SETFD */
		flags_add(l->s, descriptor_flags, (u32)v);
		break;
	case 4: /* F_SETFL */
		flags_add(l->s, open_flags, (u32)v);
		break;
	case 5: /* F_GETLK to F_SETLKW, F_OFD_* */
	case 6:
	case 7:
	case 36:
	case 37:
	case 38:
		if (!syscalls_pointed_add(l->s, l->c, ARG_FLOCK, i))
			pointer_add(l->s, v);
		break;
	case 10: /* F_SETSIG */
		signal_add(l->s, (u32)v);
		break;
	case 0: /* F_DUPFD, F_SETOWN, F_DUPFD_CLOEXEC, F_SETPIPE_SZ */
	case 8:
	case 1030:
	case 1031:
		str_add_s64(l->s, (s32)v);
		break;
	default:
		str_add_hex(l->s, v);
	}
}

static void hex_add(struct str *s, u64 v)
{
	if (v)
		str_add_hex(s, v);
	else
		str_addc(s, '0');
}

/* Numbers and names. false: it is an address. */
static bool syscalls_line_value_add(struct line *l, u32 i)
{
	u64 v = l->c->args[i];

	switch (l->args[i]) {
	case ARG_INT:
	case ARG_FD:
		str_add_s64(l->s, (s32)v);
		return true;
	case ARG_AT:
		if ((s32)v == -100)
			str_add(l->s, "AT_FDCWD");
		else
			str_add_s64(l->s, (s32)v);
		return true;
	case ARG_UINT:
		str_add_u64(l->s, (u32)v);
		return true;
	case ARG_LONG:
		str_add_s64(l->s, l->c->abi == SYSCALL_COMPAT ? (s32)v : (s64)v);
		return true;
	case ARG_ULONG:
		str_add_u64(l->s, v);
		return true;
	case ARG_OCT:
		str_addf(l->s, v & 07777 ? "0%llo" : "%llo", v & 0xffff);
		return true;
	case ARG_HEX:
		hex_add(l->s, v);
		return true;
	case ARG_SIGNAL:
		signal_add(l->s, (u32)v);
		return true;
	case ARG_IOCTL:
		ioctl_add(l->s, (u32)v);
		return true;
	case ARG_CLONE:
		clone_flags_add(l->s, v);
		return true;
	case ARG_FLOCK:
		lock_add(l, i);
		return true;
	case ARG_LEVEL:
		socket_level_add(l->s, (u32)v);
		return true;
	case ARG_OPTION:
		socket_option_add(l->s, (u32)l->c->args[i - 1], (u32)v);
		return true;
	case ARG_PROTOCOL:
		protocol_add(l->s, (u32)l->c->args[0], (u32)v);
		return true;
	}
	return false;
}

static void arg_add(struct line *l, u32 i)
{
	const struct flag *flags = syscall_flags(l->args[i]);

	if (flags)
		flags_add(l->s, flags, (u32)l->c->args[i]);
	else if (!syscalls_line_value_add(l, i) &&
		 !syscalls_pointed_add(l->s, l->c, l->args[i], i)) {
		if (l->args[i] == ARG_IOCTL_ARG)
			hex_add(l->s, l->c->args[i]);
		else
			pointer_add(l->s, l->c->args[i]);
	}
}

/* How many of a futex's arguments its operation takes. */
static u32 futex_args(u64 op)
{
	static const u8 n[] = {4, 3, 3, 5, 6, 6, 4, 2, 2, 6, 6, 5, 6, 4};
	u64 command = op & FUTEX_CMD_MASK;

	return command < ARRAY_SIZE(n) ? n[command] : SYSCALL_ARGS;
}

/* Arguments that mean nothing with the flags or command before them are left out, as by strace. */
static u32 args_written(const struct line *l)
{
	const u64 *v = l->c->args;
	u32 n = 0;

	while (n < SYSCALL_ARGS && l->args[n])
		n++;
	switch (l->special) {
	case OPEN:
		return v[1] & OPEN_CREATES ? 3 : 2;
	case OPENAT:
		return v[2] & OPEN_CREATES ? 4 : 3;
	case FUTEX:
		return futex_args(v[1]);
	case MREMAP:
		return v[3] & 2 ? 5 : 4;
	case FCNTL: /* F_GETFD, F_GETFL, F_GETOWN, F_GETSIG, F_GETPIPE_SZ, F_GET_SEALS */
		return v[1] == 1 || v[1] == 3 || v[1] == 9 || v[1] == 11 || v[1] == 1032 ||
				       v[1] == 1034
			       ? 2
			       : 3;
	case IOCTL: /* FIONCLEX, FIOCLEX */
		return v[1] == 0x5450 || v[1] == 0x5451 ? 2 : 3;
	case PRCTL:
		while (n > 1 && !v[n - 1])
			n--;
	}
	return n;
}

/* As strace, in an order that is easier to read, and without what the flags do not ask for. */
static void clone_add(struct line *l)
{
	const u64 *v = l->c->args;

	str_add(l->s, "child_stack=");
	pointer_add(l->s, v[1]);
	str_add(l->s, ", flags=");
	clone_flags_add(l->s, v[0]);
	if (v[0] & 0x100000) { /* CLONE_PARENT_SETTID */
		str_add(l->s, ", parent_tid=");
		pointer_add(l->s, v[2]);
	}
	if (v[0] & 0x1200000) { /* CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID */
		str_add(l->s, ", child_tidptr=");
		pointer_add(l->s, v[l->c->abi == SYSCALL_COMPAT ? 4 : 3]);
	}
}

/* The parameters of "int fd, struct stat * buf" as "fd=3, buf=0x7ffe...". */
static void described_add(struct line *l, const char *text)
{
	for (u32 i = 0; *text && i < SYSCALL_ARGS; i++) {
		size_t n = strcspn(text, ","), name = n;

		while (name && text[name - 1] != ' ' && text[name - 1] != '*')
			name--;
		str_add(l->s, i ? ", " : "");
		for (size_t k = name; k < n; k++)
			byte_add(l->s, (unsigned char)text[k], 0);
		str_addf(l->s, "=0x%llx", l->c->args[i]);
		text += n;
		text += strspn(text, ", ");
	}
}

static void unknown_add(struct line *l, const struct stream *names)
{
	const char *text = stream_enum(names, SYSCALLS_ARGS_SET, (u64)l->c->abi << 32 | l->c->nr);

	if (text) {
		described_add(l, text);
		return;
	}
	for (u32 i = 0; i < SYSCALL_ARGS; i++)
		str_addf(l->s, "%s0x%llx", i ? ", " : "", l->c->args[i]);
}

void syscalls_call_add(struct str *s, const struct stream *names, const struct syscalls_call *c)
{
	struct known k = known_of(c->abi, c->nr);
	struct line l = {s, c, k.name, k.args, k.special};
	u32 n = l.args ? args_written(&l) : 0;

	syscalls_name_add(s, c->abi, c->nr);
	str_addc(s, '(');
	if (!l.args)
		unknown_add(&l, names);
	else if (l.special == CLONE)
		clone_add(&l);
	for (u32 i = 0; i < n && l.special != CLONE; i++) {
		if (l.special == POSITION && i == 4)
			continue;
		if (i)
			str_addn(s, ", ", 2);
		arg_add(&l, i);
	}
	str_addc(s, ')');
}

/* 0x8002 (flags O_RDWR|O_LARGEFILE) */
static void fcntl_result_add(struct str *s, const struct syscalls_call *c)
{
	bool descriptor = c->args[1] == 1;

	if (c->ret && c->args[1] == 11) { /* F_GETSIG */
		str_addf(s, "%lld (", c->ret);
		signal_add(s, (u64)c->ret);
		str_addc(s, ')');
		return;
	}
	if (!c->ret || (!descriptor && c->args[1] != 3)) {
		str_add_s64(s, c->ret);
		return;
	}
	str_addf(s, "0x%llx (flags ", (u64)c->ret);
	flags_add(s, descriptor ? descriptor_flags : open_flags, (u64)c->ret);
	str_addc(s, ')');
}

static void value_result_add(struct str *s, const struct syscalls_call *c)
{
	switch (known_of(c->abi, c->nr).special) {
	case MAPS:
	case MREMAP:
		str_add_hex(s, (u64)c->ret);
		break;
	case FCNTL:
		fcntl_result_add(s, c);
		break;
	case UMASK:
		str_addf(s, "%#03llo", (u64)c->ret);
		break;
	case POLL:
		str_add_s64(s, c->ret);
		syscalls_polled_add(s, c, 0);
		break;
	case PSELECT:
	case SELECT:
		str_add_s64(s, c->ret);
		syscalls_selected_add(s, c, known_of(c->abi, c->nr).special == SELECT);
		break;
	default:
		str_add_s64(s, c->ret);
	}
}

void syscalls_result_add(struct str *s, const struct syscalls_call *c)
{
	u64 error = (u64)-c->ret;
	const char *name;

	if (c->flags & SYSCALLS_UNDER_WAY) {
		str_add(s, "? (under way)");
	} else if (c->flags & SYSCALLS_NO_END) {
		str_add(s, "?");
	} else if (c->ret < 0 && c->ret >= -4095) {
		name = error_name(error);
		str_add(s, error >= 512 && error <= 516 ? "? " : "-1 ");
		if (name)
			str_addf(s, "%s (%s)", name, error_text(error));
		else
			str_addf(s, "error %llu", error);
	} else {
		value_result_add(s, c);
	}
	if (c->flags & SYSCALLS_REFUSED)
		str_add(s, " (refused before it began)");
}
