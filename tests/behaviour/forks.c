/* Processes: forks of all kinds, what is executed, how they end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "behaviour.h"

extern char **environ;

static int ended(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static int simple(int argc, char **argv)
{
	pid_t pid = fork();

	if (!pid)
		_exit(churn(1000) == 0 ? 9 : 5);
	printf("%lu, the child %d\n", churn(1000), ended(pid));
	return argc && argv;
}

static int many(int argc, char **argv)
{
	pid_t pids[40];
	int sum = 0;

	for (int i = 0; i < 40; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			churn(50);
			exit(i);
		}
	}
	for (int i = 0; i < 40; i++)
		sum += ended(pids[i]);
	printf("%d\n", sum);
	return argc && argv;
}

static int deep(int argc, char **argv)
{
	int left = argc ? atoi(argv[0]) : 15;
	pid_t pid;

	for (; left; left--) {
		void *p = malloc(100);

		fflush(stdout);
		pid = fork();
		if (pid) {
			free(p);
			return ended(pid);
		}
		free(p);
	}
	printf("the last one\n");
	return 4;
}

static void *keep_busy(void *arg)
{
	for (;;)
		churn(20);
	return arg;
}

/* The child is of one thread, in the middle of what the others did. */
static int with_threads(int argc, char **argv)
{
	pthread_t t;
	int sum = 0;

	for (int i = 0; i < 3; i++)
		MUST(!pthread_create(&t, NULL, keep_busy, argv));
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(churn(20) != 0);
		sum += ended(pid);
	}
	printf("%d\n", sum);
	fflush(stdout);
	_exit(argc);
}

static void *churns(void *arg)
{
	churn(100);
	return arg;
}

static void *forks(void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		pthread_t t;

		MUST(!pthread_create(&t, NULL, churns, arg));
		pthread_join(t, NULL);
		exit(6);
	}
	*(int *)arg = ended(pid);
	return NULL;
}

static int in_thread(int argc, char **argv)
{
	pthread_t t;
	int status;

	MUST(!pthread_create(&t, NULL, forks, &status));
	pthread_join(t, NULL);
	printf("%d\n", status);
	return argc && argv;
}

static int vfork_exec(int argc, char **argv)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/echo", "echo", "from a vfork", NULL);
			_exit(1);
		}
		MUST(!ended(pid));
	}
	return argc && argv;
}

static int vfork_exit(int argc, char **argv)
{
	volatile int written = 0;
	pid_t pid = vfork();

	if (!pid) {
		free(malloc(100));
		written = 1;
		_exit(3);
	}
	printf("%d %d %lu\n", ended(pid), written, churn(100));
	return argc && argv;
}

static int vfork_fails(int argc, char **argv)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/nowhere/at/all", "all", NULL);
		_exit(errno == ENOENT ? 8 : 9);
	}
	printf("%d\n", ended(pid));
	return argc && argv;
}

static int spawn(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	char *command[] = {"sh", "-c", "echo spawned; cat >&2", NULL};
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 1, 5);
	MUST(!posix_spawnp(&pid, "sh", &actions, NULL, command, environ));
	printf("%d\n", ended(pid));
	posix_spawn_file_actions_destroy(&actions);
	printf("%s\n", strerror(posix_spawn(&pid, "/nowhere", NULL, NULL, command, environ)));
	return argc && argv;
}

static int shell(int argc, char **argv)
{
	char line[100] = "";
	FILE *f;

	printf("%d\n", WEXITSTATUS(system("exit 11")));
	fflush(stdout);
	f = popen("echo piped; exit 2", "r");
	MUST(f && fgets(line, sizeof(line), f));
	printf("%s%d\n", line, WEXITSTATUS(pclose(f)));
	return argc && argv;
}

/* The same program again and again, with the same pid. */
static int again(int argc, char **argv)
{
	int left = argc ? atoi(argv[0]) : 20;
	char next[20];

	printf("%d %lu\n", left, churn(10));
	fflush(stdout);
	if (!left)
		return 0;
	snprintf(next, sizeof(next), "%d", left - 1);
	execl("/proc/self/exe", "forks", "again", next, NULL);
	return 1;
}

static int by_fd(int argc, char **argv)
{
	char *command[] = {"echo", "by its descriptor", NULL};
	int fd = open("/bin/echo", O_RDONLY | O_CLOEXEC);

	churn(10);
	fexecve(fd, command, environ);
	return argc && argv;
}

