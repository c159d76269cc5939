/* Tests of sys/memory/swaps.h. */
#include "data/sys/fixture.h"
#include "sys/memory/swaps.h"
#include "sys/memory/zram.h"

/* As 6.18 printed it. */
static const char captured[] =
	"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	"/swapfile                               file\t\t262140\t\t44\t\t-2\n"
	"/dev/zram0                              partition\t262140\t\t1024\t\t100\n";

static void test_swaps(void **state)
{
	_cleanup_swaps_ struct swaps swaps = {};
	const struct swap_area *a;

	(void)state;
	assert_int_equal(swaps_parse(captured, &swaps), 0);
	assert_int_equal(swaps.list.n, 2);
	a = &swaps.list.v[0];
	assert_string_equal(a->path, "/swapfile");
	assert_true(a->is_file);
	assert_int_equal(a->size_bytes, 262140 * 1024);
	assert_int_equal(a->used_bytes, 44 * 1024);
	assert_int_equal(a->priority, -2);
	a = &swaps.list.v[1];
	assert_string_equal(a->path, "/dev/zram0");
	assert_false(a->is_file);
	assert_int_equal(a->priority, 100);
	/* Again: what was there is replaced. */
	assert_int_equal(swaps_parse("Filename Type Size Used Priority\n", &swaps), 0);
	assert_int_equal(swaps.list.n, 0);
}

static void test_nasty(void **state)
{
	static const char *const bad[] = {"", "\n", "/a", "/a file", "/a file 1", "/a file 1 2",
		"/a disk 1 2 3", "/a file -1 2 3", "/a file 18446744073709551615 2 3",
		"/a file 1 2 x"};
	_cleanup_swaps_ struct swaps swaps = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(swaps_parse(bad[i], &swaps), 0);
		assert_int_equal(swaps.list.n, 0);
	}
	assert_int_equal(swaps_parse("/a\\040b\\012 file 1 0 0", &swaps), 0);
	assert_string_equal(swaps.list.v[0].path, "/a b\n");
}

static void test_zram(void **state)
{
	char root[PATH_MAX];
	struct zram_stat st;

	(void)state;
	assert_int_equal(
		zram_stat_parse(" 4194304  1003520  1105920  0  1200128  12 0 3 0\n", &st), 0);
	assert_int_equal(st.data_bytes, 4194304);
	assert_int_equal(st.compressed_bytes, 1003520);
	assert_int_equal(st.memory_bytes, 1105920);
	assert_int_equal(zram_stat_parse("1 2", &st), -EINVAL);
	assert_int_equal(zram_stat_parse("", &st), -EINVAL);
	fixture_make(root);
	fixture_put_text("/sys/block/zram12/mm_stat", "1 2 3 4\n");
	fixture_put_text("/proc/swaps", captured);
	assert_int_equal(zram_stat_read("/dev/zram12", &st), 0);
	assert_int_equal(st.memory_bytes, 3);
	assert_int_equal(zram_stat_read("/dev/zram0", &st), -ENOENT);
	assert_int_equal(zram_stat_read("/dev/zram", &st), -ENOENT);
	assert_int_equal(zram_stat_read("/dev/zram12/x", &st), -ENOENT);
	assert_int_equal(zram_stat_read("/dev/vda", &st), -ENOENT);
	fixture_remove(root);
}

/* What a zram device is used for: swap, a mount, another device, none of these. */
static void test_devices(void **state)
{
	_cleanup_zram_devices_ struct zram_devices all = {};
	char path[PATH_MAX];

	(void)state;
	fixture_make(path);
	for (int i = 0; i < 5; i++) {
		char file[64];

		snprintf(file, sizeof(file), "/sys/block/zram%d/mm_stat", i);
		fixture_put_text(file, i == 4 ? "0 0 0 0\n" : "4096 100 8192 0\n");
		snprintf(file, sizeof(file), "/sys/block/zram%d/size", i);
		fixture_put_text(file, "2048\n");
	}
	fixture_put_text("/sys/block/zram2/holders/dm-3/dev", "1:1\n");
	fixture_put_text("/proc/swaps",
		"Filename Type Size Used Priority\n/dev/zram0 partition 1024 0 100\n");
	fixture_put_text("/proc/self/mountinfo",
		"30 1 252:1 / /mnt/a\\040b rw - ext4 /dev/zram1 rw\n");
	assert_int_equal(zram_devices_read(&all), 0);
	assert_int_equal(all.list.n, 4); /* the last one stores nothing */
	assert_int_equal(all.list.v[0].use, ZRAM_SWAP);
	assert_int_equal(all.list.v[1].use, ZRAM_MOUNTED);
	assert_string_equal(all.list.v[1].on, "/mnt/a b");
	assert_int_equal(all.list.v[2].use, ZRAM_BELOW);
	assert_string_equal(all.list.v[2].on, "/dev/dm-3");
	assert_int_equal(all.list.v[3].use, ZRAM_RAW);
	assert_int_equal(all.list.v[3].stat.memory_bytes, 8192);
	assert_int_equal(all.list.v[3].size_bytes, 1 << 20);
	fixture_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_swaps),
		cmocka_unit_test(test_nasty),
		cmocka_unit_test(test_zram),
		cmocka_unit_test(test_devices),
	};

	return cmocka_run_group_tests_name("sys_swaps", tests, NULL, NULL);
}
