/*
 * The raw tracepoints: arguments by their place, in the order of TP_PROTO in
 * include/trace/events/compaction.h. They need neither BTF nor tracefs. The order was held against
 * the BTF (btf_trace_*) of 5.10, 6.1, 6.12, 6.18 and 7.3; what differs is said where it is used.
 */
#ifndef MEMWHY_PROBES_COMPACTION_RAW_BPF_H
#define MEMWHY_PROBES_COMPACTION_RAW_BPF_H

#include "probes/compaction/compaction_attempt.bpf.h"
#include "probes/compaction/compaction_kcompactd.bpf.h"

/* (struct compact_control *, unsigned long zone_start, zone_end, bool sync), in 6.1 and later */
SEC("raw_tp/mm_compaction_begin")
int raw_begin(struct bpf_raw_tracepoint_args *ctx)
{
	return run_begin(ctx, ctx->args[1], ctx->args[3] & 1, (void *)ctx->args[0], RAW_FRAMES);
}

/* (unsigned long zone_start, migrate_pfn, free_pfn, zone_end, bool sync), in 5.10. A task that
 * compacts for itself has its compact_control in capture_control. */
SEC("raw_tp/mm_compaction_begin")
int raw_begin_pfns(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct___compaction *task = (void *)bpf_get_current_task();
	struct compact_control *cc = 0;

	if (bpf_core_field_exists(((struct capture_control *)0)->cc))
		cc = BPF_CORE_READ(task, capture_control, cc);
	return run_begin(ctx, ctx->args[0], ctx->args[4] & 1, cc, RAW_FRAMES);
}

static __always_inline int raw_ended(u8 status)
{
	attempt_ran(status);
	return run_end(status);
}

/* (struct compact_control *, unsigned long zone_start, zone_end, bool sync, int status) */
SEC("raw_tp/mm_compaction_end")
int raw_end(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_ended(ctx->args[4]);
}

/* (unsigned long zone_start, migrate_pfn, free_pfn, zone_end, bool sync, int status), in 5.10 */
SEC("raw_tp/mm_compaction_end")
int raw_end_pfns(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_ended(ctx->args[5]);
}

/* (struct zone *, int order, int ret): whether to go on, asked before every block; the first of a
 * run gives its zone. */
SEC("raw_tp/mm_compaction_finished")
int raw_finished(struct bpf_raw_tracepoint_args *ctx)
{
	struct open_run *r = run_current();

	if (r && !r->looked)
		run_look(r, (const struct zone *)ctx->args[0], ctx->args[1]);
	return 0;
}

/* Where the classic events count: what they do not tell. */
SEC("raw_tp/mm_compaction_begin")
int raw_control(struct bpf_raw_tracepoint_args *ctx)
{
	return control_keep((struct compact_control *)ctx->args[0]);
}

/* (unsigned long start_pfn, end_pfn, nr_scanned, nr_taken), for all three */
SEC("raw_tp/mm_compaction_isolate_migratepages")
int raw_isolate_migrate(struct bpf_raw_tracepoint_args *ctx)
{
	return run_isolated(false, ctx->args[2], ctx->args[3]);
}

SEC("raw_tp/mm_compaction_isolate_freepages")
int raw_isolate_free(struct bpf_raw_tracepoint_args *ctx)
{
	return run_isolated(true, ctx->args[2], ctx->args[3]);
}

/* not in 5.10 and 6.1 */
SEC("raw_tp/mm_compaction_fast_isolate_freepages")
int raw_isolate_fast(struct bpf_raw_tracepoint_args *ctx)
{
	return run_isolated(true, ctx->args[2], ctx->args[3]);
}

/* (unsigned int nr_migratepages, nr_succeeded) in 6.12 and later; in 6.1 the first is the struct
 * compact_control *, which is no small number. */
SEC("raw_tp/mm_compaction_migratepages")
int raw_migrate(struct bpf_raw_tracepoint_args *ctx)
{
	struct compact_control *cc = (void *)ctx->args[0];
	u64 all = (u32)ctx->args[0], migrated = (u32)ctx->args[1];

	if ((s64)ctx->args[0] < 0)
		all = bpf_core_field_exists(cc->nr_migratepages)
			      ? BPF_CORE_READ(cc, nr_migratepages)
			      : migrated;
	return run_migrated(migrated, all > migrated ? all - migrated : 0);
}

#define MIGRATE_BATCH 1024 /* of a list that must not be endless: COMPACT_CLUSTER_MAX is 32 */

/* (unsigned long nr_all, int migrate_rc, struct list_head *), in 5.10. What is on the list when
 * migrate_pages() fails as a whole was not moved. */
SEC("raw_tp/mm_compaction_migratepages")
int raw_migrate_list(struct bpf_raw_tracepoint_args *ctx)
{
	u64 all = ctx->args[0], head = ctx->args[2], at = head, failed = 0;
	s32 rc = (s32)ctx->args[1];

	if (rc >= 0)
		return run_migrated(all > (u32)rc ? all - (u32)rc : 0, (u32)rc);
	for (int i = 0; i < MIGRATE_BATCH; i++) {
		if (bpf_probe_read_kernel(&at, sizeof(at), (void *)at) || at == head)
			break;
		failed++;
	}
	return run_migrated(all > failed ? all - failed : 0, failed);
}

/* (int order, gfp_t, int prio) */
SEC("raw_tp/mm_compaction_try_to_compact_pages")
int raw_try(struct bpf_raw_tracepoint_args *ctx)
{
	return attempt_begin(ctx->args[0], ctx->args[2]);
}

/* (struct zone *, int order, int ret) */
SEC("raw_tp/mm_compaction_suitable")
int raw_suitable(struct bpf_raw_tracepoint_args *ctx)
{
	attempt_suitable(ctx->args[2]);
	return 0;
}

/* (struct zone *, int order), for all three */
static __always_inline int raw_deferral(struct bpf_raw_tracepoint_args *ctx, u32 what)
{
	struct compaction_zone_key key = {
		.node = COMPACTION_NODE_UNKNOWN,
		.zone = COMPACTION_ZONE_UNKNOWN,
		.order = ctx->args[1],
	};

	zone_name((const struct zone *)ctx->args[0], &key);
	return deferral_count(key, what);
}

SEC("raw_tp/mm_compaction_deferred")
int raw_deferred(struct bpf_raw_tracepoint_args *ctx)
{
	attempt_deferred();
	return raw_deferral(ctx, DEFERRAL_SKIPPED);
}

SEC("raw_tp/mm_compaction_defer_compaction")
int raw_defer(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_deferral(ctx, DEFERRAL_FAILED);
}

SEC("raw_tp/mm_compaction_defer_reset")
int raw_reset(struct bpf_raw_tracepoint_args *ctx)
{
	attempt_reset();
	return raw_deferral(ctx, DEFERRAL_RESET);
}

/* (int nid, int order, enum zone_type) */
SEC("raw_tp/mm_compaction_kcompactd_wake")
int raw_kcompactd_wake(struct bpf_raw_tracepoint_args *ctx)
{
	return kcompactd_woke(ctx->args[0]);
}

/* (int nid) */
SEC("raw_tp/mm_compaction_kcompactd_sleep")
int raw_kcompactd_sleep(struct bpf_raw_tracepoint_args *ctx)
{
	return kcompactd_slept(ctx->args[0]);
}

/* (int nid, int order, enum zone_type) */
SEC("raw_tp/mm_compaction_wakeup_kcompactd")
int raw_kcompactd_wakeup(struct bpf_raw_tracepoint_args *ctx)
{
	return kcompactd_wakeup(ctx->args[0]);
}

#endif
