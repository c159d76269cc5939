/*
 * Touches memory in ways whose page faults and resident bytes are known. usage: heap_faults MODE
 * [N] At its end it prints what the kernel says of it: its faults, and its Rss in kB.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE(name_, get_)                                                             \
	static __attribute__((noinline, noclone, no_icf)) char *name_(size_t n)       \
	{                                                                             \
		char *p = get_;                                                       \
                                                                                      \
		__asm__ volatile("" : "+r"(p)); /* no tail call, no pair of a free */ \
		return p;                                                             \
	}

#define MIB (1UL << 20)
#define PAGE 4096

SITE(half_touched, malloc(n))
SITE(all_touched, malloc(n))
SITE(never_touched, malloc(n))
SITE(only_read, calloc(1, n))
SITE(given_back, malloc(n))
SITE(by_read, malloc(n))
SITE(mapped_here, mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
SITE(small_one, malloc(n))
SITE(small_other, malloc(n))
SITE(of_parent, malloc(n))

static volatile long sum;

static void write_to(char *p, size_t n)
{
	for (size_t i = 0; i < n; i += PAGE)
		p[i] = 1;
}

static void read_from(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i += PAGE)
		sum += p[i];
}

/* From a page of its own, without stdio and the heap. */
static void say(void)
{
	static char text[4096];
	struct rusage r;
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	char line[128], *rss = n > 0 ? strstr(text, "\nRss:") : NULL;
	int len;

	close(fd);
	getrusage(RUSAGE_SELF, &r);
	len = snprintf(line, sizeof(line), "faults %ld major %ld rss %ld\n",
		r.ru_minflt + r.ru_majflt, r.ru_majflt, rss ? strtol(rss + 5, NULL, 10) : -1);
	if (write(1, line, (size_t)len) != len)
		_exit(3);
}

/* Each block begins 16 bytes into a page, as mmap'd blocks of glibc do: so one of n MiB touches a
 * page at its begin that the allocator wrote to, and all but one of its pages are first touched by
 * us. */
static void mode_sites(void)
{
	char *half = half_touched(64 * MIB), *all = all_touched(8 * MIB);
	char *given = given_back(4 * MIB), *got = by_read(2 * MIB);
	char *mine = mapped_here(16 * MIB);
	int zero = open("/dev/zero", O_RDONLY);

	write_to(half, 32 * MIB);
	write_to(all, 8 * MIB);
	read_from(only_read(4 * MIB), 4 * MIB);
	write_to(given, 4 * MIB);
	madvise((char *)(((unsigned long)given | (PAGE - 1)) + 1), 4 * MIB - PAGE, MADV_DONTNEED);
	never_touched(32 * MIB);
	write_to(mine, 4 * MIB);
	if (read(zero, got, 2 * MIB) != 2 * MIB) /* the kernel touches it for us */
		_exit(3);
	close(zero);
}

/* Blocks of two sites, in turn: they share pages. */
static void mode_small(long n)
{
	for (long i = 0; i < n; i++) {
		memset(small_one(1000), 1, 1000);
		memset(small_other(500), 1, 500);
	}
}

static void *thread(void *arg)
{
	char on_stack[256 * 1024];

	memset(on_stack, 1, sizeof(on_stack));
	__asm__ volatile("" : : "r"(on_stack) : "memory");
	write_to(all_touched((size_t)arg), (size_t)arg);
	return NULL;
}

static void mode_threads(long n)
{
	pthread_t t[64];

	for (long i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, thread, (void *)(1 * MIB));
	for (long i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
}

/* realloc of a small block that is copied, and of a large one that is moved. */
static void mode_grow(void)
{
	char *p = NULL;

	for (size_t n = 1000; n < 16 * MIB; n *= 2) {
		p = realloc(p, n);
		if (!p)
			_exit(3);
		memset(p + n / 2, 1, n - n / 2);
	}
}

/* A child that writes to what its parent allocated, and to a block of its own. All its faults count
 * from its begin. */
static void mode_fork(void)
{
	char *p = of_parent(8 * MIB);

	write_to(p, 8 * MIB);
	if (!fork()) {
		write_to(p, 4 * MIB);
		write_to(all_touched(2 * MIB), 2 * MIB);
		say();
		exit(0); /* not _exit: it waits to be looked at */
	}
	wait(NULL);
}

/* memwhy, which has this pid, sees nothing of this before it is over. */
static char *unseen_begin(pid_t pid)
{
	char *p;

	kill(pid, SIGSTOP);
	usleep(50000);
	p = half_touched(64 * MIB);
	write_to(p, 32 * MIB);
	return p;
}

static void mode_short(long pid)
{
	free(unseen_begin((pid_t)pid));
	kill((pid_t)pid, SIGCONT);
}

static void mode_killed(long pid)
{
	unseen_begin((pid_t)pid);
	raise(SIGKILL);
}

/* It holds that for n ms. */
static void mode_peak(long n)
{
	char *p = half_touched(64 * MIB);

	write_to(p, 32 * MIB);
	usleep((useconds_t)n * 1000);
	free(p);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 1000;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (!strcmp(mode, "sites"))
		mode_sites();
	else if (!strcmp(mode, "small"))
		mode_small(n);
	else if (!strcmp(mode, "threads"))
		mode_threads(n);
	else if (!strcmp(mode, "grow"))
		mode_grow();
	else if (!strcmp(mode, "short"))
		mode_short(n);
	else if (!strcmp(mode, "killed"))
		mode_killed(n);
	else if (!strcmp(mode, "peak"))
		mode_peak(n);
	else if (!strcmp(mode, "fork"))
		mode_fork();
	else
		return 2;
	say();
	return 0;
}
