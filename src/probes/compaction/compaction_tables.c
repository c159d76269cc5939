/* See compaction_tables.h. */
#include "probes/compaction/compaction_tables.h"

#include <errno.h>

const char *compaction_kind_name(u32 kind)
{
	static const char *const names[COMPACTION_KIND_N] = {
		"other",
		"direct",
		"khugepaged",
		"kcompactd",
		"proactive",
		"requested",
	};

	return kind < COMPACTION_KIND_N ? names[kind] : "other";
}

const char *compaction_mode_name(u32 sync)
{
	return sync ? "sync" : "async";
}

const char *compaction_status_name(struct report *r, u32 status)
{
	return report_enum(r, "compact_result", status);
}

struct cell compaction_zone_cell(struct report *r, u32 zone)
{
	return zone == COMPACTION_ZONE_UNKNOWN ? (struct cell){}
					       : cell_text(report_enum(r, "zone", zone));
}

struct cell compaction_order_cell(s32 order)
{
	return order == COMPACTION_ORDER_UNKNOWN ? (struct cell){} : cell_s64(order);
}

/* Keys are zeroed as a whole before they are filled: groups compare bytes. */
struct direct_group {
	u32 kind, sync;
	s32 order;
};

struct direct_sums {
	u64 begun, stalled, deferred, both, succeeded;
};

struct zone_group {
	s32 node, order;
	u32 zone;
};

struct zone_sums {
	u64 runs, known, above_high, indexed, free_sum, high_sum;
	s64 index_sum;
};

struct deferral_sums {
	u64 skipped, failed, reset;
};

struct kcompactd_sums {
	u64 wakes, wakeups, sleeps, awake_ns, max_ns, cpu_ns;
};

void compaction_tables_init(struct compaction_tables *t)
{
	groups_init(&t->direct, sizeof(struct direct_group), sizeof(struct direct_sums));
	groups_init(&t->zones, sizeof(struct zone_group), sizeof(struct zone_sums));
	groups_init(&t->deferrals, sizeof(struct zone_group), sizeof(struct deferral_sums));
	groups_init(&t->kcompactd, sizeof(u32), sizeof(struct kcompactd_sums));
}

static int direct_feed(struct groups *g, const struct compaction_attempts *r)
{
	struct direct_group key = {r->kind, r->sync, r->order};
	struct direct_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->begun += r->begun;
	s->stalled += r->stalled;
	s->deferred += r->deferred;
	s->both += r->both;
	s->succeeded += r->succeeded;
	return 0;
}

static int zone_feed(struct groups *g, const struct compaction_zone *r)
{
	struct zone_group key = {r->node, r->order, r->zone};
	struct zone_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->runs += r->runs;
	s->known += r->known;
	s->above_high += r->above_high;
	s->indexed += r->indexed;
	s->index_sum += r->index_sum;
	s->free_sum += r->free_sum;
	s->high_sum += r->high_sum;
	return 0;
}

static int deferral_feed(struct groups *g, const struct compaction_deferrals *r)
{
	struct zone_group key = {r->node, r->order, r->zone};
	struct deferral_sums *s = groups_get(g, &key);

	if (!s)
		return -ENOMEM;
	s->skipped += r->skipped;
	s->failed += r->failed;
	s->reset += r->reset;
	return 0;
}

static int kcompactd_feed(struct groups *g, const struct compaction_kcompactd *r)
{
	struct kcompactd_sums *s = groups_get(g, &r->node);

	if (!s)
		return -ENOMEM;
	s->wakes += r->wakes;
	s->wakeups += r->wakeups;
	s->sleeps += r->sleeps;
	s->awake_ns += r->awake_ns;
	s->max_ns = MAX(s->max_ns, r->max_ns);
	s->cpu_ns += r->cpu_ns;
	return 0;
}

