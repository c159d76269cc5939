/* See syscalls_kept.h. */
#include "probes/syscalls/syscalls_kept.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "base/clock.h"
#include "base/units.h"
#include "probes/syscalls/syscalls_line.h"
#include "sys/calls/syscall_flags.h"

int call_list_add(struct call_list *l, const struct syscalls_call *c)
{
	if (!syscalls_call_valid(c) || c->h.size % 8 || c->h.size > REC_MAX_SIZE)
		return 0;
	if (vec_reserve(&l->words, c->h.size / 8))
		return -ENOMEM;
	memcpy(l->words.v + l->words.n, c, c->h.size);
	l->words.n += c->h.size / 8;
	l->n++;
	return 0;
}

const struct syscalls_call *call_list_next(const struct call_list *l, size_t *at)
{
	const struct syscalls_call *c;

	if (*at >= l->words.n)
		return NULL;
	c = (const void *)&l->words.v[*at];
	*at += c->h.size / 8;
	return c;
}

void call_list_clear(struct call_list *l)
{
	l->words.n = 0;
	l->n = 0;
}

void call_list_free(struct call_list *l)
{
	vec_free(&l->words);
	l->n = 0;
}

static const char *line_of(struct report *r, const struct syscalls_call *c)
{
	_cleanup_str_ struct str s = {};

	syscalls_call_add(&s, r->stream, c);
	str_add(&s, " = ");
	syscalls_result_add(&s, c);
	return report_textn(r, str_get(&s), s.len);
}

static const char *syscalls_kept_name_of(struct report *r, const struct syscalls_call *c)
{
	_cleanup_str_ struct str s = {};

	syscalls_name_add(&s, c->abi, c->nr);
	return report_textn(r, str_get(&s), s.len);
}

#define CALL(row_) ((const struct syscalls_call *)(row_)->sums)

static u64 began_ns(const struct syscalls_call *c)
{
	return c->h.time_ns - MIN(c->ns, c->h.time_ns);
}

static CELL_GET(began_cell)
{
	return cell_since(r, began_ns(row->sums));
}

static CELL_GET(duration_cell)
{
	return CALL(row)->flags & SYSCALLS_TIMED ? cell_u64(CALL(row)->ns) : (struct cell){};
}

static CELL_GET(line_cell)
{
	struct cell c = cell_text(line_of(r, row->sums));

	c.escaped = true;
	return c;
}

static CELL_GET(name_cell)
{
	return cell_text(syscalls_kept_name_of(r, row->sums));
}

static bool has_ended(const struct syscalls_call *c)
{
	return !(c->flags & (SYSCALLS_NO_END | SYSCALLS_UNDER_WAY));
}

static CELL_GET(result_cell)
{
	return has_ended(row->sums) ? cell_s64(CALL(row)->ret) : (struct cell){};
}

static CELL_GET(error_cell)
{
	s64 ret = CALL(row)->ret;

	return has_ended(row->sums) && ret < 0 && ret >= -4095 ? cell_text(error_name((u64)-ret))
							       : (struct cell){};
}

