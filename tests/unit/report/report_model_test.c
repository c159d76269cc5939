/* The report model: rows, order, choice of columns, ranking, stacks as text, checks of options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render_fixture.h"

static const struct column cols[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	{"index", "INDEX", CELL_S64, UNIT_PERMILLE, 0, "an index"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "a stack"},
};

static void add(struct table *t, u64 pid, const char *comm, s64 index)
{
	struct cell *c = table_row(t);

	c[0] = cell_u64(pid);
	c[1] = cell_text(comm);
	if (index)
		c[2] = cell_s64(index);
}

static struct table *open_table(struct fixture *f)
{
	struct table *t;

	fixture_open(f, "faults");
	t = report_table(&f->report, "process", "Processes", cols, ARRAY_SIZE(cols));
	add(t, 3, "b", -5);
	add(t, 1, "a", 0);
	add(t, 2, "b", 7);
	add(t, ~0ULL, "c", 7);
	return t;
}

/* Arranges a fresh table and compares the pids. */
static void assert_order(const char *own, const char *sort, u32 limit, const u64 *pids, size_t n)
{
	struct fixture f;
	struct table *t = open_table(&f);

	t->sort = own;
	assert_int_equal(table_arrange(t, sort, limit), 4 - n);
	assert_int_equal(t->n_cut, 4 - n);
	assert_int_equal(t->n_rows, n);
	for (size_t i = 0; i < n; i++)
		assert_true(table_cell(t, i, 0)->u == pids[i]);
	add(t, 9, "more", 1); /* still a table that grows */
	assert_true(table_cell(t, n, 0)->u == 9);
	fixture_close(&f);
}

static void test_arrange(void **state)
{
	const u64 max = ~0ULL;

	(void)state;
	assert_order(NULL, NULL, 0, (u64[]){3, 1, 2, max}, 4);
	assert_order("pid", NULL, 0, (u64[]){max, 3, 2, 1}, 4);
	assert_order("pid", "-pid", 0, (u64[]){1, 2, 3, max}, 4);
	assert_order("pid", "not-here", 2, (u64[]){max, 3}, 2);
	assert_order(NULL, "comm", 0, (u64[]){max, 3, 2, 1}, 4);  /* stable: 3 before 2 */
	assert_order(NULL, "index", 0, (u64[]){2, max, 3, 1}, 4); /* empty last … */
	assert_order(NULL, "-index", 3, (u64[]){3, 2, max}, 3);   /* … both ways */
}

/* What is shown of a table that drops rows while it is filled is what is shown of all of them. */
static void assert_kept(const char *sort, u32 limit)
{
	struct table *t[2];
	struct fixture f;

	fixture_open(&f, "faults");
	f.report.sort = sort;
	f.report.limit = limit;
	for (u32 k = 0; k < 2; k++) {
		t[k] = report_table(&f.report, "process", NULL, cols, ARRAY_SIZE(cols));
		t[k]->sort = "index";
	}
	table_keep(t[1], &f.report);
	for (u32 i = 0; i < 5000; i++) {
		struct cell all[] = {cell_u64(i * 7919ULL % 5000), cell_text(i % 3 ? "a" : "b"),
			i % 5 ? cell_u64(i * 31ULL % 97) : (struct cell){}, cell_stack(i)};

		for (u32 k = 0; k < 2; k++)
			if (!t[k]->keep || table_takes(t[k], &all[t[k]->keep_col]))
				memcpy(table_row(t[k]), all, sizeof(all));
	}
	assert_true(t[1]->n_rows < 4 * limit + 1000 && t[1]->cells.cap < t[0]->cells.cap);
	for (u32 k = 0; k < 2; k++)
		table_arrange(t[k], sort, limit);
	assert_int_equal(t[0]->n_rows, limit);
	assert_int_equal(t[1]->n_rows, limit);
	assert_int_equal(t[0]->n_cut, t[1]->n_cut);
	for (size_t i = 0; i < limit; i++)
		assert_int_equal(table_cell(t[0], i, 3)->stack, table_cell(t[1], i, 3)->stack);
	fixture_close(&f);
}

