/* The leak view: allocations and frees over time in, verdicts and suspects out. No kernel. */
#include "probes/leak/leak_view.h"
#include "probes/pages/pages.h"
#include "probes/slab/slab.h"
#include "view_fixture.h"

#define SECOND 1000000000ULL
#define BEGIN (100 * SECOND)

struct bench {
	struct fixture f;
	u64 now_ns;
};

static void put(struct bench *b, void *rec)
{
	((struct rec *)rec)->time_ns = b->now_ns;
	view_feed(&b->f, rec);
}

static void begin_by(struct bench *b, const char *by, const char *scope)
{
	struct rec_host host = REC(struct rec_host, REC_HOST, .cpus = 2, .page_bytes = 4096,
		.memory_bytes = 64ULL << 30);
	struct rec_session session = REC(struct rec_session, REC_SESSION);
	struct rec_method method = REC(struct rec_method, REC_METHOD, .probe = "slab",
		.data = SLAB_EVENTS, .method = "raw");

	snprintf(session.scope, sizeof(session.scope), "%s", scope);
	b->now_ns = BEGIN;
	view_open(&b->f, &leak_view, &(struct view_options){.by = by}, "leak");
	put(b, &host);
	put(b, &session);
	put(b, &method);
}

static void begin(struct bench *b)
{
	begin_by(b, "cache,site", "system-wide");
}

static struct slab_agg objects(u32 site, u64 count, u64 freed)
{
	struct slab_agg r = REC(struct slab_agg, REC_SLAB_AGG, .event = SLAB_CACHE_ALLOC,
		.site = site, .count = count, .freed = freed, .bytes = 1024, .object_bytes = 1000,
		.cache = "thing");

	return r;
}

/* A second in which so many were allocated and freed at a site. */
static void second(struct bench *b, u32 site, u64 count, u64 freed)
{
	struct slab_agg r = objects(site, count, freed);
	struct rec_cost cost = REC(struct rec_cost, REC_COST);

	b->now_ns += SECOND;
	put(b, &r);
	put(b, &cost);
}

/* The last look: `old` of the objects are from the first third. */
static void look(struct bench *b, u32 site, u64 count, u64 old)
{
	struct slab_follow follow = REC(struct slab_follow, REC_SLAB_FOLLOW, .held = count,
		.room = 65536, .old_ns = (b->now_ns - BEGIN) / 3 * 2);
	struct slab_held held = REC(struct slab_held, REC_SLAB_HELD, .count = count, .old = old,
		.oldest_ns = b->now_ns - BEGIN,
		.who = {.site = site, .bytes = 1024, .cache = "thing"});

	held.hist[34] = (u32)count; /* 8.6 to 17 s */
	put(b, &follow);
	put(b, &held);
}

static void grown(struct bench *b, u64 objects, u32 reclaimable)
{
	struct slab_usage u = REC(struct slab_usage, REC_SLAB_CACHE, .first_active_objects = 5000,
		.active_objects = 5000 + objects, .object_bytes = 1024, .used_bytes = 1000,
		.reclaimable = reclaimable, .name = "thing");

	put(b, &u);
}

static const char *verdict(struct bench *b)
{
	view_report(&b->f);
	return cell_at(view_table_of(&b->f, "sites"), 0, "verdict")->text;
}

