/* See top.h. */
#include "base/greatest.h"

void top_clear(struct top *top, u32 limit)
{
	top->n = 0;
	top->limit = limit;
}

bool top_has(const struct top *top, u32 at)
{
	for (u32 i = 0; i < top->n; i++)
		if (top->at[i] == at)
			return true;
	return false;
}

void top_offer(struct top *top, u64 key, u32 at)
{
	u32 i;

	if (!key || !top->limit || (top->n == top->limit && key <= top->key[top->n - 1]))
		return;
	i = top->n < top->limit ? top->n++ : top->n - 1;
	for (; i && top->key[i - 1] < key; i--) {
		top->key[i] = top->key[i - 1];
		top->at[i] = top->at[i - 1];
	}
	top->key[i] = key;
	top->at[i] = at;
}
