/* The compaction probe: its hooks, and what its tables and ring become as records, with their
 * schema. */
#include "probes/compaction/compaction.h"

#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/tracepoint.h"
#include "event/schema.h"
#include "probes/compaction/compaction_host.h"
#include "probes/compaction/compaction_view.h"
#include "probes/probe.h"

/* How mm_compaction_begin and _end are told here: one of the first four; and what is wanted. */
enum {
	OPT_CLASSIC = 1, /* raw tracepoints are preemptible: see compaction_classic.bpf.h */
	OPT_CONTROL = 2, /* with the compact_control, which BTF lets us read */
	OPT_PLAIN = 4,   /* with it, but no BTF */
	OPT_PFNS = 8,    /* with page frame numbers instead */
	OPT_PAGES = 16,  /* what becomes of the pages: events for every block */
};

#define OPT_RAW (OPT_CONTROL | OPT_PLAIN | OPT_PFNS)

static const struct attach_hook hooks[] = {
	{
		.data = "runs of compaction",
		.required = true,
		.needs = "CONFIG_COMPACTION",
		.methods =
			{
				{"tracepoints compaction:mm_compaction_begin, end, finished",
					{"tp_begin", "tp_end", "tp_finished"}, {}, OPT_CLASSIC},
				{"raw tracepoints mm_compaction_begin, end",
					{"raw_begin", "raw_end"}, {}, OPT_CONTROL},
				{"raw tracepoints mm_compaction_begin, end, finished",
					{"raw_begin", "raw_end", "raw_finished"}, {}, OPT_PLAIN},
				{"raw tracepoints mm_compaction_begin, end, finished (pfns)",
					{"raw_begin_pfns", "raw_end_pfns", "raw_finished"}, {},
					OPT_PFNS},
			},
	},
	{
		.data = "free pages, watermarks, total scanned",
		.only = OPT_CLASSIC,
		.methods = {{"raw tracepoint mm_compaction_begin", {"raw_control"}}},
	},
	{
		.data = "direct compaction, its success, deferrals",
		.methods =
			{
				{"tracepoints compaction:mm_compaction_try_*, defer*",
					{"tp_try", "tp_deferred", "tp_defer", "tp_reset"}, {},
					OPT_CLASSIC},
				{"raw tracepoints mm_compaction_try_*, defer*, suitable",
					{"raw_try", "raw_deferred", "raw_defer", "raw_reset",
						"raw_suitable"},
					{}, OPT_PFNS},
				{"raw tracepoints mm_compaction_try_*, defer*",
					{"raw_try", "raw_deferred", "raw_defer", "raw_reset"}, {},
					OPT_RAW},
			},
	},
	{
		.data = "pages scanned and isolated",
		.counts = true,
		.only = OPT_PAGES,
		.methods =
			{
				{"tracepoints compaction:mm_compaction_isolate_*, fast",
					{"tp_isolate_migrate", "tp_isolate_free",
						"tp_isolate_fast"},
					{}, OPT_CLASSIC},
				{"raw tracepoints mm_compaction_isolate_*, fast",
					{"raw_isolate_migrate", "raw_isolate_free",
						"raw_isolate_fast"},
					{}, OPT_CONTROL | OPT_PLAIN},
				{"raw tracepoints mm_compaction_isolate_*",
					{"raw_isolate_migrate", "raw_isolate_free"}, {}, OPT_RAW},
			},
	},
	{
		.data = "pages migrated",
		.counts = true,
		.only = OPT_PAGES,
		.methods =
			{
				{"tracepoint compaction:mm_compaction_migratepages", {"tp_migrate"},
					{}, OPT_CLASSIC},
				{"raw tracepoint mm_compaction_migratepages (list)",
					{"raw_migrate_list"}, {}, OPT_PFNS},
				{"raw tracepoint mm_compaction_migratepages", {"raw_migrate"}, {},
					OPT_RAW},
			},
	},
	{
		.data = "kcompactd",
		.methods =
			{
				{"tracepoints compaction:mm_compaction_*kcompactd*",
					{"tp_kcompactd_wake", "tp_kcompactd_sleep",
						"tp_kcompactd_wakeup"},
					{}, OPT_CLASSIC},
				{"raw tracepoints mm_compaction_*kcompactd*",
					{"raw_kcompactd_wake", "raw_kcompactd_sleep",
						"raw_kcompactd_wakeup"},
					{}, OPT_RAW},
			},
	},
};

