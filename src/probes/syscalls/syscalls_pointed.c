/* See syscalls_pointed.h. Records may be damaged: what is read of them is bounded by what they say
 * was copied, which syscalls_call_valid holds against their size. */
#include "probes/syscalls/syscalls_pointed.h"

#include <string.h>

#include "sys/calls/quoted.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscall_flags.h"
#include "sys/calls/syscall_value.h"

struct copied {
	const char *p;
	u32 n;
	bool cut;
};

/* What was copied of argument i. false: nothing. */
static bool copied_of(const struct syscalls_call *c, u32 i, struct copied *ret)
{
	const char *text = (const char *)(c + 1);

	for (u32 k = 0; k < SYSCALLS_COPIES; k++) {
		if (!c->copy[k] || (c->copy[k] & SYSCALLS_COPY_ARG) != i + 1) {
			text += c->copied[k];
			continue;
		}
		*ret = (struct copied){text, c->copied[k], c->flags & SYSCALLS_CUT_0 << k};
		return !(c->flags & SYSCALLS_FAULTED_0 << k);
	}
	return false;
}

/* ["cat", "/etc/hostname"]; n counts NULs. */
static void argv_add(struct str *s, const struct copied *c)
{
	str_addc(s, '[');
	for (u32 at = 0; at < c->n;) {
		u32 len = (u32)strnlen(c->p + at, c->n - at);
		bool whole;

		str_add(s, at ? ", " : "");
		/* the NUL of a first text may stand where there was no room for more of it */
		whole = at + len < c->n && (at || len + 1 < c->n);
		quoted_add(s, c->p + at, MIN(len, (u32)SYSCALLS_DATA),
			len > SYSCALLS_DATA || (c->cut && !whole));
		at += len + 1;
	}
	str_add(s, c->cut ? ", ...]" : "]");
}

/* {iov_base="...", iov_len=5} each; `count` as the call has it. Returns the bytes they take. */
static u32 iov_add(struct str *s, const char *p, u32 n, u64 count)
{
	struct syscalls_iov v;
	u32 at = 0;

	str_addc(s, '[');
	for (; at + sizeof(v) <= n && at / sizeof(v) < count; at += (u32)sizeof(v)) {
		memcpy(&v, p + at, sizeof(v));
		str_add(s, at ? ", {iov_base=" : "{iov_base=");
		if (v.got == SYSCALLS_UNREAD || !v.base)
			pointer_add(s, v.base);
		else
			quoted_add(s, v.data, MIN(v.got, SYSCALLS_DATA), v.cut);
		str_add(s, ", iov_len=");
		str_add_u64(s, v.len);
		str_addc(s, '}');
	}
	str_add(s, at / sizeof(v) < count ? ", ...]" : "]");
	return at;
}

static bool vector_add(struct str *s, const struct syscalls_call *c, const struct copied *v, u32 i)
{
	u64 count = c->args[MIN(i + 1, 5U)];

	if (v->n < sizeof(struct syscalls_iov) && count)
		return false;
	iov_add(s, v->p, v->n, count);
	return true;
}

static bool msg_add(struct str *s, const struct copied *m, bool filled)
{
	u64 words[SYSCALLS_MSGHDR / 8];
	struct str name = {};
	u32 vector, iovs, len, before;

	if (m->n < sizeof(words))
		return false;
	memcpy(words, m->p, sizeof(words));
	len = (u32)words[1];
	before = (u32)(words[1] >> 32);
	vector = m->n - (u32)sizeof(words);
	iovs = (u32)MIN(words[3], (u64)SYSCALLS_IOVS) * (u32)sizeof(struct syscalls_iov);
	iovs = MIN(
		iovs, vector / (u32)sizeof(struct syscalls_iov) * (u32)sizeof(struct syscalls_iov));
	str_add(s, "{msg_name=");
	if (!words[0] || !sockaddr_add(&name, m->p + sizeof(words) + iovs, vector - iovs))
		pointer_add(s, words[0]);
	else
		str_add(s, str_get(&name));
	str_free(&name);
	str_add(s, ", msg_namelen=");
	if (filled && before != len)
		str_addf(s, "%u => ", before);
	str_add_u64(s, len);
	str_add(s, ", msg_iov=");
	if (words[3] && !iovs)
		pointer_add(s, words[2]);
	else
		iov_add(s, m->p + sizeof(words), iovs, words[3]);
	str_addf(s, ", msg_iovlen=%llu", words[3]);
	if (words[4] && words[5]) {
		str_add(s, ", msg_control=");
		str_add_hex(s, words[4]);
	}
	str_addf(s, ", msg_controllen=%llu, msg_flags=", words[5]);
	flags_add(s, message_flags, (u32)words[6]);
	str_addc(s, '}');
	return true;
}

