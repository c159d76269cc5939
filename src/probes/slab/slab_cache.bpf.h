/*
 * The cache an object belongs to, as the kernel finds it (virt_to_slab in mm/slab.h): by the page
 * it lies on. struct page of an address lies at pages + (address >> 12) * sizeof(struct page),
 * where `pages` comes of vmemmap_base and page_offset_base. Kernels that do not list variables in
 * kallsyms (CONFIG_KALLSYMS_ALL) do not tell these: there `pages` is learnt from a slab and an
 * object on it. As long as it is not known, no cache is found.
 */
#ifndef MEMWHY_PROBES_SLAB_CACHE_BPF_H
#define MEMWHY_PROBES_SLAB_CACHE_BPF_H

#include "bpf/common.bpf.h"
#include "probes/slab/slab.h"

const volatile struct slab_config config = {};

struct kmem_cache {
	unsigned int flags; /* only its place: since 5.x slab_flags_t */
	unsigned int size, object_size;
	const char *name;
} __attribute__((preserve_access_index));

struct page {
	unsigned long flags;
	unsigned long compound_head;
	unsigned int page_type;
} __attribute__((preserve_access_index));

/* Since 7.x: a pointer as before, or a mask that turns a tail's address into the head's. */
struct page___info {
	unsigned long compound_info;
} __attribute__((preserve_access_index));

/* Until 5.16; then struct slab lies over struct page. */
struct page___slab {
	struct kmem_cache *slab_cache;
} __attribute__((preserve_access_index));

struct slab {
	struct kmem_cache *slab_cache;
} __attribute__((preserve_access_index));

enum pageflags {
	PG_slab = 9,
};

/* The upper byte of page_type, since 6.11. */
enum pagetype {
	PGTY_slab = 245,
};

static u64 pages; /* 0: not known */

#define PAGE_SHIFT 12

static __always_inline u64 page_of(u64 base, u64 ptr)
{
	return base + (ptr >> PAGE_SHIFT) * bpf_core_type_size(struct page);
}

static __always_inline bool pages_known(void)
{
	u64 vmemmap = 0, offset = 0;

	if (pages)
		return true;
	if (!config.vmemmap || !config.page_offset)
		return false;
	bpf_probe_read_kernel(&vmemmap, sizeof(vmemmap), (void *)config.vmemmap);
	bpf_probe_read_kernel(&offset, sizeof(offset), (void *)config.page_offset);
	if (vmemmap && offset)
		pages = vmemmap - page_of(0, offset);
	return pages != 0;
}

#define PAGE_BYTES 64            /* of struct page, as far as it is read */
#define MASKS 0xffffffff00000000 /* masks are above, addresses of struct page below */

#define page_u64(page_, offset_) (*(u64 *)((char *)(page_) + (offset_)))
#define page_u32(page_, offset_) (*(u32 *)((char *)(page_) + (offset_)))

static __always_inline u64 page_compound(const u64 *page)
{
	if (bpf_core_field_exists(struct page, compound_head))
		return page_u64(page, bpf_core_field_offset(struct page, compound_head));
	if (bpf_core_field_exists(struct page___info, compound_info))
		return page_u64(page, bpf_core_field_offset(struct page___info, compound_info));
	return 0;
}

static __always_inline bool page_is_slab(const u64 *page)
{
	if (bpf_core_enum_value_exists(enum pagetype, PGTY_slab))
		return page_u32(page, bpf_core_field_offset(struct page, page_type)) >> 24 ==
		       bpf_core_enum_value(enum pagetype, PGTY_slab);
	if (bpf_core_enum_value_exists(enum pageflags, PG_slab))
		return page[0] >> bpf_core_enum_value(enum pageflags, PG_slab) & 1;
	return false;
}

static __always_inline u64 page_cache(const u64 *page)
{
	if (bpf_core_field_exists(struct slab, slab_cache))
		return page_u64(page, bpf_core_field_offset(struct slab, slab_cache));
	if (bpf_core_field_exists(struct page___slab, slab_cache))
		return page_u64(page, bpf_core_field_offset(struct page___slab, slab_cache));
	return 0;
}

