/*
 * On which nodes the pages of the current process are: its page tables are read, as the kernel has
 * mapped them, without its locks. So a page that is being moved at this very time may be missed,
 * and what is read is never taken for an address before it is known to be one of memory.
 *
 * x86-64: Documentation/arch/x86/x86_64/mm.rst, arch/x86/include/asm/pgtable_types.h; the bits are
 * the same from 5.10 to 7.3.
 */
#ifndef MEMWHY_PROBES_POLICY_PLACE_BPF_H
#define MEMWHY_PROBES_POLICY_PLACE_BPF_H

#include "bpf/common.bpf.h"
#include "probes/policy/policy.h"

const volatile struct policy_config config = {};

/* By page frame >> config.frame_shift: its node plus one; 0: not memory, or of several nodes. */
const volatile u8 frames[POLICY_FRAMES] = {};

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
	u64 at = frame >> config.frame_shift;

	return at < POLICY_FRAMES ? (int)frames[at] - 1 : -1;
}

static __always_inline bool entry_read(u64 table, u64 address, u32 shift, u64 *ret)
{
	if (frame_node(table >> PAGE_SHIFT) < 0)
		return false;
	return !bpf_probe_read_kernel(ret, sizeof(*ret),
		(void *)(config.page_offset + table + ((address >> shift & 511) << 3)));
}

static __always_inline u32 place_of(int node)
{
	return node < 0 ? POLICY_NOT_KNOWN : node < POLICY_NODES ? (u32)node : POLICY_BEYOND;
}

/* The place of the page that an entry maps at this level. */
static __always_inline u32 leaf_place(u64 entry, u64 address, u32 shift)
{
	u64 within = (1ULL << shift) - 1;

	if (!(entry & PTE_PRESENT)) {
		if (!(entry & PTE_PROTNONE))
			return entry ? POLICY_SWAPPED : POLICY_ABSENT;
		entry = ~entry; /* the kernel inverts the address, because of L1TF */
	} else if (entry & PTE_SPECIAL) {
		return POLICY_ABSENT;
	}
	entry &= PTE_FRAME & ~config.no_address & ~within;
	return place_of(frame_node((entry | (address & within)) >> PAGE_SHIFT));
}

#define ENTRY_IS_LEAF(entry_) (!((entry_)&PTE_PRESENT) || (entry_)&PTE_HUGE)

/* All of a region of 2 MiB is in one place: no table follows. */
#define REGION_SHIFT 21
#define REGION_PLACE(place_) (1 | (u64)(place_) << 32)

/*
 * The last page table of an address (its physical address), or the place of all of its region. This
 * and the next are functions of their own, of numbers only, so that the verifier looks at them once
 * and not at every turn of a loop.
 */
__noinline u64 region_find(u64 pgd, u64 address)
{
	u64 entry = 0, table;

	if (bpf_probe_read_kernel(&entry, sizeof(entry),
		    (void *)(pgd + ((address >> config.top_shift & 511) << 3))))
		return REGION_PLACE(POLICY_NOT_KNOWN);
	if (!(entry & PTE_PRESENT))
		return REGION_PLACE(POLICY_ABSENT);
	table = entry & PTE_FRAME & ~config.no_address;
	if (config.top_shift == 48) {
		if (!entry_read(table, address, 39, &entry))
			return REGION_PLACE(POLICY_NOT_KNOWN);
		if (!(entry & PTE_PRESENT))
			return REGION_PLACE(POLICY_ABSENT);
		table = entry & PTE_FRAME & ~config.no_address;
	}
	if (!entry_read(table, address, 30, &entry))
		return REGION_PLACE(POLICY_NOT_KNOWN);
	if (ENTRY_IS_LEAF(entry))
		return REGION_PLACE(leaf_place(entry, address, 30));
	table = entry & PTE_FRAME & ~config.no_address;
	if (!entry_read(table, address, REGION_SHIFT, &entry))
		return REGION_PLACE(POLICY_NOT_KNOWN);
	if (ENTRY_IS_LEAF(entry))
		return REGION_PLACE(leaf_place(entry, address, REGION_SHIFT));
	return entry & PTE_FRAME & ~config.no_address;
}

__noinline u32 page_find(u64 table, u64 address)
{
	u64 entry = 0;

	if (!entry_read(table, address, PAGE_SHIFT, &entry))
		return POLICY_NOT_KNOWN;
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

/* 1: the node of this place is in the mask (its first word: POLICY_NODES). No branch, as each
 * doubles what the verifier has to look at in a loop. */
static __always_inline u32 mask_has(const struct policy_mask *m, u32 place)
{
	return m->bits[0] >> (place & 63) & 1 & (place >> 6 ^ 1);
}

static __always_inline void page_count(struct policy_pages *p, u32 place, u32 on)
{
	p->looked++;
	p->on += on;
	if (place < POLICY_PLACES)
		p->at[place]++;
}

/*
 * The i-th of the pages to look at, of n: all, or POLICY_LOOKS that are spread evenly, each at a
 * place within its share that looks like chance but is the same each time. (Every k-th page would
 * always be on the same node where pages are interleaved.)
 */
__noinline u64 look_at(u32 i, u64 n)
{
	u64 share = n / POLICY_LOOKS, chance = i * 2654435761U >> 16;

	if (n <= POLICY_LOOKS)
		return i;
	return (u64)i * share + (share < 1ULL << 40 ? share * chance >> 16 : 0);
}

/*
 * Pages are looked at by the turn: the loop over turns is short for the verifier, as a turn is a
 * function of its own.
 */
#define TURN 16
#define TURNS (POLICY_LOOKS / TURN)

static __always_inline u64 current_pgd(void)
{
	struct task_struct___place *task = (void *)bpf_get_current_task();

	return (u64)BPF_CORE_READ(task, mm, pgd);
}

static __always_inline u64 address_end(void)
{
	return 1ULL << (config.top_shift + 8);
}

#endif
