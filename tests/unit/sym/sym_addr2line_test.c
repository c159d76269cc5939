/*
 * Names, inlined calls and lines against addr2line, for each function of programs of several
 * kinds, at every few bytes.
 */
#include "data/sym/helpers.h"

#include "base/vec.h"
#include "sym/demangle.h"

#define STEP 3
#define STEP_LARGE 29 /* in programs with a whole run-time library inside */
#define FRAMES_MAX 96

struct expected {
	char *function; /* as in the file: mangled */
	char *where;    /* file:line, file:?, ??:0 … */
};

struct answer {
	struct expected frames[FRAMES_MAX];
	size_t n;
};

/* A program that answers, and its output, read answer by answer. GNU's knows no inlined calls in
 * what clang makes, and takes some file names from the wrong table; LLVM's is right there. */
struct oracle {
	const char *program;
	FILE *f;
	char *line; /* read, and not used up yet */
	size_t cap;
	bool pending;
	struct answer answer;
	size_t agreed;
};

struct function {
	u64 start;
	u64 size;
	char *name;
};

struct functions {
	VEC(struct function) list; /* by start */
};

struct addresses {
	VEC(u64) list;
};

static void functions_read(const char *program, struct functions *ret)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	FILE *f;

	assert_int_equal(run("nm -n -S --defined-only %s", program), 0);
	f = fopen(in_scratch("log"), "r");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		struct function fn;
		char type;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%llx %llx %c %ms", &fn.start, &fn.size, &type, &fn.name) != 4)
			continue;
		if (!strchr("tTwWi", type)) {
			free(fn.name);
			continue;
		}
		assert_int_equal(vec_push(&ret->list, fn), 0);
	}
	fclose(f);
}

static void functions_free(struct functions *fns)
{
	vec_each (fn, &fns->list)
		free(fn->name);
	vec_free(&fns->list);
}

/* Whether one of the functions that start there has the name. */
static bool functions_has(const struct functions *fns, u64 start, const char *readable)
{
	size_t lo = 0, hi = fns->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (fns->list.v[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < fns->list.n && fns->list.v[lo].start == start; lo++) {
		const char *name = fns->list.v[lo].name;
		_cleanup_free_ char *demangled = demangle(name);

		if (!strcmp(demangled ? demangled : name, readable))
			return true;
	}
	return false;
}

static bool oracle_line(struct oracle *o)
{
	if (!o->pending) {
		if (getline(&o->line, &o->cap, o->f) <= 0)
			return false;
		o->line[strcspn(o->line, "\n")] = '\0';
	}
	o->pending = false;
	return true;
}

/* Starts it over all addresses in the file "addresses". */
static void oracle_start(struct oracle *o, const char *reference)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.out", o->program);
	if (run("%s -a -i -f -e %s <addresses >%s", o->program, reference, name) == 0)
		o->f = fopen(in_scratch(name), "r");
}

static void answer_clear(struct answer *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->frames[i].function);
		free(a->frames[i].where);
	}
	a->n = 0;
}

static void oracle_stop(struct oracle *o)
{
	answer_clear(&o->answer);
	free(o->line);
	if (o->f)
		fclose(o->f);
	*o = (struct oracle){.program = o->program};
}

/* Reads the answer for the address: a line with it, then pairs of lines. */
static void oracle_next(struct oracle *o, u64 address)
{
	answer_clear(&o->answer);
	assert_true(oracle_line(o));
	assert_int_equal(strtoull(o->line, NULL, 16), address);
	while (oracle_line(o)) {
		struct expected *e = &o->answer.frames[o->answer.n];

		if (!strncmp(o->line, "0x", 2)) {
			o->pending = true;
			break;
		}
		assert_true(o->answer.n < FRAMES_MAX);
		e->function = strdup(o->line);
		assert_true(oracle_line(o));
		e->where = strdup(o->line);
		e->where[strcspn(e->where, " ")] = '\0'; /* "(discriminator 3)" */
		o->answer.n++;
	}
}

/* file:line of a frame as both programs write it. No line at all is written ??:0, ??:? or, where
 * the symbol table names the file, file:?. */
static bool where_equal(const struct sym_frame *got, const char *want)
{
	_cleanup_free_ char *where = NULL;
	const char *line = strrchr(want, ':');

	if (!got->file)
		return line && (!strcmp(line, ":?") || !strcmp(line, ":0"));
	if (got->line)
		assert_true(asprintf(&where, "%s:%u", got->file, got->line) > 0);
	else
		assert_true(asprintf(&where, "%s:%s", got->file, line ? line + 1 : "") > 0);
	return !strcmp(where, want);
}

