/* The reclaim probe: its hooks, and what its tables and ring become as records, with their schema.
 */
#include "probes/reclaim/reclaim.h"

#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/reclaim/reclaim_host.h"
#include "probes/reclaim/reclaim_view.h"
#include "sys/lru_gen.h"

enum {
	OPT_BTF = 1,
	OPT_PREEMPTIBLE = 2, /* raw tracepoints are: see classic.bpf.h */
};

static const struct attach_hook hooks[] = {
	{
		.data = "direct reclaim",
		.required = true,
		.needs = "the vmscan tracepoints",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_direct_reclaim_*",
					{"tp_direct_begin", "tp_direct_end"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_direct_reclaim_*",
					{"raw_direct_begin", "raw_direct_end"}, {}, 0},
			},
	},
	{
		.data = "kswapd",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_kswapd_*, balance_pgdat",
					{"tp_kswapd_wake", "tp_kswapd_sleep", "tp_balance_begin",
						"tp_balance_end"},
					{}, OPT_PREEMPTIBLE},
				{"tracepoints vmscan:mm_vmscan_kswapd_*",
					{"tp_kswapd_wake", "tp_kswapd_sleep"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_kswapd_*",
					{"raw_kswapd_wake", "raw_kswapd_sleep"}, {}, 0},
			},
	},
	{
		.data = "reclaim of control groups",
		.needs = "CONFIG_MEMCG",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_memcg_*",
					{"tp_memcg_begin", "tp_memcg_end", "tp_softlimit_begin",
						"tp_softlimit_end"},
					{}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_memcg_*",
					{"raw_memcg_begin", "raw_memcg_end", "raw_softlimit_begin",
						"raw_softlimit_end"},
					{}, 0},
			},
	},
	{
		.data = "node reclaim",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_node_reclaim_*",
					{"tp_node_begin", "tp_node_end"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_node_reclaim_*",
					{"raw_node_begin", "raw_node_end"}, {}, 0},
			},
	},
	{
		.data = "pages scanned and reclaimed",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_lru_*",
					{"tp_lru_isolate", "tp_lru_inactive", "tp_lru_active"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_lru_*",
					{"raw_lru_isolate", "raw_lru_inactive", "raw_lru_active"},
					{}, OPT_BTF},
				{"raw tracepoints mm_vmscan_lru_* (8 arguments)",
					{"raw_lru_isolate_8", "raw_lru_inactive", "raw_lru_active"},
					{}, 0},
				{"raw tracepoints mm_vmscan_lru_* (7 arguments)",
					{"raw_lru_isolate_7", "raw_lru_inactive", "raw_lru_active"},
					{}, 0},
			},
	},
	{
		.data = "shrinkers",
		.methods =
			{
				{"tracepoints vmscan:mm_shrink_slab_*",
					{"tp_shrinker_start", "tp_shrinker_end"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoints mm_shrink_slab_*",
					{"raw_shrinker_start", "raw_shrinker_end"}, {}, 0},
			},
	},
	{
		.data = "throttling",
		.methods =
			{
				{"tracepoint vmscan:mm_vmscan_throttled", {"tp_throttled"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoint mm_vmscan_throttled", {"raw_throttled"}, {}, 0},
				{"raw tracepoints writeback_*congest*",
					{"raw_congestion_wait", "raw_iff_congested"}, {}, 0},
			},
	},
};

static u32 options(const struct capture *c)
{
	(void)c;
	return (kbtf_available() ? OPT_BTF : 0) | (kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : 0);
}

/* The tables whose keys are few are made small: an entry takes room for every CPU. */
static int tables_size(struct bpf_object *obj)
{
	u32 nodes = reclaim_nodes();
	int rc = attach_set_entries(obj, "lru_lists", RECLAIM_KIND_N * RECLAIM_LRU_N * (nodes + 1));

	if (!rc)
		rc = attach_set_entries(obj, "kswapds", nodes);
	return rc ? rc : attach_set_entries(obj, "shrinkers", 512);
}

static int prepare(struct bpf_object *obj, const struct capture *c)
{
	struct reclaim_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		.free_pages = c->opt.each ? reclaim_free_pages_address() : 0,
		.lru_gen = lru_gen_enabled(),
	};
	int rc = tables_size(obj);

	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

static int stall_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct stall_key *k = key;
	struct reclaim_agg r = REC_INIT(struct reclaim_agg, REC_RECLAIM_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.gfp = k->gfp;
	r.kind = k->kind;
	r.order = k->order;
	r.node = k->node;
	table_take_times(&r, v);
	r.scanned = v->sum[STALL_SCANNED];
	r.reclaimed = v->sum[STALL_RECLAIMED];
	r.shrinker_ns = v->sum[STALL_SHRINKER_NS];
	return capture_emit(c, &r.h);
}

static int lru_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct lru_key *k = key;
	struct reclaim_lru_agg r = REC_INIT(struct reclaim_lru_agg, REC_RECLAIM_LRU, 0);
	bool active = k->lru == RECLAIM_ACTIVE_ANON || k->lru == RECLAIM_ACTIVE_FILE;

	(void)stacks;
	r.node = k->node;
	r.kind = k->kind;
	r.lru = k->lru;
	r.events = v->count;
	r.examined = v->sum[LRU_EXAMINED];
	r.taken = v->sum[LRU_TAKEN];
	r.scanned = k->lru_gen && !active ? r.taken : r.examined;
	*(active ? &r.deactivated : &r.reclaimed) = v->sum[LRU_RECLAIMED];
	return capture_emit(c, &r.h);
}

static int kswapd_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	struct reclaim_kswapd r = REC_INIT(struct reclaim_kswapd, REC_RECLAIM_KSWAPD, 0);

	(void)stacks;
	r.node = ((const struct kswapd_key *)key)->node;
	r.runs = v->count - v->timed;
	r.sleeps = v->timed;
	r.awake_ns = v->total_ns;
	r.max_ns = v->max_ns;
	r.cpu_ns = v->sum[KSWAPD_CPU_NS];
	r.balance_ns = v->sum[KSWAPD_BALANCE_NS];
	memcpy(r.hist, v->hist, sizeof(r.hist));
	return capture_emit(c, &r.h);
}

