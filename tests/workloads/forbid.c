/*
 * Programs that forbid themselves what who watches them may be used to: system calls by a seccomp
 * filter that ends them for any other, and the time stamp counter. Each prints `done` and ends with
 * 0. usage: forbid MODE [ARG...]
 *
 *   prctl, syscall   allocate on under a filter that lets only write and exit_group through; a pid:
 *                    of a process to stop before
 *   coroutine        the same on a stack of the program's own
 *   threads          threads and forks under a filter that ends them for what they need not call
 *   exec PROGRAM...  runs a program under such a filter
 *   allow PROGRAM... runs a program under a filter that allows all
 *   none             forbids nothing
 *   probe            asks whether there are filters, and installs none; then allocates
 *   strict           in the strict mode, which forbids the counter too
 *   tsc              threads after the counter was forbidden
 *   tsc-late         the counter is forbidden when there are threads
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define BLOCKS 100
#define ROUNDS 400000

/* 0: the process ends. */
static const unsigned allowed[] = {SYS_write, SYS_exit_group};
/* What a program that waits, forks and begins threads can do without. */
static const unsigned forbidden[] = {SYS_getpid, SYS_getppid, SYS_gettid, SYS_nanosleep,
	SYS_clock_gettime, SYS_sched_yield, SYS_process_vm_readv, SYS_readlink, SYS_stat, SYS_open,
	SYS_socket, SYS_connect, SYS_recvmsg};

static struct sock_filter code[64];
static struct sock_fprog filter = {.filter = code};

static void put(unsigned short what, unsigned char yes, unsigned k)
{
	code[filter.len++] = (struct sock_filter){what, yes, 0, k};
}

static void filter_make(const unsigned *calls, size_t n, unsigned listed, unsigned others)
{
	put(BPF_LD | BPF_W | BPF_ABS, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++)
		put(BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(n - i), calls[i]);
	put(BPF_RET | BPF_K, 0, others);
	put(BPF_RET | BPF_K, 0, listed);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(3);
}

static void only_a_few(int by_syscall)
{
	filter_make(allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW,
		SECCOMP_RET_KILL_PROCESS);
	if (by_syscall ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(4);
}

static void all_but_some(size_t n)
{
	filter_make(forbidden, n, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(4);
}

static void *blocks[BLOCKS];

static __attribute__((noinline)) void allocate(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		free(blocks[i % BLOCKS]);
		blocks[i % BLOCKS] = malloc(100 + (size_t)i % BLOCKS);
	}
	__asm__ volatile("");
}

static void say_done(void)
{
	if (write(1, "done\n", 5) != 5)
		_exit(5);
}

/* Of different depths, so that there are new stacks too. */
static __attribute__((noinline)) void descend(int n)
{
	char room[300];

	__asm__ volatile("" : : "r"(room) : "memory");
	if (n)
		descend(n - 1);
	allocate(10);
	__asm__ volatile("");
}

static void coroutine(void)
{
	only_a_few(0);
	descend(40);
	allocate(ROUNDS);
	say_done();
	_exit(0);
}

static void on_coroutine(void)
{
	static char stack[1 << 16];
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
}

static void *run(void *arg)
{
	void *own[BLOCKS] = {};

	for (long i = 0; i < ROUNDS / 4; i++) {
		free(own[i % BLOCKS]);
		own[i % BLOCKS] = malloc(50);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(own[i]);
	return arg;
}

static void threads(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, run, NULL))
			_exit(6);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		allocate(1000);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(7);
}

/* Runs in the strict mode, which knows no exit_group. */
static void strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(4);
	allocate(ROUNDS);
	say_done();
	syscall(SYS_exit, 0);
}

static void probe(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
	threads();
	child();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t all = sizeof(forbidden) / sizeof(*forbidden);

	allocate(BLOCKS);
	if (!strcmp(mode, "prctl") || !strcmp(mode, "syscall")) {
		if (argc > 2)
			kill(atoi(argv[2]), SIGSTOP);
		only_a_few(*mode == 's');
		allocate(ROUNDS);
		say_done();
		_exit(0);
	} else if (!strcmp(mode, "coroutine")) {
		on_coroutine();
	} else if (!strcmp(mode, "threads")) {
		if (argc > 2)
			kill(atoi(argv[2]), SIGSTOP);
		all_but_some(all);
		threads();
		child();
	} else if (!strcmp(mode, "exec") || !strcmp(mode, "allow")) {
		all_but_some(*mode == 'e' ? all : 0);
		execvp(argv[2], argv + 2);
		_exit(8);
	} else if (!strcmp(mode, "none")) {
		allocate(ROUNDS);
	} else if (!strcmp(mode, "probe")) {
		probe();
	} else if (!strcmp(mode, "strict")) {
		strict();
	} else if (!strcmp(mode, "tsc")) {
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
		threads();
	} else if (!strcmp(mode, "tsc-late")) {
		threads();
		syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
		allocate(ROUNDS);
	} else {
		return 2;
	}
	say_done();
	return 0;
}
