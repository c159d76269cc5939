/*
 * The shortcut for what compilers write (src/cfi/plain.h) against the way that knows all of it, on
 * real files, on ones with damage and on each instruction with each operand that is odd or nearly:
 * the tables must be the same to the last bit. tests/fuzz/fuzz_cfi_plain.c goes on where this ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cfi_same.h"

#define ROUNDS 20000
#define PIECE_MAX 400

static struct cfi_same same;
static struct cfi_pieces pieces;
static u64 random_state = 1; /* the same damage in each run */

static u32 random_below(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((random_state >> 32) * n >> 32);
}

static int setup(void **state)
{
	(void)state;
	return cfi_same_open(&same) || cfi_pieces_open(&pieces) ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	cfi_same_close(&same);
	cfi_pieces_close(&pieces);
	return 0;
}

static int file_visit(struct dl_phdr_info *info, size_t size, void *n)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_source source;
	const struct cfi_table *table;

	(void)size;
	if (fd < 0)
		return 0; /* the vdso has no file */
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(cfi_elf_source(&file, NULL, &source, NULL), 0);
	table = cfi_same_compile(&same, &source);
	if (!table)
		fail_msg("%s", path);
	*(u32 *)n += table->rows.n;
	return 0;
}

static void real_files(void **state)
{
	u32 rows = 0;

	(void)state;
	dl_iterate_phdr(file_visit, &rows);
	assert_true(rows > 1000);
}

/* Bytes of entries change, of which most are instructions. */
static void damaged(void **state)
{
	u8 bytes[PIECE_MAX];
	u32 rows = 0;

	(void)state;
	assert_true(pieces.list.n > 1000);
	for (u32 i = 0; i < ROUNDS; i++) {
		u32 piece = random_below((u32)pieces.list.n);
		size_t n = cfi_piece_take(&pieces.list.v[piece], bytes, sizeof(bytes));
		const struct cfi_table *table;

		for (u32 left = n ? 1 + random_below(8) : 0; left; left--)
			bytes[random_below((u32)n)] = (u8)random_below(256);
		table = cfi_same_bytes(&same, bytes, n);
		if (!table)
			fail_msg("round %u", i);
		rows += table->rows.n;
	}
	assert_true(rows > ROUNDS);
}

static void put(struct str *to, u64 value, u32 size)
{
	str_addn(to, (const char *)&value, size); /* little-endian, as this machine */
}

/* A function with these instructions: it has saved bp and bx, and remembered that so many times. */
static void function_put(struct str *to, bool saved, u32 remembered, const u8 *code, u32 size)
{
	u32 at;

	str_clear(to);
	put(to, 24, 4);
	put(to, 0, 4);
	put(to, 0x00527a01, 4);   /* version 1, "zR" */
	put(to, 0x1b01107801, 5); /* factors 1 and -8, return address in 16, sdata4 from here */
	put(to, 0x019008070c, 5); /* CFA = sp + 8, return address there */
	put(to, saved ? 0x04830586 : 0, 6); /* bp and bx as if the caller had saved them */
	at = (u32)to->len;
	put(to, 13 + 7 + remembered + size + 2, 4);
	put(to, at + 4, 4);
	put(to, 0x1000 - (CFI_SAME_SECTION + to->len), 4);
	put(to, 0x1000, 4);
	put(to, 0, 1);
	put(to, 0x03830286100e41, 7); /* 1 further: CFA = sp + 16, bp and bx below */
	while (remembered--)
		put(to, 0x0a, 1);
	str_addn(to, (const char *)code, size);
	put(to, 0x0b41, 2); /* one further, as it was remembered */
}

/* Each instruction, its operands at the edges, after different beginnings. */
static void instructions(void **state)
{
	static const u8 edges[] = {0, 1, 3, 6, 7, 8, 16, 17, 0x3f, 0x7f, 0x80, 0x81, 0xff};
	const u32 n_edges = sizeof(edges);
	_cleanup_str_ struct str bytes = {};
	u32 rows = 0;

	(void)state;
	for (u32 i = 0; i < 256 * n_edges * n_edges * 2; i++) {
		const u8 code[] = {(u8)(i / 2 / n_edges / n_edges),
			edges[i / 2 / n_edges % n_edges], edges[i / 2 % n_edges], 0x80, 0x01};
		const struct cfi_table *table;

		function_put(&bytes, i % 2, i % 10, code, sizeof(code));
		table = cfi_same_bytes(&same, (const u8 *)bytes.buf, bytes.len);
		if (!table)
			fail_msg("%02x %02x %02x, %u", code[0], code[1], code[2], i);
		rows += table->rows.n;
	}
	assert_true(rows > 256 * n_edges * n_edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_files),
		cmocka_unit_test(damaged),
		cmocka_unit_test(instructions),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
