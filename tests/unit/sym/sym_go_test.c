/* The table of functions that Go programs carry (src/sym/gotable.h): made here in each of its
 * layouts, cut at each byte and damaged; and read from programs that lost their symbols. */
#include "data/sym/helpers.h"

#include "sym/gotable.h"

#define TEXT 0x401000

struct made {
	u8 bytes[1024];
	size_t n;
	enum go_layout layout;
};

static void put(struct made *m, size_t at, u64 value, size_t bytes)
{
	assert_true(at + bytes <= sizeof(m->bytes));
	memcpy(m->bytes + at, &value, bytes);
	m->n = MAX(m->n, at + bytes);
}

static void put_text(struct made *m, size_t at, const char *text)
{
	memcpy(m->bytes + at, text, strlen(text) + 1);
	m->n = MAX(m->n, at + strlen(text) + 1);
}

/* Where things are in the tables made here. */
enum { AT_NAMES = 128, AT_UNITS = 192, AT_FILES = 224, AT_VALUES = 288, AT_FUNCTIONS = 352 };

static void header_make(struct made *m)
{
	static const u32 magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	static const u32 parts[] = {AT_NAMES, AT_UNITS, AT_FILES, AT_VALUES, AT_FUNCTIONS};
	size_t at = 24;

	put(m, 0, magics[m->layout], 4);
	put(m, 6, 1, 1);
	put(m, 7, 8, 1);
	put(m, 8, 2, 8); /* functions */
	if (m->layout == GO_1_2)
		return;
	put(m, 16, 1, 8); /* files */
	if (m->layout >= GO_1_18) {
		put(m, at, TEXT, 8);
		at += 8;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++, at += 8)
		put(m, at, parts[i], 8);
}

/* The record of a function: an address, then numbers of four bytes. */
static void record_make(struct made *m, size_t at, u64 start, u32 name)
{
	size_t word = m->layout >= GO_1_18 ? 4 : 8, more;

	put(m, at, start, word);
	at += word;
	put(m, at, name, 4);
	put(m, at + 16, 1, 4); /* values of its files … */
	put(m, at + 20, 5, 4); /* … of its lines */
	put(m, at + 24, 3, 4); /* and three more */
	put(m, at + 28, 0, 4); /* its unit */
	more = at + (m->layout == GO_1_20 ? 40 : 36);
	put(m, more, 0, 4);
	put(m, more + 4, 0, 4);
	put(m, more + 8, 16, 4); /* what was inlined */
}

/* main.first: 16 bytes in line 7 and 16 in line 9, of which the last 8 were inlined; main.second:
 * 32 bytes. */
static struct made table_make(enum go_layout layout)
{
	struct made m = {.layout = layout};
	size_t entry = layout >= GO_1_18 ? 4 : 8, list = layout == GO_1_2 ? 16 : AT_FUNCTIONS;
	u64 base = layout == GO_1_2 ? 0 : AT_FUNCTIONS, text = layout >= GO_1_18 ? 0 : TEXT;
	u32 names = layout == GO_1_2 ? AT_NAMES : 0;

	header_make(&m);
	put_text(&m, AT_NAMES + 1, "main.first");
	put_text(&m, AT_NAMES + 20, "main.second[...]");
	put(&m, AT_UNITS, 3, 4);
	put_text(&m, AT_FILES + 3, "/src/main.go");
	memcpy(m.bytes + AT_VALUES + 1, (u8[]){2, 32, 0}, 3);         /* file 0 */
	memcpy(m.bytes + AT_VALUES + 5, (u8[]){16, 16, 4, 16, 0}, 5); /* lines 7, 9 */
	memcpy(m.bytes + AT_VALUES + 16, (u8[]){0, 24, 2, 8, 0}, 5);  /* -1, then 0 */
	for (u32 i = 0; i < 2; i++) {
		put(&m, list + 2 * i * entry, text + 32 * i, entry);
		put(&m, list + (2 * i + 1) * entry, 512 + 128 * i - base, entry);
		record_make(&m, 512 + 128 * i, text + 32 * i, names + (i ? 20 : 1));
	}
	put(&m, list + 4 * entry, text + 64, entry);
	return m;
}

