/*
 * Page allocations and frees (include/trace/events/kmem.h, mm/page_alloc.c), counted in the task
 * that is current. These fire millions of times a second: an event is one or two look-ups.
 *
 * A page is known by the address of its struct page, in steps of 64 bytes, the size of that struct.
 */
#include "probes/pages/pages_count.bpf.h"
#include "probes/pages/pages_fail.bpf.h"
#include "probes/pages/pages_wait.bpf.h"

#define PAGE(ctx_) ((ctx_)->args[0] >> 6)

/* mm_page_alloc: TP_PROTO(struct page *page, unsigned int order, gfp_t gfp_flags,
 * int migratetype), from 5.10 to 7.3. page is NULL where there was none. */
SEC("raw_tp/mm_page_alloc")
int raw_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu;

	if (page_is_left_out(ctx->args[2]))
		return 0;
	cpu = this_cpu();
	if (!cpu)
		return 0;
	page_allocated(ctx, cpu, PAGE(ctx), ctx->args[1], ctx->args[2], ctx->args[3], false);
	return first_ends(cpu, PAGES_TP_ALLOC, PAGE(ctx));
}

SEC("raw_tp/mm_page_alloc")
int more_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu;

	if (page_is_left_out(ctx->args[2]))
		return 0;
	cpu = this_cpu();
	if (!cpu || !second_begins(cpu, PAGES_TP_ALLOC, PAGE(ctx)))
		return 0;
	return page_allocated(ctx, cpu, PAGE(ctx), ctx->args[1], ctx->args[2], ctx->args[3], true);
}

/* TP_PROTO(struct page *page, unsigned int order) */
SEC("raw_tp/mm_page_free")
int raw_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	page_freed(ctx, cpu, PAGE(ctx), ctx->args[1], false);
	return first_ends(cpu, PAGES_TP_FREE, PAGE(ctx));
}

SEC("raw_tp/mm_page_free")
int more_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu || !second_begins(cpu, PAGES_TP_FREE, PAGE(ctx)))
		return 0;
	return page_freed(ctx, cpu, PAGE(ctx), ctx->args[1], true);
}

/* TP_PROTO(struct page *page) */
SEC("raw_tp/mm_page_free_batched")
int raw_batched(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	page_batched(cpu, false);
	return first_ends(cpu, PAGES_TP_BATCHED, PAGE(ctx));
}

SEC("raw_tp/mm_page_free_batched")
int more_batched(struct bpf_raw_tracepoint_args *ctx)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu || !second_begins(cpu, PAGES_TP_BATCHED, PAGE(ctx)))
		return 0;
	return page_batched(cpu, true);
}

/* TP_PROTO(struct page *page, unsigned int order, int migratetype, int percpu_refill), the last
 * since 5.19 (attaching fails where it is not there). */
SEC("raw_tp/mm_page_alloc_zone_locked")
int raw_locked(struct bpf_raw_tracepoint_args *ctx)
{
	return page_locked(PAGE(ctx), ctx->args[1], (u32)ctx->args[3]);
}

/* Before, per-CPU lists had single pages only, and the tracepoint's text said of them that they
 * were refills. */
SEC("raw_tp/mm_page_alloc_zone_locked")
int raw_locked_3(struct bpf_raw_tracepoint_args *ctx)
{
	return page_locked(PAGE(ctx), ctx->args[1], (u32)ctx->args[1] == 0);
}

/* TP_PROTO(struct page *page, unsigned int order, int migratetype) */
SEC("raw_tp/mm_page_pcpu_drain")
int raw_drained(struct bpf_raw_tracepoint_args *ctx)
{
	return page_drained(PAGE(ctx), ctx->args[1]);
}

SEC("raw_tp/mm_page_alloc")
int raw_failed(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[0])
		return 0;
	return page_failed(ctx, ctx->args[1], ctx->args[2], ctx->args[3]);
}

/* TP_PROTO(void *lock, unsigned int flags); flags are 0 for a spinlock (and for a semaphore). */
SEC("raw_tp/contention_begin")
int raw_wait(struct bpf_raw_tracepoint_args *ctx)
{
	return (u32)ctx->args[1] ? 0 : lock_wait(ctx->args[0]);
}

/* TP_PROTO(void *lock, int ret) */
SEC("raw_tp/contention_end")
int raw_waited(struct bpf_raw_tracepoint_args *ctx)
{
	return lock_waited(ctx->args[0]);
}
