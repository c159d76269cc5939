/* A stream of frag records in, rows out. */
#include "base/clock.h"
#include "probes/frag/frag_view.h"
#include "view_fixture.h"

static void put(struct fixture *f, void *rec, u16 kind, size_t size)
{
	struct rec *r = rec;

	r->kind = kind;
	r->size = (u32)((size + 7) & ~7UL);
	view_feed(f, r);
}

#define PUT(f_, rec_, kind_) put((f_), &(rec_), (kind_), sizeof(rec_))

static void put_type_name(struct fixture *f, u64 value, const char *name)
{
	struct rec_enum e = {.set = "migratetype", .value = value};

	snprintf(e.name, sizeof(e.name), "%s", name);
	PUT(f, e, REC_ENUM);
}

static void put_head(struct fixture *f)
{
	struct rec_host host = {.page_bytes = 4096, .pageblock_order = 9, .nodes = 2};
	struct rec_session session = {.h.time_ns = NSEC_PER_SEC, .scope = "system-wide"};
	struct rec_method method = {
		.probe = "frag", .data = "fragmenting allocations", .method = "tracepoint"};
	struct rec_task task = {.tgid = 7, .comm = "busy"};

	PUT(f, host, REC_HOST);
	PUT(f, session, REC_SESSION);
	PUT(f, method, REC_METHOD);
	PUT(f, task, REC_TASK);
	put_type_name(f, 0, "Unmovable");
	put_type_name(f, 1, "Movable");
	put_type_name(f, 3, "HighAtomic");
}

static void open_view(struct fixture *f, const struct view_options *o)
{
	view_open(f, &frag_view, o, "frag");
	put_head(f);
}

/* The row of table "zones" for a node, zone and order. */
static size_t zone_row(const struct table *t, u64 node, const char *zone, u64 order)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (cell_at(t, i, "node")->u == node &&
			!strcmp(cell_at(t, i, "zone")->text, zone) &&
			cell_at(t, i, "order")->u == order)
			return i;
	fail_msg("no row for node %llu zone %s order %llu", node, zone, order);
	return 0;
}

static struct frag_zone normal(u32 node, u64 time_ns, u64 singles, u64 huge)
{
	struct frag_zone z = {
		.h.time_ns = time_ns,
		.node = node,
		.flags = FRAG_MARKS | FRAG_COMPACTION,
		.zone = "Normal",
		.orders = 11,
		.index = 2,
		.kernel_index = 2,
		.threshold = 500,
		.free_pages = singles + 512 * huge,
		.min_pages = 100,
		.low_pages = 200,
		.managed_pages = 100000,
		.start_pfn = 0x1000 + node * 0x100000,
		.spanned_pages = 100000,
		.free_blocks = {[0] = singles, [9] = huge},
	};

	return z;
}

static void put_zone(struct fixture *f, struct frag_zone z)
{
	PUT(f, z, REC_FRAG_ZONE);
}

