/* Filters of system calls. See cage.h. */
#include "cage/cage.h"

#include <errno.h>
#include <linux/bpf.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "cage/filter.h"

/* Memory, time, signals of its own, and what is open. */
static const u32 quiet_calls[] = {
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_lseek,
	SYS_write,
	SYS_pwrite64,
	SYS_writev,
	SYS_ftruncate,
	SYS_fsetxattr, /* the mark on a report; nothing else without capabilities */
	SYS_fsync,
	SYS_fstat,
	SYS_newfstatat, /* also how libc does fstat */
	SYS_close,
	SYS_dup,
	SYS_poll,
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_clock_nanosleep,
	SYS_getpid,
	SYS_getpgrp,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

/* Names of files. open itself is allowed by what it asks for. */
static const u32 file_calls[] = {
	SYS_stat,
	SYS_lstat,
	SYS_statx,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_statfs,
};

static const u32 writer_calls[] = {SYS_recvmsg, SYS_sendmsg, SYS_unlink, SYS_fchmod, SYS_flock};

static const u32 opener_calls[] = {SYS_recvmsg, SYS_sendmsg, SYS_perf_event_open};

static struct filter_test is(u8 argument, u32 value)
{
	return (struct filter_test){.argument = argument, .mask = UINT32_MAX, .value = value};
}

static struct filter_test bits_are(u8 argument, u32 mask, u32 value)
{
	return (struct filter_test){.argument = argument, .mask = mask, .value = value};
}

/* One of these is the call's second argument. */
static void asked_allow(struct filter *f, u32 call, const u32 *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		filter_test(f, FILTER_ALLOW, call, is(1, values[i]));
}

/* Calls that are harmless with some arguments: no code is made, no file changed, no other process
 * signalled. */
static void guarded_allow(struct filter *f, enum cage which)
{
	static const u32 asks[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP},
			 sets[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH},
			 makes[] = {O_WRONLY | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_EXCL},
			 dups[] = {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC};
	const u32 changes = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

	filter_test(f, FILTER_ALLOW, SYS_mmap, bits_are(2, PROT_EXEC, 0));
	filter_test(f, FILTER_ALLOW, SYS_mprotect, bits_are(2, PROT_EXEC, 0));
	filter_test(f, FILTER_ALLOW, SYS_tgkill, is(0, (u32)getpid())); /* abort() */
	asked_allow(f, SYS_ioctl, asks, ARRAY_SIZE(asks));
	if (which == CAGE_SCREEN)
		asked_allow(f, SYS_ioctl, sets, ARRAY_SIZE(sets));
	asked_allow(f, SYS_fcntl, dups, ARRAY_SIZE(dups));
	if (which == CAGE_FILES || which == CAGE_WRITER)
		filter_test(f, FILTER_ALLOW, SYS_openat, bits_are(2, changes, O_RDONLY));
	for (size_t i = 0; which == CAGE_WRITER && i < ARRAY_SIZE(makes); i++)
		filter_test(f, FILTER_ALLOW, SYS_openat, bits_are(2, changes | O_EXCL, makes[i]));
}

/* What is not allowed fails with EPERM: libc and libraries then go on or say so. */
static int cage_load(enum cage which)
{
	static const u32 receive[] = {SYS_recvmsg};
	struct filter f = {.action = FILTER_FAIL(EPERM)};

	filter_calls(&f, FILTER_ALLOW, quiet_calls, ARRAY_SIZE(quiet_calls));
	if (which == CAGE_OPENER)
		filter_calls(&f, FILTER_ALLOW, opener_calls, ARRAY_SIZE(opener_calls));
	if (which == CAGE_READER)
		filter_calls(&f, FILTER_ALLOW, receive, ARRAY_SIZE(receive));
	if (which == CAGE_WRITER)
		filter_calls(&f, FILTER_ALLOW, writer_calls, ARRAY_SIZE(writer_calls));
	if (which == CAGE_FILES || which == CAGE_WRITER)
		filter_calls(&f, FILTER_ALLOW, file_calls, ARRAY_SIZE(file_calls));
	guarded_allow(&f, which);
	return filter_load(&f, false);
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
	return load_error(cage_load(which), err);
}

/* What would change another process, the machine, or who this process is. */
static const u32 session_never[] = {
	SYS_ptrace,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_process_mrelease,
	SYS_pidfd_send_signal,
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_iopl,
	SYS_ioperm,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_mount,
	SYS_umount2,
	SYS_move_mount,
	SYS_mount_setattr,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_capset,
	SYS_personality,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_modify_ldt,
	SYS_mknod,
	SYS_mknodat,
	SYS_chmod,
	SYS_fchmodat,
	SYS_chown,
	SYS_lchown,
	SYS_fchown,
	SYS_fchownat,
	SYS_setxattr,
	SYS_lsetxattr,
};

/* Programs that are started. */
static const u32 session_spawns[] = {SYS_execve, SYS_execveat, SYS_fork, SYS_vfork};

static void calls_refuse(struct filter *f, const u32 *calls, size_t n)
{
	filter_calls(f, FILTER_FAIL(EPERM), calls, n);
}

/* Threads stay. What clone3 is asked for lies in memory, where no filter looks: libc calls clone
 * then. */
static void spawns_refuse(struct filter *f)
{
	static const u32 unseen[] = {SYS_clone3};
	struct filter_test signals = {.argument = 1, .is_not = true, .mask = UINT32_MAX};

	calls_refuse(f, session_spawns, ARRAY_SIZE(session_spawns));
	filter_calls(f, FILTER_FAIL(ENOSYS), unseen, ARRAY_SIZE(unseen));
	filter_test(f, FILTER_FAIL(EPERM), SYS_clone, bits_are(0, CLONE_THREAD, 0));
	/* that somebody is there may be asked */
	filter_test(f, FILTER_FAIL(EPERM), SYS_kill, signals);
}

static void code_refuse(struct filter *f)
{
	static const u32 calls[] = {SYS_mmap, SYS_mprotect, SYS_pkey_mprotect};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		filter_test(f, FILTER_FAIL(EPERM), calls[i], bits_are(2, PROT_EXEC, PROT_EXEC));
}

/* The log may be read: all of it at once, and its size. The rest clears it, takes from it, or sets
 * what goes to the console. */
static void log_refuse(struct filter *f)
{
	static const u32 actions[] = {0, 1, 2, 4, 5, 6, 7, 8, 9}; /* SYSLOG_ACTION_*, syslog(2) */

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		filter_test(f, FILTER_FAIL(EPERM), SYS_syslog, is(0, actions[i]));
}

/* Maps are read, and programs attached again that are there: no new ones are. */
static void programs_refuse(struct filter *f)
{
	static const u32 commands[] = {BPF_PROG_LOAD, BPF_BTF_LOAD};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		filter_test(f, FILTER_FAIL(EPERM), SYS_bpf, is(0, commands[i]));
}

static int session_load(unsigned needs)
{
	static const u32 borrow[] = {SYS_pidfd_getfd};
	struct filter f = {.action = FILTER_ALLOW};

	calls_refuse(&f, session_never, ARRAY_SIZE(session_never));
	if (!(needs & CAGE_BORROWS))
		calls_refuse(&f, borrow, ARRAY_SIZE(borrow));
	programs_refuse(&f);
	log_refuse(&f);
	/* A program that is started inherits all this, and maps its code. */
	if (!(needs & CAGE_SPAWNS)) {
		code_refuse(&f);
		spawns_refuse(&f);
	}
	return filter_load(&f, true);
}

int cage_session(unsigned needs, struct err *err)
{
#ifdef __SANITIZE_ADDRESS__
	return 0; /* as above */
#endif
	return load_error(session_load(needs), err);
}
