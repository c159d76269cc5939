/* The reclaim probe: its hooks, and what its tables and ring become as records, with their schema.
 */
#include "probes/reclaim/reclaim.h"

#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/reclaim/reclaim_host.h"
#include "probes/reclaim/reclaim_view.h"
#include "sys/memory/lru_gen.h"

enum {
	OPT_BTF = 1,
	OPT_PREEMPTIBLE = 2, /* raw tracepoints are: see reclaim_classic.bpf.h */
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
		.counts = true,
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
		.counts = true,
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
		.counts = true,
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
		.counts = true,
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

static u32 reclaim_options(const struct capture *c)
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

static int reclaim_prepare(struct bpf_object *obj, const struct capture *c)
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

static int reclaim_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
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
	.options = reclaim_options,
	.prepare = reclaim_prepare,
	.tables =
		{
			{"stalls", sizeof(struct stall_key), table_key_tgid, stall_added},
			{"lru_lists", sizeof(struct lru_key), NULL, lru_added},
			{"kswapds", sizeof(struct kswapd_key), NULL, kswapd_added},
			{"shrinkers", sizeof(struct shrinker_key), NULL, shrinker_added},
			{"throttles", sizeof(struct throttle_key), table_key_tgid, throttle_added},
		},
	.record = reclaim_record,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_RECLAIM_AGG, struct reclaim_agg, "reclaim_agg", RECLAIM_AGG_FIELDS,
		"reclaim stalls of one kind, process and place, since the last such record"),
	RECORD_KIND(REC_RECLAIM_STALL, struct reclaim_stall, "reclaim_stall", RECLAIM_STALL_FIELDS,
		"one reclaim stall"),
	RECORD_KIND(REC_RECLAIM_LRU, struct reclaim_lru_agg, "reclaim_lru", RECLAIM_LRU_AGG_FIELDS,
		"scans of one LRU list of a node, by who scanned"),
	RECORD_KIND(REC_RECLAIM_KSWAPD, struct reclaim_kswapd, "reclaim_kswapd",
		RECLAIM_KSWAPD_FIELDS, "what the kswapd of one node did"),
	RECORD_KIND(REC_RECLAIM_SHRINKER, struct reclaim_shrinker, "reclaim_shrinker",
		RECLAIM_SHRINKER_FIELDS, "calls of one shrinker, by who called"),
	RECORD_KIND(REC_RECLAIM_THROTTLE, struct reclaim_throttle, "reclaim_throttle",
		RECLAIM_THROTTLE_FIELDS,
		"sleeps that reclaim imposed on one process, for one reason"),
	RECORD_KIND(REC_RECLAIM_WRITTEN, struct reclaim_written, "reclaim_written",
		RECLAIM_WRITTEN_FIELDS, "pages that reclaim wrote, since the last such record"),
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
