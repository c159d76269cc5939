/* See syscall_value.h. Layouts are those of x86-64 (asm/stat.h, linux/stat.h, asm/signal.h). */
#include "sys/calls/syscall_value.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "sys/calls/quoted.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscall_flags.h"

#define OMIT 0x3ffffffeLL /* linux/stat.h */
#define NOW 0x3fffffffLL

static u64 u64_at(const char *p, u32 i)
{
	u64 v;

	memcpy(&v, p + i * sizeof(v), sizeof(v));
	return v;
}

static u32 syscall_value_u32_at(const char *p, u32 at)
{
	u32 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static u16 u16_at(const char *p, u32 at)
{
	u16 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

void pointer_add(struct str *s, u64 v)
{
	if (v)
		str_add_hex(s, v);
	else
		str_add(s, "NULL");
}

static void pair_add(struct str *s, const char *p)
{
	str_addf(s, "[%d, %d]", (s32)syscall_value_u32_at(p, 0), (s32)syscall_value_u32_at(p, 4));
}

/* tv_sec and tv_nsec, or tv_usec. */
static void time_add(struct str *s, const char *p, const char *fraction)
{
	str_add(s, "{tv_sec=");
	str_add_s64(s, (s64)u64_at(p, 0));
	str_addf(s, ", tv_%s=", fraction);
	str_add_s64(s, (s64)u64_at(p, 1));
	str_addc(s, '}');
}

static void timer_add(struct str *s, const char *p, const char *fraction)
{
	str_add(s, "{it_interval=");
	time_add(s, p, fraction);
	str_add(s, ", it_value=");
	time_add(s, p + 16, fraction);
	str_addc(s, '}');
}

/* Of utimensat. */
static void stamps_add(struct str *s, const char *p)
{
	for (u32 i = 0; i < 2; i++) {
		s64 ns = (s64)u64_at(p, 2 * i + 1);

		str_add(s, i ? ", " : "[");
		if (ns == OMIT || ns == NOW)
			str_add(s, ns == OMIT ? "UTIME_OMIT" : "UTIME_NOW");
		else
			time_add(s, p + 16 * i, "nsec");
	}
	str_addc(s, ']');
}

/* [INT CHLD]; of two thirds and more, those that are not in it: ~[KILL STOP]. */
static void sigset_add(struct str *s, u64 set)
{
	bool most = __builtin_popcountll(set) >= 64 * 2 / 3;
	const char *between = "";

	if (most)
		set = ~set;
	str_add(s, most ? "~[" : "[");
	for (u32 i = 1; i <= 64; i++) {
		if (!(set >> (i - 1) & 1))
			continue;
		str_add(s, between);
		signal_short_add(s, i);
		between = " ";
	}
	str_addc(s, ']');
}

static void sigaction_add(struct str *s, const char *p)
{
	u64 handler = u64_at(p, 0);

	str_add(s, "{sa_handler=");
	if (handler + 1 <= 2)
		str_add(s, handler == 0 ? "SIG_DFL" : handler == 1 ? "SIG_IGN" : "SIG_ERR");
	else
		str_add_hex(s, handler);
	str_add(s, ", sa_mask=");
	sigset_add(s, u64_at(p, 3));
	str_add(s, ", sa_flags=");
	flags_add(s, sigaction_flags, u64_at(p, 1));
	if (u64_at(p, 1) & SIGACTION_RESTORER) {
		str_add(s, ", sa_restorer=");
		pointer_add(s, u64_at(p, 2));
	}
	str_addc(s, '}');
}

static void syscall_value_mode_add(struct str *s, u32 mode)
{
	const char *type = flag_name(file_types, mode & 0170000);

	if (type)
		str_addf(s, "%s|", type);
	str_addf(s, "%s%s%s%#03o", mode & 04000 ? "S_ISUID|" : "", mode & 02000 ? "S_ISGID|" : "",
		mode & 01000 ? "S_ISVTX|" : "", mode & 0777);
}

static bool is_device(u32 mode)
{
	return (mode & 0170000) == 020000 || (mode & 0170000) == 060000;
}

static void stat_add(struct str *s, const char *p)
{
	u32 mode = syscall_value_u32_at(p, 24);
	u64 device = u64_at(p, 5);

	str_add(s, "{st_mode=");
	syscall_value_mode_add(s, mode);
	if (is_device(mode)) /* major and minor as in linux/kdev_t.h */
		str_addf(s, ", st_rdev=makedev(0x%llx, 0x%llx)", device >> 8 & 0xfff,
			(device & 0xff) | (device >> 12 & 0xfff00));
	else
		str_addf(s, ", st_size=%lld", (s64)u64_at(p, 6));
	str_add(s, ", ...}");
}

static void statx_add(struct str *s, const char *p)
{
	str_add(s, "{stx_mask=");
	flags_add(s, statx_mask, syscall_value_u32_at(p, 0));
	str_add(s, ", stx_attributes=");
	flags_add(s, statx_attributes, u64_at(p, 1));
	str_add(s, ", stx_mode=");
	syscall_value_mode_add(s, u16_at(p, 28));
	str_addf(s, ", stx_size=%llu, ...}", u64_at(p, 5));
}

/* struct rusage, as far as strace shows it. */
static void rusage_add(struct str *s, const char *p)
{
	str_add(s, "{ru_utime=");
	time_add(s, p, "usec");
	str_add(s, ", ru_stime=");
	time_add(s, p + 16, "usec");
	str_add(s, ", ...}");
}

/* struct statfs; of calls kept in flight, and in recordings of old, without its end. */
static void statfs_add(struct str *s, const char *p, u32 n)
{
	static const char *const names[] = {
		"f_bsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree"};

	str_add(s, "{f_type=");
	flags_add(s, file_systems, u64_at(p, 0));
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		str_addf(s, ", %s=%llu", names[i], u64_at(p, i + 1));
	if (n < 11 * sizeof(u64)) {
		str_add(s, ", ...}");
		return;
	}
	str_addf(s, ", f_fsid={val=[%#x, %#x]}", syscall_value_u32_at(p, 56),
		syscall_value_u32_at(p, 60));
	str_addf(s, ", f_namelen=%llu, f_frsize=%llu, f_flags=", u64_at(p, 8), u64_at(p, 9));
	flags_add(s, statfs_flags, u64_at(p, 10));
	str_addc(s, '}');
}

static void sysinfo_add(struct str *s, const char *p)
{
	static const char *const names[] = {
		"totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap"};

	str_addf(s, "{uptime=%lld, loads=[%llu, %llu, %llu]", (s64)u64_at(p, 0), u64_at(p, 1),
		u64_at(p, 2), u64_at(p, 3));
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		str_addf(s, ", %s=%llu", names[i], u64_at(p, i + 4));
	str_addf(s, ", procs=%u, totalhigh=%llu, freehigh=%llu, mem_unit=%u}", u16_at(p, 80),
		u64_at(p, 11), u64_at(p, 12), syscall_value_u32_at(p, 104));
}

#define UNAME_LEN 65 /* of each name in struct new_utsname, with its NUL */

static void uname_add(struct str *s, const char *p, u32 n)
{
	u32 len = (u32)strnlen(p + UNAME_LEN, n - UNAME_LEN);

	str_add(s, "{sysname=");
	quoted_add(s, p, (u32)strnlen(p, UNAME_LEN - 1), false);
	str_add(s, ", nodename=");
	quoted_add(s, p + UNAME_LEN, len, len == n - UNAME_LEN);
	str_add(s, ", ...}");
}

/* {sigmask=[INT], sigsetsize=8} */
static void syscall_value_mask_add(struct str *s, const char *p)
{
	str_add(s, "{sigmask=");
	if (u64_at(p, 0))
		sigset_add(s, u64_at(p, 2));
	else
		str_add(s, "NULL");
	str_addf(s, ", sigsetsize=%llu}", u64_at(p, 1));
}

static void limit_add(struct str *s, u64 v)
{
	if (v == UINT64_MAX)
		str_add(s, "RLIM64_INFINITY");
	else if (v > 1024 && v % 1024 == 0)
		str_addf(s, "%llu*1024", v / 1024);
	else
		str_add_u64(s, v);
}

static void rlimit_add(struct str *s, const char *p)
{
	str_add(s, "{rlim_cur=");
	limit_add(s, u64_at(p, 0));
	str_add(s, ", rlim_max=");
	limit_add(s, u64_at(p, 1));
	str_addc(s, '}');
}

static void wait_status_add(struct str *s, int status)
{
	if (WIFEXITED(status))
		str_addf(s, "[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]", WEXITSTATUS(status));
	else if (WIFCONTINUED(status))
		str_add(s, "[{WIFCONTINUED(s)}]");
	else if (WIFSTOPPED(status)) {
		str_add(s, "[{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		signal_add(s, (u32)WSTOPSIG(status));
		str_add(s, "}]");
	} else {
		str_add(s, "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		signal_add(s, (u32)WTERMSIG(status));
		str_add(s, WCOREDUMP(status) ? " && WCOREDUMP(s)}]" : "}]");
	}
}

static void event_add(struct str *s, const char *p)
{
	u64 data;

	memcpy(&data, p + 4, sizeof(data));
	str_add(s, "{events=");
	flags_add(s, epoll_events, syscall_value_u32_at(p, 0));
	str_add(s, ", data=");
	str_add_hex(s, data);
	str_addc(s, '}');
}

static void events_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '[');
	for (u32 i = 0; i + 12 <= n; i += 12) {
		str_add(s, i ? ", " : "");
		event_add(s, p + i);
	}
	str_add(s, cut ? ", ...]" : "]");
}

static void polls_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '[');
	for (u32 i = 0; i + 8 <= n; i += 8) {
		s32 fd = (s32)syscall_value_u32_at(p, i);

		str_addf(s, "%s{fd=%d", i ? ", " : "", fd);
		if (fd >= 0) {
			str_add(s, ", events=");
			flags_add(s, poll_events, u16_at(p, i + 4));
		}
		str_addc(s, '}');
	}
	str_add(s, cut ? ", ...]" : "]");
}

