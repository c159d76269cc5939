/* The reclaim view: records in, tables out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/reclaim/gfp.h"
#include "probes/reclaim/reclaim_view.h"

struct fixture {
	struct stream stream;
	struct report report;
	void *view;
};

#define REC(type_, kind_, ...)                                                                    \
	(type_)                                                                                   \
	{                                                                                         \
		.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = 5000000000}, __VA_ARGS__ \
	}

static void open_by(struct fixture *f, const struct view_options *o)
{
	struct err err = {};

	memset(f, 0, sizeof(*f));
	assert_int_equal(stream_init(&f->stream), 0);
	f->view = calloc(1, reclaim_view.size);
	assert_non_null(f->view);
	assert_int_equal(reclaim_view.init(f->view, o, &err), 0);
	report_init(&f->report, "reclaim", &f->stream);
}

static void feed(struct fixture *f, const void *rec)
{
	assert_int_equal(stream_feed(&f->stream, rec), 0);
	assert_int_equal(reclaim_view.feed(f->view, rec), 0);
}

static void done(struct fixture *f)
{
	report_destroy(&f->report);
	reclaim_view.destroy(f->view);
	free(f->view);
	stream_destroy(&f->stream);
}

static struct table *table(struct fixture *f, const char *name)
{
	vec_each (t, &f->report.tables)
		if (!strcmp((*t)->name, name))
			return *t;
	fail_msg("no table %s", name);
	return NULL;
}

static const struct cell *at(const struct table *t, size_t row, const char *column)
{
	int c = table_column(t, column);

	assert_true(c >= 0);
	assert_true(row < t->n_rows);
	return table_cell(t, row, (size_t)c);
}

static u64 number(const struct table *t, size_t row, const char *column)
{
	const struct cell *c = at(t, row, column);

	assert_int_equal(c->type, CELL_U64);
	return c->u;
}

static void assert_text(const struct table *t, size_t row, const char *column, const char *want)
{
	const struct cell *c = at(t, row, column);

	assert_int_equal(c->type, CELL_TEXT);
	assert_string_equal(c->text, want);
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
	feed(&f, &direct);
	feed(&f, &memcg);
	feed(&f, &more);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "stalls");
	assert_int_equal(t->n_rows, 2);
	assert_text(t, 0, "kind", "direct");
	assert_int_equal(number(t, 0, "pid"), 7);
	assert_int_equal(number(t, 0, "count"), 4);
	assert_int_equal(number(t, 0, "total_ns"), 2700000);
	assert_int_equal(number(t, 0, "max_ns"), 900000);
	assert_int_equal(number(t, 0, "scanned_pages"), 256);
	assert_int_equal(number(t, 0, "reclaimed_pages"), 128);
	assert_int_equal(at(t, 0, "hist")->hist->slots[20], 4);
	assert_true(number(t, 0, "p99_ns") <= 900000);
	assert_text(t, 1, "kind", "memcg");
	assert_int_equal(number(t, 1, "count"), 5);
	done(&f);
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
	feed(&f, &a);
	feed(&f, &b);
	feed(&f, &c);
	feed(&f, &name); /* names may come late */
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "stalls");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(table_column(t, "pid"), -ENOENT);
	assert_int_equal(number(t, 0, "order"), 0);
	assert_int_equal(number(t, 0, "count"), 5);
	assert_text(t, 0, "gfp", "GFP_KERNEL");
	assert_int_equal(number(t, 1, "order"), 9);
	done(&f);
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
	feed(&f, &in);
	feed(&f, &open);
	feed(&f, &kswapd);
	feed(&f, &whole);
	feed(&f, &a);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "stalls");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(number(t, 0, "throttled_ns"), 8000000);
	t = table(&f, "throttle");
	assert_int_equal(t->n_rows, 4);
	assert_text(t, 0, "reason", "no progress");
	assert_text(t, 3, "reason", "kswapd");
	assert_int_equal(at(t, 3, "pid")->type, CELL_EMPTY);
	assert_int_equal(at(t, 3, "total_ns")->type, CELL_EMPTY);
	assert_int_equal(number(t, 3, "count"), 2);
	done(&f);
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
	feed(&f, &inactive);
	feed(&f, &active);
	feed(&f, &nothing);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "lru");
	assert_int_equal(t->n_rows, 2);
	assert_text(t, 0, "kind", "kswapd");
	assert_text(t, 0, "lru", "inactive_file");
	assert_int_equal(number(t, 0, "node"), 1);
	assert_int_equal(number(t, 0, "scanned_pages"), 64);
	assert_true(at(t, 0, "efficiency_ratio")->f == 0.25);
	assert_int_equal(at(t, 1, "node")->type, CELL_EMPTY);
	assert_int_equal(at(t, 1, "efficiency_ratio")->type, CELL_EMPTY);
	assert_int_equal(number(t, 1, "deactivated_pages"), 4);
	done(&f);
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
	feed(&f, &s);
	feed(&f, &r);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "kswapd");
	assert_int_equal(number(t, 0, "runs"), 3);
	assert_int_equal(number(t, 0, "awake_ns"), 250000000);
	assert_true(at(t, 0, "awake_ratio")->f == 0.25);
	assert_int_equal(at(t, 0, "balance_ns")->type, CELL_EMPTY);
	done(&f);
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
	feed(&f, &r);
	r.total_ns = 100;
	r.function = 0;
	feed(&f, &r);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "shrinkers");
	assert_text(t, 0, "shrinker", "0xffffffff81234560");
	assert_text(t, 0, "kind", "other");
	assert_int_equal(number(t, 0, "freed"), 10);
	assert_int_equal(at(t, 1, "shrinker")->type, CELL_EMPTY);
	done(&f);
}

