/* Filters of system calls. See cage.h. */
#include "cage/cage.h"

#include <errno.h>
#include <fcntl.h>
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
	SCMP_SYS(writev),
	SCMP_SYS(ftruncate),
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
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(statfs),
};

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
	static const int asks[] = {TCGETS, TIOCGWINSZ},
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
	for (size_t i = 0; i < ARRAY_SIZE(dups) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)dups[i]));
	if (!rc && which == CAGE_FILES)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, changes, O_RDONLY));
	return rc;
}

/* What is not allowed fails with EPERM: libc and libraries then go on or say so. */
static int filter_load(enum cage which)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = f ? 0 : -ENOMEM;

	if (!rc)
		rc = calls_allow(f, quiet_calls, ARRAY_SIZE(quiet_calls));
	if (!rc && which == CAGE_FILES)
		rc = calls_allow(f, file_calls, ARRAY_SIZE(file_calls));
	if (!rc)
		rc = guarded_allow(f, which);
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc;
}

int cage_enter(enum cage which, struct err *err)
{
	static const int symbols[] = {CAP_SYSLOG}; /* or /proc/kallsyms has no addresses */
	int rc = cage_capabilities(symbols, which == CAGE_FILES, err);

	if (rc)
		return rc;
#ifdef __SANITIZE_ADDRESS__
	return 0; /* the leak check at exit traces its own process */
#endif
	rc = filter_load(which);
	if (rc == -EINVAL || rc == -ENOSYS || rc == -EFAULT)
		return err_set(err, -EOPNOTSUPP, "this kernel has no filters of system calls");
	return rc ? err_errno(err, rc, "filtering system calls") : 0;
}