static const struct syscalls_length *length_of(const struct copied *c)
{
	return c->n >= 8 ? (const void *)c->p : NULL;
}

/* The number that the next argument points to: [128 => 16]. */
static bool length_add(struct str *s, const struct syscalls_call *c, u32 i)
{
	struct copied v;
	struct syscalls_length l;

	if (!i || c->ret < 0 || !copied_of(c, i - 1, &v) || v.n < 8)
		return false;
	memcpy(&l, v.p, 8);
	str_addc(s, '[');
	if (l.before != l.after)
		str_addf(s, "%u => ", l.before);
	str_addf(s, "%u]", l.after);
	return true;
}

static bool int_add(struct str *s, const char *p, u32 n)
{
	s32 v;

	if (n != sizeof(v))
		return false;
	memcpy(&v, p, sizeof(v));
	str_addf(s, "[%d]", v);
	return true;
}

/* struct flock */
static bool lock_add(struct str *s, const struct copied *c)
{
	u16 type, whence;
	s64 start, len;

	if (c->n < 32)
		return false;
	memcpy(&type, c->p, sizeof(type));
	memcpy(&whence, c->p + 2, sizeof(whence));
	memcpy(&start, c->p + 8, sizeof(start));
	memcpy(&len, c->p + 16, sizeof(len));
	str_add(s, "{l_type=");
	flags_add(s, lock_types, type);
	str_add(s, ", l_whence=");
	flags_add(s, whences, whence);
	str_addf(s, ", l_start=%lld, l_len=%lld}", start, len);
	return true;
}

static bool ioctl_arg_add(struct str *s, const struct syscalls_call *c, const struct copied *v)
{
	u16 size[4];

	if (c->ret < 0 || v->n < 8)
		return false;
	switch ((u32)c->args[1]) {
	case 0x5401: /* TCGETS */
	case 0x5402: /* TCSETS */
	case 0x5403: /* TCSETSW */
	case 0x5404: /* TCSETSF */
		if (v->n < TERMIOS_FLAGS)
			return false;
		termios_add(s, v->p);
		return true;
	case 0x541b: /* FIONREAD */
	case 0x5421: /* FIONBIO */
	case 0x5452: /* FIOASYNC */
	case 0x540f: /* TIOCGPGRP */
	case 0x5410: /* TIOCSPGRP */
	case 0x5429: /* TIOCGSID */
		return int_add(s, v->p, 4);
	case 0x5413: /* TIOCGWINSZ */
	case 0x5414: /* TIOCSWINSZ */
		memcpy(size, v->p, sizeof(size));
		str_addf(s, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", size[0], size[1],
			size[2], size[3]);
		return true;
	}
	return false;
}

/* Of a call that fills it, only where it was filled. */
static bool is_filled(const struct syscalls_call *c, u8 arg, u32 i)
{
	switch (arg) {
	case ARG_OUT:
	case ARG_PAIR:
	case ARG_OTIMESPEC:
	case ARG_OTIMEVAL:
	case ARG_OITIMER:
	case ARG_OITIMERSPEC:
	case ARG_OSIGSET:
	case ARG_OSIGACTION:
	case ARG_STAT:
	case ARG_STATX:
	case ARG_STATFS:
	case ARG_SYSINFO:
	case ARG_UNAME:
	case ARG_PATH_OUT:
	case ARG_RANDOM:
	case ARG_ORLIMIT:
	case ARG_EVENTS:
	case ARG_OSOCKADDR:
	case ARG_OOPTVAL:
	case ARG_OIOV:
	case ARG_OMSG:
		return c->ret >= 0;
	case ARG_RUSAGE: /* of wait4 only where there was a child */
		return c->ret > 0 || (c->ret == 0 && i == 1);
	case ARG_WSTATUS:
		return c->ret > 0;
	case ARG_REMAINING: /* -ERESTART_RESTARTBLOCK, -EINTR */
		return c->ret == -516 || c->ret == -4;
	}
	return true;
}

static bool socket_value_add(
	struct str *s, const struct syscalls_call *c, u8 arg, u32 i, const struct copied *v)
{
	const struct syscalls_length *l = length_of(v);

	switch (arg) {
	case ARG_OSOCKADDR:
		return l && sockaddr_add(s, l->data, v->n - 8);
	case ARG_OOPTVAL:
		return l && int_add(s, l->data, v->n - 8);
	case ARG_OPTVAL:
		return c->args[MIN(i + 1, 5U)] == v->n && int_add(s, v->p, v->n);
	case ARG_IOV:
	case ARG_OIOV:
		return vector_add(s, c, v, i);
	case ARG_MSG:
	case ARG_OMSG:
		return msg_add(s, v, arg == ARG_OMSG);
	}
	return false;
}