static void test_keep(void **state)
{
	(void)state;
	assert_kept(NULL, 20);
	assert_kept("pid", 1);
	assert_kept("-pid", 100);
	assert_kept("comm", 30);
	assert_kept("-index", 20);
}

static size_t worth(const char *sort, const s64 *index, size_t n)
{
	struct fixture f;
	struct table *t;
	size_t order[16], ret;

	fixture_open(&f, "faults");
	t = report_table(&f.report, "process", NULL, cols, ARRAY_SIZE(cols));
	t->sort = "index";
	for (size_t i = 0; i < n; i++)
		add(t, i, "a", index[i]);
	table_order(t, sort, order);
	ret = table_worth(t, sort, order, n);
	fixture_close(&f);
	return ret;
}

/* Five, and what has a hundredth of the first; where it cannot be said what is little, all. */
static void test_worth(void **state)
{
	const s64 falling[] = {1000, 400, 10, 9, 8, 7, 6}, even[] = {1000, 90, 30, 20, 11, 10, 9},
		  below[] = {-1, -2, -3, -4, -5, -6, -7};

	(void)state;
	assert_int_equal(worth(NULL, falling, 7), 5);
	assert_int_equal(worth(NULL, falling, 4), 4);
	assert_int_equal(worth(NULL, even, 7), 6);
	assert_int_equal(worth(NULL, below, 7), 7);
	assert_int_equal(worth("-index", falling, 7), 7);
	assert_int_equal(worth("pid", falling, 7), 7);
	assert_int_equal(worth("comm", falling, 7), 7);
}

static void test_arrange_empty(void **state)
{
	struct fixture f;
	struct table *t;

	(void)state;
	fixture_open(&f, "faults");
	t = report_table(&f.report, "process", NULL, cols, ARRAY_SIZE(cols));
	assert_int_equal(table_arrange(t, "pid", 1), 0);
	assert_int_equal(t->n_rows, 0);
	fixture_close(&f);
}

static void test_select(void **state)
{
	size_t got[ARRAY_SIZE(cols)];
	struct fixture f;
	struct table *t = open_table(&f);

	(void)state;
	assert_int_equal(table_select(t, NULL, got), 4);
	assert_int_equal(table_select(t, "stack,pid,stack,nothing,pi,pidx", got), 2);
	assert_int_equal(got[0], 3);
	assert_int_equal(got[1], 0);
	assert_int_equal(table_select(t, "", got), 0);
	assert_int_equal(table_column(t, "comm"), 1);
	assert_int_equal(table_column(t, "COMM"), -ENOENT);
	fixture_close(&f);
}

static void test_findings(void **state)
{
	static const struct {
		int level;
		u64 cost;
		const char *rule;
	} in[] = {
		{LEVEL_NOTE, 900, "f"},
		{LEVEL_WARNING, 0, "d"},
		{LEVEL_WARNING, 5, "b"},
		{LEVEL_WARNING, 5, "c"},
		{LEVEL_CRITICAL, 0, "a"},
		{LEVEL_RISK, 1, "e"},
	};
	struct fixture f;
	int level = -1;
	char last[16];

	(void)state;
	fixture_open(&f, "check");
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		report_finding(&f.report, in[i].level, in[i].rule)->cost_ns = in[i].cost;
	report_rank(&f.report);
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		assert_int_equal(f.report.findings.v[i].rule[0], 'a' + (int)i);
	for (int i = 0; i < FINDING_LINES + 2; i++)
		finding_line(&f.report, f.report.findings.v[0].try_, "line %d", i);
	snprintf(last, sizeof(last), "line %d", FINDING_LINES - 1);
	assert_string_equal(f.report.findings.v[0].try_[FINDING_LINES - 1], last);
	assert_null(f.report.findings.v[0].undo[0]);
	assert_int_equal(finding_level_parse("warning", &level), 0);
	assert_int_equal(level, LEVEL_WARNING);
	assert_int_equal(finding_level_parse("Warning", &level), -EINVAL);
	assert_string_equal(finding_level_name(LEVEL_CRITICAL), "critical");
	fixture_close(&f);
}

