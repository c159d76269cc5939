/* The symbolizer: return addresses, budgets, the vdso and the kernel. */
#include "data/sym/helpers.h"

#include "sym/kallsyms.h"
#include "sym/vdso.h"

/* A call that does not return may be the last instruction of a function: the address to return
 * to is then in the next function. */
static void return_address(void **state)
{
	_cleanup_world_ struct world w = {};
	struct elf_symbol die, next;
	struct sym_frames frames;

	(void)state;
	NEEDS(build(
		"gcc", "-O1 -g -fno-reorder-functions -falign-functions=1", "noreturn.c", "prog"));
	w = world_new(NULL);
	die = symbol_of("prog", "calls_last");
	next = symbol_of("prog", "follows");
	assert_int_equal(die.address + die.size, next.address);
	frames = resolve(&w, "prog", next.address, SYM_RETURN_ADDRESS);
	assert_string_equal(frames.v[0].function, "calls_last");
	assert_int_equal(frames.v[0].offset, die.size);
	frames = resolve(&w, "prog", next.address, 0);
	assert_string_equal(frames.v[0].function, "follows");
	assert_int_equal(frames.v[0].offset, 0);
	assert_true(ends_with(frames.v[0].file, "/noreturn.c"));
}

static void answers_are_kept(void **state)
{
	_cleanup_world_ struct world w = {};
	struct sym_frames a, b;
	struct elf_symbol fn;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	w = world_new(NULL);
	fn = symbol_of("prog", "hash_text");
	a = resolve(&w, "prog", fn.address + 2, 0);
	b = resolve(&w, "prog", fn.address + 2, 0);
	assert_ptr_equal(a.v, b.v);
	assert_string_equal(a.v[0].module, in_scratch("prog"));
	assert_int_equal(info_of(&w, "prog").source, SYM_DWARF);
	assert_false(symbolizer_exhausted(w.syms));
}

static void ids(void **state)
{
	_cleanup_world_ struct world w = world_new(NULL);
	struct sym_frames frames;

	(void)state;
	assert_int_equal(symbolizer_resolve_user(w.syms, 12345, 0, 0, &frames), -ENOENT);
	assert_int_equal(symbolizer_resolve_user(w.syms, MODULE_ID_ANON, 0x1234, 0, &frames), 0);
	assert_int_equal(frames.n, 1);
	assert_null(frames.v[0].function);
	assert_string_equal(frames.v[0].module, "[anon]");
	assert_int_equal(frames.v[0].offset, 0x1234);
	assert_int_equal(
		symbolizer_resolve_user(w.syms, MODULE_ID_UNKNOWN, 0, SYM_RETURN_ADDRESS, &frames),
		0);
	assert_string_equal(frames.v[0].module, "[unknown]");
}

/* Without room for debug information the symbol table is used; without room for that, nothing. */
static void budgets(void **state)
{
	struct sym_options table = {.dwarf = true, .max_debug_bytes = 8000};
	struct sym_options nothing = {.dwarf = true, .max_debug_bytes = 100};
	struct sym_options no_time = {.dwarf = true, .max_debug_ns = 1};
	struct sym_options no_dwarf = {};
	struct elf_symbol fn;

	(void)state;
	NEEDS(build("gcc", "-O2 -g3", "inlined.c", "prog"));
	fn = symbol_of("prog", "hash_text");
	{
		_cleanup_world_ struct world w = world_new(&table);

		assert_string_equal(
			resolve(&w, "prog", fn.address + 2, 0).v[0].function, "hash_text");
		assert_int_equal(info_of(&w, "prog").source, SYM_TABLE);
		assert_int_equal(info_of(&w, "prog").debug_error, -EFBIG);
	}
	{
		_cleanup_world_ struct world w = world_new(&nothing);

		assert_null(resolve(&w, "prog", fn.address + 2, 0).v[0].function);
		assert_int_equal(info_of(&w, "prog").source, SYM_NONE);
	}
	{
		_cleanup_world_ struct world w = world_new(&no_time);

		assert_string_equal(
			resolve(&w, "prog", fn.address + 2, 0).v[0].function, "hash_text");
		assert_true(symbolizer_exhausted(w.syms));
	}
	{
		_cleanup_world_ struct world w = world_new(&no_dwarf);
		struct sym_frames frames = resolve(&w, "prog", fn.address + 2, 0);

		assert_string_equal(frames.v[0].function, "hash_text");
		assert_int_equal(frames.v[0].source, SYM_TABLE);
		assert_null(frames.v[0].file);
	}
}

