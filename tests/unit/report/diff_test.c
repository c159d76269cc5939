/*
 * Two tables of two recordings, row by row: what is the same thing in both, how rows of one become
 * one, what is said of the change, and that nothing in them can break it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/probe.h"
#include "render/render.h"
#include "render_fixture.h"
#include "report/diff.h"
#include "report/identity.h"
#include "report/role.h"

#define BEFORE 0
#define AFTER 1

static const struct column columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, ""},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, ""},
	{"node", "NODE", CELL_U64, UNIT_ID, 0, ""},
	{"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_WEIGHT, ""},
	{"peak_error_bytes", "+-", CELL_U64, UNIT_BYTES, COL_RARE, ""},
	{"live_bytes", "LIVE", CELL_S64, UNIT_BYTES, COL_LEVEL, ""},
	{"max_ns", "MAX", CELL_U64, UNIT_NS, 0, ""},
	{"min_ns", "MIN", CELL_U64, UNIT_NS, 0, ""},
	{"p50_ns", "P50", CELL_U64, UNIT_NS, 0, ""},
	{"used_ratio", "USED", CELL_F64, UNIT_RATIO, 0, ""},
	{"state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE, ""},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, ""},
};

enum { PID, COMM, NODE, BYTES, ERROR, LIVE, MAXIMUM, MINIMUM, P50, USED, STATE, STACK, N };

static struct fixture sides[2];
static struct table *tables[2];
static struct report result;
static struct diff_spec spec;
static struct diff_result res;

static void side_open(int i)
{
	sides[i] = (struct fixture){};
	assert_int_equal(stream_init(&sides[i].stream), 0);
	feed_host(&sides[i]);
	report_init(&sides[i].report, "heap", &sides[i].stream);
	tables[i] = report_table(&sides[i].report, "heap", "Heap", columns, N);
	spec.sides[i] = &sides[i].report;
}

static int setup(void **state)
{
	(void)state;
	spec = (struct diff_spec){};
	side_open(BEFORE);
	side_open(AFTER);
	report_init(&result, "diff", &sides[AFTER].stream);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	report_destroy(&result);
	for (int i = 0; i < 2; i++) {
		report_destroy(&sides[i].report);
		stream_destroy(&sides[i].stream);
	}
	return 0;
}

static struct cell *row(int side, u64 pid, const char *comm, u64 bytes)
{
	struct cell *r = table_row(tables[side]);

	r[PID] = cell_u64(pid);
	r[COMM] = cell_text(comm);
	r[BYTES] = cell_u64(bytes);
	return r;
}

static void tables_drop(struct report *r)
{
	vec_each (t, &r->tables)
		vec_free(&(*t)->cells);
	r->tables.n = 0;
}

static struct table *compare(void)
{
	struct diff_match *m;

	assert_int_equal(diff_begin(&spec, "heap", &m), 0);
	assert_int_equal(diff_show(&result, &sides[AFTER].stream, m, &res), 0);
	diff_end(m);
	assert_int_equal(result.tables.n, 2);
	return result.tables.v[0];
}

static const struct cell *cell(const struct table *t, size_t at, const char *column)
{
	int c = table_column(t, column);

	assert_true(c >= 0);
	assert_true(at < t->n_rows);
	return table_cell(t, at, (size_t)c);
}

static void assert_text(const struct table *t, size_t at, const char *column, const char *want)
{
	assert_int_equal(cell(t, at, column)->type, CELL_TEXT);
	assert_string_equal(cell(t, at, column)->text, want);
}

static void assert_changed(const struct table *t, size_t at, const char *status, s64 change)
{
	assert_text(t, at, "status", status);
	assert_int_equal(cell(t, at, "change_peak_bytes")->type, CELL_S64);
	assert_true(cell(t, at, "change_peak_bytes")->s == change);
}

static void rows_by_change(void **state)
{
	const struct table *t;

	(void)state;
	row(BEFORE, 1, "same", 500);
	row(BEFORE, 2, "gone", 40);
	row(BEFORE, 3, "less", 100);
	row(BEFORE, 4, "zero", 0);
	row(AFTER, 11, "new", 70);
	row(AFTER, 12, "less", 50);
	row(AFTER, 13, "same", 500);
	row(AFTER, 14, "zero", 9);
	t = compare();
	assert_int_equal(t->n_rows, 5);
	assert_changed(t, 0, "new", 70);
	assert_changed(t, 1, "less", -50);
	assert_changed(t, 2, "gone", -40);
	assert_changed(t, 3, "more", 9);
	assert_changed(t, 4, "same", 0);
	assert_int_equal(cell(t, 0, "before_peak_bytes")->type, CELL_EMPTY);
	assert_int_equal(cell(t, 2, "after_peak_bytes")->type, CELL_EMPTY);
	assert_true(cell(t, 1, "change_peak_bytes_ratio")->f == -0.5);
	assert_true(cell(t, 2, "change_peak_bytes_ratio")->f == -1);
	assert_int_equal(cell(t, 0, "change_peak_bytes_ratio")->type, CELL_EMPTY);
	assert_int_equal(cell(t, 3, "change_peak_bytes_ratio")->type, CELL_EMPTY); /* of nothing */
	assert_int_equal(table_column(t, "pid"), -ENOENT);
	assert_int_equal(table_column(t, "state"), -ENOENT);

	assert_true(res.summed);
	assert_int_equal(res.rows, 5);
	assert_int_equal(res.new_rows, 1);
	assert_int_equal(res.gone_rows, 1);
	assert_true(res.total[BEFORE].value == 640 && res.total[AFTER].value == 629);
	assert_true(res.rise == 70 && res.rise_share == 0);
	t = result.tables.v[1];
	assert_string_equal(t->name, "total");
	assert_true(cell(t, 0, "change_peak_bytes")->s == -11);
	assert_true(cell(t, 0, "rows")->u == 5 && cell(t, 0, "new_rows")->u == 1);
	assert_string_equal(cell(t, 0, "of")->text, result.tables.v[0]->name);
}