/* What a single call has, whoever shows it: a line for people, its parts for programs. */
#define CALL_CELLS                                                                                \
	EACH_CELLS(struct syscalls_call, "when it began, since the start", began_cell),           \
		CELL_BY(0, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,                       \
			"from begin to end; empty where it has none (exit) or never began "       \
			"(refused)",                                                              \
			duration_cell),                                                           \
		CELL_BY(0, "line", "CALL", CELL_TEXT, UNIT_NONE, COL_WHOLE,                       \
			"the call as strace writes it, with its arguments and what it returned; " \
			"of other ABIs with compat: or x32: before it",                           \
			line_cell),                                                               \
		CELL_BY(0, "call", "NAME", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "name of the call",  \
			name_cell),                                                               \
		CELL_BY(0, "result", "RESULT", CELL_S64, UNIT_NONE, COL_HIDDEN,                   \
			"what it returned, or -errno", result_cell),                              \
		CELL_BY(0, "error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN,                    \
			"its error by name", error_cell)

/* Of --with-memory, which is the row's view. */
static CELL_GET(part_cell)
{
	return *(const bool *)row->view ? cell_of_u64(r, row, offset) : (struct cell){};
}

#define PART(i_, name_, title_, help_)                                                    \
	CELL_FROM(0, struct syscalls_call, part_ns[i_], name_, title_, CELL_U64, UNIT_NS, \
		COL_WIDE, help_, part_cell)

_Static_assert(SYSCALLS_PARTS == 3, "columns of the parts");

static const struct cell_column each_columns[] = {
	CALL_CELLS,
	PART(0, "fault_ns", "FAULTS", "with --with-memory: of the duration, in page faults"),
	PART(1, "reclaim_ns", "RECLAIM", "time in direct reclaim, also within page faults"),
	PART(2, "compaction_ns", "COMPACTION", "time in compaction, also within page faults"),
	CELL_STACK_OF(struct syscalls_call, ustack, "who called"),
};

struct table *calls_each(struct call_list *l, struct report *r, bool memory)
{
	struct table *t =
		cells_table(r, "call", "System calls", each_columns, ARRAY_SIZE(each_columns));
	const struct syscalls_call *c;
	size_t at = 0;

	while (t && (c = call_list_next(l, &at)))
		if (cells_row(t, r, each_columns, ARRAY_SIZE(each_columns),
			    &(struct row_of){0, c, c, &memory}))
			break;
	call_list_clear(l);
	return t;
}

/* As strace writes it: "= 3" in column 40. */
static void strace_line(const struct syscalls_call *c, struct report *r, struct str *out)
{
	size_t start = out->len, width;

	syscalls_call_add(out, r->stream, c);
	width = out->len - start;
	str_addf(out, "%*s = ", width < 40 ? (int)(40 - width) : 0, "");
	syscalls_result_add(out, c);
	if (c->flags & SYSCALLS_TIMED)
		str_addf(out, " <%llu.%06llu>", c->ns / NSEC_PER_SEC,
			c->ns % NSEC_PER_SEC / NSEC_PER_USEC);
	str_addc(out, '\n');
}

void strace_lines(struct call_list *l, struct report *r, struct str *out)
{
	const struct syscalls_call *c;
	size_t at = 0;

	while ((c = call_list_next(l, &at))) {
		str_addf(out, "%-5u %s ", c->tid, report_clock(r, began_ns(c)));
		strace_line(c, r, out);
	}
	call_list_clear(l);
}

int dump_list_feed(struct dump_list *l, const struct rec *r)
{
	const struct syscalls_dump *d = (const void *)r;
	int rc;

	if (r->kind == REC_SYSCALLS_DUMP) {
		rc = vec_push(&l->dumps, *d);
		l->due |= d->why != SYSCALLS_WHY_ASKED;
		return rc ? rc : vec_push(&l->calls, 0);
	}
	if (r->kind != REC_SYSCALLS_KEPT || !l->calls.n)
		return 0;
	l->calls.v[l->calls.n - 1] -= l->list.n;
	rc = call_list_add(&l->list, (const void *)r);
	l->calls.v[l->calls.n - 1] += l->list.n;
	return rc;
}

static const char *const whys[SYSCALLS_WHYS] = {
	[SYSCALLS_WHY_ASKED] = "asked for",
	[SYSCALLS_WHY_SLOW] = "slow call",
	[SYSCALLS_WHY_FAILED] = "failed call",
	[SYSCALLS_WHY_EXIT] = "process ended",
	[SYSCALLS_WHY_CRASH] = "process was killed",
};

static const char *why_text(struct report *r, const struct syscalls_dump *d)
{
	_cleanup_str_ struct str s = {};
	char ns[UNIT_BUF];
	const char *error;

	str_add(&s, d->why < SYSCALLS_WHYS ? whys[d->why] : "not known");
	switch (d->why) {
	case SYSCALLS_WHY_SLOW:
		str_addf(&s, ", %s", fmt_ns(ns, d->detail));
		break;
	case SYSCALLS_WHY_FAILED:
		error = error_name(d->detail);
		str_addf(&s, ", %s", error ? error : "error of no name");
		break;
	case SYSCALLS_WHY_EXIT:
	case SYSCALLS_WHY_CRASH:
		if (!(d->detail & 0x7f)) {
			str_addf(&s, ", status %llu", d->detail >> 8 & 0xff);
			break;
		}
		str_add(&s, ", ");
		signal_add(&s, d->detail & 0x7f);
	}
	return report_textn(r, str_get(&s), s.len);
}

/* A dump, with what is not in its record. */
struct dump_row {
	struct syscalls_dump d;
	u64 number, calls;
};

CELL_EXPR(why_cell, struct dump_row, cell_text(why_text(r, &e->d)))
CELL_EXPR(pid_cell, struct dump_row, e->d.tgid ? cell_u64(e->d.tgid) : (struct cell){})
CELL_EXPR(tid_cell, struct dump_row, e->d.tid ? cell_u64(e->d.tid) : (struct cell){})
CELL_EXPR(group_cell, struct dump_row,
	cell_text(e->d.by_process ? NULL : stream_cgroup(r->stream, e->d.key)))
CELL_EXPR(kept_cell, struct dump_row, e->d.by_process ? (struct cell){} : cell_u64(e->d.kept))

static CELL_GET(comm_cell)
{
	const struct syscalls_dump *d = &((const struct dump_row *)row->sums)->d;

	if (!d->tgid)
		return (struct cell){};
	return cell_text(
		d->comm[0] ? report_text(r, "%.16s", d->comm) : stream_comm(r->stream, d->tgid, 0));
}

static const struct cell_column dump_columns[] = {
	CELL_NUMBER(struct dump_row, number, "dump", "DUMP", UNIT_ID, 0,
		"its number, by which its calls are found below"),
	CELL_FROM(0, struct dump_row, d.h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"when, since the start", cell_of_time),
	CELL_BY(0, "why", "WHY", CELL_TEXT, UNIT_NONE, 0, "what made it", why_cell),
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0,
		"process that made it, or whose calls they are", pid_cell),
	CELL_BY(0, "tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread that made it", tid_cell),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name", comm_cell),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0,
		"control group whose calls they are", group_cell),
	CELL_NUMBER(struct dump_row, calls, "count", "CALLS", UNIT_COUNT, 0,
		"calls of it that are shown"),
	CELL_BY(0, "kept", "KEPT", CELL_U64, UNIT_COUNT, COL_WIDE,
		"calls of the group so far; those before the shown ones are overwritten",
		kept_cell),
	CELL_NUMBER(struct dump_row, d.missed, "missed", "MISSED", UNIT_COUNT, COL_WIDE,
		"slow or failed calls so far that made no dump, as the one before was still to "
		"be read"),
};