static int found(const char *name, char path[4096])
{
	snprintf(path, 4096, "%s/%s", strcmp(name, "echo") ? getenv("BUILT") : "/bin", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Each function that executes, with three words. */
static int execs(int argc, char **argv)
{
	const char *how = argv[0], *a = argv[1], *b = argv[2], *c = argc > 3 ? argv[3] : NULL;
	char path[4096], **rest = argv + 1;
	int fd = found(a, path);
	pid_t pid;

	MUST(fd >= 0);
	if (!strcmp(how, "l"))
		execl(path, a, b, c, NULL);
	else if (!strcmp(how, "lp"))
		execlp(a, a, b, c, NULL);
	else if (!strcmp(how, "le"))
		execle(path, a, b, c, NULL, environ);
	else if (!strcmp(how, "v"))
		execv(path, rest);
	else if (!strcmp(how, "vp"))
		execvp(a, rest);
	else if (!strcmp(how, "ve"))
		execve(path, rest, environ);
	else if (!strcmp(how, "vpe"))
		execvpe(a, rest, environ);
	else if (!strcmp(how, "fd"))
		fexecve(fd, rest, environ);
	else if (!strcmp(how, "at"))
#ifdef __GLIBC__
		execveat(AT_FDCWD, path, rest, environ, 0);
#else
		syscall(SYS_execveat, AT_FDCWD, path, rest, environ, 0);
#endif
	else
		MUST(!(strcmp(how, "spawn") ? posix_spawnp(&pid, a, NULL, NULL, rest, environ)
					    : posix_spawn(&pid, path, NULL, NULL, rest, environ)));
	return ended(pid);
}

static int no_environment(int argc, char **argv)
{
	char *command[] = {"sh", "-c", "set | grep -c MEMWHY; true", NULL}, *none[] = {NULL};

	churn(10);
	execve("/bin/sh", command, none);
	return argc && argv;
}

static void *executes(void *arg)
{
	by_fd(0, arg);
	return arg;
}

static int exec_in_thread(int argc, char **argv)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, executes, argv));
	for (;;)
		churn(10 + argc + !argv);
}

static int daemon_(int argc, char **argv)
{
	int ends[2];
	char word[8] = "";

	MUST(!pipe(ends));
	if (!fork()) {
		MUST(!daemon(0, 1));
		churn(1000);
		MUST(write(ends[1], "there", 5) == 5);
		_exit(0);
	}
	close(ends[1]);
	MUST(read(ends[0], word, 5) == 5);
	printf("%s\n", word);
	return argc && argv;
}

static void before(void)
{
	printf("before ");
	free(malloc(10));
}

static void after(void)
{
	printf("after ");
	free(malloc(10));
}

static int at_fork(int argc, char **argv)
{
	pid_t pid;

	pthread_atfork(before, after, after);
	pid = fork();
	if (!pid)
		exit(2);
	printf("%d\n", ended(pid));
	return argc && argv;
}

static int killed(int argc, char **argv)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			churn(10);
	kill(pid, SIGKILL);
	printf("%d\n", ended(pid));
	return argc && argv;
}

static int orphan(int argc, char **argv)
{
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		if (!fork()) {
			churn(100);
			while (getppid() != atoi(argv[0]))
				usleep(1000);
			_exit(12);
		}
		_exit(11);
	}
	printf("%d ", ended(pid));
	printf("%d\n", ended(-1));
	return argc != 1;
}

static int orphans(int argc, char **argv)
{
	char me[20], *word[] = {me};

	snprintf(me, sizeof(me), "%d", (int)getpid());
	return orphan(1, word) || (argc && argv);
}

static int shares(void *arg)
{
	*(volatile int *)arg = 1;
	return 7;
}

static int clones(int argc, char **argv)
{
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int word = 0;
	pid_t pid = clone(shares, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &word);

	printf("%d %d\n", ended(pid), word);
	pid = clone(shares, stack + size, SIGCHLD, &word);
	munmap(stack, size);
	printf("%d %lu\n", ended(pid), churn(100));
	return argc && argv;
}

/* A fork that libc knows nothing of. */
static int by_number(int argc, char **argv)
{
	pid_t pid = (pid_t)syscall(SYS_fork);

	if (!pid) {
		churn(100);
		_exit(3);
	}
	printf("%d %lu\n", ended(pid), churn(100));
	return argc && argv;
}

static int not_waited(int argc, char **argv)
{
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 20; i++)
		if (!fork())
			_exit(churn(20) == 0);
	while (wait(NULL) > 0)
		;
	printf("%s\n", strerror(errno));
	return argc && argv;
}

static int shared_memory(int argc, char **argv)
{
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = calloc(1, 100);
	pid_t pid = fork();

	if (!pid) {
		own[0] = 1;
		*p = 77;
		_exit(0);
	}
	ended(pid);
	printf("%d %d\n", *p, own[0]);
	return argc && argv;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"simple", simple},
		{"many", many},
		{"deep", deep},
		{"with-threads", with_threads},
		{"in-thread", in_thread},
		{"vfork-exec", vfork_exec},
		{"vfork-exit", vfork_exit},
		{"vfork-fails", vfork_fails},
		{"spawn", spawn},
		{"shell", shell},
		{"again", again},
		{"by-fd", by_fd},
		{"execs", execs},
		{"no-environment", no_environment},
		{"exec-in-thread", exec_in_thread},
		{"daemon", daemon_},
		{"at-fork", at_fork},
		{"killed", killed},
		{"orphans", orphans},
		{"clones", clones},
		{"by-number", by_number},
		{"not-waited", not_waited},
		{"shared-memory", shared_memory},
		{0},
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return mode_run(modes, argc, argv);
}
