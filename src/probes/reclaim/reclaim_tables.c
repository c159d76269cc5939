/* See reclaim_tables.h. */
#include "probes/reclaim/reclaim_tables.h"

#include <string.h>

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

static struct cell ratio(u64 part, u64 whole)
{
	return whole ? cell_f64((double)part / (double)whole) : (struct cell){};
}

static const struct column lru_columns[] = {
	{"kind", "BY", CELL_TEXT, UNIT_NONE, 0,
		"who scanned: direct, memcg, soft limit or node reclaim, or kswapd"},
	{"lru", "LRU", CELL_TEXT, UNIT_NONE, 0, "list of pages"},
	{"node", "NODE", CELL_U64, UNIT_ID, 0,
		"NUMA node of the list; unknown where no page was taken"},
	{"scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, COL_WEIGHT,
		"as the kernel counts in pgscan_* (inactive lists) and pgrefill (active lists)"},
	{"examined_pages", "EXAMINED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"looked at; more than scanned where the multi-generational LRU sorts pages on the "
		"way"},
	{"taken_pages", "TAKEN", CELL_U64, UNIT_PAGES, 0,
		"of these, taken off the list to be tried"},
	{"reclaimed_pages", "RECLAIMED", CELL_U64, UNIT_PAGES, 0, "of these, freed (pgsteal_*)"},
	{"deactivated_pages", "DEACTIVATED", CELL_U64, UNIT_PAGES, 0,
		"moved from the active to the inactive list"},
	{"efficiency_ratio", "EFFICIENCY", CELL_F64, UNIT_RATIO, 0,
		"reclaimed / examined: near 1 the list ends in cold pages, near 0 the scan is in "
		"vain"},
};

static void lru_fill(struct cell *row, const struct lru_group *k, const struct lru_sums *s)
{
	bool active = k->lru == RECLAIM_ACTIVE_ANON || k->lru == RECLAIM_ACTIVE_FILE;

	row[0] = cell_text(reclaim_kind_name(k->kind));
	row[1] = cell_text(reclaim_lru_name(k->lru));
	row[2] = k->node < 0 ? (struct cell){} : cell_u64((u64)k->node);
	row[3] = cell_u64(s->scanned);
	row[4] = cell_u64(s->examined);
	row[5] = cell_u64(s->taken);
	if (active) {
		row[7] = cell_u64(s->deactivated);
		return;
	}
	row[6] = cell_u64(s->reclaimed);
	row[8] = ratio(s->reclaimed, s->examined);
}

