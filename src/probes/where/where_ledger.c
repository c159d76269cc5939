/* See where_ledger.h. */
#include "probes/where/where_ledger.h"

#include <errno.h>

#include "base/less.h"

void where_set(struct where_ledger *l, u32 row, u64 bytes)
{
	l->bytes[row] = bytes;
	l->known |= 1ULL << row;
}

void where_set_part(struct where_ledger *l, u32 part, u64 bytes)
{
	l->parts[part] = bytes;
	l->known_parts |= 1ULL << part;
}

void where_set_estimate(struct where_ledger *l, u32 row, u64 bytes)
{
	s64 room;

	l->known &= ~(1ULL << row);
	room = where_rest(l);
	where_set(l, row, room > 0 ? MIN(bytes, (u64)room) : 0);
	l->estimated |= 1ULL << row;
}

static u64 info(const struct where_numbers *n, const char *name)
{
	return keyvals_get_or(n->meminfo, name, 0);
}

/* Counted in pages. */
static u64 stat(const struct where_numbers *n, const char *name)
{
	return n->vmstat ? keyvals_get_or(n->vmstat, name, 0) * n->page_bytes : 0;
}

/* A row for a counter that this kernel may not have; without it nothing is known of the row. */
static void set_info(
	struct where_ledger *l, u32 row, const struct where_numbers *n, const char *name)
{
	u64 v;

	if (keyvals_get(n->meminfo, name, &v))
		where_set(l, row, v);
}

static void set_stat(
	struct where_ledger *l, u32 row, const struct where_numbers *n, const char *name)
{
	u64 v;

	if (n->vmstat && keyvals_get(n->vmstat, name, &v))
		where_set(l, row, v * n->page_bytes);
}

static void part_info(
	struct where_ledger *l, u32 part, const struct where_numbers *n, const char *name)
{
	u64 v;

	if (keyvals_get(n->meminfo, name, &v))
		where_set_part(l, part, v);
}

/* Pages in the swap cache that a process maps are anonymous memory too. The others are what the
 * lists of reclaim have more than anonymous memory and files together; pages on their way to these
 * lists blur that, hence the bounds. Exact where the swap cache is empty. */
static void swap_cache_set(struct where_ledger *l, const struct where_numbers *n)
{
	u64 cached = info(n, "SwapCached");
	u64 lists = info(n, "Active") + info(n, "Inactive") + info(n, "Unevictable") +
		    stat(n, "nr_isolated_anon") + stat(n, "nr_isolated_file");
	u64 alone = u64_less(lists, info(n, "AnonPages") + info(n, "Cached") + info(n, "Buffers"));

	where_set(l, WHERE_SWAP_CACHE, MIN(alone, cached));
	if (cached)
		l->estimated |= 1ULL << WHERE_SWAP_CACHE;
}

/* Shmem is a part of Cached. What files in tmpfs have in swap is not told apart by mount. */
static void files_set(struct where_ledger *l, const struct where_numbers *n)
{
	u64 shmem = info(n, "Shmem"), tmpfs = MIN(n->tmpfs_bytes, shmem);
	u64 swapped = u64_less(info(n, "SwapTotal"), info(n, "SwapFree"));

	where_set(l, WHERE_CACHE, u64_less(info(n, "Cached") + info(n, "Buffers"), shmem));
	where_set(l, WHERE_SHARED, shmem - (n->has_tmpfs ? tmpfs : 0));
	if (!n->has_tmpfs)
		return;
	where_set(l, WHERE_TMPFS, tmpfs);
	if (tmpfs && swapped)
		l->estimated |= 1ULL << WHERE_TMPFS | 1ULL << WHERE_SHARED;
}

