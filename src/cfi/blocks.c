/* See blocks.h. */
#include "cfi/blocks.h"

#include <errno.h>

#define BLOCK_SIZE (1U << CFI_BLOCK_SHIFT)
#define BLOCK_ROWS (BLOCK_SIZE + 1) /* at most, with the one carried over */
#define FIRST_MAX ((1U << 24) - 1)

struct maker {
	const struct cfi_table *table;
	u16 *numbers; /* of the table's rules, in the numbering of all files */
	u32 start;
	struct cfi_blocks *out;
	u32 row;     /* the next of the table's */
	u16 current; /* number of the rule before it */
};

static int numbers_make(struct maker *m, struct cfi_rule_set *rules)
{
	m->numbers = calloc(m->table->n_rules, sizeof(*m->numbers));
	if (!m->numbers)
		return -ENOMEM;
	for (u32 i = 0; i < m->table->n_rules; i++) {
		int number = cfi_rules_number(rules, &m->table->rows.rules[i]);

		if (number < 0)
			return number;
		m->numbers[i] = (u16)number;
	}
	return 0;
}

static u32 rows_in_block(const struct maker *m, u32 block)
{
	const struct cfi_rows *rows = &m->table->rows;
	u32 i = m->row;

	while (i < rows->n && rows->pc[i] >> CFI_BLOCK_SHIFT == block)
		i++;
	return i - m->row;
}

/* Fills up to the next page, if so many rows would not fit on this one. */
static void page_fit(struct maker *m, u32 n)
{
	u32 at = (m->start + (u32)m->out->words.n) % CFI_PAGE_WORDS;

	for (; at && at + n > CFI_PAGE_WORDS; at = (at + 1) % CFI_PAGE_WORDS)
		m->out->words.v[m->out->words.n++] = 0;
}

static int block_make(struct maker *m, u32 block)
{
	const struct cfi_rows *rows = &m->table->rows;
	u32 n = rows_in_block(m, block), first;
	bool carried = !n || rows->pc[m->row] % BLOCK_SIZE;
	u32 *to;

	page_fit(m, n + carried);
	first = (u32)m->out->words.n - m->out->rows;
	if (first > FIRST_MAX)
		return -EFBIG;
	m->out->words.v[block] = first << 8 | (n + carried - 1);
	to = m->out->words.v + m->out->words.n;
	if (carried)
		*to++ = m->current;
	for (u32 i = m->row; i < m->row + n; i++) {
		m->current = m->numbers[rows->rule_of[i]];
		*to++ = rows->pc[i] % BLOCK_SIZE << 16 | m->current;
	}
	m->row += n;
	m->out->words.n += n + carried;
	return 0;
}

/* Behind the last row there is no code with another rule. */
static u32 blocks_of(const struct cfi_rows *rows)
{
	return rows->n ? (rows->pc[rows->n - 1] >> CFI_BLOCK_SHIFT) + 1 : 0;
}

u64 cfi_blocks_words_max(const struct cfi_table *table)
{
	const struct cfi_rows *rows = &table->rows;
	u64 most = 2ULL * blocks_of(rows) +
		   rows->n; /* each has a word of the index and a row carried over */

	return most + (most / CFI_PAGE_WORDS + 2) * BLOCK_ROWS;
}

static int blocks_make(struct maker *m, struct cfi_rule_set *rules)
{
	int rc = numbers_make(m, rules);

	if (!rc)
		rc = vec_reserve(&m->out->words, cfi_blocks_words_max(m->table));
	if (rc)
		return rc;
	m->out->n_blocks = blocks_of(&m->table->rows);
	m->out->words.n = m->out->rows = m->out->n_blocks;
	for (u32 i = 0; i < m->out->n_blocks && !rc; i++)
		rc = block_make(m, i);
	return rc;
}

int cfi_blocks_make(const struct cfi_table *table, u32 start, struct cfi_rule_set *rules,
	struct cfi_blocks *ret)
{
	struct maker m = {.table = table, .start = start, .out = ret};
	int rc;

	ret->words.n = 0;
	rc = blocks_make(&m, rules);
	free(m.numbers);
	return rc;
}

void cfi_blocks_free(struct cfi_blocks *blocks)
{
	vec_free(&blocks->words);
}
