/* Tests of sys/process/maps.h and sys/process/numa_maps.h. */
#include <sys/mman.h>

#include "data/sys/fixture.h"
#include "sys/process/maps.h"
#include "sys/process/numa_maps.h"

#define LINE(path) "7f0000000000-7f0000001000 rw-s 00002000 fe:0a 9                 " path "\n"

static void check_path(const char *line, const char *path, enum mapping_kind kind, bool deleted)
{
	_cleanup_maps_ struct maps maps = {};

	assert_int_equal(maps_parse(line, &maps), 0);
	assert_int_equal(maps.list.n, 1);
	assert_string_equal(maps.list.v[0].path, path);
	assert_string_equal(mapping_kind_name(maps.list.v[0].kind), mapping_kind_name(kind));
	assert_int_equal(maps.list.v[0].deleted, deleted);
}

static void test_line(void **state)
{
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *m;

	(void)state;
	assert_int_equal(maps_parse("55d0a000-55d0c000 r-xs 00002000 fe:0a 320475 /a", &maps), 0);
	m = maps.list.v;
	assert_true(m->start == 0x55d0a000 && m->end == 0x55d0c000 && m->offset == 0x2000);
	assert_int_equal(m->prot, MAPPING_READ | MAPPING_EXEC);
	assert_true(m->shared);
	assert_int_equal(m->dev_major, 0xfe);
	assert_int_equal(m->dev_minor, 10);
	assert_int_equal(m->inode, 320475);
	assert_string_equal(m->path, "/a");
	assert_int_equal(maps_parse("1-2 ---p 0 0:0 0", &maps), 0);
	assert_int_equal(maps.list.v[0].prot, 0);
	assert_false(maps.list.v[0].shared);
	assert_string_equal(maps.list.v[0].path, "");
}

static void test_kinds(void **state)
{
	(void)state;
	check_path(LINE(""), "", MAPPING_ANON, false);
	check_path(LINE("[heap]"), "[heap]", MAPPING_HEAP, false);
	check_path(LINE("[stack]"), "[stack]", MAPPING_STACK, false);
	check_path(LINE("[stack:12]"), "[stack:12]", MAPPING_STACK, false);
	check_path(LINE("[anon:my heap]"), "[anon:my heap]", MAPPING_ANON, false);
	check_path(LINE("[anon_shmem:x]"), "[anon_shmem:x]", MAPPING_SHMEM, false);
	check_path(LINE("[vdso]"), "[vdso]", MAPPING_VDSO, false);
	check_path(LINE("[vvar_vclock]"), "[vvar_vclock]", MAPPING_VDSO, false);
	check_path(LINE("[vsyscall]"), "[vsyscall]", MAPPING_VDSO, false);
	check_path(LINE("/a b/c  d"), "/a b/c  d", MAPPING_FILE, false);
	check_path(LINE("/a (deleted)"), "/a", MAPPING_FILE, true);
	check_path(LINE("/a (deleted) (deleted)"), "/a (deleted)", MAPPING_FILE, true);
	check_path(LINE("/a\\012b\\040\\ c"), "/a\nb\\040\\ c", MAPPING_FILE, false);
	check_path(LINE("/memfd:x y (deleted)"), "/memfd:x y", MAPPING_SHMEM, true);
	check_path(LINE("/dev/shm/x"), "/dev/shm/x", MAPPING_SHMEM, false);
	check_path(LINE("/SYSV00000000 (deleted)"), "/SYSV00000000", MAPPING_SHMEM, true);
	check_path(LINE("/dev/zero (deleted)"), "/dev/zero", MAPPING_SHMEM, true);
	check_path("1-2 rw-p 0 0:6 4 /dev/zero", "/dev/zero", MAPPING_ANON, false);
	check_path(LINE("/anon_hugepage (deleted)"), "/anon_hugepage", MAPPING_HUGETLB, true);
	check_path(LINE("/dev/hugepages/a"), "/dev/hugepages/a", MAPPING_HUGETLB, false);
	check_path(LINE("anon_inode:[perf_event]"), "anon_inode:[perf_event]", MAPPING_FILE, false);
	assert_string_equal(mapping_kind_name(MAPPING_KINDS), "unknown");
}

