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

enum {
	C_KIND = BY_C_OWN,
	C_NODE,
	C_ZONE,
	C_ORDER,
	C_MODE,
	C_STATUS,
	C_COUNT,
	C_SUCCESS,
	C_DURATIONS,
	C_CPU = C_DURATIONS + DURATIONS_N,
	C_MIGRATE_SCANNED,
	C_FREE_SCANNED,
	C_ISOLATED,
	C_MIGRATED,
	C_FAILED,
	C_STACK,
	C_N,
};

#define KIND_HELP                                                                       \
	"direct: a task for its own allocation; khugepaged: so too; kcompactd: in the " \
	"background, for an order; proactive: by itself; requested: vm.compact_memory"
#define ORDER_HELP "order that a free block is wanted of; -1: for none, the whole zone"
#define MODE_HELP "async: gives up where it would have to wait; sync: may wait"
#define STATUS_HELP "its result, as the running kernel names it"
#define MIGRATE_SCANNED_HELP "scanned for pages to move, as compact_migrate_scanned counts"
#define FREE_SCANNED_HELP "scanned for pages to move them to, as compact_free_scanned counts"
#define ISOLATED_HELP "pages taken, to be moved or to be moved to, as compact_isolated counts"
#define FAILED_HELP "pages taken that could not be moved"
#define CPU_HELP "of the time, on a CPU; in steps of a tick where it was switched out"

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_KIND] = {BY_KIND, {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, KIND_HELP}},
	[C_NODE] = {BY_NODE, {"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"}},
	[C_ZONE] = {BY_ZONE, {"zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone of the node"}},
	[C_ORDER] = {BY_ORDER, {"order", "ORDER", CELL_S64, UNIT_ID, 0, ORDER_HELP}},
	[C_MODE] = {BY_MODE, {"mode", "MODE", CELL_TEXT, UNIT_NONE, 0, MODE_HELP}},
	[C_STATUS] = {BY_STATUS, {"status", "STATUS", CELL_TEXT, UNIT_NONE, 0, STATUS_HELP}},
	[C_COUNT] = {0,
		{"count", "RUNS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "zones compacted (exact)"}},
	[C_SUCCESS] = {0, {"success_ratio", "SUCCESS", CELL_F64, UNIT_RATIO, 0,
				  "of the runs for an order, those that made a free block of "
				  "it"}},
	DURATIONS_COLUMNS(C_DURATIONS, "time in them"),
	[C_CPU] = {0, {"cpu_ns", "CPU", CELL_U64, UNIT_NS, 0, CPU_HELP}},
	[C_MIGRATE_SCANNED] = {0, {"migrate_scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0,
					  MIGRATE_SCANNED_HELP}},
	[C_FREE_SCANNED] = {0, {"free_scanned_pages", "FREE-SCANNED", CELL_U64, UNIT_PAGES,
				       COL_WIDE, FREE_SCANNED_HELP}},
	[C_ISOLATED] = {0,
		{"isolated_pages", "ISOLATED", CELL_U64, UNIT_PAGES, COL_WIDE, ISOLATED_HELP}},
	[C_MIGRATED] = {0, {"migrated_pages", "MIGRATED", CELL_U64, UNIT_PAGES, 0, "pages moved"}},
	[C_FAILED] = {0, {"failed_pages", "FAILED", CELL_U64, UNIT_PAGES, 0, FAILED_HELP}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that compacted"}},
};

static const struct column each_columns[] = {
	EACH_COLUMNS("when it began, since the start"),
	{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0, KIND_HELP},
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},
	{"zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone of the node"},
	{"order", "ORDER", CELL_S64, UNIT_ID, 0, ORDER_HELP},
	{"mode", "MODE", CELL_TEXT, UNIT_NONE, 0, MODE_HELP},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "from begin to end"},
	{"cpu_ns", "CPU", CELL_U64, UNIT_NS, COL_WIDE, CPU_HELP},
	{"status", "STATUS", CELL_TEXT, UNIT_NONE, 0, STATUS_HELP},
	{"index_permille", "INDEX", CELL_S64, UNIT_PERMILLE, 0,
		"of the zone for the order when it began: towards 0 memory was short, towards 1 "
		"fragmented; -1: a free block was there"},
	{"free_pages", "FREE", CELL_U64, UNIT_PAGES, 0, "free in the zone when it began"},
	{"min_pages", "MIN", CELL_U64, UNIT_PAGES, COL_WIDE, "min watermark, with its boost"},
	{"low_pages", "LOW", CELL_U64, UNIT_PAGES, COL_WIDE, "low watermark"},
	{"high_pages", "HIGH", CELL_U64, UNIT_PAGES, COL_WIDE, "high watermark"},
	{"migrate_scanned_pages", "SCANNED", CELL_U64, UNIT_PAGES, 0, MIGRATE_SCANNED_HELP},
	{"free_scanned_pages", "FREE-SCANNED", CELL_U64, UNIT_PAGES, COL_WIDE, FREE_SCANNED_HELP},
	{"isolated_pages", "ISOLATED", CELL_U64, UNIT_PAGES, COL_WIDE, ISOLATED_HELP},
	{"migrated_pages", "MIGRATED", CELL_U64, UNIT_PAGES, 0, "pages moved"},
	{"failed_pages", "FAILED", CELL_U64, UNIT_PAGES, 0, FAILED_HELP},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that compacted"},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

struct compaction_state {
	u64 min_ns;
	struct by_sums sums;
	struct compaction_tables tables;
	VEC(struct compaction_run) runs;
};

static int compaction_init(void *state, const struct view_options *o, struct err *err)
{
	struct compaction_state *v = state;

	v->min_ns = o->min_ns;
	compaction_tables_init(&v->tables);
	return by_sums_init(&v->sums, &spec, &compaction_view, o, err);
}

static struct key key_of(u32 by, const struct compaction_agg *r)
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
	struct key k = key_of(v->sums.by, r);
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

/* Empty where no run was for an order, or the recording does not name its results. */
static struct cell success_cell(const struct report *r, const struct sums *s)
{
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

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	by_task_cells(r, by, &k->task, all);
	all[C_KIND] = cell_text(compaction_kind_name(k->kind));
	all[C_NODE] = cell_node(k->node);
	all[C_ZONE] = compaction_zone_cell(r, k->zone);
	all[C_ORDER] = compaction_order_cell(k->order);
	all[C_MODE] = cell_text(compaction_mode_name(k->sync));
	all[C_STATUS] = cell_text(compaction_status_name(r, k->status));
	all[C_COUNT] = cell_u64(s->runs.count);
	all[C_SUCCESS] = success_cell(r, s);
	durations_cells(r, &s->runs, &all[C_DURATIONS]);
	all[C_CPU] = s->cpu_ns ? cell_u64(s->cpu_ns) : (struct cell){};
	all[C_MIGRATE_SCANNED] = cell_u64(s->migrate_scanned);
	all[C_FREE_SCANNED] = cell_u64(s->free_scanned);
	all[C_ISOLATED] = cell_u64(s->isolated);
	all[C_MIGRATED] = cell_u64(s->migrated);
	all[C_FAILED] = cell_u64(s->failed);
	all[C_STACK] = cell_stack(k->task.stack);
}

static int compaction_report(void *state, struct report *r)
{
	struct compaction_state *v = state;
	struct table *t = by_sums_table(&v->sums, r, "compaction", "Compaction");
	const struct groups *g = &v->sums.groups;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "total_ns";
	t->empty = "No compaction: no zone was compacted in this interval.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(all, r, groups_key(g, i), groups_value(g, i), v->sums.by);
		rc = by_sums_row(&v->sums, t, all);
	}
	return rc ? rc : compaction_tables_report(&v->tables, r);
}

