/* Tests of the system probe's sampler. */
#include "probes/samplers_fixture.h"

#include "base/clock.h"
#include "probes/system/system.h"

static const struct system_value *value(const struct sampler_test *t, u16 source, const char *name)
{
	const struct system_value *v;

	for (size_t i = 0; (v = sampler_record(t, REC_SYSTEM_VALUE, i)); i++)
		if (v->source == source && !strcmp(v->name, name))
			return v;
	return NULL;
}

static void check_value(const struct sampler_test *t, u16 source, const char *name, u64 want)
{
	const struct system_value *v = value(t, source, name);

	assert_non_null(v);
	assert_int_equal(v->value, want);
	assert_string_equal(v->text, "");
}

static void check_text(const struct sampler_test *t, const char *name, const char *want)
{
	const struct system_value *v = value(t, SYSTEM_SETTING, name);

	assert_non_null(v);
	assert_string_equal(v->text, want);
}

/* A value of a captured file, read without our readers. */
static u64 captured(const char *kernel, const char *file, const char *name, u64 unit)
{
	_cleanup_free_ char *text = fixture_text(kernel, file);
	char key[64];
	char *at;

	snprintf(key, sizeof(key), "\n%s", name);
	at = strstr(text, key);
	if (!at) {
		assert_int_equal(strncmp(text, name, strlen(name)), 0);
		at = text - 1;
	}
	return strtoull(at + 1 + strlen(name), NULL, 10) * unit;
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		struct sampler_test t = {};
		const char *k = fixture_kernels[i];

		fixture_use(k);
		sampler_open(&t, &probe_system);
		sampler_sample(&t);
		check_value(
			&t, SYSTEM_VMSTAT, "pgfault", captured(k, "/proc/vmstat", "pgfault ", 1));
		check_value(&t, SYSTEM_VMSTAT, "compact_stall",
			captured(k, "/proc/vmstat", "compact_stall ", 1));
		check_value(&t, SYSTEM_VMSTAT, "allocstall_normal",
			captured(k, "/proc/vmstat", "allocstall_normal ", 1));
		assert_null(value(&t, SYSTEM_VMSTAT, "pgalloc_normal"));
		assert_null(value(&t, SYSTEM_VMSTAT, "numa_hit"));
		check_value(&t, SYSTEM_MEMINFO, "MemTotal",
			captured(k, "/proc/meminfo", "MemTotal:", 1024));
		check_value(&t, SYSTEM_MEMINFO, "HugePages_Total",
			captured(k, "/proc/meminfo", "HugePages_Total:", 1));
		assert_non_null(value(&t, SYSTEM_SYSCTL, "vm.swappiness"));
		assert_null(value(&t, SYSTEM_SYSCTL, "vm.overcommit_memory"));
		assert_non_null(value(&t, SYSTEM_SETTING, "thp/khugepaged/max_ptes_none"));
		assert_int_equal(sampler_count(&t, REC_SYSTEM_PRESSURE), 1);
		assert_string_not_equal(sampler_method(&t, "pressure (PSI)")->method, "");
		sampler_close(&t);
	}
	sys_root_set("");
}

static void put_counters(const char *vmstat, const char *meminfo)
{
	fixture_put_text("/proc/vmstat", vmstat);
	fixture_put_text("/proc/meminfo", meminfo);
}

static void test_changes(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	put_counters(
		"pgfault 5\npgmajfault 7\nallocstall_dma 0\n", "MemFree: 4 kB\nBounce: 1 kB\n");
	sampler_open(&t, &probe_system);
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_SYSTEM_VALUE), 4);
	check_value(&t, SYSTEM_MEMINFO, "MemFree", 4096);

	/* Only what changed is sent; a line that moved is found; a new name is not taken up. */
	put_counters("newcomer 1\npgfault 6\npgmajfault 7\noom_kill 1\n", "MemFree: 8 kB\n");
	usleep(100000);
	sampler_forget(&t);
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_SYSTEM_VALUE), 2);
	check_value(&t, SYSTEM_VMSTAT, "pgfault", 6);
	check_value(&t, SYSTEM_MEMINFO, "MemFree", 8192);

	/* Files that are gone or no longer of use fail nothing. */
	put_counters("\xff\xfe", "");
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void put_stat(int pid, const char *comm, u32 flags, u64 user, u64 kernel)
{
	char path[32], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		"%d (%s) S 2 0 0 0 -1 %u 0 0 0 0 %llu %llu 0 0 20 0 1 0 42 0 0 0 1 1 0\n", pid, comm,
		flags, user, kernel);
	fixture_put_text(path, text);
}

