/*
 * A table laid out for lookups in BPF, in words of 32 bits: code is cut into blocks of 256 bytes;
 * an index has a word a block, which says where its rows are, and a row is a word: the low byte of
 * where it begins, and the number of its rule. So a lookup is one word of the index and a search
 * among the few rows of a block, most often within one cache line; about one byte for one of
 * .eh_frame. Rules have one numbering for all files.
 *
 * Words lie in pages; the rows of a block never cross the end of one.
 */
#ifndef MEMWHY_CFI_BLOCKS_H
#define MEMWHY_CFI_BLOCKS_H

#include "cfi/rule_set.h"
#include "cfi/table.h"

#define CFI_PAGE_WORDS 262144
#define CFI_BLOCK_SHIFT 8

/* An index entry: where the first row of the block is, counted from the start of the rows, and the
 * number of rows less one. A row: what it holds. */
#define CFI_INDEX_FIRST(word) ((word) >> 8)
#define CFI_INDEX_LAST(word) ((word)&0xff)
#define CFI_ROW_PC(word) ((word) >> 16)
#define CFI_ROW_RULE(word) ((word)&0xffff)

struct cfi_blocks {
	u32 n; /* words: the index, then the rows */
	u32 n_blocks;
	u32 rows; /* where they begin among the words */
};

/* At most so many words. */
u64 cfi_blocks_words_max(const struct cfi_table *table);
/* words: room for so many; start: the number of the first one, among the words of all files.
 * -EFBIG: more rows than a word can number; -ENOMEM. */
int cfi_blocks_make(const struct cfi_table *table, u32 start, struct cfi_rule_set *rules,
	u32 *words, struct cfi_blocks *ret);

#endif
