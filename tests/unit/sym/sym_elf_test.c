/* ELF files: which symbol is shown, symbol tables of all kinds, and files that are cut, damaged
 * or made to make us read without end. */
#include "data/sym/helpers.h"

#include "sym/elfsym.h"
#include "sym/minidebug.h"

static struct sym_budget budget_of(u64 bytes)
{
	struct sym_budget b;

	budget_init(&b, bytes, 1ULL << 40);
	return b;
}

static u64 address_of(const struct elf_symbols *s, const char *name)
{
	for (size_t i = 0; i < s->list.n; i++) {
		if (!strcmp(s->list.v[i].name, name))
			return s->list.v[i].address;
	}
	fail_msg("no symbol %s", name);
	return 0;
}

static void assert_name(const struct elf_symbols *s, u64 address, const char *want)
{
	const struct elf_symbol *sym = elf_symbols_find(s, address);

	if (!want) {
		assert_null(sym);
		return;
	}
	assert_non_null(sym);
	assert_string_equal(sym->name, want);
}

static void ranks(void **state)
{
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct sym_budget budget = budget_of(1 << 20);
	u64 at;

	(void)state;
	if (!build("gcc", "-nostdlib -static", "labels.s", "labels"))
		skip_because("gcc does not assemble for this machine");
	file = elf_of(in_scratch("labels"));
	assert_int_equal(elf_symbols_add(&s, &file, SHT_SYMTAB, &budget), 0);
	assert_int_equal(elf_symbols_finish(&s), 0);
	at = address_of(&s, "public_name");
	assert_name(&s, at - 1, NULL);
	assert_name(&s, at, "public_name");
	assert_name(&s, at + 3, "public_name"); /* not inner_label */
	assert_name(&s, at + 4, NULL);          /* padding belongs to nothing */
	at = address_of(&s, "bare_label");
	assert_name(&s, at, "bare_label");
	assert_name(&s, at + 3, "bare_label");
	at = address_of(&s, "outer");
	assert_int_equal(at, address_of(&s, "bare_label") + 4);
	assert_name(&s, at + 1, "outer");
	assert_name(&s, at + 2, "nested");
	assert_name(&s, at + 4, "outer"); /* behind the nested one */
	assert_name(&s, at + 5, "outer");
	assert_name(&s, at + 6, "_start");
	assert_name(&s, 0, NULL);
	assert_name(&s, ~0ULL, NULL);
}

static void dynamic_only(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	struct sym_budget budget = budget_of(1 << 20);
	struct sym_module_info info;
	struct sym_frames frames;
	u32 module;

	(void)state;
	if (!build("gcc", "-O1 -shared -fPIC", "inlined.c", "lib") || run("strip lib"))
		skip_because("gcc or strip does not work here");
	w = world_new(NULL);
	file = elf_of(in_scratch("lib"));
	assert_int_equal(elf_symbols_add(&s, &file, SHT_SYMTAB, &budget), -ENOENT);
	assert_int_equal(elf_symbols_add(&s, &file, SHT_DYNSYM, &budget), 0);
	assert_int_equal(elf_symbols_finish(&s), 0);
	module = world_module(&w, in_scratch("lib"));
	assert_int_equal(symbolizer_module_info(w.syms, module, &info), 0);
	assert_int_equal(info.source, SYM_DYNAMIC);
	assert_int_equal(info.debug_error, -ENOENT);
	assert_int_equal(symbolizer_resolve_user(w.syms, module,
				 offset_of(&file, address_of(&s, "hash_text") + 1), 0, &frames),
		0);
	assert_string_equal(frames.v[0].function, "hash_text");
	assert_int_equal(frames.v[0].offset, 1);
	assert_int_equal(frames.v[0].source, SYM_DYNAMIC);
}

