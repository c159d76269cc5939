/*
 * See mempolicy.h. Which error means what was read off mm/mempolicy.c and mm/migrate.c
 * of 5.10, 6.1, 6.12 and 6.18.
 */
#include "sys/calls/mempolicy.h"

#include <errno.h>

#define PAGE_BYTES 4096

/* clang-format off */
const struct flag mempolicy_mbind_flags[] = {
	FLAG_BIT(MPOL_MF_STRICT, MOVE_STRICT), FLAG_BIT(MPOL_MF_MOVE, MOVE_OWN),
	FLAG_BIT(MPOL_MF_MOVE_ALL, MOVE_ALL), FLAG_END,
};

const struct flag mempolicy_move_flags[] = {
	FLAG_BIT(MPOL_MF_MOVE, MOVE_OWN), FLAG_BIT(MPOL_MF_MOVE_ALL, MOVE_ALL), FLAG_END,
};

const struct flag mempolicy_get_flags[] = {
	FLAG_BIT(MPOL_F_NODE, GET_NODE), FLAG_BIT(MPOL_F_ADDR, GET_ADDR),
	FLAG_BIT(MPOL_F_MEMS_ALLOWED, GET_MEMS_ALLOWED), FLAG_END,
};

#define MODE(id_, value_) {~(u64)MODE_FLAGS, value_, #id_}

const struct flag mempolicy_modes[] = {
	MODE(MPOL_DEFAULT, MODE_DEFAULT), MODE(MPOL_PREFERRED, MODE_PREFERRED),
	MODE(MPOL_BIND, MODE_BIND), MODE(MPOL_INTERLEAVE, MODE_INTERLEAVE),
	MODE(MPOL_LOCAL, MODE_LOCAL), MODE(MPOL_PREFERRED_MANY, MODE_PREFERRED_MANY),
	MODE(MPOL_WEIGHTED_INTERLEAVE, MODE_WEIGHTED_INTERLEAVE),
	FLAG_BIT(MPOL_F_STATIC_NODES, MODE_STATIC_NODES),
	FLAG_BIT(MPOL_F_RELATIVE_NODES, MODE_RELATIVE_NODES),
	FLAG_BIT(MPOL_F_NUMA_BALANCING, MODE_NUMA_BALANCING), FLAG_END,
};
/* clang-format on */

static bool has_node(const u64 *bits, u32 node)
{
	return bits[node / 64] >> (node % 64) & 1;
}

void mempolicy_nodes_add(struct str *s, const u64 *bits, u32 n_words)
{
	u32 n = n_words * 64;
	bool any = false;

	for (u32 i = 0; i < n; i++) {
		u32 last = i;

		if (!has_node(bits, i))
			continue;
		while (last + 1 < n && has_node(bits, last + 1))
			last++;
		str_addf(s, last > i ? "%s%u-%u" : "%s%u", any ? "," : "", i, last);
		any = true;
		i = last;
	}
	if (!any)
		str_add(s, "none");
}

/* get_nodes(): the same for all masks that are taken. */
static const char *mask_invalid(const struct mempolicy_args *a)
{
	if (a->mask[0] & MASK_NULL)
		return NULL;
	if (!a->maxnode)
		return "maxnode is 0: it has to be one more than the bits of the mask, and 0 wraps "
		       "around";
	if (a->maxnode - 1 > MASK_BITS_MAX)
		return "maxnode is more than the 32,768 bits that the kernel takes";
	if (a->mask[0] & MASK_BEYOND || a->mask[1] & MASK_BEYOND)
		return "the mask names nodes beyond those that this kernel can have, or none that "
		       "can be used";
	return NULL;
}

static const char *mode_invalid(const struct mempolicy_args *a)
{
	u32 mode = a->mode & ~MODE_FLAGS;

	if (mode >= MODE_N)
		return "there is no such mode";
	if (a->mode & MODE_STATIC_NODES && a->mode & MODE_RELATIVE_NODES)
		return "MPOL_F_STATIC_NODES and MPOL_F_RELATIVE_NODES exclude each other";
	if (a->mode & MODE_NUMA_BALANCING && mode != MODE_BIND && mode != MODE_PREFERRED_MANY)
		return "MPOL_F_NUMA_BALANCING goes with MPOL_BIND only (since 6.8 with "
		       "MPOL_PREFERRED_MANY too)";
	return NULL;
}

