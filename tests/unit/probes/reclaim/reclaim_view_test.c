/* The reclaim view: records in, tables out. */
#include <errno.h>

#include "capture/gfp_names.h"
#include "probes/reclaim/reclaim_view.h"
#include "view_fixture.h"

static void open_by(struct fixture *f, const struct view_options *o)
{
	view_open(f, &reclaim_view, o, "reclaim");
}

static struct reclaim_agg stalls(u32 tgid, u8 kind, u8 order, u64 count, u64 ns)
{
	struct reclaim_agg r = REC(struct reclaim_agg, REC_RECLAIM_AGG, .tgid = tgid, .kind = kind,
		.order = order, .gfp = 0xcc0, .node = RECLAIM_NODE_UNKNOWN, .count = count,
		.total_ns = count * ns, .max_ns = ns, .scanned = 64 * count,
		.reclaimed = 32 * count, .shrinker_ns = count, .comm = "worker");

	r.hist[20] = (u32)count;
	return r;
}

static void kinds_are_apart(void **state)
{
	struct reclaim_agg direct = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct reclaim_agg more = stalls(7, RECLAIM_DIRECT, 2, 1, 900000);
	struct reclaim_agg memcg = stalls(7, RECLAIM_MEMCG, 0, 5, 700000);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &direct);
	view_feed(&f, &memcg);
	view_feed(&f, &more);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "kind", "direct");
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_int_equal(cell_number(t, 0, "total_ns"), 2700000);
	assert_int_equal(cell_number(t, 0, "max_ns"), 900000);
	assert_int_equal(cell_number(t, 0, "scanned_pages"), 256);
	assert_int_equal(cell_number(t, 0, "reclaimed_pages"), 128);
	assert_int_equal(cell_at(t, 0, "hist")->hist->slots[20], 4);
	assert_true(cell_number(t, 0, "p99_ns") <= 900000);
	assert_cell_text(t, 1, "kind", "memcg");
	assert_int_equal(cell_number(t, 1, "count"), 5);
	view_close(&f);
}

static void by_order_and_gfp(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct reclaim_agg b = stalls(8, RECLAIM_MEMCG, 0, 2, 600000);
	struct reclaim_agg c = stalls(7, RECLAIM_DIRECT, 9, 1, 600000);
	struct rec_enum name = REC(
		struct rec_enum, REC_ENUM, .set = GFP_SET, .value = 0xcc0, .name = "GFP_KERNEL");
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){.by = "order,gfp"});
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &c);
	view_feed(&f, &name); /* names may come late */
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(table_column(t, "pid"), -ENOENT);
	assert_int_equal(cell_number(t, 0, "order"), 0);
	assert_int_equal(cell_number(t, 0, "count"), 5);
	assert_cell_text(t, 0, "gfp", "GFP_KERNEL");
	assert_int_equal(cell_number(t, 1, "order"), 9);
	view_close(&f);
}

static void sleeps_belong_to_their_stalls(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct reclaim_throttle in = REC(struct reclaim_throttle, REC_RECLAIM_THROTTLE, .tgid = 7,
		.kind = RECLAIM_DIRECT, .gfp = 0xcc0, .reason = RECLAIM_THROTTLE_NOPROGRESS,
		.count = 2, .total_ns = 8000000, .max_ns = 4000000, .comm = "worker");
	struct reclaim_throttle open = in, kswapd = in, whole = in;
	struct fixture f;
	struct table *t;

	(void)state;
	open.tgid = 9; /* its stall has not ended */
	kswapd.kind = RECLAIM_KSWAPD;
	whole.tgid = 0;
	whole.reason = RECLAIM_THROTTLE_KSWAPD;
	whole.total_ns = 0;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &in);
	view_feed(&f, &open);
	view_feed(&f, &kswapd);
	view_feed(&f, &whole);
	view_feed(&f, &a);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "throttled_ns"), 8000000);
	t = view_table_of(&f, "throttle");
	assert_int_equal(t->n_rows, 4);
	assert_cell_text(t, 0, "reason", "no progress");
	assert_cell_text(t, 3, "reason", "kswapd");
	assert_int_equal(cell_at(t, 3, "pid")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 3, "total_ns")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 3, "count"), 2);
	view_close(&f);
}

