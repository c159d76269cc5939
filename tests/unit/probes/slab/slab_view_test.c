/* The slab view: records in, tables out. */
#include <errno.h>

#include "probes/slab/slab_view.h"
#include "view_fixture.h"

static struct slab_agg counted(u8 event, u32 site, const char *cache, u64 count)
{
	struct slab_agg r = REC(struct slab_agg, REC_SLAB_AGG, .event = event, .site = site,
		.count = count, .node = SLAB_NODE_ANY);

	memcpy(r.cache, cache, MIN(strlen(cache), sizeof(r.cache)));
	return r;
}

/* count kmallocs of `size` bytes each. */
static struct slab_agg kmallocs(u32 site, u32 size, u32 bytes, u64 count)
{
	struct slab_agg r = counted(SLAB_KMALLOC, site, "kmalloc-1k", count);

	r.bytes = bytes;
	r.requested = size * count;
	r.squares = (u64)size * size * count;
	return r;
}

static struct slab_agg objects(u32 site, const char *cache, u32 object, u32 bytes, u64 count)
{
	struct slab_agg r = counted(SLAB_CACHE_ALLOC, site, cache, count);

	r.object_bytes = object;
	r.bytes = bytes;
	return r;
}

static void open_by(struct fixture *f, const char *by)
{
	struct rec_host host = REC(struct rec_host, REC_HOST, .cpus = 2, .page_bytes = 4096);
	struct rec_method method = REC(struct rec_method, REC_METHOD, .probe = "slab",
		.data = SLAB_EVENTS, .method = "raw");

	view_open(f, &slab_view, &(struct view_options){.by = by}, "slab");
	view_feed(f, &host);
	view_feed(f, &method);
}

static void caches_are_summed_and_joined(void **state)
{
	struct slab_agg a = objects(1, "dentry", 184, 192, 10),
			b = objects(2, "dentry", 184, 192, 5);
	struct slab_agg gone = counted(SLAB_CACHE_FREE, 3, "dentry", 4);
	struct slab_usage u = REC(struct slab_usage, REC_SLAB_CACHE, .active_objects = 60,
		.objects = 84, .object_bytes = 192, .slabs = 4, .bytes = 16384,
		.first_bytes = 20480, .name = "dentry");
	struct slab_usage other = REC(struct slab_usage, REC_SLAB_CACHE, .bytes = 4096,
		.object_bytes = 64, .name = "quiet");
	struct fixture f;
	struct table *t;

	(void)state;
	open_by(&f, NULL);
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &gone);
	view_feed(&f, &u);
	view_feed(&f, &other);
	view_report(&f);
	t = view_table_of(&f, "caches");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "cache", "dentry");
	assert_int_equal(cell_number(t, 0, "allocations"), 15);
	assert_int_equal(cell_number(t, 0, "frees"), 4);
	assert_int_equal(cell_at(t, 0, "net_objects")->s, 11);
	assert_int_equal(cell_number(t, 0, "allocated_bytes"), 15 * 192);
	assert_int_equal(cell_number(t, 0, "waste_bytes"), 15 * 8);
	assert_int_equal(cell_number(t, 0, "active_objects"), 60);
	assert_int_equal(cell_number(t, 0, "unused_bytes"), 16384 - 60 * 192);
	assert_int_equal(cell_at(t, 0, "grown_bytes")->s, -4096);
	assert_int_equal(cell_at(t, 0, "live_objects")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "reclaimable")->type, CELL_EMPTY); /* not known */
	assert_cell_text(t, 1, "cache", "quiet");
	assert_int_equal(cell_number(t, 1, "allocations"), 0);
	t = view_table_of(&f, "events");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "event", "kmem_cache_alloc");
	assert_int_equal(cell_number(t, 0, "count"), 15);
	view_close(&f);
}

static void nothing_is_no_free(void **state)
{
	struct slab_agg null = counted(SLAB_KFREE, 1, "", 7), real = counted(SLAB_KFREE, 1, "", 2);
	struct slab_agg failed = kmallocs(2, 600, 1024, 3);
	struct fixture f;
	struct table *t;

	(void)state;
	null.flags = SLAB_NOTHING;
	failed.flags = SLAB_NOTHING;
	real.flags = SLAB_LARGE;
	open_by(&f, "site");
	view_feed(&f, &null);
	view_feed(&f, &real);
	view_feed(&f, &failed);
	view_report(&f);
	t = view_table_of(&f, "sites");
	assert_int_equal(cell_number(t, 0, "frees"), 2);
	assert_int_equal(cell_number(t, 1, "allocations"), 0);
	assert_int_equal(cell_number(t, 1, "failed"), 3);
	assert_int_equal(cell_at(t, 1, "size_bytes")->type, CELL_EMPTY);
	t = view_table_of(&f, "events");
	assert_int_equal(cell_number(t, 0, "count"), 9);
	assert_int_equal(cell_number(t, 0, "failed"), 7);
	view_close(&f);
}