/* mpol_new() */
static const char *nodes_invalid(const struct mempolicy_args *a)
{
	u32 mode = a->mode & ~MODE_FLAGS;
	bool empty = a->mask[0] & (MASK_EMPTY | MASK_NULL);

	if ((mode == MODE_DEFAULT || mode == MODE_LOCAL) && !empty)
		return "MPOL_DEFAULT and MPOL_LOCAL take no nodes: the mask must be empty";
	if (mode == MODE_LOCAL || (mode == MODE_PREFERRED && empty))
		return "local allocation takes no MPOL_F_STATIC_NODES or MPOL_F_RELATIVE_NODES";
	if (empty && a->cut)
		return "the mask is empty, as maxnode cuts its nodes off: maxnode has to be one "
		       "more than the bits of the mask";
	if (empty)
		return "the mask is empty, and this mode needs nodes";
	if (mode == MODE_PREFERRED_MANY || mode == MODE_WEIGHTED_INTERLEAVE ||
		a->mode & MODE_NUMA_BALANCING)
		return "no node of the mask has memory and is allowed (cpuset), or this kernel "
		       "does not know the mode";
	return "no node of the mask has memory and is allowed to this process (cpuset)";
}

static const char *range_invalid(const struct mempolicy_args *a)
{
	if (a->address % PAGE_BYTES)
		return "the address is not at the beginning of a page";
	if (a->bytes > UINT64_MAX - (PAGE_BYTES - 1) ||
		a->address + ((a->bytes + PAGE_BYTES - 1) & ~(u64)(PAGE_BYTES - 1)) < a->address)
		return "the range wraps around the end of the address space";
	return NULL;
}

static const char *mbind_invalid(const struct mempolicy_args *a)
{
	const char *why = mode_invalid(a);

	why = why ? why : mask_invalid(a);
	if (!why && a->flags & ~(u64)(MOVE_STRICT | MOVE_OWN | MOVE_ALL))
		why = "a flag that mbind does not have (flags of the mode belong to the mode)";
	why = why ? why : range_invalid(a);
	return why ? why : nodes_invalid(a);
}

static const char *set_invalid(const struct mempolicy_args *a)
{
	const char *why = mode_invalid(a);

	why = why ? why : mask_invalid(a);
	return why ? why : nodes_invalid(a);
}

static const char *get_invalid(const struct mempolicy_args *a)
{
	if (a->flags & ~(u64)(GET_NODE | GET_ADDR | GET_MEMS_ALLOWED))
		return "a flag that get_mempolicy does not have";
	if (a->flags & GET_MEMS_ALLOWED && a->flags & (GET_NODE | GET_ADDR))
		return "MPOL_F_MEMS_ALLOWED goes with no other flag";
	if (!(a->flags & (GET_ADDR | GET_MEMS_ALLOWED)) && a->address)
		return "an address without MPOL_F_ADDR";
	if (a->flags & GET_NODE && !(a->flags & GET_ADDR))
		return "MPOL_F_NODE without MPOL_F_ADDR asks for the next node of interleaving, "
		       "and this thread does not interleave; or maxnode is less than the kernel's "
		       "number of nodes";
	return "maxnode is less than the kernel's number of nodes (nr_node_ids; 1024 is always "
	       "enough)";
}

static const char *home_invalid(const struct mempolicy_args *a)
{
	const char *why = range_invalid(a);

	if (!why && a->flags)
		why = "set_mempolicy_home_node has no flags yet";
	return why ? why : "the home node is not online";
}

static const char *move_invalid(const struct mempolicy_args *a)
{
	if (a->flags & ~(u64)(MOVE_OWN | MOVE_ALL))
		return "a flag that move_pages does not have: it takes MPOL_MF_MOVE and "
		       "MPOL_MF_MOVE_ALL";
	return "the process has no address space, or ended meanwhile";
}