int compaction_tables_feed(struct compaction_tables *t, const struct rec *r)
{
	switch (r->kind) {
	case REC_COMPACTION_ATTEMPTS:
		return direct_feed(&t->direct, (const void *)r);
	case REC_COMPACTION_ZONE:
		return zone_feed(&t->zones, (const void *)r);
	case REC_COMPACTION_DEFERRALS:
		return deferral_feed(&t->deferrals, (const void *)r);
	case REC_COMPACTION_KCOMPACTD:
		return kcompactd_feed(&t->kcompactd, (const void *)r);
	default:
		return 0;
	}
}

static const struct column direct_columns[] = {
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, "direct: by tasks; khugepaged: by khugepaged"},
	{"order", "ORDER", CELL_S64, UNIT_ID, 0, "of the allocation: 2^order pages"},
	{"mode", "MODE", CELL_TEXT, UNIT_NONE, 0,
		"async: gives up where it would have to wait; sync: may wait for locks and "
		"writeback"},
	{"attempts", "ATTEMPTS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"allocations that turned to compaction"},
	{"stalls", "STALLS", CELL_U64, UNIT_COUNT, 0,
		"of these, with a zone that was compacted or found good"},
	{"deferred", "DEFERRED", CELL_U64, UNIT_COUNT, 0,
		"of the attempts, those put off: every zone was deferred or unsuitable"},
	{"succeeded", "SUCCEEDED", CELL_U64, UNIT_COUNT, 0,
		"of the attempts, those that got their page (compact_success)"},
	{"failed", "FAILED", CELL_U64, UNIT_COUNT, 0, "stalls without a page"},
};

static int direct_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(r, "direct", "Direct compaction, by allocation",
		direct_columns, ARRAY_SIZE(direct_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		const struct direct_group *k = groups_key(g, i);
		const struct direct_sums *s = groups_value(g, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(compaction_kind_name(k->kind));
		row[1] = compaction_order_cell(k->order);
		row[2] = cell_text(compaction_mode_name(k->sync));
		row[3] = cell_u64(s->begun);
		row[4] = cell_u64(s->stalled);
		row[5] = cell_u64(s->deferred > s->both ? s->deferred - s->both : 0);
		row[6] = cell_u64(s->succeeded);
		row[7] = cell_u64(s->stalled > s->succeeded ? s->stalled - s->succeeded : 0);
	}
	if (t)
		t->sort = "attempts";
	return t ? 0 : -ENOMEM;
}

#define ZONE_COLUMNS                                                                         \
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},                                 \
		{"zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone of the node"},               \
	{                                                                                    \
		"order", "ORDER", CELL_S64, UNIT_ID, 0,                                      \
			"order that a free block is wanted of; -1: for none, the whole zone" \
	}

static void zone_cells(struct cell *row, struct report *r, const struct zone_group *k)
{
	row[0] = cell_node(k->node);
	row[1] = compaction_zone_cell(r, k->zone);
	row[2] = compaction_order_cell(k->order);
}

