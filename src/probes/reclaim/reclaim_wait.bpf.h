/* What reclaim spends its time with besides the LRU lists: shrinkers, and being throttled. */
#ifndef MEMWHY_PROBES_RECLAIM_WAIT_BPF_H
#define MEMWHY_PROBES_RECLAIM_WAIT_BPF_H

#include "probes/reclaim/reclaim_work.bpf.h"

AGG_TABLE(shrinkers, struct shrinker_key);
AGG_TABLE(throttles, struct throttle_key);

/* Runs outside of any reclaim too: drop_caches. */
static __always_inline int shrinker_began(s64 to_scan)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct work *w = work_current();

	if (!w && scope_match(pid_tgid))
		w = work_add((u32)pid_tgid, pid_tgid, RECLAIM_OTHER);
	if (!w)
		return 0;
	w->shrinker_to_scan = to_scan;
	w->shrinker_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void shrinker_count(
	const struct work *w, u64 function, u64 ns, s64 freed, s64 left)
{
	struct shrinker_key key = {.function = function, .kind = w->key.kind};
	struct agg_value *v;

	count_add(seen);
	v = agg_get(&shrinkers, &key, 1);
	if (!v)
		return;
	v->count++;
	v->sum[SHRINKER_FREED] += freed > 0 ? freed : 0;
	v->sum[SHRINKER_SCANNED] += w->shrinker_to_scan > left ? w->shrinker_to_scan - left : 0;
	agg_time(v, ns);
}

/* function: scan_objects; freed: objects; left: of those that were to be scanned. */
static __always_inline int shrinker_ended(u64 function, s64 freed, s64 left)
{
	struct work *w = work_current();
	u64 id, ns;

	if (!w || !w->shrinker_start_ns)
		return 0;
	ns = bpf_ktime_get_ns() - w->shrinker_start_ns;
	w->shrinker_start_ns = 0;
	w->shrinker_ns += ns;
	shrinker_count(w, function, ns, freed, left);
	if (w->key.kind != RECLAIM_OTHER)
		return 0;
	id = (u32)bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&works, &id);
	return 0;
}

static __always_inline int throttle_count(struct work *w, u32 reason, u64 ns)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct throttle_key key = {.reason = reason};
	struct agg_value *v;

	if (w) {
		w->throttled_ns += ns;
		key.stall = w->key;
	} else {
		if (!scope_match(pid_tgid))
			return 0;
		key.stall.tgid = pid_tgid >> 32;
		key.stall.tid = scope.by_thread ? (u32)pid_tgid : 0;
		key.stall.node = RECLAIM_NODE_UNKNOWN;
	}
	count_add(seen);
	v = agg_get(&throttles, &key, 1);
	if (v) {
		v->count++;
		agg_time(v, ns);
	}
	return 0;
}

/* Fires when it is over; the time comes from jiffies. Compaction is throttled here too. */
static __always_inline int was_throttled(u32 reason, u32 usec)
{
	return throttle_count(work_current(), reason, (u64)usec * 1000);
}

/* Until 5.15. Others than reclaim wait there too; wait_iff_congested() also fires when it did
 * not wait. */
static __always_inline int was_congested(u32 usec)
{
	struct work *w = work_current();

	if (!w || !usec)
		return 0;
	return throttle_count(w, RECLAIM_THROTTLE_CONGESTION, (u64)usec * 1000);
}

#endif
