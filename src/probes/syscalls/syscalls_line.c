/* See syscalls_line.h. */
#include "probes/syscalls/syscalls_line.h"

#include <string.h>

#include "sys/syscall_args.h"
#include "sys/syscall_flags.h"
#include "sys/syscalls.h"

/* A call being written. */
struct line {
	struct str *s;
	const struct syscalls_call *c;
	const char *name;
	const u8 *args;
	u32 n; /* of args that are written */
};

bool syscalls_call_valid(const struct syscalls_call *c)
{
	return c->h.size >= sizeof(*c) &&
	       (u32)c->copied[0] + c->copied[1] <= c->h.size - sizeof(*c);
}

static const char *name_of(u32 abi, u32 nr)
{
	return abi == SYSCALL_COMPAT ? syscall_compat_name(nr) : syscall_name(nr);
}

void syscalls_name_add(struct str *s, u32 abi, u32 nr)
{
	const char *name = name_of(abi, nr);

	str_add(s, abi == SYSCALL_COMPAT ? "compat:" : abi == SYSCALL_X32 ? "x32:" : "");
	if (name)
		str_add(s, name);
	else
		str_addf(s, "syscall_%d", (s32)nr);
}

/* What was copied of argument i; NULL: nothing. */
static const char *copied_of(const struct line *l, u32 i, u32 *ret_n, bool *ret_cut)
{
	const char *text = (const char *)(l->c + 1);

	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		if ((l->c->copy[k] & SYSCALLS_COPY_ARG) != i + 1) {
			text += l->c->copied[k];
			continue;
		}
		*ret_n = l->c->copied[k];
		*ret_cut = l->c->flags & SYSCALLS_CUT_0 << k;
		return l->c->flags & SYSCALLS_FAULTED_0 << k ? NULL : text;
	}
	return NULL;
}

/* As C has it: in octal, with three digits where a digit follows. */
static void byte_add(struct str *s, unsigned char c, char next)
{
	static const char plain[] = "\n\t\r\"\\", letters[] = "ntr\"\\";
	const char *p = c ? strchr(plain, c) : NULL;

	if (p)
		str_addf(s, "\\%c", letters[p - plain]);
	else if (c >= 0x20 && c < 0x7f)
		str_addc(s, (char)c);
	else
		str_addf(s, next >= '0' && next <= '9' ? "\\%03o" : "\\%o", c);
}

/* Of characters beyond ASCII those are left as they are that text may have. */
static void quoted_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '"');
	while (n) {
		size_t len = utf8_len(p, n);
		bool c1 = len == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0;

		if (len < 2 || c1) {
			byte_add(s, (unsigned char)*p, n > 1 ? p[1] : 0);
			len = 1;
		} else {
			str_addn(s, p, len);
		}
		p += len;
		n -= (u32)len;
	}
	str_add(s, cut ? "\"..." : "\"");
}

static void pointer_add(struct str *s, u64 v)
{
	if (v)
		str_addf(s, "0x%llx", v);
	else
		str_add(s, "NULL");
}

static u64 word_at(const char *p, u32 i)
{
	u64 v;

	memcpy(&v, p + i * sizeof(v), sizeof(v));
	return v;
}

static void event_add(struct str *s, const char *p)
{
	u32 events;
	u64 data;

	memcpy(&events, p, sizeof(events));
	memcpy(&data, p + sizeof(events), sizeof(data));
	str_add(s, "{events=");
	flags_add(s, epoll_events, events);
	str_addf(s, ", data=0x%llx}", data);
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

/* ["cat", "/etc/hostname"]; n counts NULs. */
static void argv_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '[');
	for (u32 at = 0; at < n;) {
		u32 len = (u32)strnlen(p + at, n - at);

		str_add(s, at ? ", " : "");
		quoted_add(s, p + at, len, cut && at + len + 1 >= n);
		at += len + 1;
	}
	str_add(s, cut ? ", ...]" : "]");
}

static void clone3_add(struct str *s, const char *p)
{
	str_add(s, "{flags=");
	flags_add(s, clone_flags, word_at(p, 0));
	str_add(s, ", exit_signal=");
	signal_add(s, word_at(p, 4));
	str_add(s, ", stack=");
	pointer_add(s, word_at(p, 5));
	str_addf(s, ", stack_size=0x%llx}", word_at(p, 6));
}

