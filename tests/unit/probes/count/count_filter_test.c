/* --filter and --by of count: what they mean, what is refused and where, and their places in events
 * as a tracefs describes them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/sys/fixture.h"
#include "probes/count/count_events.h"
#include "probes/count/count_keys.h"

/* As the program goes through the comparisons, of which those of the bits in `truth` hold. */
static bool walk(const struct filter *f, u32 truth)
{
	u32 at = 0;

	for (u32 i = 0; i < f->n; i++)
		if (at == i) {
			u8 next = truth >> i & 1 ? f->tests[i].yes : f->tests[i].no;

			assert_true(next > i);
			at = next;
		}
	assert_true(at == COUNT_PASS || at == COUNT_FAIL || !f->n);
	return !f->n || at == COUNT_PASS;
}

static bool f_and(u32 t)
{
	return (t & 3) == 3;
}

static bool f_mixed(u32 t)
{
	return (t & 1 && t & 2) || t & 4;
}

static bool f_bound(u32 t)
{
	return t & 1 && (t & 2 || t & 4);
}

static bool f_not(u32 t)
{
	return !(t & 1 || !(t & 2)) && t & 4;
}

static bool f_deep(u32 t)
{
	return ((t & 1 || t & 2) && (t & 4 || !(t & 8))) || !(t & 16 && t & 32);
}

static void test_truth(void **state)
{
	static const struct {
		const char *text;
		u32 n;
		bool (*holds)(u32 truth);
	} cases[] = {
		{"a == 1 && b == 2", 2, f_and},
		{"a==1&&b==2||c==3", 3, f_mixed},
		{"a == 1 && (b == 2 || c == 3)", 3, f_bound},
		{"!(a == 1 || !b == 2) && c == 3", 3, f_not},
		{"((a>1 || b<2) && (c>=3 || !(d<=4))) || !(e&5 && g ~ x*)", 6, f_deep},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter f;
		struct err err = {};

		assert_int_equal(filter_parse(cases[i].text, &f, &err), 0);
		assert_int_equal(f.n, cases[i].n);
		for (u32 truth = 0; truth < 1U << f.n; truth++)
			assert_int_equal(walk(&f, truth), cases[i].holds(truth));
	}
}

static void test_values(void **state)
{
	static const struct {
		const char *text;
		u8 op;
		bool is_number;
		u64 number;
		const char *value;
	} cases[] = {
		{"a==12", FILTER_EQ, true, 12, "12"},
		{" a != -1 ", FILTER_NE, true, (u64)-1, "-1"},
		{"a>=0x10", FILTER_GE, true, 16, "0x10"},
		{"a<4K", FILTER_LT, true, 4096, "4K"},
		{"a<=2G", FILTER_LE, true, 2ULL << 30, "2G"},
		{"a>18446744073709551615", FILTER_GT, true, UINT64_MAX, "18446744073709551615"},
		{"a>18446744073709551616", FILTER_GT, false, 0, "18446744073709551616"},
		{"a>17179869184G", FILTER_GT, false, 0, "17179869184G"},
		{"a&3", FILTER_BITS, true, 3, "3"},
		{"a~sys*", FILTER_GLOB, false, 0, "sys*"},
		{"a=='1'", FILTER_EQ, false, 0, "1"},
		{"a==\"x && y\"", FILTER_EQ, false, 0, "x && y"},
		{"a==''", FILTER_EQ, false, 0, ""},
		{"a==12x", FILTER_EQ, false, 0, "12x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter f;
		struct err err = {};

		assert_int_equal(filter_parse(cases[i].text, &f, &err), 0);
		assert_int_equal(f.tests[0].op, cases[i].op);
		assert_int_equal(f.tests[0].is_number, cases[i].is_number);
		if (cases[i].is_number)
			assert_true(f.tests[0].number == cases[i].number);
		assert_string_equal(f.tests[0].value, cases[i].value);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "at its end: expected the name"},
		{"a", "at its end: expected =="},
		{"a =", "at 3, '=': expected =="},
		{"a == ", "at its end: expected a number or a text"},
		{"a == 1 &", "at 8, '&': expected && or ||"},
		{"a == 1 &&", "at its end: expected the name"},
		{"(a == 1", "at its end: expected &&, || or )"},
		{"a == 1)", "at 7, ')': expected && or ||"},
		{"a == 'x", "at its end: expected a closing '"},
		{"1 == a", "at 1, '1 == a': expected the name"},
		{"a == 1 b == 2", "at 8, 'b == 2': expected && or ||"},
		{"a && b", "at 3, '&& b': expected =="},
		{"a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1||a==1", "at most 8"},
	};
	_cleanup_str_ struct str deep = {};
	struct filter f = {.n = 77};
	struct err err = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		err = (struct err){};
		assert_int_equal(filter_parse(cases[i].text, &f, &err), -EINVAL);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.msg);
	}
	for (int i = 0; i < 100000; i++)
		str_add(&deep, i & 1 ? "(" : "!");
	assert_int_equal(filter_parse(str_get(&deep), &f, &err), -EINVAL);
	assert_int_equal(f.n, 77);
	assert_int_equal(filter_parse(NULL, &f, &err), 0);
	assert_int_equal(f.n, 0);
}

