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

CELL_GET(compaction_kind_cell)
{
	return cell_text(compaction_kind_name(*((const u8 *)row->key + offset)));
}

CELL_GET(compaction_mode_cell)
{
	return cell_text(compaction_mode_name(*((const u8 *)row->key + offset)));
}

CELL_GET(compaction_zone_cell)
{
	u8 zone = *((const u8 *)row->key + offset);

	return zone == COMPACTION_ZONE_UNKNOWN ? (struct cell){}
					       : cell_text(report_enum(r, "zone", zone));
}

CELL_GET(compaction_order_cell)
{
	s32 order = *(const s32 *)((const char *)row->key + offset);

	return order == COMPACTION_ORDER_UNKNOWN ? (struct cell){} : cell_s64(order);
}

/* Keys are zeroed as a whole before they are filled: groups compare bytes. */
struct direct_group {
	s32 order;
	u8 kind, sync;
	u16 reserved;
};

struct direct_sums {
	u64 begun, stalled, deferred, both, succeeded;
};

struct zone_group {
	s32 node, order;
	u8 zone, reserved[3];
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
	struct direct_group key = {.kind = r->kind, .sync = r->sync, .order = r->order};
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

static int compaction_tables_zone_feed(struct groups *g, const struct compaction_zone *r)
{
	struct zone_group key = {.node = r->node, .order = r->order, .zone = r->zone};
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
	struct zone_group key = {.node = r->node, .order = r->order, .zone = r->zone};
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
		return compaction_tables_zone_feed(&t->zones, (const void *)r);
	case REC_COMPACTION_DEFERRALS:
		return deferral_feed(&t->deferrals, (const void *)r);
	case REC_COMPACTION_KCOMPACTD:
		return kcompactd_feed(&t->kcompactd, (const void *)r);
	default:
		return 0;
	}
}

/* Allocations that were put off with a zone that was tried are in both. */
static CELL_GET(put_off_cell)
{
	const struct direct_sums *s = row->sums;

	return cell_u64(s->deferred > s->both ? s->deferred - s->both : 0);
}

static CELL_GET(without_page_cell)
{
	const struct direct_sums *s = row->sums;

	return cell_u64(s->stalled > s->succeeded ? s->stalled - s->succeeded : 0);
}

static const struct cell_column direct_columns[] = {
	CELL_FROM(0, struct direct_group, kind, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"direct: by tasks; khugepaged: by khugepaged", compaction_kind_cell),
	CELL_FROM(0, struct direct_group, order, "order", "ORDER", CELL_S64, UNIT_ID, 0,
		"of the allocation: 2^order pages", compaction_order_cell),
	CELL_FROM(0, struct direct_group, sync, "mode", "MODE", CELL_TEXT, UNIT_NONE, 0,
		"async: gives up where it would have to wait; sync: may wait for locks and "
		"writeback",
		compaction_mode_cell),
	CELL_NUMBER(struct direct_sums, begun, "attempts", "ATTEMPTS", UNIT_COUNT, COL_WEIGHT,
		"allocations that turned to compaction"),
	CELL_NUMBER(struct direct_sums, stalled, "stalls", "STALLS", UNIT_COUNT, 0,
		"of these, with a zone that was compacted or found good"),
	CELL_BY(0, "deferred", "DEFERRED", CELL_U64, UNIT_COUNT, 0,
		"of the attempts, those put off: every zone was deferred or unsuitable",
		put_off_cell),
	CELL_NUMBER(struct direct_sums, succeeded, "succeeded", "SUCCEEDED", UNIT_COUNT, 0,
		"of the attempts, those that got their page (compact_success)"),
	CELL_BY(0, "failed", "FAILED", CELL_U64, UNIT_COUNT, 0, "stalls without a page",
		without_page_cell),
};

#define ZONE_CELLS                                                                               \
	CELL_FROM(0, struct zone_group, node, "node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node", \
		cell_of_node),                                                                   \
		CELL_FROM(0, struct zone_group, zone, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0,   \
			"zone of the node", compaction_zone_cell),                               \
		CELL_FROM(0, struct zone_group, order, "order", "ORDER", CELL_S64, UNIT_ID, 0,   \
			COMPACTION_ORDER_HELP, compaction_order_cell)

/* Averages over the runs for which the kernel told how the zone was. */
static CELL_GET(mean_cell)
{
	const struct zone_sums *s = row->sums;
	u64 sum = *(const u64 *)((const char *)row->sums + offset);

	return s->known ? cell_u64(sum / s->known) : (struct cell){};
}

static CELL_GET(above_high_cell)
{
	const struct zone_sums *s = row->sums;

	return cell_ratio(s->above_high, s->known);
}

static CELL_GET(index_cell)
{
	const struct zone_sums *s = row->sums;

	return s->indexed ? cell_s64(s->index_sum / (s64)s->indexed) : (struct cell){};
}

