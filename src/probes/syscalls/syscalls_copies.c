/* See syscalls_copies.h. Made of the table of arguments. */
#include "probes/syscalls/syscalls_copies.h"

#include "capture/syscall_hook.h"
#include "sys/calls/syscall_args.h"

#define OUT(how_) (SYSCALLS_COPY_OUT | (how_))

/* How an argument of a kind is copied. 32-bit programs have other structures, but for those of
 * fixed widths. */
static const struct {
	u8 arg, how;
	bool native;
} copies[] = {
	{ARG_STR, SYSCALLS_COPY_TEXT, false},
	{ARG_IN, SYSCALLS_COPY_BYTES, false},
	{ARG_OUT, SYSCALLS_COPY_RESULT, false},
	{ARG_PAIR, SYSCALLS_COPY_8, false},
	{ARG_SIGSET, SYSCALLS_COPY_8, false},
	{ARG_OSIGSET, SYSCALLS_COPY_8, false},
	{ARG_EVENT, SYSCALLS_COPY_12, false},
	{ARG_EVENTS, SYSCALLS_COPY_EVENTS, false},
	{ARG_POLL, SYSCALLS_COPY_POLL, false},
	{ARG_WSTATUS, SYSCALLS_COPY_4, false},
	{ARG_SOCKADDR, SYSCALLS_COPY_SOCK, false},
	{ARG_OSOCKADDR, SYSCALLS_COPY_LENGTH, false},
	{ARG_OPTVAL, SYSCALLS_COPY_BYTES, false},
	{ARG_OOPTVAL, SYSCALLS_COPY_LENGTH, false},
	{ARG_IOCTL_ARG, SYSCALLS_COPY_16, false},
	{ARG_STATX, SYSCALLS_COPY_64, false},
	{ARG_NODES, SYSCALLS_COPY_8, true},
	{ARG_TIMESPEC, SYSCALLS_COPY_16, true},
	{ARG_OTIMESPEC, SYSCALLS_COPY_16, true},
	{ARG_REMAINING, SYSCALLS_COPY_16, true},
	{ARG_CHANGED, OUT(SYSCALLS_COPY_32), true},
	{ARG_TIMEVAL, SYSCALLS_COPY_16, true},
	{ARG_OTIMEVAL, SYSCALLS_COPY_16, true},
	{ARG_ITIMER, SYSCALLS_COPY_32, true},
	{ARG_OITIMER, SYSCALLS_COPY_32, true},
	{ARG_ITIMERSPEC, SYSCALLS_COPY_32, true},
	{ARG_OITIMERSPEC, SYSCALLS_COPY_32, true},
	{ARG_STAMPS, SYSCALLS_COPY_32, true},
	{ARG_SIGACTION, SYSCALLS_COPY_32, true},
	{ARG_OSIGACTION, SYSCALLS_COPY_32, true},
	{ARG_STAT, SYSCALLS_COPY_64, true},
	{ARG_RLIMIT, SYSCALLS_COPY_16, true},
	{ARG_ORLIMIT, SYSCALLS_COPY_16, true},
	{ARG_FLOCK, SYSCALLS_COPY_32, true},
	{ARG_CLONE3, SYSCALLS_COPY_64, false},
	{ARG_IOV, SYSCALLS_COPY_IOV, true},
	{ARG_OIOV, OUT(SYSCALLS_COPY_IOV), true},
	{ARG_MSG, SYSCALLS_COPY_MSG, true},
	{ARG_OMSG, OUT(SYSCALLS_COPY_MSG), true},
	{ARG_ARGV, SYSCALLS_COPY_ARGV, true},
	{ARG_PATH_OUT, SYSCALLS_COPY_RESULT, false},
	{ARG_RANDOM, SYSCALLS_COPY_RESULT, false},
	{ARG_RUSAGE, SYSCALLS_COPY_32, true},
	{ARG_STATFS, SYSCALLS_COPY_112, true},
	{ARG_SYSINFO, SYSCALLS_COPY_112, true},
	{ARG_UNAME, SYSCALLS_COPY_127, false},
	{ARG_FDSETS, SYSCALLS_COPY_SETS, true},
	{ARG_SIGMASK, SYSCALLS_COPY_MASK, true},
};

/* What is to be read as the call begins, as it changes it. */
static u8 kept_of(u8 arg, u32 i)
{
	switch (arg) {
	case ARG_SOCKLEN:
		return (u8)(SYSCALLS_KEEP_4 | (i + 1));
	case ARG_OMSG:
		return (u8)(SYSCALLS_KEEP_NAME | (i + 1));
	case ARG_CHANGED:
		return (u8)(SYSCALLS_KEEP_16 | (i + 1));
	case ARG_FDSETS:
		return (u8)(SYSCALLS_KEEP_SETS | (i + 1));
	}
	return 0;
}

static void row_set(struct syscalls_probe_config *config, u32 abi, u32 nr)
{
	const char *name = syscalls_name(abi, nr);
	bool compat = abi == SYSCALL_COMPAT;
	const u8 *args = name ? syscall_args_of(name, compat) : NULL;
	u8 *row = config->copy[compat][nr];
	u32 n = 0;

	for (u32 i = 0; args && i < SYSCALL_ARGS; i++) {
		u8 kept = kept_of(args[i], i);

		if (kept && !(compat && args[i] != ARG_SOCKLEN))
			row[SYSCALLS_COPIES] = kept;
		for (size_t k = 0; k < ARRAY_SIZE(copies) && n < SYSCALLS_COPIES; k++)
			if (copies[k].arg == args[i] && !(compat && copies[k].native))
				row[n++] = (u8)(copies[k].how | (i + 1));
	}
}

void syscalls_copies_set(struct syscalls_probe_config *config)
{
	for (u32 nr = 0; nr < SYSCALLS_COPIED; nr++) {
		row_set(config, SYSCALL_NATIVE, nr);
		row_set(config, SYSCALL_COMPAT, nr);
	}
}
