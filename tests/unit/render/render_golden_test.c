/*
 * Reports in, exact bytes out, for every format. MEMWHY_UPDATE_GOLDEN=1 rewrites the files in
 * tests/golden/render; look at each change, they are what people see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "render/render.h"
#include "render_fixture.h"

#define GOLDEN "tests/golden/render/"

static const struct render_options plain = {.width = 100};

/* Any command in a report made here has this in it, and may be wider than the screen. */
#define LONG_COMMAND "--a-very-long-command"

static void assert_lines_fit(const char *text, size_t width)
{
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		char *line = strndup(p, len);

		if (text_width(line) > width && !strstr(line, LONG_COMMAND))
			fail_msg("%zu columns: %s", text_width(line), line);
		if (len && p[len - 1] == ' ')
			fail_msg("blank at the end of: %s", line);
		free(line);
		p += len + (p[len] == '\n');
	}
}

static void assert_harmless(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f)
			fail_msg("control character 0x%02x in the output", *text);
}

static void assert_golden(const char *name, const char *format, const struct str *out)
{
	_cleanup_str_ struct str want = {};
	char path[256];

	assert_false(out->failed);
	snprintf(path, sizeof(path), GOLDEN "%s.%s.txt", name, format);
	if (getenv("MEMWHY_UPDATE_GOLDEN")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(str_get(out), f);
		fclose(f);
		return;
	}
	if (file_read(path, &want))
		fail_msg("%s cannot be read (run from the top of the tree)", path);
	if (strcmp(str_get(&want), str_get(out)))
		fail_msg("%s differs; the output is now:\n%s", path, str_get(out));
}

/* Another reader agrees that it is JSON, where there is one. */
static void assert_json(const struct str *out)
{
	FILE *jq = popen(
		"command -v jq > /dev/null || exec cat > /dev/null; exec jq -es . > /dev/null",
		"w");

	assert_non_null(jq);
	fputs(str_get(out), jq);
	assert_int_equal(pclose(jq), 0);
}

static void piece_take(void *arg, struct str *out)
{
	str_add(arg, str_get(out));
	str_clear(out);
}

/* The same in pieces, where the format has any. */
static void assert_pieces(const struct report *r, const char *format,
	const struct render_options *o, const struct str *whole)
{
	_cleanup_str_ struct str out = {}, all = {};
	struct render_options pieces = *o;

	pieces.take = piece_take;
	pieces.arg = &all;
	renderer_find(format)->report(r, &pieces, &out);
	if (!strcmp(format, "json") && strstr(str_get(whole), "\"table\""))
		assert_true(all.len);
	str_add(&all, str_get(&out));
	assert_string_equal(str_get(&all), str_get(whole));
}

static void golden(const struct report *r, const char *name, const char *format,
	const struct render_options *o)
{
	_cleanup_str_ struct str out = {};

	renderer_find(format)->report(r, o, &out);
	if (!strcmp(format, "text") && !o->colour)
		assert_lines_fit(str_get(&out), o->width);
	if (!o->colour)
		assert_harmless(str_get(&out));
	if (!strncmp(format, "json", 4))
		assert_json(&out);
	assert_pieces(r, format, o, &out);
	assert_golden(name, format, &out);
}

/* A page has its data compressed: render_html_test.c reads it. */
static void golden_all(const struct report *r, const char *name)
{
	for (size_t i = 0; i < renderers_n; i++)
		if (strcmp(renderers[i].name, "html") != 0)
			golden(r, name, renderers[i].name, &plain);
}

static const struct column process_cols[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	{"count", "FAULTS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "page faults"},
	{"rate", "PER SECOND", CELL_F64, UNIT_COUNT, COL_WIDE, "page faults a second"},
	{"bytes", "MAPPED", CELL_U64, UNIT_BYTES, 0, "memory mapped by them"},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, 0, "time spent in them"},
	{"p99_ns", "P99", CELL_U64, UNIT_NS, 0, "99 of 100 took no longer than this"},
	{"major_ratio", "MAJOR", CELL_F64, UNIT_RATIO, 0, "part that waited for a device"},
	{"frag_permille", "INDEX", CELL_S64, UNIT_PERMILLE, COL_WIDE, "fragmentation index"},
	{"flags", "FLAGS", CELL_U64, UNIT_HEX, COL_WIDE, "of the mapping"},
	{"thp", "THP", CELL_BOOL, UNIT_NONE, COL_WIDE, "huge pages allowed"},
	{"start_ns", "START", CELL_U64, UNIT_NS, COL_HIDDEN, "for programs"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0, "its cgroup"},
};

