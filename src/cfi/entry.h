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

/* 0: it is sound and of a known form. */
int cfi_cie_read(const struct cfi_section *section, u64 offset, struct cfi_cie *ret);

#define CFI_LENGTH_64 0xffffffffU

/* Inline, as compiling a table is reading hundreds of thousands of these. */
static inline enum cfi_entry_kind cfi_entry_read(
	const struct cfi_section *section, u64 offset, struct cfi_entry *ret)
{
	struct cfi_bytes b = cfi_bytes_of(section, offset, ~0ULL);
	struct cfi_entry entry = {.offset = offset};
	u64 length, id, id_at;
	u32 id_size = 4;

	if (!b.bad && cfi_left(&b) < 4)
		return CFI_ENTRY_END;
	length = cfi_uint(&b, 4);
	if (!b.bad && !length)
		return CFI_ENTRY_END;
	if (length == CFI_LENGTH_64) {
		length = cfi_uint(&b, 8);
		id_size = 8;
	}
	entry.body = cfi_take(&b, length);
	if (b.bad)
		return CFI_ENTRY_DAMAGED;
	entry.next = (u64)(b.at - section->data);
	id_at = (u64)(entry.body.at - section->data);
	id = cfi_uint(&entry.body, id_size);
	if (entry.body.bad || id > id_at)
		return CFI_ENTRY_DAMAGED;
	entry.cie_offset = id_at - id;
	*ret = entry;
	return id ? CFI_ENTRY_FDE : CFI_ENTRY_CIE;
}

static inline int cfi_fde_read(const struct cfi_section *section, const struct cfi_entry *entry,
	const struct cfi_cie *cie, struct cfi_fde *ret)
{
	struct cfi_bytes b = entry->body;
	struct cfi_fde fde;
	u64 size;

	if (cie->pointers == (CFI_PE_PC | CFI_PE_S4)) { /* as compilers have it */
		fde.start = cfi_address(&b, section);
		fde.start += cfi_sign(cfi_uint(&b, 4), 32);
		size = cfi_sign(cfi_uint(&b, 4), 32);
	} else {
		fde.start = cfi_pointer(&b, section, cie->pointers, 0);
		size = cfi_number(&b, cie->pointers & CFI_PE_FORMAT);
	}
	if (cie->has_more_data)
		cfi_skip(&b, cfi_uleb(&b));
	if (b.bad || fde.start + size < fde.start)
		return -1;
	fde.end = fde.start + size;
	fde.instructions = b;
	*ret = fde;
	return 0;
}

#endif
