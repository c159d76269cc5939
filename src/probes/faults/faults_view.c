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

/* A row that is named only has no ids (FAULT_NAMED). */
static CELL_GET(pid_cell)
{
	return ((const struct key *)row->key)->named ? (struct cell){}
						     : by_pid_cell(r, row, offset);
}

static CELL_GET(tid_cell)
{
	return ((const struct key *)row->key)->named ? (struct cell){}
						     : by_tid_cell(r, row, offset);
}

static CELL_GET(comm_cell)
{
	const struct key *k = row->key;

	if (k->named && !k->task.comm[0])
		return (struct cell){}; /* of more names than there was room for */
	return k->named ? cell_text(report_textn(r, k->task.comm, COMM_LEN))
			: by_comm_cell(r, row, offset);
}

static CELL_GET(cgroup_cell)
{
	return ((const struct key *)row->key)->named ? (struct cell){}
						     : by_cgroup_cell(r, row, offset);
}

static CELL_GET(mapping_cell)
{
	const char *words = mapping_kind_words(((const struct key *)row->key)->map);

	return cell_text(words ? words : "unknown");
}

/* Of the key of the sums, and of a fault. */
static CELL_GET(file_cell)
{
	const char *file = (const char *)row->key + offset;

	return *file ? cell_text(report_text(r, "%.32s", file)) : (struct cell){};
}

/* Without the exceptions tracepoints these are not known. */
static CELL_GET(detail_cell)
{
	return ((const struct sums *)row->sums)->durations.count ? cell_of_u64(r, row, offset)
								 : (struct cell){};
}

#define DETAIL(name_, title_, flags_, help_)                                                  \
	CELL_FROM(0, struct sums, name_, #name_, title_, CELL_U64, UNIT_COUNT, flags_, help_, \
		detail_cell)

static const struct cell_column columns[] = {
	BY_TASK_CELLS_BY(pid_cell, tid_cell, comm_cell, cgroup_cell),
	CELL_BY(BY_MAPPING, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"kind of mapping: anonymous, heap, stack, file, shared memory, hugetlb",
		mapping_cell),
	CELL_FROM(BY_MAPPING, struct key, file, "file", "FILE", CELL_TEXT, UNIT_NONE, 0,
		"name of the mapped file", file_cell),
	CELL_COUNT(struct sums, count, "FAULTS", "page faults (exact)"),
	CELL_NUMBER(struct sums, major, "major", "MAJOR", UNIT_COUNT, 0,
		"of these, major: I/O was needed"),
	DETAIL(write, "WRITE", 0, "of these, writes"),
	DETAIL(exec, "EXEC", COL_WIDE, "of these, instruction fetches"),
	DETAIL(kernel, "KERNEL", 0, "of these, in kernel mode (a system call touched user memory)"),
	DETAIL(huge, "HUGE", 0, "of these, a huge page was mapped"),
	DURATIONS_CELLS(struct sums, durations, "time in the timed faults"),
	BY_STACK_CELLS("code path of the fault"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);

static CELL_GET(type_cell)
{
	return cell_text(
		((const struct fault_event *)row->sums)->flags & FAULT_MAJOR ? "major" : "minor");
}

static CELL_GET(access_cell)
{
	u16 flags = ((const struct fault_event *)row->sums)->flags;

	return cell_text(!(flags & FAULT_ACCESS_KNOWN) ? NULL
			 : flags & FAULT_WRITE         ? "write"
			 : flags & FAULT_EXEC          ? "exec"
						       : "read");
}

static CELL_GET(mode_cell)
{
	u16 flags = ((const struct fault_event *)row->sums)->flags;

	return cell_text(!(flags & FAULT_ACCESS_KNOWN) ? NULL
			 : flags & FAULT_KERNEL        ? "kernel"
						       : "user");
}

static CELL_GET(duration_cell)
{
	const struct fault_event *e = row->sums;

	return e->flags & FAULT_ACCESS_KNOWN ? cell_u64(e->ns) : (struct cell){};
}

static CELL_GET(map_cell)
{
	u8 map = ((const struct fault_event *)row->sums)->map;
	const char *words = mapping_kind_words(map);

	return cell_text(map && !words ? "unknown" : words);
}

#define FAULT(name_, title_, help_, get_) \
	CELL_BY(0, name_, title_, CELL_TEXT, UNIT_NONE, 0, help_, get_)

static const struct cell_column each_columns[] = {
	CELL_FROM(0, struct fault_event, h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"since the start", cell_of_time),
	CELL_NUMBER(struct fault_event, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_NUMBER(struct fault_event, tid, "tid", "TID", UNIT_ID, 0, "thread id"),
	CELL_FROM(0, struct fault_event, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread", cell_of_comm),
	FAULT("type", "TYPE", "minor or major", type_cell),
	FAULT("access", "ACCESS", "read, write or exec", access_cell),
	FAULT("mode", "MODE", "user or kernel", mode_cell),
	CELL_BY(0, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "from the exception to its end",
		duration_cell),
	CELL_NUMBER(struct fault_event, address, "address", "ADDRESS", UNIT_HEX, 0,
		"the address that faulted"),
	FAULT("mapping", "MAPPING", "kind of mapping (with --by mapping)", map_cell),
	CELL_FROM(0, struct fault_event, file, "file", "FILE", CELL_TEXT, UNIT_NONE, 0,
		"name of the mapped file (with --by mapping)", file_cell),
	CELL_STACK_OF(struct fault_event, ustack, "code path of the fault"),
};

struct faults_state {
	u64 min_ns; /* single events that took less are left out */
	struct by_sums sums;
	VEC(struct fault_event) events;
};

static int faults_init(void *state, const struct view_options *o, struct err *err)
{
	struct faults_state *f = state;

	f->min_ns = view_min_ns(o);
	return by_sums_init(&f->sums, &spec, &faults_view, o, err);
}

static struct key faults_view_key_of(u32 by, const struct faults_agg *r)
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

static void faults_view_sums_add(struct sums *s, const struct faults_agg *r)
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
		struct key k = faults_view_key_of(f->sums.by, (const struct faults_agg *)r);
		struct sums *s = groups_get(&f->sums.groups, &k);

		if (!s)
			return -ENOMEM;
		faults_view_sums_add(s, (const struct faults_agg *)r);
	} else if (r->kind == REC_FAULT && ((const struct fault_event *)r)->ns >= f->min_ns) {
		return vec_push(&f->events, *(const struct fault_event *)r);
	}
	return 0;
}

static int faults_report(void *state, struct report *r)
{
	struct faults_state *f = state;
	struct table *t = by_sums_show(&f->sums, r, "faults", "Page faults");

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = "No page faults in scope.";
	return 0;
}

static struct table *faults_each(void *state, struct report *r)
{
	struct faults_state *f = state;
	struct table *t = cells_table(
		r, "fault", "Page faults, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &f->events, NULL);
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
	CELLS_VIEW("faults", columns),
	CELLS_VIEW("fault", each_columns),
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
