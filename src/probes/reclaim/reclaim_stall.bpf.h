/* Tasks that reclaim themselves, from its beginning to its end. */
#ifndef MEMWHY_PROBES_RECLAIM_STALL_BPF_H
#define MEMWHY_PROBES_RECLAIM_STALL_BPF_H

#include "bpf/vmscan.bpf.h"
#include "probes/reclaim/reclaim_lru.bpf.h"
#include "probes/reclaim/reclaim_work.bpf.h"

AGG_TABLE(stalls, struct stall_key);

/* A stall that begins: the arguments of the tracepoint. */
struct begin {
	u32 order, gfp;
	s16 node;
	u8 kind;
	u8 skip; /* frames of the kernel's stack */
};

static __always_inline int stall_begin(void *ctx, struct begin b)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u64 id = (b.kind == RECLAIM_SOFTLIMIT ? NESTED : 0) | (u32)pid_tgid;
	struct probe_counts *c;
	struct work *w;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	w = work_add(id, pid_tgid, b.kind);
	if (!w) {
		c->seen++;
		c->lost_map++;
		return 0;
	}
	w->key.gfp = b.gfp;
	w->key.order = b.order;
	w->key.node = b.node;
	if (stack_due(c)) {
		w->key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		w->key.kstack = stack_kernel(ctx, b.skip);
	}
	w->free_pages = free_pages();
	w->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void stall_each(const struct work *w, u64 ns, u64 returned)
{
	struct reclaim_stall *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_RECLAIM_STALL, sizeof(*e));
	e->tgid = w->key.tgid;
	e->tid = (u32)bpf_get_current_pid_tgid();
	e->ustack = w->key.ustack;
	e->kstack = w->key.kstack;
	e->ns = ns;
	e->scanned = w->scanned;
	e->reclaimed = w->reclaimed;
	e->returned = returned;
	e->shrinker_ns = w->shrinker_ns;
	e->throttled_ns = w->throttled_ns;
	e->free_pages = w->free_pages;
	e->cgroup = current_cgroup_id();
	e->gfp = w->key.gfp;
	e->kind = w->key.kind;
	e->order = w->key.order;
	e->node = w->key.node;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
}

static __always_inline void stall_count(const struct work *w, u64 ns)
{
	struct stall_key key = w->key;
	struct agg_value *v = agg_get(&stalls, &key, 1);

	if (!v)
		return;
	v->count++;
	v->sum[STALL_SCANNED] += w->scanned;
	v->sum[STALL_RECLAIMED] += w->reclaimed;
	v->sum[STALL_SHRINKER_NS] += w->shrinker_ns;
	agg_time(v, ns);
}

static __always_inline int stall_end(u64 nested, u64 returned)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), id = nested | (u32)pid_tgid, ns;
	struct work *w = bpf_map_lookup_elem(&works, &id);

	if (!w) {
		if (scope_match(pid_tgid))
			count_add(unpaired);
		return 0;
	}
	ns = bpf_ktime_get_ns() - w->start_ns;
	lru_flush(w);
	if (lru_is_silent())
		w->reclaimed = returned;
	if (ns >= config.min_ns) {
		count_add(seen);
		if (scope.each)
			stall_each(w, ns, returned);
		else
			stall_count(w, ns);
	}
	bpf_map_delete_elem(&works, &id);
	return 0;
}

#endif
