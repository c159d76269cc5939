/*
 * On which nodes the pages of the current process are: its page tables are read, as the kernel has
 * mapped them, without its locks. So a page that is being moved at this very time may be missed,
 * and what is read is never taken for an address before it is known to be one of memory.
 *
 * x86-64: Documentation/arch/x86/x86_64/mm.rst, arch/x86/include/asm/pgtable_types.h; the bits are
 * the same from 5.10 to 7.3.
 */
#ifndef MEMWHY_BPF_PAGE_NODE_BPF_H
#define MEMWHY_BPF_PAGE_NODE_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/page_node.h"

const volatile struct place_config place_config = {};

/* By page frame >> place_config.frame_shift: its node plus one; 0: not memory, or of several nodes.
 */
const volatile u8 place_frames[PLACE_FRAMES] = {};

#define PAGE_SHIFT 12
#define PTE_PRESENT 1ULL
#define PTE_HUGE (1ULL << 7)     /* _PAGE_PSE: a leaf above the last level */
#define PTE_PROTNONE (1ULL << 8) /* where it is not present */
#define PTE_SPECIAL (1ULL << 9)  /* the zero page, or no page of the kernel's at all */
#define PTE_FRAME 0x000ffffffffff000ULL

struct mm_struct___place {
	void *pgd;
} __attribute__((preserve_access_index));

struct task_struct___place {
	struct mm_struct___place *mm;
} __attribute__((preserve_access_index));

static __always_inline int frame_node(u64 frame)
{
	u64 at = frame >> place_config.frame_shift;

	return at < PLACE_FRAMES ? (int)place_frames[at] - 1 : -1;
}

static __always_inline bool entry_read(u64 table, u64 address, u32 shift, u64 *ret)
{
	if (frame_node(table >> PAGE_SHIFT) < 0)
		return false;
	return !bpf_probe_read_kernel(ret, sizeof(*ret),
		(void *)(place_config.page_offset + table + ((address >> shift & 511) << 3)));
}

static __always_inline u32 place_of(int node)
{
	return node < 0 ? PLACE_NOT_KNOWN : node < PLACE_NODES ? (u32)node : PLACE_BEYOND;
}

/* The place of the page that an entry maps at this level. */
static __always_inline u32 leaf_place(u64 entry, u64 address, u32 shift)
{
	u64 within = (1ULL << shift) - 1;

	if (!(entry & PTE_PRESENT)) {
		if (!(entry & PTE_PROTNONE))
			return entry ? PLACE_SWAPPED : PLACE_ABSENT;
		entry = ~entry; /* the kernel inverts the address, because of L1TF */
	} else if (entry & PTE_SPECIAL) {
		return PLACE_ABSENT;
	}
	entry &= PTE_FRAME & ~place_config.no_address & ~within;
	return place_of(frame_node((entry | (address & within)) >> PAGE_SHIFT));
}

#define ENTRY_IS_LEAF(entry_) (!((entry_)&PTE_PRESENT) || (entry_)&PTE_HUGE)

/* All of a region of 2 MiB is in one place: no table follows. shift_: of the page that it is in, or
 * is; 0: there is none. */
#define REGION_SHIFT 21
#define REGION_PLACE(place_, shift_) (1 | (shift_) << 8 | (u64)(place_) << 32)

/*
 * The last page table of an address (its physical address), or where its whole region lies. This
 * and the next are global functions of numbers only, so that the verifier checks them once and not
 * in every iteration of a loop.
 */
__noinline u64 region_find(u64 pgd, u64 address)
{
	u64 entry = 0, table;

	if (bpf_probe_read_kernel(&entry, sizeof(entry),
		    (void *)(pgd + ((address >> place_config.top_shift & 511) << 3))))
		return REGION_PLACE(PLACE_NOT_KNOWN, 0);
	if (!(entry & PTE_PRESENT))
		return REGION_PLACE(PLACE_ABSENT, 0);
	table = entry & PTE_FRAME & ~place_config.no_address;
	if (place_config.top_shift == 48) {
		if (!entry_read(table, address, 39, &entry))
			return REGION_PLACE(PLACE_NOT_KNOWN, 0);
		if (!(entry & PTE_PRESENT))
			return REGION_PLACE(PLACE_ABSENT, 0);
		table = entry & PTE_FRAME & ~place_config.no_address;
	}
	if (!entry_read(table, address, 30, &entry))
		return REGION_PLACE(PLACE_NOT_KNOWN, 0);
	if (ENTRY_IS_LEAF(entry))
		return REGION_PLACE(leaf_place(entry, address, 30), 30);
	table = entry & PTE_FRAME & ~place_config.no_address;
	if (!entry_read(table, address, REGION_SHIFT, &entry))
		return REGION_PLACE(PLACE_NOT_KNOWN, 0);
	if (ENTRY_IS_LEAF(entry))
		return REGION_PLACE(leaf_place(entry, address, REGION_SHIFT), REGION_SHIFT);
	return entry & PTE_FRAME & ~place_config.no_address;
}

__noinline u32 page_find(u64 table, u64 address)
{
	u64 entry = 0;

	if (!entry_read(table, address, PAGE_SHIFT, &entry))
		return PLACE_NOT_KNOWN;
	return leaf_place(entry, address, PAGE_SHIFT);
}

/* The page tables of a process, and what was found last. */
struct place {
	u64 pgd;
	u64 region; /* by number, plus one; 0: none */
	u64 found;  /* of it, by region_find */
};

static __always_inline u32 page_place(struct place *p, u64 address)
{
	u64 region = (address >> REGION_SHIFT) + 1;

	if (p->region != region) {
		p->found = region_find(p->pgd, address);
		p->region = region;
	}
	return p->found & 1 ? (u32)(p->found >> 32) : page_find(p->found, address);
}

/* The shift of the page that page_place() last looked up, as it is mapped. */
static __always_inline u8 page_shift(const struct place *p)
{
	return p->found & 1 ? (u8)(p->found >> 8) : PAGE_SHIFT;
}

static __always_inline u64 current_pgd(void)
{
	struct task_struct___place *task = (void *)bpf_get_current_task();

	return (u64)BPF_CORE_READ(task, mm, pgd);
}

static __always_inline u64 address_end(void)
{
	return 1ULL << (place_config.top_shift + 8);
}

#endif
