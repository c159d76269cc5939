/* The leak view over heaps of programs: records of heap over time in, verdicts and suspects out. */
#include "probes/heap/heap.h"
#include "probes/leak/leak_view.h"
#include "view_fixture.h"

#define SECOND 1000000000ULL
#define BEGIN (100 * SECOND)
#define KIB 1024ULL

struct bench {
	struct fixture f;
	u64 now_ns;
};

static void put(struct bench *b, void *rec)
{
	((struct rec *)rec)->time_ns = b->now_ns;
	view_feed(&b->f, rec);
}

static void begin_as(struct bench *b, const char *command)
{
	struct rec_host host =
		REC(struct rec_host, REC_HOST, .cpus = 2, .memory_bytes = 64ULL << 30);
	struct rec_session session = REC(struct rec_session, REC_SESSION);
	struct rec_method method = REC(
		struct rec_method, REC_METHOD, .probe = "heap", .data = "all", .method = "preload");

	snprintf(session.command, sizeof(session.command), "%s", command);
	b->now_ns = BEGIN;
	view_open(&b->f, &leak_view, &(struct view_options){}, "leak");
	put(b, &host);
	put(b, &session);
	put(b, &method);
}

static struct heap_total total(u32 process, u64 live, u64 start_ns)
{
	return REC(struct heap_total, REC_HEAP_TOTAL, .tgid = 100 + process, .process = process,
		.start_ns = start_ns, .live_blocks = live / KIB, .live_bytes = live,
		.allocations = live / KIB, .comm = "worker");
}

static struct heap_site site(u32 process, u32 stack, u64 live, u64 freed)
{
	return REC(struct heap_site, REC_HEAP_SITE, .tgid = 100 + process, .process = process,
		.stack = stack, .site = stack, .live_blocks = live / KIB, .live_bytes = live,
		.allocations = live / KIB + freed, .frees = freed, .bytes = live);
}

static void drain(struct bench *b)
{
	struct rec_cost cost = REC(struct rec_cost, REC_COST);

	put(b, &cost);
}

static struct heap_mapping mapping(u32 site, u64 live, u64 unmapped)
{
	return REC(struct heap_mapping, REC_HEAP_MAPPING, .tgid = 101, .process = 1, .stack = 7,
		.site = site, .kind = HEAP_MAPPED_ANONYMOUS,
		.calls = (live + unmapped) / (64 * KIB), .mapped_bytes = live + unmapped,
		.unmapped_bytes = unmapped, .live_bytes = live);
}

/* A second after which one stack of process 1 holds so much. */
static void second(struct bench *b, u64 live, u64 freed)
{
	struct heap_total t = total(1, live, BEGIN);
	struct heap_site s = site(1, 7, live, freed);

	b->now_ns += SECOND;
	put(b, &t);
	put(b, &s);
	drain(b);
}

/* Its end: ages were looked at. */
static void ends(struct bench *b, u64 live, u64 freed, u64 old_bytes)
{
	struct heap_total t = total(1, live, BEGIN);
	struct heap_site s = site(1, 7, live, freed);

	t.old_ms = (b->now_ns - BEGIN) / 1000000 / 3 * 2;
	t.end_ns = b->now_ns;
	t.h.flags = HEAP_ENDED;
	s.oldest_ms = (u32)((b->now_ns - BEGIN) / 1000000);
	s.old_blocks = old_bytes / KIB;
	s.old_bytes = old_bytes;
	s.ages[14] = (u32)(live / KIB);
	s.lives[0] = (u32)freed;
	put(b, &t);
	put(b, &s);
	drain(b);
}

static void last(struct bench *b, u64 live, u64 freed, u64 old_bytes)
{
	ends(b, live, freed, old_bytes);
	view_report(&b->f);
}

static const char *verdict(struct bench *b)
{
	return cell_at(view_table_of(&b->f, "stacks"), 0, "verdict")->text;
}

