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
#include "sys/syscall_flags.h"

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

enum {
	C_CALL = BY_C_OWN,
	C_COUNT,
	C_ERRORS,
	C_REFUSED,
	C_TIMES,
	C_MEAN = C_TIMES + DURATIONS_N,
	C_MIN,
	C_STACK,
	C_FAULT_NS, /* from here on with --with-memory only */
	C_FAULTS,
	C_RECLAIM_NS,
	C_COMPACTION_NS,
	C_N,
};

#define CALL_HELP                                                                         \
	"name of the call; of 32-bit programs (int 0x80) with compat: before it, of x32 " \
	"ones with x32:"

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_CALL] = {BY_CALL, {"call", "CALL", CELL_TEXT, UNIT_NONE, 0, CALL_HELP}},
	[C_COUNT] = {0, {"count", "CALLS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
				"calls that ended in the interval; of exit and exit_group, that "
				"began (exact)"}},
	[C_ERRORS] = {0, {"errors", "ERRORS", CELL_U64, UNIT_COUNT, 0,
				 "of these, failed (exact); the table of errors has their names"}},
	[C_REFUSED] = {0, {"refused", "REFUSED", CELL_U64, UNIT_COUNT, COL_WIDE,
				  "of these, refused by seccomp or a tracer before they began: "
				  "they have no duration; not known with --no-times"}},
	DURATIONS_COLUMNS(C_TIMES, "time in them, waiting included"),
	[C_MEAN] = {0, {"mean_ns", "MEAN", CELL_U64, UNIT_NS, COL_LESSER, "mean duration (exact)"}},
	[C_MIN] = {0,
		{"min_ns", "MIN", CELL_U64, UNIT_NS, COL_LESSER, "shortest (since the start)"}},
	[C_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "who called"}},
	[C_FAULT_NS] = {0, {"fault_ns", "FAULTS", CELL_U64, UNIT_NS, 0,
				   "with --with-memory: of the time, in page faults that the "
				   "kernel took on the caller's memory"}},
	[C_FAULTS] = {0, {"faults", "N", CELL_U64, UNIT_COUNT, COL_WIDE, "how many page faults"}},
	[C_RECLAIM_NS] = {0, {"reclaim_ns", "RECLAIM", CELL_U64, UNIT_NS, 0,
				     "with --with-memory: of the time, in direct reclaim, also "
				     "within page faults"}},
	[C_COMPACTION_NS] = {0, {"compaction_ns", "COMPACTION", CELL_U64, UNIT_NS, 0,
					"with --with-memory: of the time, in compaction, also "
					"within page faults"}},
};

/* Without the columns of --with-memory. */
static const struct by_spec spec = {
	.columns = columns,
	.n_columns = C_FAULT_NS,
	.key_size = sizeof(struct key),
	.value_size = sizeof(struct sums),
};
static const struct by_spec memory_spec = BY_SPEC(columns, struct key, struct sums);

struct error_key {
	struct key call;
	u64 error;
};

enum { E_CALL = BY_C_OWN, E_ERROR, E_COUNT, E_MEANING, E_N };

static const struct by_column error_columns[E_N] = {
	BY_TASK_COLUMNS,
	[E_CALL] = {BY_CALL, {"call", "CALL", CELL_TEXT, UNIT_NONE, 0, CALL_HELP}},
	[E_ERROR] = {0, {"error", "ERROR", CELL_TEXT, UNIT_NONE, 0,
				"its name; ERESTART* of an interrupted call, which the program "
				"does not see"}},
	[E_COUNT] = {0, {"count", "CALLS", CELL_U64, UNIT_COUNT, 0, "calls that failed so"}},
	[E_MEANING] = {0, {"meaning", "MEANING", CELL_TEXT, UNIT_NONE, 0, "what it says"}},
};

static const struct by_spec error_spec = BY_SPEC(error_columns, struct error_key, u64);

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

