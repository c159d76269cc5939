/* Page faults as tables: sums by the keys of --by, or one row a fault with --each. */
#include "probes/faults/faults_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "base/util.h"

enum { BY_MAPPING = BY_OWN };

static const char *const by_keys[] = {BY_TASK_KEYS, "mapping", NULL};

struct key {
	struct by_task_key task;
	u64 object;
	u32 map;
	u32 named; /* FAULT_NAMED, where rows are of tasks */
	char file[AGG_NAME_LEN];
};

struct sums {
	u64 count, major, write, exec, kernel, huge;
	struct durations durations;
};

enum {
	C_MAPPING = BY_C_OWN,
	C_FILE,
	C_COUNT,
	C_MAJOR,
	C_WRITE,
	C_EXEC,
	C_KERNEL,
	C_HUGE,
	C_DURATIONS,
	C_STACK = C_DURATIONS + DURATIONS_N,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_MAPPING] = {BY_MAPPING,
		{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
			"kind of mapping: anonymous, heap, stack, file, shared memory, hugetlb"}},
	[C_FILE] = {BY_MAPPING,
		{"file", "FILE", CELL_TEXT, UNIT_NONE, 0, "name of the mapped file"}},
	[C_COUNT] = {0,
		{"count", "FAULTS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "page faults (exact)"}},
	[C_MAJOR] = {0,
		{"major", "MAJOR", CELL_U64, UNIT_COUNT, 0, "of these, major: I/O was needed"}},
	[C_WRITE] = {0, {"write", "WRITE", CELL_U64, UNIT_COUNT, 0, "of these, writes"}},
	[C_EXEC] = {0,
		{"exec", "EXEC", CELL_U64, UNIT_COUNT, COL_WIDE, "of these, instruction fetches"}},
	[C_KERNEL] = {0, {"kernel", "KERNEL", CELL_U64, UNIT_COUNT, 0,
				 "of these, in kernel mode (a system call touched user memory)"}},
	[C_HUGE] = {0,
		{"huge", "HUGE", CELL_U64, UNIT_COUNT, 0, "of these, a huge page was mapped"}},
	DURATIONS_COLUMNS(C_DURATIONS, "time in the timed faults"),
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the fault"}},
};

static const struct column each_columns[] = {
	{"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "since the start"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"tid", "TID", CELL_U64, UNIT_ID, 0, "thread id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread"},
	{"type", "TYPE", CELL_TEXT, UNIT_NONE, 0, "minor or major"},
	{"access", "ACCESS", CELL_TEXT, UNIT_NONE, 0, "read, write or exec"},
	{"mode", "MODE", CELL_TEXT, UNIT_NONE, 0, "user or kernel"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "from the exception to its end"},
	{"address", "ADDRESS", CELL_U64, UNIT_HEX, 0, "the address that faulted"},
	{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0, "kind of mapping (with --by mapping)"},
	{"file", "FILE", CELL_TEXT, UNIT_NONE, 0, "name of the mapped file (with --by mapping)"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the fault"},
};

static const struct by_spec spec = BY_SPEC(columns, struct key, struct sums);

struct faults_state {
	u64 min_ns; /* single events that took less are left out */
	struct by_sums sums;
	VEC(struct fault_event) events;
};

const char *fault_map_name(u8 map)
{
	static const char *const names[FAULT_MAP_N] = {
		"unknown",
		"anonymous",
		"heap",
		"stack",
		"file",
		"shared memory",
		"hugetlb",
		"other",
	};

	return map < FAULT_MAP_N ? names[map] : "unknown";
}

static int faults_init(void *state, const struct view_options *o, struct err *err)
{
	struct faults_state *f = state;

	f->min_ns = o->min_ns;
	return by_sums_init(&f->sums, &spec, &faults_view, o, err);
}

static struct key key_of(u32 by, const struct faults_agg *r)
{
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (r->flags & FAULT_NAMED && by & BY_TASKS) {
		k.named = 1;
		memcpy(k.task.comm, r->comm, sizeof(k.task.comm));
	}
	if (by & BY_MAPPING) {
		k.map = r->map;
		k.object = r->flags & FAULT_REGION ? 0 : r->object;
		memcpy(k.file, r->file, sizeof(k.file));
	}
	return k;
}

static void sums_add(struct sums *s, const struct faults_agg *r)
{
	s->count += r->count;
	s->major += r->flags & FAULT_MAJOR ? r->count : 0;
	s->write += r->flags & FAULT_WRITE ? r->count : 0;
	s->exec += r->flags & FAULT_EXEC ? r->count : 0;
	s->kernel += r->flags & FAULT_KERNEL ? r->count : 0;
	s->huge += r->flags & FAULT_HUGE ? r->count : 0;
	durations_add(&s->durations, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
}

static int faults_feed(void *state, const struct rec *r)
{
	struct faults_state *f = state;

	if (r->kind == REC_FAULTS_AGG) {
		struct key k = key_of(f->sums.by, (const struct faults_agg *)r);
		struct sums *s = groups_get(&f->sums.groups, &k);

		if (!s)
			return -ENOMEM;
		sums_add(s, (const struct faults_agg *)r);
	} else if (r->kind == REC_FAULT && ((const struct fault_event *)r)->ns >= f->min_ns) {
		return vec_push(&f->events, *(const struct fault_event *)r);
	}
	return 0;
}

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	by_task_cells(r, by, &k->task, all);
	if (k->named) {
		all[BY_C_PID] = all[BY_C_TID] = all[BY_C_CGROUP] = (struct cell){};
		all[BY_C_COMM] = cell_text(report_textn(r, k->task.comm, COMM_LEN));
	}
	all[C_MAPPING] = cell_text(fault_map_name((u8)k->map));
	all[C_FILE] = k->file[0] ? cell_text(report_text(r, "%.32s", k->file)) : (struct cell){};
	all[C_COUNT] = cell_u64(s->count);
	all[C_MAJOR] = cell_u64(s->major);
	all[C_STACK] = cell_stack(k->task.stack);
	if (!s->durations.count)
		return; /* without the exceptions tracepoints these are not known */
	all[C_WRITE] = cell_u64(s->write);
	all[C_EXEC] = cell_u64(s->exec);
	all[C_KERNEL] = cell_u64(s->kernel);
	all[C_HUGE] = cell_u64(s->huge);
	durations_cells(r, &s->durations, &all[C_DURATIONS]);
}

static int faults_report(void *state, struct report *r)
{
	struct faults_state *f = state;
	struct table *t = by_sums_table(&f->sums, r, "faults", "Page faults");
	const struct groups *g = &f->sums.groups;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = "No page faults in scope.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(all, r, groups_key(g, i), groups_value(g, i), f->sums.by);
		rc = by_sums_row(&f->sums, t, all);
	}
	return rc;
}

static const char *access_name(u16 flags)
{
	return flags & FAULT_WRITE ? "write" : flags & FAULT_EXEC ? "exec" : "read";
}

static void each_fill(struct cell *row, struct report *r, const struct fault_event *e)
{
	bool known = e->flags & FAULT_ACCESS_KNOWN;

	row[0] = cell_since(r, e->h.time_ns);
	row[1] = cell_u64(e->tgid);
	row[2] = cell_u64(e->tid);
	row[3] = cell_text(report_text(r, "%.16s", e->comm));
	row[4] = cell_text(e->flags & FAULT_MAJOR ? "major" : "minor");
	row[5] = cell_text(known ? access_name(e->flags) : NULL);
	row[6] = cell_text(!known ? NULL : e->flags & FAULT_KERNEL ? "kernel" : "user");
	row[7] = known ? cell_u64(e->ns) : (struct cell){};
	row[8] = cell_u64(e->address);
	row[9] = cell_text(e->map ? fault_map_name(e->map) : NULL);
	row[10] = e->file[0] ? cell_text(report_text(r, "%.32s", e->file)) : (struct cell){};
	row[11] = cell_stack(e->ustack);
}

static struct table *faults_each(void *state, struct report *r)
{
	struct faults_state *f = state;
	struct table *t = report_table(
		r, "fault", "Page faults, each", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &f->events)
		each_fill(row, r, e);
	f->events.n = 0;
	return t;
}

static void faults_reset(void *state)
{
	groups_clear(&((struct faults_state *)state)->sums.groups);
}

static void faults_destroy(void *state)
{
	struct faults_state *f = state;

	by_sums_free(&f->sums);
	vec_free(&f->events);
}

static const struct view_table tables[] = {
	{"faults", &columns[0].col, C_N, sizeof(columns[0])},
	{"fault", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view faults_view = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.size = sizeof(struct faults_state),
	.by_default = "process",
	.by_keys = by_keys,
	.init = faults_init,
	.feed = faults_feed,
	.report = faults_report,
	.each = faults_each,
	.times_each = true,
	.reset = faults_reset,
	.destroy = faults_destroy,
};
