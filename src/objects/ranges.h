/*
 * Disjoint ranges of addresses, each with a number: what is where in an address space. A B+tree
 * whose copies share all nodes until one of them changes, so a fork costs nothing. Look-ups and
 * changes take O(log n). Does not know what the numbers mean.
 */
#ifndef MEMWHY_OBJECTS_RANGES_H
#define MEMWHY_OBJECTS_RANGES_H

#include "base/util.h"

struct range {
	u64 start, end; /* start < end */
	u32 value;
};

struct ranges {
	struct ranges_node *root; /* NULL: empty */
	u64 n;
	u64 changes; /* counts up */
};

/* The range must not overlap another. 0 or -ENOMEM: then nothing has changed. */
int ranges_add(struct ranges *t, struct range r);
/* Takes out the range that starts there, if there is one. 0 or -ENOMEM: then it is still there. */
int ranges_remove(struct ranges *t, u64 start);
bool ranges_find(const struct ranges *t, u64 address, struct range *ret);
/* The first range that ends after address. */
bool ranges_next(const struct ranges *t, u64 address, struct range *ret);
/*
 * Many look-ups at once, so that their cache misses overlap: as ranges_find(); without a match, a
 * range with end 0. n is at most RANGES_BATCH.
 */
#define RANGES_BATCH 16U
void ranges_find_all(const struct ranges *t, const u64 *addresses, u32 n, struct range *ret);
/* to must be empty. */
void ranges_copy(const struct ranges *from, struct ranges *to);
void ranges_free(struct ranges *t);

#endif
