/*
 * The classic mistakes: what is wrong with a call, from what its record says. Pure, and the same
 * code in the BPF programs, which know of every call, and in the tests.
 */
#ifndef MEMWHY_PROBES_POLICY_JUDGE_H
#define MEMWHY_PROBES_POLICY_JUDGE_H

#include "probes/policy/policy.h"

#define JUDGE static inline __attribute__((always_inline))

/* The arguments of a call that have the same meaning in several. */
JUDGE u32 policy_mode(const struct policy_call *e)
{
	return e->call == CALL_MBIND           ? (u32)e->args[2]
	       : e->call == CALL_SET_MEMPOLICY ? (u32)e->args[0]
					       : 0;
}

JUDGE u32 policy_call_flags(const struct policy_call *e)
{
	return e->call == CALL_MBIND           ? (u32)e->args[5]
	       : e->call == CALL_GET_MEMPOLICY ? (u32)e->args[4]
	       : e->call == CALL_MOVE_PAGES    ? (u32)e->args[5]
					       : 0;
}

JUDGE _Bool policy_sets(const struct policy_call *e)
{
	return e->call == CALL_MBIND || e->call == CALL_SET_MEMPOLICY;
}

/* The range in pages, rounded up as the kernel does (to 0, where that wraps), or the pages of
 * move_pages. */
JUDGE u64 policy_range_pages(const struct policy_call *e)
{
	if (e->call == CALL_MBIND || e->call == CALL_HOME_NODE)
		return (e->args[1] + 4095) >> 12;
	return e->call == CALL_MOVE_PAGES ? e->args[1] : 0;
}

/* Does the mode name nodes on which pages are to be? */
JUDGE _Bool policy_mode_has_nodes(u32 mode)
{
	mode &= ~MODE_FLAGS;
	return mode == MODE_PREFERRED || mode == MODE_BIND || mode == MODE_INTERLEAVE ||
	       mode == MODE_PREFERRED_MANY || mode == MODE_WEIGHTED_INTERLEAVE;
}

JUDGE _Bool policy_mode_needs_nodes(u32 mode)
{
	return policy_mode_has_nodes(mode) && (mode & ~MODE_FLAGS) != MODE_PREFERRED;
}

/* Nodes of the mask that are left out. Relative ones are counted within those that can be used. */
JUDGE _Bool policy_has_unusable(const struct policy_call *e, u32 mask)
{
	u64 out = 0;

	if (!(e->flags & POLICY_USABLE) || policy_mode(e) & MODE_RELATIVE_NODES)
		return 0;
	for (int i = 0; i < MASK_WORDS; i++)
		out |= e->masks[mask].bits[i] & ~e->usable[i];
	return out != 0;
}

/* Pages on a node that was not asked for. Unknown for nodes that are counted together. */
JUDGE u32 policy_off(const struct policy_pages *p)
{
	u32 present = 0;

	for (int i = 0; i < POLICY_NODES; i++)
		present += p->at[i];
	return present - p->on;
}

JUDGE u64 policy_bound_pages(const struct policy_call *e, const struct policy_config *config)
{
	u64 pages = 0;

	for (int i = 0; i < POLICY_NODES; i++)
		if (e->masks[0].bits[0] & e->usable[0] & 1ULL << i)
			pages += config->node_pages[i];
	return pages;
}

/* Pages present on the nodes that were asked for, and elsewhere: what was looked at, scaled to the
 * whole range. */
struct policy_placed {
	u64 on_before, off_before, on_after, off_after;
};

JUDGE u64 policy_scaled(u64 n, u32 looked, u64 pages)
{
	return pages > looked && looked && pages < 1ULL << 50 ? n * pages / looked : n;
}

