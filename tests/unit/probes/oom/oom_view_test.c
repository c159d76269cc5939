/* The view of OOM kills on synthetic records: what is joined, what is kept, what is shown. */
#include "view_fixture.h"

#include "probes/oom/oom.h"
#include "probes/oom/oom_history.h"
#include "probes/oom/oom_view.h"
#include "probes/processes/processes.h"
#include "probes/system/system.h"
#include "probes/where/where.h"
#include "sys/memory/oomlog_memory.h"

#define SECOND 1000000000ULL
#define MIB (1ULL << 20)
#define NOW (100 * SECOND)

static void begin(struct fixture *f, const struct view_options *o)
{
	view_open(f, &oom_view, o, "oom");
	view_feed(f, &REC(struct rec_host, REC_HOST, .page_bytes = 4096));
	view_feed(f, &REC(struct rec_method, REC_METHOD, .probe = "oom", .data = OOM_KILLS_DATA,
			     .method = "raw tracepoint"));
}

static void process(struct fixture *f, u64 time_ns, u32 tgid, u64 mib)
{
	struct process_memory r = REC(struct process_memory, REC_PROCESS_MEMORY, .tgid = tgid,
		.start_ns = SECOND, .first_ns = time_ns, .rss_bytes = mib * MIB, .cgroup = 3);

	r.h.time_ns = time_ns;
	snprintf(r.comm, sizeof(r.comm), "p%u", tgid);
	view_feed(f, &r);
}

static void kill_feed(struct fixture *f, u32 tgid, u64 pages)
{
	struct oom_kill r = REC(struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN,
		.tgid = 50, .tid = 51, .why = OOM_WHY_UNKNOWN, .comm = "asker", .victim_tgid = tgid,
		.victim_tid = tgid, .victim_start_ns = SECOND + 5, .anon_pages = pages,
		.page_table_bytes = 8192, .levels = 2,
		.chain = {{3, 25600, 25600, 7}, {1, 90000, OOM_NO_LIMIT, 0}});

	r.h.time_ns = NOW;
	snprintf(r.victim_comm, sizeof(r.victim_comm), "p%u", tgid);
	view_feed(f, &r);
}

static void report_feed(struct fixture *f, u32 tid, u32 asker)
{
	struct oom_report r = REC(struct oom_report, REC_OOM_REPORT,
		.flags = OOM_REPORT_KILLED | OOM_REPORT_ASKED | OOM_REPORT_ASKER_ID |
			 OOM_REPORT_CHOICE,
		.tid = asker, .order = 2, .gfp = 0xcc0, .why = OOM_WHY_MEMCG, .victim_tid = tid,
		.anon_bytes = MIB, .comm = "asker", .victim_comm = "logged", .oom_path = "/a");

	r.h.time_ns = NOW + SECOND / 10;
	view_feed(f, &r);
}

static void freed_feed(struct fixture *f, u32 tid)
{
	struct oom_freed r =
		REC(struct oom_freed, REC_OOM_FREED, .victim_tid = tid, .how = OOM_FREED_EXIT);

	r.h.time_ns = NOW + SECOND / 5;
	view_feed(f, &r);
}

static const struct table *table(const struct fixture *f, const char *name)
{
	vec_each (t, &f->report.tables)
		if (!strcmp((*t)->name, name))
			return *t;
	fail();
	return NULL;
}

static const struct cell *cell(const struct table *t, size_t row, const char *column)
{
	int c = table_column(t, column);

	assert_true(c >= 0 && row < t->n_rows);
	return table_cell(t, row, (size_t)c);
}

static bool evidence(const struct fixture *f, const char *text)
{
	const struct finding *x = &f->report.findings.v[0];

	for (int i = 0; i < FINDING_LINES && x->evidence[i]; i++)
		if (strstr(x->evidence[i], text))
			return true;
	return false;
}