static void test_nasty(void **state)
{
	static const char *const bad[] = {"\n", "x", "1-2", "2-1 rw-p 0 0:0 0", "1-1 rw-p 0 0:0 0",
		"1-2 rw- 0 0:0 0", "1-2 rw-pp 0 0:0 0", "1-2 rw-p z 0:0 0", "1-2 rw-p 0 0 0",
		"1-2 rw-p 0 0:0 -1", "-2 rw-p 0 0:0 0", "11112222333344445-2 rw-p 0 0:0 0",
		"1-2 rw-p 0 100000000:0 0", "1-2 rw-p 0 0:0",
		"1-2 rw-p 0 0:0 99999999999999999999"};
	_cleanup_maps_ struct maps maps = {};

	(void)state;
	assert_int_equal(maps_parse("5-6 rw-p 0 0:0 0 /kept", &maps), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(maps_parse(bad[i], &maps), -EINVAL);
	assert_string_equal(maps.list.v[0].path, "/kept");
	assert_int_equal(maps_parse("", &maps), 0);
	assert_int_equal(maps.list.n, 0);
	assert_null(maps_find(&maps, 0));
	assert_int_equal(
		maps_parse("junk\n5-6 rw-p 0 0:0 0 /a\njunk\n2-3 rw-p 0 0:0 0 /b", &maps), 0);
	assert_int_equal(maps.list.n, 2);
	assert_string_equal(maps.list.v[0].path, "/b");
}

static void test_find(void **state)
{
	_cleanup_maps_ struct maps maps = {};

	(void)state;
	assert_int_equal(maps_parse("1000-2000 r--p 0 0:0 0 /a\n2000-3000 r--p 0 0:0 0 /b\n"
				    "5000-6000 r--p 0 0:0 0 /c\n"
				    "ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]\n",
				 &maps),
		0);
	assert_null(maps_find(&maps, 0));
	assert_null(maps_find(&maps, 0xfff));
	assert_string_equal(maps_find(&maps, 0x1000)->path, "/a");
	assert_string_equal(maps_find(&maps, 0x1fff)->path, "/a");
	assert_string_equal(maps_find(&maps, 0x2000)->path, "/b");
	assert_null(maps_find(&maps, 0x3000));
	assert_string_equal(maps_find(&maps, 0x5fff)->path, "/c");
	assert_string_equal(maps_find(&maps, 0xffffffffff600fffULL)->path, "[vsyscall]");
	assert_null(maps_find(&maps, ~0ULL));
}

static const struct mapping *by_path(const struct maps *maps, const char *path)
{
	for (size_t i = 0; i < maps->list.n; i++) {
		if (!strcmp(maps->list.v[i].path, path))
			return &maps->list.v[i];
	}
	fail_msg("no mapping of %s", path);
	return NULL;
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_maps_ struct maps maps = {};

		fixture_use(fixture_kernels[i]);
		assert_int_equal(maps_read(1234, &maps), 0);
		assert_true(maps.list.n > 30);
		assert_true(by_path(&maps, "/tmp/gone (deleted)")->deleted);
		assert_int_equal(by_path(&maps, "/tmp/new\nline = a\tb\\ c")->kind, MAPPING_FILE);
		assert_int_equal(by_path(&maps, "/memfd:my memfd")->kind, MAPPING_SHMEM);
		assert_int_equal(by_path(&maps, "/dev/shm/x y")->kind, MAPPING_SHMEM);
		assert_int_equal(by_path(&maps, "/SYSV00000000")->kind, MAPPING_SHMEM);
		assert_int_equal(by_path(&maps, "[heap]")->kind, MAPPING_HEAP);
		assert_int_equal(by_path(&maps, "[stack]")->kind, MAPPING_STACK);
		assert_int_equal(by_path(&maps, "[vvar]")->kind, MAPPING_VDSO);
		if (i < 3)
			assert_int_equal(by_path(&maps, "/anon_hugepage")->kind, MAPPING_HUGETLB);
	}
	sys_root_set("");
}