JUDGE struct policy_placed policy_placed(const struct policy_call *e)
{
	const struct policy_pages *after = e->call == CALL_MOVE_PAGES ? &e->status
					   : e->flags & POLICY_AFTER  ? &e->after
								      : &e->before;
	struct policy_placed p = {};
	u64 pages = policy_range_pages(e);

	if (e->call == CALL_MBIND ? !policy_mode_has_nodes((u32)e->args[2]) ||
					    (u32)e->args[2] & MODE_RELATIVE_NODES
				  : e->call != CALL_MOVE_PAGES || !e->args[3])
		return p;
	if (e->flags & POLICY_LOOKED) {
		p.on_before = policy_scaled(e->before.on, e->before.looked, pages);
		p.off_before = policy_scaled(policy_off(&e->before), e->before.looked, pages);
	}
	if (e->call == CALL_MOVE_PAGES ? e->flags & POLICY_STATUS : e->flags & POLICY_LOOKED) {
		p.on_after = policy_scaled(after->on, after->looked, pages);
		p.off_after = policy_scaled(policy_off(after), after->looked, pages);
	}
	return p;
}

/* MPOL_BIND never falls back to other nodes: there the OOM killer is next. */
JUDGE _Bool policy_is_small(const struct policy_call *e, const struct policy_config *config)
{
	u64 needs = e->call == CALL_MBIND ? policy_range_pages(e) : e->anon_pages;
	u64 others = 0;

	if ((policy_mode(e) & ~MODE_FLAGS) != MODE_BIND || !(e->flags & POLICY_USABLE) ||
		policy_mode(e) & MODE_RELATIVE_NODES)
		return 0;
	for (int i = 1; i < MASK_WORDS; i++)
		others |= e->masks[0].bits[i];
	return !others && needs > policy_bound_pages(e, config);
}

JUDGE u32 policy_judge_mask(const struct policy_call *e)
{
	_Bool migrates = e->call == CALL_MIGRATE_PAGES;
	u32 mode = policy_mode(e), to = migrates, w = 0;

	if (!migrates && !(policy_sets(e) && policy_mode_has_nodes(mode)))
		return 0;
	if (e->masks[0].cut || e->masks[1].cut)
		w |= POLICY_CUT;
	if (e->masks[to & 1].state & MASK_EMPTY && !(e->masks[to & 1].state & MASK_UNREADABLE) &&
		(migrates || policy_mode_needs_nodes(mode)))
		w |= POLICY_EMPTY;
	if (e->ret >= 0 && policy_has_unusable(e, to & 1))
		w |= POLICY_UNUSABLE;
	return w;
}

JUDGE u32 policy_judge_mbind(const struct policy_call *e)
{
	_Bool moves = (e->args[5] & (MOVE_OWN | MOVE_ALL)) != 0;
	u32 w = 0;

	if (e->ret < 0 || !policy_mode_has_nodes((u32)e->args[2]))
		return 0;
	if (!moves && e->flags & POLICY_LOOKED && policy_off(&e->before))
		w |= POLICY_STAYED;
	if (moves && e->flags & POLICY_AFTER && policy_off(&e->after))
		w |= POLICY_REMAINED;
	if (e->map == MAPPING_FILE)
		w |= POLICY_PAGECACHE;
	return w;
}

/* enum policy_warning of a call that has ended. */
JUDGE u32 policy_judge(const struct policy_call *e, const struct policy_config *config)
{
	u32 w = policy_judge_mask(e);

	if (e->call == CALL_MBIND)
		w |= policy_judge_mbind(e);
	if (e->call == CALL_SET_MEMPOLICY && !e->ret && policy_mode_has_nodes((u32)e->args[0]) &&
		config->nodes > 1 && e->anon_pages >= POLICY_LATE_BYTES >> 12)
		w |= POLICY_LATE;
	if (policy_sets(e) && !e->ret && policy_is_small(e, config))
		w |= POLICY_SMALL;
	if ((e->call == CALL_MIGRATE_PAGES && e->ret > 0) ||
		(e->call == CALL_MOVE_PAGES && e->ret >= 0 && e->args[3] &&
			e->flags & POLICY_STATUS &&
			e->status.on + e->status.at[POLICY_PAGE_ENOENT] < e->status.looked))
		w |= POLICY_UNMOVED;
	return w;
}

#endif