/* The piece of a function that the compiler put elsewhere is "main.cold" to them where the piece
 * has no inlined call; to us it is main. */
static bool function_equal(const char *got, const char *want)
{
	size_t len = strlen(got);

	return !strncmp(got, want, len) && (!want[len] || want[len] == '.');
}

static bool frame_equal(const struct sym_frame *got, const struct expected *want)
{
	_cleanup_free_ char *readable = demangle(want->function);

	return function_equal(got->function ? got->function : "??",
		       readable ? readable : want->function) &&
	       where_equal(got, want->where);
}

static bool answer_equal(const struct sym_frames *got, const struct answer *want)
{
	if (got->n != want->n)
		return false;
	for (size_t i = 0; i < got->n; i++) {
		if (!frame_equal(&got->v[i], &want->frames[i]))
			return false;
	}
	return true;
}

static void difference_print(
	u64 address, const struct sym_frames *got, const struct oracle *oracles, size_t n)
{
	print_message("at %llx\n", address);
	for (size_t o = 0; o < n; o++) {
		for (size_t i = 0; i < oracles[o].answer.n; i++)
			print_message("  %s: %s %s\n", oracles[o].program,
				oracles[o].answer.frames[i].function,
				oracles[o].answer.frames[i].where);
	}
	for (size_t i = 0; i < got->n; i++)
		print_message("  memwhy: %s+%llx %s:%u\n", got->v[i].function, got->v[i].offset,
			got->v[i].file, got->v[i].line);
}

/* Right if an oracle says the same; or, for what only the symbol table knows, if such a symbol
 * starts where we say: each program prefers another one of several names. */
static bool answer_right(struct oracle *oracles, size_t n, const struct functions *fns, u64 address,
	const struct sym_frames *got)
{
	bool right = false;

	for (size_t i = 0; i < n; i++) {
		if (!oracles[i].f)
			continue;
		oracle_next(&oracles[i], address);
		if (answer_equal(got, &oracles[i].answer)) {
			oracles[i].agreed++;
			right = true;
		}
	}
	if (!right && got->v[0].source == SYM_TABLE)
		right = functions_has(fns, address - got->v[0].offset, got->v[0].function);
	return right;
}

/* Each STEPth address of each function, to the file "addresses" too. */
static void addresses_make(const struct functions *fns, u64 step, struct addresses *ret)
{
	FILE *f = fopen(in_scratch("addresses"), "w");

	assert_non_null(f);
	for (size_t i = 0; i < fns->list.n; i++) {
		const struct function *fn = &fns->list.v[i];

		for (u64 at = fn->start; at < fn->start + fn->size; at += step) {
			assert_int_equal(vec_push(&ret->list, at), 0);
			fprintf(f, "0x%llx\n", at);
		}
	}
	fclose(f);
}

/* Compares a program in the scratch directory; the oracles read `reference`. */
static void compare(const char *program, const char *reference, u64 step)
{
	struct oracle oracles[] = {{.program = "addr2line"}, {.program = "llvm-addr2line"}};
	_cleanup_world_ struct world w = world_new(NULL);
	_cleanup_elf_file_ struct elf_file file = elf_of(in_scratch(program));
	u32 module = world_module(&w, in_scratch(program));
	size_t inlined = 0, wrong = 0;
	struct functions fns = {};
	struct addresses at = {};

	functions_read(reference, &fns);
	addresses_make(&fns, step, &at);
	assert_true(at.list.n > 50);
	for (size_t i = 0; i < ARRAY_SIZE(oracles); i++)
		oracle_start(&oracles[i], reference);
	vec_each (address, &at.list) {
		u64 offset = offset_of(&file, *address);
		struct sym_frames got;

		assert_int_equal(symbolizer_resolve_user(w.syms, module, offset, 0, &got), 0);
		inlined += got.n > 1;
		if (!answer_right(oracles, ARRAY_SIZE(oracles), &fns, *address, &got) &&
			wrong++ < 5)
			difference_print(*address, &got, oracles, ARRAY_SIZE(oracles));
	}
	print_message("%s: %zu addresses, %zu in inlined code; agree: GNU %zu, LLVM %zu; "
		      "wrong %zu\n",
		program, at.list.n, inlined, oracles[0].agreed, oracles[1].agreed, wrong);
	for (size_t i = 0; i < ARRAY_SIZE(oracles); i++)
		oracle_stop(&oracles[i]);
	vec_free(&at.list);
	functions_free(&fns);
	assert_int_equal(wrong, 0);
}

