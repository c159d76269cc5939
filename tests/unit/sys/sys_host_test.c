/* Tests of sys/host.h, sys/kernel/kconfig.h, sys/memory/thp.h, sys/memory/slabinfo.h and
 * sys/memory/pressure.h. */
#include <sys/utsname.h>
#include <zlib.h>

#include "data/sys/fixture.h"
#include "sys/host.h"
#include "sys/kernel/kconfig.h"
#include "sys/memory/pressure.h"
#include "sys/memory/slabinfo.h"
#include "sys/memory/thp.h"

static struct host host; /* 17 KiB */

static void test_host_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		fixture_use(fixture_kernels[i]);
		host_read(&host);
		assert_memory_equal(host.release, fixture_kernels[i], strlen(fixture_kernels[i]));
		assert_null(strchr(host.release, '\n'));
		assert_int_equal(host.cpus, 2);
		assert_int_equal(host.nodes, i == 3 ? 1 : 2);
		assert_int_equal(host.cpu_node[0], 0);
		assert_int_equal(host.cpu_node[1], i == 3 ? 0 : 1);
		assert_int_equal(host.pageblock_order, 9);
		assert_true(host.pageblock_derived); /* pagetypeinfo is left alone */
		assert_true(host.mem_total_bytes > 300ULL << 20);
	}
	sys_root_set("");
}

