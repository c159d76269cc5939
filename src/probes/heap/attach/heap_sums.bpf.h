/*
 * Sums of blocks by stack, thread and process. They only grow, so user space may read them at any
 * time; live bytes are a difference.
 *
 * Live bytes at the peak work as in account.h: each peak has a number, and a site updates what it
 * held at the peak when it changes for the first time after a new one. That is exact if threads
 * take turns; threads that allocate within the same microsecond may be off by these blocks.
 */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_SUMS_BPF_H
#define MEMWHY_PROBES_HEAP_ATTACH_SUMS_BPF_H

#include "probes/heap/attach/heap_maps.bpf.h"

/* Sites of which there are too many are one without a stack, which user space has made. */
static __always_inline struct heap_site_now *site_get(
	struct heap_site_key *k, struct probe_counts *c)
{
	struct heap_site_now *s = bpf_map_lookup_elem(&heap_sites, k);

	if (s)
		return s;
	bpf_map_update_elem(&heap_sites, k, &site_new, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&heap_sites, k);
	if (!s) {
		c->lost_stack++;
		k->stack = HEAP_STACK_NONE;
		return bpf_map_lookup_elem(&heap_sites, k);
	}
	return s;
}

static __always_inline void site_settle(const struct heap_process_now *p, struct heap_site_now *s)
{
	if (s->peak == p->peak)
		return;
	s->peak = p->peak;
	s->peak_blocks = s->allocations - s->frees - s->gone;
	s->peak_bytes = s->bytes - s->freed_bytes - s->gone_bytes;
	s->peak_variance = s->variance - s->freed_variance;
}

static __always_inline void peak_note(struct heap_process_now *p, u64 now)
{
	u64 bytes = p->live_bytes;

	if ((s64)bytes <= (s64)p->peak_bytes)
		return;
	p->peak_bytes = bytes;
	p->peak_blocks = p->live_blocks;
	p->peak_ns = now;
	p->peak++;
}

static __always_inline struct heap_thread_gone *gone_get(const u64 *thread)
{
	struct heap_thread_gone *g = bpf_map_lookup_elem(&heap_gone, thread);

	if (g)
		return g;
	bpf_map_update_elem(&heap_gone, thread, &gone_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&heap_gone, thread);
}

/* A block was freed: what remains of it in the sums of its process and of its allocating site. t:
 * of whom, or NULL. */
static __always_inline void block_gone(struct heap_process_now *p, struct heap_thread_now *t,
	const struct heap_block *b, u64 bytes)
{
	struct heap_thread_gone *g;

	add(p->live_blocks, -(u64)b->weight);
	add(p->live_bytes, -bytes);
	if (t && t->id == b->thread) {
		t->sums.own_blocks += b->weight;
		t->sums.own_bytes += bytes;
		return;
	}
	g = gone_get(&b->thread);
	if (!g) {
		add(p->unlisted, 1);
		return;
	}
	add(g->blocks, b->weight);
	add(g->bytes, bytes);
}

/* A block that is seen with probability p adds (1 - p) / p^2 times its size squared; its weight is
 * 1 / p. */
static __always_inline u64 block_variance(const struct heap_block *b)
{
	u64 all = b->weight * b->size, others = all - b->size;

	return (all >> config.error_shift) * (others >> config.error_shift);
}

static __always_inline void life_add(struct heap_site_now *s, u64 n, u64 ns)
{
	u64 ms = ns / 1000000;
	u32 slot = log2_slot(ms, HEAP_TIMES - 1);

	add(s->life_ms, n * ms);
	add(s->lives[slot < HEAP_TIMES ? slot : 0], (u32)n);
	if (ms > s->max_life_ms)
		s->max_life_ms = ms;
}

/* A free; weight 0: of a block that was not seen. t: by whom, or NULL. */
static __always_inline void freed(struct heap_process_now *p, struct heap_thread_now *t,
	struct heap_block *b, struct probe_counts *c)
{
	struct heap_site_key earlier = {p->number, HEAP_STACK_EARLIER};
	u64 bytes = b->weight * b->size, n = b->weight;
	struct heap_site_now *s;