static void test_keys(void **state)
{
	struct count_keys k;
	struct err err = {};

	(void)state;
	assert_int_equal(
		count_keys_parse("event,pid,process,order,args.comm,comm", true, &k, &err), 0);
	assert_int_equal(k.n, 5);
	assert_int_equal(k.n_fields, 2);
	assert_int_equal(k.keys[0].from, COUNT_PID);
	assert_string_equal(k.keys[2].name, "args.comm");
	assert_int_equal(k.keys[2].from, COUNT_FIELD);
	assert_true(count_keys_have(&k, COUNT_STACK));
	assert_int_equal(count_keys_parse("a,b,c,d,e", false, &k, &err), -EINVAL);
	assert_int_equal(count_keys_parse("a,,b", false, &k, &err), -EINVAL);
	assert_int_equal(count_keys_parse("", false, &k, &err), 0);
	assert_int_equal(k.n, 0);
}

#define COMMON                                                                          \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void tracefs_put(void)
{
	fixture_put_text("/proc/self/mountinfo", "1 1 0:1 / /t rw - tracefs tracefs rw\n");
	fixture_put_text("/t/events/enable", "");
	fixture_put_text("/t/events/kmem/filter", "");
	fixture_put_text("/t/events/kmem/kmalloc/format",
		"name: kmalloc\nID: 7\n" COMMON
		"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:size_t bytes_req;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:short node;\toffset:24;\tsize:2;\tsigned:1;\n"
		"\tfield:unsigned char small;\toffset:26;\tsize:1;\tsigned:0;\n"
		"\tfield:char name[24];\toffset:28;\tsize:24;\tsigned:0;\n"
		"\tfield:int rest[3];\toffset:52;\tsize:12;\tsigned:1;\n"
		"\tfield:__data_loc char[] path;\toffset:64;\tsize:4;\tsigned:0;\n"
		"\tfield:gfp_t gfp;\toffset:68;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"gfp=%s\", __print_flags(REC->gfp, \"|\", {0x1, \"A\"}, {1UL << 1, "
		"\"B\"}), __print_symbolic(REC->small, {0, \"none\"}, {1, \"one\"})\n");
	fixture_put_text("/t/events/kmem/kfree/format", "name: kfree\nID: 8\n" COMMON);
	fixture_put_text("/t/events/vmscan/kfree/format", "name: kfree\nID: 9\n" COMMON);
	fixture_put_text("/t/events/ftrace/function/format", "name: function\nID: 1\n" COMMON);
}

