/* Counting page allocations and frees: the tables, and what an event adds to them. */
#ifndef MEMWHY_PROBES_PAGES_COUNT_BPF_H
#define MEMWHY_PROBES_PAGES_COUNT_BPF_H

/* Each program has counters of its own: they interrupt each other all the time. */
enum {
	COUNTS_ALLOC,
	COUNTS_FREE,
	COUNTS_BATCHED,
	COUNTS_MORE, /* and two for the others that step in */
	COUNTS_LOCKED = 2 * COUNTS_MORE,
	COUNTS_DRAINED,
	COUNTS_N_
};
#define COUNTS_N COUNTS_N_

#include "bpf/common.bpf.h"
#include "probes/pages/pages.h"

const volatile struct pages_config config = {};

SUM_TABLE(sums, struct pages_key);
SUM_TABLE(names, struct pages_key);
AGG_TABLE(lifetimes, struct pages_key);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);            /* possible CPUs */
	__uint(map_flags, BPF_F_MMAPABLE); /* only for its alignment */
	__type(key, u32);
	__type(value, struct pages_cpu);
} cpus SEC(".maps");

/* Not per CPU: only the CPU that refills adds to a pair, with interrupts off. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct pages_pair);
	__type(value, struct sum_value);
} pairs SEC(".maps");

/* Where pages were last drained, by the low bits of their number: number << 16 | CPU. Two pages
 * that share an element are distinguished; the later one is remembered. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} drained SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct pages_held_value);
} held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pages_held_counts);
} held_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct burst_now);
} burst SEC(".maps");

#define held_add(member_)                                                                 \
	({                                                                                \
		u32 zero_ = 0;                                                            \
		struct pages_held_counts *h_ = bpf_map_lookup_elem(&held_counts, &zero_); \
		if (h_)                                                                   \
			h_->member_++;                                                    \
	})

/* The number of the present burst; 0: there is none. */
static __always_inline u64 burst_number(void)
{
	u32 zero = 0;
	struct burst_now *b = config.bursts ? bpf_map_lookup_elem(&burst, &zero) : 0;

	return b ? b->number : 0;
}

static __always_inline bool burst_is_on(void)
{
	u32 zero = 0;
	struct burst_now *b = bpf_map_lookup_elem(&burst, &zero);

	return b && b->number && bpf_ktime_get_ns() < b->until_ns;
}

/* NULL: nothing is to be counted. */
static __always_inline struct pages_cpu *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (config.bursts && !burst_is_on())
		return 0;
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* The value of a key; where there is no room for one more task, that of its name. NULL: lost. */
static __always_inline struct sum_value *sums_get(struct probe_counts *c, const struct pages_key *k)
{
	struct sum_value *v = sum_get(&sums, k);
	struct pages_key named = {
		.gfp = k->gfp,
		.order = k->order,
		.migratetype = k->migratetype,
		.what = k->what,
		.more = k->more,
	};

	if (v)
		return v;
	bpf_get_current_comm(named.comm, sizeof(named.comm));
	v = sum_get(&names, &named);
	if (!v)
		c->lost_map++;
	return v;
}

static __always_inline void key_task(struct pages_key *k, u64 pid_tgid)
{
	if (config.any_task)
		return;
	k->task.tgid = pid_tgid >> 32;
	k->task.tid = !config.bursts && scope.by_thread ? (u32)pid_tgid : 0;
}

static __always_inline void key_stacks(struct pages_key *k, void *ctx, struct probe_counts *c)
{
	if (config.bursts || !stack_due(c))
		return;
	k->task.ustack = stack_take(ctx, BPF_F_USER_STACK);
	k->task.kstack = stack_kernel(ctx, RAW_FRAMES);
}

/* A free that was not seen: the page was allocated again. */
static __always_inline void held_replace(
	struct pages_held_value *stale, const struct pages_held_value *h)
{
	struct pages_key key = stale->key;
	struct agg_value *v = agg_get(&lifetimes, &key, 0);

	*stale = *h;
	if (v)
		v->count++; /* its lifetime is not known */
	else
		held_add(lifetimes_full);
}

static __always_inline void held_begin(u64 page, const struct pages_key *k, struct sum_value *sums)
{
	struct pages_held_value h = {.time_ns = bpf_ktime_get_ns(), .key = *k};
	struct pages_held_value *stale;

	if (!bpf_map_update_elem(&held, &page, &h, BPF_NOEXIST))
		return;
	stale = bpf_map_lookup_elem(&held, &page);
	if (stale) {
		held_replace(stale, &h);
		return;
	}
	held_add(untracked);
	if (sums)
		sums->sum[PAGES_UNTRACKED]++;
}