static const struct cell_column zone_columns[] = {
	ZONE_CELLS,
	CELL_NUMBER(
		struct zone_sums, runs, "runs", "RUNS", UNIT_COUNT, COL_WEIGHT, "runs that began"),
	CELL_FROM(0, struct zone_sums, free_sum, "free_pages", "FREE", CELL_U64, UNIT_PAGES, 0,
		"free when they began, on average", mean_cell),
	CELL_FROM(0, struct zone_sums, high_sum, "high_pages", "HIGH", CELL_U64, UNIT_PAGES, 0,
		"high watermark then, with its boost, on average", mean_cell),
	CELL_BY(0, "above_high_ratio", "ABOVE-HIGH", CELL_F64, UNIT_RATIO, 0,
		"runs that began with more free than the high watermark: memory was not short but "
		"in pieces",
		above_high_cell),
	CELL_BY(0, "index_permille", "INDEX", CELL_S64, UNIT_PERMILLE, 0,
		"fragmentation index for the order, on average: towards 0 memory was short, "
		"towards 1 fragmented; -1: a free block was there",
		index_cell),
};

static const struct cell_column deferral_columns[] = {
	ZONE_CELLS,
	CELL_NUMBER(struct deferral_sums, skipped, "deferred", "DEFERRED", UNIT_COUNT, COL_WEIGHT,
		"times compaction was not tried because it had failed before"),
	CELL_NUMBER(struct deferral_sums, failed, "failed", "FAILED", UNIT_COUNT, 0,
		"times it failed, after which twice as many tries are put off (64 at most)"),
	CELL_NUMBER(struct deferral_sums, reset, "reset", "RESET", UNIT_COUNT, 0,
		"times it succeeded, or the page was got: failures are forgotten"),
};

/* Not known where it has not come to its end. */
static CELL_GET(awake_cell)
{
	return ((const struct kcompactd_sums *)row->sums)->sleeps ? cell_of_u64(r, row, offset)
								  : (struct cell){};
}

static CELL_GET(awake_ratio_cell)
{
	const struct kcompactd_sums *s = row->sums;

	return s->sleeps ? cell_ratio(s->awake_ns, stream_interval_ns(r->stream)) : (struct cell){};
}

static CELL_GET(awake_cpu_cell)
{
	return ((const struct kcompactd_sums *)row->sums)->sleeps ? cell_of_known(r, row, offset)
								  : (struct cell){};
}

static const struct cell_column kcompactd_columns[] = {
	{0, {"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"}, cell_of_key_u32, 0},
	CELL_NUMBER(struct kcompactd_sums, wakes, "wakes", "WAKES", UNIT_COUNT, COL_WEIGHT,
		"times it started work (compact_daemon_wake in /proc/vmstat)"),
	CELL_NUMBER(struct kcompactd_sums, wakeups, "wakeups", "WAKEUPS", UNIT_COUNT, 0,
		"times it was woken, by kswapd mostly"),
	CELL_FROM(0, struct kcompactd_sums, awake_ns, "awake_ns", "AWAKE", CELL_U64, UNIT_NS, 0,
		"from work to sleep; not proactive work", awake_cell),
	CELL_BY(0, "awake_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "awake / the interval",
		awake_ratio_cell),
	CELL_FROM(0, struct kcompactd_sums, max_ns, "max_ns", "MAX", CELL_U64, UNIT_NS, 0,
		"longest time awake (since the start)", awake_cell),
	CELL_FROM(0, struct kcompactd_sums, cpu_ns, "cpu_ns", "CPU", CELL_U64, UNIT_NS, 0,
		"on a CPU while awake", awake_cpu_cell),
};

static const struct cell_table direct = {CELL_TABLE("direct", "Direct compaction, by allocation",
				       "attempts", NULL, direct_columns)},
			       zones = {CELL_TABLE("zones", "Zones when runs began", "runs", NULL,
				       zone_columns)},
			       deferrals = {CELL_TABLE("deferred", "Deferrals", "deferred", NULL,
				       deferral_columns)},
			       kcompactd = {CELL_TABLE("kcompactd", "kcompactd", "awake_ns", NULL,
				       kcompactd_columns)};

int compaction_tables_report(const struct compaction_tables *t, struct report *r)
{
	int rc = cells_report(r, &direct, &t->direct, NULL);

	if (!rc)
		rc = cells_report(r, &zones, &t->zones, NULL);
	if (!rc)
		rc = cells_report(r, &deferrals, &t->deferrals, NULL);
	return rc ? rc : cells_report(r, &kcompactd, &t->kcompactd, NULL);
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

const struct view_table compaction_side_tables[] = {
	CELLS_VIEW("direct", direct_columns),
	CELLS_VIEW("zones", zone_columns),
	CELLS_VIEW("deferred", deferral_columns),
	CELLS_VIEW("kcompactd", kcompactd_columns),
	{},
};
