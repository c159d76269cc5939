/* Tests of sys/root.h, sys/scan.h, sys/keyvals.h, sys/idset.h and sys/sysctl.h. */
#include "data/sys/fixture.h"
#include "sys/cpu_time.h"
#include "sys/idset.h"
#include "sys/keyvals.h"
#include "sys/memory/interrupts.h"
#include "sys/scan.h"
#include "sys/sysctl.h"

static void test_root(void **state)
{
	char path[PATH_MAX];
	char tree[PATH_MAX];
	struct str text = {};
	u64 v = 7;

	(void)state;
	assert_string_equal(sys_root(), "");
	assert_int_equal(sys_path(path, "/proc/%d/stat", 42), 0);
	assert_string_equal(path, "/proc/42/stat");
	assert_int_equal(sys_root_set("/some/tree//"), 0);
	assert_int_equal(sys_path(path, "/proc"), 0);
	assert_string_equal(path, "/some/tree/proc");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sys_root_set(NULL), 0);
	assert_int_equal(sys_path(tree, "/%s", path), -ENAMETOOLONG);
	assert_int_equal(sys_read(&text, "/%s", path), -ENAMETOOLONG);
	fixture_make(tree);
	fixture_put_text("/proc/n", " 18446744073709551615\n");
	fixture_put_text("/proc/big", "18446744073709551616\n");
	fixture_put_text("/proc/minus", "-1\n");
	fixture_put_text("/proc/empty", "");
	assert_int_equal(sys_read_u64(&v, "/proc/big"), -EINVAL);
	assert_int_equal(sys_read_u64(&v, "/proc/minus"), -EINVAL);
	assert_int_equal(sys_read_u64(&v, "/proc/empty"), -EINVAL);
	assert_int_equal(sys_read_u64(&v, "/proc/none"), -ENOENT);
	assert_true(v == 7);
	assert_int_equal(sys_read_u64(&v, "/proc/n"), 0);
	assert_true(v == ~0ULL);
	assert_int_equal(sys_exists("/proc/n"), 0);
	assert_int_equal(sys_exists("/proc/none"), -ENOENT);
	assert_int_equal(sys_exists("/proc/n/x"), -ENOTDIR);
	fixture_remove(tree);
	str_free(&text);
}

static void test_scan_numbers(void **state)
{
	struct scan s = scan_text(" 12 -3 fF:9 - 18446744073709551616 10000000000000000 4.25x");
	double d = 0;
	u64 v = 0;
	s64 n = 0;
	u32 w = 0;

	(void)state;
	assert_true(scan_u64(&s, &v) && v == 12);
	assert_false(scan_u64(&s, &v));
	assert_true(scan_s64(&s, &n) && n == -3);
	assert_true(scan_hex(&s, &v) && v == 255);
	assert_true(scan_lit(&s, ":") && scan_s64(&s, &n) && n == 9);
	assert_false(scan_s64(&s, &n));
	assert_true(scan_lit(&s, "-"));
	assert_false(scan_u64(&s, &v));
	assert_false(scan_s64(&s, &n));
	assert_true(scan_lit(&s, "18446744073709551616"));
	assert_false(scan_u32(&s, 5, &w));
	assert_true(scan_hex(&s, &v) == false && scan_u64(&s, &v) && v == 10000000000000000ULL);
	assert_true(scan_decimal(&s, &d) && d == 4.25);
	assert_true(scan_lit(&s, "x") && scan_done(&s));
	assert_false(scan_u64(&s, &v) || scan_hex(&s, &v) || scan_lit(&s, "x"));
}

static void test_scan_text(void **state)
{
	char text[] = "a\\040b\\012c\\101\\1\\04";
	char word[8] = "kept";

	(void)state;
	scan_unescape(text, " \n");
	assert_string_equal(text, "a b\nc\\101\\1\\04");
	assert_int_equal(scan_choice("always [madvise] never\n", word, sizeof(word)), 0);
	assert_string_equal(word, "madvise");
	assert_int_equal(scan_choice("one\n", word, sizeof(word)), 0);
	assert_string_equal(word, "one");
	assert_int_equal(scan_choice("", word, sizeof(word)), -EINVAL);
	assert_int_equal(scan_choice("[]", word, sizeof(word)), -EINVAL);
	assert_int_equal(scan_choice("always [mad", word, sizeof(word)), -EINVAL);
	assert_int_equal(scan_choice("\n[x]\n", word, sizeof(word)), -EINVAL);
	assert_int_equal(scan_choice("[much too long]", word, sizeof(word)), -EINVAL);
	assert_string_equal(word, "one");
}

