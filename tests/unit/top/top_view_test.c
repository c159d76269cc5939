/* A stream of records in, the tables of `top` out. */
#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/stalls/stalls.h"
#include "top/top_view.h"
#include "view_fixture.h"

#define SEC NSEC_PER_SEC
#define MIB (1ULL << 20)

static void put(struct fixture *f, void *rec, u16 kind, size_t size, u64 time_ns)
{
	struct rec *r = rec;

	r->kind = kind;
	r->size = (u32)((size + 7) & ~7UL);
	r->time_ns = time_ns;
	view_feed(f, r);
}

#define PUT(f_, rec_, kind_, time_) put((f_), &(rec_), (kind_), sizeof(rec_), (time_))

static void put_value(struct fixture *f, u16 source, const char *name, u64 value, u64 time_ns)
{
	struct system_value v = {.source = source, .value = value};

	snprintf(v.name, sizeof(v.name), "%s", name);
	PUT(f, v, REC_SYSTEM_VALUE, time_ns);
}

static void put_begin(struct fixture *f)
{
	struct rec_host host = {.page_bytes = 4096, .cpus = 4, .nodes = 1};
	struct rec_session session = {.scope = "system-wide"};

	view_open(f, &top_view, &(struct view_options){}, "top");
	PUT(f, host, REC_HOST, SEC);
	PUT(f, session, REC_SESSION, SEC);
}

static void put_method(struct fixture *f, const char *probe)
{
	struct rec_method m = {.data = "it", .method = "a way"};

	snprintf(m.probe, sizeof(m.probe), "%s", probe);
	PUT(f, m, REC_METHOD, SEC);
}

static void put_process(struct fixture *f, u32 pid, u64 rss, u64 minor, u64 time_ns, u16 flags)
{
	struct process_memory m = {.h.flags = flags,
		.tgid = pid,
		.start_ns = 7,
		.rss_bytes = rss,
		.anon_bytes = rss / 2};

	m.minflt_total = minor;
	m.cgroup = 11;
	m.oom_score = 600;
	snprintf(m.comm, sizeof(m.comm), "p%u", pid);
	PUT(f, m, REC_PROCESS_MEMORY, time_ns);
}

static void put_tick(struct fixture *f, u64 time_ns)
{
	struct rec_tick t = {};

	PUT(f, t, REC_TICK, time_ns);
}

static void interval_next(struct fixture *f)
{
	top_view.reset(f->view);
	stream_interval_begin(&f->stream);
}

static size_t row_of(const struct table *t, const char *column, u64 value)
{
	int c = table_column(t, column);

	for (size_t i = 0; i < t->n_rows; i++)
		if (table_cell(t, i, (size_t)c)->u == value)
			return i;
	fail_msg("no row with %s %llu", column, value);
	return 0;
}

static const struct cell *cell_of(const struct table *t, size_t row, const char *column)
{
	return table_cell(t, row, (size_t)table_column(t, column));
}

/* The bar adds up, also where the kernel's counts are not of one moment. */
static void test_memory_adds_up(void **state)
{
	(void)state;
	for (int over = 0; over < 2; over++) {
		struct fixture f;
		const struct table *t;
		u64 sum = 0;

		put_begin(&f);
		put_value(&f, SYSTEM_MEMINFO, "MemTotal", 1000 * MIB, SEC);
		put_value(&f, SYSTEM_MEMINFO, "MemFree", 300 * MIB, SEC);
		put_value(&f, SYSTEM_MEMINFO, "AnonPages", 200 * MIB, SEC);
		put_value(&f, SYSTEM_MEMINFO, "Cached", (over ? 600 : 250) * MIB, SEC);
		put_value(&f, SYSTEM_MEMINFO, "Shmem", 50 * MIB, SEC);
		put_value(&f, SYSTEM_MEMINFO, "Slab", 30 * MIB, SEC);
		put_tick(&f, 2 * SEC);
		view_report(&f);
		t = view_table_of(&f, "memory");
		for (size_t i = 0; i < t->n_rows; i++)
			sum += cell_of(t, i, "bytes")->u;
		assert_int_equal(sum, 1000 * MIB);
		assert_string_equal(cell_of(t, 2, "part")->text, "cache");
		assert_int_equal(cell_of(t, 2, "bytes")->u, (over ? 420 : 200) * MIB);
		view_close(&f);
	}
}

