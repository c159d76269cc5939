/* A stream of swap records in, rows out. */
#include "base/clock.h"
#include "base/util.h"
#include "probes/swap/swap.h"
#include "probes/swap/swap_view.h"
#include "view_fixture.h"

static void open_view(struct fixture *f, const struct view_options *o)
{
	struct rec_session session = REC(struct rec_session, REC_SESSION, .command = "swap");
	struct rec_task task = REC(struct rec_task, REC_TASK, .tgid = 7, .comm = "victim");

	view_open(f, &swap_view, o, "swap");
	session.h.time_ns = NSEC_PER_SEC;
	view_feed(f, &session);
	view_feed(f, &task);
}

static void feed_agg(struct fixture *f, u8 type, u8 who, u32 tid, u64 count, u64 pages, u64 waits)
{
	struct swap_agg r = REC(struct swap_agg, REC_SWAP_AGG, .tgid = 7, .tid = tid, .type = type,
		.who = who, .count = count, .pages = pages, .waits = waits,
		.total_ns = waits * 1000, .max_ns = 1500, .comm = "victim");

	r.hist[10] = (u32)waits;
	view_feed(f, &r);
}

static void feed_counter(struct fixture *f, const char *name, u16 flags, s32 node, u64 value)
{
	struct swap_counter r =
		REC(struct swap_counter, REC_SWAP_COUNTER, .value = value, .node = node);

	r.h.flags = flags;
	snprintf(r.name, sizeof(r.name), "%s", name);
	view_feed(f, &r);
}

static void feed_owner(struct fixture *f, u32 tgid, u64 first, u64 bytes)
{
	view_feed(f, &REC(struct swap_owner, REC_SWAP_OWNER, .tgid = tgid, .first_bytes = first,
			     .swap_bytes = bytes, .comm = "owner"));
}

static void test_sums(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 8, 2, 2, 0);
	feed_agg(&f, SWAP_OUT, SWAP_BY_TASK, 7, 5, 5, 0);
	feed_agg(&f, SWAP_OUT, SWAP_BY_KSWAPD, 7, 6, 512, 0);
	feed_agg(&f, 200, 200, 7, 1, 1, 1); /* of another version */
	view_report(&f);
	t = view_table_of(&f, "swap_ins");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_cell_text(t, 0, "comm", "victim");
	assert_int_equal(cell_number(t, 0, "count"), 12);
	assert_int_equal(cell_number(t, 0, "pages"), 82);
	assert_int_equal(cell_number(t, 0, "waits"), 4);
	assert_int_equal(cell_number(t, 0, "total_ns"), 4000);
	t = view_table_of(&f, "swap_outs");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "who", "task");
	assert_int_equal(cell_number(t, 0, "pages"), 5);
	assert_cell_text(t, 1, "who", "kswapd");
	assert_int_equal(cell_number(t, 1, "pages"), 512);
	view_close(&f);
}

/* Pages from zswap have their own column, empty where they were not looked for. */
static void test_zswap(void **state)
{
	struct rec_method method = REC(struct rec_method, REC_METHOD, .probe = "swap",
		.data = SWAP_DATA_ZSWAP, .method = "raw tracepoint count_memcg_events");
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	view_report(&f);
	t = view_table_of(&f, "swap_ins");
	assert_int_equal(cell_at(t, 0, "zswap_pages")->type, CELL_EMPTY);
	view_close(&f);

	open_view(&f, &(struct view_options){});
	view_feed(&f, &method);
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "swap_ins"), 0, "zswap_pages"), 0);
	view_close(&f);

	open_view(&f, &(struct view_options){});
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	feed_agg(&f, SWAP_ZSWAP, SWAP_BY_TASK, 7, 20, 20, 6);
	view_report(&f);
	t = view_table_of(&f, "swap_ins");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "pages"), 80);
	assert_int_equal(cell_number(t, 0, "count"), 10);
	assert_int_equal(cell_number(t, 0, "zswap_pages"), 20);
	assert_int_equal(cell_number(t, 0, "waits"), 10);
	view_close(&f);
}