/* Pids are not part of what a row is of; what several rows say becomes one. */
static void duplicates_join(void **state)
{
	const u64 maxima[] = {5, 9, 7};
	const struct table *t;

	(void)state;
	for (u64 i = 0; i < 3; i++) {
		struct cell *r = row(BEFORE, 100 + i, "sh", 10);

		r[MAXIMUM] = r[MINIMUM] = cell_u64(maxima[i]);
		r[P50] = cell_u64(3);
		r[USED] = cell_f64(0.5);
		r[STATE] = cell_text(i ? "runs" : "ended");
	}
	row(AFTER, 7, "sh", 33)[P50] = cell_u64(4);
	spec.fields = "peak_bytes,max_ns,min_ns,p50_ns,used_ratio";
	t = compare();
	assert_int_equal(t->n_rows, 1);
	assert_changed(t, 0, "more", 3);
	assert_true(cell(t, 0, "before_max_ns")->u == 9);
	assert_true(cell(t, 0, "before_min_ns")->u == 5);
	assert_int_equal(cell(t, 0, "before_p50_ns")->type, CELL_EMPTY); /* of three: not known */
	assert_int_equal(cell(t, 0, "before_used_ratio")->type, CELL_EMPTY);
	assert_true(cell(t, 0, "after_p50_ns")->u == 4);
	assert_int_equal(cell(t, 0, "change_p50_ns")->type, CELL_EMPTY);
}

/* By stack a program may have another name; code that is in no file is at another place each time.
 */
static void renamed(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		feed_frame(&sides[i], 1, false, "[unknown]", 0x1000 + (u64)i);
		feed_stack(&sides[i], 1, &(u32){1}, 1);
		row(i, 1, i ? "job-2" : "job-1", 10)[STACK] = cell_stack(1);
	}
	assert_int_equal(compare()->n_rows, 2);
	spec.any_comm = true;
	tables_drop(&result);
	assert_int_equal(compare()->n_rows, 1);
	assert_int_equal(table_column(result.tables.v[0], "comm"), -ENOENT);
}

static void nodes_are_names(void **state)
{
	(void)state;
	row(BEFORE, 1, "sh", 10)[NODE] = cell_u64(0);
	row(AFTER, 1, "sh", 10)[NODE] = cell_u64(1);
	row(AFTER, 1, "sh", 10); /* of no known node */
	assert_int_equal(compare()->n_rows, 3);
}

static void a_stack(
	int side, u32 id, const char *outer, const char *inner, const char *file, u32 line)
{
	struct fixture *f = &sides[side];
	u32 frames[] = {id * 2, id * 2 + 1};

	feed_frame(f, frames[0], false, side ? "/new/job" : "/old/job", 0x100 + line);
	feed_frame(f, frames[1], false, side ? "/new/job" : "/old/job", 0x200 + line);
	if (inner)
		feed_symbol(f, frames[0], inner, file, line, NULL);
	feed_symbol(f, frames[1], outer, file, line, NULL);
	feed_stack(f, id, frames, 2);
}