void poll_result_add(struct str *s, const void *bytes, u32 n)
{
	const char *p = bytes, *between = "";

	str_addc(s, '[');
	for (u32 i = 0; i + 8 <= n; i += 8) {
		u32 revents = u16_at(p, i + 6);

		if (!revents || (s32)syscall_value_u32_at(p, i) < 0)
			continue;
		str_addf(s, "%s{fd=%d, revents=", between, (s32)syscall_value_u32_at(p, i));
		flags_add(s, poll_events, revents);
		str_addc(s, '}');
		between = ", ";
	}
	str_addc(s, ']');
}

static void clone3_add(struct str *s, const char *p)
{
	u64 flags = u64_at(p, 0);

	str_add(s, "{flags=");
	flags_add(s, clone_flags, flags);
	if (flags & 0x1200000) { /* CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID */
		str_add(s, ", child_tid=");
		pointer_add(s, u64_at(p, 2));
	}
	if (flags & 0x100000) { /* CLONE_PARENT_SETTID */
		str_add(s, ", parent_tid=");
		pointer_add(s, u64_at(p, 3));
	}
	str_add(s, ", exit_signal=");
	signal_add(s, u64_at(p, 4));
	str_add(s, ", stack=");
	pointer_add(s, u64_at(p, 5));
	str_add(s, ", stack_size=");
	str_add_hex(s, u64_at(p, 6));
	if (flags & 0x80000) { /* CLONE_SETTLS */
		str_add(s, ", tls=");
		pointer_add(s, u64_at(p, 7));
	}
	str_addc(s, '}');
}

