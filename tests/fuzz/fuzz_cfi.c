/*
 * Fuzzing src/cfi. The first byte chooses: 't' the bytes of .eh_frame, compiled and then walked
 * over; 'm' a segment with an index (.eh_frame_hdr) at its start, as a library without libc reads
 * it; 'e' an ELF file. Seeds: tests/fuzz/seeds/fuzz_cfi.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "cfi/blocks.h"
#include "cfi/elf_table.h"
#include "cfi/mapped.h"
#include "cfi/step.h"

#define CODE 0x400000ULL
#define CODE_SIZE 0x2000ULL
#define SECTION 0x430000ULL
#define FRAMES_MAX 64
#define ADDRESSES 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const u8 *data;
	size_t size;
};

/* The input is the stack too, at any address. */
static int memory_read(void *ctx, u64 address, u64 *ret)
{
	const struct memory *m = ctx;

	if (m->size < sizeof(*ret))
		return -1;
	memcpy(ret, m->data + address % (m->size - sizeof(*ret) + 1), sizeof(*ret));
	return 0;
}

static void walk(const struct cfi_table *table, u64 ip, struct memory *m)
{
	struct cfi_regs regs = {.ip = ip, .sp = 0x7ffd0000, .bp = 0x7ffd1000, .exact = 1};

	for (int i = 0; i < FRAMES_MAX; i++) {
		struct cfi_regs old = regs;
		const struct cfi_rule *rule = cfi_table_find(table, cfi_lookup_ip(&regs));
		int stop = cfi_step(rule, &regs, memory_read, m);

		if (stop < 0 || stop >= CFI_STOPS)
			abort();
		if (stop && memcmp(&old, &regs, sizeof(old)))
			abort();
		if (stop)
			return;
		if (rule->kind != CFI_SIGNAL && (regs.sp <= old.sp || regs.sp & 7))
			abort();
	}
}

/* What table.h promises of any table. */
static void table_check(const struct cfi_table *table, u64 code_size, size_t bytes)
{
	for (u32 i = 0; i < table->rows.n; i++) {
		if (table->rows.rule_of[i] >= table->n_rules || table->rows.pc[i] >= code_size)
			abort();
		if (i && table->rows.pc[i] <= table->rows.pc[i - 1])
			abort();
		if (cfi_table_find(table, table->base + table->rows.pc[i]) !=
			&table->rows.rules[table->rows.rule_of[i]])
			abort();
	}
	for (u32 i = 0; i < table->n_rules; i++) {
		const struct cfi_rule *rule = &table->rows.rules[i];

		if (rule->kind >= CFI_KINDS || rule->bp > CFI_LOST || rule->bx > CFI_LOST)
			abort();
		if (rule->kind == CFI_UNSUPPORTED && (u8)rule->arg >= CFI_WHYS)
			abort();
	}
	/* Two bytes of section a row, and the returns from signal handlers. */
	if (table->rows.n > bytes / 2 + 64)
		abort();
}

/* The layout for BPF says the same. */
static void blocks_check(const struct cfi_table *table, u32 start)
{
	struct cfi_rule_set rules;
	u32 *words = malloc(cfi_blocks_words_max(table) * sizeof(*words));
	struct cfi_blocks b;

	if (!words || cfi_rules_init(&rules) || cfi_blocks_make(table, start, &rules, words, &b))
		abort();
	for (u32 i = 0; i < table->rows.n; i++) {
		u32 pc = table->rows.pc[i], word = words[pc >> CFI_BLOCK_SHIFT];
		u32 row = b.rows + CFI_INDEX_FIRST(word), last = row + CFI_INDEX_LAST(word);

		if (last >= b.n ||
			(start + row) / CFI_PAGE_WORDS != (start + last) / CFI_PAGE_WORDS)
			abort();
		while (last > row && CFI_ROW_PC(words[last]) > pc % 256)
			last--;
		if (memcmp(&rules.list.v[CFI_ROW_RULE(words[last])],
			    &table->rows.rules[table->rows.rule_of[i]], sizeof(struct cfi_rule)))
			abort();
	}
	free(words);
	cfi_rules_free(&rules);
}

static int code_read(void *ctx, u64 address, void *buf, size_t n)
{
	const struct memory *m = ctx;

	if (address < CODE || address + n > CODE + CODE_SIZE)
		abort();
	for (size_t i = 0; i < n; i++)
		((u8 *)buf)[i] = m->data[(address - CODE + i) % m->size];
	return 0;
}

static void fuzz_table(const u8 *data, size_t n)
{
	struct memory m = {.data = data, .size = n};
	struct cfi_source source = {
		.eh_frame = {.data = data, .size = n, .address = SECTION},
		.code_start = CODE,
		.code_end = CODE + CODE_SIZE,
		.read_code = n ? code_read : NULL,
		.ctx = &m,
	};
	struct cfi_table *table;

	if (cfi_table_compile(&source, &table))
		abort();
	table_check(table, CODE_SIZE, n);
	blocks_check(table, n ? data[0] * 64 : 0);
	for (u32 i = 0; i < ADDRESSES && i < table->rows.n; i++)
		walk(table, CODE + table->rows.pc[i], &m);
	cfi_table_free(table);
}

static void fuzz_mapped(const u8 *data, size_t n)
{
	struct cfi_section memory = {.data = data, .size = n, .address = SECTION};
	struct cfi_mapped mapped;
	struct cfi_row row;

	if (cfi_mapped_init(&mapped, &memory, SECTION, n))
		return;
	for (u64 i = 0; i < ADDRESSES; i++) {
		u64 address = CODE + i * (CODE_SIZE / ADDRESSES);

		if (cfi_mapped_find(&mapped, address, &row) &&
			(address < row.start || address >= row.end || row.rule.kind >= CFI_KINDS))
			abort();
	}
}

static void fuzz_elf(const u8 *data, size_t n)
{
	struct memory m = {.data = data, .size = n};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct cfi_table *table;
	struct elf_file file;
	struct err err = {};

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	if (elf_file_open(fd, &file))
		return;
	if (!cfi_elf_compile(&file, &table, &err)) {
		for (u32 i = 0; i < ADDRESSES && i < table->rows.n; i++)
			walk(table, table->base + table->rows.pc[i], &m);
		cfi_table_free(table);
	} else if (!err.msg[0]) {
		abort();
	}
	elf_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0]) {
	case 't':
		fuzz_table(data + 1, size - 1);
		break;
	case 'm':
		fuzz_mapped(data + 1, size - 1);
		break;
	case 'e':
		fuzz_elf(data + 1, size - 1);
		break;
	}
	return 0;
}