static void test_nothing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct view_options){});
	view_report(&f);
	assert_int_equal(f.report.tables.n, 8);
	vec_each (t, &f.report.tables)
		assert_int_equal((*t)->n_rows, 0);
	assert_int_equal(f.report.findings.n, 0);
	assert_false(oom_view.due(f.view));
	view_close(&f);
}

/* Of the machine, which `where` beside it looked at; of a group it is left out. */
static void ledger_feed(struct fixture *f, u64 time_ns, u64 free)
{
	struct where_ledger l = {.h = {.kind = REC_WHERE_LEDGER, .size = sizeof(l)},
		.total_bytes = 1000 * MIB,
		.known = 1ULL << WHERE_FREE};

	l.h.time_ns = time_ns;
	l.bytes[WHERE_FREE] = free * MIB;
	view_feed(f, &l.h);
	l.scope = WHERE_GROUP;
	l.bytes[WHERE_FREE] = 0;
	view_feed(f, &l.h);
}

static void ledger_check(const struct table *t)
{
	assert_int_equal(t->n_rows, 4);
	assert_string_equal(cell(t, 0, "source")->text, "kernel's report");
	assert_string_equal(cell(t, 0, "row")->text, "anonymous");
	assert_int_equal(cell(t, 0, "age_ns")->u, 0);
	assert_int_equal(cell(t, 0, "bytes")->s, 70 * MIB);
	assert_string_equal(cell(t, 1, "row")->text, "rest");
	assert_int_equal(cell(t, 1, "bytes")->s, 30 * MIB);
	assert_string_equal(cell(t, 2, "of")->text, "machine");
	assert_string_equal(cell(t, 2, "source")->text, "last look");
	assert_int_equal(cell(t, 2, "age_ns")->u, 3 * SECOND);
	assert_int_equal(cell(t, 2, "bytes")->s, 90 * MIB);
	assert_int_equal(cell(t, 3, "bytes")->s, 910 * MIB);
}

/* BPF, the log and the samples each tell a part of one kill. */
static void test_joined(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	begin(&f, &(struct view_options){});
	for (u64 i = 0; i <= 10; i++) { /* 2 MiB a second from 10 s before on */
		process(&f, NOW - (10 - i) * SECOND, 7, 20 + 2 * i);
		process(&f, NOW - (10 - i) * SECOND, 8, 500);
	}
	ledger_feed(&f, NOW - 3 * SECOND, 90);
	ledger_feed(&f, NOW + SECOND, 10); /* after the kill, if before its record */
	kill_feed(&f, 7, 42 * 256);
	assert_false(oom_view.due(f.view));
	view_feed(
		&f, &REC(struct oom_ledger, REC_OOM_LEDGER, .of_group = 1, .total_bytes = 100 * MIB,
			    .known = 1U << OOMLOG_ANON, .bytes[OOMLOG_ANON] = 70 * MIB));
	view_feed(&f, &REC(struct oom_task, REC_OOM_TASK, .tgid = 7, .rss_pages = 42 * 256));
	view_feed(&f, &REC(struct oom_task, REC_OOM_TASK, .tgid = 9, .rss_pages = 100,
			      .comm = "other", .adj = 300));
	report_feed(&f, 7, 51);
	assert_false(oom_view.due(f.view));
	freed_feed(&f, 7);
	assert_true(oom_view.due(f.view));
	view_report(&f);
	assert_false(oom_view.due(f.view));
	t = table(&f, "kills");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell(t, 0, "pid")->u, 7);
	assert_string_equal(cell(t, 0, "comm")->text, "p7");
	assert_string_equal(cell(t, 0, "why")->text, "cgroup");
	assert_int_equal(cell(t, 0, "asker_pid")->u, 50);
	assert_int_equal(cell(t, 0, "order")->s, 2);
	assert_int_equal(cell(t, 0, "rss_bytes")->u, 42 * MIB);
	assert_int_equal(cell(t, 0, "score_pages")->s, 42 * 256 + 2);
	assert_int_equal(cell(t, 0, "killed")->u, 1);
	assert_int_equal(cell(t, 0, "freed_ns")->u, SECOND / 5);
	assert_int_equal(cell(t, 0, "grown_bytes")->s, 22 * MIB);
	assert_int_equal(cell(t, 0, "span_ns")->u, 10 * SECOND);
	assert_in_range(cell(t, 0, "bytes_per_s")->s, 2 * MIB, 3 * MIB);
	assert_int_equal(f.report.findings.n, 1);
	assert_true(evidence(&f, "asked: asker (50)"));
	assert_true(evidence(&f, "4 contiguous pages (order 2)"));
	assert_true(evidence(&f, "next: other (9), 100 pages, oom_score_adj 300"));
	assert_true(evidence(&f, "it grew by 22.0 MiB to 42.0 MiB in 10.0 s"));
	assert_true(evidence(&f, "limit: 100 MiB of 100 MiB in use; it was hit 7 times"));
	t = table(&f, "cgroups");
	assert_int_equal(t->n_rows, 2);
	assert_true(cell(t, 0, "at_limit")->b);
	assert_false(cell(t, 1, "at_limit")->b);
	assert_int_equal(cell(t, 1, "limit_bytes")->type, CELL_EMPTY);
	ledger_check(table(&f, "ledger"));
	/* The victim and the other candidate; 8 is big, but not known to be in the group. */
	t = table(&f, "processes");
	assert_int_equal(t->n_rows, 2);
	view_close(&f);
}