/* The arguments of mm_compaction_end: 6 with page frame numbers, else 5. */
static u32 options_of_kernel(void)
{
	if (kbtf_raw_is_preemptible())
		return OPT_CLASSIC;
	if (tracepoint_has_argument("mm_compaction_end", 5))
		return OPT_PFNS;
	return kbtf_available() ? OPT_CONTROL : OPT_PLAIN;
}

static u32 compaction_options(const struct capture *c)
{
	return options_of_kernel() | (c->opt.gentle ? 0 : OPT_PAGES);
}

/* Tables whose keys are few are made small: an entry takes room for every CPU. */
static int tables_size(struct bpf_object *obj)
{
	int rc = attach_set_entries(obj, "kcompactds", 1024);

	if (!rc)
		rc = attach_set_entries(obj, "zones", 1024);
	return rc ? rc : attach_set_entries(obj, "deferrals", 1024);
}

static int compaction_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct compaction_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		.orders = compaction_orders(),
		.success = compaction_success(),
		.suitable = options_of_kernel() == OPT_PFNS,
	};
	int rc = tables_size(obj);

	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

/* Node and zone: as the event told, or where only the first page is known, whose that is. */
static void compaction_zone_take(
	const struct compaction_zone_key *k, s32 *ret_node, u8 *ret_zone, s32 *ret_order)
{
	s16 node = k->node;
	u8 zone = k->zone;

	if (node < 0 && k->zone_start)
		compaction_zone_find(k->zone_start, &node, &zone);
	*ret_node = node;
	*ret_zone = zone;
	*ret_order = k->order;
}

static int run_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct compaction_key *k = key;
	struct compaction_agg r = REC_INIT(struct compaction_agg, REC_COMPACTION_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	compaction_zone_take(&k->zone, &r.node, &r.zone, &r.order);
	r.kind = k->kind;
	r.sync = k->sync;
	r.status = k->status;
	table_take_times(&r, v);
	r.cpu_ns = v->sum[RUN_CPU_NS];
	r.migrate_scanned = v->sum[RUN_MIGRATE_SCANNED];
	r.free_scanned = v->sum[RUN_FREE_SCANNED];
	r.isolated = v->sum[RUN_ISOLATED];
	r.migrated = v->sum[RUN_MIGRATED];
	r.failed = v->sum[RUN_FAILED];
	return capture_emit(c, &r.h);
}

static int attempt_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct compaction_attempt_key *k = key;
	struct compaction_attempts r =
		REC_INIT(struct compaction_attempts, REC_COMPACTION_ATTEMPTS, 0);

	(void)stacks;
	names_task(c->names, k->tgid, k->tid, v->comm, v->cgroup);
	r.tgid = k->tgid;
	r.tid = k->tid;
	r.order = k->order;
	r.kind = k->kind;
	r.sync = k->sync;
	r.begun = v->sum[ATTEMPT_BEGUN];
	r.stalled = v->sum[ATTEMPT_STALLED];
	r.deferred = v->sum[ATTEMPT_DEFERRED];
	r.both = v->sum[ATTEMPT_BOTH];
	r.succeeded = v->sum[ATTEMPT_SUCCEEDED];
	r.cgroup = v->cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int zone_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	struct compaction_zone r = REC_INIT(struct compaction_zone, REC_COMPACTION_ZONE, 0);

	(void)stacks;
	compaction_zone_take(key, &r.node, &r.zone, &r.order);
	r.runs = v->count;
	r.known = v->sum[ZONE_KNOWN];
	r.above_high = v->sum[ZONE_ABOVE_HIGH];
	r.indexed = v->sum[ZONE_INDEXED];
	r.index_sum = (s64)v->sum[ZONE_INDEX];
	r.free_sum = v->sum[ZONE_FREE];
	r.high_sum = v->sum[ZONE_HIGH];
	return capture_emit(c, &r.h);
}

