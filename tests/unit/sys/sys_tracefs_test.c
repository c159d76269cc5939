/* Tests of sys/kernel/tracefs.h. */
#include "data/sys/fixture.h"
#include "sys/kernel/tracefs.h"

#define FIELD "\toffset:8;\tsize:4;\tsigned:1;\n"

static void check_field(const char *declaration, const char *name, const char *type, bool is_array)
{
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};
	_cleanup_str_ struct str text = {};
	const struct tracepoint_field *f;

	str_addf(&text, "name: x\n\tfield:%s;" FIELD, declaration);
	assert_int_equal(tracepoint_format_parse(str_get(&text), &format), 0);
	f = tracepoint_format_field(&format, name);
	assert_non_null(f);
	assert_string_equal(f->type, type);
	assert_int_equal(f->is_array, is_array);
	assert_int_equal(f->is_data_loc, !strncmp(type, "__data_loc", 10));
	assert_int_equal(f->is_rel_loc, !strncmp(type, "__rel_loc", 9));
	assert_int_equal(f->offset, 8);
	assert_int_equal(f->size, 4);
	assert_true(f->is_signed);
}

static void test_declarations(void **state)
{
	(void)state;
	check_field("int order", "order", "int", false);
	check_field("unsigned long pfn", "pfn", "unsigned long", false);
	check_field("char prev_comm[16]", "prev_comm", "char[16]", true);
	check_field("__data_loc char[] name", "name", "__data_loc char[]", true);
	check_field("__rel_loc u8[] data", "data", "__rel_loc u8[]", true);
	check_field("const char * filename", "filename", "const char *", false);
	check_field("const char *filename", "filename", "const char *", false);
	check_field("struct foo *const p", "p", "struct foo *const", false);
	check_field("unsigned long args[6]", "args", "unsigned long[6]", true);
	check_field("x", "x", "", false);
}

static void test_nasty(void **state)
{
	static const char *const bad[] = {"", "\n", "name: x\n",
		"name: x\nfield:", "field:int x;" FIELD, "name: \nfield:int x;" FIELD,
		"name: x\nfield:int x;\toffset:8",
		"name: x\nfield:int x;\toffset:-8;\tsize:4;\tsigned:1;\n",
		"name: x\nfield:int x;\toffset:99999999999;\tsize:4;\tsigned:1;\n",
		"name: x\nfield:;" FIELD, "name: x\nfield:int *;" FIELD, "name: x\nfield:x]" FIELD,
		"name: x\nfield:x];" FIELD, "name: x\nfield:[];" FIELD};
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};
	_cleanup_str_ struct str text = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(tracepoint_format_parse(bad[i], &format), -EINVAL);
	/* Names that do not fit are left out, not cut. */
	str_add(&text, "name: x\nfield:int ");
	for (int i = 0; i < TRACEPOINT_NAME_MAX; i++)
		str_addc(&text, 'n');
	str_add(&text, ";" FIELD);
	assert_int_equal(tracepoint_format_parse(str_get(&text), &format), -EINVAL);
	for (int i = 0; i < TRACEPOINT_FIELDS_MAX + 9; i++)
		str_addf(&text, "field:int f%d;" FIELD, i);
	assert_int_equal(tracepoint_format_parse(str_get(&text), &format), 0);
	assert_int_equal(format.fields.n, TRACEPOINT_FIELDS_MAX);
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_tracepoint_format_ struct tracepoint_format format = {};
		const struct tracepoint_field *f;
		char dir[PATH_MAX];
		u64 id;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(tracefs_find(dir), 0);
		assert_string_equal(dir, "/sys/kernel/tracing");
		assert_int_equal(tracepoint_id_read(dir, "kmem", "none", &id), -ENOENT);
		assert_int_equal(tracepoint_id_read(dir, "..", "kmem", &id), -EINVAL);
		assert_int_equal(tracepoint_id_read(dir, "kmem", "../kmem/rss_stat", &id), -EINVAL);
		assert_int_equal(tracepoint_id_read(dir, "kmem", "mm_page_alloc", &id), 0);
		assert_int_equal(tracepoint_format_read(dir, "kmem", "mm_page_alloc", &format), 0);
		assert_string_equal(format.name, "mm_page_alloc");
		assert_int_equal(format.id, id);
		f = tracepoint_format_field(&format, "order");
		assert_non_null(f);
		assert_int_equal(f->offset, 16);
		assert_int_equal(f->size, 4);
		assert_true(tracepoint_format_field(&format, "migratetype")->is_signed);
		assert_true(tracepoint_format_field(&format, "common_pid")->is_common);
		assert_false(f->is_common);
		assert_int_equal(tracepoint_format_read(dir, "sched", "sched_switch", &format), 0);
		assert_string_equal(
			tracepoint_format_field(&format, "prev_comm")->type, "char[16]");
	}
	sys_root_set("");
}

static void test_find(void **state)
{
	char dir[PATH_MAX] = "kept";
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	assert_int_equal(tracefs_find(dir), -ENOENT);
	fixture_put_text("/proc/self/mountinfo", "1 1 0:1 / / rw - ext4 a rw\n");
	assert_int_equal(tracefs_find(dir), -ENOENT);
	fixture_put_text("/proc/self/mountinfo", "1 1 0:1 / /debug rw - debugfs debugfs rw\n");
	assert_int_equal(tracefs_find(dir), -ENOENT);
	assert_string_equal(dir, "kept");
	fixture_put_text("/debug/tracing/events/x", "");
	assert_int_equal(tracefs_find(dir), 0);
	assert_string_equal(dir, "/debug/tracing");
	fixture_remove(tree);
}

/* "It is closed to us" is not "it is not there". */
static void test_find_closed(void **state)
{
	char dir[PATH_MAX];
	char tree[PATH_MAX];
	char path[PATH_MAX];
	int rc;

	(void)state;
	fixture_make(tree);
	assert_int_equal(chmod(tree, 0755), 0);
	fixture_put_text("/proc/self/mountinfo", "1 1 0:1 / /t rw - tracefs tracefs rw\n");
	fixture_put_text("/t/events/kmem/x/id", "1\n");
	assert_int_equal(sys_path(path, "/t"), 0);
	assert_int_equal(chmod(path, 0700), 0);
	if (!geteuid() && seteuid(65534)) {
		fixture_remove(tree);
		fixture_skip("cannot become another user");
	}
	rc = tracefs_find(dir);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	fixture_remove(tree);
	/* Run by another user than root, the directory is that user's own. */
	assert_int_equal(rc, getuid() ? 0 : -EACCES);
}

static void test_live(void **state)
{
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};
	char dir[PATH_MAX];
	u64 id;
	int rc = tracefs_find(dir);

	(void)state;
	if (rc == -ENOENT)
		fixture_skip("tracefs is not mounted");
	if (rc == -EACCES)
		fixture_skip("tracefs is root's");
	assert_int_equal(rc, 0);
	assert_int_equal(tracepoint_format_read(dir, "kmem", "mm_page_alloc", &format), 0);
	assert_int_equal(tracepoint_id_read(dir, "kmem", "mm_page_alloc", &id), 0);
	assert_int_equal(format.id, id);
	assert_non_null(tracepoint_format_field(&format, "gfp_flags"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_nasty),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_closed),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
