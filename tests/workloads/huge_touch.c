/*
 * huge_touch: asks for transparent huge pages and touches them: MIB of memory, in a mapping that
 * is aligned and advised. Where no free block is large enough each fault compacts memory, if
 * transparent_hugepage/defrag is always or madvise. Prints how much of it became huge, and stays
 * for SECONDS, for khugepaged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define HUGE_BYTES (2 * MIB)

static unsigned long huge_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	unsigned long mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	char *area = mmap(NULL, mib * MIB + HUGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!mib || area == MAP_FAILED) {
		fprintf(stderr, "huge_touch: %s\n",
			mib ? strerror(errno) : "usage: huge_touch [MIB [SECONDS]]");
		return 2;
	}
	area += HUGE_BYTES - (unsigned long)area % HUGE_BYTES;
	madvise(area, mib * MIB, MADV_HUGEPAGE);
	for (unsigned long at = 0; at < mib * MIB; at += HUGE_BYTES)
		area[at] = 1;
	sleep(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
	printf("huge_touch: %lu of %lu MiB in huge pages\n", huge_kib() / 1024, mib);
	return 0;
}
