/*
 * Programs that leave their stacks in unusual ways, for tests of who walks them: whatever it reads,
 * it must not fault. Each prints `done` and ends with 0. usage: stack_switch MODE [SEED [ROUNDS]]
 *
 *   handler  a handler on an alternate stack unmaps the stack that it interrupted
 *   frame    a coroutine begun in a handler, whose interrupted stack is gone
 *   reuse    a smaller stack where a larger one was, and a frame pointer that points past it
 *   storm    threads that do all of that at random, under a storm of signals
 *   outer    threads whose outer frames another thread takes away and puts back as they run
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096UL
#define STACK (32 * PAGE)
#define THREADS 3
#define KEPT 64

/* Of a thread. */
struct runner {
	ucontext_t home, coroutine;
	sigjmp_buf way_out;
	jmp_buf inside, outside;
	char *stack; /* of the coroutine; NULL: unmapped */
	size_t size;
	char *alternate;
	void *kept[KEPT];
	uint64_t random;
	int leave;                      /* what the handler does */
	volatile sig_atomic_t inside_c; /* in the allocator, which a handler must not enter too */
	volatile sig_atomic_t ends;
};

enum { STAY, LEAVE, BEGIN };

static __thread struct runner *me;

static void fail(const char *what)
{
	perror(what);
	_exit(2);
}

static void *pages(void *at, size_t size, int prot)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
	void *p = mmap(at, size, prot, flags, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static unsigned next(unsigned below)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return (unsigned)(me->random >> 20) % below;
}

/* Also by a call that no library sees. */
static void drop(char **stack, size_t size)
{
	char *at = *stack;

	*stack = NULL;
	if (at && (next(2) ? munmap(at, size) : (int)syscall(SYS_munmap, at, size)))
		fail("munmap");
}

static __attribute__((noinline)) void allocate(void)
{
	void **place = &me->kept[next(KEPT)];

	me->inside_c = 1;
	free(*place);
	*place = malloc(16 + next(200));
	me->inside_c = 0;
}

/*
 * Calls a function with this frame pointer, from code that is of no file, as if made at run time:
 * whoever walks the stack can but follow the frame pointer.
 */
static void (*call_with_bp)(void (*fn)(void), uint64_t bp);
extern const char code[], code_end[];
__asm__(".text\n.globl code\n.globl code_end\n"
	"code:\n\tpush %rbp\n\tpush %rbx\n\tsub $8, %rsp\n\tmov %rsi, %rbp\n\tcall *%rdi\n"
	"\tadd $8, %rsp\n\tpop %rbx\n\tpop %rbp\n\tret\ncode_end:\n");

static void code_make(void)
{
	void *at = pages(NULL, PAGE, PROT_READ | PROT_WRITE);

	memcpy(at, code, (size_t)(code_end - code));
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC))
		fail("mprotect");
	call_with_bp = at;
}

/* Where a wild frame pointer may point to. */
static uint64_t wild(void)
{
	char *here = __builtin_frame_address(0), *top = me->stack ? me->stack + me->size : here;

	switch (next(7)) {
	case 0:
		return (uint64_t)top + next(64) * 8;
	case 1:
		return (uint64_t)top - 8;
	case 2:
		return (uint64_t)top - 16;
	case 3:
		return (uint64_t)here + next(8) * PAGE + next(512) * 8;
	case 4:
		return (uint64_t)here + next(4096);
	case 5:
		return 0x7ffffffff000 + next(3) * 0x800000000000;
	default:
		return (uint64_t)me->alternate + next(20) * PAGE + next(512) * 8;
	}
}

static __attribute__((noinline)) void deep(int n)
{
	size_t size = next(8) ? next(300) : next(2 * PAGE);
	volatile char *room = __builtin_alloca(size + 16);

	room[0] = 1;
	if (n > 0)
		deep(n - 1);
	else if (next(3))
		call_with_bp(allocate, wild());
	allocate();
	room[size] = 2;
}

static void on_signal(int sig)
{
	struct runner *m = me;

	(void)sig;
	allocate();
	if (m->leave == BEGIN) {
		m->leave = STAY;
		if (!setjmp(m->inside))
			return; /* and be back later, when all around is gone */
		for (int i = 0; i < 3; i++)
			allocate();
		longjmp(m->outside, 1);
	}
	if (m->leave != LEAVE)
		return;
	if (next(2))
		drop(&m->stack, m->size);
	for (int i = 0; i < 3; i++)
		allocate();
	m->leave = STAY;
	siglongjmp(m->way_out, 1);
}

/* Comes at any time, also while the allocator runs. */
static void on_storm(int sig)
{
	int before = errno;
	void *p;

	(void)sig;
	if (!me || me->ends)
		return;
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!me->inside_c)
		free(malloc(10));
	if (p != MAP_FAILED)
		munmap(p, PAGE);
	errno = before;
}

