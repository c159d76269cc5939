/* See blocks.h. */
#include "cfi/blocks.h"

#include <errno.h>
#include <string.h>

#define BLOCK_SIZE (1U << CFI_BLOCK_SHIFT)
#define BLOCK_ROWS (BLOCK_SIZE + 1) /* at most, with the one carried over */
#define FIRST_MAX ((1U << 24) - 1)

struct maker {
	const struct cfi_table *table;
	u16 *numbers; /* of the table's rules, in the numbering of all files */
	u32 start;
	u32 *words;
	struct cfi_blocks out;
	u32 row;     /* the next of the table's */
	u16 current; /* number of the rule before it */
};

static int numbers_make(struct maker *m, struct cfi_rule_set *rules)
{
	m->numbers = calloc(m->table->n_rules, sizeof(*m->numbers));
	if (!m->numbers)
		return -ENOMEM;
	for (u32 i = 0; i < m->table->n_rules; i++) {
		int number = cfi_rules_number(rules, cfi_rule_words(&m->table->rows.rules[i]));

		if (number < 0)
			return number;
		m->numbers[i] = (u16)number;
	}
	return 0;
}

/* Moves the last n words to the next page, if they do not fit on this one. */
static void page_fit(struct maker *m, u32 n)
{
	u32 by = CFI_PAGE_WORDS - (m->start + m->out.n) % CFI_PAGE_WORDS;
	u32 *words = m->words + m->out.n;

	if (n <= by)
		return;
	memmove(words + by, words, n * sizeof(*words));
	memset(words, 0, by * sizeof(*words));
	m->out.n += by;
}

/* The rows of a block; how many words they are. */
static u32 rows_put(struct maker *m, u32 block, u32 *words)
{
	const struct cfi_rows *rows = &m->table->rows;
	const u32 *pc = rows->pc + m->row, *end = rows->pc + rows->n;
	const u16 *rule_of = rows->rule_of + m->row, *numbers = m->numbers;
	u32 start = block << CFI_BLOCK_SHIFT, last = start + (BLOCK_SIZE - 1), *to = words;
	u32 current = m->current;

	if (pc == end || *pc != start)
		*to++ = current;
	for (; pc < end && *pc <= last; pc++) {
		current = numbers[*rule_of++];
		*to++ = *pc % BLOCK_SIZE << 16 | current;
	}
	m->row = (u32)(pc - rows->pc);
	m->current = (u16)current;
	return (u32)(to - words);
}

static int block_make(struct maker *m, u32 block)
{
	u32 n = rows_put(m, block, m->words + m->out.n), first;

	page_fit(m, n);
	first = m->out.n - m->out.rows;
	if (first > FIRST_MAX)
		return -EFBIG;
	m->words[block] = first << 8 | (n - 1);
	m->out.n += n;
	return 0;
}

/* Behind the last row there is no code with another rule. */
static u32 cfi_blocks_of(const struct cfi_rows *rows)
{
	return rows->n ? (rows->pc[rows->n - 1] >> CFI_BLOCK_SHIFT) + 1 : 0;
}

u64 cfi_blocks_words_max(const struct cfi_table *table)
{
	/* Each block has a word of the index and a row carried over. */
	u64 most = 2ULL * cfi_blocks_of(&table->rows) + table->rows.n;

	return most + (most / CFI_PAGE_WORDS + 2) * BLOCK_ROWS;
}

static int blocks_make(struct maker *m, struct cfi_rule_set *rules)
{
	int rc = numbers_make(m, rules);

	m->out.n_blocks = cfi_blocks_of(&m->table->rows);
	m->out.n = m->out.rows = m->out.n_blocks;
	for (u32 i = 0; i < m->out.n_blocks && !rc; i++)
		rc = block_make(m, i);
	return rc;
}

int cfi_blocks_make(const struct cfi_table *table, u32 start, struct cfi_rule_set *rules,
	u32 *words, struct cfi_blocks *ret)
{
	struct maker m = {.table = table, .start = start, .words = words};
	int rc = blocks_make(&m, rules);

	free(m.numbers);
	if (!rc)
		*ret = m.out;
	return rc;
}
