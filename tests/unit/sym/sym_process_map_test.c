/* The address map of a process: overlaps, holes, fork and exec, and the text form of maps. */
#include "data/sym/helpers.h"

#include <sys/mman.h>

#include "sym/process_map.h"

static struct module_table *modules;

static int setup(void **state)
{
	(void)state;
	return module_table_new(0, &modules);
}

static int teardown(void **state)
{
	(void)state;
	module_table_free(modules);
	return 0;
}

static struct process_map map_new(void)
{
	struct process_map map;

	process_map_init(&map, modules, getpid());
	return map;
}

/* Files that need not exist: what counts here is where they are mapped. */
static void add(struct process_map *map, u64 start, u64 end, u64 offset, const char *path)
{
	assert_int_equal(process_map_add(map, start, end, offset, 0, 0, path), 0);
}

static void assert_at(const struct process_map *map, u64 ip, const char *path, u64 offset)
{
	struct map_hit hit;

	assert_int_equal(process_map_find(map, ip, &hit), 0);
	assert_string_equal(module_table_get(modules, hit.module)->path, path);
	assert_int_equal(hit.offset, offset);
}

static void assert_hole(const struct process_map *map, u64 ip)
{
	struct map_hit hit;

	assert_int_equal(process_map_find(map, ip, &hit), -ENOENT);
}

static void finds(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();
	struct map_hit at;

	(void)state;
	assert_hole(&map, 0x1000);
	add(&map, 0x5000, 0x6000, 0x2000, "/b");
	add(&map, 0x1000, 0x3000, 0, "/a");
	assert_hole(&map, 0xfff);
	assert_at(&map, 0x1000, "/a", 0);
	assert_at(&map, 0x2fff, "/a", 0x1fff);
	assert_hole(&map, 0x3000);
	assert_at(&map, 0x5010, "/b", 0x2010);
	assert_hole(&map, 0x6000);
	assert_int_equal(process_map_find(&map, 0x5010, &at), 0);
	assert_int_equal(process_map_address(&map, at.module, at.offset), 0x5010);
	assert_int_equal(process_map_address(&map, at.module, 0x2fff), 0x5fff);
	assert_int_equal(process_map_address(&map, at.module, 0x1fff), 0); /* before its part */
	assert_int_equal(process_map_address(&map, at.module, 0x3000), 0);
	assert_int_equal(process_map_address(&map, MODULE_ID_ANON, at.offset), 0);
	assert_int_equal(process_map_add(&map, 5, 5, 0, 0, 0, "/a"), -EINVAL);
	assert_int_equal(process_map_add(&map, 6, 5, 0, 0, 0, "/a"), -EINVAL);
}

static void later_overrides(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();

	(void)state;
	add(&map, 0x1000, 0x9000, 0, "/a");
	add(&map, 0x3000, 0x4000, 0x100, "/b"); /* inside */
	assert_int_equal(process_map_count(&map), 3);
	assert_at(&map, 0x2fff, "/a", 0x1fff);
	assert_at(&map, 0x3000, "/b", 0x100);
	assert_at(&map, 0x4000, "/a", 0x3000);
	add(&map, 0x3800, 0x4800, 0, "/c"); /* over an edge */
	assert_at(&map, 0x37ff, "/b", 0x8ff);
	assert_at(&map, 0x3800, "/c", 0);
	assert_at(&map, 0x4800, "/a", 0x3800);
	add(&map, 0x1000, 0x9000, 0x7000, "/d"); /* over all */
	assert_int_equal(process_map_count(&map), 1);
	assert_at(&map, 0x3900, "/d", 0x9900);
}

static void removes(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();

	(void)state;
	assert_int_equal(process_map_remove(&map, 0x1000, 0x2000), 0);
	assert_int_equal(process_map_remove(&map, 0x2000, 0x1000), -EINVAL);
	add(&map, 0x1000, 0x9000, 0, "/a");
	assert_int_equal(process_map_remove(&map, 0x2000, 0x3000), 0);
	assert_at(&map, 0x1fff, "/a", 0xfff);
	assert_hole(&map, 0x2000);
	assert_at(&map, 0x3000, "/a", 0x2000);
	assert_int_equal(process_map_remove(&map, 0, ~0ULL), 0);
	assert_int_equal(process_map_count(&map), 0);
}

