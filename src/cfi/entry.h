/*
 * The entries of .eh_frame: CIEs, which say what many functions share, and FDEs, one for each
 * stretch of code. Reads their heads; must not know what their instructions mean. No libc.
 */
#ifndef MEMWHY_CFI_ENTRY_H
#define MEMWHY_CFI_ENTRY_H

#include "cfi/bytes.h"

enum cfi_entry_kind {
	CFI_ENTRY_END, /* of the section, or the terminator */
	CFI_ENTRY_CIE,
	CFI_ENTRY_FDE,
	CFI_ENTRY_DAMAGED, /* neither: nothing behind it can be found */
};

struct cfi_entry {
	u64 offset;     /* in the section */
	u64 next;       /* offset of the entry behind it */
	u64 cie_offset; /* of an FDE */
	struct cfi_bytes body;
};

struct cfi_cie {
	u64 offset;
	u64 code_align;
	s64 data_align;
	u8 pointers;      /* how its FDEs encode addresses */
	u8 signal;        /* 'S': its code was called by the kernel */
	u8 has_more_data; /* 'z': FDEs have augmentation data with its length before it */
	struct cfi_bytes instructions;
};

struct cfi_fde {
	u64 start;
	u64 end;
	struct cfi_bytes instructions;
};

enum cfi_entry_kind cfi_entry_read(
	const struct cfi_section *section, u64 offset, struct cfi_entry *ret);
/* 0: it is sound and of a known form. */
int cfi_cie_read(const struct cfi_section *section, u64 offset, struct cfi_cie *ret);
int cfi_fde_read(const struct cfi_section *section, const struct cfi_entry *entry,
	const struct cfi_cie *cie, struct cfi_fde *ret);

#endif