static void test_zones(void **state)
{
	struct fixture f;
	const struct table *t;
	size_t row;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_zone(&f, normal(0, 1, 1000, 10));
	put_zone(&f, normal(0, 2, 9000, 0));
	put_zone(&f, normal(0, 3, 8000, 2));
	view_report(&f);
	t = view_table_of(&f, "zones");
	assert_int_equal(t->n_rows, 11);
	assert_int_equal(cell_at(t, 0, "order")->u, 10);
	row = zone_row(t, 0, "Normal", 9);
	assert_int_equal(cell_at(t, row, "block_bytes")->u, 2 << 20);
	assert_int_equal(cell_at(t, row, "free_blocks")->u, 2);
	assert_int_equal(cell_at(t, row, "free_pages")->u, 1024);
	assert_int_equal(cell_at(t, row, "change_pages")->s, -8 * 512);
	assert_int_equal(cell_at(t, row, "lowest_pages")->u, 0);
	assert_int_equal(cell_at(t, row, "unusable_permille")->s, 8000 * 1000 / 9024);
	assert_int_equal(cell_at(t, row, "index_permille")->s, -1000);
	assert_string_equal(cell_at(t, row, "meets")->text, "immediate");
	assert_string_equal(cell_at(t, row, "trend")->text, "█▁▂");
	row = zone_row(t, 0, "Normal", 10);
	assert_int_equal(cell_at(t, row, "unusable_permille")->s, 1000);
	/* 1000 - (1000 + 9024 * 1000 / 1024) / 8002 */
	assert_int_equal(cell_at(t, row, "index_permille")->s, 999);
	assert_string_equal(cell_at(t, row, "meets")->text, "compaction");
	assert_int_equal(cell_at(t, row, "trend")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_allocate(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_zone(&f, normal(0, 1, 9000, 5));
	put_zone(&f, normal(1, 1, 9000, 0));
	view_report(&f);
	t = view_table_of(&f, "allocate");
	/* node 0: orders 0, 3, 9 and 10; node 1: also 1, from where on it is different */
	assert_int_equal(t->n_rows, 9);
	assert_int_equal(cell_at(t, 2, "order")->u, 9);
	assert_string_equal(cell_at(t, 2, "meets")->text, "immediate");
	assert_string_equal(cell_at(t, 3, "meets")->text, "compaction");
	assert_int_equal(cell_at(t, 5, "node")->u, 1);
	assert_int_equal(cell_at(t, 5, "order")->u, 1);
	assert_string_equal(cell_at(t, 5, "meets")->text, "compaction");
	assert_string_equal(cell_at(t, 5, "allocation")->text, "kernel");
	assert_string_equal(f.report.verdict, "Up to order 0 (4.00 KiB) an allocation is served at "
					      "once; order 1 meets compaction on "
					      "node 1.");
	view_close(&f);
}

/* A low zone serves what the first choice cannot; a movable zone serves movable pages only. */
static void test_zone_choice(void **state)
{
	struct frag_zone low = normal(0, 1, 0, 8), movable = normal(0, 1, 0, 8);
	struct fixture f;
	const struct table *t;

	(void)state;
	memcpy(low.zone, "DMA32", 6);
	low.index = 1;
	low.managed_pages = 9000;
	memcpy(movable.zone, "Movable", 8);
	movable.index = 3;
	open_view(&f, &(struct view_options){});
	put_zone(&f, low);
	put_zone(&f, normal(0, 1, 9000, 0));
	put_zone(&f, movable);
	view_report(&f);
	t = view_table_of(&f, "allocate");
	assert_string_equal(cell_at(t, 0, "zone")->text, "Normal");
	for (size_t i = 0; i < t->n_rows; i++) {
		bool kernel = !strcmp(cell_at(t, i, "allocation")->text, "kernel");

		if (cell_at(t, i, "order")->u != 9)
			continue;
		assert_string_equal(cell_at(t, i, "meets")->text, "immediate");
		assert_string_equal(cell_at(t, i, "zone")->text, kernel ? "DMA32" : "Movable");
	}
	/* the biggest zone comes first */
	assert_string_equal(cell_at(view_table_of(&f, "zones"), 22, "zone")->text, "DMA32");
	view_close(&f);
}

static void put_type(struct fixture *f, u32 type, u64 pageblocks, u64 huge)
{
	struct frag_pagetype p = {
		.h.time_ns = 1,
		.zone = "Normal",
		.migratetype = type,
		.orders = 11,
		.pageblocks = pageblocks,
		.free_blocks = {[9] = huge},
	};

	PUT(f, p, REC_FRAG_PAGETYPE);
}

static void test_pagetypes(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_zone(&f, normal(0, 10 * NSEC_PER_SEC, 9000, 3));
	put_type(&f, 0, 50, 0);
	put_type(&f, 1, 70, 9);
	put_type(&f, 2, 0, 0);
	put_type(&f, 3, 3, 3);
	put_type(&f, 0, 53, 0);
	view_report(&f);
	t = view_table_of(&f, "pagetypes");
	assert_int_equal(t->n_rows, 3); /* without the one that has nothing */
	assert_string_equal(cell_at(t, 0, "migratetype")->text, "Unmovable");
	assert_int_equal(cell_at(t, 0, "change_pageblocks")->s, 3);
	assert_int_equal(cell_at(t, 0, "largest_order")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 1, "free_pages")->u, 9 * 512);
	assert_int_equal(cell_at(t, 1, "largest_order")->u, 9);
	assert_int_equal(cell_at(t, 1, "mixed_pageblocks")->type, CELL_EMPTY);
	/* all three blocks of order 9 are kept for atomic allocations */
	t = view_table_of(&f, "zones");
	assert_string_equal(cell_at(t, zone_row(t, 0, "Normal", 9), "meets")->text, "compaction");
	assert_int_equal(f.report.notes.n, 1); /* the types are old */
	view_close(&f);
}

static struct frag_agg agg(u8 fallback_order, u8 flags, u64 count)
{
	return (struct frag_agg){
		.tgid = 7,
		.order = 0,
		.fallback_order = fallback_order,
		.migratetype = 0,
		.fallback_migratetype = 5,
		.flags = flags,
		.count = count,
		.comm = "busy",
	};
}

static void put_agg(struct fixture *f, struct frag_agg a)
{
	PUT(f, a, REC_FRAG_AGG);
}

static void put_aggs(struct fixture *f)
{
	put_agg(f, agg(8, FRAG_DETAIL, 20));
	put_agg(f, agg(9, FRAG_DETAIL | FRAG_CLAIMED, 5));
	put_agg(f, agg(8, FRAG_DETAIL, 1));
}

static void test_events(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_aggs(&f);
	view_report(&f);
	t = view_table_of(&f, "events");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_at(t, 0, "pid")->u, 7);
	assert_string_equal(cell_at(t, 0, "comm")->text, "busy");
	assert_string_equal(cell_at(t, 0, "migratetype")->text, "Unmovable");
	assert_string_equal(cell_at(t, 0, "fallback_migratetype")->text, "5"); /* no name for it */
	assert_int_equal(cell_at(t, 0, "count")->u, 21);
	assert_int_equal(cell_at(t, 0, "severe")->u, 21);
	assert_int_equal(cell_at(t, 0, "claimed")->u, 0);
	assert_int_equal(cell_at(t, 1, "fallback_order")->u, 9);
	assert_int_equal(cell_at(t, 1, "severe")->u, 0);
	assert_int_equal(cell_at(t, 1, "claimed")->u, 5);
	assert_int_equal(table_column(t, "stack"), -ENOENT);
	view_close(&f);
}

