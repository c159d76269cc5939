/* Strings, units, options, sums: what everything else stands on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "analysis/hist.h"
#include "analysis/trend.h"
#include "base/big.h"
#include "base/closest.h"
#include "base/file.h"
#include "base/groups.h"
#include "base/json.h"
#include "base/match.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/units.h"
#include "bpf/log2.h"

static void test_escape(void **unused)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"a\nb\tc", "a\\nb\\tc"},
		{"back\\slash", "back\\\\slash"},
		{"\xff\xc3", "\\xff\\xc3"},
		{"\xc2\x9b"
		 "31m",
			"\\xc2\\x9b"
			"31m"}, /* CSI as a C1 control */
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
		{"\xdf\xbf", "\xdf\xbf"},            /* the last of two bytes */
		{"\x7f", "\\x7f"},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_str_ struct str s = {};

		str_add_escaped(&s, cases[i].in);
		assert_string_equal(str_get(&s), cases[i].out);
	}
}

static void test_json_escape(void **unused)
{
	_cleanup_str_ struct str s = {};
	struct json j = {.out = &s};

	(void)unused;
	json_begin_array(&j);
	json_str(&j, "a\"b\\c\n\x1b\xff\xc2\x9b");
	json_f64(&j, 1.0 / 0.0);
	json_s64(&j, -1);
	json_end_array(&j);
	assert_string_equal(str_get(&s), "[\"a\\\"b\\\\c\\n\\u001b\xef\xbf\xbd\\u009b\",null,-1]");
}

static void test_format(void **unused)
{
	char b[UNIT_BUF];

	(void)unused;
	assert_string_equal(fmt_bytes(b, 0), "0 B");
	assert_string_equal(fmt_bytes(b, 1023), "1023 B");
	assert_string_equal(fmt_bytes(b, 1536), "1.50 KiB");
	assert_string_equal(fmt_bytes(b, 1024 * 1024 - 1), "1.00 MiB");
	assert_string_equal(fmt_bytes(b, ~0ULL), "16.0 EiB");
	assert_string_equal(fmt_ns(b, 999), "999 ns");
	assert_string_equal(fmt_ns(b, 1500), "1.50 us");
	assert_string_equal(fmt_ns(b, 999999999), "1.00 s");
	assert_string_equal(fmt_count(b, 9999), "9999");
	assert_string_equal(fmt_count(b, 123456), "123 k");
}

static void test_parse(void **unused)
{
	static const char *const bad[] = {
		"", "-1", "x", "1e999", "nan", "inf", "0x10", "1 s", "9e30", "5q"};
	u64 v = 7;

	(void)unused;
	assert_int_equal(parse_duration("250ms", &v), 0);
	assert_int_equal(v, 250000000);
	assert_int_equal(parse_duration("1.5m", &v), 0);
	assert_int_equal(v, 90000000000);
	assert_int_equal(parse_size("64K", &v), 0);
	assert_int_equal(v, 65536);
	v = 7;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(parse_duration(bad[i], &v) < 0);
		assert_true(parse_size(bad[i], &v) < 0);
	}
	assert_int_equal(parse_u64("18446744073709551616", 0, ~0ULL, &v), -ERANGE);
	assert_int_equal(parse_u64("12x", 0, 100, &v), -EINVAL);
	assert_int_equal(parse_u64("101", 0, 100, &v), -ERANGE);
	assert_int_equal(v, 7); /* untouched on failure */
}

static void test_hex(void **state)
{
	static const char digits[] = "0123456789abcdef", large[] = "0123456789ABCDEF";

	(void)state;
	for (int c = 0; c < 256; c++) {
		const char *small = c ? strchr(digits, c) : NULL,
			   *big = c ? strchr(large, c) : NULL;
		int want = small ? (int)(small - digits) : big ? (int)(big - large) : -1;

		assert_int_equal(hex_value((char)c), want);
	}
}

struct parsed {
	bool quiet;
	const char *by, *stacks;
	u64 time_ns, count;
};

