/* What the events say: steps begin, go on and end. */
#ifndef MEMWHY_PROBES_STALLS_STEPS_BPF_H
#define MEMWHY_PROBES_STALLS_STEPS_BPF_H

#include "probes/stalls/stalls_open.bpf.h"

/* Compaction has no end event: it is over when another thing begins. */
static __always_inline void compact_over(struct stalls_state *s)
{
	state_refresh(s);
	if (s->step.kind == STALLS_COMPACT)
		step_over(s);
}

static __noinline int step_begin(struct begin *b)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), now;
	struct probe_counts *c;
	struct stalls_state *s;

	if (!scope_match(pid_tgid))
		return 0;
	now = bpf_ktime_get_ns();
	c = counts();
	s = state_get(pid_tgid);
	if (!c)
		return 0;
	if (!s)
		goto full;
	compact_over(s);
	if (s->step.kind) { /* its end never came */
		s->step.kind = 0;
		c->unpaired++;
	}
	if (!stall_goes_on(s, b)) {
		if (s->start_ns)
			stall_close(s);
		if (stall_open(s, b, now))
			goto full;
		if (stack_due(c)) {
			s->key.ustack = stack_take(b->ctx, BPF_F_USER_STACK);
			s->key.kstack = stack_kernel(b->ctx, b->skip);
		}
	} else if (s->retry_ns) {
		step_note(s, STALLS_RETRY, s->retry_ns, s->retry);
		s->retries++;
	}
	s->retry_ns = 0;
	if (b->kind == STALLS_COMPACT)
		s->first = s->last == 0 || s->last == STALLS_NODE;
	s->page = 0;
	s->zone_open = 0;
	s->zone_reset = 0;
	__builtin_memset(&s->step, 0, sizeof(s->step));
	s->step.start_ns = s->step.end_ns = now;
	s->step.mode = b->mode;
	s->step.result = b->kind == STALLS_COMPACT ? STALLS_COMPACT_SKIPPED : 0;
	s->step.kind = b->kind;
	return 0;
full:
	c->seen++;
	c->lost_map++;
	return 0;
}

/* The current stall while a step of the kind runs in it. */
static __always_inline struct stalls_state *step_running(u8 kind)
{
	struct stalls_state *s = state_current();

	return s && s->step.kind == kind ? s : 0;
}

static __noinline int reclaim_end(u8 kind, u64 returned)
{
	struct stalls_state *s = step_running(kind);

	if (!s) {
		if (scope_match(bpf_get_current_pid_tgid()))
			count_add(unpaired);
		return 0;
	}
	s->returned = returned;
	s->step.result = returned != 0;
	s->step.end_ns = bpf_ktime_get_ns();
	/* On 6.1 to 6.6 the multi-generational LRU fires no LRU events: what reclaim returned is
	 * all there is. */
	if (config.lru_gen && lru_has_isolate_mode())
		s->step.done = returned;
	step_over(s);
	return 0;
}

/* Which step reclaims in the current thread; NULL: none. */
static __always_inline struct stalls_state *reclaim_running(void)
{
	struct stalls_state *s = state_current();

	return s && s->step.kind >= STALLS_DIRECT && s->step.kind <= STALLS_NODE ? s : 0;
}

/* Counts what pgscan_* counts: see lru_isolated() of the reclaim probe. Even lists of enum
 * lru_list are inactive. */
static __always_inline int lru_isolated(u32 list, u64 examined, u64 taken)
{
	struct stalls_state *s = list == 0 || list == 2 ? reclaim_running() : 0;

	if (s)
		s->step.scanned += config.lru_gen ? taken : examined;
	return 0;
}

static __always_inline int lru_shrunk(u64 reclaimed)
{
	struct stalls_state *s = reclaim_running();

	if (s)
		s->step.done += reclaimed;
	return 0;
}

/* In reclaim and in compaction, from 5.16 on. */
static __always_inline int was_throttled(u32 usec)
{
	struct stalls_state *s = state_current();

	if (s && s->step.kind)
		s->step.wait_ns += (u64)usec * 1000;
	return 0;
}