static const char *migrate_invalid(const struct mempolicy_args *a)
{
	const char *why = mask_invalid(a);

	if (!why && a->mask[1] & (MASK_EMPTY | MASK_NULL))
		why = a->cut ? "there is no node to migrate to, as maxnode cuts nodes off: it has "
			       "to be one more than the bits of the masks"
			     : "there is no node to migrate to: the mask of new nodes is empty";
	return why ? why
		   : "none of the new nodes is allowed to the caller (cpuset), or the process has "
		     "no address space";
}

static const char *invalid(const struct mempolicy_args *a)
{
	switch (a->call) {
	case CALL_MBIND:
		return mbind_invalid(a);
	case CALL_SET_MEMPOLICY:
		return set_invalid(a);
	case CALL_GET_MEMPOLICY:
		return get_invalid(a);
	case CALL_MIGRATE_PAGES:
		return migrate_invalid(a);
	case CALL_MOVE_PAGES:
		return move_invalid(a);
	case CALL_HOME_NODE:
		return home_invalid(a);
	default:
		return NULL;
	}
}

static const char *fault(const struct mempolicy_args *a)
{
	if ((a->mask[0] | a->mask[1]) & MASK_UNREADABLE)
		return "the node mask is not in mapped memory to its end";
	switch (a->call) {
	case CALL_MBIND:
		return "part of the range is not mapped";
	case CALL_GET_MEMPOLICY:
		return a->flags & GET_ADDR ? "the address is not mapped, or the answer cannot be "
					     "written where it was asked for"
					   : "the answer cannot be written where it was asked for";
	case CALL_MOVE_PAGES:
		return "one of the arrays of pages, nodes and status cannot be read or written";
	default:
		return "the node mask cannot be read";
	}
}

static const char *not_permitted(const struct mempolicy_args *a)
{
	switch (a->call) {
	case CALL_MBIND:
		return "MPOL_MF_MOVE_ALL needs CAP_SYS_NICE";
	case CALL_MIGRATE_PAGES:
		return "the process belongs to another, or the new nodes are not all allowed to it "
		       "(that takes CAP_SYS_NICE)";
	case CALL_MOVE_PAGES:
		return a->flags & MOVE_ALL ? "the process belongs to another, or MPOL_MF_MOVE_ALL "
					     "without CAP_SYS_NICE"
					   : "the process belongs to another";
	default:
		return "not permitted here (seccomp: some container runtimes do so without "
		       "CAP_SYS_NICE)";
	}
}

/* Errors that have one meaning a call. */
static const struct {
	u32 call; /* 0: any */
	int error;
	const char *text;
} errors[] = {
	{CALL_MBIND, EIO,
		"MPOL_MF_STRICT: pages of the range are on other nodes, and were not moved"},
	{CALL_MBIND, ENOMEM, "no memory for the policy, or on the nodes for the pages to be moved"},
	{CALL_MOVE_PAGES, EACCES, "a target node is not allowed to the process (cpuset)"},
	{CALL_MOVE_PAGES, ENODEV, "a target node has no memory or is not online"},
	{CALL_MOVE_PAGES, ENOENT, "no page was to be moved: all are there, or cannot be"},
	{CALL_MOVE_PAGES, E2BIG, "too many pages in one call"},
	{CALL_MIGRATE_PAGES, EBUSY, "pages are in use and could not be moved"},
	{CALL_HOME_NODE, EOPNOTSUPP,
		"a mapping of the range has a policy that is neither MPOL_BIND nor "
		"MPOL_PREFERRED_MANY"},
	{CALL_HOME_NODE, ENOENT, "no mapping of the range has a policy: mbind comes first"},
	{CALL_MOVE_PAGES, ESRCH, "there is no such process"},
	{CALL_MIGRATE_PAGES, ESRCH, "there is no such process"},
	{0, ENOSYS, "this kernel has no such call, or a container's seccomp hides it"},
	{0, ENOMEM, "the kernel had no memory for it"},
	{0, EINTR, "a signal came first"},
};

const char *mempolicy_error(const struct mempolicy_args *a, int error)
{
	if (error == EINVAL)
		return invalid(a);
	if (error == EFAULT)
		return fault(a);
	if (error == EPERM)
		return not_permitted(a);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].error == error && (!errors[i].call || errors[i].call == a->call))
			return errors[i].text;
	return NULL;
}
