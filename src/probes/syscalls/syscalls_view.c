/* System calls as tables: sums by the keys of --by and errors by name, a row a call with --each, or
 * the calls that were kept with --flight. */
#include "probes/syscalls/syscalls_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "probes/syscalls/syscalls_kept.h"
#include "probes/syscalls/syscalls_line.h"
#include "probes/syscalls/syscalls_opts.h"
#include "probes/syscalls/syscalls_words.h"
#include "sys/calls/syscall_flags.h"

enum { BY_CALL = BY_OWN };

static const char *const by_keys[] = {BY_TASK_KEYS, "call", NULL};

struct key {
	struct by_task_key task;
	u32 nr;
	u32 abi;
};

struct sums {
	struct durations times;
	u64 count, errors, refused;
	u64 min_ns;
	u64 part_ns[SYSCALLS_PARTS], part_n[SYSCALLS_PARTS];
};

#define CALL_HELP                                                                         \
	"name of the call; of 32-bit programs (int 0x80) with compat: before it, of x32 " \
	"ones with x32:"

static const char *syscalls_view_call_text(struct report *r, const struct key *k)
{
	_cleanup_str_ struct str s = {};

	syscalls_name_add(&s, k->abi, k->nr);
	return report_text(r, "%s", str_get(&s));
}

static CELL_GET(call_cell)
{
	return cell_text(syscalls_view_call_text(r, row->key));
}

/* Not known with --no-times. */
static CELL_GET(refused_cell)
{
	const struct sums *s = row->sums;

	return s->refused || s->times.count ? cell_u64(s->refused) : (struct cell){};
}

static CELL_GET(mean_cell)
{
	const struct sums *s = row->sums;

	return s->times.count ? cell_u64(s->times.total_ns / s->times.count) : (struct cell){};
}

static CELL_GET(min_cell)
{
	const struct sums *s = row->sums;

	return s->times.count ? cell_u64(s->min_ns) : (struct cell){};
}

#define PART(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct sums, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CALL, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, CALL_HELP, call_cell),
	CELL_COUNT(struct sums, count, "CALLS",
		"calls that ended in the interval; of exit and exit_group, that began (exact)"),
	CELL_NUMBER(struct sums, errors, "errors", "ERRORS", UNIT_COUNT, 0,
		"of these, failed (exact); the table of errors has their names"),
	CELL_BY(0, "refused", "REFUSED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"of these, refused by seccomp or a tracer before they began: they have no "
		"duration; not known with --no-times",
		refused_cell),
	DURATIONS_CELLS(struct sums, times, "time in them, waiting included"),
	CELL_BY(0, "mean_ns", "MEAN", CELL_U64, UNIT_NS, COL_LESSER, "mean duration (exact)",
		mean_cell),
	CELL_BY(0, "min_ns", "MIN", CELL_U64, UNIT_NS, COL_LESSER, "shortest (since the start)",
		min_cell),
	BY_STACK_CELLS("who called"),
	PART(part_ns[SYSCALLS_FAULTS], "fault_ns", "FAULTS", UNIT_NS, 0,
		"with --with-memory: of the time, in page faults that the kernel took on the "
		"caller's memory"),
	PART(part_n[SYSCALLS_FAULTS], "faults", "N", UNIT_COUNT, COL_WIDE, "how many page faults"),
	PART(part_ns[SYSCALLS_RECLAIM], "reclaim_ns", "RECLAIM", UNIT_NS, 0,
		"with --with-memory: of the time, in direct reclaim, also within page faults"),
	PART(part_ns[SYSCALLS_COMPACTION], "compaction_ns", "COMPACTION", UNIT_NS, 0,
		"with --with-memory: of the time, in compaction, also within page faults"),
};

#define MEMORY_COLUMNS 4 /* the last ones, with --with-memory only */

static const struct by_spec spec = {
	.cells = columns,
	.n_columns = ARRAY_SIZE(columns) - MEMORY_COLUMNS,
	.key_size = sizeof(struct key),
	.value_size = sizeof(struct sums),
};
static const struct by_spec memory_spec = CELLS_SPEC(columns, struct key, struct sums);

struct error_key {
	struct key call;
	u64 error;
};

struct error_sums {
	u64 count;
};

static CELL_GET(error_cell)
{
	u64 error = ((const struct error_key *)row->key)->error;
	const char *name = error_name(error);

	return cell_text(name ? name : report_text(r, "%llu", error));
}

static CELL_GET(meaning_cell)
{
	return cell_text(error_text(((const struct error_key *)row->key)->error));
}

static const struct cell_column error_columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CALL, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, CALL_HELP, call_cell),
	CELL_BY(0, "error", "ERROR", CELL_TEXT, UNIT_NONE, 0,
		"its name; ERESTART* of an interrupted call, which the program does not see",
		error_cell),
	CELL_NUMBER(
		struct error_sums, count, "count", "CALLS", UNIT_COUNT, 0, "calls that failed so"),
	CELL_BY(0, "meaning", "MEANING", CELL_TEXT, UNIT_NONE, 0, "what it says", meaning_cell),
};

static const struct by_spec error_spec =
	CELLS_SPEC(error_columns, struct error_key, struct error_sums);

struct syscalls_view_state {
	u64 min_ns;
	bool flight, memory;
	struct by_sums calls, errors;
	struct call_list each;
	struct dump_list dumps;
};