/* Against a plain array, one byte of it for each address. */
static void as_an_array(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();
	static const char *const paths[] = {"/a", "/b", "/c", "/d", "/e"};
	static int owner[512], base[512];
	unsigned int seed = 7;

	(void)state;
	memset(owner, -1, sizeof(owner));
	for (int round = 0; round < 3000; round++) {
		int start = rand_r(&seed) % 511, end, which = rand_r(&seed) % 6;

		end = start + 1 + rand_r(&seed) % MIN(60, 512 - start - 1 + 1);
		end = MIN(end, 512);
		for (int i = start; i < end; i++) {
			owner[i] = which == 5 ? -1 : which;
			base[i] = start;
		}
		if (which == 5)
			assert_int_equal(process_map_remove(&map, (u64)start, (u64)end), 0);
		else
			add(&map, (u64)start, (u64)end, 1000, paths[which]);
		for (int i = 0; i < 512; i += 1 + rand_r(&seed) % 9) {
			if (owner[i] < 0)
				assert_hole(&map, (u64)i);
			else
				assert_at(&map, (u64)i, paths[owner[i]], 1000 + (u64)(i - base[i]));
		}
	}
}

static void fork_and_exec(void **state)
{
	_cleanup_process_map_ struct process_map parent = map_new(), child = map_new();
	_cleanup_process_map_ struct process_map grandchild = map_new();

	(void)state;
	add(&child, 0x70000, 0x80000, 0, "/gone");
	add(&parent, 0x1000, 0x3000, 0, "/a");
	process_map_fork(&child, &parent);
	process_map_fork(&grandchild, &child);
	assert_ptr_equal(child.ranges, parent.ranges); /* nothing copied yet */
	assert_hole(&child, 0x70000);
	add(&child, 0x2000, 0x3000, 0, "/b");
	add(&parent, 0x5000, 0x6000, 0, "/c");
	assert_at(&parent, 0x2000, "/a", 0x1000);
	assert_at(&child, 0x2000, "/b", 0);
	assert_at(&grandchild, 0x2000, "/a", 0x1000);
	assert_hole(&child, 0x5000);
	process_map_reset(&child);
	assert_hole(&child, 0x1000);
	assert_at(&parent, 0x1000, "/a", 0);
	process_map_fork(&parent, &parent); /* of itself: no harm */
	assert_at(&parent, 0x5000, "/c", 0);
}

static void what_is_no_file(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();
	struct map_hit hit;

	(void)state;
	add(&map, 0x10000, 0x20000, 0x500, "");
	add(&map, 0x20000, 0x30000, 0, NULL);
	add(&map, 0x30000, 0x40000, 0, "//anon");
	add(&map, 0x40000, 0x50000, 0, "[anon:any name]");
	add(&map, 0x7ffff7fc1000, 0x7ffff7fc3000, 0x77, "[vdso]");
	add(&map, 0xf7fc1000, 0xf7fc3000, 0, "[vdso]"); /* of a 32-bit process */
	add(&map, 0xffffffffff600000, 0xffffffffff601000, 0, "[vsyscall]");
	for (u64 ip = 0x10010; ip < 0x50000; ip += 0x10000) {
		assert_at(&map, ip, "[anon]", ip); /* the address itself: for a JIT's map */
		assert_int_equal(process_map_find(&map, ip, &hit), 0);
		assert_int_equal(hit.module, MODULE_ID_ANON);
	}
	assert_at(&map, 0x7ffff7fc1a00, "[vdso]", 0xa00);
	assert_int_equal(process_map_find(&map, 0x7ffff7fc1a00, &hit), 0);
	assert_int_equal(hit.module, MODULE_ID_VDSO);
	assert_at(&map, 0xf7fc1a00, "[anon]", 0xf7fc1a00);
	assert_at(&map, 0xffffffffff600400, "[vsyscall]", 0xffffffffff600400);
}