static void advise(
	struct report *r, const char *rule, u64 cost, const char *heading, int change, int back)
{
	struct finding *f = report_finding(r, LEVEL_RISK, rule);

	f->cost_ns = cost;
	finding_line(r, f->try_, "Look at it: `memwhy %s`", rule);
	finding_line(r, f->try_, "%s", heading);
	finding_line(r, f->try_, "`echo %d > knob`", change);
	finding_line(r, f->undo, "`echo %d > knob`", back);
}

/* A change is advised once, by the finding that ranks first. */
static void test_advice_once(void **state)
{
	struct finding *looked_at;
	const struct finding *v;
	struct fixture f;

	(void)state;
	fixture_open(&f, "check");
	advise(&f.report, "second", 1, "Or so:", 1, 0);
	advise(&f.report, "first", 2, "Do this:", 1, 0);
	advise(&f.report, "other", 0, "Do this:", 2, 0);
	looked_at = report_finding(&f.report, LEVEL_NOTE, "looked-at");
	finding_line(&f.report, looked_at->try_, "`memwhy faults`");
	report_finding(&f.report, LEVEL_NOTE, "told");
	report_rank(&f.report);
	v = f.report.findings.v;
	assert_string_equal(v[0].try_[1], "Do this:");
	assert_string_equal(v[0].try_[2], "`echo 1 > knob`");
	assert_string_equal(v[0].undo[0], "`echo 0 > knob`");
	assert_string_equal(v[1].try_[0], "Look at it: `memwhy second`");
	assert_string_equal(v[1].try_[1], "The same as for finding 1 (first).");
	assert_null(v[1].try_[2]);
	assert_string_equal(v[1].undo[0], "The same as for finding 1 (first).");
	assert_string_equal(v[2].try_[1], "Do this:");
	assert_string_equal(v[2].try_[2], "`echo 2 > knob`");
	assert_string_equal(v[2].undo[0], "The same as for finding 1 (first).");
	assert_string_equal(v[3].undo[0], "Nothing to undo.");
	assert_null(v[4].undo[0]);
	fixture_close(&f);
}

static void lines_take(void *arg, const char *text)
{
	struct str *out = arg;

	str_addf(out, "%s\n", text);
}

static void test_stacks(void **state)
{
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	fixture_open(&f, "faults");
	feed_stacks(&f);
	stack_lines(&f.stream, 1, true, lines_take, &out);
	assert_string_equal(str_get(&out),
		"do_anonymous_page+0x1c (kernel)_[k]\n"
		"xfs_filemap_fault+0x1c (xfs)_[k]\n"
		"__memset_avx2_unaligned_erms+0x1c (libc.so.6)\n"
		"AllocSetAllocChunk (aset.c:700) [inlined]\n"
		"AllocSetAlloc (aset.c:707)\n"
		"/usr/lib/postgresql/16/lib/pg_stat_statements.so+0x8f10\n"
		"0x7f0000001000\n");
	str_clear(&out);
	stack_lines(&f.stream, 99, false, lines_take, &out);
	assert_string_equal(str_get(&out), "");
	feed_stack(&f, 50, (u32[]){12345}, 1);
	stack_lines(&f.stream, 50, false, lines_take, &out);
	assert_string_equal(str_get(&out), "?\n");
	fixture_close(&f);
}

/* The kernel's walk over what is attached to a tracepoint is not part of the code path. */
static void test_stack_of_a_tracepoint(void **state)
{
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	fixture_open(&f, "pages");
	feed_stacks(&f);
	feed_frame(&f, 60, true, NULL, 0x41);
	feed_symbol(&f, 60, "__traceiter_mm_page_alloc", NULL, 0, NULL);
	feed_stack(&f, 61, (u32[]){60, 1}, 2);
	stack_lines(&f.stream, 61, false, lines_take, &out);
	assert_string_equal(str_get(&out), "do_anonymous_page+0x1c (kernel)\n");
	str_clear(&out);
	feed_stack(&f, 62, (u32[]){1, 60}, 2); /* further out it is what was asked for */
	stack_lines(&f.stream, 62, false, lines_take, &out);
	assert_string_equal(str_get(&out), "do_anonymous_page+0x1c (kernel)\n"
					   "__traceiter_mm_page_alloc+0x1c (kernel)\n");
	fixture_close(&f);
}

