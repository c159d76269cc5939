/* What reclaim spends its time with besides the LRU lists: shrinkers, and being throttled. */
#ifndef MEMWHY_PROBES_RECLAIM_WAIT_BPF_H
#define MEMWHY_PROBES_RECLAIM_WAIT_BPF_H

#include "probes/reclaim/work.bpf.h"

AGG_TABLE(shrinkers, struct shrinker_key);
AGG_TABLE(throttles, struct throttle_key);

struct shrinker {
	void *scan_objects;
} __attribute__((preserve_access_index));

/*
 * (struct shrinker *, struct shrink_control *, long nr_objects_to_shrink, unsigned long
 * cache_items, unsigned long long delta, unsigned long total_scan, int priority), and the
 * mem_cgroup in 7.3. Runs outside of any reclaim too: drop_caches.
 */
SEC("raw_tp/mm_shrink_slab_start")
int shrinker_start(struct bpf_raw_tracepoint_args *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct work *w = work_current();

	if (!w && scope_match(pid_tgid))
		w = work_add((u32)pid_tgid, pid_tgid, RECLAIM_OTHER);
	if (!w)
		return 0;
	w->shrinker_to_scan = ctx->args[5];
	w->shrinker_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void shrinker_count(const struct work *w, const struct shrinker *s, u64 ns,
	s64 freed, s64 left)
{
	struct shrinker_key key = {.kind = w->key.kind};
	struct agg_value *v;

	if (bpf_core_field_exists(s->scan_objects))
		key.function = (u64)BPF_CORE_READ(s, scan_objects);
	count_add(seen);
	v = agg_get(&shrinkers, &key, 1);
	if (!v)
		return;
	v->count++;
	v->sum[SHRINKER_FREED] += freed > 0 ? freed : 0;
	v->sum[SHRINKER_SCANNED] += w->shrinker_to_scan > left ? w->shrinker_to_scan - left : 0;
	agg_time(v, ns);
}

/* (struct shrinker *, int nid, int shrinker_retval, long unused_scan_cnt, long new_scan_cnt,
 * long total_scan), and the mem_cgroup in 7.3. retval is the number of objects freed. */
SEC("raw_tp/mm_shrink_slab_end")
int shrinker_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct work *w = work_current();
	u64 id, ns;

	if (!w || !w->shrinker_start_ns)
		return 0;
	ns = bpf_ktime_get_ns() - w->shrinker_start_ns;
	w->shrinker_start_ns = 0;
	w->shrinker_ns += ns;
	shrinker_count(w, (void *)ctx->args[0], ns, (s32)ctx->args[2], ctx->args[5]);
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
		key.stall.tid = config.threads ? (u32)pid_tgid : 0;
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

/* (int nid, int usec_timeout, int usec_delayed, int reason), since 5.16. Fires when it is over;
 * its time is in jiffies. */
SEC("raw_tp/mm_vmscan_throttled")
int throttled(struct bpf_raw_tracepoint_args *ctx)
{
	return throttle_count(work_current(), ctx->args[3], (u64)(u32)ctx->args[2] * 1000);
}

/*
 * (unsigned int usec_timeout, unsigned int usec_delayed), until 5.15. Others than reclaim wait
 * there too; wait_iff_congested() also fires when it did not wait.
 */
static __always_inline int congestion(struct bpf_raw_tracepoint_args *ctx)
{
	struct work *w = work_current();
	u32 usec = ctx->args[1];

	if (!w || !usec)
		return 0;
	return throttle_count(w, RECLAIM_THROTTLE_CONGESTION, (u64)usec * 1000);
}

SEC("raw_tp/writeback_congestion_wait")
int congestion_wait(struct bpf_raw_tracepoint_args *ctx)
{
	return congestion(ctx);
}

SEC("raw_tp/writeback_wait_iff_congested")
int wait_iff_congested(struct bpf_raw_tracepoint_args *ctx)
{
	return congestion(ctx);
}

#endif
