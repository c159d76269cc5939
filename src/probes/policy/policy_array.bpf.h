/* Where the pages of a call are: of its range, or as the arrays of move_pages have it: addresses,
 * wanted nodes and, at its end, a status for each page. */
#ifndef MEMWHY_PROBES_POLICY_ARRAY_BPF_H
#define MEMWHY_PROBES_POLICY_ARRAY_BPF_H

#include "probes/policy/policy_call.bpf.h"

/* What a status, or a wanted node, says. A function of its own, as region_find. */
__noinline u32 status_place(int status)
{
	if (status >= 0)
		return place_of(status);
	switch (-status) {
	case 2:
		return POLICY_PAGE_ENOENT;
	case 5:
		return POLICY_PAGE_EIO;
	case 12:
		return POLICY_PAGE_ENOMEM;
	case 13:
		return POLICY_PAGE_EACCES;
	case 14:
		return POLICY_PAGE_EFAULT;
	case 16:
		return POLICY_PAGE_EBUSY;
	case 22:
		return POLICY_PAGE_EINVAL;
	default:
		return POLICY_PAGE_ERROR;
	}
}

static __always_inline bool int_read(u64 array, u64 i, int *ret)
{
	return array && !bpf_probe_read_user(ret, sizeof(*ret), (void *)(array + i * sizeof(*ret)));
}

#define ENTRY_NONE (~0ULL)
#define ENTRY_STATUS(e_) ((u32)(e_)&255)
#define ENTRY_WANTED(e_) ((u32)((e_) >> 8) & 255)
#define ENTRY_ON(e_) ((u32)((e_) >> 16) & 1)

/* The i-th entries of the arrays, as places, and whether they are the same. ENTRY_NONE: the status
 * is not mapped. */
__noinline u64 entry_find(u64 wanted, u64 statuses, u64 i)
{
	int want = 0, status = 0;
	u64 entry;

	if (!int_read(statuses, i, &status))
		return ENTRY_NONE;
	entry = status_place(status);
	if (!int_read(wanted, i, &want))
		return entry | POLICY_NOT_KNOWN << 8;
	return entry | status_place(want) << 8 | (want == status ? 1 << 16 : 0);
}

/* 1: a page in this place is where it is wanted. */
__noinline u32 is_wanted(u64 wanted, u64 i, u32 place)
{
	int want = 0;

	return int_read(wanted, i, &want) && place < POLICY_NODES && (u32)want == place;
}

/* A turn over the pages of the range. Not 0: that was all. */
__noinline int range_turn(u32 tid, u32 from, u32 after)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);
	struct place place = {.pgd = current_pgd()};
	struct policy_pages *to;
	u64 pages;

	if (!e)
		return 1;
	to = after ? &e->after : &e->before;
	pages = policy_range_pages(e);
	for (u32 i = 0; i < TURN; i++) {
		u64 address = e->args[0] + (look_at(from + i, pages) << PAGE_SHIFT);
		u32 at;

		if (from + i >= pages || address < e->args[0] || address >= address_end())
			return 1;
		at = page_place(&place, address);
		page_count(to, at, mask_has(&e->masks[0], at));
	}
	return 0;
}

static __always_inline void range_look(u32 tid, u32 after)
{
	for (u32 i = 0; i < TURNS; i++)
		if (range_turn(tid, i * TURN, after))
			break;
}

/* The same over the pages of move_pages. Only the caller's own page tables can be read. */
__noinline int array_turn(u32 tid, u32 from)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);
	struct place place = {.pgd = current_pgd()};

	if (!e)
		return 1;
	for (u32 i = 0; i < TURN; i++) {
		u64 which = look_at(from + i, e->args[1]), address = 0;
		u32 at;

		if (from + i >= e->args[1] ||
			bpf_probe_read_user(&address, sizeof(address),
				(void *)(e->args[2] + which * sizeof(address))))
			return 1;
		at = address < address_end() ? page_place(&place, address) : POLICY_NOT_KNOWN;
		page_count(&e->before, at, is_wanted(e->args[3], which, at));
	}
	return 0;
}

static __always_inline void array_look(u32 tid)
{
	for (u32 i = 0; i < TURNS; i++)
		if (array_turn(tid, i * TURN))
			break;
}

__noinline int status_turn(u32 tid, u32 from)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);

	if (!e)
		return 1;
	for (u32 i = 0; i < TURN; i++) {
		u64 entry;

		if (from + i >= e->args[1])
			return 1;
		entry = entry_find(e->args[3], e->args[4], look_at(from + i, e->args[1]));
		if (entry == ENTRY_NONE)
			return 1;
		e->flags |= POLICY_STATUS;
		page_count(&e->status, ENTRY_STATUS(entry), ENTRY_ON(entry));
		if (e->args[3])
			page_count(&e->wanted, ENTRY_WANTED(entry), 0);
	}
	return 0;
}

static __always_inline void status_read(u32 tid)
{
	for (u32 i = 0; i < TURNS; i++)
		if (status_turn(tid, i * TURN))
			break;
}

#endif
