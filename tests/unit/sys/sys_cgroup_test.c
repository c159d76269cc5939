/* Tests of sys/mounts.h and sys/group/cgroup.h. */
#include "data/sys/fixture.h"
#include "sys/group/cgroup.h"
#include "sys/memory/pressure.h"

#define PURE_V2 "29 24 0:24 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MEMORY "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define V1_CPU "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
#define HYBRID_V2 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static void test_mounts(void **state)
{
	_cleanup_mounts_ struct mounts mounts = {};
	const struct mount *m;

	(void)state;
	assert_int_equal(
		mounts_parse("36 35 98:0 /a\\040b /mnt\\0112\\012\\134\\043\\101 rw,noatime "
			     "master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
			     "37 35 98:1 / /x ro - tmpfs  rw,size=4k\n" V1_CPU
			     "38 1 0:1 / /y rw - z s",
			&mounts),
		0);
	assert_int_equal(mounts.list.n, 3);
	m = &mounts.list.v[0];
	assert_int_equal(m->id, 36);
	assert_int_equal(m->parent, 35);
	assert_string_equal(m->root, "/a b");
	assert_string_equal(m->point, "/mnt\t2\n\\#\\101");
	assert_string_equal(m->options, "rw,noatime");
	assert_string_equal(m->fstype, "ext3");
	assert_string_equal(m->source, "/dev/root");
	assert_string_equal(m->super_options, "rw,errors=continue");
	assert_string_equal(mounts.list.v[1].source, "");
	assert_string_equal(mounts.list.v[1].super_options, "rw,size=4k");
	assert_ptr_equal(mounts_find(&mounts, "cgroup", "cpu"), &mounts.list.v[2]);
	assert_ptr_equal(mounts_find(&mounts, "cgroup", "cpuacct"), &mounts.list.v[2]);
	assert_null(mounts_find(&mounts, "cgroup", "cpua"));
	assert_null(mounts_find(&mounts, "cgroup2", NULL));
	assert_ptr_equal(mounts_find(&mounts, "tmpfs", NULL), &mounts.list.v[1]);
}

static void test_mounts_nasty(void **state)
{
	static const char *const bad[] = {"", "\n", "36", "x 35 98:0 / /a rw - t s o",
		"36 35 98:0 / /a rw", "36 35 98:0 / /a rw t s o", "36 35 98:0 / /a rw -",
		"36 35 98:0 / /a rw - t", "36 35 98:0 / /a rw - t s", "-1 35 98:0 / /a rw - t s o"};
	_cleanup_mounts_ struct mounts mounts = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(mounts_parse(bad[i], &mounts), -EINVAL);
	/* The whole of a file system comes before a part of it. */
	assert_int_equal(
		mounts_parse("1 1 0:1 /part /a rw - t s o\n2 1 0:1 / /b rw - t s o\n", &mounts), 0);
	assert_string_equal(mounts_find(&mounts, "t", NULL)->point, "/b");
}

static int find(const char *mountinfo, struct cgroup_mounts *ret)
{
	_cleanup_mounts_ struct mounts mounts = {};

	assert_int_equal(mounts_parse(mountinfo, &mounts), 0);
	return cgroup_mounts_find(&mounts, ret);
}

static void test_find(void **state)
{
	struct cgroup_mounts m;

	(void)state;
	assert_int_equal(find(PURE_V2, &m), 0);
	assert_int_equal(m.memory.version, 2);
	assert_int_equal(m.unified.version, 2);
	assert_string_equal(m.memory.mount, "/sys/fs/cgroup");
	assert_int_equal(find(V1_CPU HYBRID_V2 V1_MEMORY, &m), 0);
	assert_int_equal(m.memory.version, 1);
	assert_string_equal(m.memory.mount, "/sys/fs/cgroup/memory");
	assert_string_equal(m.unified.mount, "/sys/fs/cgroup/unified");
	assert_int_equal(find(V1_CPU V1_MEMORY, &m), 0);
	assert_int_equal(m.unified.version, 0);
	assert_int_equal(find(V1_CPU, &m), -ENOENT);
}