static int syscalls_init(void *state, const struct view_options *o, struct err *err)
{
	struct syscalls_view_state *v = state;
	const struct syscalls_opts *own = OPTS_OF(struct syscalls_opts, o->opts);
	struct syscalls_wish wish;
	int rc;

	v->min_ns = o->min_ns;
	v->flight = own->flight;
	v->dumps.waits = own->dump_on;
	v->memory = own->with_memory;
	rc = syscalls_wish_parse(o->operands, o->n_operands, own->flight, own->dump_on, &wish, err);
	if (!rc)
		rc = by_sums_init(
			&v->calls, v->memory ? &memory_spec : &spec, &syscalls_view, o, err);
	return rc ? rc : by_sums_init(&v->errors, &error_spec, &syscalls_view, o, err);
}

static int syscalls_view_agg_feed(struct syscalls_view_state *v, const struct syscalls_agg *r)
{
	u32 by = v->calls.by;
	struct key k = {.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};
	struct sums *s;

	if (by & BY_CALL) {
		k.nr = r->nr;
		k.abi = r->abi;
	}
	s = groups_get(&v->calls.groups, &k);
	if (!s)
		return -ENOMEM;
	if (r->timed)
		s->min_ns = s->times.count ? MIN(s->min_ns, r->min_ns) : r->min_ns;
	durations_add(&s->times, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	s->count += r->count;
	s->errors += r->errors;
	s->refused += r->refused;
	for (size_t i = 0; i < SYSCALLS_PARTS; i++) {
		s->part_ns[i] += r->part_ns[i];
		s->part_n[i] += r->part_n[i];
	}
	return 0;
}

static int error_feed(struct syscalls_view_state *v, const struct syscalls_error *r)
{
	u32 by = v->errors.by;
	struct error_key k = {
		.call.task = by_task_key(by, r->tgid, r->tid, r->cgroup, 0, r->comm),
		.error = r->error,
	};
	struct error_sums *s;

	if (by & BY_CALL) {
		k.call.nr = r->nr;
		k.call.abi = r->abi;
	}
	s = groups_get(&v->errors.groups, &k);
	if (!s)
		return -ENOMEM;
	s->count += r->count;
	return 0;
}

static int syscalls_feed(void *state, const struct rec *r)
{
	struct syscalls_view_state *v = state;
	const struct syscalls_call *c = (const void *)r;

	switch (r->kind) {
	case REC_SYSCALLS_AGG:
		return syscalls_view_agg_feed(v, (const void *)r);
	case REC_SYSCALLS_ERROR:
		return error_feed(v, (const void *)r);
	case REC_SYSCALLS_CALL:
		return c->ns < v->min_ns ? 0 : call_list_add(&v->each, c);
	}
	return dump_list_feed(&v->dumps, r);
}

static bool calls_are_timed(const struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (((const struct sums *)groups_value(g, i))->times.count)
			return true;
	return false;
}

static int calls_report(struct syscalls_view_state *v, struct report *r)
{
	struct table *t = by_sums_show(&v->calls, r, "calls", "System calls");

	if (!t)
		return -ENOMEM;
	t->sort = calls_are_timed(&v->calls.groups) ? "total_ns" : "count";
	t->empty = "No system call ended in this interval.";
	return 0;
}

static int errors_report(struct syscalls_view_state *v, struct report *r)
{
	struct table *t = by_sums_show(&v->errors, r, "errors", "Errors");

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	return 0;
}

static int syscalls_report(void *state, struct report *r)
{
	struct syscalls_view_state *v = state;
	int rc;

	/* A recording that has any need not be told that it is of --flight. */
	if (v->flight || v->dumps.dumps.n || v->dumps.before)
		return dump_list_report(&v->dumps, r);
	rc = calls_report(v, r);
	return rc ? rc : errors_report(v, r);
}

static struct table *syscalls_each(void *state, struct report *r)
{
	struct syscalls_view_state *v = state;

	return calls_each(&v->each, r, v->memory);
}

static bool syscalls_due(void *state)
{
	return ((struct syscalls_view_state *)state)->dumps.due;
}

static void syscalls_reset(void *state)
{
	struct syscalls_view_state *v = state;

	groups_clear(&v->calls.groups);
	groups_clear(&v->errors.groups);
	dump_list_reset(&v->dumps);
}

static void syscalls_destroy(void *state)
{
	struct syscalls_view_state *v = state;

	by_sums_free(&v->calls);
	by_sums_free(&v->errors);
	call_list_free(&v->each);
	dump_list_free(&v->dumps);
}

static void look_strace(void *state, struct report *r, struct str *out)
{
	strace_lines(&((struct syscalls_view_state *)state)->each, r, out);
}

static const struct look looks[] = {
	{.name = "strace", .lines = look_strace},
	{},
};

static const struct view_table tables[] = {
	CELLS_VIEW("calls", columns),
	CELLS_VIEW("errors", error_columns),
	{},
};

const struct view syscalls_view = {
	.tables = (const struct view_table *const[]){tables, syscalls_kept_tables, NULL},
	.size = sizeof(struct syscalls_view_state),
	.looks = looks,
	.by_default = "process,call",
	.by_keys = by_keys,
	.init = syscalls_init,
	.feed = syscalls_feed,
	.report = syscalls_report,
	.each = syscalls_each,
	.times_each = true,
	.due = syscalls_due,
	.reset = syscalls_reset,
	.destroy = syscalls_destroy,
};