static void alternate_set(char *at)
{
	stack_t s = {.ss_sp = at, .ss_size = 16 * PAGE};

	me->alternate = at;
	if (sigaltstack(&s, NULL))
		fail("sigaltstack");
}

static void coroutine(void)
{
	deep((int)next(20));
	if (me->leave != STAY)
		raise(SIGUSR1);
	deep((int)next(20));
}

/* Ends with the function, or when a handler leaves it. */
static void coroutine_on(char *stack, size_t size, void (*fn)(void))
{
	struct runner *m = me;

	m->stack = stack;
	m->size = size;
	if (getcontext(&m->coroutine))
		fail("getcontext");
	m->coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
	m->coroutine.uc_link = &m->home;
	makecontext(&m->coroutine, fn, 0);
	if (!sigsetjmp(m->way_out, 1) && swapcontext(&m->home, &m->coroutine))
		fail("swapcontext");
}

static void coroutine_run(size_t size, int leave)
{
	me->leave = leave;
	coroutine_on(pages(NULL, size, PROT_READ | PROT_WRITE), size, coroutine);
	allocate();
	drop(&me->stack, size);
}

static void to_handler(void)
{
	deep(3);
	raise(SIGUSR1);
}

/* A coroutine that lives on in the frame of a handler. */
static void frame_run(void)
{
	char *old = me->alternate, *other = pages(NULL, 16 * PAGE, PROT_READ | PROT_WRITE);
	struct runner *m = me;
	sigset_t storm;

	sigemptyset(&storm);
	sigaddset(&storm, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &storm, NULL); /* it would come where the frame is to stay */
	alternate_set(other);
	m->leave = BEGIN;
	coroutine_on(pages(NULL, STACK, PROT_READ | PROT_WRITE), STACK, to_handler);
	drop(&m->stack, m->size);
	alternate_set(old);
	pthread_sigmask(SIG_UNBLOCK, &storm, NULL);
	if (!setjmp(m->outside))
		longjmp(m->inside, 1);
	allocate();
	munmap(other, 16 * PAGE);
}

static __attribute__((noinline)) void fill(void)
{
	char room[1200];

	__asm__ volatile("" : : "r"(room) : "memory");
	if ((char *)__builtin_frame_address(0) - me->stack > (long)(3 * PAGE))
		fill();
	else
		allocate();
	__asm__ volatile("");
}

static void look_past(void)
{
	char *end = me->stack + me->size;

	for (char *bp = end - 16; bp < me->stack + STACK; bp += PAGE / 2)
		call_with_bp(allocate, (uint64_t)bp);
}

/* What was stack is none any more, but keeps its place: nobody else is to get it. */
static void reuse_run(void)
{
	size_t small = (4 + next(5)) * PAGE;
	char *at = pages(NULL, STACK, PROT_READ | PROT_WRITE);

	coroutine_on(at, STACK, fill);
	if (mprotect(at + small, STACK - small, PROT_NONE))
		fail("mprotect");
	coroutine_on(at, small, look_past);
	me->stack = at;
	drop(&me->stack, STACK);
}

static void set_up(struct runner *m, uint64_t seed)
{
	*m = (struct runner){.random = seed * 0x9e3779b97f4a7c15ULL | 1};
	me = m;
	alternate_set(pages(NULL, 16 * PAGE, PROT_READ | PROT_WRITE));
	next(2);
}

static long rounds = 1;
static uint64_t seed = 1;

/* Outer frames of a thread that runs further down. */
struct deep {
	pthread_t thread;
	char *from, *to;
	int runs, ends;
};

#define OUTER_FRAMES 60

static __attribute__((noinline)) void dive(struct deep *d, int n)
{
	volatile char room[1500];
	char *page = (char *)((uintptr_t)room & ~(PAGE - 1));

	room[0] = 1;
	if (n == OUTER_FRAMES - 10)
		d->to = page;
	if (n == 10)
		d->from = page + PAGE;
	if (n > 0)
		dive(d, n - 1);
	for (long i = 1; n == 0 && !__atomic_load_n(&d->ends, __ATOMIC_ACQUIRE); i++) {
		allocate();
		__atomic_store_n(&d->runs, 1, __ATOMIC_RELEASE);
		if (i % 1000 == 0)
			usleep(50);
	}
	room[0] = 2;
}

static void *deep_thread(void *arg)
{
	struct runner *m = calloc(1, sizeof(*m));

	set_up(m, seed + (uint64_t)arg);
	dive(arg, OUTER_FRAMES);
	return NULL;
}

#define GUARD_INSTALL 102 /* of madvise, since 6.13; what was there is gone */
#define GUARD_REMOVE 103

/* The same in other ways: 3, 4 with a key for memory, 5, 6 with a guard. kept: room for what is
 * there. */
