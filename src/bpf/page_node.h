/*
 * On which node a page of a process is, by its page tables: what bpf/page_node.bpf.h and its
 * loader, capture/page_tables.c, agree on.
 */
#ifndef MEMWHY_BPF_PAGE_NODE_H
#define MEMWHY_BPF_PAGE_NODE_H

#include "base/types.h"

#define PLACE_FRAMES (1U << 14) /* entries of the table from page frame to node */
#define PLACE_NODES 64          /* nodes counted individually */

/* Where a page is: a node below PLACE_NODES, or one of these. On disk (enum policy_place). */
enum place_not_a_node {
	PLACE_ABSENT = PLACE_NODES, /* not there yet, or the zero page */
	PLACE_SWAPPED,
	PLACE_BEYOND,    /* on a node from PLACE_NODES on */
	PLACE_NOT_KNOWN, /* could not be found out */
};

struct place_config {
	u64 page_offset; /* where the kernel maps all memory; 0: page tables cannot be read */
	u64 no_address;  /* bits of a page table's entry that are no address (SME) */
	u32 top_shift;   /* of the page tables: 39, or 48 with five levels */
	u32 frame_shift; /* page frames of one entry of the table of frames, as a power of two */
};

#endif
