/*
 * The instructions of a CIE and an FDE, run to a row at a time: a stretch of code and its rule.
 * What cannot be expressed as a rule is a row that says why. No libc, no memory but the caller's.
 */
#ifndef MEMWHY_CFI_PROGRAM_H
#define MEMWHY_CFI_PROGRAM_H

#include "cfi/entry.h"
#include "cfi/rule.h"

/* States that a function may remember at once; compilers use 1, hand-written code 2. */
#define CFI_REMEMBERED_MAX 8

/* Where the value of a register in the caller is: enum cfi_saved, or one of its own. */
struct cfi_place {
	u8 how;
	s32 at;
};

struct cfi_state {
	u8 form; /* of the CFA: enum cfi_form */
	u8 reg;
	u8 why; /* not 0: one more than the enum cfi_why for which there is no rule */
	s64 offset;
	s64 add;
	struct cfi_place bp, bx, sp, ip;
};

struct cfi_program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_bytes bytes;
	struct cfi_state now;
	struct cfi_state initial; /* what the CIE says */
	struct cfi_state remembered[CFI_REMEMBERED_MAX];
	u32 n_remembered;
	u64 pc;
	u64 end;
};

struct cfi_row {
	u64 start;
	u64 end;
	struct cfi_rule rule;
};

/* Runs the instructions of a CIE. What is wrong with them is wrong with all its rows. */
void cfi_state_init(
	const struct cfi_section *section, const struct cfi_cie *cie, struct cfi_state *ret);
/* p borrows section and cie. */
void cfi_program_start(struct cfi_program *p, const struct cfi_section *section,
	const struct cfi_cie *cie, const struct cfi_state *initial, const struct cfi_fde *fde);
/* Rows follow each other without a gap, none is empty. False: that was all. */
u8 cfi_program_next(struct cfi_program *p, struct cfi_row *ret);
/* The rule of a state that nearly all code has: a frame relative to sp or bp, the return address
 * where calls leave it. False: it is another. */
u8 cfi_state_plain(const struct cfi_state *s, const struct cfi_cie *cie, struct cfi_words *ret);

#endif