/* Whether it is left out for the first time. */
static bool give_file(
	struct symbolizer *s, u32 id, const char *program, struct sym_module_info *ret)
{
	_cleanup_close_ int fd = open(in_scratch(program), O_RDONLY | O_CLOEXEC);
	const struct debug_opener none = {};
	const struct sym_file file = {
		.kind = MODULE_FILE, .path = program, .fd = fd, .opener = &none};
	bool left_out = false;

	assert_true(fd >= 0);
	assert_int_equal(symbolizer_give(s, id, &file, ret, &left_out), 0);
	return left_out;
}

static struct sym_budget budget;

/* Whether it was read. */
static bool give(struct symbolizer *s, u32 id, const char *program)
{
	u64 before = budget.bytes_taken;
	struct sym_module_info info;

	assert_false(give_file(s, id, program, &info));
	assert_int_equal(info.source, SYM_TABLE);
	return budget.bytes_taken > before;
}

/* What was asked for last is kept, as much as there is room for; the rest is read again. */
static void modules_are_given_back(void **state)
{
	const struct sym_options o = {.budget = &budget};
	struct symbolizer *s;
	u64 one;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	budget_init(&budget, 0, 0);
	assert_int_equal(symbolizer_open(&o, NULL, &s), 0);
	assert_true(give(s, 4, "prog"));
	one = budget.bytes_taken;
	assert_true(one > 0);
	assert_true(give(s, 5, "prog") && give(s, 6, "prog"));
	assert_false(give(s, 4, "prog"));
	symbolizer_keep(s, 3 * one, 0);
	symbolizer_keep(s, 0, 60000000000);
	assert_int_equal(budget.bytes_taken, 3 * one);
	symbolizer_keep(s, 2 * one, 0);
	assert_int_equal(budget.bytes_taken, 2 * one);
	assert_false(give(s, 4, "prog") || give(s, 6, "prog"));
	assert_true(give(s, 5, "prog"));
	/* However little is to be kept, it is not read again for each ask. */
	symbolizer_keep(s, 0, 0);
	assert_int_equal(budget.bytes_taken, one);
	assert_false(give(s, 5, "prog"));
	symbolizer_close(s);
	assert_int_equal(budget.bytes_taken, 0);
}

/* What there was no time or room for is told once; it is read when there is time again. */
static void left_out_for_a_while(void **state)
{
	const struct sym_options o = {.dwarf = true, .budget = &budget};
	struct sym_module_info info;
	struct symbolizer *s;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	budget_init(&budget, 0, 0);
	assert_int_equal(symbolizer_open(&o, NULL, &s), 0);
	budget.ns_left = 0;
	assert_true(give_file(s, 4, "prog", &info));
	assert_int_equal(info.debug_error, -ETIMEDOUT);
	assert_false(give_file(s, 4, "prog", &info));
	symbolizer_forget(s, 4);
	assert_false(give_file(s, 4, "prog", &info));
	assert_int_equal(info.debug_error, -ETIMEDOUT);
	assert_int_equal(budget.users[0].files_out, 1);
	budget.ns_left = 1000; /* not enough for anything */
	assert_false(give_file(s, 4, "prog", &info));
	assert_int_equal(info.debug_error, -ETIMEDOUT);
	budget.ns_left = budget.ns_max;
	assert_false(give_file(s, 4, "prog", &info));
	assert_int_equal(info.debug_error, 0);
	assert_int_equal(info.source, SYM_DWARF);
	symbolizer_close(s);
	budget_init(&budget, 8000, 0);
	assert_int_equal(symbolizer_open(&o, NULL, &s), 0);
	for (int i = 0; i < 3; i++, symbolizer_forget_all(s)) {
		assert_int_equal(give_file(s, 4, "prog", &info), i == 0);
		assert_int_equal(info.debug_error, -EFBIG);
	}
	assert_int_equal(budget.users[0].files_out, 1);
	symbolizer_close(s);
}