/* All tables are there when nothing was fed; what is not known is empty. */
static void test_nothing(void **state)
{
	static const char *const names[] = {
		"swap_ins", "swap_outs", "devices", "owners", "compressed", "counters"};
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_report(&f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(view_table_of(&f, names[i])->n_rows, 0);
	assert_int_equal(f.report.notes.n, 0);
	view_close(&f);

	open_view(&f, &(struct view_options){});
	view_feed(&f, &REC(struct rec_method, REC_METHOD, .probe = "swap", .data = SWAP_DATA_IO,
			      .missing = "BTF"));
	view_report(&f);
	assert_non_null(strstr(view_table_of(&f, "swap_ins")->empty, "Cannot be counted here"));
	view_close(&f);

	open_view(&f, &(struct view_options){});
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 1, 1, 0); /* not in a fault */
	view_report(&f);
	assert_int_equal(cell_at(view_table_of(&f, "swap_ins"), 0, "total_ns")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_machine(void **state)
{
	struct swap_device disk = REC(struct swap_device, REC_SWAP_DEVICE, .size_bytes = 4000,
		.used_bytes = 1000, .priority = -2, .name = "/dev/vda2");
	struct swap_device zram = REC(struct swap_device, REC_SWAP_DEVICE, .size_bytes = 4000,
		.used_bytes = 3000, .priority = 100, .is_zram = 1, .zram_data_bytes = 3000,
		.zram_memory_bytes = 1000, .name = "/dev/zram0");
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_feed(&f, &disk);
	view_feed(&f, &zram);
	feed_owner(&f, 7, 500, 1500);
	feed_owner(&f, 8, 100, 0);
	feed_counter(&f, "pswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 1000);
	feed_counter(&f, "zswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 10);
	feed_counter(&f, "workingset_refault_anon", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 0);
	feed_counter(&f, "workingset_refault_anon", SWAP_COUNTER_TOTAL, 1, 5);
	feed_counter(&f, "Zswap", 0, SWAP_NODE_ALL, 1000);
	feed_counter(&f, "Zswapped", 0, SWAP_NODE_ALL, 2500);
	feed_counter(&f, "pswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 1100);
	feed_counter(&f, "zswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 310);
	feed_counter(&f, "workingset_refault_anon", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 200);
	feed_counter(&f, "workingset_refault_anon", SWAP_COUNTER_TOTAL, 1, 205);
	view_report(&f);
	t = view_table_of(&f, "devices");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "type", "device");
	assert_cell_text(t, 1, "type", "zram");
	assert_int_equal(cell_at(t, 0, "priority")->s, -2);
	t = view_table_of(&f, "owners");
	assert_int_equal(t->n_rows, 1); /* the other has none any more */
	assert_int_equal(cell_number(t, 0, "swap_bytes"), 1500);
	assert_int_equal(cell_at(t, 0, "growth_bytes")->s, 1000);
	assert_true(cell_at(t, 0, "share_ratio")->f == 0.375);
	t = view_table_of(&f, "compressed");
	assert_cell_text(t, 0, "store", "zswap");
	assert_true(cell_at(t, 0, "ratio")->f == 2.5);
	assert_int_equal(cell_number(t, 0, "in_pages"), 300);
	assert_true(cell_at(t, 0, "in_ratio")->f == 0.75);
	assert_int_equal(cell_at(t, 0, "out_pages")->type, CELL_EMPTY); /* never sent */
	assert_cell_text(t, 1, "store", "/dev/zram0");
	assert_true(cell_at(t, 1, "ratio")->f == 3.0);
	t = view_table_of(&f, "counters");
	assert_int_equal(t->n_rows, 4);
	assert_cell_text(t, 0, "counter", "pswpin");
	assert_int_equal(cell_number(t, 0, "count"), 100);
	assert_int_equal(cell_at(t, 0, "node")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 3, "node"), 1);
	assert_int_equal(f.report.notes.n, 1);
	assert_non_null(strstr(f.report.notes.v[0], "50 % of the pages"));
	view_close(&f);
}

/* Over -i, counters begin anew, owners stay. */
static void test_reset(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	feed_counter(&f, "pswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 1000);
	feed_counter(&f, "pswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 1100);
	feed_owner(&f, 7, 0, 1500);
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	swap_view.reset(f.view);
	feed_counter(&f, "pswpin", SWAP_COUNTER_TOTAL, SWAP_NODE_ALL, 1101);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "swap_ins")->n_rows, 0);
	assert_int_equal(view_table_of(&f, "owners")->n_rows, 1);
	assert_int_equal(cell_at(view_table_of(&f, "owners"), 0, "share_ratio")->type, CELL_EMPTY);
	assert_int_equal(cell_number(view_table_of(&f, "counters"), 0, "count"), 1);
	view_close(&f);
}

static void feed_event(struct fixture *f, u8 type, u64 ns)
{
	view_feed(f, &REC(struct swap_event, REC_SWAP_EVENT, .tgid = 7, .tid = 9, .type = type,
			     .pages = 8, .reads = 3, .ns = ns, .comm = "victim"));
}

static void test_each(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.each = true});
	feed_event(&f, SWAP_IN, 0);
	feed_event(&f, SWAP_WAIT, 2000);
	feed_event(&f, 99, 0);
	t = swap_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 3);
	assert_cell_text(t, 0, "type", "in");
	assert_int_equal(cell_at(t, 0, "duration_ns")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "type", "wait");
	assert_int_equal(cell_number(t, 1, "duration_ns"), 2000);
	assert_int_equal(cell_number(t, 1, "reads"), 3);
	assert_cell_text(t, 2, "type", "unknown");
	view_close(&f);

	/* --min over a recording that has everything */
	open_view(&f, &(struct view_options){.each = true, .min_ns = 1500});
	feed_event(&f, SWAP_IN, 0);
	feed_event(&f, SWAP_WAIT, 1000);
	feed_event(&f, SWAP_WAIT, 2000);
	assert_int_equal(swap_view.each(f.view, &f.report)->n_rows, 1);
	view_close(&f);
}

static void test_swapin(void **state)
{
	_cleanup_str_ struct str out = {};
	struct swap_agg hostile = REC(struct swap_agg, REC_SWAP_AGG, .tgid = 8, .type = SWAP_IN,
		.count = 3, .pages = 3, .comm = "a\x1b[2Jb");
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){.look = swap_view.looks});
	assert_string_equal(swap_view.looks[0].name, "swapin");
	assert_int_equal(swap_view.looks[0].every_ns, NSEC_PER_SEC);
	feed_agg(&f, SWAP_IN, SWAP_BY_TASK, 7, 10, 80, 4);
	feed_agg(&f, SWAP_OUT, SWAP_BY_TASK, 7, 5, 5, 0);
	view_feed(&f, &hostile);
	swap_view.looks[0].lines(f.view, &f.report, &out);
	assert_non_null(strchr(str_get(&out), '\n'));
	assert_string_equal(
		strchr(str_get(&out), '\n'), "\n@[a\\x1b[2Jb, 8]: 3\n@[victim, 7]: 10\n\n");
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_zswap),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_swapin),
	};

	return cmocka_run_group_tests_name("swap_view", tests, NULL, NULL);
}
