/* See big.h: from a size on, arrays are mappings of whole huge pages, told apart by that size. */
#include "base/big.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES (2UL << 20)
#define MAPPED_BYTES (2 * HUGE_BYTES) /* and more are mapped */

static size_t mapped_bytes(size_t cap, size_t size)
{
	return (cap * size + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
}

/* Addresses for so many bytes, from a huge page's begin on, with nothing there. NULL: none. */
static char *place_take(size_t bytes)
{
	char *p = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t skip;

	if (p == MAP_FAILED)
		return NULL;
	skip = -(uintptr_t)p & (HUGE_BYTES - 1);
	if (skip)
		munmap(p, skip);
	munmap(p + skip + bytes, HUGE_BYTES - skip);
	return p + skip;
}

static void *region_make(size_t bytes)
{
	char *p = place_take(bytes);

	if (!p)
		return NULL;
	if (mprotect(p, bytes, PROT_READ | PROT_WRITE)) {
		munmap(p, bytes);
		return NULL;
	}
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

/* Between such places the kernel moves huge pages whole. */
static void *region_grow(void *old, size_t old_bytes, size_t bytes)
{
	char *to = place_take(bytes);
	void *p;

	if (!to)
		return NULL;
	p = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (p != MAP_FAILED)
		return p;
	munmap(to, bytes);
	return NULL;
}

int big_grow(void **v, size_t *cap, size_t n, size_t more, size_t size)
{
	size_t want;
	void *grown;

	if (n + more <= *cap)
		return 0;
	want = vec_capacity(*cap, n + more);
	if (want > SIZE_MAX / 2 / size)
		return -ENOMEM;
	if (want * size < MAPPED_BYTES) {
		grown = realloc(*v, want * size);
	} else if (*cap * size >= MAPPED_BYTES) {
		grown = region_grow(*v, mapped_bytes(*cap, size), mapped_bytes(want, size));
	} else {
		grown = region_make(mapped_bytes(want, size));
		if (grown && n)
			memcpy(grown, *v, n * size);
		if (grown)
			free(*v);
	}
	if (!grown)
		return -ENOMEM;
	*v = grown;
	*cap = want;
	return 0;
}

void big_release(void *v, size_t cap, size_t size)
{
	if (cap * size >= MAPPED_BYTES)
		munmap(v, mapped_bytes(cap, size));
	else
		free(v);
}
