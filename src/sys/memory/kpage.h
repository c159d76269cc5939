/*
 * What the pages themselves say: /proc/kpageflags and /proc/kpagecgroup, one number for each page
 * frame. Owns the formats, what a page is by its flags, and the choice of pages where there are too
 * many to look at.
 */
#ifndef MEMWHY_SYS_KPAGE_H
#define MEMWHY_SYS_KPAGE_H

#include "base/util.h"

/* What a page is. On disk, as places of an array: never reorder. */
enum kpage_kind {
	KPAGE_FREE, /* in the buddy allocator; those in lists of CPUs are KPAGE_OTHER */
	KPAGE_ANON, /* of processes, in the swap cache too */
	KPAGE_FILE,
	KPAGE_SHMEM,
	KPAGE_HUGETLB,
	KPAGE_SLAB,
	KPAGE_TABLE,    /* page tables */
	KPAGE_OFFLINE,  /* taken by a balloon or by memory hotplug */
	KPAGE_RESERVED, /* since boot; mostly not in MemTotal */
	KPAGE_OTHER,    /* the kernel took it and does not say for what */
	KPAGE_KINDS,
	KPAGE_NONE = 0xff, /* no page */
};

/* By the flags of a page frame. *head: what the last head of a compound page was, kept from page to
 * page; tails of older kernels have no flags of their own. Begin with KPAGE_OTHER. */
u8 kpage_kind(u64 flags, u8 *head);

struct kpage_census {
	u64 looked, of; /* page frames looked at, and all that there are */
	u64 pages[KPAGE_KINDS];
	u64 error[KPAGE_KINDS];   /* two standard deviations of sampling; 0: all were looked at */
	u64 mapped[KPAGE_KINDS];  /* by processes */
	u64 charged[KPAGE_KINDS]; /* to a control group other than the root */
	bool has_charged;
};

/* In newer kernels a frame without memory looks as a page without flags does. present: pages that
 * there are (/proc/zoneinfo); 0: not known. unprepared: free pages without flags, which look the
 * same. */
void kpage_census_close(struct kpage_census *k, u64 present, u64 unprepared);

/* Estimates from chunks of pages: mean and spread. n: chunks looked at, all: that there are. */
u64 kpage_error(double sum, double squares, u64 n, u64 all);

/* most: page frames to look at, at most; more than that are sampled. root: inode number of the root
 * group. -ENOENT without CONFIG_PROC_PAGE_MONITOR, -EACCES, -EPERM. */
int kpage_census_take(u64 most, u64 root, struct kpage_census *ret);

#endif
