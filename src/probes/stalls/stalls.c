/* The probe of stalled allocations: its hooks, and what its tables and ring become as records, with
 * their schema. */
#include "probes/stalls/stalls.h"

#include <string.h>

#include "base/util.h"
#include "capture/gfp_names.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/tracepoint.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/stalls/stalls_settle.h"
#include "probes/stalls/stalls_view.h"
#include "sys/memory/lru_gen.h"
#include "sys/memory/zoneinfo.h"

enum {
	OPT_PREEMPTIBLE = 1, /* raw tracepoints are: see stalls_classic.bpf.h */
	OPT_EACH = 2,
	/* How many arguments three of the raw tracepoints have: see stalls_raw.bpf.h. */
	OPT_LRU_8 = 4,
	OPT_LRU_7 = 8,
	OPT_ZONE_6 = 16,
	OPT_ZONE_5 = 32,
	OPT_MIGRATED_3 = 64,
	OPT_MIGRATED_2 = 128,
};

#define METHOD(method_, only_, ...)               \
	{                                         \
		method_, {__VA_ARGS__}, {}, only_ \
	}
#define RAW(method_, ...) METHOD(method_, 0, __VA_ARGS__)
#define CLASSIC(method_, ...) METHOD(method_, OPT_PREEMPTIBLE, __VA_ARGS__)

static const struct attach_hook hooks[] = {
	{
		.data = "direct reclaim",
		.required = true,
		.needs = "the vmscan tracepoints",
		.methods =
			{
				CLASSIC("tracepoints vmscan:mm_vmscan_direct_reclaim_*",
					"tp_direct_begin", "tp_direct_end"),
				RAW("raw tracepoints mm_vmscan_direct_reclaim_*",
					"raw_direct_begin", "raw_direct_end"),
			},
	},
	{
		.data = "reclaim of control groups",
		.counts = true,
		.needs = "CONFIG_MEMCG",
		.methods =
			{
				CLASSIC("tracepoints vmscan:mm_vmscan_memcg_reclaim_*",
					"tp_memcg_begin", "tp_memcg_end"),
				RAW("raw tracepoints mm_vmscan_memcg_reclaim_*", "raw_memcg_begin",
					"raw_memcg_end"),
			},
	},
	{
		.data = "node reclaim",
		.counts = true,
		.methods =
			{
				CLASSIC("tracepoints vmscan:mm_vmscan_node_reclaim_*",
					"tp_node_begin", "tp_node_end"),
				RAW("raw tracepoints mm_vmscan_node_reclaim_*", "raw_node_begin",
					"raw_node_end"),
			},
	},
	{
		.data = "pages scanned and reclaimed",
		.counts = true,
		.methods =
			{
				CLASSIC("tracepoints vmscan:mm_vmscan_lru_*", "tp_lru_isolate",
					"tp_lru_inactive"),
				METHOD("raw tracepoints mm_vmscan_lru_* (8 arguments)", OPT_LRU_8,
					"raw_lru_isolate_8", "raw_lru_inactive"),
				METHOD("raw tracepoints mm_vmscan_lru_* (7 arguments)", OPT_LRU_7,
					"raw_lru_isolate_7", "raw_lru_inactive"),
			},
	},
	{
		.data = "direct compaction",
		.counts = true,
		.needs = "CONFIG_COMPACTION",
		.methods =
			{
				CLASSIC("tracepoints compaction:*", "tp_compact_begin",
					"tp_compact_deferred", "tp_compact_reset", "tp_zone_begin",
					"tp_zone_end"),
				METHOD("raw tracepoints mm_compaction_* (6 arguments)", OPT_ZONE_6,
					"raw_compact_begin", "raw_compact_deferred",
					"raw_compact_reset", "raw_zone_begin_5", "raw_zone_end_6",
					"raw_compact_suitable"),
				METHOD("raw tracepoints mm_compaction_* (5 arguments)", OPT_ZONE_5,
					"raw_compact_begin", "raw_compact_deferred",
					"raw_compact_reset", "raw_zone_begin_4", "raw_zone_end_5"),
			},
	},
	{
		.data = "pages migrated",
		.counts = true,
		.needs = "CONFIG_COMPACTION",
		.methods =
			{
				CLASSIC("tracepoints compaction:*migratepages",
					"tp_compact_isolated", "tp_migrated"),
				METHOD("raw tracepoints mm_compaction_*migratepages (3)",
					OPT_MIGRATED_3, "raw_compact_isolated", "raw_migrated_3"),
				METHOD("raw tracepoints mm_compaction_*migratepages (2)",
					OPT_MIGRATED_2, "raw_compact_isolated", "raw_migrated_2"),
			},
	},
	{
		.data = "retries",
		.methods =
			{
				CLASSIC("tracepoints oom:reclaim_retry_zone, compact_retry",
					"tp_reclaim_retry", "tp_compact_retry"),
				RAW("raw tracepoints reclaim_retry_zone, compact_retry",
					"raw_reclaim_retry", "raw_compact_retry"),
				CLASSIC("tracepoint oom:reclaim_retry_zone", "tp_reclaim_retry"),
				RAW("raw tracepoint reclaim_retry_zone", "raw_reclaim_retry"),
			},
	},
	{
		.data = "OOM kills",
		.methods =
			{
				CLASSIC("tracepoint oom:mark_victim", "tp_mark_victim"),
				RAW("raw tracepoint mark_victim", "raw_mark_victim"),
			},
	},
	{
		.data = "kswapd woken",
		.methods =
			{
				CLASSIC("tracepoint vmscan:mm_vmscan_wakeup_kswapd",
					"tp_wakeup_kswapd"),
				RAW("raw tracepoint mm_vmscan_wakeup_kswapd", "raw_wakeup_kswapd"),
			},
	},
	{
		.data = "throttling",
		.methods =
			{
				CLASSIC("tracepoint vmscan:mm_vmscan_throttled", "tp_throttled"),
				RAW("raw tracepoint mm_vmscan_throttled", "raw_throttled"),
				RAW("raw tracepoints writeback_*congest*", "raw_congestion_wait",
					"raw_iff_congested"),
			},
	},
	{
		.data = "address of the fault",
		.only = OPT_EACH,
		.needs = "the exceptions tracepoints (x86)",
		.methods = {RAW("raw tracepoint page_fault_user", "raw_fault")},
	},
};