/* Without BPF the log alone; its header of another kill is not taken. */
static void test_log_only(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	view_open(&f, &oom_view, &(struct view_options){}, "oom");
	report_feed(&f, 7, 51);
	report_feed(&f, 7, 51); /* memory.oom.group: counted twice */
	view_report(&f);
	t = table(&f, "kills");
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(cell(t, 0, "comm")->text, "logged");
	assert_string_equal(cell(t, 0, "cgroup")->text, "/a");
	assert_int_equal(cell(t, 0, "killed")->u, 2);
	assert_int_equal(cell(t, 0, "asker_tid")->u, 51);
	assert_int_equal(cell(t, 0, "swap_bytes")->type, CELL_EMPTY);
	assert_int_equal(cell(t, 0, "score_pages")->type, CELL_EMPTY);
	view_close(&f);

	begin(&f, &(struct view_options){});
	kill_feed(&f, 7, 1);
	report_feed(&f, 7, 99);
	view_report(&f);
	assert_int_equal(cell(table(&f, "kills"), 0, "order")->type, CELL_EMPTY);
	assert_int_equal(cell(table(&f, "kills"), 0, "killed")->u, 1);
	view_close(&f);
}

/* The log may be read before the ring. */
static void test_log_first(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	begin(&f, &(struct view_options){});
	report_feed(&f, 7, 51);
	freed_feed(&f, 7);
	kill_feed(&f, 7, 512);
	view_report(&f);
	t = table(&f, "kills");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell(t, 0, "rss_bytes")->u, 2 * MIB);
	assert_int_equal(cell(t, 0, "asker_pid")->u, 50);
	assert_int_equal(cell(t, 0, "killed")->u, 1);
	assert_int_equal(cell(t, 0, "freed_ns")->u, SECOND / 5);
	assert_int_equal(table(&f, "cgroups")->n_rows, 2);
	view_close(&f);
}

