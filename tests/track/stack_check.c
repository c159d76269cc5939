/*
 * A preload library for tests: at each allocation of a program it walks the stack as the tracker
 * does, and once more with glibc's backtrace(), and counts how often they differ. Prints that at
 * the end: `stacks N different N`, and the first few that differ if STACK_CHECK_SHOW is set.
 */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* For the frames of its memory of the last stack. */
#include "../../src/tracker/stack.c"
#include "tracker/join.h"

/* The file is ours: nobody is asked for one. */
int attach_prepare(void)
{
	return 1;
}

struct track_head *attach_file(void)
{
	return NULL;
}

#define EXPORT __attribute__((visibility("default")))
#define MORE 16 /* frames of ours in backtrace's */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static unsigned long checked, different;
static int ready;
static __thread int within;

static void show(const struct memo *m, u32 n, void **theirs, int left)
{
	char line[128];

	if (!getenv("STACK_CHECK_SHOW") || different > 5)
		return;
	for (u32 i = 0; i < n || (int)i < left; i++) {
		int len = snprintf(line, sizeof(line), "  %2u ours %#llx theirs %p\n", i,
			i < n ? m->frames[n - 1 - i].ip : 0, (int)i < left ? theirs[i] : NULL);

		if (write(2, line, (size_t)len) < 0)
			return;
	}
}

static void check(const u64 *frame)
{
	void *theirs[TRACK_DEPTH + MORE];
	struct thread *t;
	int all, at = 0;
	u32 n;

	if (!ready || within)
		return;
	within = 1;
	t = thread_now();
	if (!t)
		abort();
	all = backtrace(theirs, TRACK_DEPTH + MORE);
	stack_number(t, frame);
	/* Nobody reads the ring. */
	for (u64 i = 0; i < t->head; i++)
		t->ring[i & t->mask] = 0;
	t->head = 0;
	n = t->memo->n;
	while (at < all && theirs[at] != (void *)frame[1])
		at++;
	if (n) { /* else it was too deep to be remembered */
		int same = (u32)(all - at) == n;

		for (u32 i = 0; i < n && same; i++) {
			u64 ours = t->memo->frames[n - 1 - i].ip, it = (u64)theirs[at + (int)i];

			same = ours == it || ours == it + 1; /* one more where a signal came */
		}
		checked++;
		different += !same;
		if (!same)
			show(t->memo, n, theirs + at, all - at);
	}
	within = 0;
}

EXPORT void *malloc(size_t size)
{
	void *p = __libc_malloc(size);

	check(__builtin_frame_address(0));
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *p = __libc_calloc(n, size);

	check(__builtin_frame_address(0));
	return p;
}

EXPORT void *realloc(void *old, size_t size)
{
	void *p = __libc_realloc(old, size);

	check(__builtin_frame_address(0));
	return p;
}

__attribute__((constructor)) static void begin(void)
{
	void *first[4];

	track = mmap(NULL, TRACK_FILE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	track->next_stack = 1;
	within = 1;
	backtrace(first, 4); /* loads a library */
	within = 0;
	ready = 1;
}

__attribute__((destructor)) static void end(void)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "stacks %lu different %lu\n", checked, different);

	ready = 0;
	if (write(2, line, (size_t)len) < 0)
		return;
}