static u32 arguments(void)
{
	return (tracepoint_has_argument("mm_vmscan_lru_isolate", 7) ? OPT_LRU_8 : OPT_LRU_7) |
	       (tracepoint_has_argument("mm_compaction_end", 5) ? OPT_ZONE_6 : OPT_ZONE_5) |
	       (tracepoint_has_argument("mm_compaction_migratepages", 2) ? OPT_MIGRATED_3
									 : OPT_MIGRATED_2);
}

static u32 stalls_options(const struct capture *c)
{
	return (kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : arguments()) |
	       (c->opt.each ? OPT_EACH : 0);
}

static int flag_take(void *arg, u64 mask, const char *name)
{
	struct stalls_config *config = arg;

	if (!strcmp(name, "__GFP_NORETRY"))
		config->gfp_noretry = (u32)mask;
	else if (!strcmp(name, "__GFP_RETRY_MAYFAIL") || !strcmp(name, "__GFP_THISNODE"))
		config->gfp_final |= (u32)mask;
	else if (!strcmp(name, "__GFP_DIRECT_RECLAIM"))
		config->gfp_direct = (u32)mask;
	return 0;
}

static void flags_find(struct stalls_config *config)
{
	static struct stalls_config known;
	const char *method;

	if (!known.gfp_direct) /* once: every attempt to load the programs asks */
		gfp_read(flag_take, &known, &method);
	config->gfp_direct = known.gfp_direct;
	config->gfp_noretry = known.gfp_noretry;
	config->gfp_final = known.gfp_final;
}

#define STORIES 4096
#define STEP_KEYS 1024     /* kinds, results and orders: more than there can be */
#define THREAD_BYTES 16384 /* x86-64 before 5.15; KASAN kernels have more */