static void test_events_by_severity(void **state)
{
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.by = "severity", .stacks = true});
	put_aggs(&f);
	put_agg(&f, agg(3, 0, 2)); /* by the raw tracepoint */
	view_report(&f);
	t = view_table_of(&f, "events");
	assert_int_equal(t->n_rows, 2);
	assert_string_equal(cell_at(t, 0, "severity")->text, "severe");
	assert_int_equal(cell_at(t, 0, "count")->u, 23);
	assert_string_equal(cell_at(t, 1, "severity")->text, "mild");
	assert_int_equal(table_column(t, "pid"), -ENOENT);
	assert_true(table_column(t, "stack") >= 0);
	view_close(&f);
}

static void test_each(void **state)
{
	struct frag_event e = {
		.h.time_ns = 3 * NSEC_PER_SEC,
		.tgid = 7,
		.pfn = 0x101000,
		.fallback_order = 4,
		.flags = FRAG_DETAIL | FRAG_CLAIMED,
		.comm = "a name of 16 ...", /* not terminated */
	};
	struct fixture f;
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){.each = true});
	put_zone(&f, normal(0, 1, 1, 1));
	put_zone(&f, normal(1, 1, 1, 1));
	PUT(&f, e, REC_FRAG_EVENT);
	e.flags = 0;
	PUT(&f, e, REC_FRAG_EVENT);
	report_init(&f.report, "frag", &f.stream);
	t = frag_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_at(t, 0, "time_ns")->u, 2 * NSEC_PER_SEC);
	assert_string_equal(cell_at(t, 0, "comm")->text, "a name of 16 ...");
	assert_string_equal(cell_at(t, 0, "severity")->text, "severe");
	assert_int_equal(cell_at(t, 0, "node")->u, 1);
	assert_true(cell_at(t, 0, "claimed")->b);
	assert_int_equal(cell_at(t, 1, "pfn")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 1, "claimed")->type, CELL_EMPTY);
	view_close(&f);
}