static int agg_feed(struct syscalls_view_state *v, const struct syscalls_agg *r)
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
	u64 *count;

	if (by & BY_CALL) {
		k.call.nr = r->nr;
		k.call.abi = r->abi;
	}
	count = groups_get(&v->errors.groups, &k);
	if (!count)
		return -ENOMEM;
	*count += r->count;
	return 0;
}

static int syscalls_feed(void *state, const struct rec *r)
{
	struct syscalls_view_state *v = state;
	const struct syscalls_call *c = (const void *)r;

	switch (r->kind) {
	case REC_SYSCALLS_AGG:
		return agg_feed(v, (const void *)r);
	case REC_SYSCALLS_ERROR:
		return error_feed(v, (const void *)r);
	case REC_SYSCALLS_CALL:
		return c->ns < v->min_ns ? 0 : call_list_add(&v->each, c);
	}
	return dump_list_feed(&v->dumps, r);
}

static const char *call_text(struct report *r, const struct key *k)
{
	_cleanup_str_ struct str s = {};

	syscalls_name_add(&s, k->abi, k->nr);
	return report_text(r, "%s", str_get(&s));
}

static void row_fill(
	struct cell all[C_N], struct report *r, const struct key *k, const struct sums *s, u32 by)
{
	by_task_cells(r, by, &k->task, all);
	all[C_CALL] = cell_text(call_text(r, k));
	all[C_COUNT] = cell_u64(s->count);
	all[C_ERRORS] = cell_u64(s->errors);
	if (s->refused || s->times.count)
		all[C_REFUSED] = cell_u64(s->refused);
	durations_cells(r, &s->times, &all[C_TIMES]);
	if (s->times.count) {
		all[C_MEAN] = cell_u64(s->times.total_ns / s->times.count);
		all[C_MIN] = cell_u64(s->min_ns);
	}
	all[C_STACK] = cell_stack(k->task.stack);
	all[C_FAULT_NS] = cell_u64(s->part_ns[SYSCALLS_FAULTS]);
	all[C_FAULTS] = cell_u64(s->part_n[SYSCALLS_FAULTS]);
	all[C_RECLAIM_NS] = cell_u64(s->part_ns[SYSCALLS_RECLAIM]);
	all[C_COMPACTION_NS] = cell_u64(s->part_ns[SYSCALLS_COMPACTION]);
}

static int calls_report(struct syscalls_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->calls, r, "calls", "System calls");
	const struct groups *g = &v->calls.groups;
	bool timed = false;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->empty = "No system call ended in this interval.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct sums *s = groups_value(g, i);
		struct cell all[C_N] = {};

		timed |= s->times.count != 0;
		row_fill(all, r, groups_key(g, i), s, v->calls.by);
		rc = by_sums_row(&v->calls, t, all);
	}
	t->sort = timed ? "total_ns" : "count";
	return rc;
}

static int errors_report(struct syscalls_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->errors, r, "errors", "Errors");
	const struct groups *g = &v->errors.groups;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct error_key *k = groups_key(g, i);
		const char *name = error_name(k->error);
		struct cell all[E_N] = {};

		by_task_cells(r, v->errors.by, &k->call.task, all);
		all[E_CALL] = cell_text(call_text(r, &k->call));
		all[E_ERROR] = cell_text(name ? name : report_text(r, "%llu", k->error));
		all[E_COUNT] = cell_u64(*(u64 *)groups_value(g, i));
		all[E_MEANING] = cell_text(error_text(k->error));
		rc = by_sums_row(&v->errors, t, all);
	}
	return rc;
}

static int syscalls_report(void *state, struct report *r)
{
	struct syscalls_view_state *v = state;
	int rc;

	if (v->flight)
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
	{"calls", &columns[0].col, C_N, sizeof(columns[0])},
	{"errors", &error_columns[0].col, E_N, sizeof(error_columns[0])},
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