static void process_row(struct table *t, u64 pid, const char *comm, u64 count, const char *cgroup)
{
	struct cell *c = table_row(t);

	c[0] = cell_u64(pid);
	c[1] = cell_text(comm);
	c[2] = cell_u64(count);
	c[3] = cell_f64((double)count / 10);
	c[4] = cell_u64(count * 4096);
	c[5] = cell_u64(count * 650);
	if (count > 100)
		c[6] = cell_u64(count * 7);
	c[7] = cell_f64(pid == 1 ? 0.0001 : 0.123);
	c[8] = cell_s64(pid == 1 ? -1000 : 497);
	c[9] = cell_u64(0x8100073);
	c[10] = (struct cell){.type = CELL_BOOL, .b = pid == 1};
	c[11] = cell_u64(pid);
	c[12] = cell_text(cgroup);
}

static struct table *process_table(struct report *r)
{
	struct table *t = report_table(
		r, "process", "Page faults by process", process_cols, ARRAY_SIZE(process_cols));

	t->sort = "count";
	t->empty = "No page fault was seen.";
	return t;
}

static void process_rows(struct table *t)
{
	process_row(t, 1, "systemd", 12, "/init.scope");
	process_row(t, 41230, "postgres", 123456, "/system.slice/postgresql@16-main.service");
	process_row(t, 41231, "postgres", 98765,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		"pod3b1a2f5c_7c1d_4f0e_9a52_6a1f0d9b8c7e.slice/cri-containerd-"
		"9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0.scope");
	process_row(t, 900, "kworker/u16:3", 98765, NULL);
	process_row(t, 77, "backup", 12345678901, "/user.slice");
}

