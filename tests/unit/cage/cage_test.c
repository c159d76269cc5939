/* The cage: what a process inside can still do, asked of the kernel by a child that tries it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "cage/cage.h"

/* Each says 0 or -errno. */
static int tried(long rc)
{
	return rc < 0 ? -errno : 0;
}

static int do_open_read(void)
{
	return tried(open("/proc/self/status", O_RDONLY));
}

static int do_open_write(void)
{
	return tried(open("/dev/null", O_WRONLY));
}

static int do_open_both(void)
{
	return tried(open("/dev/null", O_RDWR));
}

static int do_create(void)
{
	return tried(open("/dev/null", O_RDONLY | O_CREAT, 0600));
}

static int do_unnamed(void)
{
	return tried(open("/tmp", O_TMPFILE | O_WRONLY, 0600));
}

static int do_make(void)
{
	int fd = open("cage-test", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 || unlink("cage-test") ? -errno : 0;
}

static int do_unlink(void)
{
	return tried(unlink("/nonexistent"));
}

static int do_exec(void)
{
	return tried(execl("/bin/true", "true", NULL));
}

static int do_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return tried(pid);
}

static int do_socket(void)
{
	return tried(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int do_kill(void)
{
	return tried(kill(getppid(), 0));
}

static int do_trace(void)
{
	return tried(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int do_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int do_code_later(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -ENOMEM : tried(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int do_setuid(void)
{
	return tried(syscall(SYS_setuid, 0));
}

static int do_capset(void)
{
	cap_t c = cap_get_proc();
	cap_value_t kill = CAP_KILL;
	int rc = !c || cap_set_flag(c, CAP_PERMITTED, 1, &kill, CAP_SET) || cap_set_proc(c) ? -errno
											    : 0;

	cap_free(c);
	return rc;
}

/* getpid by its other number (asm/unistd_x32.h). */
static int do_other_number(void)
{
	return tried(syscall(0x40000000 + SYS_getpid));
}

static int do_note(void)
{
	return fsetxattr(-1, "user.memwhy", "", 0, 0) && errno == EBADF ? 0 : -errno;
}

/* What reports are made with. */
static int do_work(void)
{
	char *big = malloc(64 << 20), *grown = big ? realloc(big, 96 << 20) : NULL;
	char text[64];
	int fds[2] = {};

	if (!grown)
		return -ENOMEM;
	memset(grown, 1, 96 << 20);
	free(grown);
	snprintf(text, sizeof(text), "%g", 0.5);
	return isatty(0) >= 0 && lseek(0, 0, SEEK_CUR) >= -1 && fds[0] == 0 ? 0 : -EIO;
}

static const struct attempt {
	const char *name;
	int (*run)(void);
	int input, files; /* what comes of it: CAGE_INPUT, CAGE_FILES */
} attempts[] = {
	{"work", do_work, 0, 0},
	{"note on a report", do_note, 0, 0},
	{"open to read", do_open_read, -EPERM, 0},
	{"open to write", do_open_write, -EPERM, -EPERM},
	{"open for both", do_open_both, -EPERM, -EPERM},
	{"create", do_create, -EPERM, -EPERM},
	{"file without a name", do_unnamed, -EPERM, -EPERM},
	{"make a file", do_make, -EPERM, -EPERM},
	{"unlink", do_unlink, -EPERM, -EPERM},
	{"exec", do_exec, -EPERM, -EPERM},
	{"fork", do_fork, -EPERM, -EPERM},
	{"socket", do_socket, -EPERM, -EPERM},
	{"kill", do_kill, -EPERM, -EPERM},
	{"ptrace", do_trace, -EPERM, -EPERM},
	{"code", do_code, -EPERM, -EPERM},
	{"code later", do_code_later, -EPERM, -EPERM},
	{"setuid", do_setuid, -EPERM, -EPERM},
	{"capset", do_capset, -EPERM, -EPERM},
	{"a call's other number", do_other_number, -ENOSYS, -ENOSYS},
};

static void *nothing(void *arg)
{
	return arg;
}

static int do_thread(void)
{
	pthread_t t;
	int rc = -pthread_create(&t, NULL, nothing, NULL);

	return rc ? rc : -pthread_join(t, NULL);
}

static int do_ask(void)
{
	return tried(kill(getppid(), 0));
}

static int do_signal(void)
{
	return tried(kill(getpid(), SIGCONT));
}

static int do_borrow(void)
{
	int of = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return tried(syscall(SYS_pidfd_getfd, of, 0, 0));
}

static int do_write_memory(void)
{
	struct iovec v = {&v, sizeof(v)};

	return tried(process_vm_writev(getpid(), &v, 1, &v, 1, 0));
}

static int do_mount(void)
{
	return tried(mount("none", "/nonexistent", "tmpfs", 0, NULL));
}

static int do_log_read(void)
{
	return tried(klogctl(10, NULL, 0)); /* SYSLOG_ACTION_SIZE_BUFFER */
}

static int do_log_unread(void)
{
	return tried(
		klogctl(9, NULL, 0)); /* SYSLOG_ACTION_SIZE_UNREAD: needs what reading it does */
}

static int do_unshare(void)
{
	return tried(unshare(CLONE_FS));
}

/* The second number: where it may start programs and borrow descriptors. */
static const struct attempt session_attempts[] = {
	{"work", do_work, 0, 0},
	{"open to read", do_open_read, 0, 0},
	{"open to write", do_open_write, 0, 0},
	{"note on a report", do_note, 0, 0},
	{"thread", do_thread, 0, 0},
	{"ask for a process", do_ask, 0, 0},
	{"signal", do_signal, -EPERM, 0},
	{"exec", do_exec, -EPERM, 0},
	{"fork", do_fork, -EPERM, 0},
	{"ptrace", do_trace, -EPERM, -EPERM},
	{"borrow", do_borrow, -EPERM, 0},
	{"another's memory", do_write_memory, -EPERM, -EPERM},
	{"code", do_code, -EPERM, 0},
	{"code later", do_code_later, -EPERM, 0},
	{"setuid", do_setuid, -EPERM, -EPERM},
	{"capset", do_capset, -EPERM, -EPERM},
	{"mount", do_mount, -EPERM, -EPERM},
	{"unshare", do_unshare, -EPERM, -EPERM},
	{"read the log", do_log_read, 0, 0},
	{"more of the log", do_log_unread, -EPERM, -EPERM},
};

static int session_in(const struct attempt *a, unsigned needs)
{
	static const int log[] = {CAP_SYSLOG};
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct err err = {};

		_exit(cage_capabilities(log, 1, &err) || cage_session(needs, &err) ? 255
										   : -a->run());
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void a_session_only_looks(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	puts("a sanitized program has no filter");
	skip();
#endif
	for (size_t i = 0; i < ARRAY_SIZE(session_attempts); i++) {
		const struct attempt *a = &session_attempts[i];

		if (session_in(a, 0) != a->input ||
			session_in(a, CAGE_SPAWNS | CAGE_BORROWS) != a->files)
			fail_msg("%s: %d and %d", a->name, session_in(a, 0),
				session_in(a, CAGE_SPAWNS | CAGE_BORROWS));
	}
}

static void *is_filtered(void *arg)
{
	char go;

	return read(*(int *)arg, &go, 1) == 1 && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER
		       ? arg
		       : NULL;
}

/* A thread that was there before has the filter too. */
static int all_filtered(void)
{
	struct err err = {};
	pthread_t t;
	void *ret = NULL;
	int ends[2];

	if (pipe(ends) || pthread_create(&t, NULL, is_filtered, &ends[0]))
		return 1;
	if (cage_capabilities(NULL, 0, &err) || cage_session(0, &err))
		return 2;
	if (write(ends[1], "", 1) != 1 || pthread_join(t, &ret))
		return 3;
	return ret ? 0 : 4;
}

static void each_thread_only_looks(void **state)
{
	int status;
	pid_t pid;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	puts("a sanitized program has no filter");
	skip();
#endif
	pid = fork();
	if (!pid) /* without that no thread but the first has no_new_privs, which the filter asks
		     for */
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? 5 : all_filtered());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

/* In a child: what comes of it inside; 256: the cage could not be entered. */
static int attempt_in(const struct attempt *a, enum cage cage)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct err err = {};

		_exit(cage_enter(cage, &err) ? 255 : -a->run());
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int in_writer(const struct attempt *a)
{
	if (a->run == do_unlink)
		return -ENOENT;
	return a->run == do_make ? 0 : a->files;
}

static void only_what_is_left(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	puts("a sanitized program has no filter");
	skip();
#endif
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		const struct attempt *a = &attempts[i];

		if (attempt_in(a, CAGE_INPUT) != a->input ||
			attempt_in(a, CAGE_FILES) != a->files ||
			attempt_in(a, CAGE_READER) != a->input ||
			attempt_in(a, CAGE_OPENER) != a->input ||
			attempt_in(a, CAGE_WRITER) != in_writer(a))
			fail_msg("%s: %d and %d", a->name, attempt_in(a, CAGE_INPUT),
				attempt_in(a, CAGE_FILES));
	}
}

/* "CapEff:\t..." of the caller, as a number. */
static u64 status_number(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long n = UINT64_MAX;
	size_t len = strlen(key);
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			sscanf(line + len + 1, " %llx", &n);
	fclose(f);
	return n;
}

static int kept_right(void)
{
	static const int keep[] = {CAP_SYSLOG, CAP_SYS_PTRACE};
	u64 had = status_number("CapPrm"), want = 0;
	struct err err = {};

	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		want |= had & 1ULL << keep[i];
	if (cage_capabilities(keep, ARRAY_SIZE(keep), &err))
		return 1;
	if (status_number("CapPrm") != want || status_number("CapEff") != want)
		return 2;
	if (had & 1ULL << CAP_SETPCAP && status_number("CapBnd"))
		return 3;
	return status_number("NoNewPrivs") == 1 && !status_number("CapAmb") ? 0 : 4;
}

static u64 kept_of(enum cage cage)
{
	if (cage == CAGE_OPENER)
		return 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_PERFMON | 1ULL << CAP_SYS_PTRACE;
	return cage == CAGE_FILES ? 1ULL << CAP_SYSLOG : 0;
}

/* Files are named by their kernel's symbols too: for that one is kept, where it was had. */
static int kept_in(enum cage cage)
{
	u64 had = status_number("CapPrm");
	struct err err = {};
	FILE *f = fopen("/proc/self/status", "re"); /* read when inside */
	char text[4096];
	const char *at;
	unsigned long long has;

	if (!f || cage_enter(cage, &err))
		return 1;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	at = strstr(text, "\nCapPrm:");
	if (!at || sscanf(at, "\nCapPrm: %llx", &has) != 1)
		return 2;
	return has == (had & kept_of(cage)) ? 0 : 3;
}

static void only_names_of_the_kernel(void **state)
{
	static const enum cage cages[] = {
		CAGE_INPUT, CAGE_FILES, CAGE_READER, CAGE_OPENER, CAGE_WRITER};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cages); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(kept_in(cages[i]));
		assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
		assert_int_equal(status, 0);
	}
}

static void only_what_is_kept(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(kept_right());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_left),
		cmocka_unit_test(a_session_only_looks),
		cmocka_unit_test(each_thread_only_looks),
		cmocka_unit_test(only_what_is_kept),
		cmocka_unit_test(only_names_of_the_kernel),
	};

	return cmocka_run_group_tests_name("cage", tests, NULL, NULL);
}