static bool sets_of(const struct syscalls_call *c, struct syscalls_sets *ret)
{
	struct copied v;

	if (!copied_of(c, 1, &v) || v.n < sizeof(*ret))
		return false;
	memcpy(ret, v.p, sizeof(*ret));
	return true;
}

/* [3 7] */
static void set_add(struct str *s, u64 set, u64 descriptors)
{
	const char *between = "";

	str_addc(s, '[');
	for (u32 i = 0; i < MIN(descriptors, 64ULL); i++) {
		if (!(set >> i & 1))
			continue;
		str_addf(s, "%s%u", between, i);
		between = " ";
	}
	str_add(s, descriptors > 64 ? " ...]" : "]");
}

/* What select was given, argument i. */
static bool select_add(struct str *s, const struct syscalls_call *c, u8 arg, u32 i)
{
	struct syscalls_sets sets;

	if (!sets_of(c, &sets))
		return false;
	if (arg == ARG_SELECT_TIMEVAL || arg == ARG_SELECT_TIMESPEC)
		return syscall_value_add(s, arg == ARG_SELECT_TIMEVAL ? ARG_TIMEVAL : ARG_TIMESPEC,
			sets.given_time, sizeof(sets.given_time), false);
	if (i < 1 || i > 3 || (s32)c->args[0] < 0)
		return false;
	set_add(s, sets.given[i - 1], (u32)c->args[0]);
	return true;
}

bool syscalls_pointed_add(struct str *s, const struct syscalls_call *c, u8 arg, u32 i)
{
	struct copied v;

	if (c->args[i] && arg >= ARG_FDSETS && arg <= ARG_SELECT_TIMESPEC)
		return select_add(s, c, arg, i);
	if (arg == ARG_SOCKLEN)
		return length_add(s, c, i);
	if (!c->args[i] || !is_filled(c, arg, i) || !copied_of(c, i, &v))
		return false;
	switch (arg) {
	case ARG_STR:
	case ARG_IN:
	case ARG_OUT:
		if (arg == ARG_IN && !v.n && c->args[MIN(i + 1, 5U)])
			return false;
		quoted_add(s, v.p, v.n, v.cut);
		return true;
	case ARG_PATH_OUT:
		quoted_add(s, v.p, (u32)strnlen(v.p, v.n), v.cut);
		return true;
	case ARG_RANDOM:
		hexed_add(s, v.p, v.n, v.cut);
		return true;
	case ARG_ARGV:
		if (v.n)
			argv_add(s, &v);
		return v.n;
	case ARG_CHANGED: /* as the call began, before what was left */
		return syscall_value_add(s, ARG_TIMESPEC, v.p, v.n, false);
	case ARG_FLOCK:
		return lock_add(s, &v);
	case ARG_IOCTL_ARG:
		return ioctl_arg_add(s, c, &v);
	}
	return socket_value_add(s, c, arg, i, &v) || syscall_value_add(s, arg, v.p, v.n, v.cut);
}

void syscalls_polled_add(struct str *s, const struct syscalls_call *c, u32 i)
{
	struct copied v;

	if (c->ret == 0) {
		str_add(s, " (Timeout)");
		return;
	}
	if (c->ret < 0 || !copied_of(c, i, &v))
		return;
	str_add(s, " (");
	poll_result_add(s, v.p, v.n);
	if (copied_of(c, 2, &v) && v.n >= 32) { /* ppoll */
		str_add(s, ", left ");
		syscall_value_add(s, ARG_TIMESPEC, v.p + 16, 16, false);
	}
	str_addc(s, ')');
}

void syscalls_selected_add(struct str *s, const struct syscalls_call *c, bool timeval)
{
	static const char *const names[] = {"in ", "out ", "except "};
	const char *between = "";
	struct syscalls_sets sets;

	if (c->ret == 0) {
		str_add(s, " (Timeout)");
		return;
	}
	if (c->ret < 0 || !sets_of(c, &sets))
		return;
	str_add(s, " (");
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		if (!c->args[1 + i] || !sets.found[i])
			continue;
		str_addf(s, "%s%s", between, names[i]);
		set_add(s, sets.found[i], (u32)c->args[0]);
		between = ", ";
	}
	if (c->args[4]) {
		str_addf(s, "%sleft ", between);
		syscall_value_add(s, timeval ? ARG_TIMEVAL : ARG_TIMESPEC, sets.left,
			sizeof(sets.left), false);
	}
	str_addc(s, ')');
}