/* Time that is used up later ends lookups too, not only the first reading. */
static void time_runs_out(void **state)
{
	struct sym_options o = {.dwarf = true, .budget = &budget};
	struct elf_symbol fn;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	fn = symbol_of("prog", "hash_text");
	budget_init(&budget, 0, 0);
	{
		_cleanup_world_ struct world w = world_new(&o);

		assert_int_equal(resolve(&w, "prog", fn.address + 2, 0).v[0].source, SYM_DWARF);
		budget.ns_left = 0;
		assert_int_equal(resolve(&w, "prog", fn.address + 3, 0).v[0].source, SYM_TABLE);
	}
}

static void vdso(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct sym_frames frames;
	const struct elf_symbol *fn;
	void *image;
	size_t size;

	(void)state;
	if (vdso_read(&image, &size))
		skip_because("this kernel gives no vdso");
	w = world_new(NULL);
	assert_int_equal(elf_image_open(image, size, &file), 0);
	budget_init(&budget, 1 << 20, 1);
	assert_int_equal(elf_symbols_add(&s, &file, SHT_DYNSYM, &budget), 0);
	assert_int_equal(elf_symbols_finish(&s), 0);
	assert_true(s.list.n > 0);
	fn = &s.list.v[0];
	assert_int_equal(symbolizer_resolve_user(
				 w.syms, MODULE_ID_VDSO, offset_of(&file, fn->address), 0, &frames),
		0);
	assert_non_null(frames.v[0].function);
	assert_string_equal(frames.v[0].module, "[vdso]");
}

static void kernel(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_kallsyms_ struct kallsyms k;
	struct sym_frames frames, again;
	struct err err = {};
	int rc = kallsyms_load(&k, &err);
	u64 at;

	(void)state;
	w = world_new(NULL);
	assert_int_equal(symbolizer_load_kernel(w.syms, NULL), rc);
	assert_int_equal(symbolizer_resolve_kernel(w.syms, 0x1234, 0, &frames), 0);
	assert_null(frames.v[0].function);
	assert_string_equal(frames.v[0].module, "[kernel]");
	assert_int_equal(frames.v[0].offset, 0x1234);
	if (rc) {
		world_free(&w);
		skip_because("%s", err.msg);
	}
	at = k.list.v[10].address;
	assert_int_equal(symbolizer_resolve_kernel(w.syms, at, 0, &frames), 0);
	assert_string_equal(frames.v[0].function, k.names.buf + k.list.v[10].name);
	assert_int_equal(frames.v[0].offset, 0);
	assert_int_equal(frames.v[0].source, SYM_KERNEL);
	assert_int_equal(symbolizer_resolve_kernel(w.syms, at, SYM_RETURN_ADDRESS, &again), 0);
	assert_string_equal(again.v[0].function, k.names.buf + k.list.v[9].name);
	assert_int_equal(again.v[0].offset, at - k.list.v[9].address);
	/* Loading again leaves what was handed out as it was. */
	assert_int_equal(symbolizer_load_kernel(w.syms, NULL), 0);
	assert_int_equal(symbolizer_resolve_kernel(w.syms, at, 0, &again), 0);
	assert_ptr_not_equal(again.v, frames.v);
	assert_ptr_equal(again.v[0].function, frames.v[0].function);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(return_address, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(answers_are_kept, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(ids, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(budgets, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(
			modules_are_given_back, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(
			left_out_for_a_while, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(time_runs_out, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(vdso, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(kernel, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("sym_symbolizer", tests, NULL, NULL);
}