static void test_growth_is_by_the_distance_of_samples(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_process(&f, 5, 100 * MIB, 1000, SEC, PROCESS_EVERY);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(cell_of(t, 0, "growth_bytes_per_s")->type, CELL_EMPTY);
	assert_int_equal(cell_of(t, 0, "oom_score")->type, CELL_EMPTY);
	interval_next(&f);
	view_again(&f);
	put_process(&f, 5, 120 * MIB, 1400, 3 * SEC, PROCESS_EVERY | PROCESS_OOM);
	put_tick(&f, 3 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_of(t, 0, "growth_bytes_per_s")->s, 10 * MIB);
	assert_true(cell_of(t, 0, "minor_per_s")->f == 200.0);
	assert_int_equal(cell_of(t, 0, "oom_score")->u, 600);
	view_close(&f);
}

static void put_string(struct fixture *f, u32 id, const char *text)
{
	_cleanup_free_ struct rec_string *r = calloc(1, sizeof(*r) + 16);

	assert_non_null(r);
	r->id = id;
	r->length = (u32)strlen(text);
	memcpy(r->text, text, r->length);
	put(f, r, REC_STRING, sizeof(*r) + 16, SEC);
}

/* Users are sums of what the lines of their processes say. */
static void test_users_are_sums(void **state)
{
	struct fixture f;
	struct process_memory m = {.h.flags = PROCESS_EVERY | PROCESS_USER | PROCESS_EXACT};
	const struct table *t;
	size_t bob;

	(void)state;
	put_begin(&f);
	put_string(&f, 1, "ann");
	put_string(&f, 2, "bob");
	for (u32 s = 1; s <= 2; s++) {
		for (u32 pid = 5; pid <= 7; pid++) {
			m.tgid = pid;
			m.start_ns = pid;
			m.rss_bytes = pid * s * MIB;
			m.exact_anon_bytes = MIB;
			m.user = pid == 5 ? 1 : 2;
			m.minflt_total = 100 * s;
			PUT(&f, m, REC_PROCESS_MEMORY, s * SEC);
		}
		put_process(&f, 8, 100 * MIB, 0, s * SEC, PROCESS_EVERY); /* not known whose */
		put_tick(&f, (1 + s) * SEC);
	}
	view_report(&f);
	t = view_table_of(&f, "users");
	assert_int_equal(t->n_rows, 2);
	bob = strcmp(cell_of(t, 0, "user")->text, "bob") ? 1 : 0;
	assert_string_equal(cell_of(t, bob, "user")->text, "bob");
	assert_int_equal(cell_of(t, bob, "rss_bytes")->u, 26 * MIB);
	assert_int_equal(cell_of(t, bob, "anon_bytes")->u, 2 * MIB);
	assert_int_equal(cell_of(t, bob, "growth_bytes_per_s")->s, 13 * MIB);
	assert_true(cell_of(t, bob, "minor_per_s")->f == 200.0);
	assert_int_equal(cell_of(t, bob, "processes")->u, 2);
	assert_int_equal(cell_of(t, 1 - bob, "rss_bytes")->u, 10 * MIB);
	assert_int_equal(cell_of(t, 1 - bob, "processes")->u, 1);
	view_close(&f);
}