static struct cell known(const struct compaction_run *e, u8 flag, u64 value)
{
	return e->flags & flag ? cell_u64(value) : (struct cell){};
}

static void each_fill(struct cell *row, struct report *r, const struct compaction_run *e)
{
	each_cells(r, e->h.time_ns - e->ns, e->tgid, e->tid, e->comm, e->cgroup, row);
	row[5] = cell_text(compaction_kind_name(e->kind));
	row[6] = cell_node(e->node);
	row[7] = compaction_zone_cell(r, e->zone);
	row[8] = compaction_order_cell(e->order);
	row[9] = cell_text(compaction_mode_name(e->sync));
	row[10] = cell_u64(e->ns);
	row[11] = e->cpu_ns ? cell_u64(e->cpu_ns) : (struct cell){};
	row[12] = cell_text(compaction_status_name(r, e->status));
	if (e->flags & COMPACTION_INDEX)
		row[13] = cell_s64(e->index);
	row[14] = known(e, COMPACTION_STATE, e->free_pages);
	row[15] = known(e, COMPACTION_STATE, e->min_pages);
	row[16] = known(e, COMPACTION_STATE, e->low_pages);
	row[17] = known(e, COMPACTION_STATE, e->high_pages);
	row[18] = known(e, COMPACTION_SCANNED, e->migrate_scanned);
	row[19] = known(e, COMPACTION_SCANNED, e->free_scanned);
	row[20] = known(e, COMPACTION_PAGES, e->isolated);
	row[21] = known(e, COMPACTION_PAGES, e->migrated);
	row[22] = known(e, COMPACTION_PAGES, e->failed);
	row[23] = cell_stack(e->ustack);
}

static struct table *compaction_each(void *state, struct report *r)
{
	struct compaction_state *v = state;
	struct table *t = report_table(
		r, "run", "Runs of compaction, each", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &v->runs)
		each_fill(row, r, e);
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
	{"compaction", &columns[0].col, C_N, sizeof(columns[0])},
	{"run", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
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