static void lines_check(const struct go_table *t)
{
	const char *file;
	u32 line;

	assert_int_equal(go_table_line(t, TEXT, &file, &line), 0);
	assert_string_equal(file, "/src/main.go");
	assert_int_equal(line, 7);
	assert_int_equal(go_table_line(t, TEXT + 15, &file, &line), 0);
	assert_int_equal(line, 7);
	assert_int_equal(go_table_line(t, TEXT + 16, &file, &line), 0);
	assert_int_equal(line, 9);
	/* Of what was inlined it would be another function's. */
	assert_int_equal(go_table_line(t, TEXT + 24, &file, &line), -ENOENT);
	assert_int_equal(go_table_line(t, TEXT - 1, &file, &line), -ENOENT);
	assert_int_equal(go_table_line(t, TEXT + 64, &file, &line), -ENOENT);
}

static void layouts(void **state)
{
	(void)state;
	for (enum go_layout layout = GO_1_2; layout <= GO_1_20; layout++) {
		struct made m = table_make(layout);
		struct go_function f;
		struct go_table t;

		assert_int_equal(go_table_open(m.bytes, m.n, 0, &t), 0);
		assert_int_equal(t.layout, layout);
		assert_int_equal(t.n, 2);
		assert_int_equal(go_table_function(&t, 0, &f), 0);
		assert_string_equal(f.name, "main.first");
		assert_int_equal(f.start, TEXT);
		assert_int_equal(f.end, TEXT + 32);
		assert_int_equal(go_table_function(&t, 1, &f), 0);
		assert_string_equal(f.name, "main.second[...]");
		assert_int_equal(f.start, TEXT + 32);
		assert_int_equal(f.end, TEXT + 64);
		assert_int_equal(go_table_function(&t, 2, &f), -EBADMSG);
		if (layout == GO_1_2)
			continue;
		lines_check(&t);
	}
}

/* The loader of a position independent program writes the address of its code. */
static void relocated(void **state)
{
	struct made m = table_make(GO_1_20);
	struct go_function f;
	struct go_table t;

	(void)state;
	assert_int_equal(go_table_text_field(m.bytes, m.n), 24);
	assert_int_equal(go_table_open(m.bytes, m.n, 0x1000, &t), 0);
	assert_int_equal(go_table_function(&t, 1, &f), 0);
	assert_int_equal(f.start, 0x1020);
	m = table_make(GO_1_16);
	assert_int_equal(go_table_text_field(m.bytes, m.n), 0);
}

static void table_touch(const u8 *bytes, size_t n)
{
	u8 *copy = memcpy(malloc(n + 1), bytes, n); /* so that the sanitizer knows its end */
	struct go_function f;
	struct go_table t;
	const char *file;
	u32 line;

	copy = realloc(copy, MAX(n, 1UL));
	if (!go_table_open(copy, n, 0, &t)) {
		for (u64 i = 0; i < MIN(t.n, 100ULL); i++) {
			if (!go_table_function(&t, i, &f))
				assert_true(strlen(f.name) && f.start < f.end);
		}
		for (u64 at = 0; at < 70; at++) {
			if (!go_table_line(&t, TEXT + at, &file, &line))
				assert_true(strlen(file) && line);
		}
	}
	free(copy);
}

static void hostile(void **state)
{
	(void)state;
	for (enum go_layout layout = GO_1_2; layout <= GO_1_20; layout++) {
		struct made m = table_make(layout);
		struct go_table t;

		for (size_t n = 0; n <= m.n; n++)
			table_touch(m.bytes, n);
		for (size_t at = 0; at < m.n; at++) {
			u8 was = m.bytes[at];

			for (unsigned int bit = 0; bit < 8; bit++) {
				m.bytes[at] = (u8)(was ^ 1U << bit);
				table_touch(m.bytes, m.n);
			}
			m.bytes[at] = 0xff;
			table_touch(m.bytes, m.n);
			m.bytes[at] = was;
		}
		m.bytes[7] = 3; /* bytes of a pointer */
		assert_int_equal(go_table_open(m.bytes, m.n, 0, &t), -ENOEXEC);
	}
}