static void test_list_and_show(void **state)
{
	char *list[] = {"list"}, *show[] = {"show", "2"}, *bad[] = {"show"},
	     *worse[] = {"show", "x"};
	struct fixture f;
	struct err err = {};
	void *v = calloc(1, oom_view.size);

	(void)state;
	begin(&f, &(struct view_options){.operands = list, .n_operands = 1});
	kill_feed(&f, 7, 1);
	kill_feed(&f, 8, 1);
	view_report(&f);
	assert_int_equal(table(&f, "kills")->n_rows, 2);
	assert_int_equal(table(&f, "cgroups")->n_rows, 0);
	assert_int_equal(f.report.findings.n, 0);
	view_close(&f);
	begin(&f, &(struct view_options){.operands = show, .n_operands = 2});
	kill_feed(&f, 7, 1);
	kill_feed(&f, 8, 1);
	view_report(&f);
	assert_int_equal(table(&f, "kills")->n_rows, 1);
	assert_int_equal(cell(table(&f, "kills"), 0, "pid")->u, 8);
	assert_int_equal(table(&f, "cgroups")->n_rows, 2);
	view_close(&f);
	assert_non_null(v);
	assert_int_equal(
		oom_view.init(v, &(struct view_options){.operands = bad, .n_operands = 1}, &err),
		-EINVAL);
	assert_int_equal(
		oom_view.init(v, &(struct view_options){.operands = worse, .n_operands = 2}, &err),
		-EINVAL);
	free(v);
}

/* Many kills, and records that hold anything. */
static void test_bounds(void **state)
{
	struct fixture f;
	struct oom_zone zone = REC(struct oom_zone, REC_OOM_ZONE, .flags = OOM_ZONE_BLOCKS);

	(void)state;
	begin(&f, &(struct view_options){});
	memset(zone.zone, 'z', sizeof(zone.zone));
	zone.orders = UINT32_MAX;
	for (u32 i = 0; i < 100; i++) {
		struct oom_kill r = REC(struct oom_kill, REC_OOM_KILL);
		struct process_memory p = REC(struct process_memory, REC_PROCESS_MEMORY);

		memset(&r.flags, 0xff, sizeof(r) - offsetof(struct oom_kill, flags));
		memset(&p.tgid, 0xff, sizeof(p) - offsetof(struct process_memory, tgid));
		r.victim_tid = i;
		view_feed(&f, &p);
		view_feed(&f, &zone);
		view_feed(&f, &r);
	}
	view_report(&f);
	assert_int_equal(table(&f, "kills")->n_rows, 100);
	assert_int_equal(f.report.findings.n, 100);
	assert_int_equal(f.report.notes.n, 1); /* details of the last ones only */
	view_close(&f);
}

/* What changes seldom is sent seldom: the minute begins with what it was. */
static void test_history(void **state)
{
	struct history *h = calloc(1, sizeof(*h));
	struct system_value r = {.h = {sizeof(r), REC_SYSTEM_VALUE, 0, SECOND},
		.value = 5,
		.source = SYSTEM_MEMINFO,
		.name = "MemFree"};
	struct growth g;

	(void)state;
	assert_non_null(h);
	history_feed(h, &r.h);
	r.h.time_ns = 95 * SECOND;
	r.value = 50;
	history_feed(h, &r.h);
	g = history_growth(&h->values[VALUE_FREE], NOW, 0);
	assert_true(g.known);
	assert_int_equal(g.first_bytes, 5);
	assert_int_equal(g.bytes, 50);
	assert_int_equal(g.span_ns, 55 * SECOND);
	assert_false(history_growth(&h->values[VALUE_ANON], NOW, 0).known);
	/* More than there are points for. */
	for (u64 i = 0; i < 1000; i++) {
		r.h.time_ns = (100 + i) * SECOND;
		r.value = i;
		history_feed(h, &r.h);
	}
	g = history_growth(&h->values[VALUE_FREE], r.h.time_ns, 0);
	assert_int_equal(g.first_bytes, 999 - 60);
	assert_int_equal(g.per_second, 1);
	free(h);
}

/* What is out of order is damage; a process is itself as long as it did not begin later; what it
 * had before it was told of counts with what is not anonymous. */