static int shrinker_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct shrinker_key *k = key;
	struct reclaim_shrinker r = REC_INIT(struct reclaim_shrinker, REC_RECLAIM_SHRINKER, 0);

	(void)stacks;
	r.function = k->function;
	r.frame = k->function ? names_kernel_symbol(c->names, k->function) : 0;
	r.kind = k->kind;
	table_take_times(&r, v);
	r.freed = v->sum[SHRINKER_FREED];
	r.scanned = v->sum[SHRINKER_SCANNED];
	return capture_emit(c, &r.h);
}

static int throttle_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct agg_value *v = value;
	const struct throttle_key *k = key;
	const struct stall_key *s = &k->stall;
	struct reclaim_throttle r = REC_INIT(struct reclaim_throttle, REC_RECLAIM_THROTTLE, 0);

	names_added(c->names, stacks, s, v, &r);
	r.gfp = s->gfp;
	r.kind = s->kind;
	r.order = s->order;
	r.node = s->node;
	r.reason = k->reason;
	table_take_times(&r, v);
	return capture_emit(c, &r.h);
}

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct reclaim_stall e = *(const struct reclaim_stall *)rec;

	if (rec->kind != REC_RECLAIM_STALL || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = options,
	.prepare = prepare,
	.tables =
		{
			{"stalls", sizeof(struct stall_key), table_key_tgid, stall_added},
			{"lru_lists", sizeof(struct lru_key), NULL, lru_added},
			{"kswapds", sizeof(struct kswapd_key), NULL, kswapd_added},
			{"shrinkers", sizeof(struct shrinker_key), NULL, shrinker_added},
			{"throttles", sizeof(struct throttle_key), table_key_tgid, throttle_added},
		},
	.record = record,
};

#define KIND_HELP "1 direct, 2 control group, 3 its soft limit, 4 node, 5 kswapd, 0 other"
#define NODE_HELP "NUMA node, where reclaim was of one node; -1: it was not"
#define HIST_HELP "log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"

