/* Filters of system calls. See cage.h. */
#include "cage/cage.h"

#include <errno.h>
#include <linux/bpf.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

/* Memory, time, signals of its own, and what is open. */
static const int quiet_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(lseek),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fsetxattr), /* the mark on a report; nothing else without capabilities */
	SCMP_SYS(fsync),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), /* also how libc does fstat */
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(poll),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getpid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Names of files. open itself is allowed by what it asks for. */
static const int file_calls[] = {
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(statfs),
};

static const int writer_calls[] = {
	SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(unlink), SCMP_SYS(fchmod), SCMP_SYS(flock)};

static const int opener_calls[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(perf_event_open)};

static int calls_allow(scmp_filter_ctx f, const int *calls, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return rc;
}

/* Calls that are harmless with some arguments: no code is made, no file changed, no other process
 * signalled. */
static int guarded_allow(scmp_filter_ctx f, enum cage which)
{
	static const int asks[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP},
			 sets[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH},
			 makes[] = {O_WRONLY | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_EXCL},
			 dups[] = {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC};
	const unsigned long changes = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
	int rc = seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!rc) /* abort() */
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
			SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	for (size_t i = 0; i < ARRAY_SIZE(asks) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)asks[i]));
	for (size_t i = 0; which == CAGE_SCREEN && i < ARRAY_SIZE(sets) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)sets[i]));
	for (size_t i = 0; i < ARRAY_SIZE(dups) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)dups[i]));
	if (!rc && (which == CAGE_FILES || which == CAGE_WRITER))
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, changes, O_RDONLY));
	for (size_t i = 0; which == CAGE_WRITER && i < ARRAY_SIZE(makes) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, changes | O_EXCL, makes[i]));
	return rc;
}

/* What is not allowed fails with EPERM: libc and libraries then go on or say so. */
static int filter_load(enum cage which)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = f ? 0 : -ENOMEM;

	if (!rc)
		rc = calls_allow(f, quiet_calls, ARRAY_SIZE(quiet_calls));
	if (!rc && which == CAGE_OPENER)
		rc = calls_allow(f, opener_calls, ARRAY_SIZE(opener_calls));
	if (!rc && which == CAGE_READER)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 0);
	if (!rc && which == CAGE_WRITER)
		rc = calls_allow(f, writer_calls, ARRAY_SIZE(writer_calls));
	if (!rc && (which == CAGE_FILES || which == CAGE_WRITER))
		rc = calls_allow(f, file_calls, ARRAY_SIZE(file_calls));
	if (!rc)
		rc = guarded_allow(f, which);
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc;
}

static int load_error(int rc, struct err *err)
{
	if (rc == -EINVAL || rc == -ENOSYS || rc == -EFAULT)
		return err_set(err, -EOPNOTSUPP, "this kernel has no system call filters");
	return rc ? err_errno(err, rc, "filtering system calls") : 0;
}

int cage_enter(enum cage which, struct err *err)
{
	static const int symbols[] = {CAP_SYSLOG}; /* or /proc/kallsyms has no addresses */
	static const int events[] = {CAP_SYS_ADMIN, CAP_PERFMON, CAP_SYS_PTRACE};
	int rc;

	if (which == CAGE_OPENER)
		rc = cage_capabilities(events, ARRAY_SIZE(events), err);
	else
		rc = cage_capabilities(symbols, which == CAGE_FILES, err);
	if (rc)
		return rc;
#ifdef __SANITIZE_ADDRESS__
	return 0; /* the leak check at exit traces its own process */
#endif
	return load_error(filter_load(which), err);
}

/* What would change another process, the machine, or who this process is. */
static const int session_never[] = {
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(process_mrelease),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(move_mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(capset),
	SCMP_SYS(personality),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(chmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(chown),
	SCMP_SYS(lchown),
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(setxattr),
	SCMP_SYS(lsetxattr),
};

/* Programs that are started. */
static const int session_spawns[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork)};

static int calls_refuse(scmp_filter_ctx f, const int *calls, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return rc;
}

/* Threads stay. What clone3 is asked for lies in memory, where no filter looks: libc calls clone
 * then. */
static int spawns_refuse(scmp_filter_ctx f)
{
	int rc = calls_refuse(f, session_spawns, ARRAY_SIZE(session_spawns));

	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	if (!rc) /* that somebody is there may be asked */
		rc = seccomp_rule_add(
			f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1, SCMP_A1(SCMP_CMP_NE, 0));
	return rc;
}

static int code_refuse(scmp_filter_ctx f)
{
	static const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(pkey_mprotect)};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
	return rc;
}

/* The log may be read: all of it at once, and its size. The rest clears it, takes from it, or sets
 * what goes to the console. */
static int log_refuse(scmp_filter_ctx f)
{
	static const int actions[] = {0, 1, 2, 4, 5, 6, 7, 8, 9}; /* SYSLOG_ACTION_*, syslog(2) */
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(actions) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(syslog), 1,
			SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)actions[i]));
	return rc;
}

/* Maps are read, and programs attached again that are there: no new ones are. */
static int programs_refuse(scmp_filter_ctx f)
{
	static const int commands[] = {BPF_PROG_LOAD, BPF_BTF_LOAD};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
			SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)commands[i]));
	return rc;
}

static int session_load(unsigned needs)
{
	static const int borrow[] = {SCMP_SYS(pidfd_getfd)};
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int rc = f ? 0 : -ENOMEM;

	if (!rc)
		rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!rc) /* for more than a hundred calls a search is shorter than a list */
		seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!rc)
		rc = calls_refuse(f, session_never, ARRAY_SIZE(session_never));
	if (!rc && !(needs & CAGE_BORROWS))
		rc = calls_refuse(f, borrow, 1);
	if (!rc)
		rc = programs_refuse(f);
	if (!rc)
		rc = log_refuse(f);
	/* A program that is started inherits all this, and maps its code. */
	if (!rc && !(needs & CAGE_SPAWNS))
		rc = code_refuse(f);
	if (!rc && !(needs & CAGE_SPAWNS))
		rc = spawns_refuse(f);
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc;
}

int cage_session(unsigned needs, struct err *err)
{
#ifdef __SANITIZE_ADDRESS__
	return 0; /* as above */
#endif
	return load_error(session_load(needs), err);
}
