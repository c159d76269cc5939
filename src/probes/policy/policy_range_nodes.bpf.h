/*
 * What policy makes of places: pages of a range counted by node, and which of them to look at.
 * Where a page is, is in bpf/page_node.bpf.h.
 */
#ifndef MEMWHY_PROBES_POLICY_RANGE_NODES_BPF_H
#define MEMWHY_PROBES_POLICY_RANGE_NODES_BPF_H

#include "bpf/page_node.bpf.h"
#include "probes/policy/policy.h"

const volatile struct policy_config config = {};

/* 1: the node of this place is in the mask (its first word: POLICY_NODES). No branch, as each
 * doubles what the verifier has to look at in a loop. */
static __always_inline u32 mask_has(const struct policy_mask *m, u32 place)
{
	return m->bits[0] >> (place & 63) & 1 & (place >> 6 ^ 1);
}

static __always_inline void page_count(struct policy_pages *p, u32 place, u32 on)
{
	p->looked++;
	p->on += on;
	if (place < POLICY_PLACES)
		p->at[place]++;
}

/*
 * The i-th of the pages to look at, of n: all, or POLICY_LOOKS that are spread evenly, each at a
 * place within its share that looks like chance but is the same each time. (Every k-th page would
 * always be on the same node where pages are interleaved.)
 */
__noinline u64 look_at(u32 i, u64 n)
{
	u64 share = n / POLICY_LOOKS, chance = i * 2654435761U >> 16;

	if (n <= POLICY_LOOKS)
		return i;
	return (u64)i * share + (share < 1ULL << 40 ? share * chance >> 16 : 0);
}

/*
 * Pages are looked at by the turn: the loop over turns is short for the verifier, as a turn is a
 * function of its own.
 */
#define TURN 16
#define TURNS (POLICY_LOOKS / TURN)

#endif
