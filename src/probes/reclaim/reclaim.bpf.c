/*
 * Page reclaim, from the vmscan tracepoints: here the stalls of tasks that reclaim themselves;
 * what happens within them, and kswapd, in the headers.
 *
 * Arguments of raw tracepoints come in the order of TP_PROTO in include/trace/events/vmscan.h.
 * They were held against the BTF (btf_trace_*) of 5.10, 6.1, 6.12, 6.18 and 7.3; what differs is
 * said where it is used.
 */
#include "probes/reclaim/kswapd.bpf.h"
#include "probes/reclaim/lru.bpf.h"
#include "probes/reclaim/wait.bpf.h"
#include "probes/reclaim/work.bpf.h"

AGG_TABLE(stalls, struct stall_key);

/* The kernel's stack without its first two frames: this program, and the bpf_trace_run*() that
 * called it, which has more than one place to call from and so would tell equal stacks apart. */
static __always_inline u32 stack_kernel(void *ctx)
{
	long id;

	if (!scope.kernel_stacks)
		return 0;
	id = bpf_get_stackid(ctx, &stacks, 2);
	if (id >= 0)
		return (u32)id + 1;
	count_add(lost_stack);
	return 0;
}

static __always_inline int stall_begin(void *ctx, u8 kind, s16 node, u32 order, u32 gfp)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u64 id = (kind == RECLAIM_SOFTLIMIT ? NESTED : 0) | (u32)pid_tgid;
	struct probe_counts *c;
	struct work *w;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	w = work_add(id, pid_tgid, kind);
	if (!w) {
		c->seen++;
		c->lost_map++;
		return 0;
	}
	w->key.gfp = gfp;
	w->key.order = order;
	w->key.node = node;
	if (stack_due(c)) {
		w->key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		w->key.kstack = stack_kernel(ctx);
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
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, 0);
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

/*
 * (int order, gfp_t) to 6.18; (gfp_t, int order, struct mem_cgroup *) in 7.3. No need to know
 * which: an order is small, and a mask that allows reclaim has ___GFP_DIRECT_RECLAIM (0x400) set.
 */
#define ORDERS 64

static __always_inline int order_gfp_begin(struct bpf_raw_tracepoint_args *ctx, u8 kind)
{
	u64 a = ctx->args[0], b = ctx->args[1];

	if (a < ORDERS)
		return stall_begin(ctx, kind, RECLAIM_NODE_UNKNOWN, a, b);
	return stall_begin(ctx, kind, RECLAIM_NODE_UNKNOWN, b, a);
}

/* allocstall_* is counted behind this one, once more when do_try_to_free_pages retries. */
SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int direct_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return order_gfp_begin(ctx, RECLAIM_DIRECT);
}

/* (unsigned long nr_reclaimed), and the mem_cgroup in 7.3, for all of the ends. */
SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int direct_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int memcg_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return order_gfp_begin(ctx, RECLAIM_MEMCG);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int memcg_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_softlimit_reclaim_begin")
int softlimit_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return order_gfp_begin(ctx, RECLAIM_SOFTLIMIT);
}

SEC("raw_tp/mm_vmscan_memcg_softlimit_reclaim_end")
int softlimit_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(NESTED, ctx->args[0]);
}

/* (int nid, int order, gfp_t) */
SEC("raw_tp/mm_vmscan_node_reclaim_begin")
int node_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_begin(ctx, RECLAIM_NODE, ctx->args[0], ctx->args[1], ctx->args[2]);
}

SEC("raw_tp/mm_vmscan_node_reclaim_end")
int node_end(struct bpf_raw_tracepoint_args *ctx)
{
	return stall_end(0, ctx->args[0]);
}
