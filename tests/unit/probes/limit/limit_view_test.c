/* Tests of what a group needs: sums of pages, the model, and what the view makes of the records. */
#include "view_fixture.h"

#include <errno.h>

#include "probes/limit/limit_files.h"
#include "probes/limit/limit_judge.h"
#include "probes/limit/limit_view.h"
#include "sys/memory/diskstats.h"

#define MIB (1ULL << 20)
#define PAGE 4096ULL
#define SECOND 1000000000ULL

/* Of version 2, without limit and swap: 100 MiB anonymous, 200 MiB of files. */
static struct limit_facts facts(void)
{
	struct limit_group g = REC(struct limit_group, REC_LIMIT_GROUP, .version = 2, .cpus = 2,
		.usage_bytes = 310 * MIB, .limit_bytes = LIMIT_NONE, .high_bytes = LIMIT_NONE,
		.anon_bytes = 100 * MIB, .file_bytes = 200 * MIB, .kernel_bytes = 10 * MIB,
		.read_bytes = 1000 * PAGE, .read_ns = 1000 * 100000ULL);
	struct limit_facts f = {.first = g, .last = g};

	f.first.h.flags = f.last.h.flags = LIMIT_PRESSURE_GROUP;
	f.last.elapsed_ns = 60 * SECOND;
	f.last.some_us = 600000;
	f.mapped = REC(struct limit_mapped, REC_LIMIT_MAPPED, .elapsed_ns = 60 * SECOND,
		.anon_bytes = 30 * MIB, .file_bytes = 20 * MIB, .processes = 1);
	f.early = f.mapped;
	f.early.elapsed_ns = 32 * SECOND;
	f.files = REC(struct limit_files, REC_LIMIT_FILES, .elapsed_ns = 60 * SECOND, .stride = 1,
		.page_bytes = PAGE, .reused = 50 * MIB / PAGE, .once = 10 * MIB / PAGE);
	f.files.h.flags = LIMIT_READS_KNOWN | LIMIT_WRITES_KNOWN | LIMIT_ADDS_KNOWN;
	f.files.first[0] = f.files.reused;
	return f;
}

static struct limit_need judged(const struct limit_facts *f)
{
	struct limit_need n;

	limit_judge(f, 0, 1000, &n);
	return n;
}

static void test_need(void **unused)
{
	struct limit_facts f = facts();
	struct limit_need n = judged(&f);

	(void)unused;
	assert_int_equal(n.thin, LIMIT_ENOUGH);
	assert_int_equal(n.needed_bytes, (100 + 10 + 50 + 20) * MIB);
	assert_int_equal(
		n.low_bytes, (100 + 10 + 50) * MIB); /* what is read may be what is mapped */
	assert_int_equal(n.high_bytes, (180 + 10) * MIB);
	assert_int_equal(n.cold_bytes, (200 - 50 - 20 - 10) * MIB);
	assert_true(n.advised_bytes > n.needed_bytes);
	assert_true(n.advised_bytes < n.needed_bytes + 18 * MIB);
	assert_int_equal(n.verdict, LIMIT_UNLIMITED);
	assert_true(n.pressed && n.has_cost && !n.whole);
	assert_true(n.stall_ratio > 0.0099 && n.stall_ratio < 0.0101);
	assert_true(n.expected_ratio > 0.0099 && n.expected_ratio < 0.0101); /* nothing came late */
}

/* With swap only what was touched is needed; where a process could not be looked at, all is. */
static void test_swap(void **unused)
{
	struct limit_facts f = facts();

	(void)unused;
	f.last.swap_free_bytes = 1000 * MIB;
	assert_int_equal(judged(&f).anon_bytes, 30 * MIB);
	f.mapped.refused = 1;
	assert_int_equal(judged(&f).anon_bytes, 100 * MIB);
	assert_int_equal(judged(&f).thin, LIMIT_REFUSED);
	f.mapped.refused = 0; /* what was not seen touched at all is not said to be unneeded */
	f.mapped.anon_bytes = 0;
	assert_int_equal(judged(&f).anon_bytes, 100 * MIB);
	assert_int_equal(judged(&f).thin, LIMIT_UNSEEN);
	assert_int_equal(judged(&f).verdict, LIMIT_UNKNOWN);
	f.last.swap_free_bytes = 0;
	assert_int_equal(judged(&f).thin, LIMIT_ENOUGH);
}