static void stack_row(int side, u32 id, u64 bytes)
{
	row(side, 1, NULL, bytes)[STACK] = cell_stack(id);
}

/* The same stack again, sent later than all of the other recording. */
static void feed_late_stack(int side, u32 id)
{
	const struct rec_stack *st = stream_stack(&sides[side].stream, id);
	struct {
		struct rec_stack r;
		u32 frames[2];
	} late = {.r = {.h.time_ns = START_NS * 2, .id = id, .n = 2},
		.frames = {st->frames[0], st->frames[1]}};

	feed(&sides[side], &late, REC_STACK, sizeof(late));
}

static void add_line(void *arg, const char *text)
{
	str_addf(arg, "%s|", text);
}

static void assert_stack(const struct table *t, size_t at, const char *want)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(cell(t, at, "stack")->type, CELL_STACK);
	stack_lines(&sides[AFTER].stream, cell(t, at, "stack")->stack, false, add_line, &s);
	assert_string_equal(str_get(&s), want);
}

/* Rebuilt: other lines, offsets, ids and path, the same functions. */
static void stacks_by_function(void **state)
{
	const struct table *t;

	(void)state;
	a_stack(BEFORE, 5, "main", "grow", "a.c", 10);
	a_stack(BEFORE, 6, "main", "grow.constprop.0", "a.c", 11);
	a_stack(BEFORE, 7, "main", "only_before", NULL, 12);
	a_stack(AFTER, 5, "main", "only_after", "b.c", 20);
	a_stack(AFTER, 8, "main", "grow", "a.c", 30);
	feed_late_stack(BEFORE, 7);
	stack_row(BEFORE, 5, 10);
	stack_row(BEFORE, 6, 10);
	stack_row(BEFORE, 7, 40);
	stack_row(AFTER, 8, 50);
	stack_row(AFTER, 5, 7);
	t = compare();
	assert_int_equal(t->n_rows, 3);
	assert_changed(t, 0, "gone", -40);
	assert_stack(t, 0, "only_before+0x1c (job)|main+0x1c (job)|");
	assert_changed(t, 1, "more", 30);
	assert_stack(t, 1, "grow (a.c:30)|main (a.c:30)|");
	assert_changed(t, 2, "new", 7);
	assert_true(stream_interval_ns(&sides[AFTER].stream) == 10 * NSEC_PER_SEC);
}

/* Without a name the place in the file is what is known, and of the kernel nothing. */
static void stacks_without_names(void **state)
{
	const struct table *t;

	(void)state;
	a_stack(BEFORE, 1, "main", NULL, "a.c", 10);
	a_stack(AFTER, 1, "main", NULL, "a.c", 10);
	a_stack(AFTER, 2, "main", NULL, "a.c", 11);
	stack_row(BEFORE, 1, 10);
	stack_row(AFTER, 1, 10);
	stack_row(AFTER, 2, 20);
	stack_row(AFTER, 99, 30); /* of which nothing is known */
	t = compare();
	assert_int_equal(t->n_rows, 3);
	assert_changed(t, 0, "new", 30);
	assert_changed(t, 1, "new", 20);
	assert_changed(t, 2, "same", 0);
}

/* Whether a function was inlined is the compiler's choice; who called whom is not. */
static void inlined_or_not(void **state)
{
	u32 frame = 1, apart[] = {1, 2};

	(void)state;
	feed_frame(&sides[BEFORE], 1, false, "/job", 0x10);
	feed_symbol(&sides[BEFORE], 1, "main", "a.c", 20, "helper");
	feed_stack(&sides[BEFORE], 1, &frame, 1);
	for (u32 i = 1; i <= 2; i++) {
		feed_frame(&sides[AFTER], i, false, "/job", 0x10 * i);
		feed_symbol(&sides[AFTER], i, i == 1 ? "helper" : "main", NULL, 0, NULL);
	}
	feed_stack(&sides[AFTER], 1, apart, 2);
	stack_row(BEFORE, 1, 10);
	stack_row(AFTER, 1, 10);
	assert_int_equal(compare()->n_rows, 1);
	assert_changed(result.tables.v[0], 0, "same", 0);
}

static struct diff_match *joined; /* what other recordings are put to */

