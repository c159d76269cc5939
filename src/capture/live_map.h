/*
 * What is live: a map in which BPF programs follow things from allocation to free, looked at as a
 * whole, by key, with the ages. Knows no probe.
 */
#ifndef MEMWHY_CAPTURE_LIVE_MAP_H
#define MEMWHY_CAPTURE_LIVE_MAP_H

#include <stddef.h>

#include "base/groups.h"
#include "bpf/shared.h"

#define LIVE_AGE_SLOTS 40 /* of a log2 histogram: slot i is 2^(i-1) to 2^i ns */

/* Where the values of such a map, whose keys are a u64, have what is needed. */
struct live_layout {
	size_t value_size;
	size_t time_at;          /* u64: when it was allocated */
	size_t key_at, key_size; /* what it is counted under */
};

/* What is live of one key. */
struct live_ages {
	u64 count;
	u64 old; /* of these, older than asked */
	u64 oldest_ns;
	u32 hist[LIVE_AGE_SLOTS];
};

/* Sums of live_ages by key. Things come and go meanwhile: each that is there throughout is seen
 * once. */
int live_look(int map, const struct live_layout *l, u64 now_ns, u64 old_ns, struct groups *ret,
	u64 *ret_n);
/* The histogram of agg_lifetime, in ns: its first slot has all that is shorter. */
void live_lifetimes(const struct agg_value *v, u32 ret[LIVE_AGE_SLOTS]);
/* What counts as old: two thirds of the time since the start. What was there after a third of it
 * and was not freed since is older. */
u64 live_old_ns(u64 begin_ns, u64 now_ns);

#endif