static int stalls_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct stalls_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		.thread_bytes = THREAD_BYTES,
		.lru_gen = lru_gen_enabled(),
		.suitable = (stalls_options(c) & OPT_ZONE_6) != 0,
	};
	int rc = attach_set_entries(obj, "steps", STEP_KEYS);

	flags_find(&config);
	stalls_settle_with(&config);
	if (!rc && c->opt.each)
		rc = attach_set_entries(obj, "story", STORIES);
	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

static int stall_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct stalls_key *k = key;
	struct stalls_agg r = REC_INIT(struct stalls_agg, REC_STALLS_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.gfp = k->gfp;
	r.syscall = k->syscall;
	r.node = k->node;
	r.kind = k->kind;
	r.order = k->order;
	r.trigger = k->trigger;
	r.outcome = k->outcome;
	table_take_times(&r, v);
	r.reclaim_ns = v->sum[STALLS_RECLAIM_NS];
	r.compact_ns = v->sum[STALLS_COMPACT_NS];
	r.throttled_ns = v->sum[STALLS_THROTTLED_NS];
	r.scanned = v->sum[STALLS_SCANNED];
	r.reclaimed = v->sum[STALLS_RECLAIMED];
	r.migrated = v->sum[STALLS_MIGRATED];
	r.retries = v->sum[STALLS_RETRIES];
	return capture_emit(c, &r.h);
}

static int step_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct stalls_step_key *k = key;
	struct stalls_step_agg r = REC_INIT(struct stalls_step_agg, REC_STALLS_STEP, 0);

	(void)stacks;
	r.kind = k->kind;
	r.mode = k->mode;
	r.result = k->result;
	r.order = k->order;
	table_take_times(&r, v);
	r.scanned = v->sum[STALLS_STEP_SCANNED];
	r.done = v->sum[STALLS_STEP_DONE];
	r.failed = v->sum[STALLS_STEP_FAILED];
	r.wait_ns = v->sum[STALLS_STEP_WAIT_NS];
	return capture_emit(c, &r.h);
}

static int stalls_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct stalls_event e = *(const struct stalls_event *)rec;

	if (rec->kind != REC_STALLS_EVENT || rec->size != sizeof(e))
		return 0;
	return stalls_send(c, stacks, &e);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = stalls_options,
	.prepare = stalls_prepare,
	.tables =
		{
			{"stalls", sizeof(struct stalls_key), table_key_tgid, stall_added},
			{"steps", sizeof(struct stalls_step_key), NULL, step_added,
				.derived = true},
		},
	.record = stalls_record,
	.settle = stalls_settle,
};

/* Compaction tells a zone by its first page frame. */
static int stalls_zones_send(struct capture *c)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	char name[40];
	int rc = zoneinfo_read(&info);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	vec_each (z, &info.zones) {
		snprintf(name, sizeof(name), "node %u %.15s", z->id.node, z->id.zone);
		if (z->present_pages && !rc)
			rc = capture_enum(c, STALLS_ZONE_SET, z->start_pfn, name);
	}
	return rc;
}

static int stalls_sampler_open(struct capture *c, void *state, struct err *err)
{
	(void)state;
	(void)err;
	gfp_tell(c, true);
	return stalls_zones_send(c);
}

static int stalls_sampler_sample(struct capture *c, void *state)
{
	(void)c;
	(void)state;
	return 0;
}

static int stalls_sampler_survey(struct capture *c)
{
	return gfp_tell(c, false);
}

static const struct probe_sampler sampler = {
	.open = stalls_sampler_open,
	.sample = stalls_sampler_sample,
	.survey = stalls_sampler_survey,
};

#define STEPS_FIELD(name_, member_, type_, unit_, help_)                                 \
	{                                                                                \
		.name = (name_), .offset = offsetof(struct stalls_event, steps.member_), \
		.type = (type_), .unit = (unit_), .count = STALLS_ROOM, .help = (help_)  \
	}

