/* Runs of compaction as tables: sums by the keys of --by, or one row a run with --each. */
#include "probes/compaction/compaction_view.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "base/clock.h"
#include "probes/compaction/compaction_tables.h"

enum {
	BY_KIND = BY_OWN,
	BY_NODE = BY_OWN << 1,
	BY_ZONE = BY_OWN << 2,
	BY_ORDER = BY_OWN << 3,
	BY_MODE = BY_OWN << 4,
	BY_STATUS = BY_OWN << 5,
};

static const char *const by_keys[] = {
	BY_TASK_KEYS, "kind", "node", "zone", "order", "mode", "status", NULL};

struct key {
	struct by_task_key task;
	s32 node, order;
	u8 kind, zone, sync, status;
	u32 reserved;
};

#define STATUSES 16

struct sums {
	struct durations runs;
	u64 results[STATUSES]; /* of runs for an order, by their result */
	u64 cpu_ns;
	u64 migrate_scanned, free_scanned, isolated, migrated, failed;
};

#define KIND_HELP                                                                       \
	"direct: a task for its own allocation; khugepaged: so too; kcompactd: in the " \
	"background, for an order; proactive: by itself; requested: vm.compact_memory"
#define MODE_HELP "async: gives up where it would have to wait; sync: may wait"
#define STATUS_HELP "its result, as the running kernel names it"
#define MIGRATE_SCANNED_HELP "scanned for pages to move, as compact_migrate_scanned counts"
#define FREE_SCANNED_HELP "scanned for pages to move them to, as compact_free_scanned counts"
#define ISOLATED_HELP "pages taken, to be moved or to be moved to, as compact_isolated counts"
#define FAILED_HELP "pages taken that could not be moved"
#define CPU_HELP "of the time, on a CPU; in steps of a tick where it was switched out"

/* Members of the key of the sums, and of a run. */
static CELL_GET(status_cell)
{
	return cell_text(compaction_status_name(r, *((const u8 *)row->key + offset)));
}

/* Empty where no run was for an order, or the recording does not name its results. */
static CELL_GET(success_cell)
{
	const struct sums *s = row->sums;
	u64 all = 0, good = 0;
	bool named = false;

	for (u32 i = 0; i < STATUSES; i++) {
		const char *name = stream_enum(r->stream, "compact_result", i);
		bool success = name && !strcmp(name, "success");

		named |= success;
		all += s->results[i];
		good += success ? s->results[i] : 0;
	}
	return named && all ? cell_f64((double)good / (double)all) : (struct cell){};
}

#define KEYS(type_)                                                                                \
	CELL_FROM(BY_KIND, type_, kind, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0, KIND_HELP,        \
		compaction_kind_cell),                                                             \
		CELL_FROM(BY_NODE, type_, node, "node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node", \
			cell_of_node),                                                             \
		CELL_FROM(BY_ZONE, type_, zone, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0,           \
			"zone of the node", compaction_zone_cell),                                 \
		CELL_FROM(BY_ORDER, type_, order, "order", "ORDER", CELL_S64, UNIT_ID, 0,          \
			COMPACTION_ORDER_HELP, compaction_order_cell),                             \
		CELL_FROM(BY_MODE, type_, sync, "mode", "MODE", CELL_TEXT, UNIT_NONE, 0,           \
			MODE_HELP, compaction_mode_cell)
#define STATUS(type_)                                                                    \
	CELL_FROM(BY_STATUS, type_, status, "status", "STATUS", CELL_TEXT, UNIT_NONE, 0, \
		STATUS_HELP, status_cell)
#define CPU(type_, flags_)                                                                \
	CELL_FROM(0, type_, cpu_ns, "cpu_ns", "CPU", CELL_U64, UNIT_NS, flags_, CPU_HELP, \
		cell_of_known)