/* Of the kernel's own only, whatever a process calls itself; what has not run is not sent again. */
static void test_threads_of_nodes(void **state)
{
	const u32 kthread = 0x00200000; /* PF_KTHREAD */
	u64 tick = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	put_counters("pgfault 5\n", "MemFree: 4 kB\n");
	put_stat(30, "kswapd0", 0, 900, 900);
	put_stat(40, "kswapd0", kthread, 1, 20);
	put_stat(50, "kcompactd0", kthread, 0, 3);
	put_stat(60, "ksmd", kthread, 0, 9);
	sampler_open(&t, &probe_system);
	sampler_sample(&t);
	check_value(&t, SYSTEM_THREAD, "kswapd0", 21 * tick);
	check_value(&t, SYSTEM_THREAD, "kcompactd0", 3 * tick);
	check_value(&t, SYSTEM_THREAD, "ksmd", 9 * tick);
	put_stat(40, "kswapd0", kthread, 1, 25);
	put_stat(50, "other", 0, 77, 3); /* its number is another's */
	usleep(100000);
	sampler_forget(&t);
	sampler_sample(&t);
	check_value(&t, SYSTEM_THREAD, "kswapd0", 26 * tick);
	assert_int_equal(sampler_count(&t, REC_SYSTEM_VALUE), 1);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_settings(void **state)
{
	static const char dir[] = "/sys/kernel/mm/transparent_hugepage";
	struct sampler_test t = {};
	char root[PATH_MAX], path[128];

	(void)state;
	fixture_make(root);
	snprintf(path, sizeof(path), "%s/enabled", dir);
	fixture_put_text(path, "always [madvise] never\n");
	snprintf(path, sizeof(path), "%s/hugepages-64kB/enabled", dir);
	fixture_put_text(path, "always inherit madvise [never]\n");
	snprintf(path, sizeof(path), "%s/khugepaged/max_ptes_none", dir);
	fixture_put_text(path, "511\n");
	fixture_put_text("/sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	fixture_put_text("/proc/sys/vm/swappiness", "60\n");
	sampler_open(&t, &probe_system);
	check_text(&t, "thp/enabled", "madvise");
	check_text(&t, "thp/hugepages-64kB/enabled", "never");
	check_text(&t, "lru_gen/enabled", "0x0007");
	check_value(&t, SYSTEM_SETTING, "thp/khugepaged/max_ptes_none", 511);
	check_value(&t, SYSTEM_SYSCTL, "vm.swappiness", 60);
	assert_null(value(&t, SYSTEM_SETTING, "thp/khugepaged/pages_to_scan"));
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	fixture_put_text("/proc/sys/vm/swappiness", "10\n");
	sampler_end(&t);
	assert_int_equal(t.records.n, 1);
	check_value(&t, SYSTEM_SYSCTL, "vm.swappiness", 10);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_pressure(void **state)
{
	const struct system_pressure *p;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	fixture_put_text("/proc/pressure/memory",
		"some avg10=12.34 avg60=0.05 avg300=100.00 total=18446744073709551615\n"
		"full avg10=0.29 avg60=0.00 avg300=0.00 total=77\n");
	fixture_put_text("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
	fixture_put_text("/proc/pressure/io", "some avg10=1e999 avg60=x\n");
	sampler_open(&t, &probe_system);
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_SYSTEM_PRESSURE), 2);
	p = sampler_record(&t, REC_SYSTEM_PRESSURE, 0);
	assert_int_equal(p->resource, SYSTEM_MEMORY);
	assert_int_equal(p->some_avg10, 1234);
	assert_int_equal(p->some_avg60, 5);
	assert_int_equal(p->some_avg300, 10000);
	assert_int_equal(p->full_avg10, 29);
	assert_true(p->some_total_us == UINT64_MAX);
	assert_int_equal(p->full_total_us, 77);
	assert_int_equal(p->has_full, 1);
	p = sampler_record(&t, REC_SYSTEM_PRESSURE, 1);
	assert_int_equal(p->resource, SYSTEM_CPU);
	assert_int_equal(p->has_full, 0);
	/* Nothing changed: nothing is sent. */
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_nothing(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	sampler_open(&t, &probe_system);
	sampler_sample(&t);
	assert_int_equal(t.records.n, 4);
	for (size_t i = 0; i < t.records.n; i++) {
		const struct rec_method *m = sampler_record(&t, REC_METHOD, i);

		assert_non_null(m);
		assert_string_equal(m->probe, "system");
		assert_string_equal(m->method, "");
		assert_string_not_equal(m->missing, "");
	}
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_threads_of_nodes),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