static const struct column zone_columns[] = {
	ZONE_COLUMNS,
	{"runs", "RUNS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "runs that began"},
	{"free_pages", "FREE", CELL_U64, UNIT_PAGES, 0, "free when they began, on average"},
	{"high_pages", "HIGH", CELL_U64, UNIT_PAGES, 0,
		"high watermark then, with its boost, on average"},
	{"above_high_ratio", "ABOVE-HIGH", CELL_F64, UNIT_RATIO, 0,
		"runs that began with more free than the high watermark: memory was not short but "
		"in pieces"},
	{"index_permille", "INDEX", CELL_S64, UNIT_PERMILLE, 0,
		"fragmentation index for the order, on average: towards 0 memory was short, "
		"towards 1 fragmented; -1: a free block was there"},
};

static void zone_fill(struct cell *row, const struct zone_sums *s)
{
	row[3] = cell_u64(s->runs);
	if (s->known) {
		row[4] = cell_u64(s->free_sum / s->known);
		row[5] = cell_u64(s->high_sum / s->known);
		row[6] = cell_f64((double)s->above_high / (double)s->known);
	}
	if (s->indexed)
		row[7] = cell_s64(s->index_sum / (s64)s->indexed);
}

static int zone_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(
		r, "zones", "Zones when runs began", zone_columns, ARRAY_SIZE(zone_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		zone_cells(row, r, groups_key(g, i));
		zone_fill(row, groups_value(g, i));
	}
	if (t)
		t->sort = "runs";
	return t ? 0 : -ENOMEM;
}

static const struct column deferral_columns[] = {
	ZONE_COLUMNS,
	{"deferred", "DEFERRED", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"times compaction was not tried because it had failed before"},
	{"failed", "FAILED", CELL_U64, UNIT_COUNT, 0,
		"times it failed, after which twice as many tries are put off (64 at most)"},
	{"reset", "RESET", CELL_U64, UNIT_COUNT, 0,
		"times it succeeded, or the page was got: failures are forgotten"},
};

static int deferral_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(
		r, "deferred", "Deferrals", deferral_columns, ARRAY_SIZE(deferral_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		const struct deferral_sums *s = groups_value(g, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		zone_cells(row, r, groups_key(g, i));
		row[3] = cell_u64(s->skipped);
		row[4] = cell_u64(s->failed);
		row[5] = cell_u64(s->reset);
	}
	if (t)
		t->sort = "deferred";
	return t ? 0 : -ENOMEM;
}

static const struct column kcompactd_columns[] = {
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},
	{"wakes", "WAKES", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"times it started work (compact_daemon_wake in /proc/vmstat)"},
	{"wakeups", "WAKEUPS", CELL_U64, UNIT_COUNT, 0, "times it was woken, by kswapd mostly"},
	{"awake_ns", "AWAKE", CELL_U64, UNIT_NS, 0, "from work to sleep; not proactive work"},
	{"awake_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "awake / the interval"},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, "longest time awake (since the start)"},
	{"cpu_ns", "CPU", CELL_U64, UNIT_NS, 0, "on a CPU while awake"},
};

static void kcompactd_fill(
	struct cell *row, u32 node, const struct kcompactd_sums *s, u64 interval_ns)
{
	row[0] = cell_u64(node);
	row[1] = cell_u64(s->wakes);
	row[2] = cell_u64(s->wakeups);
	if (!s->sleeps)
		return; /* it has not come to its end */
	row[3] = cell_u64(s->awake_ns);
	if (interval_ns)
		row[4] = cell_f64((double)s->awake_ns / (double)interval_ns);
	row[5] = cell_u64(s->max_ns);
	if (s->cpu_ns)
		row[6] = cell_u64(s->cpu_ns);
}

static int kcompactd_report(const struct groups *g, struct report *r)
{
	struct table *t = report_table(
		r, "kcompactd", "kcompactd", kcompactd_columns, ARRAY_SIZE(kcompactd_columns));

	for (size_t i = 0; t && i < g->n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		kcompactd_fill(row, *(const u32 *)groups_key(g, i), groups_value(g, i),
			stream_interval_ns(r->stream));
	}
	if (t)
		t->sort = "awake_ns";
	return t ? 0 : -ENOMEM;
}

int compaction_tables_report(const struct compaction_tables *t, struct report *r)
{
	int rc = direct_report(&t->direct, r);

	if (!rc)
		rc = zone_report(&t->zones, r);
	if (!rc)
		rc = deferral_report(&t->deferrals, r);
	return rc ? rc : kcompactd_report(&t->kcompactd, r);
}

void compaction_tables_reset(struct compaction_tables *t)
{
	groups_clear(&t->direct);
	groups_clear(&t->zones);
	groups_clear(&t->deferrals);
	groups_clear(&t->kcompactd);
}

void compaction_tables_free(struct compaction_tables *t)
{
	groups_free(&t->direct);
	groups_free(&t->zones);
	groups_free(&t->deferrals);
	groups_free(&t->kcompactd);
}

#define TABLE(name_, columns_)                                                   \
	{                                                                        \
		(name_), (columns_), ARRAY_SIZE(columns_), sizeof((columns_)[0]) \
	}

const struct view_table compaction_side_tables[] = {
	TABLE("direct", direct_columns),
	TABLE("zones", zone_columns),
	TABLE("deferred", deferral_columns),
	TABLE("kcompactd", kcompactd_columns),
	{},
};