static void guard(char *from, size_t size, unsigned how, char *kept)
{
	if (how == 3)
		pkey_mprotect(from, size, PROT_NONE, -1);
	else if (how == 4)
		syscall(SYS_pkey_mprotect, from, size, PROT_NONE, -1);
	else
		memcpy(kept, from, size);
	if (how == 5)
		madvise(from, size, GUARD_INSTALL);
	else if (how == 6)
		syscall(SYS_madvise, from, size, GUARD_INSTALL);
	usleep(next(300));
	if (how < 5) {
		mprotect(from, size, PROT_READ | PROT_WRITE);
	} else {
		madvise(from, size, GUARD_REMOVE);
		memcpy(from, kept, size);
		munmap(kept, size);
	}
	usleep(next(300));
}

/* What is there is there again afterwards. */
static void take(struct deep *d, unsigned how)
{
	size_t size = (size_t)(d->to - d->from);
	char *aside = pages(NULL, size, PROT_NONE);
	int moves = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *kept = how < 5 ? NULL : pages(NULL, size, PROT_READ | PROT_WRITE);

	if (how >= 3) {
		guard(d->from, size, how, kept);
		munmap(aside, size);
		return;
	}
	if (how == 0)
		mprotect(d->from, size, PROT_NONE);
	else if (how == 1)
		syscall(SYS_mprotect, d->from, size, PROT_NONE);
	else
		mremap(d->from, size, size, moves, aside);
	usleep(next(300));
	if (how < 2)
		mprotect(d->from, size, PROT_READ | PROT_WRITE);
	else if (mremap(aside, size, size, moves, d->from) == MAP_FAILED)
		fail("mremap");
	if (how < 2)
		munmap(aside, size);
	usleep(next(300));
}

static void outer(void)
{
	static struct deep deep[THREADS]; /* one thread goes on until the process ends */

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&deep[i].thread, NULL, deep_thread, &deep[i]))
			fail("pthread_create");
	for (int i = 0; i < THREADS; i++)
		while (!__atomic_load_n(&deep[i].runs, __ATOMIC_ACQUIRE))
			usleep(100);
	for (long i = 0; i < rounds; i++)
		take(&deep[next(THREADS)], next(7));
	munmap(deep[0].from, (size_t)(deep[0].to - deep[0].from)); /* and this one for good */
	usleep(1000);
	for (int i = 1; i < THREADS; i++)
		__atomic_store_n(&deep[i].ends, 1, __ATOMIC_RELEASE);
	for (int i = 1; i < THREADS; i++)
		pthread_join(deep[i].thread, NULL);
}

static pthread_t threads[THREADS];
static int begun, ended;

static void *storm_thread(void *arg)
{
	struct runner *m = calloc(1, sizeof(*m));

	set_up(m, seed * 31 + (uint64_t)(intptr_t)arg);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	for (long i = 0; i < rounds; i++)
		switch (next(6)) {
		case 0:
			frame_run();
			break;
		case 1:
			reuse_run();
			break;
		case 2:
			deep((int)next(30));
			break;
		default:
			coroutine_run(STACK * (1 + next(3)), next(2) ? LEAVE : STAY);
		}
	m->ends = 1;
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Their stacks are the program's own, without pages around them that nothing may touch. */
static void storm(void)
{
	size_t size = 64 * PAGE;
	char *arena = pages(NULL, THREADS * 2 * size, PROT_READ | PROT_WRITE);

	for (long i = 0; i < THREADS; i++) {
		pthread_attr_t attr;

		pthread_attr_init(&attr);
		if (i && pthread_attr_setstack(&attr, arena + (size_t)i * 2 * size, size))
			fail("pthread_attr_setstack");
		if (pthread_create(&threads[i], &attr, storm_thread, (void *)i))
			fail("pthread_create");
		pthread_attr_destroy(&attr);
	}
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < THREADS)
		usleep(100);
	while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < THREADS) {
		for (int i = 0; i < THREADS; i++)
			pthread_kill(threads[i], SIGUSR2);
		usleep(300);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct sigaction on = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct sigaction also = {.sa_handler = on_storm, .sa_flags = SA_ONSTACK | SA_RESTART};
	static struct runner m;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	rounds = argc > 3 ? atol(argv[3]) : 100;
	sigaction(SIGUSR1, &on, NULL);
	sigaction(SIGUSR2, &also, NULL);
	set_up(&m, seed);
	code_make();
	if (!strcmp(mode, "handler"))
		for (long i = 0; i < rounds; i++)
			coroutine_run(STACK, LEAVE);
	else if (!strcmp(mode, "frame"))
		for (long i = 0; i < rounds; i++)
			frame_run();
	else if (!strcmp(mode, "reuse"))
		for (long i = 0; i < rounds; i++)
			reuse_run();
	else if (!strcmp(mode, "storm"))
		storm();
	else if (!strcmp(mode, "outer"))
		outer();
	else
		return 2;
	puts("done");
	return 0;
}
