/* Readable names of C++ and Rust functions, and names made to hurt. */
#include "data/sym/helpers.h"

#include "base/clock.h"
#include "sym/demangle.h"
#include "sym/strpool.h"

static void assert_readable(const char *mangled, const char *want)
{
	_cleanup_free_ char *got = demangle(mangled);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void cxx(void **state)
{
	(void)state;
	assert_readable("_Z3foov", "foo");
	assert_readable("_Z3fooi", "foo"); /* without parameters */
	assert_readable("_ZN4shop6basket3addERKSsi", "shop::basket::add");
	assert_readable("_ZNK5outer5inner3getEv", "outer::inner::get");
	assert_readable("_ZNSt6vectorIiSaIiEE9push_backEOi",
		"std::vector<int, std::allocator<int> >::push_back");
	assert_readable("_ZN3FooC1Ev", "Foo::Foo");
	assert_readable("_ZN3FooD0Ev", "Foo::~Foo");
	assert_readable("_ZplRK1AS1_", "operator+");
	assert_readable("_Znwm", "operator new");
	assert_readable("_ZN12_GLOBAL__N_14makeEi.constprop.0", "(anonymous namespace)::make");
	assert_readable("_ZZN4shop5priceEvENKUlvE_clEv", "shop::price()::{lambda()#1}::operator()");
	assert_readable("_ZTV3Foo", "vtable for Foo");
}

static void rust(void **state)
{
	(void)state;
	assert_readable(
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	assert_readable(
		"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		"17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar");
	assert_readable("_RNvC6_123foo3bar", "123foo::bar");
	assert_readable("_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz");
	assert_readable("_RNCNvC4bike4main0", "bike::main::{closure#0}");
}

static void not_mangled(void **state)
{
	static const char *const names[] = {"", "_", "_Z", "_R", "main", "_start", "Z3foov",
		"__libc_start_main", "printf", "_Read", "_RX", "_ZN", "_Z9", "_GLOBAL_",
		"_GLOBAL_OFFSET_TABLE_", "runtime.goexit", "foo.cold", "_ZN3fo"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *got = demangle(names[i]);

		if (got)
			fail_msg("%s became %s", names[i], got);
	}
}

static char *repeat(const char *head, const char *unit, size_t times, const char *tail)
{
	struct str s = {};

	str_add(&s, head);
	for (size_t i = 0; i < times; i++)
		str_add(&s, unit);
	str_add(&s, tail);
	return s.buf;
}

static void demangle_and_drop(const char *name)
{
	_cleanup_free_ char *got = demangle(name);

	if (got)
		assert_true(strlen(got) <= DEMANGLE_OUT_MAX);
}

/* Deep nesting up to the limit of length, and over it. */
static void deep(void **state)
{
	static const struct {
		const char *head, *unit, *tail;
	} shapes[] = {
		{"_Z1f", "P", "i"},
		{"_Z1fI", "1aI", "iEvv"},
		{"_Z1fIX", "ng", "Li1EEEvv"},
		{"_Z1f", "PF", "ivE"},
		{"_ZN", "1a", "E"},
		{"_ZN", "1aI", ""},
		{"_ZZ", "Z", "1fv"},
		{"_Z", "dl", ""},
		{"_RNvC1a1b", "R", ""},
		{"_RI", "C1a", "E"},
		{"_RINvC1a1b", "RR", "hE"},
		{"_RINvC1a1b", "TT", "EE"},
		{"_RM", "M", ""},
		{"_RNv", "Nv", "C1a1b"},
		{"_ZN1a", "17h0123456789abcdef", "E"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (size_t times = 1; times < 6000; times = times * 3 / 2 + 1) {
			_cleanup_free_ char *name =
				repeat(shapes[i].head, shapes[i].unit, times, shapes[i].tail);

			demangle_and_drop(name);
		}
	}
}

/* Each substitution stands for twice as much as the one before. */
static void doubling(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	_cleanup_str_ struct str name = {};
	u64 start = clock_mono_ns();

	(void)state;
	str_add(&name, "_Z1fI1aIiiE1aIS0_S0_E");
	for (int i = 1; i < 35; i++)
		str_addf(&name, "1aIS%c_S%c_E", digits[i], digits[i]);
	str_add(&name, "Evv");
	demangle_and_drop(name.buf);
	str_clear(&name);
	str_add(&name, "_RINvC1a1b");
	for (int i = 0; i < 60; i++)
		str_add(&name, i % 2 ? "TBa_Ba_E" : "TBb_Bb_E");
	str_add(&name, "E");
	demangle_and_drop(name.buf);
	assert_true(clock_mono_ns() - start < 5 * NSEC_PER_SEC);
}

static void limits(void **state)
{
	_cleanup_free_ char *fits = repeat("_ZN", "9abcdefghi", DEMANGLE_IN_MAX / 10 - 1, "E");
	_cleanup_free_ char *over = repeat("_ZN", "9abcdefghi", DEMANGLE_IN_MAX / 10 + 1, "E");
	_cleanup_free_ char *got = demangle(fits);

	(void)state;
	assert_non_null(got);
	assert_true(strlen(got) > 4000);
	assert_null(demangle(over));
}

static void noise(void **state)
{
	static const char letters[] = "_ZNRSTIEXLCDKPFBMYvihjmlabs0123456789$.u";
	unsigned int seed = 1;
	char name[200];

	(void)state;
	for (int round = 0; round < 100000; round++) {
		size_t n = 2 + (size_t)rand_r(&seed) % 190;

		name[0] = '_';
		name[1] = round % 2 ? 'Z' : 'R';
		for (size_t i = 2; i < n; i++)
			name[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		name[n] = '\0';
		demangle_and_drop(name);
	}
}

static void pool(void **state)
{
	struct strpool p = {};
	const char *a = strpool_add(&p, "_Z3foov"), *b = strpool_add_demangled(&p, "_Z3foov");

	(void)state;
	assert_string_equal(a, "_Z3foov");
	assert_string_equal(b, "foo");
	assert_ptr_equal(strpool_add(&p, "foo"), b);
	assert_ptr_equal(strpool_add_demangled(&p, "_Z3fooi"), b);
	assert_ptr_equal(strpool_add_demangled(&p, "plain"), strpool_add(&p, "plain"));
	assert_string_equal(strpool_add(&p, ""), "");
	assert_null(strpool_add(&p, NULL));
	assert_null(strpool_add_demangled(&p, NULL));
	strpool_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx),
		cmocka_unit_test(rust),
		cmocka_unit_test(not_mangled),
		cmocka_unit_test(deep),
		cmocka_unit_test(doubling),
		cmocka_unit_test(limits),
		cmocka_unit_test(noise),
		cmocka_unit_test(pool),
	};

	return cmocka_run_group_tests_name("sym_demangle", tests, NULL, NULL);
}