static const struct column stack_cols[] = {
	{"count", "FAULTS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "page faults"},
	{"total_ns", "TIME", CELL_U64, UNIT_NS, 0, "time spent in them"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "process"},
	{"latency", "LATENCY", CELL_HIST, UNIT_NS, 0, "how long they took"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "the code that faulted"},
};

static void stack_row(struct report *r, struct table *t, u64 count, const char *comm, u32 stack)
{
	struct hist_cell *h = arena_alloc(&r->arena, sizeof(*h));
	struct cell *c = table_row(t);

	h->slots[9] = count / 2;
	h->slots[10] = count / 3;
	h->slots[12] = 1;
	c[0] = cell_u64(count);
	c[1] = cell_u64(count * 1500);
	c[2] = cell_text(comm);
	if (count > 100)
		c[3] = (struct cell){.type = CELL_HIST, .hist = h};
	c[4] = cell_stack(stack);
}

static struct table *stack_table(struct report *r)
{
	return report_table(r, "stack", "Page faults by stack", stack_cols, ARRAY_SIZE(stack_cols));
}

static void faults_open(struct fixture *f)
{
	struct report *r;
	struct table *t;

	fixture_open(f, "faults");
	feed_stacks(f);
	feed_method(f, "faults", "faults", "tp_btf exceptions:page_fault_user", "");
	feed_method(f, "faults", "latency", "fentry handle_mm_fault", "");
	feed_method(f, "faults", "huge", "", "no kprobes here (CONFIG_KPROBES)");
	feed_loss(f, "faults", 123456, 0, "");
	r = &f->report;
	process_rows(process_table(r));
	t = stack_table(r);
	stack_row(r, t, 54321, "postgres", 1);
	stack_row(r, t, 4321, "postgres", 3);
	stack_row(r, t, 21, "postgres", 2);
	stack_row(r, t, 20, "postgres", 2);
	stack_row(r, t, 7, "init", 0);
	report_note(r, "Latency is exact: each fault was timed from the entry of the handler to "
		       "its return, and the time of the tracing itself is not taken off.");
	report_add_stream_notes(r);
}

static void test_faults(void **state)
{
	struct fixture f;

	(void)state;
	faults_open(&f);
	golden_all(&f.report, "faults");
	fixture_close(&f);
}

static void test_options(void **state)
{
	struct render_options verbose = {.width = 100, .verbose = true};
	struct render_options narrow = {.width = 60}, quiet = {.width = 100, .quiet = true};
	struct fixture f;

	(void)state;
	faults_open(&f);
	golden(&f.report, "faults-narrow", "text", &narrow);
	golden(&f.report, "faults-verbose", "text", &verbose);
	f.report.only = "process";
	golden(&f.report, "faults-quiet", "text", &quiet);
	f.report.limit = 2;
	f.report.sort = "-pid";
	f.report.fields = "comm,pid,start_ns,comm";
	golden_all(&f.report, "faults-chosen");
	fixture_close(&f);
}

static void findings_fill(struct report *r)
{
	struct finding *f = report_finding(r, LEVEL_RISK, "vm-overcommit");

	f->title = "Memory is overcommitted with no swap to fall back on";
	f->confidence = "medium: from the settings, no failure was seen";
	finding_line(r, f->evidence, "Committed_AS is 71.2 GiB, MemTotal 62.8 GiB, SwapTotal 0");
	finding_line(r, f->try_,
		"Add swap: `fallocate -l 8G /swapfile && chmod 0600 /swapfile && "
		"mkswap /swapfile && swapon /swapfile " LONG_COMMAND
		"` and keep it in /etc/fstab.");
	finding_line(r, f->undo, "`swapoff /swapfile`");
	f = report_finding(r, LEVEL_CRITICAL, "reclaim-stalls");
	f->title = "Direct reclaim stalls postgres: 3.41 s lost in 10.0 s";
	f->confidence = "high: every event was counted";
	f->cost_ns = 3410000000;
	finding_line(r, f->evidence, "1,234 direct reclaims, p99 20.1 ms, worst 210 ms");
	finding_line(r, f->evidence,
		"kswapd ran for 9.7 s of 10.0 s and node 0 was below its low watermark for 88 %% "
		"of the interval, so allocations could not wait for it");
	f->why = "Allocations found no free page above the min watermark, so the allocating "
		 "thread itself had to free pages before it could go on. kswapd starts too late: "
		 "the distance between its watermarks is 0.1 % of memory, which this load uses up "
		 "in 40 ms.";
	finding_line(r, f->try_, "`sysctl -w vm.watermark_scale_factor=100`");
	finding_line(r, f->try_,
		"Keep it over a reboot: "
		"`echo vm.watermark_scale_factor=100 > /etc/sysctl.d/90-memory.conf`");
	finding_line(r, f->undo, "`sysctl -w vm.watermark_scale_factor=10`");
	finding_line(r, f->verify, "`memwhy reclaim --for 60s -c %s`", "postgres");
	f = report_finding(r, LEVEL_WARNING, "numa-remote");
	f->title = "Two thirds of the page faults of postgres are served from the other node, "
		   "because it was started on node 1 and its shared memory was touched on node 0";
	finding_line(r, f->evidence, "node 0: 41.0 GiB of its 43.0 GiB");
	f = report_finding(r, LEVEL_NOTE, "thp-always");
	f->title = "Transparent huge pages are always on";
	report_rank(r);
}

static void test_check(void **state)
{
	struct render_options colour = {.width = 100, .colour = true};
	struct fixture f;

	(void)state;
	fixture_open(&f, "check");
	f.report.has_findings = true;
	f.report.verdict = "1 critical finding, 1 warning, 1 risk, 1 note. The first costs most.";
	for (const char *const *p = (const char *const[]){"faults", "reclaim", "frag", "process",
		     "system", "slab", "cgroup", NULL};
		*p; p++)
		feed_loss(&f, *p, 1234567, 0, "");
	feed_loss(&f, "frag", 123456, 1234, "ring buffer full");
	findings_fill(&f.report);
	vec_push(&f.report.elsewhere,
		((struct finding){.level = LEVEL_WARNING,
			.rule = "fragmentation",
			.title = "Memory of node 0 zone Normal is in small pieces: order-9 "
				 "allocations need compaction"}));
	report_not_checked(&f.report,
		"swap-ins: no tracepoint for them on this kernel, and neither "
		"fentry nor kprobes are permitted here");
	report_not_checked(&f.report, "memory of other users' processes");
	report_next(&f.report, "`memwhy reclaim --for 60s --stacks`");
	report_next(&f.report, "See who allocates: `memwhy pages --for 10s`");
	golden_all(&f.report, "check");
	golden(&f.report, "check-colour", "text", &colour);
	fixture_close(&f);
}

static void test_nothing(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f, "check");
	f.report.has_findings = true;
	process_table(&f.report);
	stack_table(&f.report);
	snprintf(f.stream.damage, sizeof(f.stream.damage),
		"the file ends in the middle of a block: about 2.10 MiB are missing");
	golden_all(&f.report, "nothing");
	fixture_close(&f);
}