static const struct opt opts[] = {
	{"quiet", 'q', OPT_FLAG, offsetof(struct parsed, quiet), NULL, "", NULL},
	{"by", 0, OPT_STRING, offsetof(struct parsed, by), "KEY[,KEY]", "", NULL},
	{"stacks", 0, OPT_OPTIONAL, offsetof(struct parsed, stacks), "KIND", "", NULL},
	{"for", 'f', OPT_DURATION, offsetof(struct parsed, time_ns), "TIME", "", NULL},
	{"limit", 'n', OPT_COUNT, offsetof(struct parsed, count), "N", "", NULL},
};

static int parse(struct parsed *p, struct err *err, int *operands, int *rest, int argc, char **argv)
{
	static const struct opt others[] = {
		{"each", 'e', OPT_FLAG, offsetof(struct parsed, quiet), NULL, "", NULL},
	};
	const struct opt_set sets[] = {{opts, ARRAY_SIZE(opts), NULL}, {}},
			     of_others[] = {{others, ARRAY_SIZE(others), NULL}, {}};

	*p = (struct parsed){};
	return opt_parse(sets, of_others, p, argc, argv, operands, rest, err);
}

#define PARSE(...)                                                                    \
	({                                                                            \
		char *argv_[] = {"x", __VA_ARGS__, NULL};                             \
		parse(&p, &err, &operands, &rest, (int)ARRAY_SIZE(argv_) - 1, argv_); \
	})

static void test_options(void **unused)
{
	struct err err = {};
	struct parsed p;
	int operands, rest;

	(void)unused;
	assert_int_equal(PARSE("-qf", "2s", "file", "--by=a,b", "--stacks", "--", "-q"), 0);
	assert_true(p.quiet && p.time_ns == 2000000000);
	assert_string_equal(p.by, "a,b");
	assert_string_equal(p.stacks, "");
	assert_int_equal(operands, 1);
	assert_int_equal(rest, 7);
	assert_int_equal(PARSE("--stacks=user", "-n5"), 0);
	assert_string_equal(p.stacks, "user");
	assert_int_equal(p.count, 5);
	assert_int_equal(PARSE("--limt", "3"), -EINVAL);
	assert_string_equal(err.hint, "did you mean --limit?");
	assert_int_equal(PARSE("--each=3"), -EINVAL);
	assert_string_equal(err.msg, "--each is an option of other commands");
	assert_int_equal(PARSE("-qe"), -EINVAL);
	assert_string_equal(err.msg, "-e is an option of other commands");
	assert_int_equal(PARSE("--eac"), -EINVAL);
	assert_string_equal(err.msg, "unknown option '--eac'");
	assert_int_equal(PARSE("--quiet=1"), -EINVAL);
	assert_int_equal(PARSE("--by"), -EINVAL);
	assert_int_equal(PARSE("-z"), -EINVAL);
	assert_int_equal(PARSE("--for", "-3s"), -EINVAL);
	assert_int_equal(PARSE("--by", "a,"), -EINVAL);
	assert_string_equal(err.msg, "--by: 'a,' has an empty word");
	assert_int_equal(PARSE("--by", ",a"), -EINVAL);
	assert_int_equal(PARSE("--by", "a,,b"), -EINVAL);
}

/* Options of a part of the program go into a struct of its own; a name that both have is the
 * part's. */
static void test_own_options(void **unused)
{
	struct own {
		const char *by;
		bool loud;
	} own = {};
	static const struct opt own_opts[] = {
		OPT(struct own, "loud", 'l', OPT_FLAG, loud, NULL, "", NULL),
		OPT(struct own, "by", 0, OPT_STRING, by, "KEY", "", NULL),
	};
	const struct opt_set sets[] = {
		{own_opts, ARRAY_SIZE(own_opts), &own}, {opts, ARRAY_SIZE(opts), NULL}, {}};
	char *argv[] = {"x", "-ql", "--by", "a", "--for", "1s", NULL};
	const struct opt_set none[] = {{}};
	struct parsed p = {};
	struct err err = {};
	int operands, rest;

	(void)unused;
	assert_null(OPTS_OF(struct own, NULL)->by);
	assert_int_equal(opt_parse(sets, none, &p, 6, argv, &operands, &rest, &err), 0);
	assert_true(own.loud && p.quiet && p.time_ns == 1000000000);
	assert_string_equal(own.by, "a");
	assert_null(p.by);
}

