/*
 * Calls on NUMA memory policy of a known number and effect, made directly. usage: policy_calls WHAT
 * Prints "ready", waits for a line, makes the calls, prints what they returned and where
 * /proc/self/numa_maps says the pages are, and "done", and waits for the end of its input.
 *
 * effect   a range of 400 pages on node 0: bound to node 1 without and with a flag to move, moved
 *          page by page and as a whole process; interleaved; a big range
 * errors   each error that can be had without other processes
 * hostile  pointers that are not mapped, masks at the end of a page, sizes of 2^63
 * loop N   N get_mempolicy
 * compat   the same numbers through int 0x80, where they are other calls; and their compat mbind
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

#define PAGE 4096UL
#define PAGES 400UL
#define BIG (8192UL) /* 32 MiB */
#define MANY 1000UL

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL };
enum { STRICT = 1, MOVE = 2, MOVE_ALL = 4 };

/* So that the stack of each call has a name. */
static __attribute__((noinline)) long call(
	const char *label, long nr, long a, long b, long c, long d, long e, long f)
{
	long rc = syscall(nr, a, b, c, d, e, f);

	printf("%s %ld\n", label, rc < 0 ? -(long)errno : rc);
	return rc;
}

/* A mapping of its own: with a page before it that is none, the kernel merges it with no other. */
static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	p += PAGE;
	if (mprotect(p, bytes, PROT_READ | PROT_WRITE) || madvise(p, bytes, MADV_NOHUGEPAGE))
		exit(1);
	return p;
}

/* "label N0 N1", from numa_maps of all mappings within the range. */
static void placement(const char *label, const char *p, size_t bytes)
{
	FILE *f = fopen("/proc/self/numa_maps", "r");
	unsigned long n[4] = {0};
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long at = strtoul(line, NULL, 16);

		if (at < (unsigned long)p || at >= (unsigned long)p + bytes)
			continue;
		for (int i = 0; i < 4; i++) {
			char name[8];
			const char *found;

			snprintf(name, sizeof(name), " N%d=", i);
			found = strstr(line, name);
			n[i] += found ? strtoul(found + 4, NULL, 10) : 0;
		}
	}
	if (f)
		fclose(f);
	printf("%s %lu %lu\n", label, n[0], n[1]);
}

static void effect(void)
{
	static unsigned long zero[16] = {1}, one[16] = {2}, both[16] = {3};
	static void *pages[MANY];
	static int nodes[MANY], status[MANY];
	char *p = map(PAGES * PAGE), *big = map(BIG * PAGE), *spread = map(BIG * PAGE);

	call("on-zero", SYS_set_mempolicy, BIND, (long)zero, 1024, 0, 0, 0);
	memset(p, 1, PAGES * PAGE / 2); /* the other half is not there yet */
	memset(big, 1, BIG * PAGE);
	call("default", SYS_set_mempolicy, DEFAULT, 0, 0, 0, 0, 0);
	placement("begin", p, PAGES * PAGE);
	call("bind", SYS_mbind, (long)p, PAGES * PAGE, BIND, (long)one, 1024, 0);
	placement("after-bind", p, PAGES * PAGE);
	call("strict", SYS_mbind, (long)p, PAGES * PAGE, BIND, (long)one, 1024, STRICT);
	call("move", SYS_mbind, (long)p, PAGES * PAGE, BIND, (long)one, 1024, MOVE);
	placement("after-move", p, PAGES * PAGE);
	for (unsigned long i = 0; i < PAGES; i++)
		pages[i] = p + i * PAGE; /* to node 0: half of them are not there */
	call("pages", SYS_move_pages, 0, PAGES, (long)pages, (long)nodes, (long)status, MOVE);
	placement("after-pages", p, PAGES * PAGE);
	call("migrate", SYS_migrate_pages, 0, 1024, (long)zero, (long)one, 0, 0);
	placement("after-migrate", p, PAGES * PAGE);
	placement("big", big, BIG * PAGE);
	call("big-move", SYS_mbind, (long)big, BIG * PAGE, BIND, (long)zero, 1024, MOVE_ALL);
	placement("after-big", big, BIG * PAGE);
	for (unsigned long i = 0; i < MANY; i++)
		pages[i] = big + i * PAGE;
	call("ask", SYS_move_pages, 0, MANY, (long)pages, 0, (long)status, 0);
	call("spread", SYS_mbind, (long)spread, BIG * PAGE, INTERLEAVE, (long)both, 3, 0);
	memset(spread, 1, BIG * PAGE);
	call("spread-again", SYS_mbind, (long)spread, BIG * PAGE, INTERLEAVE, (long)both, 3, 0);
	placement("after-spread", spread, BIG * PAGE);
	call("off-by-one", SYS_mbind, (long)p, PAGES * PAGE, PREFERRED, (long)both, 2, 0);
	call("home", SYS_set_mempolicy_home_node, (long)big, PAGE, 0, 0, 0, 0);
	call("late", SYS_set_mempolicy, BIND, (long)one, 1024, 0, 0, 0);
	call("undo", SYS_set_mempolicy, DEFAULT, 0, 0, 0, 0, 0);
}