static void tools_needed(const char *compiler)
{
	if (!have(compiler) || !have("addr2line") || !have("nm"))
		skip_because("no %s, addr2line or nm here", compiler);
}

static void compare_built_stepping(
	const char *compiler, const char *flags, const char *sample, u64 step)
{
	tools_needed(compiler);
	if (!build(compiler, flags, sample, "prog"))
		skip_because("%s %s does not work here", compiler, flags);
	compare("prog", "prog", step);
}

static void compare_built(const char *compiler, const char *flags, const char *sample)
{
	compare_built_stepping(compiler, flags, sample, STEP);
}

static void c_optimised(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g", "inlined.c");
}

static void c_unoptimised(void **state)
{
	(void)state;
	compare_built("gcc", "-O0 -g", "inlined.c");
}

static void c_dwarf4(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -gdwarf-4", "inlined.c");
}

static void c_no_pie(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g -no-pie", "inlined.c");
}

static void c_static_pie(void **state)
{
	(void)state;
	compare_built_stepping("gcc", "-O2 -g -static-pie", "inlined.c", STEP_LARGE);
}

static void c_sections(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g -ffunction-sections -Wl,--gc-sections", "inlined.c");
}

static void c_compressed(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g -gz=zlib", "inlined.c");
}

static void c_compressed_old(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g -gz=zlib-gnu", "inlined.c");
}

static void c_compressed_zstd(void **state)
{
	(void)state;
	tools_needed("gcc");
	if (!build("gcc", "-O2 -g", "inlined.c", "full") ||
		run("objcopy --compress-debug-sections=zstd full prog"))
		skip_because("gcc does not work, or objcopy knows no zstd here");
	compare("prog", "full", STEP);
}

static void c_clang(void **state)
{
	(void)state;
	compare_built("clang", "-O2 -g", "inlined.c");
}

static void cxx_optimised(void **state)
{
	(void)state;
	compare_built("g++", "-std=c++17 -O2 -g", "templates.cc");
}

static void cxx_unoptimised(void **state)
{
	(void)state;
	compare_built("g++", "-std=c++17 -O0 -g", "templates.cc");
}

static void cxx_clang(void **state)
{
	(void)state;
	compare_built("clang++", "-std=c++17 -O2 -g", "templates.cc");
}

static void cxx_no_debug(void **state)
{
	(void)state;
	compare_built("g++", "-std=c++17 -O2", "templates.cc");
}

static void shared_library(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -g -shared -fPIC", "inlined.c");
}

/* Debug information in a file of its own, found by .gnu_debuglink beside the program. The link's
 * CRC is what proves it, since there is no build-id. */
static void separate_by_link(void **state)
{
	(void)state;
	tools_needed("gcc");
	if (!build("gcc", "-O2 -g -Wl,--build-id=none", "inlined.c", "full") || !have("objcopy"))
		skip_because("gcc or objcopy does not work here");
	assert_int_equal(run("mkdir -p .debug && objcopy --only-keep-debug full .debug/p.debug && "
			     "objcopy -g -x full prog && cd .debug && "
			     "objcopy --add-gnu-debuglink=p.debug ../prog && strip ../prog"),
		0);
	compare("prog", "full", STEP);
}

static void rust(void **state)
{
	(void)state;
	compare_built_stepping("rustc", "-O -g", "sample.rs", STEP_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_optimised),
		cmocka_unit_test(c_unoptimised),
		cmocka_unit_test(c_dwarf4),
		cmocka_unit_test(c_no_pie),
		cmocka_unit_test(c_static_pie),
		cmocka_unit_test(c_sections),
		cmocka_unit_test(c_compressed),
		cmocka_unit_test(c_compressed_old),
		cmocka_unit_test(c_compressed_zstd),
		cmocka_unit_test(c_clang),
		cmocka_unit_test(cxx_optimised),
		cmocka_unit_test(cxx_unoptimised),
		cmocka_unit_test(cxx_clang),
		cmocka_unit_test(cxx_no_debug),
		cmocka_unit_test(shared_library),
		cmocka_unit_test(separate_by_link),
		cmocka_unit_test(rust),
	};

	return cmocka_run_group_tests_name("sym_addr2line", tests, scratch_setup, scratch_teardown);
}
