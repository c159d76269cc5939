/* See diff.h. */
#include "cmd/diff.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "render/render_cell.h"

#define DURATION_SAME 0.05 /* as a part of the shorter */

static void diff_tell_value_add(struct str *out, const struct column *c, u16 flags, long double v)
{
	struct column shown = *c;
	struct cell cell = cell_f64((double)v);

	shown.flags = flags;
	/* whole numbers have no decimals */
	if (c->type != CELL_F64 && v == (long double)(s64)v)
		cell = cell_s64((s64)v);
	cell_add(out, &shown, &cell, 0);
}

/* A value of one side, with how far its recordings are apart. */
static void amount_tell(struct str *t, const struct column *c, const struct diff_amount *a)
{
	diff_tell_value_add(t, c, 0, a->value);
	if (a->runs.n < 2)
		return;
	str_add(t, " +- ");
	diff_tell_value_add(t, c, 0, sqrtl(sample_variance(&a->runs)));
}

/* How sure the change of the total is. */
static void doubt_tell(
	struct str *t, const struct diff_result *res, long double change, long double error)
{
	static const struct column ratio = {.unit = UNIT_RATIO};
	struct cell p = cell_f64(res->total_p);

	if (res->total_p >= 0 && change != 0) {
		str_add(t, diff_is_beyond(res->total_p, true) ? ", p " : ", within noise: p ");
		cell_add(t, &ratio, &p, 0);
	}
	str_add(t, error > 0 && change != 0 && change <= error && -change <= error
			   ? ", within the error."
			   : ".");
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
		amount_tell(&t, res->column, &res->total[0]);
		str_add(&t, " before, ");
		amount_tell(&t, res->column, &res->total[1]);
		str_add(&t, " after: ");
		diff_tell_value_add(&t, res->column, COL_CHANGE, change);
		if (before != 0)
			str_addf(
				&t, " (%+.1Lf %%)", 100 * change / (before < 0 ? -before : before));
		doubt_tell(&t, res, change, error);
	}
	if (t.len)
		r->verdict = report_text(r, "%s", str_get(&t));
}

/* What tells a change from noise, or that nothing does. */
static void noise_tell(
	struct report *r, const struct diff_spec *s, const struct diff_result *res, bool judged)
{
	if (diff_has_several(res))
		report_note(r,
			"of %u recordings before and %u after: numbers are means, +- their "
			"standard "
			"deviation; a change is within noise where Welch's t-test gives p of %g %% "
			"or more, for rows corrected (Holm) over all that vary%s",
			res->runs[0], res->runs[1], 100 * DIFF_LEVEL,
			res->runs[0] > 1 && res->runs[1] > 1
				? ""
				: "; a side with one recording is assumed to vary like the other");
	else if (judged)
		report_note(r,
			"with one recording per side the noise is not known: --fail-on judges the "
			"change alone; memwhy diff A1 A2 A3 -- B1 B2 B3 separates it from noise");
	if (s->counts && s->time)
		report_note(r, "--fail-on judges counts: --sort %s judges that time", s->time);
}

typedef void (*stream_fn)(void *arg, const struct stream *s);

static void streams_each(const struct report *r, stream_fn fn, void *arg)
{
	fn(arg, r->before);
	vec_each (other, &r->others[0])
		fn(arg, other->stream);
	fn(arg, r->stream);
	vec_each (other, &r->others[1])
		fn(arg, other->stream);
}

struct span {
	u64 least, most;
};

static void span_add(void *arg, const struct stream *s)
{
	struct span *span = arg;
	u64 ns = stream_interval_ns(s);

	span->least = MIN(span->least, ns);
	span->most = MAX(span->most, ns);
}