#define PAGES(member_, title_, flags_, help_) \
	CELL_NUMBER(struct sums, member_, #member_ "_pages", title_, UNIT_PAGES, flags_, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	KEYS(struct key),
	STATUS(struct key),
	CELL_COUNT(struct sums, runs.count, "RUNS", "zones compacted (exact)"),
	CELL_BY(0, "success_ratio", "SUCCESS", CELL_F64, UNIT_RATIO, 0,
		"of the runs for an order, those that made a free block of it", success_cell),
	DURATIONS_CELLS(struct sums, runs, "time in them"),
	CPU(struct sums, 0),
	PAGES(migrate_scanned, "SCANNED", 0, MIGRATE_SCANNED_HELP),
	PAGES(free_scanned, "FREE-SCANNED", COL_WIDE, FREE_SCANNED_HELP),
	PAGES(isolated, "ISOLATED", COL_WIDE, ISOLATED_HELP),
	PAGES(migrated, "MIGRATED", 0, "pages moved"),
	PAGES(failed, "FAILED", 0, FAILED_HELP),
	BY_STACK_CELLS("code path that compacted"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

static CELL_GET(begin_cell)
{
	const struct compaction_run *e = row->sums;

	return cell_since(r, e->h.time_ns - e->ns);
}

static CELL_GET(index_cell)
{
	const struct compaction_run *e = row->sums;

	return e->flags & COMPACTION_INDEX ? cell_s64(e->index) : (struct cell){};
}

/* What a run has where a flag says so. */
static struct cell compaction_view_known(const struct row_of *row, size_t offset, u8 flag)
{
	const struct compaction_run *e = row->sums;

	return e->flags & flag ? cell_u64(*(const u64 *)((const char *)e + offset))
			       : (struct cell){};
}

static CELL_GET(state_cell)
{
	return compaction_view_known(row, offset, COMPACTION_STATE);
}

static CELL_GET(scanned_cell)
{
	return compaction_view_known(row, offset, COMPACTION_SCANNED);
}

static CELL_GET(moved_cell)
{
	return compaction_view_known(row, offset, COMPACTION_PAGES);
}

#define RUN_PAGES(member_, name_, title_, flags_, help_, get_)                                    \
	CELL_FROM(0, struct compaction_run, member_, name_, title_, CELL_U64, UNIT_PAGES, flags_, \
		help_, get_)

static const struct cell_column each_columns[] = {
	EACH_CELLS(struct compaction_run, "when it began, since the start", begin_cell),
	KEYS(struct compaction_run),
	CELL_NUMBER(struct compaction_run, ns, "duration_ns", "DURATION", UNIT_NS, 0,
		"from begin to end"),
	CPU(struct compaction_run, COL_WIDE),
	STATUS(struct compaction_run),
	CELL_BY(0, "index_permille", "INDEX", CELL_S64, UNIT_PERMILLE, 0,
		"of the zone for the order when it began: towards 0 memory was short, towards 1 "
		"fragmented; -1: a free block was there",
		index_cell),
	RUN_PAGES(
		free_pages, "free_pages", "FREE", 0, "free in the zone when it began", state_cell),
	RUN_PAGES(min_pages, "min_pages", "MIN", COL_WIDE, "min watermark, with its boost",
		state_cell),
	RUN_PAGES(low_pages, "low_pages", "LOW", COL_WIDE, "low watermark", state_cell),
	RUN_PAGES(high_pages, "high_pages", "HIGH", COL_WIDE, "high watermark", state_cell),
	RUN_PAGES(migrate_scanned, "migrate_scanned_pages", "SCANNED", 0, MIGRATE_SCANNED_HELP,
		scanned_cell),
	RUN_PAGES(free_scanned, "free_scanned_pages", "FREE-SCANNED", COL_WIDE, FREE_SCANNED_HELP,
		scanned_cell),
	RUN_PAGES(isolated, "isolated_pages", "ISOLATED", COL_WIDE, ISOLATED_HELP, moved_cell),
	RUN_PAGES(migrated, "migrated_pages", "MIGRATED", 0, "pages moved", moved_cell),
	RUN_PAGES(failed, "failed_pages", "FAILED", 0, FAILED_HELP, moved_cell),
	CELL_STACK_OF(struct compaction_run, ustack, "code path that compacted"),
};

struct compaction_state {
	u64 min_ns;
	struct by_sums sums;
	struct compaction_tables tables;
	VEC(struct compaction_run) runs;
};

static int compaction_init(void *state, const struct view_options *o, struct err *err)
{
	struct compaction_state *v = state;

	v->min_ns = view_min_ns(o);
	compaction_tables_init(&v->tables);
	return by_sums_init(&v->sums, &spec, &compaction_view, o, err);
}

static struct key compaction_view_key_of(u32 by, const struct compaction_agg *r)
{
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (by & BY_KIND)
		k.kind = r->kind;
	if (by & BY_NODE)
		k.node = r->node;
	if (by & BY_ZONE)
		k.zone = r->zone;
	if (by & BY_ORDER)
		k.order = r->order;
	if (by & BY_MODE)
		k.sync = r->sync != 0;
	if (by & BY_STATUS)
		k.status = r->status;
	return k;
}

static int runs_feed(struct compaction_state *v, const struct compaction_agg *r)
{
	struct key k = compaction_view_key_of(v->sums.by, r);
	struct sums *s = groups_get(&v->sums.groups, &k);

	if (!s)
		return -ENOMEM;
	durations_add(&s->runs, r->count, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	if (r->order >= 0)
		s->results[MIN(r->status, STATUSES - 1)] += r->count;
	s->cpu_ns += r->cpu_ns;
	s->migrate_scanned += r->migrate_scanned;
	s->free_scanned += r->free_scanned;
	s->isolated += r->isolated;
	s->migrated += r->migrated;
	s->failed += r->failed;
	return 0;
}

static int compaction_feed(void *state, const struct rec *r)
{
	struct compaction_state *v = state;
	const struct compaction_run *run = (const struct compaction_run *)r;
	int rc = 0;

	if (r->kind == REC_COMPACTION_AGG)
		rc = runs_feed(v, (const struct compaction_agg *)r);
	else if (r->kind == REC_COMPACTION_RUN && run->ns >= v->min_ns)
		rc = vec_push(&v->runs, *run);
	return rc ? rc : compaction_tables_feed(&v->tables, r);
}

static int compaction_report(void *state, struct report *r)
{
	struct compaction_state *v = state;
	struct table *t = by_sums_show(&v->sums, r, "compaction", "Compaction");

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No compaction: no zone was compacted in this interval.";
	return compaction_tables_report(&v->tables, r);
}

static struct table *compaction_each(void *state, struct report *r)
{
	struct compaction_state *v = state;
	struct table *t = cells_table(
		r, "run", "Runs of compaction, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->runs, NULL);
	v->runs.n = 0;
	return t;
}

static void compaction_reset(void *state)
{
	struct compaction_state *v = state;

	groups_clear(&v->sums.groups);
	compaction_tables_reset(&v->tables);
}

static void compaction_destroy(void *state)
{
	struct compaction_state *v = state;

	by_sums_free(&v->sums);
	compaction_tables_free(&v->tables);
	vec_free(&v->runs);
}

/* "ZONE_DMA32", as the kernel's source and compactsnoop have it. */
static const char *zone_macro(struct report *r, u32 zone)
{
	const char *name = stream_enum(r->stream, "zone", zone);
	char upper[16] = "";

	if (!name)
		return report_text(r, "%u", zone);
	for (size_t i = 0; name[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	return report_text(r, "ZONE_%s", upper);
}

/* The columns of bcc's compactsnoop, without options. */
static void compactsnoop_line(struct report *r, const struct compaction_run *e, struct str *out)
{
	_cleanup_str_ struct str comm = {}, zone = {}, status = {};
	char name[COMM_LEN];

	snprintf(name, sizeof(name), "%.14s", e->comm);
	str_add_escaped(&comm, name);
	str_add_escaped(&zone, zone_macro(r, e->zone));
	str_add_escaped(&status, compaction_status_name(r, e->status));
	str_addf(out, "%-14s %-6u %-4d %-12s %-5d %-7s %9.3f %16s\n", str_get(&comm), e->tgid,
		e->node, str_get(&zone), e->order, e->sync ? "SYNC" : "ASYNC",
		(double)e->ns / (double)NSEC_PER_MSEC, str_get(&status));
}

static void compactsnoop_lines(void *state, struct report *r, struct str *out)
{
	struct compaction_state *v = state;

	vec_each (e, &v->runs)
		compactsnoop_line(r, e, out);
	v->runs.n = 0;
}

static const struct look looks[] = {
	{"compactsnoop",
		"COMM           PID    NODE ZONE         ORDER MODE      LAT(ms)           STATUS",
		0, compactsnoop_lines, NULL},
	{},
};

static const struct view_table tables[] = {
	CELLS_VIEW("compaction", columns),
	CELLS_VIEW("run", each_columns),
	{},
};

const struct view compaction_view = {
	.tables = (const struct view_table *const[]){tables, compaction_side_tables, NULL},
	.size = sizeof(struct compaction_state),
	.looks = looks,
	.by_default = "process,kind,order",
	.by_keys = by_keys,
	.init = compaction_init,
	.feed = compaction_feed,
	.report = compaction_report,
	.each = compaction_each,
	.times_each = true,
	.reset = compaction_reset,
	.destroy = compaction_destroy,
};
