/* The parts of the renderers: numbers with units, wrapping, shortening, histograms at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/render_cell.h"
#include "render/render_prose.h"
#include "render_fixture.h"

static void assert_cell(u8 unit, struct cell cell, bool compact, const char *want)
{
	const struct column c = {"x", "X", cell.type, unit, 0, NULL};
	_cleanup_str_ struct str out = {};

	cell_add(&out, &c, &cell, compact);
	assert_string_equal(str_get(&out), want);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_cell(UNIT_COUNT, cell_u64(0), false, "0");
	assert_cell(UNIT_COUNT, cell_u64(999), false, "999");
	assert_cell(UNIT_COUNT, cell_u64(1000), false, "1,000");
	assert_cell(UNIT_PAGES, cell_u64(9999999999), false, "9,999,999,999");
	assert_cell(UNIT_COUNT, cell_u64(10000000000), false, "10.0 G");
	assert_cell(UNIT_COUNT, cell_u64(1234567), true, "1.23 M");
	assert_cell(UNIT_ID, cell_u64(1234567), true, "1234567");
	assert_cell(UNIT_BYTES, cell_u64(1536), false, "1.50 KiB");
	assert_cell(UNIT_NS, cell_u64(1500), false, "1.50 us");
	assert_cell(UNIT_HEX, cell_u64(255), false, "0xff");
	assert_cell(UNIT_PERMILLE, cell_u64(497), false, "0.497");
	assert_cell(UNIT_PERMILLE, cell_s64(-1000), false, "-1.000");
	assert_cell(UNIT_COUNT, cell_s64(INT64_MIN), false, "-9.22 E");
	assert_cell(UNIT_BYTES, cell_s64(-2048), false, "-2.00 KiB");
	assert_cell(UNIT_RATIO, cell_f64(0), false, "0.0 %");
	assert_cell(UNIT_RATIO, cell_f64(0.00001), false, "<0.1 %");
	assert_cell(UNIT_RATIO, cell_f64(0.1234), false, "12.3 %");
	assert_cell(UNIT_RATIO, cell_f64(1), false, "100.0 %");
	assert_cell(UNIT_COUNT, cell_f64(1.234), false, "1.23");
	assert_cell(UNIT_COUNT, cell_f64(99.96), false, "100");
	assert_cell(UNIT_COUNT, cell_f64(-12345.6), false, "-12,346");
	assert_cell(UNIT_NS, cell_f64(1e30), false, "18446744074 s");
	assert_cell(UNIT_COUNT, cell_f64(0.0 / 0.0), false, "-");
	assert_cell(UNIT_COUNT, (struct cell){}, false, "-");
}

static void assert_wrap(const char *text, size_t at, size_t indent, size_t width, const char *want)
{
	_cleanup_str_ struct str out = {};

	wrap_add(&out, text, at, indent, width);
	assert_string_equal(str_get(&out), want);
}

static void test_wrap(void **state)
{
	(void)state;
	assert_wrap("", 0, 0, 20, "\n");
	assert_wrap("one", 0, 0, 20, "one\n");
	assert_wrap("one  two three four five", 0, 2, 20, "one two three four\n  five\n");
	assert_wrap("exactly twenty wide!", 0, 2, 20, "exactly twenty wide!\n");
	assert_wrap("0123456789012345678901234", 0, 2, 20, "01234567890123456789\n  01234\n");
	assert_wrap("ä äöü äöü äöü äöü äöü", 0, 0, 17, "ä äöü äöü äöü äöü\näöü\n");
	assert_wrap("a word", 18, 3, 20, "a\n   word\n");
	assert_wrap("a\033[1m", 0, 0, 20, "a\\x1b[1m\n");
}

static void assert_commands(const char *text, const char *want)
{
	_cleanup_str_ struct str out = {};

	wrap_add_commands(&out, text, 1, 24);
	assert_string_equal(str_get(&out), want);
}

static void test_commands(void **state)
{
	(void)state;
	assert_commands(
		"`sysctl -w vm.swappiness=10 && true`", "sysctl -w vm.swappiness=10 && true\n");
	assert_commands("`echo 'it'\\''s'`", "echo 'it'\\''s'\n");
	assert_commands(
		"a name is no command for all that", "a name is no command\n   for all that\n");
	assert_commands(
		"Set the knob that is meant here.", "Set the knob that is\n   meant here.\n");
	assert_commands("Run `a -b`.", "Run\n   a -b\n");
	assert_commands("`a -b` Then wait.", "a -b\n Then wait.\n");
	assert_commands("Run `a` or `b`, then `c", "Run\n   a\n or\n   b\n , then\n   c\n");
	assert_commands("", "\n");
}

static void assert_shrunk(const char *text, size_t width, const char *want)
{
	_cleanup_str_ struct str out = {};

	shrink_add(&out, text, width);
	assert_string_equal(str_get(&out), want);
}

static void test_shrink(void **state)
{
	(void)state;
	assert_shrunk("abcdef", 6, "abcdef");
	assert_shrunk("abcdef", 5, "ab…ef");
	assert_shrunk("abcdef", 4, "ab…f");
	assert_shrunk("abcdef", 1, "…");
	assert_shrunk("abcdef", 0, "");
	assert_shrunk("äöüäöü", 5, "äö…öü");
}

/* Bounds of the first and the last slot, in text and as CSV. */
static void test_hist(void **state)
{
	static const struct column cols[] = {
		{"bytes", "SIZE", CELL_HIST, UNIT_BYTES, 0, "sizes"},
	};
	struct hist_cell h = {.slots = {[0] = 1, [1] = 2, [HIST_SLOTS - 1] = 1000}};
	_cleanup_str_ struct str text = {}, csv = {};
	const struct render_options o = {.quiet = true, .width = 60};
	struct fixture f;
	struct table *t;

	(void)state;
	fixture_open(&f, "x");
	t = report_table(&f.report, "t", NULL, cols, 1);
	*table_row(t) = (struct cell){.type = CELL_HIST, .hist = &h};
	renderer_find("text")->report(&f.report, &o, &text);
	renderer_find("csv")->report(&f.report, &o, &csv);
	assert_string_equal(str_get(&csv), "bytes\n0:1;1:2;274877906944:1000\n");
	assert_non_null(strstr(str_get(&text), "         0 B ..      1 B      1  ▏\n"));
	assert_non_null(strstr(str_get(&text), "     256 GiB or     more  1,000  █"));
	fixture_close(&f);
}