/* A stripped program with .gnu_debugdata, made as distributions make it. */
static void mini_debug(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_elf_file_ struct elf_file full = {.fd = -1};
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	struct sym_budget budget = budget_of(1 << 20);
	struct sym_module_info info;
	struct sym_frames frames;
	u32 module;
	u64 at;

	(void)state;
	if (!have("xz") || !have("objcopy") || !build("gcc", "-O1", "inlined.c", "full"))
		skip_because("no gcc, objcopy or xz here");
	w = world_new(NULL);
	assert_int_equal(run("objcopy --only-keep-debug full mini && xz -k mini && "
			     "objcopy --strip-all full mini.prog && "
			     "objcopy --add-section .gnu_debugdata=mini.xz mini.prog"),
		0);
	full = elf_of(in_scratch("full"));
	assert_int_equal(elf_symbols_add(&s, &full, SHT_SYMTAB, &budget), 0);
	assert_int_equal(elf_symbols_finish(&s), 0);
	at = offset_of(&full, address_of(&s, "compare"));
	module = world_module(&w, in_scratch("mini.prog"));
	assert_int_equal(symbolizer_module_info(w.syms, module, &info), 0);
	assert_int_equal(info.source, SYM_TABLE);
	assert_int_equal(symbolizer_resolve_user(w.syms, module, at + 2, 0, &frames), 0);
	assert_string_equal(frames.v[0].function, "compare");
	assert_int_equal(frames.v[0].offset, 2);
}

/* One million zeros compressed again and again must not fill the memory. */
static void mini_debug_bomb(void **state)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1}, mini = {.fd = -1};
	struct sym_budget budget = budget_of(1 << 20);
	u64 bytes = 0;

	(void)state;
	if (!have("xz") || !have("objcopy") || !build("gcc", "-O1", "inlined.c", "prog"))
		skip_because("no gcc, objcopy or xz here");
	assert_int_equal(run("head -c 200000000 /dev/zero | xz -0 >zeros.xz && "
			     "objcopy --add-section .gnu_debugdata=zeros.xz prog"),
		0);
	file = elf_of(in_scratch("prog"));
	assert_int_equal(minidebug_open(&file, &budget, &mini, &bytes), -EFBIG);
	elf_file_close(&file);
	assert_int_equal(run("head -c 5000 /dev/urandom >noise && "
			     "objcopy --update-section .gnu_debugdata=noise prog"),
		0);
	file = elf_of(in_scratch("prog"));
	assert_int_equal(minidebug_open(&file, &budget, &mini, &bytes), -EBADMSG);
	assert_int_equal(budget.bytes_taken, 0);
}

static int open_path(const char *path, struct elf_file *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return elf_file_open(fd, ret);
}

static void not_elf(void **state)
{
	static const struct {
		const char *data;
		size_t n;
	} files[] = {{"", 0}, {"\177ELF", 4}, {"#!/bin/sh\n", 10}, {"\177ELF\2\1\1", 7},
		{"!<arch>\n", 8}};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		file_write(in_scratch("odd"), files[i].data, files[i].n);
		assert_int_equal(open_path(in_scratch("odd"), &file), -ENOEXEC);
	}
	assert_int_equal(elf_image_open(strdup("\177ELF"), 5, &file), -ENOEXEC);
	assert_int_equal(elf_image_open(calloc(1, 200), 200, &file), -ENOEXEC);
	assert_null(file.elf);
}

