/*
 * Does known things with huge pages. Steps are words of its arguments, done in order once a line
 * comes on its input; it prints "ready" before, "done" after, and stays until its input ends.
 *
 *   full:N     maps N huge-aligned huge pages (MADV_HUGEPAGE) and touches every byte of them
 *   sparse:N   … touches one base page of each: 511/512 of them is waste
 *   partial:N  … touches every second base page
 *   small:N    maps room for N huge pages without (MADV_NOHUGEPAGE), touches all, then allows them
 *   unmap      splits the mapping of each huge page: its last base page is MADV_DONTNEEDed
 *   protect    … is made read-only
 *   collapse   MADV_COLLAPSE (6.1) of all memory; prints how many ranges it took
 *   secret     MADV_DONTDUMP
 *   lock       what is mapped from here on stays in memory once it is touched (mlockall)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define HUGE (2UL << 20)
#define COLLAPSE 25 /* MADV_COLLAPSE */

static char *memory;
static size_t pages;

static int map(size_t n, int advice)
{
	char *p = mmap(
		NULL, (n + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	memory = (char *)(((unsigned long)p + HUGE - 1) & ~(HUGE - 1));
	pages = n;
	return madvise(memory, n * HUGE, advice);
}

/* Every step-th base page, from the first on. */
static void touch(size_t step)
{
	for (size_t at = 0; at < pages * HUGE; at += step * PAGE)
		memset(memory + at, 1, PAGE);
}

static int each(int (*fn)(char *last))
{
	int failed = 0;

	for (size_t i = 0; i < pages; i++)
		failed |= fn(memory + (i + 1) * HUGE - PAGE);
	return failed;
}

static int drop(char *last)
{
	return madvise(last, PAGE, MADV_DONTNEED);
}

static int protect(char *last)
{
	return mprotect(last, PAGE, PROT_READ);
}

static int collapse(void)
{
	size_t n = 0;

	for (size_t i = 0; i < pages; i++)
		n += !madvise(memory + i * HUGE, HUGE, COLLAPSE);
	printf("collapsed %zu\n", n);
	return 0;
}

static int step(const char *word)
{
	const char *colon = strchr(word, ':');
	size_t n = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (!strncmp(word, "full:", 5) || !strncmp(word, "sparse:", 7) ||
		!strncmp(word, "partial:", 8)) {
		if (map(n, MADV_HUGEPAGE))
			return -1;
		touch(word[0] == 'f' ? 1 : word[0] == 's' ? 512 : 2);
		return 0;
	}
	if (!strncmp(word, "small:", 6)) {
		if (map(n, MADV_NOHUGEPAGE))
			return -1;
		touch(1);
		return madvise(memory, pages * HUGE, MADV_HUGEPAGE);
	}
	if (!strcmp(word, "unmap"))
		return each(drop);
	if (!strcmp(word, "protect"))
		return each(protect);
	if (!strcmp(word, "collapse"))
		return collapse();
	if (!strcmp(word, "lock"))
		return mlockall(MCL_FUTURE | MCL_ONFAULT);
	if (!strcmp(word, "secret"))
		return madvise(memory, pages * HUGE, MADV_DONTDUMP);
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 1; i < argc; i++) {
		if (step(argv[i])) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("done");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