static void check_resolve(const struct cgroup_mounts *m, const char *path, int version, u32 level,
	const char *dir, const char *below)
{
	struct cgroup cg;

	assert_int_equal(cgroup_resolve(m, path, &cg), 0);
	assert_int_equal(cg.version, version);
	assert_int_equal(cg.level, level);
	assert_string_equal(cg.dir, dir);
	assert_string_equal(cgroup_path(&cg), below);
}

static void test_resolve(void **state)
{
	struct cgroup cg = {.version = 7};
	struct cgroup_mounts m;
	char long_path[PATH_MAX + 8];
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	fixture_put_text("/sys/fs/cgroup/memory/a/b c/x", "");
	fixture_put_text("/sys/fs/cgroup/unified/u/x", "");
	assert_int_equal(find(V1_MEMORY HYBRID_V2, &m), 0);
	check_resolve(&m, "/sys/fs/cgroup/memory/a", 1, 1, "/sys/fs/cgroup/memory/a", "/a");
	check_resolve(&m, "/sys/fs/cgroup/memory//a/./b c//", 1, 2, "/sys/fs/cgroup/memory/a/b c",
		"/a/b c");
	check_resolve(&m, "/sys/fs/cgroup/memory", 1, 0, "/sys/fs/cgroup/memory", "/");
	check_resolve(&m, "/a/b c", 1, 2, "/sys/fs/cgroup/memory/a/b c", "/a/b c");
	check_resolve(&m, "a", 1, 1, "/sys/fs/cgroup/memory/a", "/a");
	check_resolve(&m, "/", 1, 0, "/sys/fs/cgroup/memory", "/");
	check_resolve(&m, "/u", 2, 1, "/sys/fs/cgroup/unified/u", "/u");
	check_resolve(&m, "/sys/fs/cgroup/unified/u", 2, 1, "/sys/fs/cgroup/unified/u", "/u");
	assert_int_equal(cgroup_resolve(&m, "/none", &cg), -ENOENT);
	assert_int_equal(cgroup_resolve(&m, "/sys/fs/cgroup/memoryx", &cg), -ENOENT);
	assert_int_equal(cgroup_resolve(&m, "/a/../a", &cg), -EINVAL);
	assert_int_equal(cgroup_resolve(&m, "/a/b c/x", &cg), -ENOTDIR);
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(cgroup_resolve(&m, long_path, &cg), -ENAMETOOLONG);
	assert_int_equal(cg.version, 7);
	fixture_remove(tree);
}

/* In a container, the mount shows the container's own group as its root. */
static void test_resolve_container(void **state)
{
	struct cgroup_mounts m;
	struct cgroup cg;
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	fixture_put_text("/sys/fs/cgroup/x/y", "");
	fixture_put_text("/proc/5/cgroup", "0::/docker/abc/x\n");
	fixture_put_text("/proc/6/cgroup", "0::/../other\n");
	fixture_put_text("/proc/7/cgroup", "4:memory:/x\n");
	assert_int_equal(find("29 24 0:24 /docker/abc /sys/fs/cgroup rw - cgroup2 c rw\n", &m), 0);
	check_resolve(&m, "/docker/abc/x", 2, 3, "/sys/fs/cgroup/x", "/x");
	check_resolve(&m, "/x", 2, 3, "/sys/fs/cgroup/x", "/x");
	assert_int_equal(cgroup_of_pid(&m, 5, &cg), 0);
	assert_string_equal(cgroup_path(&cg), "/x");
	assert_int_equal(cgroup_of_pid(&m, 6, &cg), -ENOENT);
	assert_int_equal(cgroup_of_pid(&m, 7, &cg), -ENOENT);
	assert_int_equal(cgroup_of_pid(&m, 8, &cg), -ENOENT);
	fixture_remove(tree);
}