/* A file of terabytes that takes a few KiB of disk, whose headers refer to all of it. */
static void sparse(void **state)
{
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct sym_budget budget = budget_of(1 << 20);
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shoff = sizeof(h)};
	struct {
		Elf64_Ehdr h;
		Elf64_Shdr s[4];
	} image = {.h = h};
	int fd;

	(void)state;
	image.s[0].sh_size = 1ULL << 33; /* the number of sections */
	file_write(in_scratch("sparse"), &image, sizeof(image));
	fd = open(in_scratch("sparse"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (ftruncate(fd, 1LL << 40)) {
		close(fd);
		skip_because("no sparse files here");
	}
	assert_int_equal(open_path(in_scratch("sparse"), &file), -ENOEXEC);
	/* Sane headers, but a symbol table of 100 GB and names as large. */
	image.h.e_shnum = 4;
	image.h.e_shstrndx = 3;
	image.s[0].sh_size = 0;
	image.s[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		.sh_offset = 4096,
		.sh_size = 24ULL << 32,
		.sh_entsize = 24,
		.sh_link = 2};
	image.s[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 24ULL << 32};
	image.s[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 16};
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(open_path(in_scratch("sparse"), &file), 0);
	assert_int_equal(elf_symbols_add(&s, &file, SHT_SYMTAB, &budget), -EFBIG);
	elf_file_close(&file);
	/* Section names of 100 GB. */
	image.s[3].sh_size = 24ULL << 32;
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(open_path(in_scratch("sparse"), &file), -ENOEXEC);
	/* Program headers that are counted in the first section. */
	image.s[3].sh_size = 16;
	image.h.e_phnum = PN_XNUM;
	image.h.e_phoff = 8192;
	image.s[0].sh_info = 0xffffffff;
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(open_path(in_scratch("sparse"), &file), -ENOEXEC);
	close(fd);
}

/* All of src/sym over one file, whatever is in it. */
static void resolve_all(const char *path, u64 end, u64 step)
{
	struct sym_options opts = {.dwarf = true, .max_debug_bytes = 16 << 20};
	_cleanup_world_ struct world w = world_new(&opts);
	u32 module = world_module(&w, path);
	struct sym_frames frames;

	for (u64 at = 0; at < end; at += step)
		assert_int_equal(symbolizer_resolve_user(w.syms, module, at, 0, &frames), 0);
}

static char *program_read(const char *flags, size_t *ret)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char *data;

	if (!build("gcc", flags, "inlined.c", "prog"))
		return NULL;
	fd = open(in_scratch("prog"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	*ret = (size_t)st.st_size;
	data = malloc(*ret);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *ret), *ret);
	return data;
}

static void cut(void **state)
{
	_cleanup_free_ char *data = NULL;
	size_t n;

	(void)state;
	data = program_read("-O2 -g", &n);
	if (!data)
		skip_because("gcc does not work here");
	for (size_t len = 0; len < n; len += 1 + len / 20) {
		file_write(in_scratch("cut"), data, len);
		resolve_all(in_scratch("cut"), n, 512);
	}
}

static void damaged(void **state)
{
	_cleanup_free_ char *data = NULL, *copy = NULL;
	unsigned int seed = 3;
	size_t n;

	(void)state;
	data = program_read("-O2 -g", &n);
	if (!data)
		skip_because("gcc does not work here");
	copy = malloc(n);
	assert_non_null(copy);
	for (int round = 0; round < 400; round++) {
		memcpy(copy, data, n);
		for (int i = 0; i < 1 << round % 10; i++)
			copy[(size_t)rand_r(&seed) % n] = (char)rand_r(&seed);
		file_write(in_scratch("damaged"), copy, n);
		resolve_all(in_scratch("damaged"), n, 256);
	}
}

/* A file that shrinks under us is an error, not a signal. */
static void truncated_while_open(void **state)
{
	_cleanup_world_ struct world w = {};
	_cleanup_free_ char *data = NULL;
	struct sym_frames frames;
	u32 module;
	size_t n;

	(void)state;
	data = program_read("-O2 -g", &n);
	if (!data)
		skip_because("gcc does not work here");
	w = world_new(NULL);
	module = world_module(&w, in_scratch("prog"));
	assert_int_equal(truncate(in_scratch("prog"), 100), 0);
	assert_int_equal(symbolizer_resolve_user(w.syms, module, 0x1150, 0, &frames), 0);
	assert_int_equal(frames.n, 1);
	assert_null(frames.v[0].function);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks),
		cmocka_unit_test(dynamic_only),
		cmocka_unit_test(mini_debug),
		cmocka_unit_test(mini_debug_bomb),
		cmocka_unit_test(not_elf),
		cmocka_unit_test(sparse),
		cmocka_unit_test(cut),
		cmocka_unit_test(damaged),
		cmocka_unit_test(truncated_while_open),
	};

	return cmocka_run_group_tests_name("sym_elf", tests, scratch_setup, scratch_teardown);
}
