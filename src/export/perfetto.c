/* See perfetto.h. Of probes it knows the records alone. */
#include "export/perfetto.h"

#include <errno.h>
#include <string.h>

#include "event/meta.h"
#include "probes/compaction/compaction.h"
#include "probes/frag/frag.h"
#include "probes/heap/heap.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "probes/reclaim/reclaim.h"
#include "probes/stalls/stalls.h"
#include "probes/syscalls/syscalls.h"
#include "probes/system/system.h"
#include "probes/thp/thp.h"
#include "sys/calls/syscalls.h"

#define PIECE (256U << 10)

/* Of an event that is told when it is over. */
static u64 begin_of(const struct rec *r, u64 ns)
{
	return r->time_ns > ns ? r->time_ns - ns : 0;
}

static void perfetto_stall_feed(struct perfetto *p, const struct rec *r)
{
	static const char *const names[STALLS_STEP_KIND_N] = {
		[STALLS_WAKE] = "wake kswapd",
		[STALLS_COMPACT] = "compaction",
		[STALLS_DIRECT] = "direct reclaim",
		[STALLS_MEMCG] = "reclaim in control group",
		[STALLS_NODE] = "node reclaim",
		[STALLS_RETRY] = "retry",
		[STALLS_KILL] = "OOM kill",
		[STALLS_SLEEP] = "sleep",
		[STALLS_MORE] = "more steps",
	};
	const struct stalls_event *e = (const struct stalls_event *)r;
	struct trace_step steps[STALLS_ROOM];
	size_t n = 0;
	char name[48];

	for (u32 i = 0; i < MIN(e->n_steps, (u32)STALLS_ROOM); i++) {
		u8 kind = e->steps.kind[i];

		if (!kind || kind >= STALLS_STEP_KIND_N)
			continue;
		steps[n].name = names[kind];
		steps[n].start_ns = e->start_ns + e->steps.start_ns[i];
		steps[n].end_ns = steps[n].start_ns + e->steps.ns[i];
		n++;
	}
	snprintf(name, sizeof(name), "stalled %s, order %u",
		e->kind == STALLS_CHARGE ? "charge" : "allocation", e->order);
	trace_slice(&p->trace,
		&(struct trace_slice){"stalls", e->tgid, e->tid, e->start_ns, e->start_ns + e->ns,
			name, e->ustack},
		steps, n);
}

static void reclaim_feed(struct perfetto *p, const struct rec *r)
{
	static const char *const kinds[RECLAIM_KIND_N] = {
		[RECLAIM_OTHER] = "reclaim",
		[RECLAIM_DIRECT] = "direct reclaim",
		[RECLAIM_MEMCG] = "reclaim in control group",
		[RECLAIM_SOFTLIMIT] = "soft limit reclaim",
		[RECLAIM_NODE] = "node reclaim",
		[RECLAIM_KSWAPD] = "kswapd",
	};
	const struct reclaim_stall *e = (const struct reclaim_stall *)r;

	trace_slice(&p->trace,
		&(struct trace_slice){"reclaim", e->tgid, e->tid, begin_of(r, e->ns), r->time_ns,
			kinds[e->kind < RECLAIM_KIND_N ? e->kind : 0], e->ustack},
		NULL, 0);
}

static void compaction_feed(struct perfetto *p, const struct rec *r)
{
	const struct compaction_run *e = (const struct compaction_run *)r;
	char name[40];

	snprintf(name, sizeof(name), "compaction, order %d", e->order);
	trace_slice(&p->trace,
		&(struct trace_slice){"compaction", e->tgid, e->tid, begin_of(r, e->ns), r->time_ns,
			name, e->ustack},
		NULL, 0);
}

static void thp_feed(struct perfetto *p, const struct rec *r)
{
	static const char *const kinds[THP_KIND_N] = {
		[THP_FAULT] = "huge page fault",
		[THP_FALLBACK] = "huge page fault, fallback",
		[THP_SPLIT_PMD] = "huge mapping split",
		[THP_SPLIT_PAGE] = "huge page split",
		[THP_HANDLED] = "huge page fault handled",
		[THP_COMPACT] = "compaction for a huge page",
		[THP_RECLAIM] = "reclaim for a huge page",
		[THP_KSWAPD] = "kswapd for a huge page",
		[THP_SCAN] = "scan for huge pages",
		[THP_COLLAPSE] = "collapse to a huge page",
	};
	const struct thp_event *e = (const struct thp_event *)r;
	const char *name = e->kind < THP_KIND_N && kinds[e->kind] ? kinds[e->kind] : "huge pages";
	const struct trace_slice s = {
		"huge pages", e->tgid, e->tid, begin_of(r, e->ns), r->time_ns, name, e->ustack};

	if (e->ns)
		trace_slice(&p->trace, &s, NULL, 0);
	else
		trace_instant(&p->trace, &s);
}

static void syscall_feed(struct perfetto *p, const struct rec *r)
{
	const struct syscalls_call *e = (const struct syscalls_call *)r;
	const char *name = e->abi ? syscall_compat_name(e->nr) : syscall_name(e->nr);
	char number[24];

	if (!(e->flags & SYSCALLS_TIMED))
		return;
	snprintf(number, sizeof(number), "system call %u", e->nr);
	trace_slice(&p->trace,
		&(struct trace_slice){"system calls", e->tgid, e->tid, begin_of(r, e->ns),
			r->time_ns, name ? name : number, e->ustack},
		NULL, 0);
}

