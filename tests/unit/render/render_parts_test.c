/* The parts of the renderers: numbers with units, wrapping, shortening, histograms at the edges. */
#include <math.h>
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

/* What is lesser gives way first; what the table is for, last. A broad screen is used. */
static void test_importance(void **state)
{
	static const struct column cols[] = {
		{"key", "KEY", CELL_TEXT, 0, 0, ""},
		{"p50_ns", "MEDIAN OF ALL", CELL_U64, 0, COL_LESSER, ""},
		{"count", "HOW MANY", CELL_U64, 0, COL_WEIGHT, ""},
		{"plain", "PLAIN ONE", CELL_U64, 0, 0, ""},
		{"moved", "PAGES MOVED", CELL_U64, 0, COL_MAIN, ""},
		{"total", "SORTED BY", CELL_U64, 0, 0, ""},
	};
	struct render_options o = {.quiet = true, .width = 60};
	_cleanup_str_ struct str out = {};
	char name[151] = "";
	struct fixture f;
	struct table *t;
	struct cell *row;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	fixture_open(&f, "x");
	t = report_table(&f.report, "t", NULL, cols, ARRAY_SIZE(cols));
	t->sort = "total";
	row = table_row(t);
	row[0] = cell_text(name);
	for (size_t i = 1; i < ARRAY_SIZE(cols); i++)
		row[i] = cell_u64(i);
	renderer_find("text")->report(&f.report, &o, &out);
	assert_null(strstr(str_get(&out), "MEDIAN OF ALL  "));
	assert_non_null(strstr(str_get(&out), "HOW MANY  PAGES MOVED  SORTED BY\n"));
	assert_non_null(strstr(str_get(&out), "no room for PLAIN ONE, MEDIAN OF ALL;"));
	str_clear(&out);
	renderer_find("text")->rows(&f.report, t, 0, true, &o, &out);
	assert_non_null(strstr(str_get(&out), "HOW MANY  PAGES MOVED  SORTED BY\n"));
	str_clear(&out);
	o.width = 240;
	renderer_find("text")->report(&f.report, &o, &out);
	assert_non_null(strstr(str_get(&out), name));
	fixture_close(&f);
}

static const char *stack_text(struct fixture *f, const u32 *frames, u32 n, struct str *out)
{
	static const struct column cols[] = {
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, ""},
	};
	static u32 id = 50;
	struct table *t = report_table(&f->report, "stack", NULL, cols, 1);

	feed_stack(f, ++id, frames, n);
	table_row(t)[0] = cell_stack(id);
	str_clear(out);
	renderer_find("text")->rows(
		&f->report, t, 0, false, &(struct render_options){.width = 100}, out);
	return str_get(out);
}

/* Recursion is told once; the outermost frames are there, and one of the program's own. */
static void test_stacks(void **state)
{
	static const u32 self[] = {1, 2, 2, 2, 3}, turns[] = {1, 2, 3, 2, 3, 2, 3, 1};
	_cleanup_str_ struct str out = {};
	struct fixture f;
	u32 deep[20];

	(void)state;
	fixture_open(&f, "x");
	for (u32 i = 1; i <= 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		feed_frame(&f, i, false, i < 30 ? "/usr/lib/liba.so.6" : "/usr/bin/prog", i);
		feed_symbol(&f, i, name, "a.c", i, NULL);
	}
	assert_string_equal(stack_text(&f, self, ARRAY_SIZE(self), &out),
		"    f1 (a.c:1)\n    f2 (a.c:2) [3 times]\n    f3 (a.c:3)\n");
	assert_string_equal(stack_text(&f, turns, ARRAY_SIZE(turns), &out),
		"    f1 (a.c:1)\n    f2 (a.c:2)\n    f3 (a.c:3) [these 2, 3 times]\n"
		"    f1 (a.c:1)\n");
	for (u32 i = 0; i < ARRAY_SIZE(deep); i++)
		deep[i] = i + 1;
	deep[12] = 33; /* the program's, among its libraries' */
	assert_string_equal(stack_text(&f, deep, ARRAY_SIZE(deep), &out),
		"    f1 (a.c:1)\n    f2 (a.c:2)\n    f3 (a.c:3)\n    f4 (a.c:4)\n    f5 (a.c:5)\n"
		"    … 7 more\n    f33 (a.c:33)\n    … 3 more; -o wide shows all\n"
		"    f17 (a.c:17)\n    f18 (a.c:18)\n    f19 (a.c:19)\n    f20 (a.c:20)\n");
	assert_string_equal(stack_text(&f, deep, 10, &out),
		"    f1 (a.c:1)\n    f2 (a.c:2)\n    f3 (a.c:3)\n    f4 (a.c:4)\n    f5 (a.c:5)\n"
		"    f6 (a.c:6)\n    f7 (a.c:7)\n    f8 (a.c:8)\n    f9 (a.c:9)\n    f10 "
		"(a.c:10)\n");
	fixture_close(&f);
}

/* How much light a shade of the 6 x 6 x 6 cube gives (WCAG 2, relative luminance). */
static double luminance(unsigned int colour)
{
	static const double weights[] = {0.0722, 0.7152, 0.2126}; /* blue, green, red */
	double sum = 0;

	for (unsigned int i = 0, n = colour - 16; i < 3; i++, n /= 6) {
		double v = (n % 6 ? 55 + n % 6 * 40 : 0) / 255.0;

		sum += weights[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
	}
	return sum;
}

/* Bold text wants a contrast of 3 to what is behind it: be that white or black. */
static void test_colours(void **state)
{
	const struct render_options o = {.colour = true};

	(void)state;
	for (enum style style = STYLE_RED; style <= STYLE_BLUE; style++) {
		_cleanup_str_ struct str code = {};
		unsigned int colour;
		double l;

		style_begin(&code, &o, style);
		assert_int_equal(sscanf(str_get(&code), "\033[1;38;5;%um", &colour), 1);
		assert_in_range(colour, 16, 231);
		l = luminance(colour);
		assert_true(1.05 / (l + 0.05) >= 3.5);
		assert_true((l + 0.05) / 0.05 >= 3.5);
	}
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

/* A column that few reports have something for is there when one row has. */
static void test_rare_columns(void **state)
{
	static const struct column cols[] = {
		{"text", "TEXT", CELL_TEXT, UNIT_NONE, 0, "a name"},
		{"number", "SELDOM", CELL_U64, UNIT_COUNT, COL_RARE, "a number"},
	};

	(void)state;
	for (u32 with = 0; with < 2; with++) {
		_cleanup_str_ struct str out = {};
		struct fixture f;
		struct table *t;

		fixture_open(&f, "faults");
		t = report_table(&f.report, "process", "Processes", cols, ARRAY_SIZE(cols));
		table_row(t)[0] = cell_text("one");
		if (with)
			table_row(t)[1] = cell_u64(42);
		renderer_find("text")->report(
			&f.report, &(struct render_options){.width = 80}, &out);
		assert_int_equal(strstr(str_get(&out), "SELDOM") != NULL, with);
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
		cmocka_unit_test(test_rare_columns),
		cmocka_unit_test(test_csv_formulas),
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_unknown_columns),
		cmocka_unit_test(test_importance),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_interval),
	};

	return cmocka_run_group_tests_name("render_parts", tests, NULL, NULL);
}
