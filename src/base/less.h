/*
 * A difference that is never below 0: when counters are read one after the other, a part can exceed
 * the whole.
 */
#ifndef MEMWHY_BASE_LESS_H
#define MEMWHY_BASE_LESS_H

#include "base/types.h"

static inline u64 u64_less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

#endif