static void join_begin(void)
{
	assert_int_equal(diff_begin(&spec, "heap", &joined), 0);
}

/* Another recording of a side with these rows, which is gone after. */
static void join_rows(u32 side, const char *const *comms, const u64 *bytes, size_t n, bool stacks)
{
	struct fixture f = {};
	struct report r;
	struct table *t;

	assert_int_equal(stream_init(&f.stream), 0);
	feed_host(&f);
	report_init(&r, "heap", &f.stream);
	t = report_table(&r, "heap", "Heap", columns, N);
	for (size_t i = 0; i < n; i++) {
		struct cell *cells = table_row(t);

		cells[COMM] = comms ? cell_text(report_text(&r, "%s", comms[i])) : (struct cell){};
		cells[BYTES] = cell_u64(bytes[i]);
		if (stacks) {
			u32 frame = 1 + (u32)i;

			feed_frame(&f, frame, false, "/job", 0x10 * frame);
			feed_symbol(&f, frame, report_text(&r, "of_%s", comms[i]), "a.c", 7, NULL);
			feed_stack(&f, 1 + (u32)i, &frame, 1);
			cells[STACK] = cell_stack(1 + (u32)i);
		}
	}
	assert_int_equal(diff_join(joined, side, &r, "heap", &sides[AFTER].stream), 0);
	report_destroy(&r);
	stream_destroy(&f.stream);
}

static void join(u32 side, const char *comm, u64 bytes)
{
	join_rows(side, &comm, &bytes, 1, false);
}

static const struct table *join_end(void)
{
	assert_int_equal(diff_show(&result, &sides[AFTER].stream, joined, &res), 0);
	diff_end(joined);
	assert_int_equal(result.tables.n, 2);
	return result.tables.v[0];
}

static void assert_value(const struct table *t, size_t at, const char *column, double want)
{
	const struct cell *c = cell(t, at, column);

	assert_int_equal(c->type, CELL_F64);
	if (c->f - want > 1e-6 || want - c->f > 1e-6)
		fail_msg("%s: %.9g, not %.9g", column, c->f, want);
}

static void several_recordings(void **state)
{
	const struct table *t;

	(void)state;
	row(BEFORE, 1, "sh", 1);
	row(AFTER, 1, "sh", 4);
	join_begin();
	join(BEFORE, "sh", 3);
	join(AFTER, "sh", 6);
	join(AFTER, "sh", 5);
	join(BEFORE, "sh", 2);
	t = join_end();
	assert_int_equal(t->n_rows, 1);
	assert_value(t, 0, "before_peak_bytes", 2);
	assert_value(t, 0, "after_peak_bytes", 5);
	assert_value(t, 0, "before_peak_bytes_spread", 1);
	assert_value(t, 0, "after_peak_bytes_spread", 1);
	assert_value(t, 0, "change_peak_bytes", 3);
	assert_value(t, 0, "change_peak_bytes_ratio", 1.5);
	assert_value(t, 0, "change_peak_bytes_p", 0.021311641); /* Welch: base/welch_test */
	assert_text(t, 0, "status", "within noise");
	assert_value(result.tables.v[1], 0, "change_peak_bytes_p", 0.021311641);
	assert_int_equal(res.runs[0], 3);
	assert_int_equal(res.runs[1], 3);
	assert_true(diff_has_several(&res) && !diff_is_beyond(res.total_p, true));
	assert_false(res.rise > 0);
}

/* Six runs that are evenly apart are of one program, whichever three are said to be after. */
static void no_split_is_beyond_noise(void **state)
{
	(void)state;
	for (u32 split = 0; split < 64; split++) {
		u32 runs[6], n = 0;

		if (__builtin_popcount(split) != 3)
			continue;
		for (u32 i = 0; i < 6; i++)
			if (!(split >> i & 1))
				runs[n++] = i;
		for (u32 i = 0; i < 6; i++)
			if (split >> i & 1)
				runs[n++] = i;
		for (int i = 0; i < 2; i++)
			vec_free(&tables[i]->cells), tables[i]->n_rows = 0;
		tables_drop(&result);
		row(BEFORE, 1, "sh", 1000 + 30 * runs[0]);
		row(AFTER, 1, "sh", 1000 + 30 * runs[3]);
		join_begin();
		for (u32 i = 1; i < 6; i++)
			if (i != 3)
				join(i / 3, "sh", 1000 + 30 * runs[i]);
		join_end();
		assert_false(res.rise > 0);
		assert_false(diff_is_beyond(res.total_p, true));
	}
}

