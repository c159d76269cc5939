/* The greatest few of many: indices of a list by their keys, the greatest first. */
#ifndef MEMWHY_BASE_GREATEST_H
#define MEMWHY_BASE_GREATEST_H

#include <stdbool.h>

#include "base/types.h"

#define TOP_MAX 256

struct top {
	u32 n, limit; /* at most TOP_MAX */
	u64 key[TOP_MAX];
	u32 at[TOP_MAX];
};

void top_clear(struct top *top, u32 limit);
/* A key of 0 means none. Among equal keys the first one offered comes first. */
/* Was it taken? */
bool top_has(const struct top *top, u32 at);
void top_offer(struct top *top, u64 key, u32 at);

#endif
