/*
 * Transparent huge page settings, from /sys/kernel/mm/transparent_hugepage. Owns the file names;
 * what the words mean is the analysis' matter.
 */
#ifndef MEMWHY_SYS_THP_H
#define MEMWHY_SYS_THP_H

#include "base/util.h"

/* The longest is "defer+madvise"; "" where the kernel has no such file. */
#define THP_CHOICE_MAX 20
/* Sizes between a base page and the PMD size: at most one for each order. */
#define THP_SIZES_MAX 24
/* A number that the kernel does not show. */
#define THP_UNKNOWN (~0ULL)

/* A size of multi-size THP (6.8): hugepages-64kB. enabled may be "inherit"; the smallest size has
 * shmem_enabled only. */
struct thp_size {
	u64 bytes;
	char enabled[THP_CHOICE_MAX];
	char shmem_enabled[THP_CHOICE_MAX];
};

struct thp {
	char enabled[THP_CHOICE_MAX];       /* always, madvise, never */
	char defrag[THP_CHOICE_MAX];        /* always, defer, defer+madvise, madvise, never */
	char shmem_enabled[THP_CHOICE_MAX]; /* always, within_size, advise, never, deny, force */
	u64 use_zero_page;
	u64 shrink_underused; /* since 6.12 */
	u64 pmd_size_bytes;
	/* khugepaged's settings and counts. */
	u64 khugepaged_defrag;
	u64 max_ptes_none;
	u64 max_ptes_shared;
	u64 max_ptes_swap;
	u64 pages_to_scan;
	u64 scan_sleep_ms;
	u64 alloc_sleep_ms;
	u64 pages_collapsed_total;
	u64 full_scans_total;
	u32 sizes;
	struct thp_size size[THP_SIZES_MAX]; /* from the smallest */
};

/* -ENOENT when the kernel has no transparent huge pages. */
int thp_read(struct thp *ret);
/* Calls fn for each setting that the kernel has, named by its path below the directory; text is ""
 * for numbers. What fn returns other than 0 ends it and is returned. */
int thp_settings_each(const struct thp *thp,
	int (*fn)(void *arg, const char *name, u64 value, const char *text), void *arg);
/* The same for the statistics of a size, by their files' names, in the order of the directory.
 * Events are counted since boot; those named nr_* say what there is now. */
int thp_stats_each(u64 bytes, int (*fn)(void *arg, const char *name, u64 value), void *arg);
/* The word in brackets: "madvise" of "always [madvise] never". -EINVAL. */
int thp_choice_parse(const char *text, char ret[THP_CHOICE_MAX]);

#endif