/* A recording without a row has 0 of it; names of what is gone with its recording stay. */
static void rows_of_some(void **state)
{
	static const char *const names[] = {"sh", "late"};
	const struct table *t;

	(void)state;
	row(BEFORE, 1, "sh", 100);
	row(AFTER, 1, "sh", 100);
	join_begin();
	join_rows(AFTER, names, (const u64[]){100, 30}, 2, true);
	join_rows(AFTER, names, (const u64[]){100, 60}, 2, true);
	join(BEFORE, "sh", 100);
	t = join_end();
	assert_int_equal(t->n_rows, 3); /* sh has a stack in two of them */
	for (size_t i = 0; i < t->n_rows; i++) {
		if (strcmp(cell(t, i, "comm")->text, "late") != 0)
			continue;
		assert_text(t, i, "status", "new, within noise");
		assert_value(t, i, "after_peak_bytes", 30); /* 0, 30, 60 */
		assert_value(t, i, "after_peak_bytes_spread", 30);
		assert_int_equal(cell(t, i, "before_peak_bytes")->type, CELL_EMPTY);
		assert_stack(t, i, "of_late (a.c:7)|");
		return;
	}
	fail_msg("late is not there");
}

/* What never varies is no noise, and many rows that do are no reason to find one. */
static void exact_and_many(void **state)
{
	const char *names[21];
	u64 bytes[21];
	size_t beyond = 0;
	const struct table *t;
	char text[21][8];

	(void)state;
	for (size_t i = 0; i < 21; i++) {
		snprintf(text[i], sizeof(text[i]), "n%zu", i);
		names[i] = text[i];
		row(BEFORE, 1, names[i], i ? 100 + i % 3 : 1000);
		row(AFTER, 1, names[i], i ? 105 + i % 3 : 1001);
	}
	join_begin();
	for (u64 run = 1; run < 3; run++)
		for (u32 side = 0; side < 2; side++) {
			for (u64 i = 0; i < 21; i++)
				bytes[i] = i ? 100 + 5 * side + (i + run) % 3 : 1000 + side;
			join_rows(side, names, bytes, 21, false);
		}
	t = join_end();
	/* each by itself has p = 0.0036, among 20 of them 0.07; the one that is exact has 0 */
	for (size_t i = 0; i < t->n_rows; i++)
		beyond += strcmp(cell(t, i, "status")->text, "within noise") != 0;
	assert_int_equal(beyond, 1);
	assert_true(res.rise == 1);
	assert_true(diff_is_beyond(res.total_p, true)); /* all of them together do */
}

static void one_against_several(void **state)
{
	(void)state;
	row(BEFORE, 1, "sh", 100);
	row(AFTER, 1, "sh", 110);
	join_begin();
	join(BEFORE, "sh", 101);
	join(BEFORE, "sh", 102);
	assert_value(join_end(), 0, "change_peak_bytes_p", 0.016065302); /* t = 9 / sqrt(4 / 3) */
}

static void no_such_table(void **state)
{
	struct report r;

	(void)state;
	row(BEFORE, 1, "sh", 1);
	row(AFTER, 1, "sh", 1);
	join_begin();
	report_init(&r, "heap", &sides[AFTER].stream);
	assert_int_equal(diff_join(joined, BEFORE, &r, "heap", &sides[AFTER].stream), -ENOENT);
	report_table(&r, "heap", "Heap", columns, 2); /* without what is compared */
	assert_int_equal(diff_join(joined, BEFORE, &r, "heap", &sides[AFTER].stream), -ENOENT);
	report_destroy(&r);
	assert_changed(join_end(), 0, "same", 0);
	assert_false(diff_has_several(&res));
}

static void ids_that_are_taken(void **state)
{
	const struct table *t;

	(void)state;
	/* the numbers that would be given first are in use */
	for (u32 i = 0; i < 3; i++) {
		u32 frame = UINT32_MAX - i;

		feed_frame(&sides[AFTER], frame, true, NULL, i);
		feed_symbol(&sides[AFTER], frame, "taken", NULL, 0, NULL);
		feed_stack(&sides[AFTER], UINT32_MAX - i, &frame, 1);
	}
	sides[AFTER].strings = UINT32_MAX - 3;
	feed_string(&sides[AFTER], "also taken");
	a_stack(BEFORE, 1, "main", "grow", "a.c", 10);
	stack_row(BEFORE, 1, 10);
	stack_row(AFTER, UINT32_MAX, 5);
	t = compare();
	assert_int_equal(t->n_rows, 2);
	assert_stack(t, 0, "grow (a.c:10)|main (a.c:10)|");
	assert_stack(t, 1, "taken+0x1c (kernel)|");
	assert_string_equal(stream_string(&sides[AFTER].stream, UINT32_MAX - 2), "also taken");
}

