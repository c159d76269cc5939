/*
 * The numbers of the calls on NUMA memory policy: system calls, modes, flags, and how large a node
 * mask can be. ABI of x86-64 (uapi/linux/mempolicy.h as of 6.18), for BPF programs too.
 */
#ifndef MEMWHY_SYS_MEMPOLICY_ABI_H
#define MEMWHY_SYS_MEMPOLICY_ABI_H

#include "base/types.h"

enum mempolicy_call {
	CALL_MBIND = 237,
	CALL_SET_MEMPOLICY = 238,
	CALL_GET_MEMPOLICY = 239,
	CALL_MIGRATE_PAGES = 256,
	CALL_MOVE_PAGES = 279,
	CALL_HOME_NODE = 450, /* set_mempolicy_home_node, since 5.17 */
};

enum mempolicy_mode {
	MODE_DEFAULT,
	MODE_PREFERRED,
	MODE_BIND,
	MODE_INTERLEAVE,
	MODE_LOCAL,
	MODE_PREFERRED_MANY,      /* since 5.15 */
	MODE_WEIGHTED_INTERLEAVE, /* since 6.9 */
	MODE_N,
};

/* Or'ed to a mode. */
#define MODE_STATIC_NODES (1U << 15)
#define MODE_RELATIVE_NODES (1U << 14)
#define MODE_NUMA_BALANCING (1U << 13)
#define MODE_FLAGS (MODE_STATIC_NODES | MODE_RELATIVE_NODES | MODE_NUMA_BALANCING)

/* Flags of mbind; move_pages takes the last two. */
#define MOVE_STRICT 1U
#define MOVE_OWN 2U /* MPOL_MF_MOVE */
#define MOVE_ALL 4U

/* Flags of get_mempolicy. */
#define GET_NODE 1U
#define GET_ADDR 2U
#define GET_MEMS_ALLOWED 4U

/* MAX_NUMNODES is at most 1024 (CONFIG_NODES_SHIFT is at most 10 on x86-64). */
#define MASK_WORDS 16
#define MASK_NODES (64 * MASK_WORDS)
#define MASK_BITS_MAX (4096U * 8) /* get_nodes() of mm/mempolicy.c takes no more: a page */

/* How reading a mask from the caller's memory went. */
enum mask_state {
	MASK_NULL = 1,       /* no pointer */
	MASK_UNREADABLE = 2, /* not to its end: what follows is unmapped */
	MASK_BEYOND = 4,     /* longer than MASK_NODES: the rest was not looked at */
	MASK_EMPTY = 8,      /* no bit, of those that the kernel takes, is set */
};

#endif