static void a_leak_is_a_suspect(void **state)
{
	struct bench b;
	struct table *t;
	const struct finding *f;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, 120, 20);
	look(&b, 1, 3000, 990);
	grown(&b, 3000, 0);
	assert_string_equal(verdict(&b), "grows steadily");
	t = view_table_of(&b.f, "sites");
	assert_int_equal(cell_number(t, 0, "objects"), 3000);
	assert_int_equal(cell_number(t, 0, "bytes"), 3000 * 1024);
	assert_int_equal(cell_number(t, 0, "allocated"), 3600);
	assert_int_equal(cell_number(t, 0, "freed"), 600);
	assert_int_equal(cell_at(t, 0, "growth_bytes_per_s")->s, 100 * 1024);
	assert_int_equal(cell_at(t, 0, "first_bytes")->s, 1000 * 1024);
	assert_int_equal(cell_at(t, 0, "last_bytes")->s, 1000 * 1024);
	assert_int_equal(cell_number(t, 0, "old_objects"), 990);
	assert_true(cell_at(t, 0, "stayed_ratio")->f > 0.98);
	assert_true(cell_at(t, 0, "fit_ratio")->f > 0.999);
	assert_int_equal(b.f.report.findings.n, 1);
	f = &b.f.report.findings.v[0];
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "thing"));
	assert_non_null(strstr(f->title, "5.86 MiB a minute"));
	assert_non_null(strstr(f->evidence[0], "3000 outstanding (2.93 MiB) of 3600"));
	assert_non_null(strstr(f->try_[2], "--for 150s"));
	view_close(&b.f);
}

static void reclaimable_ones_are_noted(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, 100, 0);
	look(&b, 1, 3000, 1000);
	grown(&b, 3000, 1);
	assert_string_equal(verdict(&b), "grows steadily");
	assert_int_equal(b.f.report.findings.n, 1);
	assert_int_equal(b.f.report.findings.v[0].level, LEVEL_NOTE);
	view_close(&b.f);
}

static void a_fast_leak_is_a_warning(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, 2000, 0); /* 2 MB a second: 64 GiB in 9 hours */
	look(&b, 1, 60000, 20000);
	grown(&b, 60000, 0);
	verdict(&b);
	assert_int_equal(b.f.report.findings.n, 1);
	assert_int_equal(b.f.report.findings.v[0].level, LEVEL_WARNING);
	view_close(&b.f);
}

static void a_warm_cache_is_none(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, i < 8 ? 1000 : 3, i < 8 ? 0 : 3);
	look(&b, 1, 8000, 8000);
	grown(&b, 8000, 0);
	assert_string_equal(verdict(&b), "filled early, flat since");
	assert_int_equal(b.f.report.findings.n, 0);
	assert_int_equal(cell_at(view_table_of(&b.f, "sites"), 0, "growth_bytes_per_s")->s, 0);
	view_close(&b.f);
}

static void churn_is_none(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (u64 i = 0; i < 30; i++)
		second(&b, 1, 5000, i ? 5000 + (i % 2 ? -7ULL : 7ULL) : 4000);
	look(&b, 1, 1000, 0);
	grown(&b, 1000, 0);
	assert_string_equal(verdict(&b), "comes and goes");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void a_saw_rises_and_falls(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 1; i <= 31; i++)
		second(&b, 1, 1000, i % 7 ? 0 : 6500);
	look(&b, 1, 5000, 100);
	grown(&b, 5000, 0);
	assert_string_equal(verdict(&b), "rises and falls");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void a_filling_cache_slows(void **state)
{
	struct bench b;
	u64 n = 4000;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++, n = n * 92 / 100)
		second(&b, 1, n, 0);
	look(&b, 1, 40000, 20000);
	grown(&b, 40000, 0);
	assert_string_equal(verdict(&b), "grows ever slower");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void what_comes_late_is_no_leak_yet(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, i < 24 ? 0 : 1000, 0);
	assert_string_equal(verdict(&b), "came at the end");
	view_close(&b.f);
}

static void the_cache_as_a_whole_has_a_say(void **state)
{
	struct bench b;
	struct table *t;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++) {
		struct slab_agg gone = REC(struct slab_agg, REC_SLAB_AGG, .event = SLAB_CACHE_FREE,
			.count = 30, .bytes = 1024, .cache = "thing");

		put(&b, &gone);
		second(&b, 1, 100, 0);
	}
	look(&b, 1, 3000, 1000);
	grown(&b, 200, 0);
	assert_string_equal(verdict(&b), "grows, but its cache does not");
	assert_int_equal(b.f.report.findings.n, 0);
	t = view_table_of(&b.f, "caches");
	assert_int_equal(cell_number(t, 0, "old_frees"), 900);
	assert_int_equal(cell_number(t, 0, "old_freed_bytes"), 900 * 1024);
	assert_int_equal(cell_at(t, 0, "grown_objects")->s, 200);
	assert_int_equal(cell_number(t, 0, "unseen_frees"), 3000 - 900 - 200);
	view_close(&b.f);
}

