/* The stalls view: records in, tables and stories out; and what both sides of the probe work out
 * of a state. */
#include <errno.h>

#include "capture/gfp_names.h"
#include "probes/stalls/stalls_view.h"
#include "view_fixture.h"

static void open_by(struct fixture *f, const struct view_options *o)
{
	view_open(f, &stalls_view, o, "stalls");
}

static struct stalls_agg stalls(u32 tgid, u8 kind, u8 order, u64 count, u64 ns)
{
	struct stalls_agg r = REC(struct stalls_agg, REC_STALLS_AGG, .tgid = tgid, .kind = kind,
		.order = order, .gfp = 0xcc0, .trigger = STALLS_FOR_SYSCALL, .syscall = 1,
		.outcome = STALLS_GOT, .count = count, .total_ns = count * ns, .max_ns = ns,
		.reclaim_ns = count * ns / 2, .compact_ns = count * ns / 4, .scanned = 64 * count,
		.reclaimed = 32 * count, .migrated = count, .retries = 2, .comm = "worker");

	r.hist[20] = (u32)count;
	return r;
}

static void kinds_and_outcomes(void **state)
{
	struct stalls_agg page = stalls(7, STALLS_ALLOCATION, 0, 3, 600000);
	struct stalls_agg failed = stalls(7, STALLS_ALLOCATION, 9, 2, 900000);
	struct stalls_agg charge = stalls(7, STALLS_CHARGE, 0, 5, 700000);
	struct fixture f;
	struct table *t;

	(void)state;
	failed.outcome = STALLS_FAILED;
	charge.outcome = STALLS_OOM;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &page);
	view_feed(&f, &charge);
	view_feed(&f, &failed);
	view_report(&f);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "kind", "allocation");
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_int_equal(cell_number(t, 0, "count"), 5);
	assert_int_equal(cell_number(t, 0, "total_ns"), 3600000);
	assert_int_equal(cell_number(t, 0, "max_ns"), 900000);
	assert_int_equal(cell_number(t, 0, "reclaim_ns"), 1800000);
	assert_int_equal(cell_number(t, 0, "compaction_ns"), 900000);
	assert_int_equal(cell_number(t, 0, "reclaimed_pages"), 160);
	assert_int_equal(cell_number(t, 0, "migrated_pages"), 5);
	assert_int_equal(cell_number(t, 0, "retries"), 4);
	assert_int_equal(cell_number(t, 0, "failed"), 2);
	assert_int_equal(cell_number(t, 0, "oom"), 0);
	assert_cell_text(t, 1, "kind", "charge");
	assert_int_equal(cell_number(t, 1, "oom"), 5);
	view_close(&f);
}

static void by_trigger(void **state)
{
	struct stalls_agg call = stalls(7, STALLS_ALLOCATION, 0, 3, 600000);
	struct stalls_agg more = stalls(8, STALLS_ALLOCATION, 3, 3, 600000);
	struct stalls_agg fault = stalls(7, STALLS_ALLOCATION, 2, 1, 100000);
	struct stalls_agg thp = stalls(7, STALLS_ALLOCATION, 9, 1, 200000);
	struct stalls_agg odd = stalls(7, STALLS_ALLOCATION, 0, 1, 50000);
	struct fixture f;
	struct table *t;

	(void)state;
	fault.trigger = thp.trigger = STALLS_FOR_FAULT;
	fault.syscall = thp.syscall = STALLS_NO_SYSCALL;
	odd.syscall = 30000;
	open_by(&f, &(struct view_options){.by = "trigger"});
	view_feed(&f, &call);
	view_feed(&f, &more);
	view_feed(&f, &fault);
	view_feed(&f, &thp);
	view_feed(&f, &odd);
	view_report(&f);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 4);
	assert_int_equal(table_column(t, "pid"), -ENOENT);
	assert_cell_text(t, 0, "trigger", "syscall write");
	assert_int_equal(cell_number(t, 0, "count"), 6);
	assert_cell_text(t, 1, "trigger", "page fault");
	assert_cell_text(t, 2, "trigger", "THP fault");
	assert_cell_text(t, 3, "trigger", "syscall 30000");
	view_close(&f);
}