static __always_inline void held_end(u64 page, u32 order, bool mine)
{
	struct pages_held_value *h = bpf_map_lookup_elem(&held, &page);
	struct pages_key key;
	struct agg_value *v;
	u64 ns;

	if (!h) {
		if (mine)
			held_add(unknown);
		return;
	}
	key = h->key;
	ns = bpf_ktime_get_ns() - h->time_ns;
	bpf_map_delete_elem(&held, &page);
	if (order < key.order)
		held_add(parts);
	v = agg_get(&lifetimes, &key, 0);
	if (!v) {
		held_add(lifetimes_full);
		return;
	}
	agg_lifetime(v, ns);
}

/* Did this thread take the zone's lock for this page? */
static __always_inline void alloc_locked(
	struct sum_value *v, struct pages_cpu *cpu, u64 page, u32 tid)
{
	if (cpu->tid == tid && cpu->direct_page == page)
		v->sum[PAGES_DIRECT]++;
	if (cpu->tid == tid && cpu->refill_page == page) {
		v->sum[PAGES_REFILLED]++;
		v->sum[PAGES_REFILL_PAGES] += cpu->refill_pages;
	}
	cpu->direct_page = cpu->refill_page = 0;
}

/*
 * While a program runs, the kernel skips it for events of interrupts on that CPU (and, where raw
 * tracepoints are preemptible, of other tasks): one event in ten thousand in a storm. So each
 * tracepoint for which that can happen has a second program, attached behind the first, that counts
 * what the first missed. The first leaves the page on a small stack when it has counted it, and the
 * second takes it from there; if it is not there, the first did not run. Entries whose second
 * program was skipped stay; they do no harm, and the oldest makes room.
 *
 * Second programs use keys and counters of their own, so that no increment is lost.
 */
static __always_inline int first_ends(struct pages_cpu *cpu, u32 tracepoint, u64 page)
{
	struct pages_turns *t = &cpu->turns[tracepoint];
	u64 n = t->n;

	if (n >= PAGES_TURNS) {
		for (int i = 1; i < PAGES_TURNS; i++)
			t->page[i - 1] = t->page[i];
		n = PAGES_TURNS - 1;
	}
	t->page[n] = page;
	t->n = n + 1;
	return 0;
}

/* Is the event still to be counted? */
static __always_inline bool second_begins(struct pages_cpu *cpu, u32 tracepoint, u64 page)
{
	struct pages_turns *t = &cpu->turns[tracepoint];
	struct probe_counts *c;

	for (int i = PAGES_TURNS - 1; i >= 0; i--) {
		if ((u64)i >= t->n || t->page[i] != page)
			continue;
		for (int k = i; k < PAGES_TURNS - 1; k++)
			t->page[k] = t->page[k + 1];
		t->n--;
		return false;
	}
	c = counts_of(COUNTS_MORE + tracepoint);
	if (c)
		c->rescued++;
	return true;
}

/* include/linux/gfp_types.h: the bit until 6.9, an enum since 6.10. With it are the pages of
 * processes and of the page cache. */
#define GFP_MOVABLE_BEFORE 0x8

enum gfp_bits {
	___GFP_MOVABLE_BIT = 3,
};

static __always_inline u32 gfp_movable_mask(void)
{
	if (bpf_core_enum_value_exists(enum gfp_bits, ___GFP_MOVABLE_BIT))
		return 1U << bpf_core_enum_value(enum gfp_bits, ___GFP_MOVABLE_BIT);
	return GFP_MOVABLE_BEFORE;
}

static __always_inline bool page_is_left_out(u32 gfp)
{
	return config.kernel && gfp & gfp_movable_mask();
}

static __always_inline int page_allocated(
	void *ctx, struct pages_cpu *cpu, u64 page, u32 order, u32 gfp, u32 migratetype, bool more)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct pages_key key = {
		.order = order,
		.migratetype = migratetype,
		.gfp = config.gfp ? gfp : 0,
		.what = page ? PAGES_ALLOC : PAGES_FAILED,
		.more = more,
	};
	struct probe_counts *c;
	struct sum_value *v;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts_of(more ? COUNTS_MORE + PAGES_TP_ALLOC : COUNTS_ALLOC);
	if (!c)
		return 0;
	c->seen++;
	if (more)
		cpu->n.more_allocations++;
	else
		cpu->n.allocations++;
	cpu->run = PAGES_RUN_NONE;
	key_task(&key, pid_tgid);
	key_stacks(&key, ctx, c);
	v = sums_get(c, &key);
	if (v) {
		v->count++;
		if (cpu->direct_page | cpu->refill_page)
			alloc_locked(v, cpu, page, (u32)pid_tgid);
	}
	if (config.held && page)
		held_begin(page, &key, v);
	return 0;
}