static void parses(void **state)
{
	static const char text[] =
		"555555554000-555555556000 r--p 00000000 fe:00 1234   /usr/bin/app\n"
		"555555556000-555555559000 r-xp 00002000 fe:00 1234   /usr/bin/app\n"
		"7ffff0000000-7ffff0001000 rwxp 00000000 00:00 0 \n"
		"7ffff1000000-7ffff1001000 r-xp 00001000 fe:00 77     /tmp/a b (deleted)\n"
		"7ffff2000000-7ffff2001000 r-xp 00001000 fe:00 78     /tmp/line\\012break\n"
		"7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0      [vdso]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]";
	_cleanup_process_map_ struct process_map map = map_new();

	(void)state;
	assert_int_equal(process_map_parse(&map, text), 0);
	assert_int_equal(process_map_count(&map), 6);
	assert_hole(&map, 0x555555555000); /* not executable */
	assert_at(&map, 0x555555556010, "/usr/bin/app", 0x2010);
	assert_at(&map, 0x7ffff0000010, "[anon]", 0x7ffff0000010);
	assert_at(&map, 0x7ffff1000010, "/tmp/a b", 0x1010);
	assert_at(&map, 0x7ffff2000010, "/tmp/line\nbreak", 0x1010);
	assert_at(&map, 0x7ffff7fc1010, "[vdso]", 0x10);
	assert_at(&map, 0xffffffffff600010, "[vsyscall]", 0xffffffffff600010);
}

static void parses_hostile(void **state)
{
	static const char *const texts[] = {
		"\n\n\n",
		"x",
		"-",
		"1-2",
		"1-2 r-xp",
		"1-2 r-xp 0",
		"2-1 r-xp 0 0:0 0 /a\n",
		"1-1 r-xp 0 0:0 0 /a\n",
		"1-2 r-x 0 0:0 0 /a\n",
		"1-2 r-xpp 0 0:0 0 /a\n",
		"zz-2 r-xp 0 0:0 0 /a\n",
		"1-2 r-xp 0 0:0 x /a\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_process_map_ struct process_map map = map_new();

		assert_true(process_map_parse(&map, texts[i]) > 0);
		assert_int_equal(process_map_count(&map), 0);
	}
}

static void parses_long_paths(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();
	_cleanup_str_ struct str text = {};

	(void)state;
	str_add(&text, "1000-2000 r-xp 0 0:0 0 /");
	for (int i = 0; i < 100000; i++)
		str_add(&text, "a");
	assert_int_equal(process_map_parse(&map, text.buf), 0);
	assert_int_equal(process_map_count(&map), 1);
}

static void reads_itself(void **state)
{
	_cleanup_process_map_ struct process_map map = map_new();
	char exe[PATH_MAX] = "";
	struct map_hit hit;

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(process_map_read(&map), 0);
	assert_int_equal(process_map_find(&map, (u64)(unsigned long)reads_itself, &hit), 0);
	assert_string_equal(module_table_get(modules, hit.module)->path, exe);
	assert_int_equal(module_table_get(modules, hit.module)->error, 0);
	map.pid = 0x7ffffff0;
	assert_int_equal(process_map_read(&map), -ENOENT);
	assert_int_equal(process_map_find(&map, (u64)(unsigned long)reads_itself, &hit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds, setup, teardown),
		cmocka_unit_test_setup_teardown(later_overrides, setup, teardown),
		cmocka_unit_test_setup_teardown(removes, setup, teardown),
		cmocka_unit_test_setup_teardown(as_an_array, setup, teardown),
		cmocka_unit_test_setup_teardown(fork_and_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(parses, setup, teardown),
		cmocka_unit_test_setup_teardown(parses_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(parses_long_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_itself, setup, teardown),
	};

	return cmocka_run_group_tests_name("sym_process_map", tests, NULL, NULL);
}
