/*
 * Allocates in ways whose numbers are known. usage: heap_work MODE [N [THREADS]]
 * Prints what it did, as `name value` lines, from memory that is not on the heap.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static long n = 1000, threads = 2;

static void say(const char *name, long value)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s %ld\n", name, value);

	if (write(1, line, (size_t)len) != len)
		_exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Every function of the allocator once; what it leaves is 4 blocks of 100 bytes. */
KEEP static void mode_each(void)
{
	void *p[4], *q = NULL;

	free(malloc(10));
	free(calloc(3, 7));
	free(realloc(malloc(10), 1000));
	free(realloc(NULL, 30));
	free(reallocarray(NULL, 3, 11));
	free(memalign(64, 40));
	free(aligned_alloc(64, 64));
	if (!posix_memalign(&q, 128, 50))
		free(q);
	free(valloc(60));
	free(pvalloc(70));
	free(malloc(0));
	free(NULL);
	q = malloc(80);
	if (realloc(q, PTRDIFF_MAX)) /* fails: q lives on */
		_exit(3);
	free(q);
	for (int i = 0; i < 4; i++)
		p[i] = malloc(100);
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* The peak is in the middle: n blocks of 100 by peak_here, after n of 10 by before_peak. */
KEEP static void *before_peak(void)
{
	void *p = malloc(10);

	__asm__ volatile("" : "+r"(p)); /* no tail call */
	return p;
}

KEEP static void *peak_here(void)
{
	void *p = malloc(100);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void mode_peak(void)
{
	void **p = mmap(
		NULL, (size_t)n * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; i < n; i++)
		p[i] = before_peak();
	for (long i = 0; i < n; i++)
		p[n + i] = peak_here();
	for (long i = 0; i < n; i++)
		free(p[n + i]);
	for (long i = 0; i < n / 2; i++)
		p[n + i] = peak_here();
}

/* Blocks go from one thread to another: each of them allocates n and frees its neighbour's. */
static void **hand;
static pthread_barrier_t barrier;

static void *hand_over(void *arg)
{
	long me = (long)arg, other = (me + 1) % threads;

	for (long i = 0; i < n; i++)
		hand[me * n + i] = malloc(24);
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < n; i++)
		free(hand[other * n + i]);
	return NULL;
}

static void mode_threads(void)
{
	pthread_t t[1024];

	threads = threads > 1024 ? 1024 : threads;
	hand = mmap(NULL, (size_t)(n * threads) * 8, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, hand_over, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

/* One address goes round between threads as fast as it can: allocated here, freed there. */
static void *volatile slot;

/* Waits without a system call, but not for ever where there is one processor for both. */
static void spin(unsigned *times)
{
	if (++*times % 10000 == 0)
		sched_yield();
}

static void *ping(void *arg)
{
	int mine = arg != NULL;
	unsigned spins = 0;

	for (long i = 0; i < n; i++) {
		if (mine) {
			while (slot)
				spin(&spins);
			slot = malloc(40);
		} else {
			while (!slot)
				spin(&spins);
			free(slot);
			slot = NULL;
		}
	}
	return NULL;
}

static void mode_ping(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, ping, NULL);
	pthread_create(&t[1], NULL, ping, (void *)1);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

/* Each of n children frees a block it inherited and allocates two, one of which it keeps. */
static void mode_fork(void)
{
	void *p = malloc(1000);

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			free(p);
			free(malloc(200));
			p = malloc(300);
			_exit(p == NULL);
		}
		waitpid(pid, NULL, 0);
	}
}

/* A fork that allocates when its program is long over. */
static void mode_late(void)
{
	__asm__ volatile("" : : "r"(malloc(100)) : "memory");
	if (fork())
		_exit(0);
	usleep(400000);
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(malloc(50)) : "memory");
	_exit(0);
}

static char *self;

static void mode_exec(void)
{
	char left[32];

	if (n <= 0)
		return;
	__asm__ volatile("" : : "r"(malloc(77)) : "memory");
	snprintf(left, sizeof(left), "%ld", n - 1);
	execl(self, self, "exec", left, (char *)NULL);
	_exit(3);
}

static void mode_vfork(void)
{
	for (volatile long i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (!pid) {
			free(malloc(10));
			execl("/bin/true", "true", (char *)NULL);
			_exit(3);
		}
		waitpid(pid, NULL, 0);
	}
}

/* A signal handler that allocates while the program does. */
static volatile long handled;
static void *volatile from_handler;

static void on_signal_alloc(int sig)
{
	(void)sig;
	handled++;
	free(from_handler);
	from_handler = malloc(333);
}