static __always_inline int page_freed(
	void *ctx, struct pages_cpu *cpu, u64 page, u32 order, bool more)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct pages_key key = {.order = order, .what = PAGES_FREE, .more = more};
	bool mine = scope_match(pid_tgid);
	struct probe_counts *c;
	struct sum_value *v;

	/* a page can be freed by anybody: page tables by whomever RCU's softirq interrupts */
	if (config.held)
		held_end(page, order, mine);
	if (!mine || config.kernel)
		return 0;
	c = counts_of(more ? COUNTS_MORE + PAGES_TP_FREE : COUNTS_FREE);
	if (!c)
		return 0;
	c->seen++;
	if (more)
		cpu->n.more_frees++;
	else
		cpu->n.frees++;
	cpu->run = PAGES_RUN_NONE;
	key_task(&key, pid_tgid);
	key_stacks(&key, ctx, c);
	cpu->free_tid = (u32)pid_tgid;
	cpu->free_ustack = key.task.ustack;
	cpu->free_kstack = key.task.kstack;
	v = sums_get(c, &key);
	if (v)
		v->count++;
	return 0;
}

/* It comes after the mm_page_free of the same pages: its stack is theirs, not taken again. The
 * event has no order; from 6.9 on it need not be 0 (folios_put). */
static __always_inline int page_batched(struct pages_cpu *cpu, bool more)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct pages_key key = {.order = PAGES_ORDER_UNKNOWN, .what = PAGES_FREE, .more = more};
	struct probe_counts *c;
	struct sum_value *v;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts_of(more ? COUNTS_MORE + PAGES_TP_BATCHED : COUNTS_BATCHED);
	if (!c)
		return 0;
	c->seen++;
	cpu->run = PAGES_RUN_NONE;
	key_task(&key, pid_tgid);
	if (cpu->free_tid == (u32)pid_tgid) {
		key.task.ustack = cpu->free_ustack;
		key.task.kstack = cpu->free_kstack;
	}
	v = sums_get(c, &key);
	if (v)
		v->count++;
	return 0;
}

/* The zone's lock is held and interrupts are off from the first event of a run to its last. */
static __always_inline bool run_begins(struct pages_cpu *cpu, u32 run, u32 tid)
{
	bool begins = cpu->run != run || cpu->run_tid != tid;

	cpu->run = run;
	cpu->run_tid = tid;
	return begins;
}

/* The number of a page as it stands in `drained`; what another burst left there is another's. */
static __always_inline u64 drained_number(u64 page)
{
	return (page ^ burst_number() << 40) & (-1UL >> 16);
}

static __always_inline void drained_forget(u64 page, u32 order)
{
	u32 i = page & config.drained_mask;
	u64 *at = bpf_map_lookup_elem(&drained, &i);
	struct pages_pair pair = {};
	struct sum_value *v;

	if (!at || *at >> 16 != drained_number(page))
		return;
	pair.from = *at & 0xffff;
	pair.to = bpf_get_smp_processor_id();
	*at = 0;
	v = sum_get(&pairs, &pair);
	if (!v)
		return;
	v->count++;
	v->sum[0] += 1UL << (order & 31);
}

static __always_inline int page_locked(u64 page, u32 order, bool refill)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;
	struct probe_counts *c;
	struct pages_cpu *cpu;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts_of(COUNTS_LOCKED);
	cpu = this_cpu();
	if (!c || !cpu)
		return 0;
	c->seen++;
	cpu->n.count++;
	if (!refill) {
		cpu->n.direct++;
		cpu->run = PAGES_RUN_NONE;
		cpu->direct_page = page;
		cpu->tid = tid;
		return 0;
	}
	cpu->n.refill_pages += 1UL << (order & 31);
	if (run_begins(cpu, PAGES_RUN_REFILL, tid)) {
		cpu->n.refill_runs++;
		cpu->refill_page = page;
		cpu->refill_pages = 0;
		cpu->tid = tid;
	}
	cpu->refill_pages += 1UL << (order & 31);
	if (config.drained_mask)
		drained_forget(page, order);
	return 0;
}

static __always_inline int page_drained(u64 page, u32 order)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 i = page & config.drained_mask;
	struct probe_counts *c;
	struct pages_cpu *cpu;
	u64 *at;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts_of(COUNTS_DRAINED);
	cpu = this_cpu();
	if (!c || !cpu)
		return 0;
	c->seen++;
	cpu->n.count++;
	cpu->n.drain_pages += 1UL << (order & 31);
	if (run_begins(cpu, PAGES_RUN_DRAIN, (u32)pid_tgid))
		cpu->n.drain_runs++;
	at = config.drained_mask ? bpf_map_lookup_elem(&drained, &i) : 0;
	if (at)
		*at = drained_number(page) << 16 | (bpf_get_smp_processor_id() & 0xffff);
	return 0;
}

#endif