static void feed_function(struct fixture *f, u32 frame, bool kernel, const char *function)
{
	feed_frame(f, frame, kernel, NULL, 0x41);
	feed_symbol(f, frame, function, NULL, 0, NULL);
}

/* Evidence begins with what says something: not with allocators, nor with how the kernel is
 * entered. */
static void test_stack_as_evidence(void **state)
{
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	fixture_open(&f, "leak");
	feed_function(&f, 70, true, "get_page_from_freelist");
	feed_function(&f, 71, true, "__alloc_frozen_pages_noprof");
	feed_function(&f, 72, true, "alloc_slab_page.isra.0");
	feed_function(&f, 73, true, "ext4_alloc_inode");
	feed_function(&f, 74, true, "do_syscall_64");
	feed_function(&f, 75, true, "entry_SYSCALL_64_after_hwframe");
	feed_function(&f, 76, false, "operator new(unsigned long)");
	feed_function(&f, 77, false, "load_table");
	feed_function(&f, 78, false, "malloc_statistics"); /* no allocator */
	feed_function(&f, 79, false, "kmalloc");           /* a program's own */
	feed_stack(&f, 80, (u32[]){70, 71, 72, 73, 74, 75, 76, 77, 78, 79}, 10);
	stack_told_lines(&f.stream, 80, lines_take, &out);
	assert_string_equal(str_get(&out), "ext4_alloc_inode+0x1c (kernel)\n"
					   "load_table+0x1c\n"
					   "malloc_statistics+0x1c\n"
					   "kmalloc+0x1c\n");
	str_clear(&out);
	feed_stack(&f, 81, (u32[]){71, 73, 74}, 3); /* too little would be left */
	stack_told_lines(&f.stream, 81, lines_take, &out);
	assert_string_equal(str_get(&out), "__alloc_frozen_pages_noprof+0x1c (kernel)\n"
					   "ext4_alloc_inode+0x1c (kernel)\n"
					   "do_syscall_64+0x1c (kernel)\n");
	str_clear(&out);
	feed_function(&f, 85, false, "runtime.stackalloc");
	feed_function(&f, 86, false, "runtime.morestack.abi0");
	feed_function(&f, 87, false, "main.query");
	feed_function(&f, 88, false, "runtime.goexit.abi0");
	feed_stack(&f, 89, (u32[]){85, 86, 87, 88}, 4);
	stack_told_lines(&f.stream, 89, lines_take, &out);
	assert_string_equal(str_get(&out), "main.query+0x1c\nruntime.goexit.abi0+0x1c\n");
	str_clear(&out);
	feed_frame(&f, 82, false, NULL, 0x7f0000001000);
	feed_frame(&f, 83, false, NULL, 0x706d742f646e696c); /* a text: this register is no frame */
	feed_stack(&f, 84, (u32[]){77, 78, 82, 83, 79}, 5);
	stack_told_lines(&f.stream, 84, lines_take, &out);
	assert_string_equal(str_get(&out), "load_table+0x1c\n"
					   "malloc_statistics+0x1c\n"
					   "0xfe0000002000\n");
	fixture_close(&f);
}

static void feed_note(struct fixture *f, u16 level, const char *probe, const char *text)
{
	struct rec_note r = {.h.flags = level};

	snprintf(r.probe, sizeof(r.probe), "%s", probe);
	snprintf(r.text, sizeof(r.text), "%s", text);
	feed(f, &r, REC_NOTE, sizeof(r));
}