static void huge_numbers(void **state)
{
	const struct table *t;

	(void)state;
	row(BEFORE, 1, "sum", UINT64_MAX);
	row(BEFORE, 2, "sum", UINT64_MAX);
	row(BEFORE, 1, "exact", UINT64_MAX - 1);
	row(AFTER, 1, "exact", UINT64_MAX);
	row(AFTER, 1, "rise", UINT64_MAX)[LIVE] = cell_s64(INT64_MIN);
	row(BEFORE, 1, "rise", 0)[LIVE] = cell_s64(INT64_MAX);
	spec.fields = "peak_bytes,live_bytes";
	t = compare();
	assert_int_equal(t->n_rows, 3);
	assert_changed(t, 0, "gone", INT64_MIN); /* as far as the type goes */
	assert_true(cell(t, 0, "before_peak_bytes")->u == UINT64_MAX);
	assert_changed(t, 1, "more", INT64_MAX);
	assert_true(cell(t, 1, "change_live_bytes")->s == INT64_MIN);
	assert_changed(t, 2, "more", 1);
	t = result.tables.v[1];
	assert_true(cell(t, 0, "after_peak_bytes")->u == UINT64_MAX);
}

static void numbers_that_are_none(void **state)
{
	(void)state;
	row(BEFORE, 1, "a", 1)[USED] = cell_f64(__builtin_nan(""));
	row(AFTER, 1, "a", 1)[USED] = cell_f64(__builtin_inf());
	row(AFTER, 1, "b", 1)[BYTES] = (struct cell){};
	spec.fields = "used_ratio,peak_bytes";
	assert_int_equal(compare()->n_rows, 2);
	assert_text(result.tables.v[0], 0, "status", "unknown");
	assert_int_equal(cell(result.tables.v[0], 0, "after_used_ratio")->type, CELL_EMPTY);
	assert_false(res.summed);
	assert_false(res.rise > 0);
	assert_int_equal(table_column(result.tables.v[1], "change_used_ratio"), -ENOENT);
}

static void hostile_text(void **state)
{
	static const char *const names[] = {
		"", "a", "a\n", "a;b", "a|b", "\x1b[2J", "\xff\xfe", "new"};
	_cleanup_str_ struct str out = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		row(BEFORE, 1, names[i], i);
		row(AFTER, 2, names[ARRAY_SIZE(names) - 1 - i], 7 - i);
	}
	a_stack(BEFORE, 1, "main\n;", "\x1b]0;x\a", "a;c", 1);
	stack_row(BEFORE, 1, 1);
	assert_int_equal(compare()->n_rows, ARRAY_SIZE(names) + 1);
	assert_int_equal(res.new_rows + res.gone_rows, 1);
	result.before = &sides[BEFORE].stream;
	result.names[0] = "\x1b[2Ja.mw";
	result.names[1] = "b\n.mw";
	result.of = "heap";
	for (size_t i = 0; i < renderers_n; i++)
		renderers[i].report(&result, &(struct render_options){.width = 100}, &out);
	assert_null(strchr(str_get(&out), '\x1b'));
	assert_null(strchr(str_get(&out), '\a'));
}