/* Names that try to steer the terminal, to break out of quotes, or to tear a line. */
static const char *const hostile[] = {
	"\033]0;owned\007\033[2J",
	"a\"b'c,d\\e",
	"two\nlines\ttab",
	"bad\xff\xc3(utf8",
	"😀 émoji ;semi",
	"c1\xc2\x9b"
	"31m del\x7f",
};

static void hostile_open(struct fixture *f)
{
	struct table *t;
	char *huge;

	fixture_open(f, "faults");
	huge = arena_alloc(&f->report.arena, 600);
	memset(huge, 'x', 599);
	memcpy(huge, "std::vector<", 12);
	memcpy(huge + 593, "> end;", 6);
	strcpy(f->stream.session.scope, "comm \033[31mred");
	strcpy(f->stream.host.kernel, "6.1\n\"x\"");
	feed_method(f, "pro\"be", "da\nta", "me\033thod", "");
	feed_loss(f, "pro\"be", 1, 2, "why\033[0m");
	t = process_table(&f->report);
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++)
		process_row(t, i, hostile[i], 1000 - i, hostile[i]);
	process_row(t, 99, huge, 5, huge);
	for (u32 i = 0; i < ARRAY_SIZE(hostile); i++) {
		feed_frame(f, i + 1, i == 1, hostile[i], 16);
		if (i % 2)
			feed_symbol(f, i + 1, hostile[i], i == 1 ? hostile[i] : NULL, 1, NULL);
	}
	feed_frame(f, 7, false, NULL, 0);
	feed_symbol(f, 7, huge, NULL, 0, "operator new(unsigned long)");
	feed_stack(f, 9, (u32[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
	stack_row(&f->report, stack_table(&f->report), 10, hostile[4], 9);
	stack_row(&f->report, f->report.tables.v[1], 11, huge, 77);
}

static void test_hostile(void **state)
{
	struct finding *finding;
	struct fixture f;

	(void)state;
	hostile_open(&f);
	f.report.has_findings = true;
	finding = report_finding(&f.report, LEVEL_NOTE, "r");
	finding->title = report_text(&f.report, "%s and %0200d", hostile[0], 7);
	finding->why = hostile[3];
	finding_line(&f.report, finding->evidence, "%s %s", hostile[2], hostile[4]);
	finding_line(&f.report, finding->try_, "Kill `%s`.", hostile[0]);
	report_note(&f.report, "%s", hostile[5]);
	golden_all(&f.report, "hostile");
	fixture_close(&f);
}

static void golden_rows(const struct report *r, const char *format)
{
	const struct renderer *render = renderer_find(format);
	_cleanup_str_ struct str out = {};
	struct table *t = r->tables.v[0];
	struct render_options o = plain;
	size_t rows = t->n_rows;

	t->n_rows = 2;
	render->rows(r, t, 0, true, &plain, &out);
	t->n_rows = rows;
	render->rows(r, t, 2, false, &plain, &out);
	o.headless = true;
	if (render->end)
		render->end(r, &o, &out);
	assert_golden("rows", format, &out);
}

static void test_rows(void **state)
{
	struct fixture f;

	(void)state;
	faults_open(&f);
	for (size_t i = 0; i < renderers_n; i++)
		if (renderers[i].rows)
			golden_rows(&f.report, renderers[i].name);
	assert_null(renderer_find("folded")->rows);
	assert_null(renderer_find("xml"));
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests_name("render_golden", tests, NULL, NULL);
}