/* How many bytes of a kind there have to be; 0: it is no structure of one size. */
static u32 value_size(u8 arg)
{
	switch (arg) {
	case ARG_WSTATUS:
		return 4;
	case ARG_PAIR:
	case ARG_SIGSET:
	case ARG_OSIGSET:
	case ARG_NODES:
		return 8;
	case ARG_EVENT:
		return 12;
	case ARG_SIGMASK:
		return 24;
	case ARG_TIMESPEC:
	case ARG_OTIMESPEC:
	case ARG_REMAINING:
	case ARG_TIMEVAL:
	case ARG_OTIMEVAL:
	case ARG_RLIMIT:
	case ARG_ORLIMIT:
		return 16;
	case ARG_SIGACTION:
	case ARG_OSIGACTION:
	case ARG_ITIMER:
	case ARG_OITIMER:
	case ARG_ITIMERSPEC:
	case ARG_OITIMERSPEC:
	case ARG_STAMPS:
	case ARG_RUSAGE:
		return 32;
	case ARG_STAT:
	case ARG_STATFS:
	case ARG_STATX:
	case ARG_CLONE3:
		return 64;
	case ARG_UNAME:
		return UNAME_LEN + 1;
	case ARG_SYSINFO:
		return 108;
	}
	return 0;
}

