/* See account_table.h. */
#include "probes/heap/account_table.h"

#include <errno.h>
#include <sys/mman.h>

#define FIRST_BITS 10
#define HUGE (4UL << 20)

/*
 * A slot is the upper bits of a hash, so in the order of slots blocks come from one end of the old
 * table and go to one end of the new one. The old one is given back behind that: both together are
 * never much more than the new one alone.
 */
int account_table_grow(struct account_table *t, u32 *beat)
{
	struct account_table grown = {.size = t->size ? 2 * t->size : 1UL << FIRST_BITS};
	size_t bytes = grown.size * sizeof(*grown.v), step = HUGE / sizeof(*grown.v) & ~511UL;
	u64 given = 0;

	grown.v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown.v == MAP_FAILED)
		return -ENOMEM;
	if (bytes >= HUGE)
		madvise(grown.v, bytes, MADV_HUGEPAGE);
	grown.shift = (u32)(64 - __builtin_ctzll(grown.size));
	for (u64 i = 0; i < t->size; i++) {
		account_beat(beat, i);
		if (i == given + step) {
			munmap(t->v + given, step * sizeof(*t->v));
			given = i;
		}
		if (t->v[i].where)
			*account_table_place(&grown, account_block_key(&t->v[i])) = t->v[i];
	}
	grown.n = t->n;
	if (t->v)
		munmap(t->v + given, (t->size - given) * sizeof(*t->v));
	*t = grown;
	return 0;
}

void account_table_free(struct account_table *t)
{
	if (t->v)
		munmap(t->v, t->size * sizeof(*t->v));
	*t = (struct account_table){};
}
