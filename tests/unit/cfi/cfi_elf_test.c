/* Tables of ELF files of all kinds, and of those that are none: other machines, without section
 * headers, without call-frame information, cut, damaged; and the tables of many modules within a
 * budget. */
#include "data/sym/helpers.h"

#include "base/file.h"
#include "cfi/elf_table.h"

static int table_of_bytes(const void *data, size_t n, struct cfi_table **ret, struct err *err)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	int fd, rc;

	file_write(in_scratch("bytes"), data, n);
	fd = open(in_scratch("bytes"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	rc = elf_file_open(fd, &file);
	return rc ? err_set(err, rc, "not sound") : cfi_elf_compile(&file, ret, err);
}

static struct cfi_table *table_of(const char *name)
{
	_cleanup_elf_file_ struct elf_file file = elf_of(in_scratch(name));
	struct cfi_table *table;
	struct err err = {};

	if (cfi_elf_compile(&file, &table, &err))
		fail_msg("%s: %s", name, err.msg);
	return table;
}

static void bytes_of(const char *name, struct str *ret)
{
	assert_int_equal(file_read(in_scratch(name), ret), 0);
}

static void assert_refused(const struct str *bytes, int code, const char *words)
{
	struct cfi_table *table;
	struct err err = {};

	assert_int_equal(table_of_bytes(bytes->buf, bytes->len, &table, &err), code);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" is not in \"%s\"", words, err.msg);
}

static void other_machines(void **state)
{
	_cleanup_str_ struct str bytes = {};
	Elf64_Ehdr *header;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	bytes_of("prog", &bytes);
	header = (void *)bytes.buf;
	header->e_machine = EM_AARCH64;
	assert_refused(&bytes, -ENOEXEC, "64-bit code for ELF machine 183");
	if (!run("printf 'int f(int a) { return a; }' >f.c && gcc -m32 -c -o f32 f.c")) {
		bytes_of("f32", &bytes);
		assert_refused(&bytes, -ENOEXEC, "32-bit code for ELF machine 3");
	}
}

static void assert_same_rules(const struct cfi_table *a, const struct cfi_table *b)
{
	for (u32 i = 0; i < a->rows.n; i++) {
		u64 address = a->base + a->rows.pc[i];

		assert_memory_equal(cfi_table_find(a, address), cfi_table_find(b, address),
			sizeof(struct cfi_rule));
	}
	assert_true(a->rows.n > 20);
}

static void without_sections(void **state)
{
	_cleanup_cfi_table_ struct cfi_table *whole = NULL, *bare = NULL;
	_cleanup_str_ struct str bytes = {};
	struct err err = {};
	Elf64_Ehdr *header;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	whole = table_of("prog");
	bytes_of("prog", &bytes);
	header = (void *)bytes.buf;
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	assert_int_equal(table_of_bytes(bytes.buf, bytes.len, &bare, &err), 0);
	assert_same_rules(whole, bare);
	/* Nor the index of the exception headers. */
	for (int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr *p = (void *)(bytes.buf + header->e_phoff + (size_t)i * sizeof(*p));

		if (p->p_type == PT_GNU_EH_FRAME)
			p->p_type = PT_NULL;
	}
	assert_refused(&bytes, -ENOENT, "no call-frame information");
}

static void kinds_of_program(void **state)
{
	static const char *const flags[] = {"-O2", "-O2 -static", "-O2 -no-pie", "-O2 -static-pie",
		"-O2 -shared -fPIC", "-O2 -Wl,-z,noseparate-code", "-O2 -s -fuse-ld=lld"};
	int built = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		_cleanup_cfi_table_ struct cfi_table *table = NULL;

		if (!build("gcc", flags[i], "stack_deep.c", "prog"))
			continue;
		built++;
		table = table_of("prog");
		for (int refusal = 0; refusal < CFI_REFUSALS; refusal++)
			assert_int_equal(table->counts.refused[refusal], 0);
		assert_true(table->counts.fdes > 10);
		assert_true(table->rows.n > 50);
	}
	NEEDS(built);
}

static void debug_file(void **state)
{
	_cleanup_str_ struct str bytes = {};

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -g", "inlined.c", "prog"));
	assert_int_equal(run("objcopy --only-keep-debug prog prog.debug"), 0);
	bytes_of("prog.debug", &bytes);
	assert_refused(&bytes, -ENOENT, "");
}

static void restorer(void **state)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	struct elf_symbol fn, code;

	(void)state;
	NEEDS(build("gcc", "-nostdlib -static", "restorer.s", "prog"));
	table = table_of("prog");
	fn = symbol_of("prog", "function");
	code = symbol_of("prog", "restorer");
	assert_int_equal(cfi_table_find(table, fn.address)->cfa, 8);
	assert_int_equal(cfi_table_find(table, fn.address + 1)->cfa, 16);
	assert_int_equal(cfi_table_find(table, fn.address + 1)->bx, CFI_AT_CFA);
	assert_int_equal(cfi_table_find(table, code.address - 2)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, code.address - 1)->kind, CFI_SIGNAL);
	assert_int_equal(cfi_table_find(table, code.address + 8)->kind, CFI_SIGNAL);
	assert_int_equal(cfi_table_find(table, code.address + 9)->kind, CFI_NONE);
}

/* Cut anywhere, and with each byte of its headers changed. */
static void damaged(void **state)
{
	_cleanup_str_ struct str bytes = {};
	struct err err = {};

	(void)state;
	NEEDS(build("gcc", "-nostdlib -static -Wl,-z,noseparate-code", "restorer.s", "prog"));
	assert_int_equal(run("strip prog"), 0);
	bytes_of("prog", &bytes);
	for (size_t n = 0; n < bytes.len; n += 7) {
		_cleanup_cfi_table_ struct cfi_table *table = NULL;

		if (table_of_bytes(bytes.buf, n, &table, &err))
			assert_string_not_equal(err.msg, "");
	}
	for (size_t i = 0; i < bytes.len; i++) {
		_cleanup_cfi_table_ struct cfi_table *table = NULL;

		bytes.buf[i] ^= 0x5a;
		(void)table_of_bytes(bytes.buf, bytes.len, &table, &err);
		bytes.buf[i] ^= 0x5a;
	}
}

/* A segment of code of terabytes, of which the file has nothing. */
static void huge(void **state)
{
	_cleanup_str_ struct str bytes = {};
	Elf64_Ehdr *header;

	(void)state;
	NEEDS(build("gcc", "-O2", "inlined.c", "prog"));
	bytes_of("prog", &bytes);
	header = (void *)bytes.buf;
	for (int i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr *s = (void *)(bytes.buf + header->e_shoff + (size_t)i * sizeof(*s));

		if (s->sh_flags & SHF_EXECINSTR)
			s->sh_size = 1ULL << 41;
	}
	assert_refused(&bytes, -EFBIG, "more than 4 GiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_machines),
		cmocka_unit_test(without_sections),
		cmocka_unit_test(kinds_of_program),
		cmocka_unit_test(debug_file),
		cmocka_unit_test(restorer),
		cmocka_unit_test(damaged),
		cmocka_unit_test(huge),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
