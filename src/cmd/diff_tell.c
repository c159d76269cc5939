/* See diff_tell.h. */
#include "cmd/diff_tell.h"

#include <string.h>

#include "base/units.h"
#include "render/render_cell.h"

#define DURATION_SAME 0.05 /* as a part of the shorter */

static void value_add(struct str *out, const struct column *c, u16 flags, long double v)
{
	struct column shown = *c;
	struct cell cell = cell_f64((double)v);

	shown.flags = flags;
	/* whole numbers have no decimals */
	if (c->type != CELL_F64 && v == (long double)(s64)v)
		cell = cell_s64((s64)v);
	cell_add(out, &shown, &cell, 0);
}

/* Totals in one line; of what does not add up there is none. */
static void verdict_tell(
	struct report *r, const struct diff_spec *s, const struct diff_result *res, bool regression)
{
	_cleanup_str_ struct str t = {};
	long double change = 0, error = 0, before = res->total[0].value;

	if (regression)
		str_add(&t, "Regression (--fail-on). ");
	if (res->summed && diff_change(res->total, true, &change, &error)) {
		str_addf(&t, "Total %s%s: ", res->column->name, s->per_second ? " a second" : "");
		value_add(&t, res->column, 0, before);
		str_add(&t, " before, ");
		value_add(&t, res->column, 0, res->total[1].value);
		str_add(&t, " after: ");
		value_add(&t, res->column, COL_CHANGE, change);
		if (before != 0)
			str_addf(
				&t, " (%+.1Lf %%)", 100 * change / (before < 0 ? -before : before));
		str_add(&t, error > 0 && change != 0 && change <= error && -change <= error
				    ? ", within the error."
				    : ".");
	}
	if (t.len)
		r->verdict = report_text(r, "%s", str_get(&t));
}

/* Durations far apart make counts so. */
static void durations_tell(struct report *r, const struct diff_spec *s)
{
	u64 before = stream_interval_ns(r->before), after = stream_interval_ns(r->stream);
	u64 apart = before > after ? before - after : after - before;
	char text[2][UNIT_BUF];

	fmt_ns(text[0], before);
	fmt_ns(text[1], after);
	if (s->per_second)
		report_note(
			r, "counts are per second of their recording: %s and %s", text[0], text[1]);
	else if ((double)apart > DURATION_SAME * (double)MIN(before, after))
		report_note(r,
			"the recordings differ in length, %s and %s, and counts are not scaled; "
			"--rate compares counts per second",
			text[0], text[1]);
}

static void hosts_tell(struct report *r)
{
	const struct rec_host *a = &r->before->host, *b = &r->stream->host;

	if (strncmp(a->kernel, b->kernel, sizeof(a->kernel)) != 0)
		report_note(r, "the kernels differ: %.64s and %.64s", a->kernel, b->kernel);
	if (a->cpus != b->cpus || a->nodes != b->nodes || a->memory_bytes != b->memory_bytes ||
		a->page_bytes != b->page_bytes) {
		char sizes[2][UNIT_BUF];

		report_note(r,
			"the machines differ: %u CPUs, %u nodes, %s and %u CPUs, %u nodes, %s",
			a->cpus, a->nodes, fmt_bytes(sizes[0], a->memory_bytes), b->cpus, b->nodes,
			fmt_bytes(sizes[1], b->memory_bytes));
	}
}

static void sessions_tell(struct report *r)
{
	const struct rec_session *a = &r->before->session, *b = &r->stream->session;

	if (strncmp(a->command, b->command, sizeof(a->command)) != 0)
		report_note(r,
			"the first was recorded by 'memwhy %.32s', the second by 'memwhy %.32s'",
			a->command, b->command);
	if (strncmp(a->by, b->by, sizeof(a->by)) != 0 || a->options != b->options)
		report_note(
			r, "they were not recorded with the same options (--by, --stacks, --each)");
	if (a->wall_ns && b->wall_ns && b->wall_ns < a->wall_ns)
		report_note(r, "the second recording is the older one: are they swapped?");
}

static bool says(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

/* What both say is said once; what one says is said of it. */
static void side_tell(
	struct report *r, const struct report *of, const struct report *other, const char *which)
{
	vec_each (n, &of->notes) {
		bool both = says(other->notes.v, other->notes.n, *n);

		if (!both)
			report_note(r, "%s: %s", which, *n);
		else if (!says(r->notes.v, r->notes.n, *n))
			report_note(r, "%s", *n);
	}
	vec_each (n, &of->not_checked) {
		bool both = says(other->not_checked.v, other->not_checked.n, *n);

		if (!both)
			report_not_checked(r, "%s: %s", which, *n);
		else if (!says(r->not_checked.v, r->not_checked.n, *n))
			report_not_checked(r, "%s", *n);
	}
}

void diff_tell(
	struct report *r, const struct diff_spec *s, const struct diff_result *res, bool regression)
{
	verdict_tell(r, s, res, regression);
	if (res->rows && res->new_rows + res->gone_rows == res->rows)
		report_note(r, "the recordings have no row in common: are they of the same "
			       "program, recorded with the same options? --by takes other keys");
	durations_tell(r, s);
	hosts_tell(r);
	sessions_tell(r);
	side_tell(r, s->sides[0], s->sides[1], "before");
	side_tell(r, s->sides[1], s->sides[0], "after");
}