static void test_ids(void **state)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	struct cgroup_mounts m;
	struct cgroup cg;
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	assert_int_equal(find(PURE_V2, &m), 0);
	assert_int_equal(cgroup_ids_load(&m.memory, &ids), -ENOENT);
	assert_null(cgroup_ids_path(&ids, 1));
	for (int i = 0; i < 300; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/fs/cgroup/g%d/h/memory.current", i);
		fixture_put_text(path, "1\n");
	}
	assert_int_equal(cgroup_ids_load(&m.memory, &ids), 0);
	assert_int_equal(ids.list.n, 601);
	assert_false(ids.truncated);
	assert_int_equal(cgroup_resolve(&m, "/g299/h", &cg), 0);
	assert_string_equal(cgroup_ids_path(&ids, cg.id), "/g299/h");
	assert_int_equal(cgroup_resolve(&m, "/", &cg), 0);
	assert_string_equal(cgroup_ids_path(&ids, cg.id), "/");
	assert_null(cgroup_ids_path(&ids, 0));
	fixture_remove(tree);
}

static void test_limit(void **state)
{
	u64 v = 3;

	(void)state;
	assert_int_equal(cgroup_limit_parse("max\n", &v), 0);
	assert_true(v == CGROUP_NO_LIMIT);
	assert_int_equal(cgroup_limit_parse("9223372036854771712\n", &v), 0);
	assert_true(v == CGROUP_NO_LIMIT);
	assert_int_equal(cgroup_limit_parse("9223372036854710272", &v), 0);
	assert_true(v == CGROUP_NO_LIMIT);
	assert_int_equal(cgroup_limit_parse("67108864\n", &v), 0);
	assert_int_equal(v, 67108864);
	assert_int_equal(cgroup_limit_parse("0", &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(cgroup_limit_parse("", &v), -EINVAL);
	assert_int_equal(cgroup_limit_parse("-1", &v), -EINVAL);
	assert_int_equal(cgroup_limit_parse("99999999999999999999", &v), -EINVAL);
}

/* app.service: 64 MiB at most, throttled at 32 MiB. dd.service: 24 MiB, and dd was killed. */
static void test_captured_v2(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		_cleanup_keyvals_ struct keyvals stat = {};
		struct cgroup_memory memory;
		struct cgroup_mounts mounts;
		struct pressure pressure;
		struct cgroup cg;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(cgroup_mounts_read(&mounts), 0);
		assert_int_equal(cgroup_of_pid(&mounts, 1234, &cg), 0);
		assert_string_equal(cgroup_path(&cg), "/system.slice/app.service");
		assert_int_equal(cg.level, 2);
		assert_int_equal(cgroup_memory_read(&cg, &memory), 0);
		assert_int_equal(memory.limit_bytes, 64 << 20);
		assert_int_equal(memory.high_bytes, 32 << 20);
		assert_in_range(memory.usage_bytes, 10 << 20, 32 << 20);
		assert_true(memory.swap_limit_bytes == CGROUP_NO_LIMIT);
		assert_true(memory.memsw_limit_bytes == CGROUP_NO_LIMIT);
		assert_true(memory.has_swap);
		assert_int_equal(memory.min_bytes + memory.low_bytes + memory.oom_kill_total, 0);
		assert_true(i == 0 || memory.peak_bytes >= memory.usage_bytes);
		assert_int_equal(cgroup_stat_read(&cg, &stat), 0);
		assert_true(keyvals_get_or(&stat, "anon", 0) > 10 << 20);
		assert_int_equal(pressure_read_cgroup(cg.dir, "memory", &pressure), 0);
		assert_true(pressure.has_full);
		assert_int_equal(cgroup_resolve(&mounts, "/system.slice/dd.service", &cg), 0);
		assert_int_equal(cgroup_memory_read(&cg, &memory), 0);
		assert_int_equal(memory.limit_bytes, 24 << 20);
		assert_true(memory.high_bytes == CGROUP_NO_LIMIT);
		assert_int_equal(memory.oom_kill_total, 1);
		assert_true(memory.limit_hit_total > 0 && memory.oom_total > 0);
		/* The root of v2 has no memory.current. */
		assert_int_equal(cgroup_resolve(&mounts, "/", &cg), 0);
		assert_int_equal(cgroup_memory_read(&cg, &memory), -ENOENT);
	}
	sys_root_set("");
}

static void test_captured_v1(void **state)
{
	_cleanup_keyvals_ struct keyvals stat = {};
	struct cgroup_memory memory;
	struct cgroup_mounts mounts;
	struct cgroup cg;

	(void)state;
	fixture_use("6.18");
	assert_int_equal(cgroup_mounts_read(&mounts), 0);
	assert_int_equal(cgroup_of_pid(&mounts, 1234, &cg), 0);
	assert_int_equal(cg.version, 1);
	assert_string_equal(cg.dir, "/sys/fs/cgroup/memory/system.slice/app.service");
	assert_int_equal(cgroup_memory_read(&cg, &memory), 0);
	assert_true(memory.limit_bytes == CGROUP_NO_LIMIT);
	assert_true(memory.memsw_limit_bytes == CGROUP_NO_LIMIT);
	assert_true(memory.peak_bytes >= memory.usage_bytes && memory.usage_bytes > 0);
	assert_true(memory.has_swap);
	assert_int_equal(memory.oom_kill_total + memory.limit_hit_total, 0);
	assert_int_equal(cgroup_stat_read(&cg, &stat), 0);
	assert_true(keyvals_get_or(&stat, "total_rss", 0) > 0);
	sys_root_set("");
}

/* The root of version 1 leaves out what the kernel has; other groups have it in their usage. */
static void test_root_v1(void **state)
{
	struct cgroup root = {.version = 1, .id = 1}, group = {.version = 1, .id = 2};
	struct cgroup_memory memory;
	char dir[PATH_MAX];

	(void)state;
	fixture_make(dir);
	fixture_put_text("/root/memory.usage_in_bytes", "1000000\n");
	fixture_put_text("/root/memory.kmem.usage_in_bytes", "500000\n");
	snprintf(root.dir, sizeof(root.dir), "/root");
	snprintf(group.dir, sizeof(group.dir), "/root");
	assert_int_equal(cgroup_memory_read(&root, &memory), 0);
	assert_int_equal(memory.usage_bytes, 1500000);
	assert_int_equal(cgroup_memory_read(&group, &memory), 0);
	assert_int_equal(memory.usage_bytes, 1000000);
	fixture_remove(dir);
}

static void test_live(void **state)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	struct cgroup_memory memory;
	struct cgroup_mounts mounts;
	struct cgroup cg;
	int rc = cgroup_mounts_read(&mounts);

	(void)state;
	if (rc == -ENOENT)
		fixture_skip("no memory cgroups are mounted");
	assert_int_equal(rc, 0);
	rc = cgroup_of_pid(&mounts, getpid(), &cg);
	if (rc == -ENOENT)
		fixture_skip("our cgroup is outside of what is mounted");
	assert_int_equal(rc, 0);
	assert_true(cg.id > 0);
	assert_int_equal(cgroup_ids_load(&mounts.memory, &ids), 0);
	assert_string_equal(cgroup_ids_path(&ids, cg.id), cgroup_path(&cg));
	rc = cgroup_memory_read(&cg, &memory);
	if (rc == -ENOENT)
		fixture_skip("our cgroup has no memory controller");
	assert_int_equal(rc, 0);
	assert_true(memory.usage_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_v1),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_mounts_nasty),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_resolve_container),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_captured_v2),
		cmocka_unit_test(test_captured_v1),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
