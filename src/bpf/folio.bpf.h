/*
 * Pages of the page cache as the kernel's functions hand them on: which file and place a folio
 * (before 5.16 a page) is, and how large it is. Needs the kernel's BTF.
 */
#ifndef MEMWHY_BPF_FOLIO_BPF_H
#define MEMWHY_BPF_FOLIO_BPF_H

#include "bpf/kernel.bpf.h"

/* linux/mm_types.h; a folio since 5.16, before a page with the same members */
struct folio {
	void *mapping;
	unsigned long index;
	unsigned int _nr_pages;       /* of large ones; since 6.14 */
	unsigned int _folio_nr_pages; /* the same, since 5.18 */
} __attribute__((preserve_access_index));

struct page {
	void *mapping;
	unsigned long index;
} __attribute__((preserve_access_index));

enum pageflags {
	PG_head,
};

/* Pages; 1 also where the kernel does not say. */
static __always_inline u64 folio_pages(u64 of)
{
	struct folio *f = (void *)of;
	u64 flags = 0, n = 1;

	if (!bpf_core_enum_value_exists(enum pageflags, PG_head))
		return 1;
	bpf_probe_read_kernel(&flags, sizeof(flags), f); /* the first member of all */
	if (!(flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_head)))
		return 1;
	if (bpf_core_field_exists(f->_nr_pages))
		n = BPF_CORE_READ(f, _nr_pages);
	else if (bpf_core_field_exists(f->_folio_nr_pages))
		n = BPF_CORE_READ(f, _folio_nr_pages);
	return n ? n : 1;
}

static __always_inline u64 folio_index(u64 of)
{
	if (bpf_core_field_exists(struct folio, index))
		return BPF_CORE_READ((struct folio *)of, index);
	return BPF_CORE_READ((struct page *)of, index);
}

/* In anonymous pages the lowest bit is set (PAGE_MAPPING_ANON). */
static __always_inline u64 folio_mapping(u64 of)
{
	if (bpf_core_field_exists(struct folio, mapping))
		return (u64)BPF_CORE_READ((struct folio *)of, mapping);
	return (u64)BPF_CORE_READ((struct page *)of, mapping);
}

#endif