/* Durations far apart make counts so. */
static void durations_tell(struct report *r, const struct diff_spec *s)
{
	u64 before = stream_interval_ns(r->before), after = stream_interval_ns(r->stream);
	bool two = !r->others[0].n && !r->others[1].n;
	struct span span = {UINT64_MAX, 0};
	char text[2][UNIT_BUF];

	streams_each(r, span_add, &span);
	fmt_ns(text[0], two ? before : span.least);
	fmt_ns(text[1], two ? after : span.most);
	if (s->per_second)
		report_note(r, "counts are per second of their recording: %s %s %s", text[0],
			two ? "and" : "to", text[1]);
	else if ((double)(span.most - span.least) > DURATION_SAME * (double)span.least)
		report_note(r,
			"the recordings differ in length, %s %s %s, and counts are not scaled; "
			"--rate compares counts per second",
			text[0], two ? "and" : "to", text[1]);
}

/* The first one that is on another kernel, or machine, than the first before. */
struct others {
	const struct stream *like, *kernel, *machine, *command, *options;
};

static bool is_machine(const struct rec_host *a, const struct rec_host *b)
{
	return a->cpus == b->cpus && a->nodes == b->nodes && a->memory_bytes == b->memory_bytes &&
	       a->page_bytes == b->page_bytes;
}

static void others_find(void *arg, const struct stream *s)
{
	struct others *o = arg;
	const struct rec_session *a = &o->like->session, *b = &s->session;

	if (!o->kernel &&
		strncmp(o->like->host.kernel, s->host.kernel, sizeof(s->host.kernel)) != 0)
		o->kernel = s;
	if (!o->machine && !is_machine(&o->like->host, &s->host))
		o->machine = s;
	if (!o->command && strncmp(a->command, b->command, sizeof(a->command)) != 0)
		o->command = s;
	if (!o->options && (strncmp(a->by, b->by, sizeof(a->by)) != 0 || a->options != b->options))
		o->options = s;
}

static void machines_tell(struct report *r, const struct rec_host *a, const struct rec_host *b)
{
	char sizes[2][UNIT_BUF];

	report_note(r, "the machines differ: %u CPUs, %u nodes, %s and %u CPUs, %u nodes, %s",
		a->cpus, a->nodes, fmt_bytes(sizes[0], a->memory_bytes), b->cpus, b->nodes,
		fmt_bytes(sizes[1], b->memory_bytes));
}

static void others_tell(struct report *r)
{
	const struct rec_session *a = &r->before->session, *b = &r->stream->session;
	struct others o = {.like = r->before};

	streams_each(r, others_find, &o);
	if (o.kernel)
		report_note(r, "the kernels differ: %.64s and %.64s", r->before->host.kernel,
			o.kernel->host.kernel);
	if (o.machine)
		machines_tell(r, &r->before->host, &o.machine->host);
	if (o.command)
		report_note(r, "one was recorded by 'memwhy %.32s', another by 'memwhy %.32s'",
			a->command, o.command->session.command);
	if (o.options)
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

void diff_tell_other(struct report *r, const struct diff_spec *s, u32 side, const char *name,
	const struct report *of)
{
	const struct report *like = s->sides[side];

	vec_each (n, &of->notes)
		if (!says(like->notes.v, like->notes.n, *n))
			report_note(r, "%s: %s", name, *n);
	vec_each (n, &of->not_checked)
		if (!says(like->not_checked.v, like->not_checked.n, *n))
			report_not_checked(r, "%s: %s", name, *n);
}

void diff_tell(struct report *r, const struct diff_spec *s, const struct diff_result *res,
	bool judged, bool regression)
{
	verdict_tell(r, s, res, regression);
	noise_tell(r, s, res, judged);
	if (res->rows && res->new_rows + res->gone_rows == res->rows)
		report_note(r, "the recordings have no row in common: do they show the same "
			       "program, recorded with the same options? --by takes other keys");
	durations_tell(r, s);
	others_tell(r);
	side_tell(r, s->sides[0], s->sides[1], "before");
	side_tell(r, s->sides[1], s->sides[0], "after");
}
