/* Tests of sys/process/smaps.h, of the results in tracefs, and of what sys/memory/thp.h lists. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/sys/fixture.h"
#include "sys/kernel/tracefs.h"
#include "sys/memory/thp.h"
#include "sys/process/smaps.h"
#include "sys/root.h"

/* A process with three huge pages, MADV_DONTDUMP, and two without. */
static void test_captured(void **state)
{
	_cleanup_str_ struct str text = {};
	struct smaps_sum sum;
	struct smaps maps = {};

	(void)state;
	fixture_use("6.18");
	assert_int_equal(smaps_rollup_read(1234, &text, &sum), 0);
	assert_int_equal(sum.anon_huge_bytes, 10 << 20);
	assert_int_equal(sum.rss_bytes, 11668 << 10);
	assert_int_equal(sum.pss_bytes, 10379 << 10);
	assert_int_equal(sum.shmem_huge_bytes + sum.file_huge_bytes + sum.swap_pss_bytes, 0);
	assert_int_equal(smaps_read(1234, &text, &maps), 0);
	assert_int_equal(maps.list.n, 2);
	assert_int_equal(maps.list.v[0].anon_huge_bytes, 4 << 20);
	assert_false(maps.list.v[0].dont_dump);
	assert_int_equal(maps.list.v[1].start, 0x7ff36f000000);
	assert_int_equal(maps.list.v[1].end, 0x7ff36f600000);
	assert_int_equal(maps.list.v[1].anon_huge_bytes, 6 << 20);
	assert_true(maps.list.v[1].dont_dump);
	smaps_free(&maps);
	sys_root_set("");
}

/* Cut anywhere it gives no more than the whole, and no mapping that is not in it. */
static void test_cut(void **state)
{
	_cleanup_str_ struct str text = {};
	struct smaps maps = {};

	(void)state;
	fixture_use("6.18");
	assert_int_equal(sys_read(&text, "/proc/1234/smaps"), 0);
	for (size_t n = text.len; n > 0; n -= MIN(n, 7UL)) {
		text.buf[n] = '\0';
		if (smaps_parse(text.buf, &maps))
			assert_int_equal(maps.list.n, 0);
		assert_true(maps.list.n <= 2);
		if (maps.list.n)
			assert_int_equal(maps.list.v[0].start, 0x7ff36ea00000);
	}
	smaps_free(&maps);
	sys_root_set("");
}

static void test_damaged(void **state)
{
	struct smaps maps = {};
	struct smaps_sum sum = {.rss_bytes = 1};

	(void)state;
	assert_int_equal(smaps_parse("", &maps), 0);
	assert_int_equal(smaps_parse("nothing\n", &maps), -EINVAL);
	assert_int_equal(smaps_parse("AnonHugePages: 2048 kB\n", &maps), -EINVAL);
	assert_int_equal(smaps_parse("2000-1000 rw-p\nAnonHugePages: 2048 kB\n", &maps), -EINVAL);
	assert_int_equal(
		smaps_parse("1000-2000 rw-p\nAnonHugePages: 99999999999999999999 kB\n", &maps), 0);
	assert_int_equal(maps.list.n, 0);
	assert_int_equal(smaps_parse("1000-2000 rw-p\nAnonHugePages: 4 kB\n", &maps), 0);
	assert_int_equal(maps.list.n, 1);
	smaps_free(&maps);
	assert_int_equal(smaps_rollup_parse("Pss: 4 kB\n", &sum), -EINVAL);
	assert_int_equal(sum.rss_bytes, 1);
}

struct names {
	u64 n, last;
	char success[TRACEPOINT_NAME_MAX];
};

static int name_take(void *arg, u64 value, const char *name)
{
	struct names *names = arg;

	names->n++;
	names->last = value;
	if (value == 1)
		strcpy(names->success, name);
	return 0;
}

static int name_refuse(void *arg, u64 value, const char *name)
{
	(void)arg;
	(void)name;
	return value == 2 ? -ENOMEM : 0;
}

#define FORMAT "/sys/kernel/tracing/events/huge_memory/mm_collapse_huge_page/format"