/* Of those that are sent at each sample, who is not in the last one is gone. */
static void test_who_is_not_sampled_is_gone(void **state)
{
	struct fixture f;

	(void)state;
	put_begin(&f);
	put_process(&f, 5, MIB, 0, SEC, PROCESS_EVERY);
	put_process(&f, 6, MIB, 0, SEC, PROCESS_EVERY);
	put_process(&f, 7, MIB, 0, SEC, 0);
	put_process(&f, 5, MIB, 0, 2 * SEC, PROCESS_EVERY);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "top")->n_rows, 2);
	row_of(view_table_of(&f, "top"), "pid", 5);
	row_of(view_table_of(&f, "top"), "pid", 7);
	view_close(&f);
}

static void put_events(struct fixture *f, u64 time_ns)
{
	struct faults_agg fault = {.tgid = 5, .count = 30, .total_ns = SEC / 4, .comm = "p5"};
	struct stalls_agg stall = {.tgid = 8, .count = 2, .total_ns = SEC / 2, .comm = "p8"};

	PUT(f, fault, REC_FAULTS_AGG, time_ns);
	fault.flags = FAULT_MAJOR;
	fault.map = MAPPING_FILE;
	fault.count = 3;
	PUT(f, fault, REC_FAULTS_AGG, time_ns);
	PUT(f, stall, REC_STALLS_AGG, time_ns);
}