static void test_live(void **state)
{
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *m;
	char *page;
	int local;

	(void)state;
	page = mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(&maps, (u64)(uintptr_t)page + 5000);
	assert_non_null(m);
	assert_int_equal(m->kind, MAPPING_SHMEM);
	assert_true(m->shared && m->prot == MAPPING_READ);
	m = maps_find(&maps, (u64)(uintptr_t)test_live);
	assert_non_null(m);
	assert_int_equal(m->kind, MAPPING_FILE);
	assert_true(m->prot & MAPPING_EXEC);
	/* Under AddressSanitizer a local may live on a fake stack. */
	assert_non_null(maps_find(&maps, (u64)(uintptr_t)&local));
	assert_int_equal(maps_read(0x7ffffffe, &maps), -ENOENT);
	assert_int_equal(maps_read(2, &maps), 0);
	assert_int_equal(maps.list.n, 0);
	munmap(page, 3 * 4096);
}

static const struct numa_map *numa_line(struct numa_maps *maps, const char *line)
{
	assert_int_equal(numa_maps_parse(line, maps), 0);
	assert_int_equal(maps->list.n, 1);
	return maps->list.v;
}

static void test_numa_line(void **state)
{
	_cleanup_numa_maps_ struct numa_maps maps = {};
	const struct numa_map *m;

	(void)state;
	m = numa_line(&maps, "00401000 interleave:0-1 file=/a\\040\\075b\\\\040c anon=2 dirty=121 "
			     "mapped=7 mapmax=9 swapcache=1 active=15 writeback=3 N0=60 N1=61 "
			     "kernelpagesize_kB=4\n");
	assert_int_equal(m->start, 0x401000);
	assert_string_equal(m->policy, "interleave:0-1");
	assert_string_equal(m->file, "/a =b\\ c");
	assert_int_equal(m->anon_pages, 2);
	assert_int_equal(m->dirty_pages, 121);
	assert_int_equal(m->mapped_pages, 7);
	assert_int_equal(m->mapmax, 9);
	assert_int_equal(m->swapcache_pages, 1);
	assert_int_equal(m->active_pages, 15);
	assert_int_equal(m->writeback_pages, 3);
	assert_int_equal(m->page_bytes, 4096);
	assert_int_equal(m->node_count, 2);
	assert_int_equal(maps.nodes.v[m->node_first + 1].node, 1);
	assert_int_equal(maps.nodes.v[m->node_first + 1].pages, 61);
	assert_false(m->heap || m->stack || m->huge);
	m = numa_line(&maps, "1 default huge heap stack");
	assert_true(m->heap && m->stack && m->huge && !m->node_count && !m->page_bytes);
	assert_string_equal(m->file, "");
	assert_string_equal(
		numa_line(&maps, "1 prefer (many):0-1 anon=1")->policy, "prefer (many):0-1");
	assert_string_equal(numa_line(&maps, "1 weighted interleave:0 anon=1")->policy,
		"weighted interleave:0");
	assert_int_equal(maps.list.v[0].anon_pages, 1);
	assert_string_equal(numa_line(&maps, "1 prefer:1\n")->policy, "prefer:1");
}

static void node_bytes_add(const struct numa_maps *maps, u64 *bytes, size_t n)
{
	vec_each (m, &maps->list)
		for (u32 k = 0; k < m->node_count; k++) {
			const struct numa_pages *p = &maps->nodes.v[m->node_first + k];

			if (p->node < n)
				bytes[p->node] += p->pages * m->page_bytes;
		}
}

static void test_numa_nasty(void **state)
{
	static const char *const bad[] = {
		"\n", "x default", "1", "1 ", "12345678123456781 default"};
	_cleanup_numa_maps_ struct numa_maps maps = {};
	u64 bytes[2] = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(numa_maps_parse(bad[i], &maps), -EINVAL);
	assert_int_equal(numa_maps_parse("", &maps), 0);
	assert_int_equal(
		numa_maps_parse("5 prefer (\n1 default N=1 N1x=2 N9999=3 N1024=1 N1=-4 Nx=5 "
				"anon= =3 file= junk N1=99999999999999999999 N1023=6 "
				"kernelpagesize_kB=18446744073709551615",
			&maps),
		0);
	assert_int_equal(maps.list.n, 2);
	assert_string_equal(maps.list.v[0].policy, "prefer");
	assert_int_equal(maps.list.v[1].node_count, 1);
	assert_int_equal(maps.nodes.v[0].node, 1023);
	assert_int_equal(maps.list.v[1].page_bytes, 0);
	assert_string_equal(maps.list.v[1].file, "");
	node_bytes_add(&maps, bytes, ARRAY_SIZE(bytes));
	assert_int_equal(bytes[0] + bytes[1], 0);
}