/* A program without symbols whose code is at TEXT, with the table in a section of that name. */
static bool program_make(const struct made *m, size_t junk, const char *section)
{
	static const u8 zeroes[64];
	u8 bytes[sizeof(zeroes) + sizeof(m->bytes)] = {};

	memcpy(bytes + junk, m->bytes, m->n);
	file_write(in_scratch("table"), bytes, junk + m->n);
	return !run("echo '.globl _start; _start: .fill 64, 1, 0x90' >a.s") &&
	       !run("gcc -nostdlib -static -Wl,-Ttext=%#x,--build-id=none -o full a.s", TEXT) &&
	       !run("objcopy --strip-all --add-section %s=table --add-section .go.buildinfo=a.s "
		    "full prog",
		       section);
}

static void program_check(u64 address, const char *function, u32 line, u64 offset)
{
	struct sym_options names_only = {};
	_cleanup_world_ struct world w = world_new(NULL);
	_cleanup_world_ struct world plain = world_new(&names_only);
	struct sym_frames frames = resolve(&w, "prog", address, 0);

	assert_int_equal(frames.n, 1);
	assert_non_null(frames.v[0].function);
	assert_string_equal(frames.v[0].function, function);
	assert_int_equal(frames.v[0].offset, offset);
	assert_int_equal(frames.v[0].line, line);
	assert_int_equal(frames.v[0].source, SYM_TABLE);
	if (line)
		assert_string_equal(frames.v[0].file, "/src/main.go");
	frames = resolve(&plain, "prog", address, 0);
	assert_string_equal(frames.v[0].function, function);
	assert_null(frames.v[0].file);
}

static void programs(void **state)
{
	struct made m = table_make(GO_1_20), old = table_make(GO_1_2);

	(void)state;
	NEEDS(program_make(&m, 0, ".gopclntab"));
	program_check(TEXT + 17, "main.first", 9, 17);
	program_check(TEXT + 25, "main.first", 0, 25);
	program_check(TEXT + 33, "main.second[...]", 7, 1);
	NEEDS(program_make(&m, 0, ".data.rel.ro.gopclntab"));
	program_check(TEXT + 17, "main.first", 9, 17);
	/* Another linker put it among other data. */
	NEEDS(program_make(&m, 40, ".data.rel.ro"));
	program_check(TEXT + 17, "main.first", 9, 17);
	NEEDS(program_make(&old, 0, ".gopclntab"));
	program_check(TEXT + 17, "main.first", 0, 17);
}

/* Names of all that a program has are those of its symbol table. */
static void real_program(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_elf_symbols_ struct elf_symbols full = {};
	_cleanup_elf_file_ struct elf_file elf = {.fd = -1};
	struct sym_budget budget;
	size_t same = 0, all = 0;

	(void)state;
	if (!have("go"))
		skip_because("go is not installed");
	NEEDS(!run("echo 'package main; func main() { println(1) }' >main.go") &&
		!run("HOME=$PWD GO111MODULE=off GOFLAGS= go build -o full main.go") &&
		!run("strip -o prog full"));
	budget_init(&budget, 1 << 28, 0);
	elf = elf_of(in_scratch("full"));
	assert_int_equal(elf_symbols_add(&full, &elf, SHT_SYMTAB, &budget), 0);
	assert_int_equal(elf_symbols_finish(&full), 0);
	w = world_new(NULL);
	vec_each (symbol, &full.list) {
		struct sym_frames frames;
		size_t n = strlen(symbol->name);

		if (!symbol->sized || strncmp(symbol->name, "runtime.", 8))
			continue;
		all++;
		frames = resolve(&w, "prog", symbol->address, 0);
		assert_non_null(frames.v[0].function);
		/* A suffix that only linkers see. */
		n = ends_with(symbol->name, ".abi0") ? n - 5 : n;
		same += strlen(frames.v[0].function) == n &&
			!strncmp(frames.v[0].function, symbol->name, n);
	}
	assert_true(all > 500);
	assert_int_equal(same, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts),
		cmocka_unit_test(relocated),
		cmocka_unit_test(hostile),
		cmocka_unit_test_setup_teardown(programs, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(real_program, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