static const struct field agg_fields[] = {
	FIELD(struct reclaim_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct reclaim_agg, stack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_agg, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_agg, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_agg, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_agg, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct reclaim_agg, count, FIELD_U64, UNIT_COUNT, "stalls that ended"),
	FIELD(struct reclaim_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_agg, scanned, FIELD_U64, UNIT_PAGES, "as pgscan_* counts"),
	FIELD(struct reclaim_agg, reclaimed, FIELD_U64, UNIT_PAGES,
		"as pgsteal_* counts; as reclaim returned where the LRU tells nothing"),
	FIELD(struct reclaim_agg, shrinker_ns, FIELD_U64, UNIT_NS, "time in shrinkers"),
	FIELD(struct reclaim_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct reclaim_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct reclaim_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field stall_fields[] = {
	FIELD(struct reclaim_stall, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_stall, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct reclaim_stall, ustack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_stall, ns, FIELD_U64, UNIT_NS, "duration, up to the record's time"),
	FIELD(struct reclaim_stall, scanned, FIELD_U64, UNIT_PAGES, "as pgscan_* counts"),
	FIELD(struct reclaim_stall, reclaimed, FIELD_U64, UNIT_PAGES,
		"as pgsteal_* counts; returned where the LRU tells nothing"),
	FIELD(struct reclaim_stall, returned, FIELD_U64, UNIT_PAGES,
		"reclaimed, as reported to the allocator: with the pages of slabs"),
	FIELD(struct reclaim_stall, shrinker_ns, FIELD_U64, UNIT_NS, "of it, in shrinkers"),
	FIELD(struct reclaim_stall, throttled_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	FIELD(struct reclaim_stall, free_pages, FIELD_U64, UNIT_PAGES,
		"free in all zones when it began; 0: not known"),
	FIELD(struct reclaim_stall, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct reclaim_stall, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_stall, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_stall, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_stall, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD_ARRAY(struct reclaim_stall, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field lru_fields[] = {
	FIELD(struct reclaim_lru_agg, node, FIELD_S32, UNIT_ID, "NUMA node; -1: not known"),
	FIELD(struct reclaim_lru_agg, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_lru_agg, lru, FIELD_U8, UNIT_ID,
		"0 inactive anon, 1 active anon, 2 inactive file, 3 active file"),
	FIELD(struct reclaim_lru_agg, events, FIELD_U64, UNIT_COUNT, "scans that were counted"),
	FIELD(struct reclaim_lru_agg, examined, FIELD_U64, UNIT_PAGES, "looked at on the list"),
	FIELD(struct reclaim_lru_agg, taken, FIELD_U64, UNIT_PAGES, "taken off the list"),
	FIELD(struct reclaim_lru_agg, scanned, FIELD_U64, UNIT_PAGES,
		"as pgscan_* (inactive) and pgrefill (active) count"),
	FIELD(struct reclaim_lru_agg, reclaimed, FIELD_U64, UNIT_PAGES, "as pgsteal_* counts"),
	FIELD(struct reclaim_lru_agg, deactivated, FIELD_U64, UNIT_PAGES,
		"moved from the active to the inactive list"),
};

static const struct field kswapd_fields[] = {
	FIELD(struct reclaim_kswapd, node, FIELD_U32, UNIT_ID, "NUMA node"),
	FIELD(struct reclaim_kswapd, runs, FIELD_U64, UNIT_COUNT, "runs, as pageoutrun counts"),
	FIELD(struct reclaim_kswapd, sleeps, FIELD_U64, UNIT_COUNT, "times it went to sleep"),
	FIELD(struct reclaim_kswapd, awake_ns, FIELD_U64, UNIT_NS,
		"time from waking to sleeping, with the nap of 100 ms before"),
	FIELD(struct reclaim_kswapd, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_kswapd, cpu_ns, FIELD_U64, UNIT_NS, "of it, on a CPU"),
	FIELD(struct reclaim_kswapd, balance_ns, FIELD_U64, UNIT_NS,
		"of it, in balance_pgdat; 0: not known"),
	FIELD_ARRAY(struct reclaim_kswapd, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field shrinker_fields[] = {
	FIELD(struct reclaim_shrinker, function, FIELD_U64, UNIT_HEX, "address of scan_objects"),
	FIELD(struct reclaim_shrinker, frame, FIELD_U32, UNIT_ID, "frame of function"),
	FIELD(struct reclaim_shrinker, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_shrinker, count, FIELD_U64, UNIT_COUNT, "calls"),
	FIELD(struct reclaim_shrinker, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_shrinker, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_shrinker, freed, FIELD_U64, UNIT_COUNT, "objects freed"),
	FIELD(struct reclaim_shrinker, scanned, FIELD_U64, UNIT_COUNT, "objects scanned"),
	FIELD_ARRAY(struct reclaim_shrinker, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field throttle_fields[] = {
	FIELD(struct reclaim_throttle, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct reclaim_throttle, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct reclaim_throttle, stack, FIELD_U32, UNIT_STACK, "where reclaim was entered"),
	FIELD(struct reclaim_throttle, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct reclaim_throttle, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct reclaim_throttle, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct reclaim_throttle, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct reclaim_throttle, reason, FIELD_U32, UNIT_ID,
		"0 writeback, 1 isolated, 2 no progress, 3 congested, 32 congestion, 33 kswapd"),
	FIELD(struct reclaim_throttle, count, FIELD_U64, UNIT_COUNT, "times put to sleep"),
	FIELD(struct reclaim_throttle, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct reclaim_throttle, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct reclaim_throttle, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct reclaim_throttle, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct reclaim_throttle, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

static const struct field written_fields[] = {
	FIELD(struct reclaim_written, pages, FIELD_U64, UNIT_PAGES,
		"pages that reclaim sent to a disk, of the whole machine (nr_vmscan_write)"),
};

static const struct kind kinds[] = {
	KIND(REC_RECLAIM_AGG, struct reclaim_agg, "reclaim_agg", agg_fields,
		"reclaim stalls of one kind, process and place, since the last such record"),
	KIND(REC_RECLAIM_STALL, struct reclaim_stall, "reclaim_stall", stall_fields,
		"one reclaim stall"),
	KIND(REC_RECLAIM_LRU, struct reclaim_lru_agg, "reclaim_lru", lru_fields,
		"scans of one LRU list of a node, by who scanned"),
	KIND(REC_RECLAIM_KSWAPD, struct reclaim_kswapd, "reclaim_kswapd", kswapd_fields,
		"what the kswapd of one node did"),
	KIND(REC_RECLAIM_SHRINKER, struct reclaim_shrinker, "reclaim_shrinker", shrinker_fields,
		"calls of one shrinker, by who called"),
	KIND(REC_RECLAIM_THROTTLE, struct reclaim_throttle, "reclaim_throttle", throttle_fields,
		"sleeps that reclaim imposed on one process, for one reason"),
	KIND(REC_RECLAIM_WRITTEN, struct reclaim_written, "reclaim_written", written_fields,
		"pages that reclaim wrote, since the last such record"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy reclaim --for 2s --limit 3\n"
	"memwhy reclaim - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"2.2 s from 2026-11-21 19:46:38 UTC - events: reclaim 6,421 - none lost\n"
	"cost: 4.0 % of one CPU, BPF 1.89 ms (146 ns a run), RSS 10.0 MiB\n"
	"\n"
	"Reclaim stalls\n"
	"  PID  COMM        KIND   STALLS     TIME      P50      P99      MAX  SCANNED  RECLAIMED  "
	"SHRINKERS\n"
	"31588  bench_load  memcg     772  77.3 ms  7.00 us  2.99 ms  12.3 ms   65.4 k     60.7 k  "
	"   601 us\n"
	"... no room for THROTTLED; -o wide shows all\n"
	"\n"
	"LRU lists scanned\n"
	"BY     LRU            NODE  SCANNED   TAKEN  RECLAIMED  DEACTIVATED  EFFICIENCY\n"
	"memcg  inactive_file     0   65,420  65,420     60,746            -      92.9 %\n"
	"\n"
	"Shrinkers\n"
	"SHRINKER           BY     CALLS    TIME      MAX  FREED  SCANNED\n"
	"scan_shadow_nodes  memcg  1,744  315 us   915 ns      0        0\n"
	"super_cache_scan   memcg  1,763  286 us  15.4 us      8       19\n"
	"\n"
	"Throttled\n"
	"REASON     KIND     PID  COMM        COUNT     TIME      MAX\n"
	"writeback  memcg  31588  bench_load      4  36.0 ms  12.0 ms\n";

static const char *const examples[] = {
	"memwhy reclaim --for 10s",
	"who had to free memory before it got some, in ten seconds",
	"memwhy reclaim --by gfp,order",
	"for what allocations",
	"memwhy reclaim --stacks -p 1234",
	"the code paths of one process that stall",
	"memwhy reclaim --each --min 10ms",
	"each stall of at least 10 ms as it happens",
	"memwhy reclaim --by cgroup",
	"which control groups reclaim at their limit",
	"memwhy reclaim --like drsnoop",
	"the lines of an older tool, for its scripts; vmscan is there too",
	NULL,
};

const struct probe probe_reclaim = {
	.name = "reclaim",
	.summary = "What stalls in reclaim: who, how long, and what it got for it",
	.details =
		"Counts every time a task had to free memory itself, and times it: direct reclaim "
		"(no free page: allocstall_* in /proc/vmstat), reclaim of a control group at its "
		"limit, and node reclaim, each named so. Beside it stand what was scanned and "
		"reclaimed on the LRU lists by whom, kswapd's time awake, the time in shrinkers, "
		"and the sleeps that reclaim imposes.\n\n"
		"Pages scanned and reclaimed are those that pgscan_* and pgsteal_* count: of "
		"direct and node reclaim, and khugepaged's own counters with them. Kernels up to "
		"6.18 leave the reclaim of control groups out of these (it is in their "
		"memory.stat); 7.3 counts it there too.\n\n"
		"A task that waits for kswapd before it reclaims (pgscan_direct_throttle) is "
		"counted in the table of throttling, without its time, since no event reports it.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &reclaim_sampler,
	.view = &reclaim_view,
};
