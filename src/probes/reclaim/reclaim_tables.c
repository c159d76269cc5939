/* See reclaim_tables.h. */
#include "probes/reclaim/reclaim_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/reclaim/reclaim_view.h"

const char *reclaim_kind_name(u8 kind)
{
	static const char *const names[RECLAIM_KIND_N] = {
		"other",
		"direct",
		"memcg",
		"soft limit",
		"node",
		"kswapd",
	};

	return kind < RECLAIM_KIND_N ? names[kind] : "other";
}

const char *reclaim_lru_name(u8 lru)
{
	static const char *const names[RECLAIM_LRU_N] = {
		"inactive_anon",
		"active_anon",
		"inactive_file",
		"active_file",
		"unevictable",
	};

	return lru < RECLAIM_LRU_N ? names[lru] : "unknown";
}

const char *reclaim_throttle_name(u32 reason)
{
	switch (reason) {
	case RECLAIM_THROTTLE_WRITEBACK:
		return "writeback";
	case RECLAIM_THROTTLE_ISOLATED:
		return "isolated";
	case RECLAIM_THROTTLE_NOPROGRESS:
		return "no progress";
	case RECLAIM_THROTTLE_CONGESTED:
		return "congested";
	case RECLAIM_THROTTLE_CONGESTION:
		return "congestion";
	case RECLAIM_THROTTLE_KSWAPD:
		return "kswapd";
	default:
		return "unknown";
	}
}

/* Keys are zeroed as a whole before they are filled: groups compare bytes. */
struct lru_group {
	s32 node;
	u8 kind, lru;
	u8 reserved[2];
};

struct lru_sums {
	u64 examined, taken, scanned, reclaimed, deactivated;
};

struct kswapd_sums {
	u64 runs, sleeps, awake_ns, max_ns, cpu_ns, balance_ns;
};

struct shrinker_group {
	u64 function;
	u32 frame;
	u32 kind;
};

struct shrinker_sums {
	u64 count, total_ns, max_ns, freed, scanned;
};

struct throttle_group {
	u32 tgid;
	u32 reason;
	u32 kind;
};

struct throttle_sums {
	u64 count, total_ns, max_ns;
};

void reclaim_tables_init(struct reclaim_tables *t)
{
	groups_init(&t->lru, sizeof(struct lru_group), sizeof(struct lru_sums));
	groups_init(&t->kswapd, sizeof(u32), sizeof(struct kswapd_sums));
	groups_init(&t->shrinkers, sizeof(struct shrinker_group), sizeof(struct shrinker_sums));
	groups_init(&t->throttle, sizeof(struct throttle_group), sizeof(struct throttle_sums));
}

static int lru_feed(struct groups *g, const struct reclaim_lru_agg *r)
{
	struct lru_group key = {.node = r->node, .kind = r->kind, .lru = r->lru};
	struct lru_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->examined += r->examined;
	s->taken += r->taken;
	s->scanned += r->scanned;
	s->reclaimed += r->reclaimed;
	s->deactivated += r->deactivated;
	return 0;
}

static int kswapd_feed(struct groups *g, const struct reclaim_kswapd *r)
{
	struct kswapd_sums *s = groups_get(g, &r->node);

	if (!s)
		return -ENOMEM;
	s->runs += r->runs;
	s->sleeps += r->sleeps;
	s->awake_ns += r->awake_ns;
	s->max_ns = MAX(s->max_ns, r->max_ns);
	s->cpu_ns += r->cpu_ns;
	s->balance_ns += r->balance_ns;
	return 0;
}

static int shrinker_feed(struct groups *g, const struct reclaim_shrinker *r)
{
	struct shrinker_group key = {.function = r->function, .frame = r->frame, .kind = r->kind};
	struct shrinker_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->total_ns += r->total_ns;
	s->max_ns = MAX(s->max_ns, r->max_ns);
	s->freed += r->freed;
	s->scanned += r->scanned;
	return 0;
}

static int throttle_feed(struct groups *g, const struct reclaim_throttle *r)
{
	struct throttle_group key = {.tgid = r->tgid, .reason = r->reason, .kind = r->kind};
	struct throttle_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->total_ns += r->total_ns;
	s->max_ns = MAX(s->max_ns, r->max_ns);
	return 0;
}

int reclaim_tables_feed(struct reclaim_tables *t, const struct rec *r)
{
	switch (r->kind) {
	case REC_RECLAIM_LRU:
		return lru_feed(&t->lru, (const struct reclaim_lru_agg *)r);
	case REC_RECLAIM_KSWAPD:
		return kswapd_feed(&t->kswapd, (const struct reclaim_kswapd *)r);
	case REC_RECLAIM_SHRINKER:
		return shrinker_feed(&t->shrinkers, (const struct reclaim_shrinker *)r);
	case REC_RECLAIM_THROTTLE:
		return throttle_feed(&t->throttle, (const struct reclaim_throttle *)r);
	default:
		return 0;
	}
}