static void test_events(void **state)
{
	struct event_list all = {};
	struct err err = {};
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	assert_int_equal(event_list_add(&all, "kmem:kmalloc", &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "there is no tracefs"));
	tracefs_put();
	assert_int_equal(event_list_add(&all, "kmem:*", &err), 0);
	assert_int_equal(all.list.n, 2);
	assert_string_equal(all.list.v[0].name, "kmem:kfree");
	assert_int_equal(event_list_add(&all, "kmem:kmalloc", &err), 0);
	assert_int_equal(all.list.n, 2);
	assert_int_equal(event_list_add(&all, "*:kfree", &err), 0);
	assert_int_equal(all.list.n, 3);
	assert_int_equal(event_list_add(&all, "*:*", &err), 0);
	assert_int_equal(all.list.n, 3); /* ftrace has none */
	assert_int_equal(event_list_add(&all, "page-faults", &err), 0);

	err = (struct err){};
	assert_int_equal(event_list_add(&all, "kmem:kmaloc", &err), -EINVAL);
	assert_string_equal(err.hint, "did you mean 'kmem:kmalloc'?");
	err = (struct err){};
	assert_int_equal(event_list_add(&all, "vmscn:kfree", &err), -EINVAL);
	assert_string_equal(err.hint, "did you mean 'vmscan:kfree'?");
	err = (struct err){};
	assert_int_equal(event_list_add(&all, "page-fault", &err), -EINVAL);
	assert_string_equal(err.hint, "did you mean 'page-faults'?");
	assert_int_equal(event_list_add(&all, "../kmem:kfree", &err), -EINVAL);
	assert_int_equal(event_list_add(&all, ":", &err), -EINVAL);
	assert_int_equal(event_list_add(&all, "", &err), -EINVAL);
	assert_int_equal(event_list_add(&all, "k:vfs_*", &err), -EINVAL);
	assert_int_equal(event_list_add(&all, "u:/nowhere", &err), -EINVAL);
	assert_int_equal(event_list_add(&all, "u:/nowhere:f", &err), -EINVAL);
	assert_int_equal(all.list.n, 4);
	event_list_free(&all);
	fixture_remove(tree);
}

