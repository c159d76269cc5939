/* Signals: those that end a program, and handlers wherever they may run. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "behaviour.h"

static volatile sig_atomic_t came;

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&a.sa_mask);
	MUST(!sigaction(sig, &a, NULL));
}

static int segv(int argc, char **argv)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	churn(100);
	printf("about to\n");
	fflush(stdout);
	*(volatile int *)(argc + 8L) = argv != NULL;
	return 0;
}

static int aborts(int argc, char **argv)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	churn(argc + 100);
	abort();
	return argv != NULL;
}

static int killed(int argc, char **argv)
{
	churn(argc + 100);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
	return argv != NULL;
}

static void count(int sig)
{
	came += sig != 0;
}

/* A signal each 100 us while it allocates. */
static int storm(int argc, char **argv)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};

	handle(SIGALRM, count, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	while (came < 500)
		churn(50);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%lu\n", churn(50));
	return argc && argv;
}

static void on_other_stack(int sig)
{
	came += (sig_atomic_t)(churn(100) != 0) + (sig == 0);
}

static int other_stack(int argc, char **argv)
{
	size_t size = 64 << 10;

	handle(SIGUSR1, on_other_stack, SA_ONSTACK);
	for (int i = 0; i < 50; i++) {
		stack_t s = {.ss_size = size}, off = {.ss_flags = SS_DISABLE};

		s.ss_sp = mmap(
			NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(!sigaltstack(&s, NULL));
		raise(SIGUSR1);
		MUST(!sigaltstack(&off, NULL));
		munmap(s.ss_sp, size);
		churn(20);
	}
	printf("%d\n", came);
	return argc && argv;
}

static sigjmp_buf back;

static void recovers(int sig)
{
	siglongjmp(back, sig);
}

static int recover(int argc, char **argv)
{
	volatile int times = 0;

	handle(SIGSEGV, recovers, 0);
	while (times < 100) {
		void *p = malloc(100);

		times++;
		if (!sigsetjmp(back, 1))
			*(volatile char *)(size_t)(argc + 1) = 1;
		free(p);
	}
	printf("%d\n", times);
	return argc && argv;
}

static int recurse(int n)
{
	volatile char room[1000];
	void *p = malloc(100);
	int deep;

	room[n % 1000] = (char)n;
	deep = n < 0 ? 0 : recurse(n + 1) + room[n % 1000];
	free(p);
	return deep;
}

static void overflows(int sig)
{
	free(malloc((size_t)sig));
	siglongjmp(back, 1);
}

static int stack_overflow(int argc, char **argv)
{
	static char stack[64 << 10];
	stack_t s = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&s, NULL);
	handle(SIGSEGV, overflows, SA_ONSTACK);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			recurse(argc);
	printf("caught, %lu\n", churn(100));
	return argc && argv;
}

static int broken_pipe(int argc, char **argv)
{
	int ends[2];

	MUST(!pipe(ends));
	close(ends[0]);
	churn(argc + 10);
	MUST(write(ends[1], "x", 1) == 2);
	return argv != NULL;
}

static void *waits(void *arg)
{
	int sig;

	for (int i = 0; i < 10; i++) {
		churn(10);
		sigwait(arg, &sig);
		came += sig == SIGUSR2;
		kill(getpid(), SIGUSR1);
	}
	return NULL;
}

static int wait_for(int argc, char **argv)
{
	sigset_t set, answer;
	pthread_t t;
	int sig;

	sigemptyset(&set);
	sigemptyset(&answer);
	sigaddset(&answer, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, &answer, NULL);
	MUST(!pthread_create(&t, NULL, waits, &set));
	for (int i = 0; i < 10; i++) {
		kill(getpid(), SIGUSR2);
		sigwait(&answer, &sig);
		churn(10);
	}
	pthread_join(t, NULL);
	printf("%d\n", came);
	return argc && argv;
}

static int by_fd(int argc, char **argv)
{
	struct signalfd_siginfo info = {0};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	raise(SIGUSR1);
	MUST(read(fd, &info, sizeof(info)) == sizeof(info));
	printf("descriptor %d, signal %u\n", fd, info.ssi_signo);
	return argc && argv;
}

static void *once(void *arg)
{
	return arg;
}

static volatile int rang;

static void rings(union sigval v)
{
	churn(10);
	__atomic_add_fetch(&rang, v.sival_int, __ATOMIC_RELAXED);
}

/* Each time a thread of libc's. */
static int timer(int argc, char **argv)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rings};
	struct itimerspec often = {{0, 2000000}, {0, 2000000}}, never = {0};
	timer_t t;

	e.sigev_value.sival_int = 1;
	MUST(once(argv) && !timer_create(CLOCK_MONOTONIC, &e, &t));
	timer_settime(t, 0, &often, NULL);
	while (rang < 20)
		churn(20);
	timer_settime(t, 0, &never, NULL);
	printf("20 times\n");
	fflush(stdout);
	_exit(argc);
}

static void reaps(int sig)
{
	int error = errno;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		came += sig == SIGCHLD;
	errno = error;
}

static int children(int argc, char **argv)
{
	handle(SIGCHLD, reaps, SA_RESTART);
	for (int i = 0; i < 20; i++)
		if (!fork())
			_exit(churn(10) == 0);
	while (came < 20)
		churn(20);
	printf("%d\n", came);
	return argc && argv;
}

static int stopped(int argc, char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		raise(SIGSTOP);
		churn(100);
		_exit(5);
	}
	waitpid(pid, &status, WUNTRACED);
	printf("%d ", WIFSTOPPED(status));
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return argc && argv;
}

static void with_value(int sig, siginfo_t *info, void *context)
{
	came = info->si_value.sival_int + (context == NULL) + (sig == 0);
}

static int value(int argc, char **argv)
{
	struct sigaction a = {.sa_sigaction = with_value, .sa_flags = SA_SIGINFO};
	union sigval v = {.sival_int = 4711};

	sigaction(SIGRTMIN + 3, &a, NULL);
	churn(10);
	sigqueue(getpid(), SIGRTMIN + 3, v);
	printf("%d\n", came);
	return argc && argv;
}

/* What a program finds when it begins: masks, what is ignored. */
static int inherited(int argc, char **argv)
{
	sigset_t set;

	if (argc) {
		struct sigaction a;

		sigprocmask(SIG_BLOCK, NULL, &set);
		sigaction(SIGHUP, NULL, &a);
		printf("%d %d\n", sigismember(&set, SIGUSR1), a.sa_handler == SIG_IGN);
		return 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	execl("/proc/self/exe", "signals", "inherited", "again", NULL);
	return argv != NULL;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"segv", segv},
		{"abort", aborts},
		{"killed", killed},
		{"storm", storm},
		{"other-stack", other_stack},
		{"recover", recover},
		{"stack-overflow", stack_overflow},
		{"broken-pipe", broken_pipe},
		{"wait", wait_for},
		{"by-fd", by_fd},
		{"timer", timer},
		{"children", children},
		{"stopped", stopped},
		{"value", value},
		{"inherited", inherited},
		{0},
	};

	return mode_run(modes, argc, argv);
}