/* struct kmem_cache * of the object at ptr; 0: it is not on a slab. */
static __always_inline u64 cache_at(u64 base, u64 ptr)
{
	u64 page[PAGE_BYTES / sizeof(u64)], at = page_of(base, ptr), compound;

	if (bpf_probe_read_kernel(page, sizeof(page), (void *)at))
		return 0;
	compound = page_compound(page);
	if (compound & 1) {
		at = compound > MASKS ? at & compound : compound - 1;
		if (bpf_probe_read_kernel(page, sizeof(page), (void *)at))
			return 0;
	}
	return page_is_slab(page) ? page_cache(page) : 0;
}

/* As cache_at; 0 also when it cannot be known; *flags gets SLAB_LARGE for whole pages. */
static __always_inline u64 cache_of(u64 ptr, u8 *flags)
{
	u64 cache = 0;

	if (!pages_known())
		return 0;
	cache = cache_at(pages, ptr);
	if (!cache)
		*flags |= SLAB_LARGE;
	return cache;
}

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct kmem_cache_node {
	struct list_head partial;
} __attribute__((preserve_access_index));

struct kmem_cache___nodes {
	struct kmem_cache_node *node[1024];
} __attribute__((preserve_access_index));

struct slab___list {
	struct list_head slab_list;
	void *freelist;
} __attribute__((preserve_access_index));

/*
 * Learns `pages` from the first partly used slab of a cache, if it is of one page (the page behind
 * is none of its tails), so that it belongs to the page of its free object. The object at ptr,
 * which was just allocated from that cache, is the proof.
 */
static __noinline int pages_learn(u64 cache, u64 ptr)
{
	const struct kmem_cache___nodes *s = (void *)cache;
	const struct kmem_cache_node *n;
	const struct slab___list *slab = 0;
	u64 behind[PAGE_BYTES / sizeof(u64)], at, base;

	if (pages || !cache || !bpf_core_field_exists(s->node) ||
		!bpf_core_field_exists(slab->slab_list))
		return 0;
	n = BPF_CORE_READ(s, node[0]);
	if (!n)
		return 0;
	at = (u64)BPF_CORE_READ(n, partial.next) - bpf_core_field_offset(slab->slab_list);
	slab = (void *)at;
	base = (u64)BPF_CORE_READ(slab, freelist);
	if (!base || bpf_probe_read_kernel(behind, sizeof(behind),
			     (void *)(at + bpf_core_type_size(struct page))))
		return 0;
	if (page_compound(behind) == (at | 1))
		return 0;
	base = at - page_of(0, base);
	if (cache_at(base, ptr) == cache)
		pages = base;
	return 0;
}

/* include/linux/slab.h: the bit until 6.8, an enum since 6.9 */
#define SLAB_ACCOUNT_BEFORE 0x04000000

enum _slab_flag_bits {
	_SLAB_ACCOUNT = 13,
};

/* include/linux/gfp_types.h: the bit until 6.9, an enum since 6.10 */
#define GFP_ACCOUNT_BEFORE 0x400000

enum gfp_bits {
	___GFP_ACCOUNT_BIT = 22,
};

static __always_inline u32 charged_mask(void)
{
	if (bpf_core_enum_value_exists(enum _slab_flag_bits, _SLAB_ACCOUNT))
		return 1U << bpf_core_enum_value(enum _slab_flag_bits, _SLAB_ACCOUNT);
	return SLAB_ACCOUNT_BEFORE;
}

static __always_inline u32 gfp_charged_mask(void)
{
	if (bpf_core_enum_value_exists(enum gfp_bits, ___GFP_ACCOUNT_BIT))
		return 1U << bpf_core_enum_value(enum gfp_bits, ___GFP_ACCOUNT_BIT);
	return GFP_ACCOUNT_BEFORE;
}

/* Given to one object, with padding; 0: not known. */
static __always_inline u32 cache_bytes(u64 cache)
{
	const struct kmem_cache *s = (void *)cache;

	return cache && bpf_core_field_exists(s->size) ? BPF_CORE_READ(s, size) : 0;
}

/* What a key's value says of its cache. Done once a key and CPU. */
static __always_inline void cache_describe(u64 cache, struct slab_value *v)
{
	const struct kmem_cache *s = (void *)cache;
	const char *name;

	if (!cache || !bpf_core_field_exists(s->object_size))
		return;
	v->object_bytes = BPF_CORE_READ(s, object_size);
	v->slot_bytes = BPF_CORE_READ(s, size);
	if (BPF_CORE_READ(s, flags) & charged_mask())
		v->flags |= SLAB_CHARGED;
	name = BPF_CORE_READ(s, name);
	bpf_probe_read_kernel_str(v->cache, sizeof(v->cache), name);
}

#endif
