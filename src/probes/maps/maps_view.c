/* Changes of address spaces as tables: sums by the keys of --by, or one row a call with --each. */
#include "probes/maps/maps_view.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/maps/maps_tables.h"
#include "probes/maps/maps_looks.h"
#include "probes/maps/maps_sums.h"
#include "probes/maps/maps_words.h"

static const char *line_text(struct report *r, const struct maps_event *e)
{
	_cleanup_str_ struct str s = {};

	maps_event_line(&s, e);
	return report_text(r, "%s", str_get(&s));
}

#define EVENT(row_) ((const struct maps_event *)(row_)->sums)

static CELL_GET(line_cell)
{
	return cell_text(line_text(r, row->sums));
}

static CELL_GET(call_cell)
{
	return cell_text(maps_call_name(EVENT(row)->call));
}

static CELL_GET(detail_cell)
{
	const struct maps_event *e = row->sums;

	return cell_text(maps_detail_name(r, e->call,
		(u32)e->args[e->call == MAPS_MADVISE  ? 2
			     : e->call == MAPS_SHMCTL ? 1
						      : 3]));
}

static CELL_GET(kind_cell)
{
	return cell_text(maps_kind_name(EVENT(row)->kind));
}

static CELL_GET(name_cell)
{
	char name[MAPS_NAME_LEN];

	maps_event_name(row->sums, name);
	return EVENT(row)->flags & MAPS_NAMED ? cell_text(report_text(r, "%s", name))
					      : (struct cell){};
}

static CELL_GET(address_cell)
{
	u64 address = maps_event_address(row->sums);

	return address ? cell_u64(address) : (struct cell){};
}

static CELL_GET(length_cell)
{
	u64 length = maps_event_length(row->sums);

	return length ? cell_u64(length) : (struct cell){};
}

static CELL_GET(error_cell)
{
	return cell_text(maps_error_name(r, maps_event_error(row->sums)));
}

static CELL_GET(why_cell)
{
	const struct maps_event *e = row->sums;
	u32 error = maps_event_error(e);

	return error ? cell_text(maps_why_text(r, e->call, error, e->why, e->limit))
		     : (struct cell){};
}

static CELL_GET(vmsize_cell)
{
	const struct maps_event *e = row->sums;

	return e->flags & MAPS_SPACE_KNOWN ? cell_u64(e->vm_pages * MAPS_PAGE) : (struct cell){};
}

static CELL_GET(mappings_cell)
{
	const struct maps_event *e = row->sums;

	return e->flags & MAPS_SPACE_KNOWN ? cell_u64(e->mappings) : (struct cell){};
}

static CELL_GET(mixed_cell)
{
	return cell_bool(EVENT(row)->flags & MAPS_MIXED);
}

static const struct cell_column each_columns[] = {
	EACH_CELLS(struct maps_event, "since the start, as the call began", cell_of_time),
	CELL_FROM(0, struct maps_event, ns, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,
		"of the call; empty where its start was not seen (seccomp or ptrace refused it)",
		cell_of_known),
	CELL_NUMBER(struct maps_event, growth, "growth_bytes", "GROWTH", UNIT_BYTES, 0,
		"change of VmSize by the call"),
	CELL_BY(0, "line", "CALL", CELL_TEXT, UNIT_NONE, COL_WHOLE,
		"arguments and result as strace has them, descriptors with the name of the file; "
		"shm_open and shm_unlink: open and unlink below /dev/shm",
		line_cell),
	CELL_BY(0, "call", "NAME", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "system call", call_cell),
	CELL_BY(0, "detail", "DETAIL", CELL_TEXT, UNIT_NONE, COL_HIDDEN, MAPS_DETAIL_HELP,
		detail_cell),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "what is mapped, see maps",
		kind_cell),
	CELL_BY(0, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"name of the file, memfd or shared memory object (its first 63 bytes)", name_cell),
	CELL_BY(0, "address", "ADDRESS", CELL_U64, UNIT_HEX, COL_HIDDEN,
		"that the call names or returns", address_cell),
	CELL_BY(0, "length_bytes", "LENGTH", CELL_U64, UNIT_BYTES, COL_HIDDEN,
		"that the call names", length_cell),
	CELL_NUMBER(struct maps_event, result, "result", "RESULT", UNIT_NONE, COL_HIDDEN,
		"what the kernel returned: -errno when it failed"),
	CELL_BY(0, "error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "errno by name", error_cell),
	CELL_BY(0, "why", "WHY", CELL_TEXT, UNIT_NONE, COL_WIDE, "why it failed, see failures",
		why_cell),
	CELL_BY(0, "vmsize_bytes", "VMSIZE", CELL_U64, UNIT_BYTES, COL_WIDE,
		"VmSize of the process after it", vmsize_cell),
	CELL_BY(0, "mappings", "MAPPINGS", CELL_U64, UNIT_COUNT, COL_HIDDEN,
		"mappings of the process after it", mappings_cell),
	CELL_BY(0, "mixed", "MIXED", CELL_BOOL, UNIT_NONE, COL_HIDDEN,
		"it overlapped other calls of its process: growth is by arguments and result",
		mixed_cell),
	CELL_STACK_OF(struct maps_event, ustack, "code path of the call"),
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

static struct table *maps_each(void *state, struct report *r)
{
	struct maps_state *v = state;
	struct table *t =
		cells_table(r, "call", "Calls, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->events, NULL);
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
	CELLS_VIEW("call", each_columns),
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
