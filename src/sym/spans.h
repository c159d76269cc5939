/* Address ranges that may be nested, looked up by an address inside. Knows nothing of what the
 * ranges stand for. */
#ifndef MEMWHY_SYM_SPANS_H
#define MEMWHY_SYM_SPANS_H

#include "base/vec.h"

struct span {
	u64 start;
	u64 end;
	u64 reach; /* the furthest end up to here in order: where looking back may stop */
	u64 value;
};

struct spans {
	VEC(struct span) list;
};

/* An empty range is left out. 0 or -ENOMEM. */
int spans_add(struct spans *s, u64 start, u64 end, u64 value);
/* Sorts: between adding and finding. */
void spans_finish(struct spans *s);
/* The range with the latest start that holds the address (of nested ones, the inner); NULL for
 * none. */
const struct span *spans_find(const struct spans *s, u64 address);
void spans_free(struct spans *s);

#endif
