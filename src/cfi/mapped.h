/*
 * The rule for one instruction, straight from a file's .eh_frame as it is in memory, by the sorted
 * index beside it (.eh_frame_hdr): nothing is compiled or kept, so this is for who remembers rules
 * by instruction. No libc, no memory but the stack.
 */
#ifndef MEMWHY_CFI_MAPPED_H
#define MEMWHY_CFI_MAPPED_H

#include "cfi/bytes.h"
#include "cfi/program.h"

struct cfi_mapped {
	struct cfi_section memory; /* the segment that both are in */
	u64 table;                 /* address that entries of the index are relative to */
	u64 entries;               /* offset of the first one in memory */
	u64 n;
};

/* memory: the readable segment around PT_GNU_EH_FRAME, whose address and size are given too. 0: it
 * has an index of the usual form. */
int cfi_mapped_init(struct cfi_mapped *m, const struct cfi_section *memory, u64 header_address,
	u64 header_size);
/* The row that an instruction is in. False: there is no sound information for it. */
u8 cfi_mapped_find(const struct cfi_mapped *m, u64 address, struct cfi_row *ret);

#endif