static void test_reset(void **state)
{
	struct fixture f;
	const struct table *t;
	size_t row;

	(void)state;
	open_view(&f, &(struct view_options){});
	put_zone(&f, normal(0, 1, 1000, 10));
	put_zone(&f, normal(0, 2, 1000, 4));
	put_aggs(&f);
	frag_view.reset(f.view);
	put_zone(&f, normal(0, 3, 1000, 6));
	view_report(&f);
	t = view_table_of(&f, "zones");
	row = zone_row(t, 0, "Normal", 9);
	assert_int_equal(cell_at(t, row, "change_pages")->s, 2 * 512);
	assert_int_equal(cell_at(t, row, "lowest_pages")->u, 4 * 512);
	assert_int_equal(view_table_of(&f, "events")->n_rows, 0);
	view_close(&f);
}

/* A long recording: the picture stays as wide, and ends with the last samples. */
static void test_trend_is_bounded(void **state)
{
	struct fixture f;
	const struct table *t;
	const char *trend;

	(void)state;
	open_view(&f, &(struct view_options){});
	for (u64 i = 0; i < 10000; i++)
		put_zone(&f, normal(0, i + 1, 1000, i / 10));
	view_report(&f);
	t = view_table_of(&f, "zones");
	trend = cell_at(t, zone_row(t, 0, "Normal", 9), "trend")->text;
	assert_in_range(text_width(trend), 8, 16);
	assert_memory_equal(trend, "▁", 3);
	assert_memory_equal(trend + strlen(trend) - 3, "█", 3);
	view_close(&f);
}

static void test_nothing(void **state)
{
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	view_report(&f);
	assert_int_equal(view_table_of(&f, "zones")->n_rows, 0);
	assert_non_null(view_table_of(&f, "zones")->empty);
	assert_int_equal(view_table_of(&f, "allocate")->n_rows, 0);
	assert_null(f.report.verdict);
	view_close(&f);
}

static void test_hostile(void **state)
{
	struct frag_zone z;
	struct frag_pagetype p;
	struct frag_agg a;
	struct frag_event e;
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	memset(&z, 0xff, sizeof(z));
	memset(&p, 0xff, sizeof(p));
	memset(&a, 0xff, sizeof(a));
	memset(&e, 0xff, sizeof(e));
	PUT(&f, z, REC_FRAG_ZONE);
	z.index = 0;
	PUT(&f, z, REC_FRAG_ZONE);
	PUT(&f, p, REC_FRAG_PAGETYPE);
	p.migratetype = 1;
	PUT(&f, p, REC_FRAG_PAGETYPE);
	PUT(&f, a, REC_FRAG_AGG);
	PUT(&f, e, REC_FRAG_EVENT);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "zones")->n_rows, FRAG_ORDERS);
	frag_view.each(f.view, &f.report);
	frag_view.reset(f.view);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_allocate),
		cmocka_unit_test(test_zone_choice),
		cmocka_unit_test(test_pagetypes),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_by_severity),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_trend_is_bounded),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("frag_view", tests, NULL, NULL);
}
