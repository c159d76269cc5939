/* Tables in the layout for BPF against the tables they were made of: the same rule for each
 * address, wherever among the pages the words begin. */
#include <link.h>

#include "data/sym/helpers.h"

#include "cfi/blocks.h"
#include "cfi/elf_table.h"

struct made {
	struct cfi_blocks b;
	u32 *words;
};

static struct made make(const struct cfi_table *table, struct cfi_rule_set *rules, u32 start)
{
	struct made m = {.words = calloc(cfi_blocks_words_max(table), sizeof(*m.words))};

	assert_non_null(m.words);
	assert_int_equal(cfi_blocks_make(table, start, rules, m.words, &m.b), 0);
	assert_true(m.b.n <= cfi_blocks_words_max(table));
	return m;
}

/* As unwind.bpf.h looks it up: within the page of the first row. */
static struct cfi_rule rule_of(
	const struct made *m, const struct cfi_rule_set *rules, u32 start, u32 pc)
{
	u32 block = pc >> CFI_BLOCK_SHIFT, word, first, n;

	if (block >= m->b.n_blocks)
		return (struct cfi_rule){};
	word = m->words[block];
	first = m->b.rows + CFI_INDEX_FIRST(word);
	n = CFI_INDEX_LAST(word) + 1;
	assert_true(first + n <= m->b.n);
	assert_int_equal(
		(start + first) / CFI_PAGE_WORDS, (start + first + n - 1) / CFI_PAGE_WORDS);
	assert_int_equal(CFI_ROW_PC(m->words[first]), 0);
	for (u32 i = 1; i < n; i++)
		assert_true(CFI_ROW_PC(m->words[first + i]) > CFI_ROW_PC(m->words[first + i - 1]));
	while (n > 1 && CFI_ROW_PC(m->words[first + n - 1]) > pc % 256)
		n--;
	return rules->list.v[CFI_ROW_RULE(m->words[first + n - 1])];
}

static void assert_rule(const struct cfi_table *table, const struct made *m,
	const struct cfi_rule_set *rules, u32 start, u32 pc)
{
	struct cfi_rule got = rule_of(m, rules, start, pc);

	assert_memory_equal(&got, cfi_table_find(table, table->base + pc), sizeof(got));
}

static void compare(const struct cfi_table *table, struct cfi_rule_set *rules, u32 start)
{
	struct made m = make(table, rules, start);

	for (u32 i = 0; i < table->rows.n; i++) {
		u32 pc = table->rows.pc[i];

		assert_rule(table, &m, rules, start, pc);
		if (pc)
			assert_rule(table, &m, rules, start, pc - 1);
	}
	/* About one byte for one; a page may have to be filled up by one block. */
	assert_true(m.b.n * sizeof(u32) <= 2 * table->counts.section_bytes + 4096);
	free(m.words);
}

static int library_visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	static const u32 starts[] = {0, 1, CFI_PAGE_WORDS - 1, CFI_PAGE_WORDS - 9999, 123456};
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};

	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	file = elf_of(info->dlpi_name);
	assert_int_equal(cfi_elf_compile(&file, &table, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		compare(table, ctx, starts[i]);
	return 0;
}

/* One numbering of rules for all of them. */
static void libraries(void **state)
{
	struct cfi_rule_set rules;

	(void)state;
	assert_int_equal(cfi_rules_init(&rules), 0);
	dl_iterate_phdr(library_visit, &rules);
	assert_in_range(rules.list.n, 50, 5000);
	cfi_rules_free(&rules);
}

static void empty(void **state)
{
	struct cfi_source source = {.code_start = 0x1000, .code_end = 0x2000};
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	struct cfi_rule_set rules;
	struct made m;

	(void)state;
	assert_int_equal(cfi_table_compile(&source, &table), 0);
	assert_int_equal(cfi_rules_init(&rules), 0);
	m = make(table, &rules, 0);
	assert_int_equal(m.b.n, 0);
	free(m.words);
	cfi_rules_free(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