static void sizes_are_told_when_they_are_one(void **state)
{
	struct slab_agg same = kmallocs(1, 600, 1024, 100), half = kmallocs(2, 600, 1024, 50);
	struct slab_agg rest = kmallocs(2, 700, 1024, 50), pages = kmallocs(3, 9000, 16384, 4);
	struct fixture f;
	struct table *t;

	(void)state;
	memcpy(pages.cache, "\0", 1);
	pages.flags = SLAB_LARGE;
	open_by(&f, NULL);
	view_feed(&f, &same);
	view_feed(&f, &half);
	view_feed(&f, &rest);
	view_feed(&f, &pages);
	view_report(&f);
	t = view_table_of(&f, "sites");
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_number(t, 0, "size_bytes"), 600);
	assert_int_equal(cell_number(t, 0, "class_bytes"), 1024);
	assert_true(
		cell_at(t, 0, "saved_ratio")->f > 0.41 && cell_at(t, 0, "saved_ratio")->f < 0.42);
	assert_int_equal(cell_at(t, 1, "size_bytes")->type, CELL_EMPTY); /* 600 and 700 */
	assert_int_equal(cell_at(t, 1, "saved_ratio")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 1, "class_bytes"), 1024);
	assert_cell_text(t, 2, "cache", "(large)");
	assert_int_equal(cell_at(t, 2, "saved_ratio")->type, CELL_EMPTY);
	view_close(&f);
}

static void live_objects_outlast_an_interval(void **state)
{
	struct slab_agg a = objects(1, "filp", 184, 192, 10),
			over = objects(1, "filp", 184, 192, 0);
	struct slab_agg old = counted(SLAB_CACHE_FREE, 2, "filp", 6);
	struct slab_crossing x =
		REC(struct slab_crossing, REC_SLAB_CROSSING, .to_cpu = 1, .count = 3, .bytes = 576);
	struct fixture f;
	struct table *t;

	(void)state;
	a.untracked = 2;
	over.freed = 5;
	open_by(&f, "site,live");
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "sites"), 0, "live_objects"), 8);
	slab_view.reset(f.view);
	view_again(&f);
	view_feed(&f, &over);
	view_feed(&f, &old);
	view_feed(&f, &x);
	view_report(&f);
	t = view_table_of(&f, "sites");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "allocations"), 0);
	assert_int_equal(cell_number(t, 0, "live_objects"), 3);
	assert_int_equal(cell_number(t, 0, "live_bytes"), 3 * 192);
	assert_int_equal(cell_number(t, 0, "untracked"), 2);
	assert_int_equal(cell_number(t, 1, "untracked_frees"), 6);
	t = view_table_of(&f, "crossings");
	assert_int_equal(cell_number(t, 0, "count"), 3);
	assert_int_equal(cell_number(view_table_of(&f, "caches"), 0, "live_objects"), 3);
	view_close(&f);
}

static void withheld_symbols_leave_no_address(void **state)
{
	struct slab_agg a = objects(1, "filp", 184, 192, 10);
	struct fixture f;

	(void)state;
	open_by(&f, "site");
	view_feed(&f, &a);
	view_report(&f);
	assert_cell_text(view_table_of(&f, "sites"), 0, "site", "(no symbol)");
	view_close(&f);
}

/* A cache of its own is named when it saves enough, and not before. */
static void dedicated(u64 n, bool want)
{
	struct slab_agg a = kmallocs(1, 520, 1024, n);
	struct fixture f;
	bool told = false;

	open_by(&f, "live");
	view_feed(&f, &a);
	view_report(&f);
	vec_each (note, &f.report.notes)
		told |= strstr(*note, "live objects of 520 bytes lie in slots of 1024") != NULL;
	assert_int_equal(told, want);
	view_close(&f);
}

static void a_dedicated_cache_must_pay(void **state)
{
	(void)state;
	dedicated(100, false);
	dedicated(10000, true);
}

static void foreign_records_do_no_harm(void **state)
{
	struct slab_agg a = counted(250, 1, "x", 1);
	struct slab_usage u = REC(struct slab_usage, REC_SLAB_CACHE, .active_objects = UINT64_MAX,
		.object_bytes = UINT64_MAX, .bytes = 1);
	struct fixture f;

	(void)state;
	memset(a.cache, 'x', sizeof(a.cache));
	memset(u.name, 'y', sizeof(u.name));
	open_by(&f, "cache,gfp,node,process,live");
	view_feed(&f, &a);
	a.event = SLAB_KMALLOC;
	a.bytes = UINT32_MAX;
	a.squares = a.requested = a.freed = UINT64_MAX;
	view_feed(&f, &a);
	view_feed(&f, &u);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "sites")->n_rows, 1);
	view_close(&f);
}

static void operands_are_held_to(void **state)
{
	char *top[] = {(char *)"top"}, *other[] = {(char *)"flop"};
	struct view_options o = {.operands = top, .n_operands = 1};
	struct fixture f;
	struct err err = {};
	void *v = calloc(1, slab_view.size);

	(void)state;
	assert_int_equal(slab_view.every_ns(&(struct view_options){}), 0);
	assert_int_equal(slab_view.every_ns(&o), 1000000000);
	view_open(&f, &slab_view, &o, "slab");
	view_report(&f);
	assert_int_equal(f.report.tables.n, 1);
	view_close(&f);
	o.operands = other;
	assert_int_equal(slab_view.init(v, &o, &err), -EINVAL);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(caches_are_summed_and_joined),
		cmocka_unit_test(nothing_is_no_free),
		cmocka_unit_test(sizes_are_told_when_they_are_one),
		cmocka_unit_test(live_objects_outlast_an_interval),
		cmocka_unit_test(withheld_symbols_leave_no_address),
		cmocka_unit_test(a_dedicated_cache_must_pay),
		cmocka_unit_test(foreign_records_do_no_harm),
		cmocka_unit_test(operands_are_held_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
