/* See account.h: all live blocks. */
#include "probes/heap/account_block.h"

void account_each(const struct account *a,
	void (*take)(void *arg, u64 address, u64 bytes, u32 stack), void *arg)
{
	for (u64 i = 0; i < a->live.size; i++) {
		const struct account_block *b = &a->live.v[i];

		beat(a->beat, i);
		if (b->where)
			take(arg, block_key(b) << 3, block_size(b),
				a->sites.v[b->what >> SIZE_BITS].stack);
	}
}