/* Of columns that only one has nothing is compared, nor matched. */
static void unequal_columns(void **state)
{
	static const struct column fewer[] = {
		{"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_WEIGHT, ""},
		{"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL, ""}, /* another type */
		{"zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, ""},
	};
	struct cell *r;

	(void)state;
	row(BEFORE, 1, "a", 1);
	row(BEFORE, 1, "b", 2);
	tables_drop(&sides[AFTER].report);
	tables[AFTER] = report_table(&sides[AFTER].report, "heap", "Heap", fewer, 3);
	r = table_row(tables[AFTER]);
	r[0] = cell_u64(10);
	r[2] = cell_text("Normal");
	compare();
	assert_int_equal(result.tables.v[0]->n_rows, 1);
	assert_changed(result.tables.v[0], 0, "more", 7);
	assert_int_equal(table_column(result.tables.v[0], "change_live_bytes"), -ENOENT);
	assert_int_equal(table_column(result.tables.v[0], "zone"), -ENOENT);
}

static void no_table_no_rows(void **state)
{
	struct diff_match *m;

	(void)state;
	assert_int_equal(diff_begin(&spec, "none", &m), -ENOENT);
	assert_int_equal(result.tables.n, 0);
	assert_int_equal(compare()->n_rows, 0);
	assert_int_equal(res.rows, 0);
	assert_false(res.rise > 0);
}

static void estimates(void **state)
{
	(void)state;
	row(BEFORE, 1, "noise", 1000)[ERROR] = cell_u64(30);
	row(AFTER, 1, "noise", 1099)[ERROR] = cell_u64(40); /* 2 sqrt(30^2 + 40^2) = 100 */
	row(BEFORE, 1, "rise", 1000)[ERROR] = cell_u64(30);
	row(AFTER, 1, "rise", 1101)[ERROR] = cell_u64(40);
	row(AFTER, 1, "new", 50)[ERROR] = cell_u64(25);
	compare();
	assert_changed(result.tables.v[0], 0, "more", 101);
	assert_true(cell(result.tables.v[0], 0, "change_peak_bytes_error")->u == 50);
	assert_changed(result.tables.v[0], 1, "within error", 99);
	assert_changed(result.tables.v[0], 2, "new, within error", 50);
	assert_true(res.rise > 0 && res.rise == 101);
}

static void rates(void **state)
{
	struct rec_tick later = {.h.time_ns = START_NS + 40 * NSEC_PER_SEC};

	(void)state;
	feed(&sides[AFTER], &later, REC_END, sizeof(later)); /* 40 s after 10 s */
	row(BEFORE, 1, "a", 100)[LIVE] = cell_s64(5);
	row(AFTER, 1, "a", 200)[LIVE] = cell_s64(5);
	spec.per_second = true;
	compare();
	assert_true(cell(result.tables.v[0], 0, "before_peak_bytes_per_s")->f == 10);
	assert_true(cell(result.tables.v[0], 0, "after_peak_bytes_per_s")->f == 5);
	assert_true(cell(result.tables.v[0], 0, "change_peak_bytes_per_s_ratio")->f == -0.5);
	assert_int_equal(table_column(result.tables.v[0], "change_live_bytes_per_s"), -ENOENT);
	assert_false(diff_compares(&spec, &columns[LIVE]));
	assert_false(diff_compares(&spec, &columns[MAXIMUM]));
}

static void smallest_change(void **state)
{
	(void)state;
	row(BEFORE, 1, "big", 900);
	row(AFTER, 1, "big", 1000);
	row(BEFORE, 1, "small", 100);
	row(AFTER, 1, "small", 199);
	assert_int_equal(diff_change_parse("10%", &spec.min), 0); /* of the total: 100 */
	assert_int_equal(compare()->n_rows, 1);
	assert_changed(result.tables.v[0], 0, "more", 100);
	assert_int_equal(res.rows, 2); /* the total is of all */
	assert_true(cell(result.tables.v[1], 0, "change_peak_bytes")->s == 199);
}

static void changes_as_words(void **state)
{
	static const char *const bad[] = {
		"", "x", "-5%", "5%%", "%", "nan", "inf%", "1X", " 5", "1e999%"};
	struct diff_change c;
	long double v;

	(void)state;
	assert_int_equal(diff_change_parse("1.5K", &c), 0);
	assert_true(diff_threshold(&c, &columns[BYTES], 7, &v) && v == 1536);
	assert_false(diff_threshold(&c, &columns[MAXIMUM], 7, &v)); /* a time */
	assert_int_equal(diff_change_parse("10ms", &c), 0);
	assert_true(diff_threshold(&c, &columns[MAXIMUM], 7, &v) && v == 1e7L);
	assert_false(diff_threshold(&c, &columns[BYTES], 7, &v));
	assert_int_equal(diff_change_parse("0.25", &c), 0);
	assert_true(diff_threshold(&c, &columns[USED], 7, &v) && v == 0.25L);
	assert_int_equal(diff_change_parse("50%", &c), 0);
	assert_true(diff_threshold(&c, &columns[BYTES], -8, &v) && v == 4);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(diff_change_parse(bad[i], &c), -EINVAL);
}

static void function_names(void **state)
{
	static const struct {
		const char *name;
		size_t n;
	} names[] = {
		{"f", 1},
		{"f.constprop.0", 1},
		{"f.isra.0.cold", 1},
		{"f.part.12.lto_priv.3", 1},
		{"f.llvm.1234567", 1},
		{"f.0", 3},
		{"f.cold.x", 8},
		{".cold", 5},
		{"", 0},
		{"ns::f(int) [clone .part.0]", 10},
		{"f.constprop", 1},
		{"operator.partial", 16},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(function_name_length(names[i].name), names[i].n);
}

static void folded_has_both(void **state)
{
	_cleanup_str_ struct str out = {};

	(void)state;
	a_stack(BEFORE, 1, "main", "gone", "a.c", 10);
	a_stack(BEFORE, 2, "main", "stays", "a.c", 10);
	a_stack(AFTER, 1, "main", "stays", "a.c", 12);
	stack_row(BEFORE, 1, 10);
	stack_row(BEFORE, 2, 20);
	stack_row(AFTER, 1, 25);
	compare();
	renderer_find("folded")->report(&result, &(struct render_options){}, &out);
	assert_string_equal(str_get(&out), "main;gone 10 0\nmain;stays 20 25\n");
}

static const struct column *view_column(const struct view_table *t, size_t i)
{
	return (const void *)((const char *)t->cols + i * t->stride);
}

/* What is judged unless told otherwise is no time. */
static void count_columns(void **state)
{
	static const struct column cols[] = {
		{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, ""},
		{"total_ns", "TIME", CELL_U64, UNIT_NS, COL_WEIGHT, ""},
		{"errors", "ERRORS", CELL_U64, UNIT_COUNT, 0, ""},
		{"max_order", "ORDER", CELL_U64, UNIT_COUNT, 0, ""},
		{"count", "CALLS", CELL_U64, UNIT_COUNT, 0, ""},
	};
	struct table t = {.cols = cols, .n_cols = 2};

	(void)state;
	assert_int_equal(table_count_column(&t), 1); /* there is no other */
	t.n_cols = 4;
	assert_int_equal(table_count_column(&t), 2);
	t.n_cols = 5;
	assert_int_equal(table_main_column(&t), 1);
	assert_int_equal(table_count_column(&t), 4);
	t.sort = "errors";
	assert_int_equal(table_count_column(&t), 2);
}

/* Whatever a view shows: a standard error has a column it is of, percentages are not added up. */
static void roles_of_all_columns(void **state)
{
	size_t sums = 0, keys = 0;

	(void)state;
	for (size_t p = 0; p < probes_n; p++) {
		const struct view_table *const *set =
			probes[p]->view ? probes[p]->view->tables : NULL;

		for (; set && *set; set++)
			for (const struct view_table *t = *set; t->name; t++)
				for (size_t i = 0; i < t->n_cols; i++) {
					const struct column *c = view_column(t, i);
					enum role role = column_role(c);

					sums += role == ROLE_SUM;
					keys += role == ROLE_KEY;
					if (role == ROLE_SUM)
						assert_true(c->unit != UNIT_RATIO &&
							    c->unit != UNIT_PERMILLE &&
							    c->unit != UNIT_ID &&
							    c->unit != UNIT_HEX);
					assert_false(role == ROLE_KEY && strstr(c->name, "pid"));
				}
	}
	assert_true(sums > 100 && keys > 50);
}

#define TEST(f_) cmocka_unit_test_setup_teardown(f_, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_by_change),
		TEST(duplicates_join),
		TEST(renamed),
		TEST(nodes_are_names),
		TEST(stacks_by_function),
		TEST(stacks_without_names),
		TEST(inlined_or_not),
		TEST(ids_that_are_taken),
		TEST(huge_numbers),
		TEST(numbers_that_are_none),
		TEST(hostile_text),
		TEST(unequal_columns),
		TEST(no_table_no_rows),
		TEST(several_recordings),
		TEST(no_split_is_beyond_noise),
		TEST(rows_of_some),
		TEST(exact_and_many),
		TEST(one_against_several),
		TEST(no_such_table),
		TEST(estimates),
		TEST(rates),
		TEST(smallest_change),
		TEST(folded_has_both),
		cmocka_unit_test(changes_as_words),
		cmocka_unit_test(function_names),
		cmocka_unit_test(count_columns),
		cmocka_unit_test(roles_of_all_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
