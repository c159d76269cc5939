/* Room in an array, given out in pieces: first fit, pieces that meet become one again. */
#ifndef MEMWHY_CAPTURE_EXTENTS_H
#define MEMWHY_CAPTURE_EXTENTS_H

#include "base/vec.h"

struct extent {
	u32 start;
	u32 n;
};

struct extents {
	VEC(struct extent) free; /* by start, none meets another */
};

/* Takes n; -ENOSPC. */
int extents_take(struct extents *e, u32 n, u32 *ret_start);
/* Gives back (at first: gives) a piece. When there is no memory it is lost. */
void extents_give(struct extents *e, u32 start, u32 n);
void extents_free(struct extents *e);

#endif