static void test_sources(void **state)
{
	static const struct {
		const char *name;
		u8 from, size, is_signed, show;
		u32 offset;
	} cases[] = {
		{"call_site", COUNT_FIELD, 8, 0, COUNT_SHOW_SYMBOL, 8},
		{"bytes_req", COUNT_FIELD, 8, 0, COUNT_SHOW_UNSIGNED, 16},
		{"args.node", COUNT_FIELD, 2, 1, COUNT_SHOW_SIGNED, 24},
		{"node", COUNT_NODE, 8, 0, COUNT_SHOW_UNSIGNED, 0},
		{"small", COUNT_FIELD, 1, 0, COUNT_SHOW_UNSIGNED, 26},
		{"name", COUNT_CHARS, 24, 0, COUNT_SHOW_TEXT, 28},
		{"path", COUNT_DATA_LOC, 4, 0, COUNT_SHOW_TEXT, 64},
	};
	struct event_list all = {};
	struct count_source s;
	struct err err = {};
	char tree[PATH_MAX];
	u8 show;

	(void)state;
	fixture_make(tree);
	tracefs_put();
	assert_int_equal(event_list_add(&all, "kmem:kmalloc", &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(
			event_source(&all, &all.list.v[0], cases[i].name, &s, &show, &err), 0);
		assert_int_equal(s.from, cases[i].from);
		assert_int_equal(s.size, cases[i].size);
		assert_int_equal(s.is_signed, cases[i].is_signed);
		assert_int_equal(s.offset, cases[i].offset);
		assert_int_equal(show, cases[i].show);
	}
	assert_int_equal(event_source(&all, &all.list.v[0], "rest", &s, &show, &err), -EINVAL);
	assert_int_equal(
		event_source(&all, &all.list.v[0], "common_pid", &s, &show, &err), -EINVAL);
	assert_int_equal(event_source(&all, &all.list.v[0], "bytes", &s, &show, &err), -EINVAL);
	assert_non_null(strstr(err.hint, "call_site, bytes_req, node"));
	event_list_free(&all);
	fixture_remove(tree);
}

static int name_add(void *arg, u64 value, const char *name)
{
	str_addf(arg, "%llu %s;", value, name);
	return 0;
}

static void test_names(void **state)
{
	_cleanup_str_ struct str text = {};
	struct event_list all = {};
	struct count_source s;
	struct err err = {};
	char tree[PATH_MAX];
	u8 show;

	(void)state;
	fixture_make(tree);
	tracefs_put();
	assert_int_equal(event_list_add(&all, "kmem:kmalloc", &err), 0);
	assert_int_equal(event_source(&all, &all.list.v[0], "gfp", &s, &show, &err), 0);
	assert_int_equal(event_names(&all, &all.list.v[0], "gfp", name_add, &text), 1);
	assert_int_equal(event_names(&all, &all.list.v[0], "args.small", name_add, &text), 2);
	assert_int_equal(event_names(&all, &all.list.v[0], "bytes_req", name_add, &text), 0);
	assert_string_equal(str_get(&text), "1 A;2 B;0 none;1 one;");
	event_list_free(&all);
	fixture_remove(tree);
}

/* What a comparison becomes for a field: its sense, its number in the field's size. */
static void test_tests(void **state)
{
	static const struct {
		const char *text;
		int rc;
		u8 op, yes;
		u64 value;
	} cases[] = {
		{"bytes_req >= 5", 0, COUNT_BELOW, COUNT_FAIL, 5},
		{"bytes_req <= 5", 0, COUNT_ABOVE, COUNT_FAIL, 5},
		{"bytes_req != 5", 0, COUNT_EQUAL, COUNT_FAIL, 5},
		{"bytes_req & 5", 0, COUNT_BITS, COUNT_PASS, 5},
		{"small == -1", 0, COUNT_EQUAL, COUNT_PASS, 255},
		{"args.node == 0xffff", 0, COUNT_EQUAL, COUNT_PASS, (u64)-1},
		{"args.node < -1", 0, COUNT_BELOW, COUNT_PASS, (u64)-1},
		{"small < -1", -EINVAL, 0, 0, 0},
		{"small == x", -EINVAL, 0, 0, 0},
		{"small ~ 1*", -EINVAL, 0, 0, 0},
		{"name > a", -EINVAL, 0, 0, 0},
		{"name ~ a", -EINVAL, 0, 0, 0},
		{"name ~ a*b*", -EINVAL, 0, 0, 0},
		{"comm == 0123456789abcdef", -EINVAL, 0, 0, 0},
		{"stack == 1", -EINVAL, 0, 0, 0},
	};
	struct event_list all = {};
	struct count_test t;
	struct filter f;
	struct err err = {};
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	tracefs_put();
	assert_int_equal(event_list_add(&all, "kmem:kmalloc", &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(filter_parse(cases[i].text, &f, &err), 0);
		assert_int_equal(
			event_test(&all, &all.list.v[0], &f.tests[0], &t, &err), cases[i].rc);
		if (cases[i].rc)
			continue;
		assert_int_equal(t.op, cases[i].op);
		assert_int_equal(t.yes, cases[i].yes);
		assert_true(t.value == cases[i].value);
	}
	assert_int_equal(filter_parse("comm ~ 'ab*' && comm == ab", &f, &err), 0);
	assert_int_equal(event_test(&all, &all.list.v[0], &f.tests[0], &t, &err), 0);
	assert_true(t.text[0] == 0x6261 && t.mask[0] == 0xffff && !t.mask[1]);
	assert_int_equal(event_test(&all, &all.list.v[0], &f.tests[1], &t, &err), 0);
	assert_true(t.text[0] == 0x6261 && t.mask[0] == (u64)-1 && t.mask[3] == (u64)-1);
	event_list_free(&all);
	fixture_remove(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
