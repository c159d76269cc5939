/*
 * A run of compaction is one compact_zone() (mm/compaction.c): one zone, one task, from
 * mm_compaction_begin to mm_compaction_end. What the scanners and the migration say in between in
 * the same task belongs to it. Runs do not nest: a task that compacts does not compact for its own
 * allocations (PF_MEMALLOC).
 */
#ifndef MEMWHY_PROBES_COMPACTION_RUN_BPF_H
#define MEMWHY_PROBES_COMPACTION_RUN_BPF_H

#include "probes/compaction/compaction_zone.bpf.h"

AGG_TABLE(runs, struct compaction_key);
AGG_TABLE(zones, struct compaction_zone_key);

struct sched_entity___compaction {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct compact_control {
	struct zone *zone;
	unsigned long total_migrate_scanned, total_free_scanned;
	unsigned int nr_migratepages;
	int order;
} __attribute__((preserve_access_index));

struct capture_control {
	struct compact_control *cc; /* until 7.x */
} __attribute__((preserve_access_index));

struct task_struct___compaction {
	struct sched_entity___compaction se;
	unsigned long nvcsw, nivcsw;
	struct capture_control *capture_control;
} __attribute__((preserve_access_index));

/* CPU time of a task, to be held against a later one. */
struct cpu_mark {
	u64 ns;       /* up to the last tick or switch */
	u64 switches; /* ~0: not known */
	u64 wall;
};

static __always_inline void cpu_mark(struct cpu_mark *m)
{
	struct task_struct___compaction *task = (void *)bpf_get_current_task();

	m->wall = bpf_ktime_get_ns();
	m->switches = ~0ULL;
	if (!bpf_core_field_exists(task->se.sum_exec_runtime))
		return;
	m->ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	m->switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/* The whole time where the task was never switched out; else what the scheduler had accounted,
 * which lags by less than a tick. */
static __always_inline u64 cpu_between(const struct cpu_mark *m, const struct cpu_mark *now)
{
	u64 wall = now->wall - m->wall, ns = now->ns - m->ns;

	if (now->switches == ~0ULL)
		return 0;
	return now->switches == m->switches || ns > wall ? wall : ns;
}

struct open_run {
	struct compaction_key key;
	struct cpu_mark mark;
	struct zone_state state;
	struct compact_control *cc; /* NULL: not known, then pages scanned are summed up */
	u64 migrate_scanned, free_scanned;
	u64 isolated, migrated, failed;
	u8 looked; /* the zone was */
	u8 pages;  /* events reported pages */
};

static const struct open_run open_run_zero = {};

#define OPEN_RUNS 4096

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OPEN_RUNS);
	__type(key, u32); /* thread */
	__type(value, struct open_run);
} open_runs SEC(".maps");

static __always_inline struct open_run *run_current(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&open_runs, &tid);
}

/* Is the current task a kernel thread whose name begins with eight letters `name`? */
static __always_inline bool current_is_kthread(const char *name)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char comm[COMM_LEN] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (int i = 0; i < 8; i++)
		if (comm[i] != name[i])
			return false;
	return !bpf_core_field_exists(task->mm) || !BPF_CORE_READ(task, mm);
}

static __always_inline u8 kind_direct(void)
{
	return current_is_kthread("khugepag") ? COMPACTION_KHUGEPAGED : COMPACTION_DIRECT;
}

/* compact_memory and proactive compaction are for no order: is_via_compact_memory(). */
static __always_inline u8 kind_of(s8 order)
{
	if (current_is_kthread("kcompact"))
		return order == COMPACTION_ORDER_ALL ? COMPACTION_PROACTIVE : COMPACTION_KCOMPACTD;
	return order == COMPACTION_ORDER_ALL ? COMPACTION_REQUESTED : kind_direct();
}

static __always_inline struct open_run *run_add(u64 pid_tgid)
{
	u32 tid = (u32)pid_tgid;
	struct open_run *r;

	if (bpf_map_update_elem(&open_runs, &tid, &open_run_zero, BPF_ANY))
		return 0;
	r = bpf_map_lookup_elem(&open_runs, &tid);
	if (!r)
		return 0;
	r->key.tgid = pid_tgid >> 32;
	r->key.tid = scope.by_thread ? tid : 0;
	r->key.zone.node = COMPACTION_NODE_UNKNOWN;
	r->key.zone.zone = COMPACTION_ZONE_UNKNOWN;
	r->key.zone.order = COMPACTION_ORDER_UNKNOWN;
	return r;
}

/* Counts the moment in which a run found its zone: once a run. */
static __always_inline void run_looked(struct open_run *r)
{
	struct compaction_zone_key key = r->key.zone;
	struct agg_value *v;

	r->looked = 1;
	count_add(seen);
	v = agg_get(&zones, &key, 1);
	if (!v)
		return;
	v->count++;
	if (!(r->state.flags & COMPACTION_STATE))
		return;
	v->sum[ZONE_KNOWN]++;
	v->sum[ZONE_ABOVE_HIGH] += r->state.free > r->state.high;
	v->sum[ZONE_FREE] += r->state.free;
	v->sum[ZONE_HIGH] += r->state.high;
	if (r->state.flags & COMPACTION_INDEX) {
		v->sum[ZONE_INDEXED]++;
		v->sum[ZONE_INDEX] += (s64)r->state.index;
	}
}

