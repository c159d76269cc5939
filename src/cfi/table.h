/*
 * The table of one file's code: its .eh_frame, compiled into sorted rows. Owns what is refused and
 * the bounds on time and memory, whatever the bytes are: instructions run are at most a fixed
 * multiple of the section, rows at most one for two of its bytes. Must not know of files or ELF.
 */
#ifndef MEMWHY_CFI_TABLE_H
#define MEMWHY_CFI_TABLE_H

#include "base/util.h"
#include "cfi/bytes.h"
#include "cfi/rule.h"

/* Entries of .eh_frame that were left aside. */
enum cfi_refusal {
	CFI_REFUSED_ENTRY,   /* damaged: nothing behind it was read */
	CFI_REFUSED_CIE,     /* FDEs whose CIE is damaged, or of a form unknown here */
	CFI_REFUSED_FDE,     /* damaged */
	CFI_REFUSED_OUTSIDE, /* for what is not code of this file */
	CFI_REFUSED_OVERLAP, /* for code that another one is for; cut, or left out */
	CFI_REFUSED_EFFORT,  /* more work than any honest file of this size takes */
	CFI_REFUSALS,
};

struct cfi_counts {
	u64 section_bytes;
	u32 fdes;
	u32 refused[CFI_REFUSALS];
};

struct cfi_table {
	struct cfi_rows rows;
	u32 n_rules;
	u64 base;  /* address in the file of pc 0 */
	u64 bytes; /* of memory */
	struct cfi_counts counts;
};

struct cfi_source {
	struct cfi_section eh_frame;
	u64 file_offset; /* of it, where it is from a file */
	u64 code_start;  /* addresses that are code of this file, all below 4 GiB from the start */
	u64 code_end;
	/* Reads code of the file at an address: to find what returns from signal handlers where
	 * there is no call-frame information. May be NULL. 0, or -errno. */
	int (*read_code)(void *ctx, u64 address, void *buf, size_t n);
	void *ctx;
	bool general; /* nothing by plain.h: takes longer and makes the same table, as tests hold */
};

/* What compiling needs of memory, for one table after the other: as much as the largest. The table
 * is the compiler's, until the next one. */
struct cfi_compiler;
int cfi_compiler_new(struct cfi_compiler **ret);
void cfi_compiler_free(struct cfi_compiler *c);
/* -ENOMEM; -EINVAL: no sound range of code. A damaged section is a table of what is sound. */
int cfi_compiler_run(
	struct cfi_compiler *c, const struct cfi_source *source, const struct cfi_table **ret);
/* The same, for one that is the caller's. */
int cfi_table_compile(const struct cfi_source *source, struct cfi_table **ret);
void cfi_table_free(struct cfi_table *table);
/* The rule for an address in the file; one of kind CFI_NONE where there is none. */
const struct cfi_rule *cfi_table_find(const struct cfi_table *table, u64 address);

/* "damaged entries", …; never NULL. */
const char *cfi_refusal_text(enum cfi_refusal refusal);

static inline void cfi_compiler_freep(struct cfi_compiler **c)
{
	cfi_compiler_free(*c);
}
#define _cleanup_cfi_compiler_ _cleanup_(cfi_compiler_freep)

static inline void cfi_table_freep(struct cfi_table **table)
{
	cfi_table_free(*table);
}
#define _cleanup_cfi_table_ _cleanup_(cfi_table_freep)

#endif