static void check_policy(const struct numa_maps *maps, const char *policy, u64 node0, u64 node1)
{
	for (size_t i = 0; i < maps->list.n; i++) {
		const struct numa_map *m = &maps->list.v[i];
		u64 pages[2] = {};

		if (strcmp(m->policy, policy) != 0)
			continue;
		for (u32 k = 0; k < m->node_count; k++)
			pages[maps->nodes.v[m->node_first + k].node] +=
				maps->nodes.v[m->node_first + k].pages;
		assert_int_equal(pages[0], node0);
		assert_int_equal(pages[1], node1);
		return;
	}
	fail_msg("no mapping with policy %s", policy);
}

/* The process that was captured has 1 MiB under each policy, on two nodes. */
static void test_numa_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_numa_maps_ struct numa_maps numa = {};
		_cleanup_maps_ struct maps maps = {};
		u64 bytes[2] = {};

		fixture_use(fixture_kernels[i]);
		assert_int_equal(numa_maps_read(1234, &numa), 0);
		assert_int_equal(maps_read(1234, &maps), 0);
		for (size_t k = 0; k < numa.list.n; k++)
			assert_non_null(maps_find(&maps, numa.list.v[k].start));
		node_bytes_add(&numa, bytes, ARRAY_SIZE(bytes));
		assert_true(bytes[0] + bytes[1] > 18 << 20);
		assert_non_null(numa_maps_find(&numa, 0x401000));
		assert_null(numa_maps_find(&numa, 0x401001));
		if (i == 3)
			break;
		check_policy(&numa, "bind:0", 256, 0);
		check_policy(&numa, "prefer:1", 0, 256);
		check_policy(&numa, "interleave:0-1", 128, 128);
		if (i > 0)
			check_policy(&numa, "prefer (many):0-1", 256, 0);
		if (i > 1)
			check_policy(&numa, "weighted interleave:0-1", 128, 128);
		assert_true(bytes[1] > 1 << 20);
	}
	sys_root_set("");
}

/* What lies below the program, as an archive of classes does, is not it. */
static void test_program(void **state)
{
	_cleanup_maps_ struct maps maps = {};

	(void)state;
	assert_string_equal(maps_program(&maps), "");
	assert_int_equal(maps_parse("1000-2000 rw-p 0 00:00 0 \n"
				    "4000-5000 rwxp 0 00:00 0 \n",
				 &maps),
		0);
	assert_string_equal(maps_program(&maps), "");
	assert_int_equal(maps_parse("800000000-800001000 rw-p 0 08:01 5 /usr/lib/jvm/classes.jsa\n"
				    "550000000000-550000001000 r--p 0 08:01 7 /usr/bin/java\n"
				    "550000001000-550000002000 r-xp 0 08:01 7 /usr/bin/java\n"
				    "7f0000000000-7f0000001000 r-xp 0 08:01 8 /usr/lib/libc.so.6\n",
				 &maps),
		0);
	assert_string_equal(maps_program(&maps), "/usr/bin/java");
}

static void test_numa_live(void **state)
{
	_cleanup_numa_maps_ struct numa_maps numa = {};
	const struct numa_map *m;
	u64 bytes[1024] = {};
	u64 sum = 0;
	char *page;
	int rc;

	(void)state;
	page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, 1, 1 << 20);
	rc = numa_maps_read(getpid(), &numa);
	if (rc == -ENOENT)
		fixture_skip("the kernel has no NUMA support");
	assert_int_equal(rc, 0);
	m = numa_maps_find(&numa, (u64)(uintptr_t)page);
	assert_non_null(m);
	node_bytes_add(&numa, bytes, ARRAY_SIZE(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		sum += bytes[i];
	assert_true(sum >= 1 << 20);
	munmap(page, 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_nasty),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_numa_line),
		cmocka_unit_test(test_numa_nasty),
		cmocka_unit_test(test_numa_captured),
		cmocka_unit_test(test_numa_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