static void test_closest(void **unused)
{
	static const char *const names[] = {"faults", "frag", "reclaim"};

	(void)unused;
	assert_string_equal(closest("fualts", names, 3), "faults");
	assert_string_equal(closest("reclam", names, 3), "reclaim");
	assert_string_equal(closest("tabel", (const char *const[]){"taken", "table"}, 2), "table");
	assert_string_equal(closest("ba", (const char *const[]){"c", "ab"}, 2), "ab");
	assert_null(closest("nope", (const char *const[]){"code", "top"}, 2));
	assert_null(closest("zzzzzzzz", names, 3));
	assert_null(closest("", names, 3));
}

/* All but one. */
static bool is_odd(void *but, const void *key, const void *value)
{
	(void)value;
	return *(const u32 *)key % 2 && *(const u32 *)key != *(const u32 *)but;
}

static bool is_below(void *limit, const void *key, const void *value)
{
	(void)value;
	return *(const u32 *)key < *(const u32 *)limit;
}

static void test_groups(void **unused)
{
	struct groups g;

	(void)unused;
	groups_init(&g, sizeof(u32), sizeof(u64));
	for (u32 round = 0; round < 3; round++)
		for (u32 k = 0; k < 10000; k++)
			*(u64 *)groups_get(&g, &k) += k;
	assert_int_equal(g.n, 10000);
	for (u32 k = 0; k < 10000; k++) {
		assert_int_equal(*(u64 *)groups_find(&g, &k), 3ULL * k);
		assert_int_equal(*(const u32 *)groups_key(&g, k), k); /* in order of first sight */
	}
	groups_filter(&g, is_odd, &(u32){3});
	assert_int_equal(*(u64 *)groups_find(&g, &(u32){5}), 15);
	assert_null(groups_find(&g, &(u32){4}));
	assert_null(groups_find(&g, &(u32){3}));
	for (u32 i = 0; i < g.n; i++)
		assert_int_equal(*(const u32 *)groups_key(&g, i), i ? 2 * i + 3 : 1);
	groups_clear(&g);
	assert_null(groups_find(&g, &(u32){5}));
	assert_int_equal(*(u64 *)groups_get(&g, &(u32){5}), 0);
	groups_free(&g);
}

/* The room of one busy moment is given back, that of what comes every time is kept. */
static void test_groups_room(void **unused)
{
	struct groups g;
	size_t busy;

	(void)unused;
	groups_init(&g, sizeof(u32), sizeof(u64));
	for (u32 k = 0; k < 100000; k++)
		groups_get(&g, &k);
	busy = g.cap;
	groups_clear(&g);
	assert_int_equal(g.cap, busy);
	for (u32 k = 0; k < 2000; k++)
		*(u64 *)groups_get(&g, &k) = k;
	groups_clear(&g);
	assert_in_range(g.cap, 2000, 8000);
	assert_in_range(g.n_index, 2 * g.cap, 2 * g.cap);
	for (u32 k = 0; k < 100000; k++)
		*(u64 *)groups_get(&g, &k) = k;
	groups_filter(&g, is_below, &(u32){3000});
	assert_in_range(g.cap, 3000, 12000);
	assert_int_equal(g.n, 3000);
	for (u32 k = 0; k < 3000; k++)
		assert_int_equal(*(u64 *)groups_find(&g, &k), k);
	assert_null(groups_find(&g, &(u32){3000}));
	groups_free(&g);
}

static void test_hist(void **unused)
{
	struct hist h = {};

	(void)unused;
	assert_int_equal(hist_quantile(&h, 0.5, 0), 0);
	for (u64 v = 1; v <= 1000; v++)
		hist_add(&h, v);
	assert_int_equal(hist_count(&h), 1000);
	assert_in_range(
		hist_quantile(&h, 0.5, 0), 250, 1000); /* true: 500, within a factor of two */
	assert_in_range(hist_quantile(&h, 0.99, 1000), 900, 1000);
	hist_add(&h, ~0ULL);
	assert_int_equal(h.slots[HIST_N - 1], 1);
}

