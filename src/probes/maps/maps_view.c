/* Changes of address spaces as tables: sums by the keys of --by, or one row a call with --each. */
#include "probes/maps/maps_view.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/maps/maps_findings.h"
#include "probes/maps/maps_looks.h"
#include "probes/maps/maps_sums.h"
#include "probes/maps/maps_words.h"

enum {
	E_TIME,
	E_PID,
	E_TID,
	E_COMM,
	E_CGROUP,
	E_DURATION,
	E_GROWTH,
	E_LINE,
	E_CALL,
	E_DETAIL,
	E_KIND,
	E_NAME,
	E_ADDRESS,
	E_LENGTH,
	E_RESULT,
	E_ERROR,
	E_WHY,
	E_VMSIZE,
	E_MAPPINGS,
	E_MIXED,
	E_STACK,
	E_N,
};

static const struct column each_columns[E_N] = {
	EACH_COLUMNS("since the start, as the call began"),
	[E_DURATION] = {"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,
		"of the call; empty where its begin was not seen (seccomp or ptrace refused it)"},
	[E_GROWTH] = {"growth_bytes", "GROWTH", CELL_S64, UNIT_BYTES, 0,
		"change of VmSize by the call"},
	[E_LINE] = {"line", "CALL", CELL_TEXT, UNIT_NONE, COL_WHOLE,
		"arguments and result as strace has them, descriptors with the name of the file; "
		"shm_open and shm_unlink: open and unlink below /dev/shm"},
	[E_CALL] = {"call", "NAME", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "system call"},
	[E_DETAIL] = {"detail", "DETAIL", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"advice of madvise, command of shmctl"},
	[E_KIND] = {"kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "what is mapped, see maps"},
	[E_NAME] = {"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"name of the file, memfd or shared memory object (its first 63 bytes)"},
	[E_ADDRESS] = {"address", "ADDRESS", CELL_U64, UNIT_HEX, COL_HIDDEN,
		"that the call names or returns"},
	[E_LENGTH] = {"length_bytes", "LENGTH", CELL_U64, UNIT_BYTES, COL_HIDDEN,
		"that the call names"},
	[E_RESULT] = {"result", "RESULT", CELL_S64, UNIT_NONE, COL_HIDDEN,
		"what the kernel returned: -errno when it failed"},
	[E_ERROR] = {"error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "errno by name"},
	[E_WHY] = {"why", "WHY", CELL_TEXT, UNIT_NONE, COL_WIDE, "why it failed, see failures"},
	[E_VMSIZE] = {"vmsize_bytes", "VMSIZE", CELL_U64, UNIT_BYTES, COL_WIDE,
		"VmSize of the process after it"},
	[E_MAPPINGS] = {"mappings", "MAPPINGS", CELL_U64, UNIT_COUNT, COL_HIDDEN,
		"mappings of the process after it"},
	[E_MIXED] = {"mixed", "MIXED", CELL_BOOL, UNIT_NONE, COL_HIDDEN,
		"it overlapped other calls of its process: growth is by arguments and result"},
	[E_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the call"},
};

struct maps_state {
	u64 min_ns;
	struct by_sums sums;
	struct maps_tables tables;
	struct groups brkstack; /* struct brkstack_key -> u64 */
	VEC(struct maps_event) events;
};

static int maps_init(void *state, const struct view_options *o, struct err *err)
{
	struct maps_state *v = state;
	int rc = maps_sums_init(&v->sums, o, err);

	if (rc)
		return rc;
	v->min_ns = view_min_ns(o);
	maps_tables_init(&v->tables, v->sums.by & BY_STACK);
	groups_init(&v->brkstack, sizeof(struct brkstack_key), sizeof(u64));
	return 0;
}

static int brkstack_feed(struct groups *g, const struct maps_agg *r)
{
	struct brkstack_key k = {.stack = r->stack};
	u64 *calls;

	memcpy(k.comm, r->comm, sizeof(k.comm));
	calls = groups_get(g, &k);
	if (!calls)
		return -ENOMEM;
	*calls += r->count;
	return 0;
}

static int maps_feed(void *state, const struct rec *rec)
{
	struct maps_state *v = state;
	const struct maps_agg *r = (const void *)rec;
	int rc = 0;

	if (rec->kind == REC_MAPS_CALL)
		return ((const struct maps_event *)rec)->ns < v->min_ns
			       ? 0
			       : vec_push(&v->events, *(const struct maps_event *)rec);
	if (rec->kind == REC_MAPS_AGG) {
		rc = maps_sums_feed(&v->sums, r);
		if (!rc && r->call == MAPS_BRK && r->count)
			rc = brkstack_feed(&v->brkstack, r);
	}
	return rc ? rc : maps_tables_feed(&v->tables, rec);
}

static int maps_report(void *state, struct report *r)
{
	struct maps_state *v = state;
	int rc = maps_sums_report(&v->sums, &v->tables, r);

	if (!rc)
		rc = maps_tables_report(&v->tables, r);
	if (!rc)
		maps_findings(&v->tables, r);
	return rc;
}

static const char *line_text(struct report *r, const struct maps_event *e)
{
	_cleanup_str_ struct str s = {};

	maps_event_line(&s, e);
	return report_text(r, "%s", str_get(&s));
}

static void each_fill(struct cell *row, struct report *r, const struct maps_event *e)
{
	u32 error = maps_event_error(e);
	u64 address = maps_event_address(e), length = maps_event_length(e);
	char name[MAPS_NAME_LEN];

	maps_event_name(e, name);
	each_cells(r, e->h.time_ns, e->tgid, e->tid, e->comm, e->cgroup, row);
	row[E_DURATION] = e->ns ? cell_u64(e->ns) : (struct cell){};
	row[E_GROWTH] = cell_s64(e->growth);
	row[E_LINE] = cell_text(line_text(r, e));
	row[E_CALL] = cell_text(maps_call_name(e->call));
	row[E_DETAIL] = cell_text(maps_detail_name(r, e->call,
		(u32)e->args[e->call == MAPS_MADVISE  ? 2
			     : e->call == MAPS_SHMCTL ? 1
						      : 3]));
	row[E_KIND] = cell_text(maps_kind_name(e->kind));
	row[E_NAME] =
		e->flags & MAPS_NAMED ? cell_text(report_text(r, "%s", name)) : (struct cell){};
	row[E_ADDRESS] = address ? cell_u64(address) : (struct cell){};
	row[E_LENGTH] = length ? cell_u64(length) : (struct cell){};
	row[E_RESULT] = cell_s64(e->result);
	row[E_ERROR] = cell_text(maps_error_name(r, error));
	row[E_WHY] = error ? cell_text(maps_why_text(r, e->call, error, e->why, e->limit))
			   : (struct cell){};
	if (e->flags & MAPS_SPACE_KNOWN) {
		row[E_VMSIZE] = cell_u64(e->vm_pages * MAPS_PAGE);
		row[E_MAPPINGS] = cell_u64(e->mappings);
	}
	row[E_MIXED] = (struct cell){.type = CELL_BOOL, .b = e->flags & MAPS_MIXED};
	row[E_STACK] = cell_stack(e->ustack);
}

static struct table *maps_each(void *state, struct report *r)
{
	struct maps_state *v = state;
	struct table *t = report_table(r, "call", "Calls, each", each_columns, E_N);

	table_each (row, t, e, &v->events)
		each_fill(row, r, e);
	v->events.n = 0;
	return t;
}

static void maps_reset(void *state)
{
	struct maps_state *v = state;

	groups_clear(&v->sums.groups);
	groups_clear(&v->brkstack);
	maps_tables_reset(&v->tables);
}

static void maps_destroy(void *state)
{
	struct maps_state *v = state;

	by_sums_free(&v->sums);
	maps_tables_free(&v->tables);
	groups_free(&v->brkstack);
	vec_free(&v->events);
}

static void look_mmapsnoop(void *state, struct report *r, struct str *out)
{
	struct maps_state *v = state;

	(void)r;
	vec_each (e, &v->events)
		mmapsnoop_line(e, out);
	v->events.n = 0;
}

static void look_shmsnoop(void *state, struct report *r, struct str *out)
{
	struct maps_state *v = state;

	(void)r;
	vec_each (e, &v->events)
		shmsnoop_line(e, out);
	v->events.n = 0;
}

static void look_brkstack(void *state, struct report *r, struct str *out)
{
	brkstack_lines(&((struct maps_state *)state)->brkstack, r, out);
}

static const struct look looks[] = {
	{"mmapsnoop", mmapsnoop_head, 0, look_mmapsnoop, NULL},
	{"brkstack", NULL, LOOK_AT_END, look_brkstack, "user"},
	{"shmsnoop", shmsnoop_head, 0, look_shmsnoop, NULL},
	{},
};

static const struct view_table tables[] = {
	{"call", each_columns, E_N, sizeof(each_columns[0])},
	{},
};

const struct view maps_view = {
	.tables = (const struct view_table *const[]){maps_sums_tables, maps_side_tables, tables,
		NULL},
	.size = sizeof(struct maps_state),
	.looks = looks,
	.by_default = "process",
	.by_keys = maps_by_keys,
	.init = maps_init,
	.feed = maps_feed,
	.report = maps_report,
	.each = maps_each,
	.times_each = true,
	.reset = maps_reset,
	.destroy = maps_destroy,
};
