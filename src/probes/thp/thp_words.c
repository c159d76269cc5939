/*
 * See thp_words.h. Facts: Documentation/admin-guide/mm/transhuge.rst, and vma_thp_gfp_mask() in
 * mm/huge_memory.c, from 5.10 to 7.3.
 */
#include "probes/thp/thp_words.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"

struct meaning {
	const char *setting, *value, *text; /* value NULL: any */
};

static const struct meaning meanings[] = {
	{"enabled", "always", "all mappings may have huge pages"},
	{"enabled", "madvise", "only mappings that asked (MADV_HUGEPAGE)"},
	{"enabled", "never", "no huge pages, but by MADV_COLLAPSE"},
	{"defrag", "always", "every fault compacts and reclaims to get one (the program waits)"},
	{"defrag", "defer", "no fault waits: kswapd and kcompactd are woken"},
	{"defrag", "defer+madvise", "as defer; mappings that asked compact at once"},
	{"defrag", "madvise", "mappings that asked compact and reclaim at once (default)"},
	{"defrag", "never", "no fault compacts: only a page that is free is taken"},
	{"shmem_enabled", "always", "shared memory may have huge pages"},
	{"shmem_enabled", "within_size", "shared memory, within the size of the file"},
	{"shmem_enabled", "advise", "shared memory that asked (MADV_HUGEPAGE)"},
	{"shmem_enabled", "never", "no huge pages in shared memory (default)"},
	{"shmem_enabled", "deny", "no huge pages in tmpfs, whatever its mount says"},
	{"shmem_enabled", "force", "huge pages in all tmpfs (for tests)"},
	{"use_zero_page", "1", "a read fault maps the huge zero page (default)"},
	{"use_zero_page", "0", "a read fault takes memory"},
	{"shrink_underused", "1", "under pressure, mostly zero huge pages are split (default)"},
	{"shrink_underused", "0", "mostly zero huge pages are kept"},
	{"hpage_pmd_size", NULL, "bytes of a huge page"},
	{"khugepaged/defrag", "1", "khugepaged may compact and reclaim (default)"},
	{"khugepaged/defrag", "0", "khugepaged takes free huge pages only"},
	{"khugepaged/max_ptes_none", "511",
		"one page of 512 in use makes a huge page: may waste memory (default)"},
	{"khugepaged/max_ptes_none", "0", "only ranges that are full become huge"},
	{"khugepaged/max_ptes_none", NULL,
		"so many of 512 pages may be missing when a range becomes huge"},
	{"khugepaged/max_ptes_shared", NULL, "so many may be shared with other processes"},
	{"khugepaged/max_ptes_swap", NULL, "so many may be in swap"},
	{"khugepaged/pages_to_scan", NULL, "pages that khugepaged looks at in one pass"},
	{"khugepaged/scan_sleep_millisecs", NULL, "pause between two passes, in ms"},
	{"khugepaged/alloc_sleep_millisecs", NULL,
		"pause after an allocation of a huge page "
		"failed, in ms"},
	{"khugepaged/pages_collapsed", NULL, "huge pages it made since boot"},
	{"khugepaged/full_scans", NULL, "full scans of memory since boot"},
};

/* Of one size of multi-size THP, and of any. */
static const struct meaning of_sizes[] = {
	{"/enabled", "inherit", "as enabled says"},
	{"/enabled", "always", "all mappings may have pages of this size"},
	{"/enabled", "madvise", "mappings that asked may have pages of this size"},
	{"/enabled", "never", "no pages of this size"},
	{"/shmem_enabled", "inherit", "as shmem_enabled says"},
	{"/shmem_enabled", "always", "shared memory may have pages of this size"},
	{"/shmem_enabled", "within_size", "shared memory, within the size of the file"},
	{"/shmem_enabled", "advise", "shared memory that asked"},
	{"/shmem_enabled", "never", "no pages of this size in shared memory"},
};

static const char *thp_words_find(
	const struct meaning *m, size_t n, const char *setting, const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(m[i].setting, setting) && (!m[i].value || !strcmp(m[i].value, value)))
			return m[i].text;
	return NULL;
}

const char *thp_setting_meaning(const char *setting, const char *value)
{
	const char *slash = strchr(setting, '/');

	if (slash && !strncmp(setting, "hugepages-", 10))
		return thp_words_find(of_sizes, ARRAY_SIZE(of_sizes), slash, value);
	return thp_words_find(meanings, ARRAY_SIZE(meanings), setting, value);
}