static void structure_add(struct str *s, u8 arg, const char *p, u32 n)
{
	switch (arg) {
	case ARG_WSTATUS:
		wait_status_add(s, (int)syscall_value_u32_at(p, 0));
		break;
	case ARG_PAIR:
		pair_add(s, p);
		break;
	case ARG_SIGSET:
	case ARG_OSIGSET:
		sigset_add(s, u64_at(p, 0));
		break;
	case ARG_NODES:
		str_addf(s, "[0x%llx]", u64_at(p, 0));
		break;
	case ARG_EVENT:
		event_add(s, p);
		break;
	case ARG_TIMESPEC:
	case ARG_OTIMESPEC:
	case ARG_REMAINING:
		time_add(s, p, "nsec");
		break;
	case ARG_TIMEVAL:
	case ARG_OTIMEVAL:
		time_add(s, p, "usec");
		break;
	case ARG_RLIMIT:
	case ARG_ORLIMIT:
		rlimit_add(s, p);
		break;
	case ARG_SIGACTION:
	case ARG_OSIGACTION:
		sigaction_add(s, p);
		break;
	case ARG_ITIMER:
	case ARG_OITIMER:
		timer_add(s, p, "usec");
		break;
	case ARG_ITIMERSPEC:
	case ARG_OITIMERSPEC:
		timer_add(s, p, "nsec");
		break;
	case ARG_STAMPS:
		stamps_add(s, p);
		break;
	case ARG_RUSAGE:
		rusage_add(s, p);
		break;
	case ARG_STATFS:
		statfs_add(s, p, n);
		break;
	case ARG_SYSINFO:
		sysinfo_add(s, p);
		break;
	case ARG_UNAME:
		uname_add(s, p, n);
		break;
	case ARG_SIGMASK:
		syscall_value_mask_add(s, p);
		break;
	case ARG_STAT:
		stat_add(s, p);
		break;
	case ARG_STATX:
		statx_add(s, p);
		break;
	case ARG_CLONE3:
		clone3_add(s, p);
	}
}

bool syscall_value_add(struct str *s, u8 arg, const void *p, u32 n, bool cut)
{
	u32 size = value_size(arg);

	switch (arg) {
	case ARG_EVENTS:
		events_add(s, p, n, cut);
		return true;
	case ARG_POLL:
		polls_add(s, p, n, cut);
		return true;
	case ARG_SOCKADDR:
		return sockaddr_add(s, p, n);
	}
	if (!size || n < size)
		return false;
	structure_add(s, arg, p, n);
	return true;
}