static void what_grows_and_stays_is_a_suspect(void **state)
{
	struct bench b;
	struct table *t;
	const struct finding *f;

	(void)state;
	begin_as(&b, "leak");
	for (u64 i = 1; i <= 30; i++)
		second(&b, i * 100 * KIB, 50 * i);
	last(&b, 3000 * KIB, 1500, 1000 * KIB);
	assert_string_equal(verdict(&b), "grows steadily");
	t = view_table_of(&b.f, "stacks");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "live_blocks"), 3000);
	assert_int_equal(cell_number(t, 0, "old_objects"), 1000);
	assert_int_equal(cell_at(t, 0, "growth_bytes_per_s")->s, 100 * KIB);
	assert_true(cell_at(t, 0, "stayed_ratio")->f > 0.98);
	assert_true(cell_at(t, 0, "outlived_ratio")->f > 0.99);
	assert_int_equal(cell_number(t, 0, "age_max_ns"), 30 * SECOND);
	t = view_table_of(&b.f, "processes");
	assert_string_equal(cell_at(t, 0, "verdict")->text, "grows steadily");
	assert_int_equal(cell_number(t, 0, "seen_ns"), 30 * SECOND);
	assert_int_equal(b.f.report.findings.n, 1);
	f = &b.f.report.findings.v[0];
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "worker (pid 101)"));
	assert_non_null(strstr(f->evidence[0], "3000 outstanding (2.93 MiB) of 4500"));
	view_close(&b.f);
}

static void what_is_replaced_is_none(void **state)
{
	struct bench b;

	(void)state;
	begin_as(&b, "leak");
	for (u64 i = 1; i <= 30; i++)
		second(&b, i * 100 * KIB, 500 * i);
	last(&b, 3000 * KIB, 15000, 100 * KIB);
	assert_string_equal(verdict(&b), "grows, but old ones go");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void what_came_once_is_told_from_what_fills(void **state)
{
	struct bench b;

	(void)state;
	begin_as(&b, "leak");
	for (u64 i = 1; i <= 30; i++)
		second(&b, 2 * KIB, 0);
	last(&b, 2 * KIB, 0, 2 * KIB);
	assert_string_equal(verdict(&b), "one-time: came early, stays");
	view_close(&b.f);
	begin_as(&b, "leak");
	for (u64 i = 1; i <= 30; i++)
		second(&b, 900 * KIB, 0);
	last(&b, 900 * KIB, 0, 900 * KIB);
	assert_string_equal(verdict(&b), "filled early, flat since");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

/* The session is long, the process was short. */
static void a_process_is_judged_over_its_own_time(void **state)
{
	struct bench b;
	struct table *t;

	(void)state;
	begin_as(&b, "leak");
	for (u64 i = 1; i <= 12; i++)
		second(&b, i * 100 * KIB, 0);
	ends(&b, 1200 * KIB, 0, 400 * KIB);
	for (u64 i = 1; i <= 40; i++) {
		struct heap_total other = total(2, KIB, BEGIN + 20 * SECOND);
		struct heap_site s = site(2, 8, KIB, 0);

		b.now_ns += SECOND;
		put(&b, &other);
		if (i == 1)
			put(&b, &s);
		drain(&b);
	}
	view_report(&b.f);
	t = view_table_of(&b.f, "stacks");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "pid"), 101);
	assert_string_equal(cell_at(t, 0, "verdict")->text, "grows steadily");
	assert_string_equal(cell_at(t, 1, "verdict")->text, "one-time: came early, stays");
	view_close(&b.f);
}

static void two_numbers_of_a_stack_are_one_row(void **state)
{
	struct bench b;
	struct heap_total t = total(1, 3 * KIB, BEGIN);
	struct heap_site one = site(1, 7, KIB, 0), other = site(1, 7, 2 * KIB, 1);

	(void)state;
	other.site = 9;
	begin_as(&b, "leak");
	b.now_ns += SECOND;
	put(&b, &t);
	put(&b, &one);
	put(&b, &other);
	drain(&b);
	view_report(&b.f);
	assert_int_equal(view_table_of(&b.f, "stacks")->n_rows, 1);
	assert_int_equal(cell_number(view_table_of(&b.f, "stacks"), 0, "live_blocks"), 3);
	assert_string_equal(verdict(&b), "too short to tell");
	view_close(&b.f);
}