static void test_host_bare(void **state)
{
	char tree[PATH_MAX];
	struct utsname name;

	(void)state;
	assert_int_equal(uname(&name), 0);
	fixture_make(tree);
	host_read(&host);
	assert_string_equal(host.release, name.release);
	assert_true(host.cpus >= 1);
	assert_int_equal(host.nodes, 1);
	assert_true(idset_has(&host.nodes_online, 0));
	assert_true(host.pageblock_derived);
	assert_int_equal(host.pageblock_order, 9);
	assert_int_equal(host.mem_total_bytes, 0);
	assert_false(host.has_btf);
	assert_string_equal(host.lockdown, "");
	fixture_put_text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "536870912\n");
	fixture_put_text("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	fixture_put_text("/sys/kernel/btf/vmlinux", "");
	fixture_put_text("/sys/devices/system/cpu/online", "0,2-3\n");
	fixture_put_text("/sys/devices/system/node/online", "0,4\n");
	fixture_put_text("/sys/devices/system/node/node4/cpulist", "2-3\n");
	host_read(&host);
	assert_true(host.pageblock_derived && host.page_bytes == 4096);
	assert_int_equal(host.pageblock_order, 17);
	assert_string_equal(host.lockdown, "integrity");
	assert_true(host.has_btf);
	assert_int_equal(host.cpus, 3);
	assert_int_equal(host.nodes, 2);
	assert_int_equal(host.cpu_node[3], 4);
	fixture_put_text("/sys/devices/system/cpu/online", "junk");
	fixture_put_text("/sys/devices/system/node/online", "\n");
	host_read(&host);
	assert_int_equal(host.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(host.nodes, 1);
	fixture_remove(tree);
}

static void test_host_live(void **state)
{
	struct utsname name;

	(void)state;
	host_read(&host);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(host.release, name.release);
	assert_int_equal(host.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(host.nodes >= 1 && host.mem_total_bytes > 0);
	assert_int_equal(host.page_bytes, sysconf(_SC_PAGESIZE));
}

#define CONFIG                                                                       \
	"# comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_HZ=250\nCONFIG_AB=m\n" \
	"CONFIG_S=\"a b\"\nCONFIG_E=\"\"\n# CONFIG_A_IS is not\nCONFIG_Q=\"\nCONFIG_END=y"

static void check_config(const char *name, int rc, const char *value)
{
	char got[8] = "kept";

	assert_int_equal(kconfig_get(CONFIG, name, got, sizeof(got)), rc);
	assert_string_equal(got, rc ? "kept" : value);
}

static void test_kconfig_get(void **state)
{
	(void)state;
	check_config("CONFIG_A", 0, "y");
	check_config("A", 0, "y");
	check_config("B", 0, "n");
	check_config("HZ", 0, "250");
	check_config("AB", 0, "m");
	check_config("S", 0, "a b");
	check_config("E", 0, "");
	check_config("Q", 0, "\"");
	check_config("END", 0, "y");
	check_config("A_IS", -ENOENT, NULL);
	check_config("NONE", -ENOENT, NULL);
	check_config("", -ENOENT, NULL);
}

static void test_kconfig_load(void **state)
{
	_cleanup_str_ struct str out = {};
	char tree[PATH_MAX];
	char path[PATH_MAX];
	struct utsname name;
	char gz_bytes[256];
	char value[8];
	gzFile gz;
	FILE *f;
	size_t n;

	(void)state;
	fixture_make(tree);
	assert_int_equal(kconfig_load(&out), -ENOENT);
	assert_int_equal(uname(&name), 0);
	snprintf(path, sizeof(path), "/boot/config-%s", name.release);
	fixture_put_text(path, CONFIG);
	assert_int_equal(kconfig_load(&out), 0);
	assert_string_equal(str_get(&out), CONFIG);
	fixture_put_text("/proc/config.gz", "");
	assert_int_equal(sys_path(path, "/proc/config.gz"), 0);
	gz = gzopen(path, "w");
	assert_non_null(gz);
	assert_int_equal(gzputs(gz, "CONFIG_Z=y\n" CONFIG), strlen("CONFIG_Z=y\n" CONFIG));
	assert_int_equal(gzclose(gz), Z_OK);
	assert_int_equal(kconfig_load(&out), 0);
	assert_int_equal(kconfig_get(str_get(&out), "Z", value, sizeof(value)), 0);
	/* Cut short, and damaged. */
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(gz_bytes, 1, sizeof(gz_bytes), f);
	fclose(f);
	assert_in_range(n, 40, sizeof(gz_bytes));
	fixture_put("/proc/config.gz", gz_bytes, n - 20);
	assert_int_equal(kconfig_load(&out), -EBADMSG);
	gz_bytes[30] = (char)~gz_bytes[30];
	fixture_put("/proc/config.gz", gz_bytes, n);
	assert_int_equal(kconfig_load(&out), -EBADMSG);
	fixture_remove(tree);
}

static void test_kconfig_live(void **state)
{
	_cleanup_str_ struct str out = {};
	char value[8];
	int rc = kconfig_load(&out);

	(void)state;
	if (rc == -ENOENT)
		fixture_skip("the kernel's configuration is not to be found");
	assert_int_equal(rc, 0);
	assert_int_equal(kconfig_get(str_get(&out), "CONFIG_MMU", value, sizeof(value)), 0);
	assert_string_equal(value, "y");
}

static void test_thp_captured(void **state)
{
	struct thp thp;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		fixture_use(fixture_kernels[i]);
		assert_int_equal(thp_read(&thp), 0);
		assert_string_equal(thp.enabled, "madvise");
		assert_string_equal(thp.shmem_enabled, "never");
		assert_true(thp.defrag[0]);
		assert_int_equal(thp.pmd_size_bytes, 2 << 20);
		assert_int_equal(thp.max_ptes_none, 511);
		assert_int_equal(thp.scan_sleep_ms, 10000);
		assert_int_equal(thp.alloc_sleep_ms, 60000);
		assert_int_equal(thp.sizes, i < 2 ? 0 : 9);
		if (i < 2)
			continue;
		assert_int_equal(thp.size[0].bytes, 8192);
		assert_string_equal(thp.size[8].enabled, "inherit");
		assert_string_equal(thp.size[3].enabled, "never");
		assert_string_equal(thp.size[3].shmem_enabled, "never");
		assert_int_equal(thp.size[3].bytes, 64 << 10);
	}
	sys_root_set("");
}

static void test_thp_bare(void **state)
{
	struct thp thp = {.sizes = 99};
	char word[THP_CHOICE_MAX];
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	assert_int_equal(thp_read(&thp), -ENOENT);
	assert_int_equal(thp.sizes, 99);
	fixture_put_text("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	fixture_put_text("/sys/kernel/mm/transparent_hugepage/hugepages-xkB/enabled", "[always]\n");
	for (int i = 0; i < THP_SIZES_MAX + 3; i++) {
		char path[96];

		snprintf(path, sizeof(path),
			"/sys/kernel/mm/transparent_hugepage/hugepages-%dkB/enabled", 4 << i % 20);
		fixture_put_text(path, "always [inherit] madvise never\n");
	}
	assert_int_equal(thp_read(&thp), 0);
	assert_string_equal(thp.enabled, "always");
	assert_string_equal(thp.defrag, "");
	assert_true(thp.max_ptes_none == THP_UNKNOWN);
	assert_true(thp.pmd_size_bytes == THP_UNKNOWN);
	assert_int_equal(thp.sizes, 20);
	assert_int_equal(thp.size[0].bytes, 4096);
	assert_string_equal(thp.size[0].shmem_enabled, "");
	fixture_remove(tree);
	assert_int_equal(thp_choice_parse("always defer [defer+madvise] madvise never", word), 0);
	assert_string_equal(word, "defer+madvise");
}

#define SLAB_HEAD                                                                                \
	"slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> "         \
	"<objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata " \
	"<active_slabs> <num_slabs> <sharedavail>\n"
#define SLAB_TAIL ": tunables    0    0    0 : slabdata      8      9      0\n"

static void test_slabinfo(void **state)
{
	_cleanup_slabinfo_ struct slabinfo info = {};
	const struct slab_cache *c;

	(void)state;
	assert_int_equal(slabinfo_parse(SLAB_HEAD "dentry   100    120    192   21    2 " SLAB_TAIL
						  "a b 1 c  1 2 3 4 5 " SLAB_TAIL
						  "big 1 2 3 4 18446744073709551615 " SLAB_TAIL,
				 4096, &info),
		0);
	assert_int_equal(info.caches.n, 3);
	c = info.caches.v;
	assert_string_equal(c->name, "dentry");
	assert_int_equal(c->active_objs, 100);
	assert_int_equal(c->num_objs, 120);
	assert_int_equal(c->object_bytes, 192);
	assert_int_equal(c->objs_per_slab, 21);
	assert_int_equal(c->pages_per_slab, 2);
	assert_int_equal(c->active_slabs, 8);
	assert_int_equal(c->num_slabs, 9);
	assert_int_equal(c->total_bytes, 9 * 2 * 4096);
	assert_string_equal(info.caches.v[1].name, "a b 1 c");
	assert_int_equal(info.caches.v[1].pages_per_slab, 5);
	assert_true(info.caches.v[2].total_bytes == ~0ULL);
}

static void test_slabinfo_nasty(void **state)
{
	static const char *const bad[] = {"", SLAB_HEAD, "x", "x 1 2 3 4 5",
		"x 1 2 3 4 5 :", "x 1 2 3 4 " SLAB_TAIL, "x -1 2 3 4 5 " SLAB_TAIL,
		"1 2 3 4 5 " SLAB_TAIL, "x 1 2 3 4 5 : tunables 0 0 0 : slabdata 1"};
	_cleanup_slabinfo_ struct slabinfo info = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(slabinfo_parse(bad[i], 4096, &info), -EINVAL);
}

static void test_slabinfo_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_slabinfo_ struct slabinfo info = {};
		u64 sum = 0;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(slabinfo_read(&info), 0);
		assert_true(info.caches.n > 80);
		for (size_t k = 0; k < info.caches.n; k++) {
			const struct slab_cache *c = &info.caches.v[k];

			assert_true(c->active_objs <= c->num_objs);
			assert_true(c->object_bytes * c->num_objs <= c->total_bytes);
			sum += c->total_bytes;
		}
		assert_in_range(sum, 4 << 20, 1 << 30);
	}
	sys_root_set("");
}