static void steps(void **state)
{
	struct stalls_step_agg compaction = REC(struct stalls_step_agg, REC_STALLS_STEP,
		.kind = STALLS_COMPACT, .mode = STALLS_PRIO_ASYNC, .order = 9,
		.result = STALLS_COMPACT_SUCCESS | STALLS_COMPACT_PAGE, .count = 2,
		.total_ns = 5000, .max_ns = 3000, .scanned = 512, .done = 70, .failed = 3);
	struct stalls_step_agg reclaim =
		REC(struct stalls_step_agg, REC_STALLS_STEP, .kind = STALLS_DIRECT, .result = 1,
			.count = 1, .total_ns = 900, .scanned = 64, .done = 32);
	struct stalls_step_agg none = REC(struct stalls_step_agg, REC_STALLS_STEP, .kind = 200,
		.mode = 200, .result = 200, .count = 1, .total_ns = 1);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &compaction);
	compaction.order = 3; /* orders are one row, unless asked for */
	view_feed(&f, &compaction);
	view_feed(&f, &reclaim);
	view_feed(&f, &none); /* from a foreign file */
	view_report(&f);
	t = view_table_of(&f, "steps");
	assert_int_equal(t->n_rows, 3);
	assert_cell_text(t, 0, "step", "compaction");
	assert_cell_text(t, 0, "mode", "async");
	assert_cell_text(t, 0, "result", "page");
	assert_cell_text(t, 0, "status", "success");
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_int_equal(cell_number(t, 0, "migrated_pages"), 140);
	assert_int_equal(cell_number(t, 0, "failed_pages"), 6);
	assert_int_equal(cell_at(t, 0, "reclaimed_pages")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "step", "reclaim");
	assert_int_equal(cell_at(t, 1, "mode")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 1, "reclaimed_pages"), 32);
	assert_cell_text(t, 2, "step", "?");
	view_close(&f);
}

static struct stalls_event event(void)
{
	struct stalls_event e = REC(struct stalls_event, REC_STALLS_EVENT, .tgid = 7, .tid = 8,
		.start_ns = 4900000000, .ns = 9000000, .reclaim_ns = 3000000, .compact_ns = 2000000,
		.gfp = 0xcc0, .order = 9, .kind = STALLS_ALLOCATION, .outcome = STALLS_GOT,
		.trigger = STALLS_FOR_FAULT, .syscall = STALLS_NO_SYSCALL,
		.address = 0x7f0000001000, .retries = 1, .n_steps = 4, .comm = "worker");

	e.steps.kind[0] = STALLS_WAKE;
	e.steps.kind[1] = STALLS_DIRECT;
	e.steps.ns[1] = 3000000;
	e.steps.wait_ns[1] = 1000000;
	e.steps.scanned[1] = 64;
	e.steps.done[1] = 32;
	e.steps.kind[2] = STALLS_RETRY;
	e.steps.ns[2] = 5000;
	e.steps.kind[3] = STALLS_COMPACT;
	e.steps.mode[3] = 1;
	e.steps.zones[3] = 1;
	e.steps.zone[3] = 0x1000;
	e.steps.ns[3] = 2000000;
	e.steps.scanned[3] = 512;
	e.steps.done[3] = 70;
	e.steps.result[3] = STALLS_COMPACT_SUCCESS | STALLS_COMPACT_PAGE;
	return e;
}

