/*
 * Fallbacks of the page allocator: a page was wanted of a migratetype whose free lists had none,
 * and a block of another type was taken (mm_page_alloc_extfrag, include/trace/events/kmem.h; the
 * same arguments and fields from 5.10 to 7.3). It fires with the zone's lock held and interrupts
 * off, in the task that asks for the page, or in an interrupt that came while that task ran.
 */
#include "bpf/common.bpf.h"
#include "probes/frag/frag.h"

AGG_TABLE(table, struct frag_key);

/* The tracepoint's record. It tells two things that its arguments do not: which page, and whether
 * the pageblock has changed hands, which the kernel looks up for the record only. */
struct trace_event_raw_mm_page_alloc_extfrag {
	unsigned long pfn;
	int alloc_order;
	int fallback_order;
	int alloc_migratetype;
	int fallback_migratetype;
	int change_ownership;
} __attribute__((preserve_access_index));

struct frag {
	u64 pid_tgid;
	u64 pfn;
	struct frag_key key;
};

static __always_inline void frag_each(const struct frag *f)
{
	struct frag_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_FRAG_EVENT, sizeof(*e));
	e->tgid = f->pid_tgid >> 32;
	e->tid = (u32)f->pid_tgid;
	e->ustack = f->key.ustack;
	e->kstack = f->key.kstack;
	e->pfn = f->pfn;
	e->cgroup = current_cgroup_id();
	e->order = f->key.order;
	e->fallback_order = f->key.fallback_order;
	e->migratetype = f->key.migratetype;
	e->fallback_migratetype = f->key.fallback_migratetype;
	e->flags = f->key.flags;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
}

static __always_inline int frag_count(void *ctx, struct frag *f)
{
	struct probe_counts *c;
	struct agg_value *v;

	f->pid_tgid = bpf_get_current_pid_tgid();
	if (!scope_match(f->pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	f->key.tgid = f->pid_tgid >> 32;
	f->key.tid = scope.by_thread ? (u32)f->pid_tgid : 0;
	if (stack_due(c)) {
		f->key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		f->key.kstack = stack_take(ctx, 0);
	}
	if (scope.each) {
		frag_each(f);
		return 0;
	}
	v = agg_get(&table, &f->key, 1);
	if (v)
		v->count++;
	return 0;
}

SEC("tracepoint/kmem/mm_page_alloc_extfrag")
int frag_tracepoint(struct trace_event_raw_mm_page_alloc_extfrag *ctx)
{
	struct frag f = {
		.pfn = ctx->pfn,
		.key =
			{
				.order = ctx->alloc_order,
				.fallback_order = ctx->fallback_order,
				.migratetype = ctx->alloc_migratetype,
				.fallback_migratetype = ctx->fallback_migratetype,
				.flags = FRAG_DETAIL,
			},
	};

	if (ctx->change_ownership)
		f.key.flags |= FRAG_CLAIMED;
	return PASS(frag_count(ctx, &f));
}

/* TP_PROTO(struct page *page, int alloc_order, int fallback_order, int alloc_migratetype,
 * int fallback_migratetype) */
SEC("raw_tp/mm_page_alloc_extfrag")
int frag_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct frag f = {
		.key =
			{
				.order = ctx->args[1],
				.fallback_order = ctx->args[2],
				.migratetype = ctx->args[3],
				.fallback_migratetype = ctx->args[4],
			},
	};

	return frag_count(ctx, &f);
}