	if (!n && config.sample_bytes)
		return;
	s = bpf_map_lookup_elem(&heap_sites, n ? &b->site : &earlier);
	if (!s)
		return;
	c->seen++;
	add(s->events, 1);
	if (!n) {
		add(s->frees, 1);
		return;
	}
	site_settle(p, s);
	add(s->frees, n);
	add(s->freed_bytes, bytes);
	if (config.sample_bytes)
		add(s->freed_variance, block_variance(b));
	life_add(s, n, bpf_ktime_get_ns() - b->time_ns);
	block_gone(p, t, b, bytes);
	if (!t)
		return;
	t->sums.frees += n;
	t->sums.freed_bytes += bytes;
	if (b->thread == t->id && b->event == t->events) {
		t->sums.temporary += n;
		add(s->temporary, n);
	}
}

/* A block that is live was given out again: its free was not seen. */
static __always_inline void overwritten(
	struct heap_process_now *p, struct heap_thread_now *t, const struct heap_block *b)
{
	struct heap_site_now *s = bpf_map_lookup_elem(&heap_sites, &b->site);
	u64 bytes = b->weight * b->size;

	if (!s)
		return;
	site_settle(p, s);
	add(s->gone, b->weight);
	add(s->gone_bytes, bytes);
	if (config.sample_bytes)
		add(s->freed_variance, block_variance(b));
	block_gone(p, t, b, bytes);
}

/* Puts the block among the live ones. */
static __always_inline long live_put(
	struct heap_process_now *p, struct heap_thread_now *t, u64 key, const struct heap_block *b)
{
	struct heap_block old, *was;

	if (!bpf_map_update_elem(&heap_live, &key, b, BPF_NOEXIST))
		return 0;
	was = bpf_map_lookup_elem(&heap_live, &key);
	if (was) {
		old = *was;
		if (!bpf_map_delete_elem(&heap_live, &key))
			overwritten(p, t, &old);
	}
	return bpf_map_update_elem(&heap_live, &key, b, BPF_NOEXIST);
}

static __always_inline void block_count(struct heap_process_now *p, struct heap_thread_now *t,
	struct heap_site_now *s, const struct heap_block *b)
{
	u64 n = b->weight, bytes = n * b->size, slot = log2_slot(b->size, HEAP_SIZES - 1);
	u32 small = b->size > 0xffffffff ? 0xffffffff : (u32)b->size;

	site_settle(p, s);
	add(s->events, 1);
	add(s->allocations, n);
	add(s->bytes, bytes);
	if (config.sample_bytes)
		add(s->variance, block_variance(b));
	if (small < s->min_bytes)
		s->min_bytes = small;
	if (small > s->max_bytes)
		s->max_bytes = small;
	t->sums.allocations += n;
	t->sums.bytes += bytes;
	add(p->live_blocks, n);
	add(p->live_bytes, bytes);
	add(p->sizes[slot < HEAP_SIZES ? slot : 0], n);
	peak_note(p, b->time_ns);
}

static __always_inline bool resizes(u32 calls)
{
	return calls == CALLS_RESIZE || calls == CALLS_RESIZE_ARRAY;
}

/* The thread's call gave it a block. */
static __always_inline void allocated(struct pt_regs *ctx, struct heap_process_now *p,
	struct heap_thread_now *t, u64 address, struct probe_counts *c)
{
	bool moves = resizes(t->calls) && t->where;
	struct heap_block b = {
		.site = {t->sums.process, 0},
		.size = t->size,
		.weight = t->weight,
		.thread = t->id,
	};
	struct heap_site_now *s;

	if (moves)
		freed(p, t, &t->moved, c);
	if (!t->weight)
		return;
	b.site.stack = stack_take(ctx, BPF_F_USER_STACK);
	s = site_get(&b.site, c);
	c->seen++;
	b.event = ++t->events;
	b.time_ns = bpf_ktime_get_ns();
	if (!s || live_put(p, t, HEAP_BLOCK_KEY(t->sums.process, address), &b)) {
		c->lost_map++;
		return;
	}
	block_count(p, t, s, &b);
	if (moves)
		add(s->moved, b.weight);
}

#endif