/* What an argument points to. false: it is not known. */
static bool pointed_add(struct line *l, u32 i)
{
	u32 n = 0;
	bool cut = false;
	const char *p = copied_of(l, i, &n, &cut);
	s32 pair[2];

	if (!p)
		return false;
	switch (l->args[i]) {
	case ARG_STR:
	case ARG_IN:
		if (l->args[i] == ARG_IN && !n && l->c->args[MIN(i + 1, 5U)])
			return false;
		quoted_add(l->s, p, n, cut);
		return true;
	case ARG_OUT:
		if (l->c->ret < 0)
			return false;
		quoted_add(l->s, p, n, cut);
		return true;
	case ARG_ARGV:
		if (!n)
			return false;
		argv_add(l->s, p, n, cut);
		return true;
	case ARG_PAIR:
		if (n < sizeof(pair) || l->c->ret < 0)
			return false;
		memcpy(pair, p, sizeof(pair));
		str_addf(l->s, "[%d, %d]", pair[0], pair[1]);
		return true;
	case ARG_TIMESPEC:
		if (n < 16)
			return false;
		str_addf(l->s, "{tv_sec=%lld, tv_nsec=%lld}", (s64)word_at(p, 0),
			(s64)word_at(p, 1));
		return true;
	case ARG_EVENT:
		if (n < 12)
			return false;
		event_add(l->s, p);
		return true;
	case ARG_NODES:
	case ARG_SIGSET:
		if (n < 8)
			return false;
		str_addf(l->s, "[0x%llx]", word_at(p, 0));
		return true;
	case ARG_CLONE3:
		if (n < 64)
			return false;
		clone3_add(l->s, p);
		return true;
	}
	return false;
}

static void arg_add(struct line *l, u32 i)
{
	const struct flag *flags = syscall_flags(l->args[i]);
	u64 v = l->c->args[i];

	switch (l->args[i]) {
	case ARG_INT:
	case ARG_FD:
		str_addf(l->s, "%d", (s32)v);
		break;
	case ARG_AT:
		if ((s32)v == -100)
			str_add(l->s, "AT_FDCWD");
		else
			str_addf(l->s, "%d", (s32)v);
		break;
	case ARG_UINT:
		str_addf(l->s, "%u", (u32)v);
		break;
	case ARG_LONG:
		str_addf(l->s, "%lld", l->c->abi == SYSCALL_COMPAT ? (s32)v : (s64)v);
		break;
	case ARG_ULONG:
		str_addf(l->s, "%llu", v);
		break;
	case ARG_OCT:
		str_addf(l->s, v & 07777 ? "0%llo" : "%llo", v & 0xffff);
		break;
	case ARG_HEX:
		str_addf(l->s, v ? "0x%llx" : "%llu", v);
		break;
	case ARG_SIGNAL:
		signal_add(l->s, (u32)v);
		break;
	case ARG_IOCTL:
		ioctl_add(l->s, (u32)v);
		break;
	case ARG_CLONE:
		clone_flags_add(l->s, v);
		break;
	default:
		if (flags)
			flags_add(l->s, flags, (u32)v);
		else if (!pointed_add(l, i))
			pointer_add(l->s, v);
	}
}

static bool is_call(const struct line *l, const char *name)
{
	return !strcmp(l->name, name);
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
	if (is_call(l, "open"))
		return v[1] & OPEN_CREATES ? 3 : 2;
	if (is_call(l, "openat"))
		return v[2] & OPEN_CREATES ? 4 : 3;
	if (is_call(l, "futex"))
		return futex_args(v[1]);
	if (is_call(l, "mremap"))
		return v[3] & 2 ? 5 : 4;
	if (is_call(l, "fcntl") && (v[1] == 1 || v[1] == 3 || v[1] == 9 || v[1] == 11))
		return 2; /* F_GETFD, F_GETFL, F_GETOWN, F_GETSIG */
	if (is_call(l, "prctl"))
		while (n > 1 && !v[n - 1])
			n--;
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
	struct line l = {.s = s, .c = c, .name = name_of(c->abi, c->nr)};

	l.args = l.name ? syscall_args_of(l.name, c->abi == SYSCALL_COMPAT) : NULL;
	syscalls_name_add(s, c->abi, c->nr);
	str_addc(s, '(');
	if (!l.args) {
		unknown_add(&l, names);
	} else if (is_call(&l, "clone")) {
		clone_add(&l);
	} else {
		l.n = args_written(&l);
		for (u32 i = 0; i < l.n; i++) {
			str_add(s, i ? ", " : "");
			arg_add(&l, i);
		}
	}
	str_addc(s, ')');
}

static bool returns_address(const char *name)
{
	static const char *const calls[] = {"mmap", "mmap2", "mremap", "brk", "shmat"};

	for (size_t i = 0; name && i < ARRAY_SIZE(calls); i++)
		if (!strcmp(name, calls[i]))
			return true;
	return false;
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
	} else if (returns_address(name_of(c->abi, c->nr))) {
		str_addf(s, "0x%llx", (u64)c->ret);
	} else {
		str_addf(s, "%lld", c->ret);
	}
	if (c->flags & SYSCALLS_REFUSED)
		str_add(s, " (refused before it began)");
}