static void test_history_of_processes(void **state)
{
	struct history *h = calloc(1, sizeof(*h));
	struct system_value v = {.h = {sizeof(v), REC_SYSTEM_VALUE, 0, 95 * SECOND},
		.value = 50,
		.source = SYSTEM_MEMINFO,
		.name = "MemFree"};
	struct process_memory p = REC(struct process_memory, REC_PROCESS_MEMORY, .tgid = 7,
		.start_ns = SECOND, .first_ns = 92 * SECOND, .first_anon_bytes = 10 * MIB,
		.anon_bytes = 20 * MIB, .rss_bytes = 30 * MIB);
	struct growth g;

	(void)state;
	assert_non_null(h);
	history_feed(h, &v.h);
	v.h.time_ns = 90 * SECOND;
	v.value = 5;
	history_feed(h, &v.h);
	assert_int_equal(history_growth(&h->values[VALUE_FREE], NOW, 0).bytes, 50);
	p.h.time_ns = 95 * SECOND;
	history_feed(h, &p.h);
	g = history_growth(history_process(h, 7, SECOND), NOW, 0);
	assert_int_equal(g.first_bytes, 20 * MIB);
	assert_int_equal(g.bytes, 30 * MIB);
	assert_non_null(history_process(h, 7, 0));
	assert_null(history_process(h, 7, 50 * SECOND));
	assert_null(history_process(h, 8, SECOND));
	free(h);
}

static void freed_at(struct fixture *f, u32 tid, u64 time_ns)
{
	struct oom_freed r =
		REC(struct oom_freed, REC_OOM_FREED, .victim_tid = tid, .how = OOM_FREED_EXIT);

	r.h.time_ns = time_ns;
	view_feed(f, &r);
}

/* A victim's end is told once, and half a minute later its id may be another's. */
static void test_freed(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	begin(&f, &(struct view_options){});
	kill_feed(&f, 7, 1);
	kill_feed(&f, 8, 1);
	freed_at(&f, 7, NOW + SECOND);
	freed_at(&f, 7, NOW + 2 * SECOND);
	freed_at(&f, 8, NOW + 31 * SECOND);
	view_report(&f);
	t = table(&f, "kills");
	assert_int_equal(cell(t, 0, "freed_ns")->u, SECOND);
	assert_int_equal(cell(t, 1, "freed_ns")->type, CELL_EMPTY);
	view_close(&f);
}

/* Who is younger than a minute began with nothing; of an older one that nobody sampled it is not
 * known how it grew. */
static void test_age(void **state)
{
	static const u64 ages[] = {59 * SECOND, 61 * SECOND};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		struct oom_kill r = REC(struct oom_kill, REC_OOM_KILL, .flags = OOM_VICTIM_KNOWN,
			.victim_tgid = 7, .victim_tid = 7, .anon_pages = 59 * 256,
			.victim_age_ns = ages[i]);
		const struct table *t;
		struct fixture f;

		begin(&f, &(struct view_options){});
		r.h.time_ns = NOW;
		view_feed(&f, &r);
		view_report(&f);
		t = table(&f, "kills");
		assert_int_equal(cell(t, 0, "span_ns")->type == CELL_EMPTY, i);
		if (!i)
			assert_int_equal(cell(t, 0, "bytes_per_s")->s, MIB);
		view_close(&f);
	}
}

/* The kernel's log knows no scope: of a process or group only what BPF saw counts. */
static void test_scope(void **state)
{
	static const char *const scopes[] = {"system-wide", "pid 7", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		struct rec_session session = REC(struct rec_session, REC_SESSION);
		struct fixture f;

		snprintf(session.scope, sizeof(session.scope), "%s", scopes[i]);
		begin(&f, &(struct view_options){});
		view_feed(&f, &session);
		report_feed(&f, 9, 51);
		view_report(&f);
		assert_int_equal(table(&f, "kills")->n_rows, i == 1 ? 0 : 1);
		view_close(&f);
	}
}

/* --each waits for all that tells of a kill, but not beyond the end. */
static void test_each_at_the_end(void **state)
{
	struct fixture f;
	struct table *t;

	(void)state;
	begin(&f, &(struct view_options){});
	kill_feed(&f, 7, 1);
	t = oom_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 0);
	view_feed(&f, &REC(struct rec_tick, REC_END));
	t = oom_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_log_only),
		cmocka_unit_test(test_log_first),
		cmocka_unit_test(test_list_and_show),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_history_of_processes),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_each_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