static void test_stream_notes(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f, "check");
	feed_note(&f, NOTE_INFO, "", "sampled");
	feed_note(&f, NOTE_NOT_CHECKED, "frag", "no /proc/pagetypeinfo");
	feed_method(&f, "swap", "swap-ins", "", "no hook");
	feed_method(&f, "swap", "swap-outs", "tracepoint", "");
	feed_method(&f, "oom", "kills", "", "not permitted");
	feed_method(&f, "heap", "blocks", "", "not permitted");
	feed_method(&f, "oom", "the log", "", "not permitted");
	feed_note(&f, NOTE_NOT_CHECKED, "faults", "it does not load");
	feed_note(&f, NOTE_NOT_CHECKED, "slab", "it does not load");
	report_note(&f.report, "sampled");
	report_add_stream_notes(&f.report);
	report_add_stream_notes(&f.report);
	assert_int_equal(f.report.notes.n, 1);
	/* What has the same cause is said once. */
	assert_int_equal(f.report.not_checked.n, 4);
	assert_string_equal(f.report.not_checked.v[0], "frag: no /proc/pagetypeinfo");
	assert_string_equal(f.report.not_checked.v[1], "faults, slab: it does not load");
	assert_string_equal(f.report.not_checked.v[2], "swap: swap-ins: no hook");
	assert_string_equal(
		f.report.not_checked.v[3], "oom: kills, the log; heap: blocks: not permitted");
	assert_true(stream_wall_ns(f.report.stream) == WALL_NS);
	fixture_close(&f);
}

static void test_check(void **state)
{
	struct err err = {};
	struct fixture f;

	(void)state;
	open_table(&f);
	assert_int_equal(report_check(&f.report, &err), 0);
	f.report.fields = "pid,stack";
	f.report.sort = "-index";
	f.report.only = "process";
	assert_int_equal(report_check(&f.report, &err), 0);
	f.report.fields = "pid,com";
	assert_int_equal(report_check(&f.report, &err), -EINVAL);
	assert_string_equal(err.msg, "--fields: no column 'com' here; did you mean 'comm'?");
	assert_string_equal(err.hint, "valid: pid, comm, index, stack");
	f.report.fields = "";
	assert_int_equal(report_check(&f.report, &err), -EINVAL);
	f.report.fields = NULL;
	f.report.sort = "stack";
	assert_int_equal(report_check(&f.report, &err), -EINVAL);
	assert_string_equal(err.hint, "valid: pid, comm, index");
	f.report.only = "something";
	assert_int_equal(report_check(&f.report, &err), -EINVAL);
	assert_string_equal(err.msg, "--table: no table 'something' here");
	assert_string_equal(err.hint, "valid: process");
	fixture_close(&f);
}

static void test_has_stacks(void **state)
{
	struct fixture f;

	(void)state;
	open_table(&f);
	report_table(&f.report, "flat", NULL, cols, 2);
	assert_true(report_has_stacks(&f.report));
	f.report.only = "flat";
	assert_false(report_has_stacks(&f.report));
	fixture_close(&f);
}

/* Of a run that makes one report after the other. */
static void test_notes_once(void **state)
{
	struct notes_told told = {};
	struct fixture f;

	(void)state;
	fixture_open(&f, "oom");
	report_note(&f.report, "a");
	report_note(&f.report, "%d", 1);
	assert_int_equal(report_drop_told(&f.report, &told), 0);
	assert_int_equal(f.report.notes.n, 2);
	fixture_close(&f);
	fixture_open(&f, "oom");
	report_note(&f.report, "a");
	report_note(&f.report, "%d", 2);
	report_note(&f.report, "%d", 1);
	assert_int_equal(report_drop_told(&f.report, &told), 0);
	assert_int_equal(f.report.notes.n, 1);
	assert_string_equal(f.report.notes.v[0], "2");
	fixture_close(&f);
	notes_told_free(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrange),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_arrange_empty),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_advice_once),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_stack_of_a_tracepoint),
		cmocka_unit_test(test_stack_as_evidence),
		cmocka_unit_test(test_stream_notes),
		cmocka_unit_test(test_notes_once),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_has_stacks),
	};

	return cmocka_run_group_tests_name("report_model", tests, NULL, NULL);
}