/* The multi-generational LRU of 6.1 to 6.6: reclaimed is known, scanned is not. */
static void silent_lru(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct fixture f;

	(void)state;
	a.scanned = 0;
	open_by(&f, &(struct view_options){});
	feed(&f, &a);
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	assert_int_equal(at(table(&f, "stalls"), 0, "scanned_pages")->type, CELL_EMPTY);
	assert_int_equal(number(table(&f, "stalls"), 0, "reclaimed_pages"), 96);
	assert_int_equal(f.report.notes.n, 1);
	done(&f);
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
	feed(&f, &s);
	feed(&f, &e);
	e.ns = 999999; /* below --min, in a recording made without */
	feed(&f, &e);
	t = reclaim_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(number(t, 0, "time_ns"), 8000000);
	assert_int_equal(number(t, 0, "duration_ns"), 2000000);
	assert_int_equal(number(t, 0, "returned_pages"), 33);
	assert_text(t, 0, "comm", "a name of 16 by!");
	assert_text(t, 0, "gfp", "0xcc0");
	assert_int_equal(at(t, 0, "free_pages")->type, CELL_EMPTY);
	assert_int_equal(at(t, 0, "node")->type, CELL_EMPTY);
	assert_int_equal(reclaim_view.each(f.view, &f.report)->n_rows, 0);
	done(&f);
}

static void nothing(void **state)
{
	struct reclaim_agg a = stalls(7, RECLAIM_DIRECT, 0, 3, 600000);
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, &(struct view_options){});
	feed(&f, &a);
	reclaim_view.reset(f.view); /* the next interval */
	assert_int_equal(reclaim_view.report(f.view, &f.report), 0);
	t = table(&f, "stalls");
	assert_int_equal(t->n_rows, 0);
	assert_non_null(t->empty);
	assert_null(table(&f, "lru")->empty);
	assert_null(table(&f, "kswapd")->empty);
	assert_null(table(&f, "shrinkers")->empty);
	assert_null(table(&f, "throttle")->empty);
	done(&f);
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
		cmocka_unit_test(nothing),
		cmocka_unit_test(wrong_by),
	};

	return cmocka_run_group_tests_name("reclaim_view", tests, NULL, NULL);
}
