/* See syscalls_kept.h. */
#include "probes/syscalls/syscalls_kept.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "base/clock.h"
#include "base/units.h"
#include "probes/syscalls/syscalls_line.h"
#include "sys/syscall_flags.h"

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

/* What a single call has, whoever shows it: a line for people, its parts for programs. */
enum { CALL_NS, CALL_LINE, CALL_NAME, CALL_RESULT, CALL_ERROR, CALL_N };

#define CALL_COLUMNS                                                                           \
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,                                      \
		"from begin to end; empty where it has none (exit) or never began (refused)"}, \
		{"line", "CALL", CELL_TEXT, UNIT_NONE, COL_WHOLE,                              \
			"the call as strace writes it, with its arguments and what it "        \
			"returned; of other ABIs with compat: or x32: before it"},             \
		{"call", "NAME", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "name of the call"},        \
		{"result", "RESULT", CELL_S64, UNIT_NONE, COL_HIDDEN,                          \
			"what it returned, or -errno"},                                        \
	{                                                                                      \
		"error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "its error by name"        \
	}

static const char *line_of(struct report *r, const struct syscalls_call *c)
{
	_cleanup_str_ struct str s = {};

	syscalls_call_add(&s, r->stream, c);
	str_add(&s, " = ");
	syscalls_result_add(&s, c);
	return report_textn(r, str_get(&s), s.len);
}

static const char *name_of(struct report *r, const struct syscalls_call *c)
{
	_cleanup_str_ struct str s = {};

	syscalls_name_add(&s, c->abi, c->nr);
	return report_textn(r, str_get(&s), s.len);
}

static void call_cells(struct report *r, const struct syscalls_call *c, struct cell *cells)
{
	bool ended = !(c->flags & (SYSCALLS_NO_END | SYSCALLS_UNDER_WAY));

	if (c->flags & SYSCALLS_TIMED)
		cells[CALL_NS] = cell_u64(c->ns);
	cells[CALL_LINE] = cell_text(line_of(r, c));
	cells[CALL_LINE].escaped = true;
	cells[CALL_NAME] = cell_text(name_of(r, c));
	if (ended)
		cells[CALL_RESULT] = cell_s64(c->ret);
	if (ended && c->ret < 0 && c->ret >= -4095)
		cells[CALL_ERROR] = cell_text(error_name((u64)-c->ret));
}

static const struct column each_columns[] = {
	EACH_COLUMNS("when it began, since the start"),
	CALL_COLUMNS,
	{"fault_ns", "FAULTS", CELL_U64, UNIT_NS, COL_WIDE,
		"with --with-memory: of the duration, in page faults"},
	{"reclaim_ns", "RECLAIM", CELL_U64, UNIT_NS, COL_WIDE,
		"time in direct reclaim, also within page faults"},
	{"compaction_ns", "COMPACTION", CELL_U64, UNIT_NS, COL_WIDE,
		"time in compaction, also within page faults"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "who called"},
};

#define EACH_CALL 5
#define EACH_PARTS (EACH_CALL + CALL_N)

static u64 began_ns(const struct syscalls_call *c)
{
	return c->h.time_ns - MIN(c->ns, c->h.time_ns);
}

struct table *calls_each(struct call_list *l, struct report *r, bool memory)
{
	struct table *t =
		report_table(r, "call", "System calls", each_columns, ARRAY_SIZE(each_columns));
	const struct syscalls_call *c;
	size_t at = 0;

	while ((c = call_list_next(l, &at))) {
		struct cell *row = t ? table_row(t) : NULL;

		if (!row)
			break;
		each_cells(r, began_ns(c), c->tgid, c->tid, c->comm, c->cgroup, row);
		call_cells(r, c, row + EACH_CALL);
		for (int i = 0; memory && i < SYSCALLS_PARTS; i++)
			row[EACH_PARTS + i] = cell_u64(c->part_ns[i]);
		row[EACH_PARTS + SYSCALLS_PARTS] = cell_stack(c->ustack);
	}
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

static const struct column dump_columns[] = {
	{"dump", "DUMP", CELL_U64, UNIT_ID, 0, "its number, by which its calls are found below"},
	{"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "when, since the start"},
	{"why", "WHY", CELL_TEXT, UNIT_NONE, 0, "what made it"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process that made it, or whose calls they are"},
	{"tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread that made it"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0, "control group whose calls they are"},
	{"count", "CALLS", CELL_U64, UNIT_COUNT, 0, "calls of it that are shown"},
	{"kept", "KEPT", CELL_U64, UNIT_COUNT, COL_WIDE,
		"calls of the group so far; those before the shown ones are overwritten"},
	{"missed", "MISSED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"slow or failed calls so far that made no dump, as the one before was still to "
		"be read"},
};

static const struct column flight_columns[] = {
	{"dump", "DUMP", CELL_U64, UNIT_ID, 0, "number of the dump"},
	EACH_COLUMNS("when it began, since the start"),
	CALL_COLUMNS,
};

static int dumps_report(struct dump_list *l, struct report *r)
{
	struct table *t = report_table(r, "dumps", "Dumps", dump_columns, ARRAY_SIZE(dump_columns));

	if (!t)
		return -ENOMEM;
	t->empty = !l->waits   ? "No call has ended."
		   : l->before ? "No further dump."
			       : "No dump: nothing that --dump-on names has happened.";
	for (size_t i = 0; i < l->dumps.n; i++) {
		const struct syscalls_dump *d = &l->dumps.v[i];
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[0] = cell_u64(l->before + i + 1);
		row[1] = cell_since(r, d->h.time_ns);
		row[2] = cell_text(why_text(r, d));
		if (d->tgid) {
			row[3] = cell_u64(d->tgid);
			row[5] = cell_text(d->comm[0] ? report_text(r, "%.16s", d->comm)
						      : stream_comm(r->stream, d->tgid, 0));
		}
		if (d->tid)
			row[4] = cell_u64(d->tid);
		if (!d->by_process) {
			row[6] = cell_text(stream_cgroup(r->stream, d->key));
			row[8] = cell_u64(d->kept);
		}
		row[7] = cell_u64(l->calls.v[i]);
		row[9] = cell_u64(d->missed);
	}
	return 0;
}

static int flight_report(struct dump_list *l, struct report *r)
{
	struct table *t =
		report_table(r, "flight", "Last calls", flight_columns, ARRAY_SIZE(flight_columns));
	const struct syscalls_call *c;
	size_t at = 0;

	if (!t)
		return -ENOMEM;
	t->story = true;
	for (size_t i = 0; i < l->dumps.n; i++) {
		for (size_t k = 0; k < l->calls.v[i]; k++) {
			struct cell *row = table_row(t);

			c = call_list_next(&l->list, &at);
			if (!row || !c)
				return -ENOMEM;
			row[0] = cell_u64(l->before + i + 1);
			each_cells(r, began_ns(c), c->tgid, c->tid, c->comm, c->cgroup, row + 1);
			call_cells(r, c, row + 1 + EACH_CALL);
		}
	}
	return 0;
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
	{"call", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{"dumps", dump_columns, ARRAY_SIZE(dump_columns), sizeof(dump_columns[0])},
	{"flight", flight_columns, ARRAY_SIZE(flight_columns), sizeof(flight_columns[0])},
	{},
};
