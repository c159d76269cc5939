/* What a program may have and do is limited, by itself or from outside, and it is told of that. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "behaviour.h"

#define MIB (1UL << 20)

static void limit(int what, rlim_t value)
{
	struct rlimit l = {value, value};

	MUST(!setrlimit((__rlimit_resource_t)what, &l));
}

static void result(const char *what, long rc)
{
	printf("%s: %s\n", what, rc == -1 || !rc ? strerror(errno) : "done");
	errno = 0;
}

/* Blocks of 1 MiB until there is no more: none where at least `most` could be had. */
static int blocks_to(int most)
{
	void **list = NULL;
	int n = 0;

	for (; n < most; n++) {
		void **p = malloc(MIB);

		if (!p)
			break;
		*p = list;
		list = p;
	}
	while (list) {
		void **next = *list;

		free(list);
		list = next;
	}
	return n;
}

/* Its own limit, with as much room as it needs and no more. */
static int address_space(int argc, char **argv)
{
	limit(RLIMIT_AS, (rlim_t)(argc ? atoi(argv[0]) : 150) * MIB);
	printf("%d\n", blocks_to(100));
	result("more", (long)malloc(1UL << 30));
	return 0;
}

static int address_space_left(int argc, char **argv)
{
	printf("%d\n", blocks_to(argc ? atoi(argv[0]) : 100));
	return 0;
}

static void *allocates(void *arg)
{
	churn(100);
	return arg;
}

static int address_space_threads(int argc, char **argv)
{
	pthread_attr_t attr;
	int sum = 0;

	limit(RLIMIT_AS, 200 * MIB);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < 60; i++) {
		pthread_t t;

		MUST(!pthread_create(&t, &attr, allocates, argv));
		pthread_join(t, NULL);
		sum++;
	}
	printf("%d\n", sum);
	return argc && argv;
}

static int data(int argc, char **argv)
{
	limit(RLIMIT_DATA, 64 * MIB);
	printf("%d\n", blocks_to(40));
	result("more", (long)malloc(100 * MIB));
	return argc && argv;
}

static int few_files(int argc, char **argv)
{
	int n = 0;

	limit(RLIMIT_NOFILE, 8);
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	printf("%d\n", n);
	result("open", open("/dev/null", O_RDONLY));
	printf("%lu\n", churn(100));
	return argc && argv;
}

/* Which descriptors there are: those that the program has opened itself. */
static int descriptors(int argc, char **argv)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	printf("%d, the next is %d\n", n, open("/dev/null", O_RDONLY));
	return argc && argv;
}

static int all_closed(int argc, char **argv)
{
	closefrom(0);
	MUST(open("/dev/null", O_RDONLY) == 0);
	MUST(open("out of it", O_WRONLY | O_CREAT, 0600) == 1);
	MUST(dup(1) == 2);
	churn(100);
	MUST(!system("echo from a shell; exit 0"));
	return argc && argv;
}

static int no_files(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN);
	limit(RLIMIT_FSIZE, 0);
	churn(100);
	result("write", write(open("a file", O_WRONLY | O_CREAT, 0600), "x", 1));
	execl("/bin/sh", "sh", "-c", "echo it runs >&2; true", NULL);
	return argc && argv;
}

static int file_size(int argc, char **argv)
{
	limit(RLIMIT_FSIZE, 1000);
	limit(RLIMIT_CORE, 0);
	churn(argc + 1000);
	MUST(!ftruncate(open("a file", O_WRONLY | O_CREAT, 0600), 2000));
	return argv != NULL;
}

static int cpu(int argc, char **argv)
{
	struct rlimit l = {1, 3};

	limit(RLIMIT_CORE, 0);
	setrlimit(RLIMIT_CPU, &l);
	for (;;)
		churn(100 + argc);
	return argv == NULL;
}