/* A last column of text is cut to the width of the screen, unless it is to be whole. */
static void test_whole(void **state)
{
	static const char line[] = "madvise(0x7f0000000000, 4096, MADV_HUGEPAGE) = 0";
	static const struct column cols[2][3] = {
		{{"pid", "PID", CELL_U64, UNIT_ID, 0, ""}, {"line", "CALL", CELL_TEXT, 0, 0, ""},
			{"x", "X", CELL_U64, 0, COL_HIDDEN, ""}},
		{{"pid", "PID", CELL_U64, UNIT_ID, 0, ""},
			{"line", "CALL", CELL_TEXT, 0, COL_WHOLE, ""},
			{"x", "X", CELL_U64, 0, COL_HIDDEN, ""}},
	};
	const struct render_options o = {.quiet = true, .width = 40};

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		_cleanup_str_ struct str all = {}, rows = {};
		struct fixture f;
		struct table *t;
		struct cell *row;

		fixture_open(&f, "x");
		t = report_table(&f.report, "t", NULL, cols[whole], 3);
		row = table_row(t);
		row[0] = cell_u64(7);
		row[1] = cell_text(line);
		renderer_find("text")->report(&f.report, &o, &all);
		renderer_find("text")->rows(&f.report, t, 0, true, &o, &rows);
		assert_int_equal(strstr(str_get(&all), line) != NULL, whole);
		assert_int_equal(strstr(str_get(&rows), line) != NULL, whole);
		fixture_close(&f);
	}
}

