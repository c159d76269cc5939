/* Stacks that are not as they were begun: jumps, coroutines, much or little room. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <ucontext.h>
#endif

#include "behaviour.h"

static jmp_buf back;

static void down(int n, int by)
{
	void *p = malloc(100);

	free(p);
	if (!n)
		longjmp(back, by);
	down(n - 1, by);
	free(malloc(10));
}

static int jump(int argc, char **argv)
{
	volatile int sum = 0;

	for (volatile int i = 1; i < 200; i++)
		if (!setjmp(back))
			down(i % 50, i);
		else
			sum += i;
	printf("%d\n", sum);
	return argc && argv;
}

#ifdef __GLIBC__
#define COROUTINES 20
static ucontext_t main_context, contexts[COROUTINES];
static size_t coroutine_size = 64 << 10;
static int turns;

static void coroutine(int n)
{
	void *kept[8] = {0};

	for (int i = 0; i < 50; i++) {
		free(kept[i % 8]);
		kept[i % 8] = malloc((size_t)(100 + n));
		turns++;
		swapcontext(&contexts[n], &main_context);
	}
	for (int i = 0; i < 8; i++)
		free(kept[i]);
}

static void *stack_new(void)
{
	void *p = mmap(
		NULL, coroutine_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	return p;
}

static void coroutines_begin(void *stacks[COROUTINES])
{
	for (int i = 0; i < COROUTINES; i++) {
		stacks[i] = stack_new();
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = coroutine_size;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
}

static int coroutines(int argc, char **argv)
{
	void *stacks[COROUTINES];

	coroutines_begin(stacks);
	for (int turn = 0; turn < 51; turn++)
		for (int i = 0; i < COROUTINES; i++)
			swapcontext(&main_context, &contexts[i]);
	for (int i = 0; i < COROUTINES; i++)
		munmap(stacks[i], coroutine_size);
	printf("%d turns, %lu\n", turns, churn(100));
	return argc && argv;
}

static int coroutines_small(int argc, char **argv)
{
	coroutine_size = 8 << 10;
	return coroutines(argc, argv);
}

/* They are never resumed, and their stacks go. */
static int coroutines_left(int argc, char **argv)
{
	void *stacks[COROUTINES];

	for (int round = 0; round < 5; round++) {
		coroutines_begin(stacks);
		for (int turn = 0; turn < 5; turn++)
			for (int i = 0; i < COROUTINES; i++)
				swapcontext(&main_context, &contexts[i]);
		for (int i = 0; i < COROUTINES; i++)
			munmap(stacks[i], coroutine_size);
		churn(50);
	}
	printf("%d turns\n", turns);
	return argc && argv;
}

static void *resumes(void *arg)
{
	ucontext_t *c = arg;

	for (int turn = 0; turn < 5; turn++)
		swapcontext(&main_context, c);
	return NULL;
}

/* Begun in one thread, gone on with in others. */
static int coroutine_moves(int argc, char **argv)
{
	void *stacks[COROUTINES];

	coroutines_begin(stacks);
	for (int i = 0; i < 5; i++) {
		pthread_t t;

		MUST(!pthread_create(&t, NULL, resumes, &contexts[0]));
		pthread_join(t, NULL);
	}
	printf("%d turns\n", turns);
	fflush(stdout);
	_exit(argc && argv);
}

/* A thread goes on on another stack for good, and what it used of its first one goes, without a
 * word to libc. A frame pointer still leads there. */
#define OWN_BYTES ((size_t)1 << 20)
#define OWN_KEPT ((size_t)64 << 10) /* the thread-local memory */
static char *own_stack;
static unsigned long own_deep;
static int own_protect, own_done;

static void *allocated_with_bp(unsigned long bp)
{
	void *p;

	__asm__ volatile("push %%rbp\n	mov %%rsp, %%r12\n	mov %1, %%rbp\n"
			 "	and $-16, %%rsp\n	mov $40, %%edi\n	call malloc@PLT\n"
			 "	mov %%r12, %%rsp\n	pop %%rbp\n	mov %%rax, %0"
			 : "=r"(p)
			 : "r"(bp)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			 "memory", "cc");
	return p;
}

/* Called from nowhere: code that is unwound by its frame pointer, as it has frames of any size. */
static void on_other_stack(void)
{
	volatile size_t some = 100;
	char *room = alloca(some);
	long rc;

	room[0] = 0;
	rc = own_protect ? syscall(SYS_mprotect, own_stack, OWN_BYTES - OWN_KEPT, PROT_NONE)
			 : syscall(SYS_munmap, own_stack, OWN_BYTES - OWN_KEPT);
	MUST(!rc);
	for (unsigned long at = 0; at < 4096; at += 8)
		free(allocated_with_bp(own_deep + at));
	__atomic_store_n(&own_done, 1, __ATOMIC_RELEASE);
	syscall(SYS_exit, room[0]);
}