static void test_parse(void **state)
{
	_cleanup_keyvals_ struct keyvals kv = {};

	(void)state;
	assert_int_equal(
		keyvals_parse("pgfault 12\npgfault 13\nMemTotal:  2 kB\nActive(anon): 1 kB\n"
			      "HugePages_Total: 3\nNode 0 FilePages: 4 kB\nlow 0",
			&kv),
		0);
	assert_int_equal(kv.items.n, 7);
	assert_int_equal(keyvals_get_or(&kv, "pgfault", 0), 12);
	assert_int_equal(keyvals_get_or(&kv, "MemTotal", 0), 2048);
	assert_int_equal(keyvals_get_or(&kv, "Active(anon)", 0), 1024);
	assert_int_equal(keyvals_get_or(&kv, "HugePages_Total", 0), 3);
	assert_int_equal(keyvals_get_or(&kv, "FilePages", 0), 4096);
	assert_int_equal(keyvals_get_or(&kv, "low", 9), 0);
	assert_int_equal(keyvals_get_or(&kv, "pgfaul", 9), 9);
	assert_int_equal(keyvals_get_or(&kv, "", 9), 9);
}

static void test_parse_nasty(void **state)
{
	static const char *const none[] = {"", "\n\n", "x", "x -1", "x 1 2", "x: kB", ": 1",
		"x 0x1", "x 18446744073709551616", "x 18446744073709551615 kB", "Node 0 ",
		"anon N0=1 N1=2", "a_name_that_is_longer_than_any_name_in_the_kernel 1"};
	_cleanup_keyvals_ struct keyvals kv = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		assert_int_equal(keyvals_parse("kept 1", &kv), 0);
		assert_int_equal(keyvals_parse(none[i], &kv), -EINVAL);
		assert_int_equal(kv.items.n, 0);
	}
	assert_int_equal(keyvals_parse("bad\ngood 18446744073709551615\nbad", &kv), 0);
	assert_true(keyvals_get_or(&kv, "good", 0) == ~0ULL);
}

static void test_parse_bounded(void **state)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	_cleanup_str_ struct str text = {};

	(void)state;
	for (int i = 0; i < KEYVALS_MAX + 10; i++)
		str_addf(&text, "k%d %d\n", i, i);
	assert_int_equal(keyvals_parse(str_get(&text), &kv), 0);
	assert_int_equal(kv.items.n, KEYVALS_MAX);
}

static void test_captured(void **state)
{
	_cleanup_keyvals_ struct keyvals kv = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		u64 total;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(keyvals_read("/proc/vmstat", &kv), 0);
		assert_true(kv.items.n > 140);
		assert_true(keyvals_get_or(&kv, "pgfault", 0) > 1000);
		assert_true(keyvals_get(&kv, "thp_fault_fallback_charge", &total));
		assert_true(keyvals_get(&kv, "compact_daemon_migrate_scanned", &total));
		assert_int_equal(keyvals_read("/proc/meminfo", &kv), 0);
		assert_true(keyvals_get(&kv, "MemTotal", &total) && total > 300ULL << 20);
		assert_int_equal(keyvals_get_or(&kv, "Hugepagesize", 0), 2 << 20);
		assert_int_equal(keyvals_read("/sys/devices/system/node/node0/meminfo", &kv), 0);
		assert_true(keyvals_get(&kv, "MemTotal", &total) && total > 200ULL << 20);
		assert_int_equal(keyvals_read("/sys/devices/system/node/node0/numastat", &kv), 0);
		assert_true(keyvals_get_or(&kv, "local_node", 0) > 0);
	}
	assert_int_equal(keyvals_read("/proc/none", &kv), -ENOENT);
	assert_int_equal(kv.items.n, 0);
	sys_root_set("");
}