static void kernel_set(struct where_ledger *l, const struct where_numbers *n)
{
	u64 stacks = info(n, "KernelStack"), v;

	set_info(l, WHERE_SLAB, n, "Slab");
	if (keyvals_get(n->meminfo, "KReclaimable", &v))
		where_set(l, WHERE_KERNEL_MISC, u64_less(v, info(n, "SReclaimable")));
	set_info(l, WHERE_PAGE_TABLES, n, "PageTables");
	set_info(l, WHERE_SECONDARY, n, "SecPageTables");
	set_info(l, WHERE_STACKS, n, "KernelStack");
	if (keyvals_get(n->meminfo, "Percpu", &v))
		where_set(l, WHERE_PERCPU, u64_less(v, n->percpu_first_bytes));
	/* Before 5.3 it was always 0, and what vmalloc has was in the rest. */
	if (keyvals_get(n->meminfo, "VmallocUsed", &v) && v)
		where_set(l, WHERE_VMALLOC, u64_less(v, n->stacks_in_vmalloc ? stacks : 0));
	set_stat(l, WHERE_PAGE_ARRAY, n, "nr_memmap_pages");
	set_info(l, WHERE_BOUNCE, n, "Bounce");
	set_info(l, WHERE_FUSE, n, "WritebackTmp");
	set_info(l, WHERE_CORRUPTED, n, "HardwareCorrupted");
	if (n->balloon_in_total)
		set_info(l, WHERE_BALLOON, n, "Balloon");
	if (keyvals_get(n->meminfo, "GPUActive", &v))
		where_set(l, WHERE_GPU, v + info(n, "GPUReclaim"));
}

/* zsmalloc counts its pages, other allocators of zswap are in Zswap alone. */
static void compressed_set(struct where_ledger *l, const struct where_numbers *n)
{
	u64 zswap = info(n, "Zswap"), pool = zswap + n->zram_bytes;

	where_set(l, WHERE_COMPRESSED, MAX(stat(n, "nr_zspages"), pool));
	where_set_part(l, WHERE_P_COMPRESSED_DATA, info(n, "Zswapped") + n->zram_data_bytes);
}

static void parts_set(struct where_ledger *l, const struct where_numbers *n)
{
	part_info(l, WHERE_P_MAPPED, n, "Mapped");
	part_info(l, WHERE_P_DIRTY, n, "Dirty");
	part_info(l, WHERE_P_WRITEBACK, n, "Writeback");
	part_info(l, WHERE_P_BUFFERS, n, "Buffers");
	where_set_part(l, WHERE_P_FILE_LRU, info(n, "Active(file)") + info(n, "Inactive(file)"));
	part_info(l, WHERE_P_RECLAIMABLE_SLAB, n, "SReclaimable");
	where_set_part(l, WHERE_P_HUGE_FREE, n->huge_free_bytes);
	where_set_part(l, WHERE_P_HUGE_RESERVED, n->huge_reserved_bytes);
	part_info(l, WHERE_P_MLOCKED, n, "Mlocked");
	part_info(l, WHERE_P_UNEVICTABLE, n, "Unevictable");
	part_info(l, WHERE_P_ANON_HUGE, n, "AnonHugePages");
	part_info(l, WHERE_P_SHMEM_HUGE, n, "ShmemHugePages");
	part_info(l, WHERE_P_CMA_FREE, n, "CmaFree");
	part_info(l, WHERE_P_AVAILABLE, n, "MemAvailable");
	part_info(l, WHERE_P_SWAP_FREE, n, "SwapFree");
	where_set_part(l, WHERE_P_SWAP_USED, u64_less(info(n, "SwapTotal"), info(n, "SwapFree")));
}

int where_ledger_machine(const struct where_numbers *n, struct where_ledger *ret)
{
	struct where_ledger *l = ret;
	u64 total;

	if (!n->meminfo || !keyvals_get(n->meminfo, "MemTotal", &total))
		return -ENODATA;
	l->scope = WHERE_MACHINE;
	l->total_bytes = total;
	l->known = l->estimated = l->known_parts = 0;
	set_info(l, WHERE_FREE, n, "MemFree");
	if (n->has_cpu_lists)
		where_set(l, WHERE_FREE_CPU, n->cpu_lists_pages * n->page_bytes);
	set_info(l, WHERE_ANON, n, "AnonPages");
	swap_cache_set(l, n);
	files_set(l, n);
	set_info(l, WHERE_HUGETLB, n, "Hugetlb");
	kernel_set(l, n);
	compressed_set(l, n);
	parts_set(l, n);
	if (n->has_sockets)
		where_set_estimate(l, WHERE_SOCKETS, n->sockets_bytes);
	return 0;
}