/* The zone of a run, by its struct. */
static __always_inline void run_look(struct open_run *r, const struct zone *z, s8 order)
{
	r->key.zone.order = order;
	zone_name(z, &r->key.zone);
	if (r->key.zone.node >= 0)
		r->key.zone.zone_start = 0;
	zone_look(z, order, &r->state);
	run_looked(r);
}

/* The zone of a run, by its compact_control. */
static __always_inline void run_look_control(struct open_run *r, struct compact_control *cc)
{
	r->cc = cc;
	run_look(r, BPF_CORE_READ(cc, zone), BPF_CORE_READ(cc, order));
}

/* cc may be NULL: then mm_compaction_finished, which follows at once, gives the zone. */
static __always_inline int run_begin(
	void *ctx, u64 zone_start, bool sync, struct compact_control *cc, u64 skip)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct probe_counts *c;
	struct open_run *r;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	r = run_add(pid_tgid);
	if (!r) {
		c->seen++;
		c->lost_map++;
		return 0;
	}
	r->key.zone.zone_start = zone_start;
	r->key.sync = sync;
	if (stack_due(c)) {
		r->key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		r->key.kstack = stack_kernel(ctx, skip);
	}
	if (cc && bpf_core_field_exists(cc->zone))
		run_look_control(r, cc);
	cpu_mark(&r->mark);
	return 0;
}

static __always_inline u8 run_flags(const struct open_run *r)
{
	return r->state.flags | (r->cc || r->pages ? COMPACTION_SCANNED : 0) |
	       (r->pages ? COMPACTION_PAGES : 0);
}

static __always_inline void run_each(const struct open_run *r, u64 ns, u64 cpu_ns)
{
	struct compaction_run *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_COMPACTION_RUN, sizeof(*e));
	e->tgid = r->key.tgid;
	e->tid = (u32)bpf_get_current_pid_tgid();
	e->ustack = r->key.ustack;
	e->kstack = r->key.kstack;
	e->ns = ns;
	e->cpu_ns = cpu_ns;
	e->migrate_scanned = r->migrate_scanned;
	e->free_scanned = r->free_scanned;
	e->isolated = r->isolated;
	e->migrated = r->migrated;
	e->failed = r->failed;
	e->free_pages = r->state.free;
	e->min_pages = r->state.min;
	e->low_pages = r->state.low;
	e->high_pages = r->state.high;
	e->cgroup = current_cgroup_id();
	e->zone_start = r->key.zone.zone_start;
	e->index = r->state.index;
	e->node = r->key.zone.node;
	e->zone = r->key.zone.zone;
	e->order = r->key.zone.order;
	e->kind = r->key.kind;
	e->sync = r->key.sync;
	e->status = r->key.status;
	e->flags = run_flags(r);
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
}

static __always_inline void run_count(const struct open_run *r, u64 ns, u64 cpu_ns)
{
	struct compaction_key key = r->key;
	struct agg_value *v = agg_get(&runs, &key, 1);

	if (!v)
		return;
	v->count++;
	v->sum[RUN_CPU_NS] += cpu_ns;
	v->sum[RUN_MIGRATE_SCANNED] += r->migrate_scanned;
	v->sum[RUN_FREE_SCANNED] += r->free_scanned;
	v->sum[RUN_ISOLATED] += r->isolated;
	v->sum[RUN_MIGRATED] += r->migrated;
	v->sum[RUN_FAILED] += r->failed;
	agg_time(v, ns);
}

/* The kernel adds these very totals to compact_migrate_scanned and compact_free_scanned, just
 * before the tracepoint. */
static __always_inline void run_totals(struct open_run *r)
{
	const struct compact_control *cc = r->cc;

	if (!cc || !bpf_core_field_exists(cc->total_migrate_scanned))
		return;
	r->migrate_scanned = BPF_CORE_READ(cc, total_migrate_scanned);
	r->free_scanned = BPF_CORE_READ(cc, total_free_scanned);
}

static __always_inline int run_end(u8 status)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), ns, cpu_ns;
	u32 tid = (u32)pid_tgid;
	struct cpu_mark now = {};
	struct open_run *r = bpf_map_lookup_elem(&open_runs, &tid);

	if (!r) {
		if (scope_match(pid_tgid))
			count_add(unpaired);
		return 0;
	}
	cpu_mark(&now);
	ns = now.wall - r->mark.wall;
	cpu_ns = cpu_between(&r->mark, &now);
	if (!r->looked)
		run_looked(r);
	run_totals(r);
	r->key.status = status;
	r->key.kind = kind_of(r->key.zone.order);
	if (ns >= config.min_ns) {
		count_add(seen);
		if (scope.each)
			run_each(r, ns, cpu_ns);
		else
			run_count(r, ns, cpu_ns);
	}
	bpf_map_delete_elem(&open_runs, &tid);
	return 0;
}

/* One block was scanned, for pages to move or for pages to move them to. */
static __always_inline int run_isolated(bool free, u64 scanned, u64 taken)
{
	struct open_run *r = run_current();

	if (!r)
		return 0; /* an allocation of a contiguous range (CMA, huge pages) */
	r->pages = 1;
	r->isolated += taken;
	if (free)
		r->free_scanned += scanned;
	else
		r->migrate_scanned += scanned;
	return 0;
}

static __always_inline int run_migrated(u64 migrated, u64 failed)
{
	struct open_run *r = run_current();

	if (!r)
		return 0;
	r->pages = 1;
	r->migrated += migrated;
	r->failed += failed;
	return 0;
}

#endif