/* Its number is the row's key. */
static const struct cell_column flight_columns[] = {
	{0, {"dump", "DUMP", CELL_U64, UNIT_ID, 0, "number of the dump"}, cell_of_key_u64, 0},
	CALL_CELLS,
};

static int dumps_report(struct dump_list *l, struct report *r)
{
	struct table *t = cells_table(r, "dumps", "Dumps", dump_columns, ARRAY_SIZE(dump_columns));

	if (!t)
		return -ENOMEM;
	t->empty = !l->waits   ? "No call has ended."
		   : l->before ? "No further dump."
			       : "No dump: nothing that --dump-on names has happened.";
	for (size_t i = 0; i < l->dumps.n; i++) {
		const struct dump_row row = {l->dumps.v[i], l->before + i + 1, l->calls.v[i]};

		cells_one(t, r, dump_columns, &row, NULL);
	}
	return t->failed ? -ENOMEM : 0;
}

static int flight_report(struct dump_list *l, struct report *r)
{
	struct table *t =
		cells_table(r, "flight", "Last calls", flight_columns, ARRAY_SIZE(flight_columns));
	size_t at = 0;
	int rc = t ? 0 : -ENOMEM;

	if (t)
		t->story = true;
	for (size_t i = 0; i < l->dumps.n; i++) {
		u64 dump = l->before + i + 1;

		for (size_t k = 0; k < l->calls.v[i] && !rc; k++) {
			const struct syscalls_call *c = call_list_next(&l->list, &at);

			rc = c ? cells_row(t, r, flight_columns, ARRAY_SIZE(flight_columns),
					 &(struct row_of){0, &dump, c, NULL})
			       : -ENOMEM;
		}
	}
	return rc;
}

int dump_list_report(struct dump_list *l, struct report *r)
{
	int rc = dumps_report(l, r);

	return rc ? rc : flight_report(l, r);
}

void dump_list_reset(struct dump_list *l)
{
	l->before += (u32)l->dumps.n;
	l->dumps.n = 0;
	l->calls.n = 0;
	l->due = false;
	call_list_clear(&l->list);
}

void dump_list_free(struct dump_list *l)
{
	vec_free(&l->dumps);
	vec_free(&l->calls);
	call_list_free(&l->list);
}

const struct view_table syscalls_kept_tables[] = {
	CELLS_VIEW("call", each_columns),
	CELLS_VIEW("dumps", dump_columns),
	CELLS_VIEW("flight", flight_columns),
	{},
};
