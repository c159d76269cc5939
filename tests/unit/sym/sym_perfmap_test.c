/* perf-PID.map files: lines that are none, ranges that overlap, names of any kind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "sym/perfmap.h"

static struct perf_map *parse(const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	struct perf_map *m = NULL;

	assert_non_null(copy);
	memcpy(copy, text, n);
	assert_int_equal(perf_map_parse(copy, n, &m), 0);
	return m;
}

static void expect(const struct perf_map *m, u64 address, const char *name, u64 offset)
{
	const char *found = NULL;
	u64 at = 0;
	int rc = perf_map_find(m, address, &found, &at);

	assert_int_equal(rc, name ? 0 : -ENOENT);
	if (!name)
		return;
	assert_string_equal(found, name);
	assert_int_equal(at, offset);
}

static void test_lines(void **state)
{
	static const char text[] = "1000 10 first\n"
				   "0x2000 20 second one (file.js:3)\n"
				   "3000 0 empty\n"
				   "4000 10\n"
				   "5000 10 \n"
				   "zzz 10 bad\n"
				   "6000 zz bad\n"
				   "ffffffffffffffff 10 wraps\n"
				   "11111111111111111 10 too long a number\n"
				   "7000 10 last, without an end";
	struct perf_map *m = parse(text, strlen(text));

	(void)state;
	expect(m, 0xfff, NULL, 0);
	expect(m, 0x1000, "first", 0);
	expect(m, 0x100f, "first", 15);
	expect(m, 0x1010, NULL, 0);
	expect(m, 0x2001, "second one (file.js:3)", 1);
	expect(m, 0x3000, NULL, 0);
	expect(m, 0x4000, NULL, 0);
	expect(m, 0x5000, NULL, 0);
	expect(m, 0x6000, NULL, 0);
	expect(m, 0xffffffffffffffff, NULL, 0);
	expect(m, 0x1111111111111111, NULL, 0);
	expect(m, 0x7003, "last, without an end", 3);
	perf_map_free(m);
}

static void test_overlaps(void **state)
{
	static const char text[] = "1000 100 outer\n1010 10 inner\n1000 80 outer again\n";
	struct perf_map *m = parse(text, strlen(text));

	(void)state;
	expect(m, 0x1005, "outer again", 5);
	expect(m, 0x1015, "inner", 5);
	expect(m, 0x1025, "outer again", 0x25);
	expect(m, 0x1090, "outer", 0x90);
	perf_map_free(m);
}

static void test_hostile(void **state)
{
	_cleanup_str_ struct str long_name = {};
	static const char nuls[] = "1000 10 a\0b\n2000 10 \033[31mred\n\0\0\n\n3000 10 x\n";
	struct perf_map *m = parse(nuls, sizeof(nuls) - 1);
	const char *name;
	u64 at;

	(void)state;
	expect(m, 0x1001, "a", 1);
	expect(m, 0x2000, "\033[31mred", 0); /* renderers escape */
	expect(m, 0x3000, "x", 0);
	perf_map_free(m);
	m = parse("", 0);
	expect(m, 0, NULL, 0);
	perf_map_free(m);
	str_add(&long_name, "1000 10 ");
	for (int i = 0; i < 100000; i++)
		str_addc(&long_name, 'n');
	m = parse(str_get(&long_name), long_name.len);
	assert_int_equal(perf_map_find(m, 0x1000, &name, &at), 0);
	assert_int_equal(strlen(name), 500);
	perf_map_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