static void oom_feed(struct perfetto *p, const struct rec *r)
{
	const struct oom_kill *e = (const struct oom_kill *)r;
	char name[64];

	snprintf(name, sizeof(name), "OOM kill of %.*s (pid %u)", COMM_LEN, e->victim_comm,
		e->victim_tgid);
	trace_instant(&p->trace, &(struct trace_slice){"OOM kills", e->tgid, e->tid, r->time_ns,
					 r->time_ns, name, e->ustack});
}

static void perfetto_memory_feed(struct perfetto *p, const struct rec *r)
{
	const struct process_memory *e = (const struct process_memory *)r;

	trace_count(&p->trace, &(struct trace_counter){e->tgid, 0, "RSS", "bytes"}, r->time_ns,
		(double)e->rss_bytes);
}

static void heap_feed(struct perfetto *p, const struct rec *r)
{
	const struct heap_total *e = (const struct heap_total *)r;

	trace_count(&p->trace, &(struct trace_counter){e->tgid, e->process, "live heap", "bytes"},
		r->time_ns, (double)e->live_bytes);
}

static void perfetto_zone_feed(struct perfetto *p, const struct rec *r)
{
	const struct frag_zone *e = (const struct frag_zone *)r;
	char name[80];

	for (u32 i = 0; i < MIN(e->orders, (u32)FRAG_ORDERS); i++) {
		snprintf(name, sizeof(name), "free blocks of order %u, node %u %.*s", i, e->node,
			FRAG_ZONE_NAME, e->zone);
		trace_count(&p->trace, &(struct trace_counter){0, 0, name, "blocks"}, r->time_ns,
			(double)e->free_blocks[i]);
	}
}

static void perfetto_pressure_feed(struct perfetto *p, const struct rec *r)
{
	static const char *const names[][2] = {
		[SYSTEM_MEMORY] = {"memory pressure, some", "memory pressure, full"},
		[SYSTEM_IO] = {"I/O pressure, some", "I/O pressure, full"},
		[SYSTEM_CPU] = {"CPU pressure, some", "CPU pressure, full"},
	};
	const struct system_pressure *e = (const struct system_pressure *)r;

	if (e->resource >= ARRAY_SIZE(names) || !names[e->resource][0])
		return;
	trace_count(&p->trace, &(struct trace_counter){0, 0, names[e->resource][0], "%"},
		r->time_ns, e->some_avg10 / 100.0);
	if (e->has_full)
		trace_count(&p->trace, &(struct trace_counter){0, 0, names[e->resource][1], "%"},
			r->time_ns, e->full_avg10 / 100.0);
}

static void session_feed(struct perfetto *p, const struct rec *r)
{
	trace_clock(&p->trace, r->time_ns, ((const struct rec_session *)r)->wall_ns);
}

static const struct {
	u16 kind;
	bool is_slice;
	size_t size;
	void (*feed)(struct perfetto *p, const struct rec *r);
} feeds[] = {
	{REC_SESSION, false, sizeof(struct rec_session), session_feed},
	{REC_STALLS_EVENT, true, sizeof(struct stalls_event), perfetto_stall_feed},
	{REC_RECLAIM_STALL, true, sizeof(struct reclaim_stall), reclaim_feed},
	{REC_COMPACTION_RUN, true, sizeof(struct compaction_run), compaction_feed},
	{REC_THP_EVENT, true, sizeof(struct thp_event), thp_feed},
	{REC_SYSCALLS_CALL, true, sizeof(struct syscalls_call), syscall_feed},
	{REC_OOM_KILL, true, sizeof(struct oom_kill), oom_feed},
	{REC_PROCESS_MEMORY, false, sizeof(struct process_memory), perfetto_memory_feed},
	{REC_HEAP_TOTAL, false, sizeof(struct heap_total), heap_feed},
	{REC_FRAG_ZONE, false, sizeof(struct frag_zone), perfetto_zone_feed},
	{REC_SYSTEM_PRESSURE, false, sizeof(struct system_pressure), perfetto_pressure_feed},
};

static int packets_pass(struct perfetto *p, size_t least)
{
	if (p->trace.failed)
		return -ENOMEM;
	return p->trace.out.len > least ? p->take(p->arg, &p->trace.out) : 0;
}

static int perfetto_put(struct sink *sink, const struct rec *r)
{
	struct perfetto *p = (struct perfetto *)sink; /* its first member */

	for (size_t i = 0; i < ARRAY_SIZE(feeds); i++) {
		if (feeds[i].kind != r->kind || r->size < feeds[i].size)
			continue;
		feeds[i].feed(p, r);
		p->slices += feeds[i].is_slice;
	}
	return packets_pass(p, PIECE);
}

void perfetto_init(struct perfetto *p, const struct stream *names)
{
	*p = (struct perfetto){.sink = {perfetto_put}};
	trace_init(&p->trace, names);
}

int perfetto_end(struct perfetto *p)
{
	return packets_pass(p, 0);
}

void perfetto_free(struct perfetto *p)
{
	trace_free(&p->trace);
}