/* Events are told where they were looked at; one without a sample has a line too. */
static void test_events_are_of_the_interval(void **state)
{
	struct fixture f;
	const struct table *t;
	size_t row;

	(void)state;
	put_begin(&f);
	put_method(&f, "faults");
	put_method(&f, "stalls");
	put_process(&f, 5, MIB, 0, SEC, PROCESS_EVERY);
	put_events(&f, 2 * SEC);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	row = row_of(t, "pid", 5);
	assert_true(cell_of(t, row, "minor_per_s")->f == 30.0);
	assert_true(cell_of(t, row, "major_per_s")->f == 3.0);
	assert_true(cell_of(t, row, "fault_ratio")->f == 0.5);
	row = row_of(t, "pid", 8);
	assert_true(cell_of(t, row, "stall_ratio")->f == 0.5);
	assert_int_equal(cell_of(t, row, "rss_bytes")->type, CELL_EMPTY);
	assert_string_equal(cell_of(t, row, "comm")->text, "p8");
	assert_int_equal(view_table_of(&f, "paths")->n_rows, 3);
	interval_next(&f);
	view_again(&f);
	put_process(&f, 5, MIB, 0, 3 * SEC, PROCESS_EVERY);
	put_tick(&f, 3 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(t->n_rows, 1);
	assert_true(cell_of(t, 0, "major_per_s")->f == 0);
	assert_int_equal(view_table_of(&f, "paths")->n_rows, 0);
	view_close(&f);
}

/* A wait of several intervals ends in one: a thread cannot have waited longer than that took. */
static void test_a_thread_waits_no_longer_than_the_interval(void **state)
{
	struct process_memory m = {
		.h.flags = PROCESS_EVERY | PROCESS_EXACT, .tgid = 5, .start_ns = 5, .threads = 2};
	struct faults_agg fault = {.tgid = 5, .count = 1, .total_ns = 7 * SEC, .comm = "p5"};
	struct stalls_agg stall = {.tgid = 5, .count = 1, .total_ns = 3 * SEC / 2, .comm = "p5"};
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_method(&f, "faults");
	put_method(&f, "stalls");
	PUT(&f, m, REC_PROCESS_MEMORY, SEC);
	PUT(&f, fault, REC_FAULTS_AGG, 2 * SEC);
	PUT(&f, stall, REC_STALLS_AGG, 2 * SEC);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_true(cell_of(t, 0, "fault_ratio")->f == 2.0);
	assert_true(cell_of(t, 0, "stall_ratio")->f == 1.5);
	view_close(&f);
}

/* What waits for swap waits for memory: of a file's page it is not known. */
static void test_swap_ins_are_stalls(void **state)
{
	struct process_memory m = {
		.h.flags = PROCESS_EVERY | PROCESS_EXACT, .tgid = 5, .start_ns = 5, .threads = 2};
	struct faults_agg fault = {.tgid = 5, .count = 1, .total_ns = SEC / 4, .comm = "p5"};
	struct stalls_agg stall = {.tgid = 5, .count = 1, .total_ns = SEC / 2, .comm = "p5"};
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_method(&f, "faults");
	put_method(&f, "stalls");
	m.cgroup = 11;
	PUT(&f, m, REC_PROCESS_MEMORY, SEC);
	PUT(&f, stall, REC_STALLS_AGG, 2 * SEC);
	stall.trigger = STALLS_FOR_FAULT; /* maybe of that swap-in: counted once */
	stall.total_ns = SEC / 8;
	PUT(&f, stall, REC_STALLS_AGG, 2 * SEC);
	fault.map = MAPPING_ANON; /* minor */
	PUT(&f, fault, REC_FAULTS_AGG, 2 * SEC);
	fault.flags = FAULT_MAJOR;
	PUT(&f, fault, REC_FAULTS_AGG, 2 * SEC);
	fault.map = MAPPING_FILE;
	PUT(&f, fault, REC_FAULTS_AGG, 2 * SEC);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_true(cell_of(t, 0, "stall_ratio")->f == 0.75);
	assert_true(cell_of(t, 0, "fault_ratio")->f == 0.75);
	interval_next(&f);
	view_again(&f);
	PUT(&f, m, REC_PROCESS_MEMORY, 3 * SEC);
	put_tick(&f, 3 * SEC);
	view_report(&f);
	assert_true(cell_of(view_table_of(&f, "top"), 0, "stall_ratio")->f == 0);
	view_close(&f);
}

static void put_zone(struct fixture *f, u32 node, u64 time_ns)
{
	struct frag_zone z = {.node = node, .orders = 1, .zone = "Normal", .free_blocks = {100}};

	PUT(f, z, REC_FRAG_ZONE, time_ns);
}

/* Of each node, as a share of one CPU between the last two samples. */
static void test_threads_of_nodes(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_zone(&f, 0, SEC);
	put_zone(&f, 1, SEC);
	put_value(&f, SYSTEM_THREAD, "kswapd0", 5 * SEC, SEC);
	put_value(&f, SYSTEM_THREAD, "kcompactd0", SEC, SEC);
	put_value(&f, SYSTEM_THREAD, "kswapd1", 7 * SEC, SEC);
	put_tick(&f, SEC + 1);
	view_report(&f);
	t = view_table_of(&f, "zones");
	assert_int_equal(cell_of(t, 0, "kswapd_ratio")->type, CELL_EMPTY); /* one sample */
	interval_next(&f);
	view_again(&f);
	put_value(&f, SYSTEM_THREAD, "kswapd0", 6 * SEC, 3 * SEC);
	put_value(&f, SYSTEM_THREAD, "kswapd1", 99 * SEC, 3 * SEC);
	put_tick(&f, 3 * SEC);
	view_report(&f);
	t = view_table_of(&f, "zones");
	assert_true(cell_of(t, row_of(t, "node", 0), "kswapd_ratio")->f == 0.5);
	assert_true(cell_of(t, row_of(t, "node", 0), "kcompactd_ratio")->f == 0);
	assert_true(cell_of(t, row_of(t, "node", 1), "kswapd_ratio")->f == 1.0);
	assert_int_equal(
		cell_of(t, row_of(t, "node", 1), "kcompactd_ratio")->type, CELL_EMPTY);
	view_close(&f);
}

static void put_group(
	struct fixture *f, u64 id, const char *path, u64 usage, u64 limit, u64 time_ns)
{
	union {
		struct rec_cgroup r;
		char room[sizeof(struct rec_cgroup) + 64];
	} name = {.r = {.id = id, .length = (u32)strlen(path)}};
	struct cgroup_usage u = {.cgroup = id, .usage_bytes = usage, .limit_bytes = limit};

	strcpy(name.r.path, path);
	put(f, &name, REC_CGROUP, sizeof(name), time_ns);
	u.high_bytes = CGROUP_USAGE_NONE;
	PUT(f, u, REC_CGROUP_MEMORY, time_ns);
}

/* The lowest limit of the chain, and the least room below one, which may be of another group. */
static void test_limits_of_the_chain(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_group(&f, 1, "/", 900 * MIB, CGROUP_USAGE_NONE, SEC);
	put_group(&f, 10, "/a", 190 * MIB, 200 * MIB, SEC);
	put_group(&f, 11, "/a/b", 50 * MIB, 100 * MIB, SEC);
	put_group(&f, 12, "/ab", 50 * MIB, 60 * MIB, SEC);
	put_process(&f, 5, MIB, 0, SEC, PROCESS_EVERY);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(cell_of(t, 0, "limit_bytes")->u, 100 * MIB);
	assert_int_equal(cell_of(t, 0, "headroom_bytes")->u, 10 * MIB);
	assert_string_equal(cell_of(t, 0, "cgroup")->text, "/a/b");
	t = view_table_of(&f, "cgroups");
	assert_int_equal(t->n_rows, 4);
	assert_int_equal(
		cell_of(t, row_of(t, "usage_bytes", 900 * MIB), "limit_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* What page tables said is told of who was looked at so, and only for a while. */
static void test_page_tables(void **state)
{
	struct process_detail d = {.h.flags = PROCESS_ROLLUP, .tgid = 5, .pss_bytes = 3 * MIB};
	struct process_numa n = {.tgid = 5, .nodes = 2};
	struct fixture f;
	const struct table *t;

	(void)state;
	d.rss_anon_bytes = 8 * MIB;
	d.anon_huge_bytes = 2 * MIB;
	n.resident_pages[0] = 30;
	n.resident_pages[1] = 10;
	n.threads[1] = 4;
	put_begin(&f);
	put_process(&f, 5, 10 * MIB, 0, SEC, PROCESS_EVERY);
	put_process(&f, 6, 9 * MIB, 0, SEC, PROCESS_EVERY);
	PUT(&f, d, REC_PROCESS_DETAIL, SEC);
	PUT(&f, n, REC_PROCESS_NUMA, SEC);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(cell_of(t, row_of(t, "pid", 5), "pss_bytes")->u, 3 * MIB);
	assert_true(cell_of(t, row_of(t, "pid", 5), "thp_ratio")->f == 0.25);
	assert_true(cell_of(t, row_of(t, "pid", 5), "local_ratio")->f == 0.25);
	assert_int_equal(cell_of(t, row_of(t, "pid", 6), "pss_bytes")->type, CELL_EMPTY);
	interval_next(&f);
	view_again(&f);
	put_process(&f, 5, 10 * MIB, 0, 20 * SEC, PROCESS_EVERY);
	put_tick(&f, 20 * SEC);
	view_report(&f);
	t = view_table_of(&f, "top");
	assert_int_equal(cell_of(t, row_of(t, "pid", 5), "pss_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* What was counted while programs were attached is not of the first interval. */
static void test_the_interval_begins_when_all_is_attached(void **state)
{
	struct rec_session again = {.scope = "system-wide"};
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_value(&f, SYSTEM_MEMINFO, "MemTotal", 1000 * MIB, SEC);
	put_value(&f, SYSTEM_VMSTAT, "pgfault", 1000, SEC);
	put_value(&f, SYSTEM_VMSTAT, "pgfault", 501000, 2 * SEC);
	PUT(&f, again, REC_SESSION, 2 * SEC);
	put_value(&f, SYSTEM_VMSTAT, "pgfault", 501010, 3 * SEC);
	put_tick(&f, 3 * SEC);
	view_report(&f);
	t = view_table_of(&f, "machine");
	assert_true(cell_of(t, 0, "faults_per_s")->f == 10.0);
	assert_int_equal(cell_of(t, 0, "memory_some_ratio")->type, CELL_EMPTY);
	view_close(&f);
}

/* What one interval of a second says of a sample at `time_ns`: of a process, a group, the machine.
 */
static void put_samples(struct fixture *f, u64 n, u64 time_ns)
{
	struct system_pressure p = {.resource = SYSTEM_CPU, .some_total_us = n * 250000};

	put_process(f, 5, n * 4 * MIB, n * 100, time_ns, PROCESS_EVERY);
	put_group(f, 11, "/a", n * 10 * MIB, CGROUP_USAGE_NONE, time_ns);
	PUT(f, p, REC_SYSTEM_PRESSURE, time_ns);
	put_value(f, SYSTEM_MEMINFO, "MemTotal", 1000 * MIB, time_ns);
	put_value(f, SYSTEM_VMSTAT, "pgfault", n * 5000, time_ns + NSEC_PER_MSEC);
	put_value(f, SYSTEM_VMSTAT, "oom_kill", n, time_ns);
}

static void assert_rates(struct fixture *f, bool told)
{
	const struct table *t;

	view_report(f);
	t = view_table_of(f, "top");
	assert_int_equal(cell_of(t, row_of(t, "pid", 5), "growth_bytes_per_s")->s, 4 * MIB);
	t = view_table_of(f, "cgroups");
	assert_int_equal(cell_of(t, 0, "growth_bytes_per_s")->s, 10 * MIB);
	t = view_table_of(f, "machine");
	assert_true(cell_of(t, 0, "cpu_some_ratio")->f == 0.25);
	assert_true(cell_of(t, 0, "faults_per_s")->f == 5000);
	/* what is counted, and no rate, is told once */
	assert_int_equal(cell_of(t, 0, "oom_kills")->type, told ? CELL_U64 : CELL_EMPTY);
}

/* Samples come a second apart, and are not in step with intervals: one without any has the rates of
 * the last two, and the next one those of its own. */
static void test_an_interval_without_a_sample_is_not_zero(void **state)
{
	u64 n = 1;
	struct fixture f;
	const struct table *t;

	(void)state;
	put_begin(&f);
	put_samples(&f, n, 1900 * NSEC_PER_MSEC);
	put_tick(&f, 2 * SEC);
	view_report(&f);
	t = view_table_of(&f, "machine"); /* nor is one sample a rate of 0 */
	assert_int_equal(cell_of(t, 0, "cpu_some_ratio")->type, CELL_EMPTY);
	assert_int_equal(cell_of(t, 0, "faults_per_s")->type, CELL_EMPTY);
	assert_int_equal(cell_of(t, 0, "total_bytes")->u, 1000 * MIB);
	for (u64 end = 3; end < 7; end++) {
		bool comes = end != 4; /* late, which is early in the next interval */

		view_again(&f);
		interval_next(&f);
		n += comes;
		if (comes)
			put_samples(&f, n, 900 * NSEC_PER_MSEC + n * SEC);
		put_tick(&f, end * SEC);
		assert_rates(&f, comes);
	}
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_interval_without_a_sample_is_not_zero),
		cmocka_unit_test(test_memory_adds_up),
		cmocka_unit_test(test_growth_is_by_the_distance_of_samples),
		cmocka_unit_test(test_users_are_sums),
		cmocka_unit_test(test_who_is_not_sampled_is_gone),
		cmocka_unit_test(test_events_are_of_the_interval),
		cmocka_unit_test(test_a_thread_waits_no_longer_than_the_interval),
		cmocka_unit_test(test_swap_ins_are_stalls),
		cmocka_unit_test(test_threads_of_nodes),
		cmocka_unit_test(test_limits_of_the_chain),
		cmocka_unit_test(test_page_tables),
		cmocka_unit_test(test_the_interval_begins_when_all_is_attached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
