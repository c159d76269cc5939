/*
 * Programs that forbid themselves what who watches them may be used to: system calls by a seccomp
 * filter that ends them for any other, and the time stamp counter. Each prints `done` and ends with
 * 0. usage: forbid MODE [ARG...]
 *
 *   prctl, syscall, own
 *                    allocate on under a filter that lets only write and exit_group through, which is
 *                    installed by a call of libc's, or by an instruction of the program's own; a pid:
 *                    of a process to stop before
 *   own-thread       the same in a thread, which alone has the filter
 *   own-first, own-thread-first
 *                    with what an allocator calls, before anything is allocated
 *   own-sync         threads allocate, while another one gives all of them a filter
 *   own-threads      threads and forks under a filter of the program's own instruction
 *   own-forks        forks that have a filter before they allocate; then it allocates itself
 *   own-vfork PROGRAM...
 *                    runs a program in the child of a vfork() that has such a filter
 *   own-exec PROGRAM...
 *                    runs a program under a filter that forbids what its loader need not call
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

enum how { BY_PRCTL, BY_SYSCALL, BY_OWN };

/* 0: the process ends. */
static const unsigned allowed[] = {SYS_write, SYS_exit_group};
/* What an allocator needs that is called for the first time. */
static const unsigned allocators[] = {SYS_write, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_futex, SYS_getrandom, SYS_madvise};
/* What a program that waits, forks and begins threads can do without. */
static const unsigned forbidden[] = {SYS_getpid, SYS_getppid, SYS_gettid, SYS_nanosleep,
	SYS_clock_gettime, SYS_sched_yield, SYS_process_vm_readv, SYS_readlink, SYS_stat, SYS_open,
	SYS_socket, SYS_connect, SYS_recvmsg, SYS_membarrier, SYS_faccessat};

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

static long own_call(long number, long a, long b, const void *c)
{
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return rc;
}

static void filter_install(enum how how, unsigned flags)
{
	long rc = how == BY_OWN ? own_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)
		: how == BY_SYSCALL
			? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)
			: prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);

	if (rc)
		_exit(4);
}

static void only_a_few(enum how how)
{
	filter_make(allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW,
		SECCOMP_RET_KILL_PROCESS);
	filter_install(how, 0);
}

static void only_allocators(void)
{
	filter_make(allocators, sizeof(allocators) / sizeof(*allocators), SECCOMP_RET_ALLOW,
		SECCOMP_RET_KILL_PROCESS);
	filter_install(BY_OWN, 0);
}

static void all_but_some(size_t n, enum how how, unsigned flags)
{
	filter_make(forbidden, n, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	filter_install(how, flags);
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
	only_a_few(BY_PRCTL);
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

static pthread_t running[3];

static void threads_begin(void)
{
	for (int i = 0; i < 3; i++)
		if (pthread_create(&running[i], NULL, run, NULL))
			_exit(6);
}

static void threads_end(void)
{
	for (int i = 0; i < 3; i++)
		pthread_join(running[i], NULL);
}

static void threads(void)
{
	threads_begin();
	threads_end();
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

/* first: it has not allocated before. */
static void *alone(void *first)
{
	if (first) {
		only_allocators();
	} else {
		allocate(BLOCKS);
		only_a_few(BY_OWN);
	}
	descend(40);
	allocate(ROUNDS);
	say_done();
	_exit(0);
}

static void in_thread(void *first)
{
	pthread_t t;

	if (pthread_create(&t, NULL, alone, first))
		_exit(6);
	pthread_join(t, NULL);
}

/* While they are at it. */
static void synchronised(size_t n)
{
	threads_begin();
	for (volatile int i = 0; i < 3000000; i++)
		;
	all_but_some(n, BY_OWN, SECCOMP_FILTER_FLAG_TSYNC);
	threads_end();
	threads();
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

static void few_run(enum how how)
{
	only_a_few(how);
	descend(40);
	allocate(ROUNDS);
	say_done();
	_exit(0);
}

#define FORKS 300

static void forks(size_t n)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			all_but_some(n, BY_OWN, 0);
			allocate(2000);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(7);
	}
	allocate(ROUNDS);
}

static void in_vfork(char **rest, size_t n)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		all_but_some(n, BY_OWN, 0);
		execvp(rest[0], rest);
		_exit(8);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(7);
}

static int own(const char *mode, char **rest, size_t n)
{
	if (!*mode) {
		few_run(BY_OWN);
	} else if (!strcmp(mode, "-first")) {
		only_allocators();
		allocate(ROUNDS);
		say_done();
		_exit(0);
	} else if (!strcmp(mode, "-thread") || !strcmp(mode, "-thread-first")) {
		in_thread(strcmp(mode, "-thread") ? blocks : NULL);
	} else if (!strcmp(mode, "-sync")) {
		synchronised(n);
	} else if (!strcmp(mode, "-threads")) {
		all_but_some(n, BY_OWN, 0);
		threads();
		child();
	} else if (!strcmp(mode, "-forks")) {
		forks(n);
	} else if (!strcmp(mode, "-vfork")) {
		in_vfork(rest, n);
		return 0; /* that one said it */
	} else if (!strcmp(mode, "-exec")) {
		all_but_some(n, BY_OWN, 0);
		execvp(rest[0], rest);
		_exit(8);
	} else {
		return 2;
	}
	say_done();
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t all = sizeof(forbidden) / sizeof(*forbidden);

	if (strcmp(mode, "own-first"))
		allocate(BLOCKS);
	if (argc > 2 && atoi(argv[2]))
		kill(atoi(argv[2]), SIGSTOP);
	if (!strncmp(mode, "own", 3))
		return own(mode + 3, argv + 2, all);
	if (!strcmp(mode, "prctl") || !strcmp(mode, "syscall")) {
		few_run(*mode == 's' ? BY_SYSCALL : BY_PRCTL);
	} else if (!strcmp(mode, "coroutine")) {
		on_coroutine();
	} else if (!strcmp(mode, "threads")) {
		all_but_some(all, BY_PRCTL, 0);
		threads();
		child();
	} else if (!strcmp(mode, "exec") || !strcmp(mode, "allow")) {
		all_but_some(*mode == 'e' ? all : 0, BY_PRCTL, 0);
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