static void own_use(int n)
{
	volatile char room[6000];

	room[0] = room[sizeof(room) - 1] = (char)n;
	churn(20);
	if (n)
		own_use(n - 1);
	else
		own_deep = (unsigned long)room;
	churn((unsigned)room[0] & 1);
}

static void *leaves(void *other)
{
	own_use(30);
	__asm__ volatile("mov %0, %%rsp\n	xor %%ebp, %%ebp\n	call *%1"
			 :
			 : "r"((char *)other + coroutine_size - 64), "r"(on_other_stack)
			 : "memory");
	return NULL;
}

static int own_left(int argc, char **argv)
{
	void *other = stack_new(); /* below: stacks are unwound upwards */
	pthread_attr_t a;
	pthread_t t;

	own_stack =
		mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(own_stack != MAP_FAILED);
	if ((char *)other > own_stack)
		other = stack_new();
	own_protect = argc > 0 && !strcmp(argv[0], "protected");
	pthread_attr_init(&a);
	MUST(!pthread_attr_setstack(&a, own_stack, OWN_BYTES));
	MUST(!pthread_create(&t, &a, leaves, other));
	while (!__atomic_load_n(&own_done, __ATOMIC_ACQUIRE))
		usleep(1000);
	printf("left\n");
	fflush(stdout);
	_exit(0);
}

#endif

static unsigned long recursion(int n)
{
	void *p = malloc(16);
	unsigned long sum = n ? recursion(n - 1) + 1 : 0;

	free(p);
	return sum;
}

static int deep(int argc, char **argv)
{
	printf("%lu\n", recursion(40000 + argc));
	return argc && argv;
}

static int big_frames(int argc, char **argv)
{
	unsigned long sum = 0;

	for (size_t size = 1000; size < 3000000; size *= 3) {
		char *p = alloca(size);

		memset(p, 1, size);
		sum += churn(20) + (unsigned long)p[size / 2];
	}
	printf("%lu\n", sum);
	return argc && argv;
}

static int nested(int argc, char **argv)
{
	int sum = 0;
	int compare(const void *a, const void *b)
	{
		free(malloc(20));
		sum++;
		return *(const int *)a - *(const int *)b;
	}
	int numbers[200];

	for (int i = 0; i < 200; i++)
		numbers[i] = i * 7919 % 200;
	qsort(numbers, 200, sizeof(int), compare);
	for (int i = 1; i < 200; i++)
		MUST(numbers[i - 1] <= numbers[i]);
	printf("sorted: %d\n", sum > 200);
	return argc && argv;
}

/* Frames of a walk of one's own: as many as without anybody beside. */
static int trace(int argc, char **argv)
{
#ifdef __GLIBC__
	void *frames[64];

	printf("%d frames\n", backtrace(frames, 64));
	churn(100);
	printf("%d frames\n", backtrace(frames, 64));
#else
	printf("no frames\n");
#endif
	return argc && argv;
}

/* What a call may not change: registers of the caller, flags of the arithmetic. */
static int registers(int argc, char **argv)
{
	unsigned csr = 0x3f80, csr_after, control_bad = 0;
	unsigned short control = 0x0f7f, control_after;
	double kept[4] = {1.5, 2.5, 3.5, 4.5};

	__asm__ volatile("ldmxcsr %0\n	fldcw %1" : : "m"(csr), "m"(control));
	for (int i = 0; i < 1000; i++) {
		free(malloc((size_t)i));
		__asm__ volatile("stmxcsr %0\n	fnstcw %1" : "=m"(csr_after), "=m"(control_after));
		control_bad += (csr_after & ~0x3fU) != (csr & ~0x3fU) || control_after != control;
		kept[i % 4] += 1;
	}
	csr = 0x1f80;
	control = 0x037f;
	__asm__ volatile("ldmxcsr %0\n	fldcw %1" : : "m"(csr), "m"(control));
	printf("%u %g\n", control_bad, kept[0] + kept[1] + kept[2] + kept[3]);
	return argc && argv;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"jump", jump},
#ifdef __GLIBC__
		{"coroutines", coroutines},
		{"coroutines-small", coroutines_small},
		{"coroutines-left", coroutines_left},
		{"coroutine-moves", coroutine_moves},
		{"own-left", own_left},
#endif
		{"deep", deep},
		{"big-frames", big_frames},
		{"nested", nested},
		{"trace", trace},
		{"registers", registers},
		{0},
	};

	return mode_run(modes, argc, argv);
}