static void long_lived_is_not_for_ever(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, 200, 100);
	look(&b, 1, 3000, 300); /* 1000 were there after the first third */
	grown(&b, 3000, 0);
	assert_string_equal(verdict(&b), "grows, but old ones go");
	assert_int_equal(b.f.report.findings.n, 0);
	view_close(&b.f);
}

static void too_short_too_few(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 4; i++)
		second(&b, 1, 1000, 0);
	assert_string_equal(verdict(&b), "too short to tell");
	assert_int_equal(
		cell_at(view_table_of(&b.f, "sites"), 0, "growth_bytes_per_s")->type, CELL_EMPTY);
	assert_int_equal(b.f.report.next.n, 1);
	view_close(&b.f);
	begin(&b);
	for (int i = 0; i < 30; i++)
		second(&b, 1, i % 10 == 0, 0);
	assert_string_equal(verdict(&b), "too few to tell");
	view_close(&b.f);
}

/* Spans are joined, and nothing is lost: an hour is judged as half a minute is. */
static void an_hour_is_judged_alike(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 3600; i++)
		second(&b, 1, 11, 10);
	look(&b, 1, 3600, 1200);
	grown(&b, 3600, 0);
	assert_string_equal(verdict(&b), "grows steadily");
	assert_int_equal(cell_number(view_table_of(&b.f, "sites"), 0, "objects"), 3600);
	assert_int_equal(b.f.report.findings.n, 1);
	view_close(&b.f);
}

/* The last drain comes when all is detached: that time is none of the interval. */
static void detaching_does_not_count(void **state)
{
	struct rec_tick end = REC(struct rec_tick, REC_END);
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 12; i++)
		second(&b, 1, 100, 0);
	end.h.time_ns = b.now_ns + SECOND;
	b.now_ns += 4 * SECOND; /* second() adds one */
	second(&b, 1, 100, 0);
	view_feed(&b.f, &end);
	assert_string_equal(verdict(&b), "grows steadily");
	assert_int_equal(cell_at(view_table_of(&b.f, "sites"), 0, "growth_bytes_per_s")->s, 102400);
	view_close(&b.f);
}

static void what_was_freed_has_no_row(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 10; i++) {
		second(&b, 1, 50, 50);
		second(&b, 2, 50, 0);
	}
	view_report(&b.f);
	assert_int_equal(view_table_of(&b.f, "sites")->n_rows, 1);
	assert_int_equal(view_table_of(&b.f, "caches")->n_rows, 1);
	assert_non_null(strstr(b.f.report.notes.v[0], "1 other site"));
	view_close(&b.f);
}

static void an_interval_counts_its_own(void **state)
{
	struct bench b;
	struct table *t;

	(void)state;
	begin(&b);
	for (int i = 0; i < 10; i++)
		second(&b, 1, 50, 10);
	leak_view.reset(b.f.view);
	second(&b, 1, 7, 3);
	view_report(&b.f);
	t = view_table_of(&b.f, "sites");
	assert_int_equal(cell_number(t, 0, "objects"), 404);
	assert_int_equal(cell_number(t, 0, "allocated"), 7);
	assert_int_equal(cell_number(t, 0, "freed"), 3);
	view_close(&b.f);
}