/* A column without any value gives way before one that has some, and is not missed. */
static void test_unknown_columns(void **state)
{
	static const struct column cols[] = {
		{"a", "FIRST COLUMN", CELL_U64, 0, 0, ""},
		{"b", "SECOND COLUMN", CELL_U64, 0, 0, ""},
		{"c", "THIRD COLUMN", CELL_U64, 0, 0, ""},
		{"d", "FOURTH COLUMN", CELL_U64, 0, 0, ""},
	};
	struct render_options o = {.quiet = true, .width = 50};
	_cleanup_str_ struct str out = {};
	struct fixture f;
	struct table *t;
	struct cell *row;

	(void)state;
	fixture_open(&f, "x");
	t = report_table(&f.report, "t", NULL, cols, ARRAY_SIZE(cols));
	row = table_row(t);
	row[0] = cell_u64(1);
	row[2] = cell_u64(3);
	row[3] = cell_u64(4);
	renderer_find("text")->report(&f.report, &o, &out);
	assert_non_null(strstr(str_get(&out), "FIRST COLUMN  THIRD COLUMN  FOURTH COLUMN\n"));
	assert_null(strstr(str_get(&out), "SECOND"));
	str_clear(&out);
	o.width = 40;
	renderer_find("text")->report(&f.report, &o, &out);
	assert_non_null(strstr(str_get(&out), "FIRST COLUMN  THIRD COLUMN\n"));
	assert_non_null(strstr(str_get(&out), "FOURTH COLUMN;"));
	str_clear(&out);
	o.width = 80; /* room for all: all */
	renderer_find("text")->report(&f.report, &o, &out);
	assert_non_null(strstr(
		str_get(&out), "FIRST COLUMN  SECOND COLUMN  THIRD COLUMN  FOURTH COLUMN\n"));
	fixture_close(&f);
}

/* A command can be over within a millisecond. */
static void test_interval(void **state)
{
	static const struct {
		u64 ns;
		const char *shown;
	} of[] = {{26900000, "26.9 ms from "}, {999000000, "999 ms from "},
		{NSEC_PER_SEC, "1.0 s from "}, {90 * NSEC_PER_SEC, "90.0 s from "}};
	struct render_options o = {.width = 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		_cleanup_str_ struct str out = {};
		struct fixture f;

		fixture_open(&f, "x");
		f.stream.last_ns = f.stream.first_ns + of[i].ns;
		renderer_find("text")->report(&f.report, &o, &out);
		assert_non_null(strstr(str_get(&out), of[i].shown));
		fixture_close(&f);
	}
}

/* No text is a formula to a spreadsheet; taking one apostrophe off gives it back. Numbers are
 * numbers. */
static void test_csv_formulas(void **state)
{
	static const struct column cols[] = {
		{"text", "TEXT", CELL_TEXT, UNIT_NONE, 0, "a name"},
		{"number", "NUMBER", CELL_S64, UNIT_COUNT, 0, "a number"},
	};
	static const char *const texts[] = {
		"=1+1", "+x", "-x,y", "@SUM(A1)", "'q", "a=b", "", " ="};
	_cleanup_str_ struct str out = {};
	struct finding *finding;
	struct table *t;
	struct fixture f;

	(void)state;
	fixture_open(&f, "faults");
	t = report_table(&f.report, "process", "Processes", cols, ARRAY_SIZE(cols));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct cell *c = table_row(t);

		c[0] = cell_text(texts[i]);
		c[1] = cell_s64(-5);
	}
	renderer_find("csv")->report(&f.report, &(struct render_options){}, &out);
	assert_string_equal(str_get(&out),
		"text,number\n'=1+1,-5\n'+x,-5\n\"'-x,y\",-5\n'@SUM(A1),-5\n''q,-5\na=b,-5\n,-5\n"
		"\" =\",-5\n");
	fixture_close(&f);
	str_clear(&out);
	fixture_open(&f, "check");
	f.report.has_findings = true;
	finding = report_finding(&f.report, LEVEL_NOTE, "r");
	finding->title = "=1+1";
	finding_line(&f.report, finding->evidence, "@x");
	renderer_find("csv")->report(&f.report, &(struct render_options){.headless = true}, &out);
	assert_string_equal(str_get(&out), "note,r,'=1+1,,0,,'@x,,,\n");
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_shrink),
		cmocka_unit_test(test_csv_formulas),
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_unknown_columns),
		cmocka_unit_test(test_interval),
	};

	return cmocka_run_group_tests_name("render_parts", tests, NULL, NULL);
}