/* The kernel's counters only grow, and one process's faults are among them. */
static void test_live(void **state)
{
	_cleanup_keyvals_ struct keyvals before = {};
	_cleanup_keyvals_ struct keyvals after = {};
	char *page;

	(void)state;
	assert_int_equal(keyvals_read("/proc/vmstat", &before), 0);
	page = malloc(64 << 20);
	assert_non_null(page);
	for (size_t i = 0; i < 64 << 20; i += 4096)
		((volatile char *)page)[i] = 1;
	free(page);
	for (int i = 0; i < 3; i++)
		assert_int_equal(keyvals_read("/proc/vmstat", &after), 0);
	assert_int_equal(before.items.n, after.items.n);
	assert_true(keyvals_get_or(&after, "pgfault", 0) > keyvals_get_or(&before, "pgfault", 0));
}

static void test_idset(void **state)
{
	static const char *const bad[] = {
		"x", "1-", "-1", "1,,2", "1,", "3-1", "1 2", "1-2-3", "1;"};
	static struct idset set;

	(void)state;
	assert_int_equal(idset_parse("0-3,8, 10-11\n", &set), 0);
	assert_int_equal(idset_count(&set), 7);
	assert_true(idset_has(&set, 8) && !idset_has(&set, 9) && !idset_has(&set, IDSET_MAX));
	assert_int_equal(idset_next(&set, 4), 8);
	assert_int_equal(idset_next(&set, 12), IDSET_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(idset_parse(bad[i], &set), -EINVAL);
	assert_int_equal(idset_parse("0-8192", &set), -ERANGE);
	assert_int_equal(idset_parse("0-18446744073709551615", &set), -ERANGE);
	assert_int_equal(idset_count(&set), 7);
	assert_int_equal(idset_parse("0-8191", &set), 0);
	assert_int_equal(idset_count(&set), IDSET_MAX);
	assert_int_equal(idset_parse("\n", &set), 0);
	assert_int_equal(idset_count(&set), 0);
	assert_int_equal(idset_parse("", &set), 0);
}

static void test_sysctl(void **state)
{
	static const char *const bad[] = {"", ".", "vm..swappiness", "../x", "vm/swappiness"};
	u64 v = 0;

	(void)state;
	fixture_use("6.1");
	assert_int_equal(sysctl_read_u64("vm.swappiness", &v), 0);
	assert_int_equal(v, 60);
	assert_int_equal(sysctl_read_u64("vm.extfrag_threshold", &v), 0);
	assert_int_equal(v, 500);
	assert_int_equal(sysctl_read_u64("vm.watermark_scale_factor", &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(sysctl_read_u64("vm.compaction_proactiveness", &v), 0);
	assert_int_equal(v, 20);
	assert_int_equal(sysctl_read_u64("vm.zone_reclaim_mode", &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(sysctl_read_u64("vm.none", &v), -ENOENT);
	assert_int_equal(sysctl_read_u64("kernel.osrelease", &v), 0);
	assert_int_equal(v, 6);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(sysctl_read_u64(bad[i], &v), -EINVAL);
	sys_root_set("");
	assert_int_equal(sysctl_read_u64("vm.min_free_kbytes", &v), 0);
	assert_true(v > 0);
}

static void test_interrupts(void **state)
{
	static const char text[] = "           CPU0       CPU1\n"
				   "  1:          0          9   IO-APIC   1-edge      i8042\n"
				   "TLB:       2942       2704   TLB shootdowns\n"
				   "ERR:          0\n";
	u64 n = 0;

	(void)state;
	assert_int_equal(interrupts_parse(text, "TLB", &n), 0);
	assert_int_equal(n, 5646);
	assert_int_equal(interrupts_parse(text, "ERR", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(interrupts_parse(text, "TL", &n), -ENOENT);
	assert_int_equal(interrupts_parse("TLB", "TLB", &n), -ENOENT);
}

static void test_cpu_time(void **state)
{
	u64 n = 0;

	(void)state;
	assert_int_equal(cpu_time_parse("cpu  12 3 4567 89 0 1 2 0 0 0\ncpu0 1 2 3 4\n", &n), 0);
	assert_int_equal(n, 4567);
	assert_int_equal(cpu_time_parse("cpu0 1 2 3 4\n", &n), -EINVAL);
	assert_int_equal(cpu_time_parse("cpu  1 2", &n), -EINVAL);
	assert_int_equal(cpu_time_parse("", &n), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_scan_numbers),
		cmocka_unit_test(test_scan_text),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_nasty),
		cmocka_unit_test(test_parse_bounded),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_idset),
		cmocka_unit_test(test_sysctl),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