static void lru_efficiency(void **state)
{
	struct reclaim_lru_agg inactive = REC(struct reclaim_lru_agg, REC_RECLAIM_LRU, .node = 1,
		.kind = RECLAIM_KSWAPD, .lru = RECLAIM_INACTIVE_FILE, .events = 2, .examined = 128,
		.scanned = 64, .taken = 64, .reclaimed = 32);
	struct reclaim_lru_agg active = REC(struct reclaim_lru_agg, REC_RECLAIM_LRU, .node = -1,
		.kind = RECLAIM_DIRECT, .lru = RECLAIM_ACTIVE_ANON, .examined = 10, .scanned = 10,
		.taken = 10, .deactivated = 4);
	struct reclaim_lru_agg nothing = REC(struct reclaim_lru_agg, REC_RECLAIM_LRU, .lru = 200);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &inactive);
	view_feed(&f, &active);
	view_feed(&f, &nothing);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "lru");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "kind", "kswapd");
	assert_cell_text(t, 0, "lru", "inactive_file");
	assert_int_equal(cell_number(t, 0, "node"), 1);
	assert_int_equal(cell_number(t, 0, "scanned_pages"), 64);
	assert_true(cell_at(t, 0, "efficiency_ratio")->f == 0.25);
	assert_int_equal(cell_at(t, 1, "node")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 1, "efficiency_ratio")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 1, "deactivated_pages"), 4);
	view_close(&f);
}

static void kswapd_share(void **state)
{
	struct reclaim_kswapd r =
		REC(struct reclaim_kswapd, REC_RECLAIM_KSWAPD, .node = 0, .runs = 3, .sleeps = 2,
			.awake_ns = 250000000, .max_ns = 200000000, .cpu_ns = 5000000);
	struct rec_session s = REC(struct rec_session, REC_SESSION, .wall_ns = 1);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	s.h.time_ns -= 1000000000;
	view_feed(&f, &s);
	view_feed(&f, &r);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "kswapd");
	assert_int_equal(cell_number(t, 0, "runs"), 3);
	assert_int_equal(cell_number(t, 0, "awake_ns"), 250000000);
	assert_true(cell_at(t, 0, "awake_ratio")->f == 0.25);
	assert_int_equal(cell_at(t, 0, "balance_ns")->type, CELL_EMPTY);
	view_close(&f);
}

static void shrinkers_by_name(void **state)
{
	struct reclaim_shrinker r = REC(struct reclaim_shrinker, REC_RECLAIM_SHRINKER,
		.function = 0xffffffff81234560, .frame = 5, .kind = RECLAIM_OTHER, .count = 2,
		.total_ns = 300, .max_ns = 200, .freed = 10, .scanned = 20);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &r);
	r.total_ns = 100;
	r.function = 0;
	view_feed(&f, &r);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "shrinkers");
	assert_cell_text(t, 0, "shrinker", "0xffffffff81234560");
	assert_cell_text(t, 0, "kind", "other");
	assert_int_equal(cell_number(t, 0, "freed"), 10);
	assert_int_equal(cell_at(t, 1, "shrinker")->type, CELL_EMPTY);
	view_close(&f);
}

/* The multi-generational LRU of 6.1 to 6.6: reclaimed is known, scanned is not. */
static void silent_lru(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct fixture f;

	(void)state;
	a.scanned = 0;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &a);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	assert_int_equal(
		cell_at(view_table_of(&f, "stalls"), 0, "scanned_pages")->type, CELL_EMPTY);
	assert_int_equal(cell_number(view_table_of(&f, "stalls"), 0, "reclaimed_pages"), 96);
	assert_int_equal(f.report.notes.n, 1);
	view_close(&f);
}

static void each_stall(void **state)
{
	struct reclaim_stall e = REC(struct reclaim_stall, REC_RECLAIM_STALL, .tgid = 7, .tid = 8,
		.ns = 2000000, .scanned = 64, .reclaimed = 32, .returned = 33, .gfp = 0xcc0,
		.kind = RECLAIM_DIRECT, .order = 3, .node = RECLAIM_NODE_UNKNOWN,
		.comm = "a name of 16 by!");
	struct rec_session s = REC(struct rec_session, REC_SESSION, .wall_ns = 1);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){.each = true, .min_ns = 1000000});
	s.h.time_ns -= 10000000;
	view_feed(&f, &s);
	view_feed(&f, &e);
	e.ns = 999999; /* below --min, in a recording made without */
	view_feed(&f, &e);
	t = reclaim_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "time_ns"), 8000000);
	assert_int_equal(cell_number(t, 0, "duration_ns"), 2000000);
	assert_int_equal(cell_number(t, 0, "returned_pages"), 33);
	assert_cell_text(t, 0, "comm", "a name of 16 by!");
	assert_cell_text(t, 0, "gfp", "0xcc0");
	assert_int_equal(cell_at(t, 0, "free_pages")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "node")->type, CELL_EMPTY);
	assert_int_equal(reclaim_view.each(f.view, &f.report)->n_rows, 0);
	view_close(&f);
}