static int lru_report(const struct groups *g, struct report *r)
{
	struct table *t =
		report_table(r, "lru", "LRU lists scanned", lru_columns, ARRAY_SIZE(lru_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		const struct lru_sums *s = groups_value(g, i);
		struct cell *row;

		if (!s->examined && !s->reclaimed)
			continue; /* an empty list */
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		lru_fill(row, groups_key(g, i), s);
	}
	if (t)
		t->sort = "scanned_pages";
	return t ? 0 : -ENOMEM;
}

static const struct column kswapd_columns[] = {
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},
	{"runs", "RUNS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"times it set out to balance the node (pageoutrun in /proc/vmstat)"},
	{"sleeps", "SLEEPS", CELL_U64, UNIT_COUNT, 0, "times it was done and went to sleep"},
	{"awake_ns", "AWAKE", CELL_U64, UNIT_NS, 0,
		"from waking to sleeping; each ends in a nap of 100 ms, to make sure"},
	{"awake_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "awake / the interval"},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest time awake (since the start)"},
	{"balance_ns", "BALANCING", CELL_U64, UNIT_NS, 0,
		"in balance_pgdat; only newest kernels tell"},
	{"cpu_ns", "CPU", CELL_U64, UNIT_NS, 0, "on a CPU while awake"},
};

static void kswapd_fill(struct cell *row, u32 node, const struct kswapd_sums *s, u64 interval_ns)
{
	row[0] = cell_u64(node);
	row[1] = cell_u64(s->runs);
	row[2] = cell_u64(s->sleeps);
	row[3] = cell_u64(s->awake_ns);
	row[4] = ratio(s->awake_ns, interval_ns);
	row[5] = cell_u64(s->max_ns);
	row[6] = s->balance_ns ? cell_u64(s->balance_ns) : (struct cell){};
	row[7] = s->cpu_ns ? cell_u64(s->cpu_ns) : (struct cell){};
}

static int kswapd_report(const struct groups *g, struct report *r)
{
	struct table *t =
		report_table(r, "kswapd", "kswapd", kswapd_columns, ARRAY_SIZE(kswapd_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		kswapd_fill(row, *(const u32 *)groups_key(g, i), groups_value(g, i),
			stream_interval_ns(r->stream));
	}
	if (t)
		t->sort = "awake_ns";
	return t ? 0 : -ENOMEM;
}

static const struct column shrinker_columns[] = {
	{"shrinker", "SHRINKER", CELL_TEXT, UNIT_NONE, 0, "the kernel function that frees objects"},
	{"kind", "BY", CELL_TEXT, UNIT_NONE, 0, "who called it; other: drop_caches and the like"},
	{"count", "CALLS", CELL_U64, UNIT_COUNT, 0, "calls"},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, COL_WEIGHT, "their time"},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest (since the start)"},
	{"freed", "FREED", CELL_U64, UNIT_COUNT, 0, "objects freed"},
	{"scanned", "SCANNED", CELL_U64, UNIT_COUNT, 0, "objects scanned"},
};

static const char *shrinker_name(struct report *r, const struct shrinker_group *k)
{
	const struct rec_symbol *sym = stream_symbol(r->stream, k->frame);
	const char *name = sym ? stream_string(r->stream, sym->lines[sym->n - 1].function) : NULL;

	if (name)
		return report_text(r, "%s", name);
	return k->function ? report_text(r, "0x%llx", k->function) : NULL;
}

static int shrinker_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(
		r, "shrinkers", "Shrinkers", shrinker_columns, ARRAY_SIZE(shrinker_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		const struct shrinker_group *k = groups_key(g, i);
		const struct shrinker_sums *s = groups_value(g, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(shrinker_name(r, k));
		row[1] = cell_text(reclaim_kind_name((u8)k->kind));
		row[2] = cell_u64(s->count);
		row[3] = cell_u64(s->total_ns);
		row[4] = cell_u64(s->max_ns);
		row[5] = cell_u64(s->freed);
		row[6] = cell_u64(s->scanned);
	}
	if (t)
		t->sort = "total_ns";
	return t ? 0 : -ENOMEM;
}

static const struct column throttle_columns[] = {
	{"reason", "REASON", CELL_TEXT, UNIT_NONE, 0,
		"writeback: pages under writeback; isolated: too many pages isolated; no progress: "
		"nothing could be reclaimed; congested: dirty pages cycle; congestion: before "
		"5.16; kswapd: reserves are low, kswapd first"},
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"the reclaim that was throttled; other: compaction"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT, "times it was put to sleep"},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, 0, "time asleep, in steps of a jiffy"},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest (since the start)"},
};

static void throttle_fill(struct cell *row, struct report *r, const struct throttle_group *k,
	const struct throttle_sums *s)
{
	row[0] = cell_text(reclaim_throttle_name(k->reason));
	row[1] = cell_text(reclaim_kind_name((u8)k->kind));
	row[4] = cell_u64(s->count);
	if (k->reason == RECLAIM_THROTTLE_KSWAPD)
		return; /* of the whole system, from /proc/vmstat */
	row[2] = cell_u64(k->tgid);
	row[3] = cell_text(report_text(r, "%s", stream_comm(r->stream, k->tgid, 0)));
	row[5] = cell_u64(s->total_ns);
	row[6] = cell_u64(s->max_ns);
}

static int throttle_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(
		r, "throttle", "Throttled", throttle_columns, ARRAY_SIZE(throttle_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		throttle_fill(row, r, groups_key(g, i), groups_value(g, i));
	}
	if (t)
		t->sort = "total_ns";
	return t ? 0 : -ENOMEM;
}

int reclaim_tables_report(const struct reclaim_tables *t, struct report *r)
{
	int rc = lru_report(&t->lru, r);

	if (!rc)
		rc = kswapd_report(&t->kswapd, r);
	if (!rc)
		rc = shrinker_report(&t->shrinkers, r);
	return rc ? rc : throttle_report(&t->throttle, r);
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

#define TABLE(name_, columns_)                                                   \
	{                                                                        \
		(name_), (columns_), ARRAY_SIZE(columns_), sizeof((columns_)[0]) \
	}

const struct view_table reclaim_side_tables[] = {
	TABLE("lru", lru_columns),
	TABLE("kswapd", kswapd_columns),
	TABLE("shrinkers", shrinker_columns),
	TABLE("throttle", throttle_columns),
	{},
};