/* The signal comes where the program does not allocate, but the library may be at work. */
static void mode_signal(void)
{
	struct sigaction a = {.sa_handler = on_signal_alloc};

	sigaction(SIGUSR1, &a, NULL);
	for (long i = 0; i < n; i++) {
		free(malloc(16));
		raise(SIGUSR1);
	}
	say("handled", handled);
}

static sigjmp_buf back;

static void on_signal_jump(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void mode_jump(void)
{
	struct sigaction a = {.sa_handler = on_signal_jump};

	sigaction(SIGUSR1, &a, NULL);
	for (volatile long i = 0; i < n; i++)
		if (!sigsetjmp(back, 1)) {
			free(malloc(16));
			raise(SIGUSR1);
		}
}

static void *nothing(void *arg)
{
	free(malloc((size_t)(uintptr_t)arg));
	return NULL;
}

/* n threads, one after the other. */
static void mode_churn(void)
{
	for (long i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, (void *)32))
			_exit(3);
		pthread_join(t, NULL);
	}
}

KEEP static void *orphan(void *arg)
{
	void *block = malloc(72);

	(void)arg;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

/* n threads, one after the other; each leaves a block, of which one in a hundred stays. */
static void mode_orphans(void)
{
	for (long i = 0; i < n; i++) {
		pthread_t t;
		void *block;

		if (pthread_create(&t, NULL, orphan, NULL))
			_exit(3);
		pthread_join(t, &block);
		if (i % 100)
			free(block);
	}
}

static void mode_kill(void)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(malloc(48)) : "memory");
	kill(getpid(), SIGKILL);
}

static void mode_abort(void)
{
	__asm__ volatile("" : : "r"(malloc(48)) : "memory");
	abort();
}

static void mode_huge(void)
{
	free(malloc(5UL << 30));
	free(malloc(1UL << 30));
	free(malloc((1UL << 30) - 1));
}