static void like_drsnoop(void **state)
{
	struct reclaim_stall e = REC(struct reclaim_stall, REC_RECLAIM_STALL, .tgid = 17678,
		.ns = 190000, .returned = 143, .kind = RECLAIM_DIRECT, .comm = "summond\x1b[2J");
	struct reclaim_stall memcg = e;
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	memcg.kind = RECLAIM_MEMCG;
	open_by(&f, &(struct view_options){.each = true, .look = &reclaim_view.looks[0]});
	assert_string_equal(reclaim_view.looks[0].name, "drsnoop");
	view_feed(&f, &e);
	view_feed(&f, &memcg);
	reclaim_view.looks[0].lines(f.view, &f.report, &out);
	assert_string_equal(str_get(&out), "summond\\x1b[2J 17678      0.19   143\n");
	reclaim_view.looks[0].lines(f.view, &f.report, &out);
	assert_int_equal(strlen(str_get(&out)), strlen("summond\\x1b[2J 17678      0.19   143\n"));
	view_close(&f);
}

static void like_vmscan(void **state)
{
	struct reclaim_agg direct = stalls(7, RECLAIM_DIRECT, 0, 3, 4000000);
	struct reclaim_agg memcg = stalls(8, RECLAIM_MEMCG, 0, 2, 1000000);
	struct reclaim_kswapd wakes =
		REC(struct reclaim_kswapd, REC_RECLAIM_KSWAPD, .node = 0, .runs = 5);
	struct reclaim_written written =
		REC(struct reclaim_written, REC_RECLAIM_WRITTEN, .pages = 9);
	const struct look *l = &reclaim_view.looks[1];
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	assert_string_equal(l->name, "vmscan");
	open_by(&f, &(struct view_options){.look = l});
	view_feed(&f, &direct);
	view_feed(&f, &memcg);
	view_feed(&f, &wakes);
	view_feed(&f, &written);
	l->lines(f.view, &f.report, &out);
	assert_non_null(
		strstr(str_get(&out), "           0           12            2      5         9\n"));
	reclaim_view.reset(f.view);
	str_clear(&out);
	l->lines(f.view, &f.report, &out);
	assert_non_null(
		strstr(str_get(&out), "           0            0            0      0         0\n"));
	view_close(&f);
}

static void nothing(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	view_feed(&f, &a);
	reclaim_view.reset(f.view); /* the next interval */
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = view_table_of(&f, "stalls");
	assert_int_equal(t->n_rows, 0);
	assert_non_null(t->empty);
	assert_null(view_table_of(&f, "lru")->empty);
	assert_null(view_table_of(&f, "kswapd")->empty);
	assert_null(view_table_of(&f, "shrinkers")->empty);
	assert_null(view_table_of(&f, "throttle")->empty);
	view_close(&f);
}

static void wrong_by(void **state)
{
	struct err err = {};
	void *view = calloc(1, reclaim_view.size);

	(void)state;
	assert_int_equal(
		reclaim_view.init(view, &(struct view_options){.by = "zone"}, &err), -EINVAL);
	assert_non_null(strstr(err.hint, "gfp"));
	free(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_apart),
		cmocka_unit_test(by_order_and_gfp),
		cmocka_unit_test(sleeps_belong_to_their_stalls),
		cmocka_unit_test(lru_efficiency),
		cmocka_unit_test(kswapd_share),
		cmocka_unit_test(shrinkers_by_name),
		cmocka_unit_test(silent_lru),
		cmocka_unit_test(each_stall),
		cmocka_unit_test(like_drsnoop),
		cmocka_unit_test(like_vmscan),
		cmocka_unit_test(nothing),
		cmocka_unit_test(wrong_by),
	};

	return cmocka_run_group_tests_name("reclaim_view", tests, NULL, NULL);
}
