/*
 * Swap of a known place: makes a control group with a memory limit, and in it fills more anonymous
 * memory than that, so that the rest must go to swap, and then walks through it again and again:
 * every page not in memory must come back from swap, in a fault of this task.
 *
 * usage: swap_walk [-l LIMIT_MIB] [-a ANON_MIB] [-r ROUNDS] [-z]
 * -z: pages that compress well, for zswap, whose memory is the group's too.
 * Prints "ready", waits for a line, works, and prints "name value" lines: its own page faults as
 * getrusage counts them, from before the wait; then waits for the end of its input.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "limited_group.h"

static unsigned long limit_mib = 32, anon_mib = 64, rounds = 2;
static size_t step = 1; /* of that many words one is filled */

/* No page is zero or of one value, as such pages are not written. With every word filled they do
 * not compress either. */
static void fill(unsigned char *p, size_t bytes)
{
	unsigned long x = 88172645463325252UL;

	for (size_t i = 0; i + sizeof(x) <= bytes; i += step * sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p + i, &x, sizeof(x));
	}
}

static __attribute__((noinline)) unsigned walk_pages(const volatile unsigned char *p, size_t bytes)
{
	unsigned sum = 0;

	for (size_t i = 0; i < bytes; i += 4096)
		sum += p[i];
	return sum;
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	char line[64];
	unsigned char *anon;
	int opt;

	while ((opt = getopt(argc, argv, "l:a:r:z")) > 0) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (opt == '?')
			return 2;
		if (opt == 'z')
			step = 16;
		else
			*(opt == 'l' ? &limit_mib : opt == 'a' ? &anon_mib : &rounds) = v;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	group_find();
	anon = mmap(
		NULL, anon_mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (anon == MAP_FAILED)
		die("mmap");
	madvise(anon, anon_mib * MIB, MADV_NOHUGEPAGE);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	getrusage(RUSAGE_SELF, &before);
	group_enter("swap", limit_mib);
	fill(anon, anon_mib * MIB);
	for (unsigned long r = 0; r < rounds; r++)
		walk_pages(anon, anon_mib * MIB);
	getrusage(RUSAGE_SELF, &after);
	printf("pid %d\n", (int)getpid());
	printf("majflt %ld\n", after.ru_majflt - before.ru_majflt);
	printf("minflt %ld\n", after.ru_minflt - before.ru_minflt);
	printf("done 1\n");
	while (fgets(line, sizeof(line), stdin))
		;
	munmap(anon, anon_mib * MIB);
	group_leave();
	return rmdir(group) ? 1 : 0;
}