static int deferral_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	struct compaction_deferrals r =
		REC_INIT(struct compaction_deferrals, REC_COMPACTION_DEFERRALS, 0);

	(void)stacks;
	compaction_zone_take(key, &r.node, &r.zone, &r.order);
	r.skipped = v->sum[DEFERRAL_SKIPPED];
	r.failed = v->sum[DEFERRAL_FAILED];
	r.reset = v->sum[DEFERRAL_RESET];
	return capture_emit(c, &r.h);
}

static int kcompactd_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	struct compaction_kcompactd r =
		REC_INIT(struct compaction_kcompactd, REC_COMPACTION_KCOMPACTD, 0);

	(void)stacks;
	r.node = ((const struct kcompactd_key *)key)->node;
	r.wakes = v->sum[KCOMPACTD_WAKES];
	r.wakeups = v->sum[KCOMPACTD_WAKEUPS];
	r.sleeps = v->timed;
	r.awake_ns = v->total_ns;
	r.max_ns = v->max_ns;
	r.cpu_ns = v->sum[KCOMPACTD_CPU_NS];
	memcpy(r.hist, v->hist, sizeof(r.hist));
	return capture_emit(c, &r.h);
}

static int compaction_record(
	struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct compaction_run e = *(const struct compaction_run *)rec;
	struct compaction_zone_key zone;

	if (rec->kind != REC_COMPACTION_RUN || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	zone = (struct compaction_zone_key){e.zone_start, (s16)e.node, e.zone, (s8)e.order, 0};
	compaction_zone_take(&zone, &e.node, &e.zone, &e.order);
	e.zone_start = 0;
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = compaction_options,
	.prepare = compaction_prepare,
	.tables =
		{
			{"runs", sizeof(struct compaction_key), table_key_tgid, run_added},
			{"attempts", sizeof(struct compaction_attempt_key), table_key_tgid,
				attempt_added},
			{"zones", sizeof(struct compaction_zone_key), NULL, zone_added},
			{"deferrals", sizeof(struct compaction_zone_key), NULL, deferral_added},
			{"kcompactds", sizeof(struct kcompactd_key), NULL, kcompactd_added},
		},
	.record = compaction_record,
};

/* What all records of a zone say alike. */

static const struct kind kinds[] = {
	RECORD_KIND(REC_COMPACTION_AGG, struct compaction_agg, "compaction_agg",
		COMPACTION_AGG_FIELDS,
		"runs of compaction of one kind, process, zone and result, since the last such "
		"record"),
	RECORD_KIND(REC_COMPACTION_RUN, struct compaction_run, "compaction_run",
		COMPACTION_RUN_FIELDS, "one run of compaction"),
	RECORD_KIND(REC_COMPACTION_ATTEMPTS, struct compaction_attempts, "compaction_attempts",
		COMPACTION_ATTEMPTS_FIELDS,
		"allocations of one process and order that compacted directly"),
	RECORD_KIND(REC_COMPACTION_ZONE, struct compaction_zone, "compaction_zone",
		COMPACTION_ZONE_FIELDS, "a zone in the moments in which runs for one order began"),
	RECORD_KIND(REC_COMPACTION_DEFERRALS, struct compaction_deferrals, "compaction_deferrals",
		COMPACTION_DEFERRALS_FIELDS, "compaction of a zone for one order that was put off"),
	RECORD_KIND(REC_COMPACTION_KCOMPACTD, struct compaction_kcompactd, "compaction_kcompactd",
		COMPACTION_KCOMPACTD_FIELDS, "what the kcompactd of one node did"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy compaction --for 3s\n"
	"memwhy compaction - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"3.2 s from 2026-11-21 16:39:53 UTC - events: compaction 6 - none lost\n"
	"cost: 1.3 % of one CPU, BPF 302 us (69 ns a run), RSS 5.73 MiB\n"
	"\n"
	"Compaction\n"
	"  PID  COMM  KIND       ORDER  RUNS  SUCCESS    TIME      P50     P99     MAX     CPU  "
	"SCANNED\n"
	"31582  bash  requested     -1     3        -  191 ms  6.29 ms  182 ms  182 ms  173 ms   "
	"1.81 M\n"
	"... no room for MIGRATED, FAILED; -o wide shows all\n"
	"\n"
	"Zones when runs began\n"
	"NODE  ZONE    ORDER  RUNS       FREE    HIGH  ABOVE-HIGH  INDEX\n"
	"   0  DMA32      -1     1    772,917   5,600     100.0 %      -\n"
	"   0  DMA        -1     1      3,840      26     100.0 %      -\n"
	"   0  Normal     -1     1  1,611,219  19,712     100.0 %      -\n";

static const char *const examples[] = {
	"memwhy compaction --for 10s",
	"who compacted memory in ten seconds, and with what result",
	"memwhy compaction --by kind,zone,order,status",
	"which zones are compacted for which orders, with the results",
	"memwhy compaction --stacks -p 1234",
	"the code paths of one process that compact",
	"memwhy compaction --each --min 10ms",
	"each run of at least 10 ms, with the state of its zone when it began",
	"memwhy compaction --like compactsnoop",
	"one line per run, as compactsnoop prints it",
	NULL,
};

const struct probe probe_compaction = {
	.name = "compaction",
	.summary = "Who compacts memory, for what order, and with what result",
	.details =
		"Counts and times every run of compaction: one zone, compacted by one task. "
		"Kinds: direct (a task, for its own allocation), khugepaged (the same, by "
		"khugepaged), kcompactd (in the background, for an order that was asked for), "
		"proactive (kcompactd by itself, see vm.compaction_proactiveness) and requested "
		"(vm.compact_memory, or the file compact of a node).\n\n"
		"Results are named as the running kernel names them. success: a block of the "
		"order is there now; complete: the whole zone was scanned, partial_skipped: a "
		"part of it, both in vain for an order, while for order -1 (the whole zone) "
		"complete is the normal end; contended: it gave up because of a lock or a signal. "
		"A run that was never started has no row: the tables of direct compaction and of "
		"deferrals count those.\n\n"
		"Pages are those that compact_migrate_scanned, compact_free_scanned and "
		"compact_isolated in /proc/vmstat count. Kernels before 6.3 do not report the "
		"fast search for free pages: compact_isolated has more there (and "
		"compact_free_scanned of kcompactd in 5.10).\n\n"
		"Direct compaction: an attempt is one call of try_to_compact_pages(). It is a "
		"stall when a zone was compacted or found good, put off when all that were not "
		"unsuitable were deferred, and a success (compact_success) when the page was got. "
		"What the kernel counts as compact_stall differs: all attempts in 5.10 (and those "
		"that may not do I/O, which no event reports), stalls and deferred in 6.1 and "
		"6.12, stalls in 7.3; compact_fail is what of these did not get the page.\n\n"
		"CPU time is the duration where the task was not switched out, else what the "
		"scheduler accounted (to a tick).\n\n"
		"--like compactsnoop prints that tool's default columns. Its PID is the "
		"process's, too. Differences: zones and results have the running kernel's own "
		"names (ZONE_ before a zone's, in capitals); a run whose zone compactsnoop mixes "
		"up or misses (order -1 on kernels where suitability is not asked for) is printed "
		"with its own.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &compaction_sampler,
	.view = &compaction_view,
	.aside = true,
	.cheap = true,
};