static void test_slabinfo_live(void **state)
{
	_cleanup_slabinfo_ struct slabinfo info = {};
	int rc = slabinfo_read(&info);

	(void)state;
	if (rc == -EACCES || rc == -ENOENT)
		fixture_skip("/proc/slabinfo is root's, or not there");
	assert_int_equal(rc, 0);
	assert_true(info.caches.n > 10);
}

static void test_pressure(void **state)
{
	static const char *const bad[] = {"", "\n", "some",
		"full avg10=0 avg60=0 avg300=0 total=1\n", "some avg10=1.0 avg60=1.0 avg300=1.0",
		"some avg10=x avg60=1 avg300=1 total=1",
		"some avg10=-1.00 avg60=1 avg300=1 total=1",
		"some avg10=1 avg60=1 avg300=1 total=18446744073709551616"};
	struct pressure p;

	(void)state;
	assert_int_equal(pressure_parse("some avg10=96.74 avg60=45.64 avg300=11.84 total=36890470\n"
					"full avg10=0.50 avg60=0.00 avg300=100.00 total=1",
				 &p),
		0);
	assert_true(p.some.avg10 > 96.7399 && p.some.avg10 < 96.7401);
	assert_int_equal(p.some.total_us, 36890470);
	assert_true(p.has_full);
	assert_true(p.full.avg10 == 0.5 && p.full.avg300 == 100);
	assert_int_equal(pressure_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", &p), 0);
	assert_false(p.has_full);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(pressure_parse(bad[i], &p), -EINVAL);
}

static void test_pressure_read(void **state)
{
	struct pressure p;
	int rc;

	(void)state;
	fixture_use("5.10");
	assert_int_equal(pressure_read("memory", &p), 0);
	assert_true(p.some.total_us > 0);
	assert_int_equal(pressure_read("none", &p), -ENOENT);
	sys_root_set("");
	rc = pressure_read("memory", &p);
	if (rc == -ENOENT || rc == -EOPNOTSUPP)
		fixture_skip("PSI is not built in, or is off");
	assert_int_equal(rc, 0);
	assert_true(p.full.total_us <= p.some.total_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_captured),
		cmocka_unit_test(test_host_bare),
		cmocka_unit_test(test_host_live),
		cmocka_unit_test(test_kconfig_get),
		cmocka_unit_test(test_kconfig_load),
		cmocka_unit_test(test_kconfig_live),
		cmocka_unit_test(test_thp_captured),
		cmocka_unit_test(test_thp_bare),
		cmocka_unit_test(test_slabinfo),
		cmocka_unit_test(test_slabinfo_nasty),
		cmocka_unit_test(test_slabinfo_captured),
		cmocka_unit_test(test_slabinfo_live),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_pressure_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