static int locked(int argc, char **argv)
{
	result("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE) + 1);
	printf("%lu\n", churn(300));
	return argc && argv;
}

/* As who may lock nothing beyond a limit. */
static int locked_little(int argc, char **argv)
{
	void *mapped;

	limit(RLIMIT_MEMLOCK, 8 * MIB);
	MUST(!setgid(65534) && !setuid(65534));
	result("all of now", mlockall(MCL_CURRENT) + 1);
	churn(100);
	for (int i = 0; argc && i < 3; i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(churn(50) == 0 || !argv);
		waitpid(pid, &status, 0);
		printf("%d\n", status);
		mapped =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(mapped != MAP_FAILED);
		memset(mapped, 1, MIB);
		munmap(mapped, MIB);
	}
	return 0;
}

static int small_stack(int argc, char **argv)
{
	limit(RLIMIT_STACK, 128 << 10);
	execl("/proc/self/exe", "limits", "small-stack-now", NULL);
	return argc && argv;
}

static int small_stack_now(int argc, char **argv)
{
	char room[64 << 10];

	memset(room, 1, sizeof(room));
	printf("%lu %d\n", churn(200), room[argc + 100]);
	return argc && argv;
}

static int other_user(int argc, char **argv)
{
	churn(100);
	MUST(!setgid(65534) && !setuid(65534));
	printf("%d %lu\n", (int)getuid(), churn(100));
	fflush(stdout);
	execl("/usr/bin/id", "id", "-u", NULL);
	return argc && argv;
}

static int not_dumpable(int argc, char **argv)
{
	prctl(PR_SET_DUMPABLE, 0);
	churn(100);
	printf("%d\n", prctl(PR_GET_DUMPABLE));
	return argc && argv;
}

/* It follows a child as a debugger does. */
static int tracer(int argc, char **argv)
{
	pid_t pid = fork();
	int status, stops = 0;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		churn(100);
		raise(SIGUSR1);
		execl("/bin/true", "true", NULL);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		stops++;
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	printf("%d stops, %d\n", stops, WEXITSTATUS(status));
	return argc && argv;
}

static int parent_dies(int argc, char **argv)
{
	int ends[2];
	char c;

	MUST(!pipe(ends));
	if (!fork()) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			MUST(write(ends[1], "x", 1) == 1);
			for (;;)
				churn(10);
		}
		MUST(read(ends[0], &c, 1) == 1);
		_exit(0);
	}
	wait(NULL);
	close(ends[1]);
	printf("%zd\n", read(ends[0], &c, 1));
	return argc && argv;
}

static int privileges(int argc, char **argv)
{
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	churn(100);
	printf("%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	fflush(stdout);
	execl("/bin/sh", "sh", "-c", "grep NoNewPrivs /proc/self/status", NULL);
	return argc && argv;
}

static int one_cpu(int argc, char **argv)
{
	cpu_set_t set, now;
	pthread_t t[4];

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	MUST(!sched_setaffinity(0, sizeof(set), &set));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_create(&t[i], NULL, allocates, argv));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	MUST(!sched_getaffinity(0, sizeof(now), &now));
	printf("%d\n", CPU_COUNT(&now));
	return argc;
}

/* Idle tasks of low priority wait for each other without end if somebody spins. */
static int idle(int argc, char **argv)
{
	struct sched_param p = {0};

	MUST(!sched_setscheduler(0, SCHED_IDLE, &p) && setpriority(PRIO_PROCESS, 0, 19) <= 0);
	printf("%lu\n", churn(2000));
	return argc && argv;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"address-space", address_space},
		{"address-space-left", address_space_left},
		{"address-space-threads", address_space_threads},
		{"data", data},
		{"few-files", few_files},
		{"descriptors", descriptors},
		{"all-closed", all_closed},
		{"no-files", no_files},
		{"file-size", file_size},
		{"cpu", cpu},
		{"locked", locked},
		{"locked-little", locked_little},
		{"small-stack", small_stack},
		{"small-stack-now", small_stack_now},
		{"other-user", other_user},
		{"not-dumpable", not_dumpable},
		{"tracer", tracer},
		{"parent-dies", parent_dies},
		{"privileges", privileges},
		{"one-cpu", one_cpu},
		{"idle", idle},
		{0},
	};

	return mode_run(modes, argc, argv);
}