static void test_verdicts(void **unused)
{
	struct limit_facts f = facts();

	(void)unused;
	f.last.limit_bytes = 190 * MIB;
	assert_int_equal(judged(&f).verdict, LIMIT_FITS);
	f.last.high_bytes = 150 * MIB; /* the lower one counts */
	assert_int_equal(judged(&f).verdict, LIMIT_SHORT);
	f.last.high_bytes = LIMIT_NONE;
	f.last.limit_bytes = 1000 * MIB;
	assert_int_equal(judged(&f).verdict, LIMIT_ROOMY);
}

/* Thin evidence gives no verdict. */
static void test_thin(void **unused)
{
	struct limit_facts f = facts();
	struct limit_need n;

	(void)unused;
	f.last.elapsed_ns = 3 * SECOND;
	assert_int_equal(judged(&f).thin, LIMIT_TOO_SHORT);
	f = facts();
	f.files.h.flags = 0;
	assert_int_equal(judged(&f).thin, LIMIT_NO_READS);
	f = facts();
	f.files.h.kind = 0;
	assert_int_equal(judged(&f).thin, LIMIT_NO_READS);
	f = facts();
	limit_judge(&f, 100, 1000, &n);
	assert_int_equal(n.thin, LIMIT_LOST);
	assert_int_equal(n.verdict, LIMIT_UNKNOWN);
	f = facts();
	f.mapped.h.kind = 0; /* --keep-bits */
	assert_int_equal(judged(&f).thin, LIMIT_REFUSED);
	f = facts();
	f.files.first[0] -= 20 * MIB / PAGE;
	f.files.first[13] = 20 * MIB / PAGE;
	assert_int_equal(judged(&f).thin, LIMIT_NOT_SETTLED);
	assert_int_equal(judged(&f).late_bytes, 20 * MIB);
	f = facts();
	f.early.file_bytes = 0; /* 20 MiB in 28 s: 10.7 MiB of them in the last 15 s */
	assert_int_equal(judged(&f).late_bytes / MIB, 10);
	f = (struct limit_facts){};
	assert_int_equal(judged(&f).thin, LIMIT_NO_GROUP);
}

/* At its limit what is used may be more than what is there; elsewhere it is charged to others. */
static void test_starved(void **unused)
{
	struct limit_facts f = facts();
	struct limit_need n;

	(void)unused;
	f.last.file_bytes = 40 * MIB;
	n = judged(&f);
	assert_int_equal(n.elsewhere_bytes, 30 * MIB);
	assert_int_equal(n.needed_bytes, (110 + 40) * MIB);
	f.last.limit_bytes = 150 * MIB;
	f.last.limit_hit_total = 10;
	f.last.refault_total = 5000;
	n = judged(&f);
	assert_true(n.starved);
	assert_int_equal(n.needed_bytes, 180 * MIB);
	assert_int_equal(n.verdict, LIMIT_SHORT);
	f.mapped.file_bytes = f.early.file_bytes =
		80 * MIB; /* of which more may have been evicted */
	assert_int_equal(judged(&f).thin, LIMIT_STARVED);
}

static void test_sampled(void **unused)
{
	struct limit_facts f = facts();
	struct limit_need n;

	(void)unused;
	f.files.stride = 4;
	f.files.reused = f.files.first[0] = 3200;
	n = judged(&f);
	assert_int_equal(n.read_bytes, 12800 * PAGE);
	/* two standard deviations: 2 * sqrt(3200 * 3 / 4) = 98 followed pages, 4 pages each */
	assert_in_range(n.error_bytes, 390 * PAGE, 393 * PAGE);
	assert_true(n.low_bytes < n.needed_bytes && n.high_bytes > n.needed_bytes);
}

static void test_uses(void **unused)
{
	struct limit_files r = {};

	(void)unused;
	/* used in two seconds; found in the cache; read once; read ahead; pushed out and read back
	 */
	limit_use_add(&(struct limit_use){.first = 100, .last = 180, .seconds = 2, .added = 1}, 100,
		180, &r);
	limit_use_add(&(struct limit_use){.first = 176, .last = 176, .seconds = 1, .found = 1}, 100,
		180, &r);
	limit_use_add(&(struct limit_use){.first = 110, .last = 110, .seconds = 1, .added = 1}, 100,
		180, &r);
	limit_use_add(&(struct limit_use){.added = 1}, 100, 180, &r);
	limit_use_add(&(struct limit_use){.first = 100, .last = 100, .seconds = 1, .added = 2}, 100,
		180, &r);
	assert_int_equal(r.followed, 5);
	assert_int_equal(r.reused, 2);
	assert_int_equal(r.once, 2);
	assert_int_equal(r.ahead, 1);
	assert_int_equal(r.again, 1);
	assert_int_equal(r.first[0], 1);
	assert_int_equal(r.first[15], 1);
	assert_int_equal(r.age[0], 2); /* less than a second */
	assert_int_equal(r.age[4], 2); /* 8 and 10 of them */
	/* a clock that went back, or none yet: no slot is missed */
	limit_use_add(&(struct limit_use){.first = 90, .last = 190, .seconds = 2}, 100, 100, &r);
	assert_int_equal(r.first[0], 2);
}