/* Until 5.15, in reclaim, in compaction and in should_reclaim_retry(). */
static __always_inline int was_congested(u32 usec)
{
	struct stalls_state *s = state_current();
	u64 ns = (u64)usec * 1000;

	if (!s || !usec)
		return 0;
	if (s->step.kind) {
		s->step.wait_ns += ns;
	} else if (s->start_ns && s->retry_ns) {
		u64 now = bpf_ktime_get_ns();

		if (ns > now - s->retry_ns)
			ns = now - s->retry_ns;
		step_note(s, STALLS_SLEEP, now - ns, 0);
		s->throttled_ns += ns;
		s->retry_ns = now;
		s->switches = task_switches();
	}
	return 0;
}

enum { RESET_ZONE = 1, RESET_PAGE = 2 }; /* what the next reset means; 0: see compact_reset */

/* compaction_suitable(): until 6.4 its event reports a zone that has enough to begin with. Used
 * until 5.17, where compact_reset() needs it. */
static __always_inline int compact_suitable(u8 status)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (s && status == STALLS_COMPACT_SUCCESS)
		s->zone_reset = RESET_ZONE;
	return 0;
}

/* compaction_deferred(): this zone is left out. */
static __always_inline int compact_deferred(void)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (!s)
		return 0;
	if (s->step.result < STALLS_COMPACT_DEFERRED)
		s->step.result = STALLS_COMPACT_DEFERRED;
	s->zone_reset = RESET_PAGE;
	s->step.end_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int compact_zone_begin(u64 zone)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (!s)
		return 0;
	s->step.zone = zone;
	s->step.zones++;
	s->zone_open = 1;
	s->zone_reset = 0;
	return 0;
}

static __always_inline int compact_zone_end(u8 status)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (!s)
		return 0;
	if (status > s->step.result)
		s->step.result = status;
	s->zone_open = 0;
	s->zone_reset = status == STALLS_COMPACT_SUCCESS ? RESET_ZONE : RESET_PAGE;
	s->step.end_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * compaction_defer_reset() is called by try_to_compact_pages() for a zone with which it is done
 * (COMPACT_SUCCESS), and by __alloc_pages_direct_compact() when there was a page then. A zone that
 * had enough to begin with is a success without having been compacted: where no event reported it
 * (config.suitable), the first reset is its own. 5.10 looks for a page even if all zones were
 * skipped.
 */
static __always_inline int compact_reset(void)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (!s)
		return 0;
	if (s->zone_reset == RESET_PAGE || (!s->zone_reset && config.suitable)) {
		s->page = 1;
	} else {
		s->step.result = STALLS_COMPACT_SUCCESS;
		s->zone_reset = RESET_PAGE;
	}
	s->step.end_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int compact_isolated(u64 scanned)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (s)
		s->step.scanned += scanned;
	return 0;
}

static __always_inline int compact_migrated(u64 migrated, u64 failed)
{
	struct stalls_state *s = step_running(STALLS_COMPACT);

	if (s) {
		s->step.done += migrated;
		s->step.failed += failed;
	}
	return 0;
}

/* For an allocation that has reclaimed. The last event decides. */
static __always_inline int retry_decided(u32 order, bool yes)
{
	struct stalls_state *s = state_current();

	if (!s || s->key.kind != STALLS_ALLOCATION || s->key.order != order)
		return 0;
	compact_over(s);
	if (!s->start_ns || s->step.kind || !s->last)
		return 0;
	s->retry_ns = bpf_ktime_get_ns();
	s->retry = yes;
	s->switches = task_switches();
	return 0;
}

/* mark_oom_victim(), in the thread that had to choose one. */
static __always_inline int victim_marked(void)
{
	struct stalls_state *s = state_current();
	u64 now = bpf_ktime_get_ns();

	if (!s)
		return 0;
	compact_over(s);
	if (!s->start_ns || s->step.kind || !s->last)
		return 0;
	step_note(s, STALLS_KILL, s->retry_ns ? s->retry_ns : now, 0);
	if (s->retry_ns)
		s->retry_ns = now;
	s->retry = 0;
	s->killed = 1;
	return 0;
}

/* Also fires in allocations that cannot wait, from interrupts too: no stall of this thread. */
static __always_inline int kswapd_woken(u32 order, u32 gfp)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct stalls_state *s;

	if (!(gfp & config.gfp_direct) || !scope_match(pid_tgid))
		return 0;
	s = state_get(pid_tgid);
	if (!s || s->step.kind)
		return 0;
	s->wake_ns = bpf_ktime_get_ns();
	s->wake_order = order;
	s->wake_gfp = gfp;
	return 0;
}

#endif
