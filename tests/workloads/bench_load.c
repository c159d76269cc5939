/*
 * Loads that a tool may slow down. usage: bench_load KIND [ROUNDS [DIRECTORY]]
 *   kernel    forks a child that ends, makes a file and removes it: objects and pages of the kernel
 *   pressure  writes and reads a file of 64 MiB, in 64 KiB steps; to be run in a control group with
 *             a limit below that, so that each step reclaims
 *   write     writes of one byte to /dev/null: the shortest system call there is
 *   maps      pairs of mmap and munmap, of 64 KiB that are not touched
 *   policy    mbind and get_mempolicy of 64 KiB that are touched
 *   deep      getppid from 13 calls deep, of functions without frame pointers: a stack of 16 to 18
 *             frames, with those of libc
 * Prints "OPERATIONS NS": those of all rounds, and the CPU time of one, children included, in the
 * first decile of rounds: the quicker ones, so that what else runs on the machine counts little.
 */
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 10000
#define FILE_BYTES (64UL << 20)

static char path[512];
static char buf[65536];

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static double cpu_ns(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) *
		       1e9 +
	       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec) *
		       1e3;
}

static size_t kernel(void)
{
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		int fd;

		if (child < 0)
			die("fork");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, buf, 1) != 1)
			die(path);
		close(fd);
		unlink(path);
	}
	return 100;
}

static size_t pressure(void)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		die(path);
	unlink(path);
	for (size_t n = 0; n < FILE_BYTES; n += sizeof(buf))
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			die("write");
	fsync(fd);
	lseek(fd, 0, SEEK_SET);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	return 2 * FILE_BYTES / sizeof(buf);
}

static size_t writes(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 100000; i++)
		if (write(fd, buf, 1) != 1)
			die("/dev/null");
	return 100000;
}

static size_t maps(void)
{
	for (int i = 0; i < 20000; i++) {
		void *p = mmap(
			NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || munmap(p, 65536))
			die("mmap");
	}
	return 20000;
}

static size_t policy(void)
{
	static void *p;
	unsigned long node = 1;
	int mode;

	if (!p) {
		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			die("mmap");
		memset(p, 1, 65536);
	}
	for (int i = 0; i < 20000; i++)
		if (syscall(SYS_mbind, p, 65536UL, MPOL_BIND, &node, 8 * sizeof(node), 0) ||
			syscall(SYS_get_mempolicy, &mode, NULL, 0UL, p, MPOL_F_ADDR))
			die("mbind");
	return 20000;
}

#define DEEP_CALLS 12
static volatile int sink;

__attribute__((noinline, noclone)) static int deep_down(int n)
{
	int r = 1;

	if (n)
		r = deep_down(n - 1);
	else
		for (int i = 0; i < 20000; i++)
			sink += (int)syscall(SYS_getppid);
	__asm__ volatile("" : "+r"(r)); /* no loop can be made of this */
	return r + 1;
}

static size_t deep(void)
{
	sink += deep_down(DEEP_CALLS);
	return 20000;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static double ns[ROUNDS_MAX];
	const char *kind = argc > 1 ? argv[1] : "";
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20, operations = 0;
	size_t (*round)(void) = !strcmp(kind, "kernel")     ? kernel
				: !strcmp(kind, "pressure") ? pressure
				: !strcmp(kind, "write")    ? writes
				: !strcmp(kind, "maps")     ? maps
				: !strcmp(kind, "policy")   ? policy
				: !strcmp(kind, "deep")     ? deep
							    : NULL;

	if (!round || !rounds || rounds > ROUNDS_MAX)
		return fprintf(stderr, "usage: bench_load kernel|pressure|write|maps|policy|"
				       "deep [ROUNDS [DIR]]\n"),
		       2;
	snprintf(path, sizeof(path), "%s/memwhy-bench-%d", argc > 3 ? argv[3] : "/tmp", getpid());
	for (size_t i = 0; i < rounds; i++) {
		double start = cpu_ns();
		size_t n = round();

		ns[i] = (cpu_ns() - start) / (double)n;
		operations += n;
	}
	qsort(ns, rounds, sizeof(*ns), by_value);
	printf("%zu %.1f\n", operations, ns[rounds / 10]);
	return 0;
}