static void test_view(void **unused)
{
	struct limit_facts f = facts();
	struct fixture x;
	struct table *t;

	(void)unused;
	view_open(&x, &limit_view, &(struct view_options){}, "limit");
	view_feed(&x, &f.first);
	view_feed(&x, &f.early);
	view_feed(&x, &f.last);
	view_feed(&x, &f.mapped);
	f.files.age[3] = 15360;
	view_feed(&x, &f.files);
	view_report(&x);
	t = view_table_of(&x, "limit");
	assert_int_equal(cell_number(t, 0, "needed_bytes"), 180 * MIB);
	assert_int_equal(cell_at(t, 0, "limit_bytes")->type, CELL_EMPTY);
	assert_cell_text(t, 0, "verdict", "unlimited");
	assert_cell_text(t, 0, "stall_of", "group");
	t = view_table_of(&x, "parts");
	assert_int_equal(t->n_rows, 7);
	assert_cell_text(t, 3, "part", "files_read");
	assert_cell_text(t, 3, "number", "exact");
	assert_int_equal(cell_number(view_table_of(&x, "ages"), 0, "within_bytes"), 15360 * PAGE);
	assert_int_equal(x.report.findings.n, 1);
	assert_string_equal(x.report.findings.v[0].rule, "group-needs");
	assert_string_equal(
		x.report.findings.v[0].evidence[0], "it needs at least 160 MiB, at most 190 MiB");
	view_close(&x);

	/* where it is known exactly, the title has said it */
	f.mapped.file_bytes = f.early.file_bytes = f.files.once = 0;
	view_open(&x, &limit_view, &(struct view_options){}, "limit");
	view_feed(&x, &f.first);
	view_feed(&x, &f.early);
	view_feed(&x, &f.last);
	view_feed(&x, &f.mapped);
	view_feed(&x, &f.files);
	view_report(&x);
	assert_non_null(strstr(x.report.findings.v[0].evidence[0], "of its files it used "));
	view_close(&x);
}

/* A record may hold anything. */
static void test_hostile(void **unused)
{
	struct limit_files l = REC(struct limit_files, REC_LIMIT_FILES);
	struct limit_group g = REC(struct limit_group, REC_LIMIT_GROUP);
	struct fixture x;

	(void)unused;
	view_open(&x, &limit_view, &(struct view_options){}, "limit");
	memset((char *)&l + sizeof(l.h), 0xff, sizeof(l) - sizeof(l.h));
	view_feed(&x, &l);
	l.stride = 0;
	view_feed(&x, &l);
	view_report(&x);
	assert_int_equal(view_table_of(&x, "limit")->n_rows, 0);
	memset((char *)&g + sizeof(g.h), 0xff, sizeof(g) - sizeof(g.h));
	view_feed(&x, &g);
	view_next(&x);
	view_report(&x);
	assert_int_equal(view_table_of(&x, "limit")->n_rows, 1);
	assert_int_equal(x.report.findings.n, 0);
	view_close(&x);
}

static void test_diskstats(void **unused)
{
	struct disk_reads d = {};

	(void)unused;
	assert_int_equal(disk_reads_parse(" 254 0 vda 10 2 80 7 1 1 1 1 0 1 1\n no line\n"
					  " 254 1 vda1 5 0 8 3\n",
				 &d),
		0);
	assert_int_equal(d.bytes, 88 * 512);
	assert_int_equal(d.ns, 10000000);
	assert_int_equal(disk_reads_parse("254 0 vda 10 2\n", &d), -EINVAL);
	assert_int_equal(disk_reads_parse("", &d), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_thin),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_diskstats),
	};

	return cmocka_run_group_tests_name("limit_view", tests, NULL, NULL);
}
