/*
 * Slab allocations and frees, from the kmem tracepoints: counted by call site and cache, and with
 * live tracking followed from allocation to free. The tracepoints exist twice, as raw and as
 * classic ones; what they do is in slab_count.bpf.h.
 */
#include "probes/slab/slab_count.bpf.h"

/*
 * TP_PROTO in include/trace/events/kmem.h, held against the BTF (btf_trace_*) of 5.10, 6.1, 6.12,
 * 6.18 and 7.3:
 *
 *	kmalloc, kmem_cache_alloc: (unsigned long call_site, const void *ptr, size_t bytes_req,
 *		size_t bytes_alloc, gfp_t); those of a node have `int node` behind. In 6.0 all
 *		have struct kmem_cache * behind ptr.
 *	since 6.1 (11e9734bcb6a) kmalloc: (call_site, ptr, bytes_req, bytes_alloc, gfp, int node),
 *		kmem_cache_alloc: (call_site, ptr, struct kmem_cache *, gfp, int node)
 *	kfree: (call_site, ptr)
 *	kmem_cache_free: (call_site, ptr), since 6.1 (…, const struct kmem_cache *)
 */
struct trace_event_raw_kmem_alloc___6_0 {
	bool accounted; /* came with struct kmem_cache * (b347aa7b5747) */
} __attribute__((preserve_access_index));

static __always_inline bool args_have_cache(void)
{
	return bpf_core_field_exists(struct trace_event_raw_kmem_alloc___6_0, accounted);
}

/* Before 6.1. The branches are two loads from fixed places: not a load from a variable one. */
static __always_inline int raw_alloc(struct bpf_raw_tracepoint_args *ctx, u8 event, bool with_node)
{
	struct alloc a = {.site = ctx->args[0], .ptr = ctx->args[1], .node = SLAB_NODE_ANY};

	if (args_have_cache()) {
		a.requested = ctx->args[3];
		a.bytes = (u32)ctx->args[4];
		a.gfp = (u32)ctx->args[5];
		if (with_node)
			a.node = (s16)ctx->args[6];
	} else {
		a.requested = ctx->args[2];
		a.bytes = (u32)ctx->args[3];
		a.gfp = (u32)ctx->args[4];
		if (with_node)
			a.node = (s16)ctx->args[5];
	}
	if (event == SLAB_CACHE_ALLOC || event == SLAB_CACHE_ALLOC_NODE) {
		a.cache = args_have_cache() ? ctx->args[2] : cache_of(a.ptr, &a.flags);
		if (a.cache) /* else they are all that is known */
			a.requested = a.bytes = 0;
	}
	return allocated(ctx, RAW_FRAMES, event, &a);
}

SEC("raw_tp/kmalloc")
int raw_kmalloc(struct bpf_raw_tracepoint_args *ctx)
{
	struct alloc a;

	if (!events_are_merged())
		return raw_alloc(ctx, SLAB_KMALLOC, false);
	a = (struct alloc){
		.site = ctx->args[0],
		.ptr = ctx->args[1],
		.requested = ctx->args[2],
		.bytes = (u32)ctx->args[3],
		.gfp = (u32)ctx->args[4],
		.node = (s16)ctx->args[5],
	};
	return allocated(ctx, RAW_FRAMES, SLAB_KMALLOC, &a);
}

SEC("raw_tp/kmem_cache_alloc")
int raw_cache_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	struct alloc a;

	if (!events_are_merged())
		return raw_alloc(ctx, SLAB_CACHE_ALLOC, false);
	a = (struct alloc){
		.site = ctx->args[0],
		.ptr = ctx->args[1],
		.cache = ctx->args[2],
		.gfp = (u32)ctx->args[3],
		.node = (s16)ctx->args[4],
	};
	return allocated(ctx, RAW_FRAMES, SLAB_CACHE_ALLOC, &a);
}

SEC("raw_tp/kmalloc_node")
int raw_kmalloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_alloc(ctx, SLAB_KMALLOC_NODE, true);
}

SEC("raw_tp/kmem_cache_alloc_node")
int raw_cache_alloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_alloc(ctx, SLAB_CACHE_ALLOC_NODE, true);
}

SEC("raw_tp/kfree")
int raw_kfree(struct bpf_raw_tracepoint_args *ctx)
{
	return freed(ctx, RAW_FRAMES, SLAB_KFREE, ctx->args[0], ctx->args[1], 0);
}

SEC("raw_tp/kmem_cache_free")
int raw_cache_free(struct bpf_raw_tracepoint_args *ctx)
{
	u64 cache = 0;

	if (events_are_merged())
		cache = ctx->args[2];
	return freed(ctx, RAW_FRAMES, SLAB_CACHE_FREE, ctx->args[0], ctx->args[1], cache);
}

/*
 * The classic tracepoints, for kernels on which raw ones run preemptible and miss what other tasks
 * do meanwhile (all such have the merged ones).
 */
SEC("tp/kmem/kmalloc")
int tp_kmalloc(struct trace_event_raw_kmalloc *e)
{
	struct alloc a = {
		.site = e->call_site,
		.ptr = (u64)e->ptr,
		.requested = e->bytes_req,
		.bytes = (u32)e->bytes_alloc,
		.gfp = (u32)e->gfp_flags,
		.node = (s16)e->node,
	};

	return PASS(allocated(e, 0, SLAB_KMALLOC, &a));
}

SEC("tp/kmem/kmem_cache_alloc")
int tp_cache_alloc(struct trace_event_raw_kmem_cache_alloc *e)
{
	struct alloc a = {
		.site = e->call_site,
		.ptr = (u64)e->ptr,
		.gfp = (u32)e->gfp_flags,
		.node = (s16)e->node,
	};

	a.cache = cache_of(a.ptr, &a.flags);
	if (!a.cache) {
		a.requested = e->bytes_req;
		a.bytes = (u32)e->bytes_alloc;
	}
	return PASS(allocated(e, 0, SLAB_CACHE_ALLOC, &a));
}

SEC("tp/kmem/kfree")
int tp_kfree(struct trace_event_raw_kfree *e)
{
	return PASS(freed(e, 0, SLAB_KFREE, e->call_site, (u64)e->ptr, 0));
}

SEC("tp/kmem/kmem_cache_free")
int tp_cache_free(struct trace_event_raw_kmem_cache_free *e)
{
	return PASS(freed(e, 0, SLAB_CACHE_FREE, e->call_site, (u64)e->ptr, 0));
}

/*
 * Frees that fire no tracepoint: many at once, as kfree_rcu does (kmem_cache_free_bulk with a NULL
 * cache), and since 6.18 its other way, by sheaves. They end the life of objects, and are not
 * counted as events.
 */
#define BULK_MAX 512 /* kfree_rcu frees as many as a page has room for pointers to */

SEC("kprobe/kmem_cache_free_bulk")
int kp_free_bulk(struct pt_regs *regs)
{
	u64 n = PT_REGS_PARM2(regs), *objects_at = (void *)PT_REGS_PARM3(regs);

	for (u32 i = 0; i < BULK_MAX && i < n; i++) {
		u64 ptr = 0;

		bpf_probe_read_kernel(&ptr, sizeof(ptr), objects_at + i);
		object_gone(ptr);
	}
	return 1;
}

/* (struct kmem_cache *, void *obj) */
SEC("kprobe/__kfree_rcu_sheaf")
int kp_free_sheaf(struct pt_regs *regs)
{
	object_gone(PT_REGS_PARM2(regs));
	return 1;
}
