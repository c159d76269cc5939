/*
 * How the kernel maps memory, from the head of /proc/kcore (CONFIG_PROC_KCORE; root, and no
 * lockdown to confidentiality). Owns the format: the program headers of an ELF core, and the note
 * VMCOREINFO (Documentation/admin-guide/kdump/vmcoreinfo.rst). Nothing of the memory itself is
 * read.
 */
#ifndef MEMWHY_SYS_KCORE_H
#define MEMWHY_SYS_KCORE_H

#include "base/util.h"

struct kcore {
	u64 page_offset;  /* virtual less physical address, where all memory is mapped */
	u64 sme_mask;     /* the bit of an entry in page tables that says encrypted; 0: none */
	bool five_levels; /* of page tables */
};

/* -ENODATA where it does not say all of that. */
int kcore_parse(const void *bytes, size_t n, struct kcore *ret);
/* -ENOENT, -EACCES, -EPERM, -ENODATA */
int kcore_read(struct kcore *ret);

#endif