/* Members of keys. */
static CELL_GET(kind_cell)
{
	return cell_text(reclaim_kind_name(*((const u8 *)row->key + offset)));
}

static CELL_GET(lru_cell)
{
	return cell_text(reclaim_lru_name(((const struct lru_group *)row->key)->lru));
}

static bool list_is_active(const struct row_of *row)
{
	u8 lru = ((const struct lru_group *)row->key)->lru;

	return lru == RECLAIM_ACTIVE_ANON || lru == RECLAIM_ACTIVE_FILE;
}

static CELL_GET(reclaimed_cell)
{
	return list_is_active(row) ? (struct cell){} : cell_of_u64(r, row, offset);
}

static CELL_GET(deactivated_cell)
{
	return list_is_active(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(efficiency_cell)
{
	const struct lru_sums *s = row->sums;

	return list_is_active(row) ? (struct cell){} : cell_ratio(s->reclaimed, s->examined);
}

static const struct cell_column lru_columns[] = {
	CELL_FROM(0, struct lru_group, kind, "kind", "BY", CELL_TEXT, UNIT_NONE, 0,
		"who scanned: direct, memcg, soft limit or node reclaim, or kswapd", kind_cell),
	CELL_BY(0, "lru", "LRU", CELL_TEXT, UNIT_NONE, 0, "list of pages", lru_cell),
	CELL_FROM(0, struct lru_group, node, "node", "NODE", CELL_U64, UNIT_ID, 0,
		"NUMA node of the list; unknown where no page was taken", cell_of_node),
	CELL_NUMBER(struct lru_sums, scanned, "scanned_pages", "SCANNED", UNIT_PAGES, COL_WEIGHT,
		"as the kernel counts in pgscan_* (inactive lists) and pgrefill (active lists)"),
	CELL_NUMBER(struct lru_sums, examined, "examined_pages", "EXAMINED", UNIT_PAGES, COL_WIDE,
		"looked at; more than scanned where the multi-generational LRU sorts pages on the "
		"way"),
	CELL_NUMBER(struct lru_sums, taken, "taken_pages", "TAKEN", UNIT_PAGES, 0,
		"of these, taken off the list to be tried"),
	CELL_FROM(0, struct lru_sums, reclaimed, "reclaimed_pages", "RECLAIMED", CELL_U64,
		UNIT_PAGES, 0, "of these, freed (pgsteal_*)", reclaimed_cell),
	CELL_FROM(0, struct lru_sums, deactivated, "deactivated_pages", "DEACTIVATED", CELL_U64,
		UNIT_PAGES, 0, "moved from the active to the inactive list", deactivated_cell),
	CELL_BY(0, "efficiency_ratio", "EFFICIENCY", CELL_F64, UNIT_RATIO, 0,
		"reclaimed / examined: near 1 the list ends in cold pages, near 0 the scan is in "
		"vain",
		efficiency_cell),
};

static bool list_is_shown(const struct row_of *row)
{
	const struct lru_sums *s = row->sums;

	return s->examined || s->reclaimed; /* not an empty list */
}

static CELL_GET(awake_ratio_cell)
{
	return cell_ratio(
		((const struct kswapd_sums *)row->sums)->awake_ns, stream_interval_ns(r->stream));
}

static const struct cell_column kswapd_columns[] = {
	{0, {"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"}, cell_of_key_u32, 0},
	CELL_NUMBER(struct kswapd_sums, runs, "runs", "RUNS", UNIT_COUNT, COL_WEIGHT,
		"times it set out to balance the node (pageoutrun in /proc/vmstat)"),
	CELL_NUMBER(struct kswapd_sums, sleeps, "sleeps", "SLEEPS", UNIT_COUNT, 0,
		"times it was done and went to sleep"),
	CELL_NUMBER(struct kswapd_sums, awake_ns, "awake_ns", "AWAKE", UNIT_NS, 0,
		"from waking to sleeping; each ends in a nap of 100 ms, to make sure"),
	CELL_BY(0, "awake_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "awake / the interval",
		awake_ratio_cell),
	CELL_NUMBER(struct kswapd_sums, max_ns, "max_ns", "MAX", UNIT_NS, 0,
		"longest time awake (since the start)"),
	CELL_FROM(0, struct kswapd_sums, balance_ns, "balance_ns", "BALANCING", CELL_U64, UNIT_NS,
		0, "in balance_pgdat; only newest kernels tell", cell_of_known),
	CELL_FROM(0, struct kswapd_sums, cpu_ns, "cpu_ns", "CPU", CELL_U64, UNIT_NS, 0,
		"on a CPU while awake", cell_of_known),
};

static const char *shrinker_name(struct report *r, const struct shrinker_group *k)
{
	const struct rec_symbol *sym = stream_symbol(r->stream, k->frame);
	const char *name = sym ? stream_string(r->stream, sym->lines[sym->n - 1].function) : NULL;

	if (name)
		return report_text(r, "%s", name);
	return k->function ? report_text(r, "0x%llx", k->function) : NULL;
}

static CELL_GET(shrinker_cell)
{
	return cell_text(shrinker_name(r, row->key));
}

static const struct cell_column shrinker_columns[] = {
	CELL_BY(0, "shrinker", "SHRINKER", CELL_TEXT, UNIT_NONE, 0,
		"the kernel function that frees objects", shrinker_cell),
	CELL_FROM(0, struct shrinker_group, kind, "kind", "BY", CELL_TEXT, UNIT_NONE, 0,
		"who called it; other: drop_caches and the like", kind_cell),
	CELL_NUMBER(struct shrinker_sums, count, "count", "CALLS", UNIT_COUNT, 0, "calls"),
	CELL_NUMBER(struct shrinker_sums, total_ns, "total_ns", "TIME", UNIT_NS, COL_WEIGHT,
		"their time"),
	CELL_NUMBER(struct shrinker_sums, max_ns, "max_ns", "MAX", UNIT_NS, 0,
		"longest (since the start)"),
	CELL_NUMBER(struct shrinker_sums, freed, "freed", "FREED", UNIT_COUNT, 0, "objects freed"),
	CELL_NUMBER(struct shrinker_sums, scanned, "scanned", "SCANNED", UNIT_COUNT, 0,
		"objects scanned"),
};

static CELL_GET(reason_cell)
{
	return cell_text(reclaim_throttle_name(((const struct throttle_group *)row->key)->reason));
}

/* That of kswapd is of the whole system, from /proc/vmstat: no task, no time. */
static bool throttle_has_task(const struct row_of *row)
{
	return ((const struct throttle_group *)row->key)->reason != RECLAIM_THROTTLE_KSWAPD;
}

static CELL_GET(throttled_pid_cell)
{
	return throttle_has_task(row) ? cell_of_key_u32(r, row, offset) : (struct cell){};
}

static CELL_GET(throttled_comm_cell)
{
	u32 tgid = ((const struct throttle_group *)row->key)->tgid;

	return throttle_has_task(row)
		       ? cell_text(report_text(r, "%s", stream_comm(r->stream, tgid, 0)))
		       : (struct cell){};
}

static CELL_GET(throttled_time_cell)
{
	return throttle_has_task(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static const struct cell_column throttle_columns[] = {
	CELL_BY(0, "reason", "REASON", CELL_TEXT, UNIT_NONE, 0,
		"writeback: pages under writeback; isolated: too many pages isolated; no progress: "
		"nothing could be reclaimed; congested: dirty pages cycle; congestion: before "
		"5.16; kswapd: reserves are low, kswapd first",
		reason_cell),
	CELL_FROM(0, struct throttle_group, kind, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"the reclaim that was throttled; other: compaction", kind_cell),
	CELL_FROM(0, struct throttle_group, tgid, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id",
		throttled_pid_cell),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process",
		throttled_comm_cell),
	CELL_NUMBER(struct throttle_sums, count, "count", "COUNT", UNIT_COUNT, COL_WEIGHT,
		"times it was put to sleep"),
	CELL_FROM(0, struct throttle_sums, total_ns, "total_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"time asleep, in steps of a jiffy", throttled_time_cell),
	CELL_FROM(0, struct throttle_sums, max_ns, "max_ns", "MAX", CELL_U64, UNIT_NS, 0,
		"longest (since the start)", throttled_time_cell),
};

static const struct cell_table
	lru = {CELL_TABLE("lru", "LRU lists scanned", "scanned_pages", NULL, lru_columns),
		.shows = list_is_shown},
	kswapd = {CELL_TABLE("kswapd", "kswapd", "awake_ns", NULL, kswapd_columns)},
	shrinkers = {CELL_TABLE("shrinkers", "Shrinkers", "total_ns", NULL, shrinker_columns)},
	throttle = {CELL_TABLE("throttle", "Throttled", "total_ns", NULL, throttle_columns)};

int reclaim_tables_report(const struct reclaim_tables *t, struct report *r)
{
	int rc = cells_report(r, &lru, &t->lru, NULL);

	if (!rc)
		rc = cells_report(r, &kswapd, &t->kswapd, NULL);
	if (!rc)
		rc = cells_report(r, &shrinkers, &t->shrinkers, NULL);
	return rc ? rc : cells_report(r, &throttle, &t->throttle, NULL);
}

void reclaim_tables_reset(struct reclaim_tables *t)
{
	groups_clear(&t->lru);
	groups_clear(&t->kswapd);
	groups_clear(&t->shrinkers);
	groups_clear(&t->throttle);
}

void reclaim_tables_free(struct reclaim_tables *t)
{
	groups_free(&t->lru);
	groups_free(&t->kswapd);
	groups_free(&t->shrinkers);
	groups_free(&t->throttle);
}

const struct view_table reclaim_side_tables[] = {
	CELLS_VIEW("lru", lru_columns),
	CELLS_VIEW("kswapd", kswapd_columns),
	CELLS_VIEW("shrinkers", shrinker_columns),
	CELLS_VIEW("throttle", throttle_columns),
	{},
};
