/*
 * On which NUMA nodes the pages of a process's mappings are, and under which policy, from
 * /proc/PID/numa_maps. Owns the format; joins with maps.h by the start address.
 *
 * Reading the file makes the kernel walk all of the process's page tables under its mmap lock:
 * not something to do often to a big process. The file is absent without CONFIG_NUMA (-ENOENT).
 */
#ifndef MEMWHY_SYS_NUMA_MAPS_H
#define MEMWHY_SYS_NUMA_MAPS_H

#include "base/vec.h"

/* Pages of one mapping on one node. */
struct numa_pages {
	u32 node;
	u64 pages;
};

/* All counts are of pages of page_bytes each; for hugetlb that is the huge page, for transparent
 * huge pages the base page (gather_stats() in fs/proc/task_mmu.c, 5.10 to 6.18). */
struct numa_map {
	u64 start;
	u64 page_bytes; /* 0 where no page is present: the kernel prints no counts then */
	u64 anon_pages;
	u64 dirty_pages;
	u64 mapped_pages; /* 0 where equal to anon or dirty: the kernel leaves it out then */
	u64 mapmax;       /* the most mappings that one of the pages has; 0 for 1 */
	u64 swapcache_pages;
	u64 active_pages;
	u64 writeback_pages;
	u32 node_first; /* in struct numa_maps' nodes */
	u32 node_count;
	bool heap;
	bool stack;
	bool huge;          /* hugetlb */
	const char *policy; /* "default", "bind:0-1", "prefer (many):0", "weighted interleave:0" */
	const char *file;   /* "" for none; " (deleted)" is not cut off. Both owned by numa_maps. */
};

/* To be zeroed before its first use. */
struct numa_maps {
	VEC(struct numa_map) list; /* in the order of the file: by address */
	VEC(struct numa_pages) nodes;
	char *text; /* holds the strings */
};

#define _cleanup_numa_maps_ _cleanup_(numa_maps_free)

void numa_maps_free(struct numa_maps *maps);
/* Replaces what ret held. Lines and words of another form are skipped; at most MAPS_MAX mappings.
 * An empty text is an empty list; -EINVAL when there was text but no mapping, -ENOMEM. */
int numa_maps_parse(const char *text, struct numa_maps *ret);
/* -ENOENT, -ESRCH, -EACCES as maps_read(). */
int numa_maps_read(int pid, struct numa_maps *ret);
/* Only the first mappings, of a thread: cheap, and under mappings without a policy of their own it
 * shows the thread's. */
int numa_maps_read_first(int pid, int tid, struct numa_maps *ret);
/* The mapping that starts at this address; NULL where there is none. Logarithmic. */
const struct numa_map *numa_maps_find(const struct numa_maps *maps, u64 start);

#endif