KEEP static void *deep(long depth)
{
	void *p = depth > 1 ? deep(depth - 1) : malloc(64);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void mode_deep(void)
{
	for (long i = 0; i < n; i++)
		free(deep(i));
}

static void mode_dlopen(void)
{
	for (long i = 0; i < n; i++) {
		void *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		void *z = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

		if (z)
			dlclose(z);
		if (h)
			dlclose(h);
	}
}

/* For the bench: time a pair of malloc and free takes. */
static void cpu_say(double pairs)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	say("cpu_pair_ps", (long)(((double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9) / pairs * 1e12));
}

static void mode_tight(void)
{
	double start = now();

	for (long i = 0; i < n; i++) {
		void *p = malloc(64);

		__asm__ volatile("" : "+r"(p));
		free(p);
	}
	say("pair_ps", (long)((now() - start) / (double)n * 1e12));
	cpu_say((double)n);
}

#define LIVE 10000

KEEP static void *mixed_at(long depth, size_t size)
{
	void *p = depth > 1 ? mixed_at(depth - 1, size) : malloc(size);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *mixed(void *arg)
{
	void **live = calloc(LIVE, sizeof(*live));
	uint64_t x = 88172645463325252ULL + (uintptr_t)arg;

	for (long i = 0; i < n; i++) {
		uint64_t at, size;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = x % LIVE;
		size = 16 + (x >> 20) % 500;
		free(live[at]);
		live[at] = mixed_at(8 + (long)((x >> 40) & 3), size);
	}
	for (long i = 0; i < LIVE; i++)
		free(live[i]);
	free(live);
	return NULL;
}

static void mode_mixed(void)
{
	pthread_t t[64];
	double start = now();

	threads = threads > 64 ? 64 : threads;
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, mixed, (void *)(i * 7919));
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	say("pair_ps", (long)((now() - start) / (double)n * 1e12));
	cpu_say((double)(n * threads));
}

/* For n seconds, twenty times each: 100 blocks that nobody frees, a cache that fills at the first
 * time, 50 blocks in the place of the oldest of 256; 64 KiB mapped that nobody unmaps, and as many
 * in the place of the last. */
static void *kept[256];

KEEP static void leak_grows(void)
{
	for (int i = 0; i < 100; i++) {
		void *p = malloc(1000);

		__asm__ volatile("" : : "r"(p) : "memory");
	}
}

KEEP static void leak_once(void)
{
	void *p = malloc(100000);

	__asm__ volatile("" : : "r"(p) : "memory");
}

KEEP static void leak_fills(void)
{
	static void *cache[64];

	for (int i = 0; i < 64; i++)
		if (!cache[i])
			cache[i] = malloc(5000);
}

KEEP static void leak_renews(void)
{
	static unsigned at;

	for (int i = 0; i < 50; i++, at++) {
		free(kept[at % 256]);
		kept[at % 256] = malloc(3000);
	}
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

KEEP static void leak_maps(void)
{
	void *p = pages(65536);

	__asm__ volatile("" : : "r"(p) : "memory");
}

KEEP static void leak_remaps(void)
{
	static void *last;

	if (last)
		munmap(last, 65536);
	last = pages(65536);
	__asm__ volatile("" : : "r"(last) : "memory");
}

/* Coroutines that take turns, each on a stack of its own; every block is allocated on one and freed
 * on another. */
#define ROUTINES 8

static ucontext_t routines[ROUTINES], resumed;
static void *turned;

KEEP static void *routine_alloc(long depth)
{
	void *p = depth ? routine_alloc(depth - 1) : malloc(56);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void routine(int me)
{
	for (long i = 0; i < n; i++) {
		free(turned);
		turned = routine_alloc(i % 20);
		swapcontext(&routines[me], &routines[(me + 1) % ROUTINES]);
	}
}

static void mode_coroutine(void)
{
	for (int i = 0; i < ROUTINES; i++) {
		getcontext(&routines[i]);
		routines[i].uc_stack.ss_size = 65536;
		routines[i].uc_stack.ss_sp = mmap(
			NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		routines[i].uc_link = &resumed;
		makecontext(&routines[i], (void (*)(void))routine, 1, i);
	}
	swapcontext(&resumed, &routines[0]); /* the first that is done comes back here */
	free(turned);
}

/* Frames of any size, by alloca. */
KEEP static void *alloca_deep(long depth)
{
	volatile char *room = alloca(16 + (size_t)(depth * 7919 % 3000));
	void *p;

	room[0] = (char)depth;
	p = depth > 1 ? alloca_deep(depth - 1) : malloc(72);
	__asm__ volatile("" : "+r"(p), "+r"(room));
	return p;
}

static void mode_alloca(void)
{
	for (long i = 1; i <= n; i++)
		free(alloca_deep(i % 200 + 1));
}

/* Blocks that destructors of a thread's keys free, the last of what it does. */
static pthread_key_t keys[4];

static void *tls_alloc(void *arg)
{
	for (int i = 0; i < 4; i++)
		pthread_setspecific(keys[i], malloc(32));
	return arg;
}

static void mode_tls(void)
{
	for (int i = 0; i < 4; i++)
		pthread_key_create(&keys[i], free);
	for (long i = 0; i < n; i++) {
		pthread_t t;

		if (!pthread_create(&t, NULL, tls_alloc, NULL))
			pthread_join(t, NULL);
	}
}

/* Each call that changes the address space. What it leaves: 12 pages of map_here, 6 of grow_here,
 * none of the others; what libc maps for a thread's stack is not the program's. */
#define PAGE 4096UL

KEEP static char *map_here(size_t pages, char *at)
{
	char *p = mmap(at, pages * PAGE - 100, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	__asm__ volatile("" : "+r"(p));
	return p;
}

KEEP static char *grow_here(char *old, size_t pages, size_t to)
{
	char *p = mremap(old, pages * PAGE, to * PAGE, MREMAP_MAYMOVE);

	__asm__ volatile("" : "+r"(p));
	return p;
}

KEEP static void fail_here(void)
{
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ||
		munmap((void *)PAGE, 0) != -1 || munmap((char *)PAGE + 1, PAGE) != -1 ||
		mremap((void *)PAGE, PAGE, 2 * PAGE, 0) != MAP_FAILED)
		_exit(3);
	__asm__ volatile("");
}

KEEP static void break_here(void)
{
	char *from = sbrk(10 * PAGE);

	if (from == (char *)-1 || sbrk(-4 * (intptr_t)PAGE) == (void *)-1 || brk(from) ||
		!brk((void *)-1L))
		_exit(3);
}

KEEP static void file_here(void)
{
	int fd = open(self, O_RDONLY);
	char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	char *q = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || q == MAP_FAILED || munmap(p, PAGE) || munmap(q, 2 * PAGE))
		_exit(3);
	close(fd);
}

KEEP static void hole_here(void)
{
	char *p = map_here(10, NULL), *q;

	munmap(p + 2 * PAGE, 3 * PAGE);
	map_here(4, p + PAGE); /* over the hole and the page before it */
	q = map_here(5, NULL);
	munmap(q, 5 * PAGE);
}

/* Of the whole address space, as the kernel counts it. */
static long pages_now(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		_exit(3);
	close(fd);
	return atol(text);
}

static void mode_map(void)
{
	long before = pages_now();
	char *p, *q;

	for (long i = 0; i < n; i++)
		munmap(map_here(3, NULL), 3 * PAGE);
	hole_here();
	p = map_here(2, NULL);
	q = map_here(1, p + PAGE); /* a neighbour, by MAP_FIXED */
	p = grow_here(p, 2, 8);
	p = grow_here(p, 8, 4); /* the tail is of grow_here */
	p = grow_here(p, 4, 8);
	__asm__ volatile("" : : "r"(p), "r"(q));
	fail_here();
	break_here();
	file_here();
	say("pages", pages_now() - before);
}

/* Threads that map and unmap; what one maps another unmaps. */
static void *map_thread(void *arg)
{
	static char *shared[64];
	char **mine = &shared[(size_t)arg % 64];

	for (long i = 0; i < n; i++) {
		char *p = __atomic_exchange_n(mine, map_here(2, NULL), __ATOMIC_ACQ_REL);

		if (p)
			munmap(p, 2 * PAGE);
		mine = &shared[((size_t)arg + (size_t)i) % 64];
	}
	for (int i = 0; i < 64; i++) {
		char *p = __atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL);

		if (p)
			munmap(p, 2 * PAGE);
	}
	return NULL;
}

static void mode_mapthreads(void)
{
	pthread_t t[64];

	threads = threads > 64 ? 64 : threads;
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, map_thread, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	n = 0;
	map_thread(NULL); /* what is left */
}

static void mode_mapfork(void)
{
	char *p = map_here(5, NULL);

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			munmap(p + PAGE, 2 * PAGE);
			munmap(map_here(3, NULL), PAGE);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* n children in turn that each hold 1 MB, while this one holds 2 MB; then two at once. */
KEEP static void hold(size_t bytes)
{
	void *volatile p = malloc(bytes);

	usleep(100000); /* the reader sees it */
	free(p);
}

/* Until all that were forked with this pipe hold theirs. */
KEEP static void hold_together(size_t bytes, const int ends[2])
{
	void *volatile p = malloc(bytes);
	char c;

	close(ends[1]);
	if (read(ends[0], &c, 1) == 0)
		usleep(300000);
	free(p);
}

static void mode_family(void)
{
	void *volatile mine = malloc(2000000);
	int ends[2];

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			hold(1000000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (pipe(ends))
		_exit(1);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			hold_together(1500000, ends);
			_exit(0);
		}
	close(ends[1]);
	while (wait(NULL) > 0)
		;
	free(mine);
}

static void mode_leak(void)
{
	leak_once();
	for (long i = 0; i < 20 * n; i++) {
		leak_grows();
		leak_fills();
		leak_renews();
		leak_maps();
		leak_remaps();
		usleep(50000);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"leak", mode_leak},
	{"map", mode_map},
	{"family", mode_family},
	{"mapthreads", mode_mapthreads},
	{"mapfork", mode_mapfork},
	{"coroutine", mode_coroutine},
	{"alloca", mode_alloca},
	{"tls", mode_tls},
	{"each", mode_each},
	{"peak", mode_peak},
	{"threads", mode_threads},
	{"ping", mode_ping},
	{"fork", mode_fork},
	{"late", mode_late},
	{"exec", mode_exec},
	{"vfork", mode_vfork},
	{"signal", mode_signal},
	{"jump", mode_jump},
	{"churn", mode_churn},
	{"orphans", mode_orphans},
	{"kill", mode_kill},
	{"abort", mode_abort},
	{"huge", mode_huge},
	{"deep", mode_deep},
	{"dlopen", mode_dlopen},
	{"tight", mode_tight},
	{"mixed", mode_mixed},
};

/* HEAP_WORK_WAIT=N: to be attached to. N blocks are from before, and freed at once afterwards. */
KEEP static void wait_go(void)
{
	static void *before[4096];
	const char *wait = getenv("HEAP_WORK_WAIT");
	long blocks = wait ? atol(wait) : 0;
	char c;

	if (!wait)
		return;
	for (long i = 0; i < blocks && i < 4096; i++)
		before[i] = malloc(24);
	say("ready", getpid());
	if (read(0, &c, 1) < 1)
		_exit(3);
	for (long i = 0; i < blocks && i < 4096; i++)
		free(before[i]);
}

int main(int argc, char **argv)
{
	self = argv[0];
	wait_go();
	if (argc > 2)
		n = atol(argv[2]);
	if (argc > 3)
		threads = atol(argv[3]);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1])) {
			modes[i].run();
			return 0;
		}
	fprintf(stderr, "usage: heap_work MODE [N [THREADS]]\n");
	return 2;
}
