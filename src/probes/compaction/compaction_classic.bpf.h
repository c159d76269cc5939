/*
 * Classic tracepoints, for kernels with preemptible raw tracepoints (7.3): there a preempted
 * program is skipped for all other tasks on that CPU, and a start without an end makes no run.
 * Takes arguments by the names of their fields, wherever the running kernel has them (needs BTF).
 * They lack the compact_control; a raw tracepoint supplies it in addition. If that one is skipped,
 * the run still counts, without the state of its zone, and the scanned pages are added up from the
 * scanners' events, which leave out fast_find_migrateblock().
 */
#ifndef MEMWHY_PROBES_COMPACTION_CLASSIC_BPF_H
#define MEMWHY_PROBES_COMPACTION_CLASSIC_BPF_H

#include "probes/compaction/compaction_attempt.bpf.h"
#include "probes/compaction/compaction_kcompactd.bpf.h"

enum zone_type {
	ZONE_FIRST, /* only its kind of type matters: CO-RE takes no int for an enum */
};

EVENT(mm_compaction_begin, unsigned long zone_start; bool sync;);
EVENT(mm_compaction_end, int status;);
EVENT(mm_compaction_suitable_template, int nid; enum zone_type idx; int order;);
EVENT(mm_compaction_isolate_template, unsigned long nr_scanned, nr_taken;);
EVENT(mm_compaction_migratepages, unsigned long nr_migrated, nr_failed;);
EVENT(mm_compaction_try_to_compact_pages, int order, prio;);
EVENT(mm_compaction_defer_template, int nid; enum zone_type idx; int order;);
EVENT(mm_compaction_kcompactd_sleep, int nid;);
EVENT(kcompactd_wake_template, int nid;);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OPEN_RUNS);
	__type(key, u32); /* thread */
	__type(value, struct compact_control *);
} controls SEC(".maps");

/* Before or after tp_begin: which of them comes first is not said. */
static __always_inline int control_keep(struct compact_control *cc)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;

	if (scope_match(pid_tgid))
		bpf_map_update_elem(&controls, &tid, &cc, BPF_ANY);
	return 0;
}

SEC("tp/compaction/mm_compaction_begin")
int tp_begin(struct trace_event_raw_mm_compaction_begin *e)
{
	return PASS(run_begin(e, e->zone_start, e->sync, 0, 0));
}

SEC("tp/compaction/mm_compaction_end")
int tp_end(struct trace_event_raw_mm_compaction_end *e)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u8 status = e->status;

	attempt_ran(status);
	run_end(status);
	bpf_map_delete_elem(&controls, &tid);
	return 1;
}

/* Asked before every block; the first of a run gives its zone. */
SEC("tp/compaction/mm_compaction_finished")
int tp_finished(struct trace_event_raw_mm_compaction_suitable_template *e)
{
	struct open_run *r = run_current();
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct compact_control **cc;

	if (!r || r->looked)
		return 1;
	cc = bpf_map_lookup_elem(&controls, &tid);
	if (cc) {
		run_look_control(r, *cc);
		return 1;
	}
	r->key.zone.zone_start = 0;
	r->key.zone.node = e->nid;
	r->key.zone.zone = e->idx;
	r->key.zone.order = e->order;
	run_looked(r);
	return 1;
}

SEC("tp/compaction/mm_compaction_isolate_migratepages")
int tp_isolate_migrate(struct trace_event_raw_mm_compaction_isolate_template *e)
{
	return PASS(run_isolated(false, e->nr_scanned, e->nr_taken));
}

SEC("tp/compaction/mm_compaction_isolate_freepages")
int tp_isolate_free(struct trace_event_raw_mm_compaction_isolate_template *e)
{
	return PASS(run_isolated(true, e->nr_scanned, e->nr_taken));
}

SEC("tp/compaction/mm_compaction_fast_isolate_freepages")
int tp_isolate_fast(struct trace_event_raw_mm_compaction_isolate_template *e)
{
	return PASS(run_isolated(true, e->nr_scanned, e->nr_taken));
}

SEC("tp/compaction/mm_compaction_migratepages")
int tp_migrate(struct trace_event_raw_mm_compaction_migratepages *e)
{
	return PASS(run_migrated(e->nr_migrated, e->nr_failed));
}

SEC("tp/compaction/mm_compaction_try_to_compact_pages")
int tp_try(struct trace_event_raw_mm_compaction_try_to_compact_pages *e)
{
	return PASS(attempt_begin(e->order, e->prio));
}

static __always_inline int tp_deferral(
	struct trace_event_raw_mm_compaction_defer_template *e, u32 what)
{
	struct compaction_zone_key key = {
		.node = e->nid,
		.zone = e->idx,
		.order = e->order,
	};

	return deferral_count(key, what);
}

SEC("tp/compaction/mm_compaction_deferred")
int tp_deferred(struct trace_event_raw_mm_compaction_defer_template *e)
{
	attempt_deferred();
	return PASS(tp_deferral(e, DEFERRAL_SKIPPED));
}

SEC("tp/compaction/mm_compaction_defer_compaction")
int tp_defer(struct trace_event_raw_mm_compaction_defer_template *e)
{
	return PASS(tp_deferral(e, DEFERRAL_FAILED));
}

SEC("tp/compaction/mm_compaction_defer_reset")
int tp_reset(struct trace_event_raw_mm_compaction_defer_template *e)
{
	attempt_reset();
	return PASS(tp_deferral(e, DEFERRAL_RESET));
}

SEC("tp/compaction/mm_compaction_kcompactd_wake")
int tp_kcompactd_wake(struct trace_event_raw_kcompactd_wake_template *e)
{
	return PASS(kcompactd_woke(e->nid));
}

SEC("tp/compaction/mm_compaction_kcompactd_sleep")
int tp_kcompactd_sleep(struct trace_event_raw_mm_compaction_kcompactd_sleep *e)
{
	return PASS(kcompactd_slept(e->nid));
}

SEC("tp/compaction/mm_compaction_wakeup_kcompactd")
int tp_kcompactd_wakeup(struct trace_event_raw_kcompactd_wake_template *e)
{
	return PASS(kcompactd_wakeup(e->nid));
}

#endif