static const struct field event_fields[] = {
	FIELD(struct stalls_event, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct stalls_event, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct stalls_event, ustack, FIELD_U32, UNIT_STACK, "code path of the first step"),
	FIELD(struct stalls_event, start_ns, FIELD_U64, UNIT_NS, "when it began"),
	FIELD(struct stalls_event, ns, FIELD_U64, UNIT_NS, "from then to the end of its last step"),
	FIELD(struct stalls_event, reclaim_ns, FIELD_U64, UNIT_NS, "of it, in reclaim"),
	FIELD(struct stalls_event, compact_ns, FIELD_U64, UNIT_NS, "of it, in compaction"),
	FIELD(struct stalls_event, throttled_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	FIELD(struct stalls_event, scanned, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_event, reclaimed, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_event, migrated, FIELD_U64, UNIT_PAGES, "by compaction"),
	FIELD(struct stalls_event, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct stalls_event, address, FIELD_U64, UNIT_HEX, "that faulted; 0: none known"),
	FIELD(struct stalls_event, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct stalls_event, syscall, FIELD_S32, UNIT_ID, "number; -1: not in one"),
	FIELD(struct stalls_event, node, FIELD_S32, UNIT_ID, STALLS_NODE_HELP),
	FIELD(struct stalls_event, retries, FIELD_U32, UNIT_COUNT, "rounds after the first"),
	FIELD(struct stalls_event, n_steps, FIELD_U32, UNIT_COUNT, "steps, also those summed up"),
	FIELD(struct stalls_event, mapping, FIELD_U32, UNIT_STRING, "what the address is in"),
	FIELD(struct stalls_event, kind, FIELD_U8, UNIT_ID, STALLS_KIND_HELP),
	FIELD(struct stalls_event, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct stalls_event, trigger, FIELD_U8, UNIT_ID, STALLS_TRIGGER_HELP),
	FIELD(struct stalls_event, outcome, FIELD_U8, UNIT_ID, STALLS_OUTCOME_HELP),
	FIELD_ARRAY(struct stalls_event, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	STEPS_FIELD("step_start_ns", start_ns, FIELD_U64, UNIT_NS,
		"when each step began, from start_ns on"),
	STEPS_FIELD("step_ns", ns, FIELD_U64, UNIT_NS, "its time"),
	STEPS_FIELD("step_wait_ns", wait_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	STEPS_FIELD("step_zone", zone, FIELD_U64, UNIT_HEX,
		"compaction: first page frame of the last zone compacted (enum zone_start)"),
	STEPS_FIELD("step_scanned", scanned, FIELD_U32, UNIT_PAGES, "pages scanned"),
	STEPS_FIELD("step_done", done, FIELD_U32, UNIT_PAGES, STALLS_DONE_HELP),
	STEPS_FIELD("step_failed", failed, FIELD_U32, UNIT_PAGES, "not migrated by compaction"),
	STEPS_FIELD("step_kind", kind, FIELD_U8, UNIT_ID, STALLS_STEP_HELP),
	STEPS_FIELD("step_mode", mode, FIELD_U8, UNIT_ID,
		"compaction: 0 sync full, 1 sync light, 2 async"),
	STEPS_FIELD("step_result", result, FIELD_U8, UNIT_ID, STALLS_RESULT_HELP),
	STEPS_FIELD("step_zones", zones, FIELD_U8, UNIT_COUNT,
		"zones compacted; of a sum: how many steps, at most 255"),
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_STALLS_AGG, struct stalls_agg, "stalls_agg", STALLS_AGG_FIELDS,
		"stalls of one process, cause and outcome, since the last such record"),
	KIND(REC_STALLS_EVENT, struct stalls_event, "stalls_event", event_fields, "one stall"),
	RECORD_KIND(REC_STALLS_STEP, struct stalls_step_agg, "stalls_step", STALLS_STEP_AGG_FIELDS,
		"steps of one kind and result, since the last such record"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy stalls --for 3s\n"
	"memwhy stalls - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"3.2 s from 2026-11-21 16:39:49 UTC - events: stalls 147 - none lost\n"
	"cost: 2.0 % of one CPU, BPF 334 us (339 ns a run), RSS 5.45 MiB\n"
	"\n"
	"Stalled allocations\n"
	"  PID  COMM  KIND    STALLS    TIME      P50      P99      MAX  SHARE  RECLAIM  "
	"COMPACTION\n"
	"31578  dd    charge     147  164 ms  30.4 us  30.9 ms  94.2 ms  5.2 %   164 ms        0 "
	"ns\n"
	"... no room for RECLAIMED, MIGRATED, RETRIES, FAILED; -o wide shows all\n"
	"\n"
	"What they did meanwhile\n"
	"STEP            MODE  RESULT    STATUS  STEPS    TIME      P50      P99      MAX  SCANNED "
	" RECLAIMED\n"
	"cgroup reclaim  -     progress  -         147  164 ms  30.4 us  30.9 ms  94.2 ms   64.5 k "
	"    37.6 k\n"
	"... no room for MIGRATED, NOT MIGRATED, THROTTLED; -o wide shows all\n"
	"\n"
	"$ memwhy stalls --each -c dd --limit 3 --for 3s\n"
	"    TIME      PID  COMM              TRIGGER                  ORDER  DURATION  OUTCOME\n"
	"  1.29 s    31578  dd                syscall write                0   94.2 ms  page\n"
	"    cgroup reclaim 94.2 ms, 26370 scanned, 258 reclaimed (slept 94.2 ms)\n"
	"  1.43 s    31578  dd                syscall write                0   59.1 us  page\n"
	"    cgroup reclaim 59.1 us, 256 scanned, 256 reclaimed\n"
	"  1.43 s    31578  dd                syscall write                0   37.9 us  page\n"
	"    cgroup reclaim 37.9 us, 256 scanned, 256 reclaimed\n"
	"\n"
	"3.1 s from 2026-11-21 16:39:49 UTC - events: stalls 147 - none lost\n"
	"cost: 1.5 % of one CPU, BPF about 1.38 ms (72 ns a run), RSS 10.9 MiB\n";

static const char *const examples[] = {
	"memwhy stalls --for 10s",
	"who waited for memory in ten seconds, how long, and for what",
	"memwhy stalls --by trigger,order",
	"what the allocations that stall are for",
	"memwhy stalls --each --min 10ms",
	"the story of each stall of at least 10 ms, as it ends",
	"memwhy stalls --stacks -p 1234",
	"the code paths of one process that stall",
	"memwhy stalls --by cgroup,kind",
	"which control groups wait at their limit",
	NULL,
};

const struct probe probe_stalls = {
	.name = "stalls",
	.summary = "Who stalls when allocating memory, and what happened inside?",
	.details =
		"One stall is one allocation of pages, or one charge to a control group at its "
		"limit, that did not get what it wanted at once and had to do something about it: "
		"reclaim, compaction, trying again, the OOM killer. Each of these is a step. The "
		"time of a stall is from the start of its first step to the end of its last; "
		"searching the free lists before and after fires no event and is not "
		"included.\n\n"
		"No event marks a stall as a whole: steps are joined by the order in which the "
		"allocator takes them. Reclaim that follows reclaim belongs to the same "
		"allocation only if the kernel announced a retry in between. A retry that finds a "
		"page at once, followed by another stall of the same thread, order and flags "
		"within the same system call, without a sleep in between, counts as one.\n\n"
		"Steps are exact: direct reclaim is what allocstall_* counts in /proc/vmstat, "
		"compaction what compact_stall counts. Only one event reports the outcome; "
		"without it, the outcome follows from the flags: small allocations do not fail "
		"unless they asked to.\n\n"
		"A stall is reported when its thread goes on to the next, when the thread has "
		"been quiet for 5 s (with --each, 1 s), or at the end.\n\n"
		"A task that waits for kswapd before it reclaims (pgscan_direct_throttle) is not "
		"seen: `memwhy reclaim` counts these.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &sampler,
	.view = &stalls_view,
	.cheap = true,
};