/* Pages: order 2, with those that found no room. */
static void pages_are_followed_too(void **state)
{
	struct pages_alloc alloc = REC(struct pages_alloc, REC_PAGES_ALLOC, .count = 12,
		.untracked = 2, .who = {.order = 2});
	struct pages_lifetime gone = REC(struct pages_lifetime, REC_PAGES_LIFETIME, .count = 4,
		.total_ns = 4000000, .max_ns = 2000000, .who = {.order = 2});
	struct pages_follow follow = REC(struct pages_follow, REC_PAGES_FOLLOW, .untracked = 60,
		.unknown = 77, .room = 262144, .old_ns = 20 * SECOND);
	struct pages_held held = REC(struct pages_held, REC_PAGES_HELD, .count = 180, .old = 60,
		.oldest_ns = 30 * SECOND, .who = {.order = 2});
	struct rec_cost cost = REC(struct rec_cost, REC_COST);
	struct bench b;
	struct table *t;

	(void)state;
	gone.hist[20] = 4;
	begin(&b);
	for (int i = 0; i < 30; i++) {
		b.now_ns += SECOND;
		put(&b, &alloc);
		put(&b, &gone);
		put(&b, &cost);
	}
	held.hist[34] = 180;
	put(&b, &follow);
	put(&b, &held);
	assert_string_equal(verdict(&b), "grows steadily");
	t = view_table_of(&b.f, "sites");
	assert_cell_text(t, 0, "cache", "(pages)");
	assert_cell_text(t, 0, "kind", "pages");
	assert_int_equal(cell_number(t, 0, "order"), 2);
	assert_int_equal(cell_number(t, 0, "objects"), 180);
	assert_int_equal(cell_number(t, 0, "bytes"), 180 * 16384);
	assert_int_equal(cell_number(t, 0, "freed"), 120);
	assert_int_equal(cell_number(t, 0, "untracked"), 60);
	assert_int_equal(cell_number(t, 0, "old_objects"), 60);
	assert_int_equal(cell_at(t, 0, "outlived_ratio")->f * 1000, 1000);
	t = view_table_of(&b.f, "caches");
	assert_int_equal(cell_number(t, 0, "old_frees"), 77);
	assert_int_equal(b.f.report.findings.n, 1);
	view_close(&b.f);
}

/* Names of tasks come with what is counted, not with looks. */
static void sums_by_name(void **state)
{
	struct slab_agg a = objects(1, 40, 0);
	struct slab_lifetime gone = REC(struct slab_lifetime, REC_SLAB_LIFETIME, .count = 5,
		.total_ns = 500, .max_ns = 100, .who = {.tgid = 7, .site = 1, .cache = "thing"});
	struct bench b;
	struct table *t;

	(void)state;
	gone.hist[10] = 5;
	begin_by(&b, "comm", "system-wide");
	a.tgid = 7;
	memcpy(a.comm, "worker", 6);
	put(&b, &a);
	put(&b, &gone);
	second(&b, 1, 1, 0);
	view_report(&b.f);
	t = view_table_of(&b.f, "sites");
	assert_cell_text(t, 0, "comm", "worker");
	assert_int_equal(cell_number(t, 0, "objects"), 40);
	assert_int_equal(cell_number(t, 0, "max_ns"), 100);
	view_close(&b.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_is_a_suspect),
		cmocka_unit_test(reclaimable_ones_are_noted),
		cmocka_unit_test(a_fast_leak_is_a_warning),
		cmocka_unit_test(a_warm_cache_is_none),
		cmocka_unit_test(churn_is_none),
		cmocka_unit_test(a_saw_rises_and_falls),
		cmocka_unit_test(a_filling_cache_slows),
		cmocka_unit_test(what_comes_late_is_no_leak_yet),
		cmocka_unit_test(the_cache_as_a_whole_has_a_say),
		cmocka_unit_test(long_lived_is_not_for_ever),
		cmocka_unit_test(too_short_too_few),
		cmocka_unit_test(an_hour_is_judged_alike),
		cmocka_unit_test(detaching_does_not_count),
		cmocka_unit_test(what_was_freed_has_no_row),
		cmocka_unit_test(an_interval_counts_its_own),
		cmocka_unit_test(pages_are_followed_too),
		cmocka_unit_test(sums_by_name),
	};

	return cmocka_run_group_tests_name("leak view", tests, NULL, NULL);
}
