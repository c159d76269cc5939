/* Debug information: separate files, what they may lead to, and what is made to take all time and
 * memory. */
#include "data/sym/helpers.h"

/* A stripped program beside its debug file; wrong: the debug file is of another build. */
static void link_crc(void **state)
{
	struct elf_symbol fn;

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -g -Wl,--build-id=none", "inlined.c", "full"));
	fn = symbol_of("full", "hash_text");
	assert_int_equal(run("objcopy --only-keep-debug full p.debug && objcopy -S full prog && "
			     "objcopy --add-gnu-debuglink=p.debug prog"),
		0);
	{
		_cleanup_world_ struct world w = world_new(NULL);
		struct sym_frames frames = resolve(&w, "prog", fn.address + 2, 0);

		assert_string_equal(frames.v[frames.n - 1].function, "hash_text");
		assert_int_equal(info_of(&w, "prog").source, SYM_DWARF);
	}
	assert_int_equal(run("printf x >>p.debug"), 0);
	{
		_cleanup_world_ struct world w = world_new(NULL);

		assert_null(resolve(&w, "prog", fn.address + 2, 0).v[0].function);
		assert_int_equal(info_of(&w, "prog").source, SYM_DYNAMIC);
	}
}

/* With a build-id in both files that is what counts, even where the CRC is out of date. */
static void link_build_id(void **state)
{
	struct elf_symbol fn;

	(void)state;
	NEEDS(have("objcopy") &&
		build("gcc", "-O2 -g -Wl,--build-id=0x1111222233334444", "inlined.c", "full") &&
		build("gcc", "-O2 -g -Wl,--build-id=0x5555", "inlined.c", "other"));
	fn = symbol_of("full", "hash_text");
	assert_int_equal(run("objcopy --only-keep-debug full p.debug && objcopy -S full prog && "
			     "objcopy --add-gnu-debuglink=p.debug prog && printf x >>p.debug"),
		0);
	{
		_cleanup_world_ struct world w = world_new(NULL);
		const struct module *m;

		resolve(&w, "prog", fn.address + 2, 0);
		assert_int_equal(info_of(&w, "prog").source, SYM_DWARF);
		m = module_table_get(w.modules, world_module(&w, in_scratch("prog")));
		assert_int_equal(m->build_id_len, 8);
		assert_memory_equal(m->build_id, "\x11\x11\x22\x22\x33\x33\x44\x44", 8);
	}
	assert_int_equal(run("objcopy --only-keep-debug other p.debug"), 0);
	{
		_cleanup_world_ struct world w = world_new(NULL);

		assert_int_equal(info_of(&w, "prog").source, SYM_DYNAMIC);
	}
}

/* What a program says about shared debug information must not make us open a FIFO. */
static void alt_link_to_fifo(void **state)
{
	_cleanup_world_ struct world w = {};
	struct elf_symbol fn;
	char link[256];
	int n;

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -g", "inlined.c", "prog"));
	w = world_new(NULL);
	assert_int_equal(mkfifo(in_scratch("alt"), 0600), 0);
	n = snprintf(link, sizeof(link), "%s%c%s", in_scratch("alt"), 0, "build-id");
	file_write(in_scratch("link"), link, (size_t)n);
	assert_int_equal(run("objcopy --add-section .gnu_debugaltlink=link prog"), 0);
	fn = symbol_of("prog", "hash_text");
	alarm(20);
	assert_string_equal(
		resolve(&w, "prog", fn.address + 2, 0).v[0].source == SYM_DWARF ? "ok" : "no",
		"ok");
	alarm(0);
}

/* Split DWARF: lines are there, and the .dwo file is not opened. */
static void split_dwarf(void **state)
{
	_cleanup_world_ struct world w = {};
	struct sym_frames frames;
	struct elf_symbol fn;

	(void)state;
	NEEDS(build("gcc", "-O2 -g -gsplit-dwarf", "inlined.c", "prog"));
	w = world_new(NULL);
	assert_int_equal(run("for f in *.dwo; do rm \"$f\" && mkfifo \"$f\"; done"), 0);
	fn = symbol_of("prog", "hash_text");
	alarm(20);
	frames = resolve(&w, "prog", fn.address + 2, 0);
	alarm(0);
	assert_string_equal(frames.v[0].function, "hash_text");
	assert_true(frames.v[0].line > 0);
	assert_true(ends_with(frames.v[0].file, "inlined.c"));
}

/* Whether a call of that name was inlined into a function. */
static bool has_inlined(
	struct world *w, const char *program, const struct elf_symbol *fn, const char *name)
{
	for (u64 i = 0; i < fn->size; i++) {
		struct sym_frames frames = resolve(w, program, fn->address + i, 0);

		if (frames.n > 1 && frames.v[0].function && !strcmp(frames.v[0].function, name))
			return true;
	}
	return false;
}

/* dwz moves what debug files share into a file of their own, names of inlined functions among
 * it. When that is gone the rest must still do, and it must not be waited for. */