static void test_trend(void **unused)
{
	struct trend line = {}, flat = {};

	(void)unused;
	for (u64 i = 0; i < 20; i++) {
		trend_add(&line, i * 500000000, 1e9 + 3e6 * (double)i);
		trend_add(&flat, i * 500000000, 5e6);
	}
	assert_true(trend_slope(&line) > 5.99e6 && trend_slope(&line) < 6.01e6);
	assert_true(trend_fit(&line) > 0.999);
	assert_true(trend_slope(&flat) == 0 && trend_fit(&flat) == 0);
}

static void str_numbers(void **state)
{
	struct str s = {};

	(void)state;
	str_add_u64(&s, 0);
	str_addc(&s, ' ');
	str_add_u64(&s, UINT64_MAX);
	str_addc(&s, ' ');
	str_add_s64(&s, INT64_MIN);
	str_addc(&s, ' ');
	str_add_hex(&s, 0);
	str_addc(&s, ' ');
	str_add_hex(&s, UINT64_MAX);
	assert_string_equal(
		str_get(&s), "0 18446744073709551615 -9223372036854775808 0x0 0xffffffffffffffff");
	str_free(&s);
	/* each length around the end of the room */
	for (int n = 0; n < 300; n++) {
		str_addf(&s, "%*s", n, "");
		str_addf(&s, "%s", "x");
		assert_int_equal(s.len, n + 1);
		assert_int_equal(strlen(str_get(&s)), n + 1);
		str_free(&s);
	}
}

/* Over the size at which it goes elsewhere, and several that grow in turn. */
static void test_big(void **unused)
{
	VEC(u64) a = {}, b = {};
	const u64 n = 3000000;

	(void)unused;
	for (u64 i = 0; i < n; i++) {
		assert_int_equal(big_push(&a, i), 0);
		assert_int_equal(big_push(&b, ~i), 0);
	}
	for (u64 i = 0; i < n; i++)
		assert_true(a.v[i] == i && b.v[i] == ~i);
	big_free(&a);
	assert_null(a.v);
	assert_int_equal(big_push(&a, 7), 0);
	assert_int_equal(big_reserve(&a, n), 0);
	assert_int_equal(a.v[0], 7);
	assert_int_equal(big_reserve(&a, (size_t)1 << 60), -ENOMEM);
	assert_int_equal(a.v[0], 7);
	big_free(&a);
	big_free(&b);
}

/* BPF programs reckon it in another way. */
static void test_log2(void **unused)
{
	(void)unused;
	for (u32 max = 1; max <= 64; max++) {
		assert_int_equal(log2_branchless(0, max), 0);
		for (u32 bit = 0; bit < 64; bit++) {
			u64 v = 1ULL << bit;

			assert_int_equal(log2_branchless(v, max), log2_slot(v, max));
			assert_int_equal(log2_branchless(v - 1, max), log2_slot(v - 1, max));
			assert_int_equal(
				log2_branchless(v + v / 3, max), log2_slot(v + v / 3, max));
		}
		assert_int_equal(log2_branchless(UINT64_MAX, max), log2_slot(UINT64_MAX, max));
	}
}

/* A quarter of the files that may be open, but at least one. */
static void test_file_room(void **unused)
{
	static const struct {
		rlim_t limit;
		unsigned int room;
	} cases[] = {{0, 1}, {7, 1}, {40, 10}, {399, 99}, {400, 100}, {1000, 100}};
	struct rlimit was, is;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	is = was;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is.rlim_cur = cases[i].limit;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &is), 0);
		assert_int_equal(file_room(100), cases[i].room);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"a*", "ba", false},
		{"kmem:*alloc", "kmem:mm_page_alloc", true},
		{"kmem:*alloc", "kmem:mm_page_alloc_zone", false},
		{"*ab*ab", "abxabab", true},
		{"a**b", "ab", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"?", "", false},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[^a-c]x", "ax", false},
		{"[]a]", "]", true},
		{"[!]a]", "]", false},
		{"[a-]", "-", true},
		{"[a", "[a", true},
		{"\\*a", "*a", true},
		{"\\*a", "ba", false},
		{"a\\", "a\\", true},
		{"*[0-9]", "x12", true},
		{"*[0-9]", "x12y", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(str_numbers),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_json_escape),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_own_options),
		cmocka_unit_test(test_closest),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_room),
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_log2),
		cmocka_unit_test(test_trend),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_file_room),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