static void story(void **state)
{
	struct stalls_event e = event(), shorter = event();
	struct rec_enum zone = REC(struct rec_enum, REC_ENUM, .set = STALLS_ZONE_SET,
		.value = 0x1000, .name = "node 0 DMA32");
	struct fixture f;
	struct table *t;

	(void)state;
	shorter.ns = 10;
	open_by(&f, &(struct view_options){.each = true, .min_ns = 1000000});
	view_feed(&f, &zone);
	view_feed(&f, &e);
	view_feed(&f, &shorter);
	t = stalls_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "trigger", "THP fault");
	assert_cell_text(t, 0, "address", "0x7f0000001000");
	assert_int_equal(cell_at(t, 0, "mapping")->type, CELL_EMPTY);
	assert_cell_text(t, 0, "outcome", "page");
	assert_int_equal(cell_number(t, 0, "duration_ns"), 9000000);
	assert_cell_text(t, 0, "story",
		"kswapd woken; reclaim 3.00 ms, 64 scanned, 32 reclaimed (slept 1.00 ms); "
		"retry 5.00 us; sync compaction of node 0 DMA32 2.00 ms, 512 scanned, 70 "
		"migrated: success, page");
	view_close(&f);
}

/* More steps than there is room for; numbers of a foreign file. */
static void long_story(void **state)
{
	struct stalls_event e = event();
	struct fixture f;
	const struct cell *c;

	(void)state;
	e.n_steps = 1000;
	for (int i = 0; i < STALLS_ROOM; i++)
		e.steps.kind[i] = i < STALLS_ROOM - 1 ? STALLS_DIRECT : STALLS_MORE;
	e.steps.kind[3] = 99;
	open_by(&f, &(struct view_options){.each = true});
	view_feed(&f, &e);
	c = cell_at(stalls_view.each(f.view, &f.report), 0, "story");
	assert_non_null(strstr(c->text, "; 985 more steps 0 ns"));
	assert_non_null(strstr(c->text, "; ? 2.00 ms; "));
	view_close(&f);
}

#define NORETRY 0x10000
#define FINAL 0x4000

static void outcomes(void **state)
{
	struct stalls_state s = {.key = {.kind = STALLS_ALLOCATION}, .last = STALLS_DIRECT};

	(void)state;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_GOT); /* small: cannot fail */
	s.key.gfp = NORETRY;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_FAILED);
	s.returned = 1;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_GOT);
	s = (struct stalls_state){.last = STALLS_COMPACT, .retry_ns = 1, .key.order = 9};
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_FAILED); /* told to give up */
	s.retry = 1; /* told to go on, and no step came: the free lists had it */
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_GOT);
	s.retry_ns = 0;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_FAILED);
	s.page = 1;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_GOT);
	s.killed = 1;
	assert_int_equal(stalls_outcome(&s, NORETRY, FINAL), STALLS_OOM);
}

static void step_ends(void **state)
{
	struct stalls_state s = {.step = {.kind = STALLS_DIRECT,
					 .start_ns = 100,
					 .end_ns = 300,
					 .wait_ns = 1000, /* jiffies are coarser than the step */
					 .scanned = 64,
					 .done = 32}};

	(void)state;
	stalls_step_end(&s);
	assert_int_equal(s.reclaim_ns, 200);
	assert_int_equal(s.throttled_ns, 200);
	assert_int_equal(s.scanned, 64);
	assert_int_equal(s.reclaimed, 32);
	assert_int_equal(s.end_ns, 300);
	s.step = (struct stalls_step){
		.kind = STALLS_COMPACT, .start_ns = 400, .end_ns = 450, .done = 7, .result = 8};
	s.page = 1;
	stalls_step_end(&s);
	assert_int_equal(s.compact_ns, 50);
	assert_int_equal(s.migrated, 7);
	assert_int_equal(s.reclaim_ns, 200);
	assert_int_equal(s.step.result, STALLS_COMPACT_SUCCESS | STALLS_COMPACT_PAGE);
	assert_int_equal(s.last, STALLS_COMPACT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_and_outcomes),
		cmocka_unit_test(by_trigger),
		cmocka_unit_test(steps),
		cmocka_unit_test(story),
		cmocka_unit_test(long_story),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(step_ends),
	};

	return cmocka_run_group_tests_name("stalls_view", tests, NULL, NULL);
}