static void alt_file(void **state)
{
	struct sym_frames frames;
	struct elf_symbol fn;

	(void)state;
	if (!have("dwz"))
		skip_because("no dwz here");
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "one") &&
		build("gcc", "-O2 -g -DOTHER", "inlined.c", "two"));
	assert_int_equal(run("dwz -m shared.debug one two"), 0);
	fn = symbol_of("one", "hash_text");
	{
		_cleanup_world_ struct world w = world_new(NULL);

		assert_true(has_inlined(&w, "one", &fn, "mix"));
	}
	assert_int_equal(run("rm shared.debug && mkfifo shared.debug"), 0);
	{
		_cleanup_world_ struct world w = world_new(NULL);

		alarm(20);
		assert_false(has_inlined(&w, "one", &fn, "mix"));
		alarm(0);
		frames = resolve(&w, "one", fn.address + 2, 0);
		assert_string_equal(frames.v[frames.n - 1].function, "hash_text");
		assert_true(frames.v[0].line > 0);
	}
}

/* Debug information for lines only has no names for linkers, hence no namespaces. */
static void lines_only(void **state)
{
	_cleanup_world_ struct world w = {};
	struct sym_frames frames;
	struct elf_symbol fn;

	(void)state;
	NEEDS(build("clang++", "-std=c++17 -O1 -gline-tables-only", "templates.cc", "prog"));
	w = world_new(NULL);
	fn = symbol_of("prog", "_ZNK4shop6basket5priceEv");
	frames = resolve(&w, "prog", fn.address + 1, 0);
	assert_string_equal(frames.v[frames.n - 1].function, "shop::basket::price");
	assert_true(frames.v[frames.n - 1].line > 0);
}

/* Puts other content into a section of a program in the scratch directory. */
static void section_replace(const char *program, const char *section, const struct str *content)
{
	file_write(in_scratch("content"), content->buf, content->len);
	assert_int_equal(run("objcopy --update-section %s=content %s", section, program), 0);
}

static void add_number(struct str *s, u64 value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		str_addc(s, (char)(value >> 8 * i));
}

static void add_uleb(struct str *s, u64 value)
{
	for (; value > 127; value >>= 7)
		str_addc(s, (char)(value | 128));
	str_addc(s, (char)value);
}

/* Many small units, for each of which the same long table of abbreviations is read to its end:
 * a few MiB that would take minutes, and gigabytes of memory. Names still come from the symbol
 * table, and debug information of other modules is not affected. */
static void endless_abbreviations(void **state)
{
	_cleanup_str_ struct str info = {}, abbrev = {};
	_cleanup_world_ struct world w = {};
	struct elf_symbol fn;

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -g -no-pie", "inlined.c", "prog") &&
		build("gcc", "-O2 -g", "inlined.c", "other"));
	for (u64 code = 40000; code; code--) {
		add_uleb(&abbrev, code); /* DW_TAG_compile_unit, no children */
		add_number(&abbrev, 0x0011, 2);
		if (code == 1) /* DW_AT_low_pc addr, DW_AT_high_pc data4 */
			add_number(&abbrev, 0x06120111, 4);
		add_number(&abbrev, 0, 2);
	}
	str_addc(&abbrev, 0);
	for (int i = 0; i < 200000; i++) {
		add_number(&info, 21, 4);
		add_number(&info, 0x08010005, 4); /* DWARF 5, DW_UT_compile, 8-byte addresses */
		add_number(&info, 0, 4);
		add_uleb(&info, 1);
		add_number(&info, 0x401000, 8);
		add_number(&info, 0x1000, 4);
	}
	section_replace("prog", ".debug_info", &info);
	section_replace("prog", ".debug_abbrev", &abbrev);
	w = world_new(NULL);
	fn = symbol_of("prog", "hash_text");
	alarm(60);
	assert_string_equal(resolve(&w, "prog", fn.address, 0).v[0].function, "hash_text");
	alarm(0);
	assert_int_equal(info_of(&w, "prog").debug_error, -ETIMEDOUT);
	assert_int_equal(info_of(&w, "prog").source, SYM_TABLE);
	assert_false(symbolizer_exhausted(w.syms));
#ifndef __SANITIZE_ADDRESS__ /* which does not give freed memory back */
	assert_int_equal(info_of(&w, "other").source, SYM_DWARF);
#endif
}

/* Lines without end, in one unit. */
static void endless_lines(void **state)
{
	_cleanup_str_ struct str line = {};
	_cleanup_world_ struct world w = {};
	struct elf_symbol fn;
	struct sym_frames frames;
	FILE *f;
	u32 head;

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -gdwarf-5", "inlined.c", "prog"));
	assert_int_equal(run("objcopy --dump-section .debug_line=line prog"), 0);
	f = fopen(in_scratch("line"), "r");
	assert_non_null(f);
	for (int c; (c = getc(f)) != EOF;)
		str_addc(&line, (char)c);
	fclose(f);
	for (int i = 0; i < 16 << 20; i++)
		str_addc(&line, (char)0xff);
	head = (u32)line.len - 4;
	memcpy(line.buf, &head, sizeof(head));
	section_replace("prog", ".debug_line", &line);
	w = world_new(NULL);
	fn = symbol_of("prog", "hash_text");
	frames = resolve(&w, "prog", fn.address, 0);
	assert_string_equal(frames.v[frames.n - 1].function, "hash_text");
	assert_int_equal(frames.v[0].source, SYM_DWARF);
	assert_int_equal(frames.v[0].line, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(link_crc, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(link_build_id, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(alt_link_to_fifo, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(split_dwarf, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(alt_file, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(lines_only, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(
			endless_abbreviations, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(endless_lines, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("sym_debug", tests, NULL, NULL);
}