static void test_results(void **state)
{
	_cleanup_str_ struct str text = {};
	struct names names = {};

	(void)state;
	fixture_use("6.18");
	assert_int_equal(sys_read(&text, FORMAT), 0);
	/* enum scan_result of 6.18 ends with SCAN_PAGE_FILLED, 30 */
	assert_int_equal(tracepoint_symbols_parse(str_get(&text), name_take, &names), 31);
	assert_int_equal(names.n, 31);
	assert_int_equal(names.last, 30);
	assert_string_equal(names.success, "succeeded");
	assert_int_equal(tracepoint_symbols_parse(str_get(&text), name_refuse, NULL), -ENOMEM);
	sys_root_set("");
}

static void test_results_damaged(void **state)
{
	struct names names = {};

	(void)state;
	assert_int_equal(tracepoint_symbols_parse("", name_take, &names), -EINVAL);
	assert_int_equal(tracepoint_symbols_parse("__print_symbolic(", name_take, &names), -EINVAL);
	assert_int_equal(
		tracepoint_symbols_parse(
			"__print_symbolic(REC->x, {SCAN_FAIL, \"failed\"}, {1, \"succeeded\"}, "
			"{2, \"cut",
			name_take, &names),
		1);
	assert_string_equal(names.success, "succeeded");
}

struct settings {
	u64 n, underused, stats;
	char enabled[THP_CHOICE_MAX];
};

static int setting_take(void *arg, const char *name, u64 value, const char *text)
{
	struct settings *s = arg;

	s->n++;
	if (!strcmp(name, "enabled"))
		strcpy(s->enabled, text);
	if (!strcmp(name, "shrink_underused"))
		s->underused = value + 1;
	return 0;
}

static int stat_take(void *arg, const char *name, u64 value)
{
	struct settings *s = arg;

	s->stats += !strcmp(name, "anon_fault_alloc") ? value : 1000;
	return 0;
}

static void test_settings(void **state)
{
	struct settings s = {};
	struct thp thp;
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
#define DIR "/sys/kernel/mm/transparent_hugepage/"
	fixture_put_text(DIR "enabled", "[always] madvise never\n");
	fixture_put_text(DIR "shrink_underused", "1\n");
	fixture_put_text(DIR "hugepages-64kB/enabled", "always [inherit] madvise never\n");
	fixture_put_text(DIR "hugepages-64kB/stats/anon_fault_alloc", "17\n");
	fixture_put_text(DIR "hugepages-64kB/stats/damaged", "x\n");
	assert_int_equal(thp_read(&thp), 0);
	assert_int_equal(thp_settings_each(&thp, setting_take, &s), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.underused, 2);
	assert_string_equal(s.enabled, "always");
	assert_int_equal(thp_stats_each(64 << 10, stat_take, &s), 0);
	assert_int_equal(s.stats, 17);
	assert_int_equal(thp_stats_each(32 << 10, stat_take, &s), -ENOENT);
	fixture_remove(tree);
}

/* One list may lack a mapping that the other has. */
static void test_pairs(void **state)
{
	static const char text[] = "1000-2000 rw-p 00000000 00:00 0 \n"
				   "Rss: 4 kB\n"
				   "3000-4000 rw-p 00000000 00:00 0 \n"
				   "Rss: 0 kB\n"
				   "5000-9000 rw-p 00000000 00:00 0 \n"
				   "Rss: 16 kB\n";
	_cleanup_maps_ struct maps maps = {};
	struct smaps_all all = {};
	struct mapping_rss at = {};

	(void)state;
	assert_int_equal(maps_parse(text, &maps), 0);
	assert_int_equal(smaps_all_parse(text, &all), 0);
	maps.list.v[1] = maps.list.v[2];
	maps.list.n = 2;
	assert_true(mapping_rss_next(&maps, &all, &at));
	assert_int_equal(at.map->start, 0x1000);
	assert_int_equal(at.rss->rss_bytes, 4096);
	assert_true(mapping_rss_next(&maps, &all, &at));
	assert_int_equal(at.map->start, 0x5000);
	assert_int_equal(at.rss->rss_bytes, 16384);
	assert_false(mapping_rss_next(&maps, &all, &at));
	smaps_all_free(&all);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_results_damaged),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