/* heap sends its stacks at the end only: they would all seem to have come then. */
static void a_recording_of_heap_judges_no_stack(void **state)
{
	struct bench b;

	(void)state;
	begin_as(&b, "heap");
	for (u64 i = 1; i <= 30; i++) {
		struct heap_total t = total(1, i * 100 * KIB, BEGIN);

		b.now_ns += SECOND;
		put(&b, &t);
		drain(&b);
	}
	last(&b, 3000 * KIB, 0, 1000 * KIB);
	assert_int_equal(cell_at(view_table_of(&b.f, "stacks"), 0, "verdict")->type, CELL_EMPTY);
	assert_string_equal(
		cell_at(view_table_of(&b.f, "processes"), 0, "verdict")->text, "grows steadily");
	assert_int_equal(b.f.report.findings.n, 0);
	assert_int_equal(b.f.report.not_checked.n, 1);
	view_close(&b.f);
}

/* Thirty seconds, in each of which a stack maps so much by two numbers of it, and unmaps so much.
 */
static void map_for_thirty(struct bench *b, const char *command, u64 grown, u64 unmapped)
{
	begin_as(b, command);
	for (u64 i = 1; i <= 30; i++) {
		struct heap_total t = total(1, KIB, BEGIN);
		struct heap_mapping one = mapping(7, i * grown, i * unmapped),
				    other = mapping(8, i * grown, 0);

		b->now_ns += SECOND;
		put(b, &t);
		put(b, &one);
		put(b, &other);
		drain(b);
	}
	view_report(&b->f);
}

static void what_is_mapped_and_stays_is_a_suspect(void **state)
{
	struct bench b;
	struct table *t;

	(void)state;
	map_for_thirty(&b, "leak", 64 * KIB, 0);
	t = view_table_of(&b.f, "mappings");
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(cell_at(t, 0, "verdict")->text, "grows steadily");
	assert_string_equal(cell_at(t, 0, "kind")->text, "anonymous");
	assert_int_equal(cell_number(t, 0, "live_bytes"), 60 * 64 * KIB);
	assert_int_equal(cell_number(t, 0, "calls"), 60);
	assert_int_equal(cell_at(t, 0, "growth_bytes_per_s")->s, 128 * KIB);
	assert_int_equal(b.f.report.findings.n, 1);
	assert_string_equal(b.f.report.findings.v[0].rule, "leak-mapped");
	assert_non_null(strstr(b.f.report.findings.v[0].evidence[0],
		"3.75 MiB mapped and not unmapped, of 3.75 MiB that 60 calls mapped"));
	view_close(&b.f);
}

/* All that was unmapped may have been of what was there early on: no suspect. */
static void what_may_have_been_unmapped_is_none(void **state)
{
	struct bench b;
	struct table *t;

	(void)state;
	map_for_thirty(&b, "leak", 64 * KIB, 64 * KIB);
	t = view_table_of(&b.f, "mappings");
	assert_string_equal(cell_at(t, 0, "verdict")->text, "grows steadily");
	assert_true(cell_at(t, 0, "stayed_ratio")->f == 0);
	assert_int_equal(cell_number(t, 0, "unmapped_bytes"), 30 * 64 * KIB);
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
	map_for_thirty(&b, "heap", 64 * KIB, 0);
	t = view_table_of(&b.f, "mappings");
	assert_int_equal(cell_at(t, 0, "verdict")->type, CELL_EMPTY);
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void records_of_no_process_do_no_harm(void **state)
{
	struct bench b;
	struct heap_site s = site(3, 1, ~0ULL, ~0ULL);
	struct heap_mapping m = mapping(1, ~0ULL, ~0ULL);
	struct heap_total t = total(1, ~0ULL, ~0ULL);

	(void)state;
	begin_as(&b, "leak");
	put(&b, &s);
	put(&b, &m);
	put(&b, &t);
	m.kind = ~0U;
	put(&b, &m);
	drain(&b);
	last(&b, 1ULL << 63, ~0ULL, ~0ULL);
	assert_int_equal(view_table_of(&b.f, "stacks")->n_rows, 1);
	view_close(&b.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_grows_and_stays_is_a_suspect),
		cmocka_unit_test(what_is_replaced_is_none),
		cmocka_unit_test(what_came_once_is_told_from_what_fills),
		cmocka_unit_test(a_process_is_judged_over_its_own_time),
		cmocka_unit_test(two_numbers_of_a_stack_are_one_row),
		cmocka_unit_test(a_recording_of_heap_judges_no_stack),
		cmocka_unit_test(what_is_mapped_and_stays_is_a_suspect),
		cmocka_unit_test(what_may_have_been_unmapped_is_none),
		cmocka_unit_test(records_of_no_process_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