static void errors(void)
{
	unsigned long none[16] = {0}, zero[16] = {1}, far[16] = {0};
	char *p = map(4 * PAGE);
	int mode;

	far[15] = 1UL << 63; /* node 1023 */
	call("mbind-ok", SYS_mbind, (long)p, PAGE, BIND, (long)zero, 1024, 0);
	call("mbind-empty", SYS_mbind, (long)p, PAGE, BIND, (long)none, 1024, 0);
	call("mbind-cut", SYS_mbind, (long)p, PAGE, BIND, (long)zero, 1, 0);
	call("mbind-maxnode-0", SYS_mbind, (long)p, PAGE, BIND, (long)zero, 0, 0);
	call("mbind-far", SYS_mbind, (long)p, PAGE, BIND, (long)far, 1025, 0);
	call("mbind-mode", SYS_mbind, (long)p, PAGE, 99, (long)zero, 1024, 0);
	call("mbind-flag", SYS_mbind, (long)p, PAGE, BIND, (long)zero, 1024, 1 << 14);
	call("mbind-unaligned", SYS_mbind, (long)p + 1, PAGE, BIND, (long)zero, 1024, 0);
	call("mbind-hole", SYS_mbind, 4096, PAGE, BIND, (long)zero, 1024, 0);
	call("set-both", SYS_set_mempolicy, BIND | 3 << 14, (long)zero, 1024, 0, 0, 0);
	call("set-default-nodes", SYS_set_mempolicy, DEFAULT, (long)zero, 1024, 0, 0, 0);
	call("get-ok", SYS_get_mempolicy, (long)&mode, (long)none, 1024, 0, 0, 0);
	call("get-small", SYS_get_mempolicy, (long)&mode, (long)none, 0, 0, 0, 0);
	call("get-addr", SYS_get_mempolicy, (long)&mode, (long)none, 1024, (long)p, 2, 0);
	call("get-hole", SYS_get_mempolicy, (long)&mode, (long)none, 1024, 4096, 2, 0);
	call("migrate-none", SYS_migrate_pages, 0, 1024, (long)zero, (long)none, 0, 0);
	call("migrate-nobody", SYS_migrate_pages, 0x3fffffff, 1024, (long)zero, (long)zero, 0, 0);
	call("move-flag", SYS_move_pages, 0, 1, (long)&p, 0, (long)&mode, 64);
	call("move-nobody", SYS_move_pages, 0x3fffffff, 1, (long)&p, 0, (long)&mode, 0);
	call("home-flags", SYS_set_mempolicy_home_node, (long)p, PAGE, 0, 1, 0, 0);
}

/* The last bytes of a page after which nothing can be read. */
static char *page_end(size_t bytes)
{
	char *p = map(2 * PAGE);

	mprotect(p + PAGE, PAGE, PROT_NONE);
	memset(p, 0, PAGE);
	return p + PAGE - bytes;
}

static void hostile(void)
{
	unsigned long *at_end = (unsigned long *)page_end(8), *cut = (unsigned long *)page_end(5);
	static const unsigned long constant[16] = {1}; /* not yet paged in */
	char *p = map(PAGE);
	long big = (long)(1UL << 63);

	*at_end = 1;
	memcpy(cut, "\1\0\0\0\0", 5);
	call("end-ok", SYS_mbind, (long)p, PAGE, BIND, (long)at_end, 65, 0);
	call("end-over", SYS_mbind, (long)p, PAGE, BIND, (long)at_end, 66, 0);
	call("end-long", SYS_set_mempolicy, BIND, (long)at_end, 32769, 0, 0, 0);
	call("end-cut", SYS_mbind, (long)p, PAGE, BIND, (long)cut, 64, 0);
	call("null", SYS_mbind, (long)p, PAGE, BIND, 0, 64, 0);
	call("bad-mask", SYS_mbind, (long)p, PAGE, BIND, 8, 64, 0);
	call("kernel-mask", SYS_mbind, (long)p, PAGE, BIND, (long)0xffffffff81000000, 64, 0);
	call("big-length", SYS_mbind, (long)p, big, BIND, (long)at_end, 64, MOVE);
	call("wrapped", SYS_mbind, big, big, BIND, (long)at_end, 64, MOVE);
	call("all", SYS_mbind, 0, -1, BIND, (long)at_end, 64, MOVE);
	call("big-maxnode", SYS_mbind, (long)p, PAGE, BIND, (long)at_end, big, 0);
	call("big-count", SYS_move_pages, 0, big, 0, 0, 0, MOVE);
	call("bad-arrays", SYS_move_pages, 0, 5, 8, 8, 8, MOVE);
	call("bad-status", SYS_move_pages, 0, 1, (long)&p, 0, 8, MOVE);
	call("get-nowhere", SYS_get_mempolicy, 8, 8, 1024, big, -1, 0);
	call("home-big", SYS_set_mempolicy_home_node, big, big, big, big, 0, 0);
	call("set-constant", SYS_set_mempolicy, BIND, (long)constant, 64, 0, 0, 0);
	call("set-back", SYS_set_mempolicy, DEFAULT, 0, 0, 0, 0, 0);
}

static long int80(long nr, long a, long b)
{
	long rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(nr), "b"(a), "c"(b), "d"(0L), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

static void compat(void)
{
	printf("fremovexattr %ld\n", int80(237, -1, 0));
	printf("set_tid-like %ld\n", int80(279, -1, 0));
	printf("mbind32 %ld\n", int80(274, 4096, 0));
	printf("set_mempolicy32 %ld\n", int80(276, 0, 0));
	call("native", SYS_set_mempolicy, DEFAULT, 0, 0, 0, 0, 0);
}

static void loop(long n)
{
	int mode;

	for (long i = 0; i < n; i++)
		syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0);
	printf("loop %ld\n", n);
}

/* What is touched first by this task is on node 0. */
static void stay_on_node_0(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc < 2)
		return 2;
	stay_on_node_0();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (!strcmp(argv[1], "effect"))
		effect();
	else if (!strcmp(argv[1], "errors"))
		errors();
	else if (!strcmp(argv[1], "hostile"))
		hostile();
	else if (!strcmp(argv[1], "compat"))
		compat();
	else if (!strcmp(argv[1], "loop") && argc > 2)
		loop(atol(argv[2]));
	else
		return 2;
	printf("done\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
