/*
 * Where memory is: ledgers of the machine, of a process and of a control group, whose rows do not
 * overlap and add up to a total that the kernel knows. The records.
 */
#ifndef MEMWHY_PROBES_WHERE_H
#define MEMWHY_PROBES_WHERE_H

#include <stdbool.h>

#include "event/wire.h"

/* What a ledger is of. On disk. */
enum where_scope {
	WHERE_MACHINE, /* the total is MemTotal */
	WHERE_PROCESS, /* Rss of /proc/PID/smaps */
	WHERE_GROUP,   /* what is charged to a control group and those below it */
};

/* Rows of ledgers. On disk, as places of an array: never reorder. */
enum where_row {
	WHERE_FREE,
	WHERE_FREE_CPU, /* free pages in the lists of cpus, which MemFree does not count */
	WHERE_ANON,
	WHERE_SWAP_CACHE, /* what no process maps */
	WHERE_CACHE,
	WHERE_TMPFS,
	WHERE_SHARED, /* shmem that is in no mounted tmpfs: System V, memfd, shared mappings */
	WHERE_HUGETLB,
	WHERE_SLAB,
	WHERE_KERNEL_MISC, /* KReclaimable that is not slab */
	WHERE_PAGE_TABLES,
	WHERE_SECONDARY, /* page tables of virtual machines and IOMMUs */
	WHERE_STACKS,    /* of threads, in the kernel */
	WHERE_PERCPU,
	WHERE_VMALLOC,
	WHERE_COMPRESSED, /* zsmalloc and the like: zswap, zram */
	WHERE_SOCKETS,
	WHERE_PIPES,
	WHERE_PAGE_ARRAY, /* struct page of memory that was added later */
	WHERE_BOUNCE,
	WHERE_FUSE, /* being written to FUSE */
	WHERE_CORRUPTED,
	WHERE_BALLOON,
	WHERE_GPU,
	WHERE_KERNEL, /* of a group: kernel memory that is not told apart */
	WHERE_HEAP,   /* of a process: from here on */
	WHERE_HEAP_KEPT,
	WHERE_ARENAS,
	WHERE_ARENAS_KEPT,
	WHERE_USER_STACKS,
	WHERE_FILE_PRIVATE,
	WHERE_FILES,
	WHERE_SPECIAL, /* what the kernel maps: vdso and the like */
	WHERE_ROWS,
	WHERE_REST = 47, /* computed, in no array */
	WHERE_ROWS_MAX = 48,
};

/* Parts of rows, and facts beside them. On disk, likewise. */
enum where_part {
	WHERE_P_MAPPED,
	WHERE_P_DIRTY,
	WHERE_P_WRITEBACK,
	WHERE_P_BUFFERS,
	WHERE_P_FILE_LRU, /* of page cache: on the lists that reclaim goes over */
	WHERE_P_RECLAIMABLE_SLAB,
	WHERE_P_HUGE_FREE,
	WHERE_P_HUGE_RESERVED,
	WHERE_P_MLOCKED,
	WHERE_P_UNEVICTABLE,
	WHERE_P_ANON_HUGE,
	WHERE_P_SHMEM_HUGE,
	WHERE_P_CMA_FREE,
	WHERE_P_AVAILABLE,
	WHERE_P_SWAP_FREE,
	WHERE_P_SWAP_USED,
	WHERE_P_COMPRESSED_DATA, /* what is stored in WHERE_COMPRESSED, before compression */
	WHERE_P_LIMIT,           /* of a group: the lowest of the chain; 0: none */
	WHERE_P_SWAP,            /* of a process or group: in swap */
	WHERE_P_PSS,
	WHERE_P_LAZY_FREE,
	WHERE_P_PAGE_TABLES, /* of a process: beside its Rss */
	WHERE_P_HUGE_UNUSED, /* of WHERE_P_ANON_HUGE: zeros (estimated) */
	WHERE_P_HUGE_ERROR, /* twice the standard error of that; 0: all were looked at, or are alike
			     */
	WHERE_P_HUGE_GUESS, /* the kernel did not tell which pages are huge: 1, else 0 */
	WHERE_PARTS,
	WHERE_PARTS_MAX = 32,
};

/*
 * One ledger, as read at one time. Every row but WHERE_REST is a counter of the kernel, or an
 * estimate (`estimated`); what they leave of the total is the rest, which is below 0 where counters
 * changed while they were read.
 */
#define WHERE_LEDGER_FIELDS(F, R)                                                                  \
	F(R, u32, scope, ID,                                                                       \
		"0 the machine, 1 a process, 2 a control group") /* enum where_scope */            \
	F(R, u32, sample, ID, "number of the look")                                                \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, name, STRING, "its name")                                                        \
	F(R, u64, cgroup, CGROUP, "control group")                                                 \
	F(R, u64, total_bytes, BYTES, "what all rows and the rest add up to")                      \
	F(R, u64, known, HEX, "rows that are known, a bit each")                                   \
	F(R, u64, estimated, HEX, "rows that are estimated, a bit each")                           \
	F(R, u64, known_parts, HEX, "parts that are known, a bit each")                            \
	F(R, u64[WHERE_ROWS_MAX], bytes, BYTES,                                                    \
		"rows: free, free in lists of cpus, anonymous, swap cache, page cache, tmpfs, "    \
		"shared memory, hugetlb, slab, other reclaimable kernel memory, page tables, "     \
		"secondary page tables, kernel stacks, percpu, vmalloc, compressed swap, "         \
		"sockets, pipes, page array, bounce, fuse writeback, corrupted, balloon, gpu, "    \
		"kernel, heap, heap kept free, arenas, arenas kept free, stacks, private file "    \
		"pages, files, special")                                                           \
	F(R, u64[WHERE_PARTS_MAX], parts, BYTES,                                                   \
		"facts beside the rows: mapped, dirty, writeback, buffers, evictable file pages, " \
		"reclaimable slab, free and reserved huge pages, locked, unevictable, anonymous "  \
		"and shared huge pages, free CMA, available, free and used swap, data "            \
		"compressed, limit, swapped, proportional set size, lazily freed, page tables, "   \
		"of anonymous huge pages what is zero, the error of that, and whether which "      \
		"pages are huge was guessed: 1")
RECORD(where_ledger, WHERE_LEDGER_FIELDS);

/* Who has a part of a row. */
#define WHERE_OWNER_FIELDS(F, R)                                                       \
	F(R, u32, row, ID, "the row, as its place in the ledger") /* enum where_row */ \
	F(R, u32, sample, ID, "number of the look, as in the ledger")                  \
	F(R, u32, scope, ID, "of the ledger")                                          \
	F(R, u32, of_tgid, ID, "process of the ledger")                                \
	F(R, u32, name, STRING, "who or what it is")                                   \
	F(R, u32, detail, STRING, "what else there is to say; 0: nothing")             \
	F(R, u32, tgid, ID, "process; 0: it is none")                                  \
	F(R, u32, estimated, NONE, "1: bytes are estimated")                           \
	F(R, u64, cgroup, CGROUP, "control group; 0: it is none")                      \
	F(R, u64, bytes, BYTES, "its part of the row")                                 \
	F(R, u64, count, COUNT, "objects, areas, attachments; 0: not known")           \
	F(R, u64, free_bytes, BYTES, "of bytes, kept without being used")
RECORD(where_owner, WHERE_OWNER_FIELDS);

/* An arena of glibc's malloc in a process. */
#define WHERE_ARENA_FIELDS(F, R)                                                    \
	F(R, u32, tgid, ID, "process")                                              \
	F(R, u32, sample, ID, "number of the look, as in the ledger")               \
	F(R, u32, index, ID, "0: the main arena")                                   \
	F(R, u32, partial, NONE, "1: it could not be read to its end")              \
	F(R, u64, address, HEX, "where it is")                                      \
	F(R, u64, heaps, COUNT, "its heaps")                                        \
	F(R, u64, system_bytes, BYTES, "what it has from the kernel")               \
	F(R, u64, used_blocks, COUNT,                                               \
		"blocks in use, those in fastbins and thread caches included")      \
	F(R, u64, used_bytes, BYTES, "their size, with glibc's own part")           \
	F(R, u64, free_blocks, COUNT, "free blocks in its bins")                    \
	F(R, u64, free_bytes, BYTES, "their size")                                  \
	F(R, u64, top_bytes, BYTES, "free memory at its end")                       \
	F(R, u64, fast_blocks, COUNT, "free blocks in fastbins")                    \
	F(R, u64, fast_bytes, BYTES, "their size")                                  \
	F(R, u64, cache_blocks, COUNT, "free blocks in caches of threads")          \
	F(R, u64, cache_bytes, BYTES, "their size")                                 \
	F(R, u64, kept_bytes, BYTES, "resident pages with nothing but free blocks") \
	F(R, u64, trimmable_bytes, BYTES, "of these, what malloc_trim(0) gives back")
RECORD(where_arena, WHERE_ARENA_FIELDS);

#define WHERE_RUNTIME_BYTES 8
#define WHERE_BY_MAPPINGS (1U << 31) /* in known: its structures were not found */

/* A part of the heap of a runtime, or of an allocator other than glibc's, in a process. by and
 * bytes: enum managed_by and enum managed_bytes of sys/heap/managed.h. */
#define WHERE_RUNTIME_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, sample, ID, "number of the look, as in the ledger")                              \
	F(R, u32, by, ID, "0 Java, 1 Go, 2 Python, 3 Node.js, 4 jemalloc, 5 tcmalloc, 6 mimalloc") \
	F(R, u32, index, ID, "of the parts of this process")                                       \
	F(R, u32, name, STRING, "the part")                                                        \
	F(R, u32, known, HEX, "which of bytes are known, a bit each")                              \
	F(R, u64[WHERE_RUNTIME_BYTES], bytes, BYTES,                                               \
		"reserved, committed, in use, kept without being used")                            \
	F(R, s64, decay_ms, NONE,                                                                  \
		"jemalloc: milliseconds until dirty pages are given back; -1: never")
RECORD(where_runtime, WHERE_RUNTIME_FIELDS);

#define WHERE_CENSUS_KINDS 16

/* What the pages themselves say (enum kpage_kind in sys/memory/kpage.h), in page frames. */
#define WHERE_CENSUS_FIELDS(F, R)                                                                \
	F(R, u32, sample, ID, "number of the look")                                              \
	F(R, u32, has_charged, ID, "1: charged is known")                                        \
	F(R, u64, page_bytes, BYTES, "size of a page")                                           \
	F(R, u64, looked, PAGES, "page frames looked at")                                        \
	F(R, u64, of, PAGES, "page frames there are")                                            \
	F(R, u64, took_ns, NS, "what that took")                                                 \
	F(R, u64[WHERE_CENSUS_KINDS], pages, PAGES,                                              \
		"by what they are: free, anonymous, files, shared, hugetlb, slab, page tables, " \
		"offline, reserved, other")                                                      \
	F(R, u64[WHERE_CENSUS_KINDS], error, PAGES, "two standard deviations of sampling")       \
	F(R, u64[WHERE_CENSUS_KINDS], mapped, PAGES, "of these, mapped by processes")            \
	F(R, u64[WHERE_CENSUS_KINDS], charged, PAGES,                                            \
		"of these, charged to a control group below the root")
RECORD(where_census, WHERE_CENSUS_FIELDS);

/* "anonymous"; "rest" for what is no row. */
const char *where_row_name(u32 scope, u32 row);

#define WHERE_NO_LIMIT (~0ULL)

/* The memory of a group, or of one above it, and its limits. */
#define WHERE_LIMIT_FIELDS(F, R)                                                       \
	F(R, u32, sample, ID, "number of the look, as in the ledger")                  \
	F(R, u32, level, COUNT, "levels below the root")                               \
	F(R, u64, cgroup, CGROUP, "control group")                                     \
	F(R, u64, of_cgroup, CGROUP, "the group of the ledger: this one or one below") \
	F(R, u64, usage_bytes, BYTES, "memory charged to it")                          \
	F(R, u64, limit_bytes, BYTES, "its limit; all bits set: none")                 \
	F(R, u64, high_bytes, BYTES, "memory.high; all bits set: none")                \
	F(R, u64, swap_bytes, BYTES, "in swap")                                        \
	F(R, u64, limit_hit_total, COUNT, "how often it met its limit")
RECORD(where_limit, WHERE_LIMIT_FIELDS);

static inline bool where_knows(const struct where_ledger *l, u32 row)
{
	return row < 64 && (l->known >> row & 1);
}

/* What no row has; below 0 where counters changed while they were read. */
static inline s64 where_rest(const struct where_ledger *l)
{
	s64 rest = (s64)l->total_bytes;

	for (u32 i = 0; i < WHERE_ROWS; i++)
		if (where_knows(l, i))
			rest -= (s64)l->bytes[i];
	return rest;
}

/* Pages in memory of a file, of those that have most (--files). */
#define WHERE_FILE_FIELDS(F, R)                                                        \
	F(R, u32, sample, ID, "number of the look")                                    \
	F(R, u32, row, ID, "the row, as its place in the ledger") /* enum where_row */ \
	F(R, u32, path, STRING, "where it is")                                         \
	F(R, u32, flags, HEX,                                                          \
		"1 open, 2 removed, 4 its path is not known") /* enum inodes_flags */  \
	F(R, u64, bytes, BYTES, "its pages in memory")                                 \
	F(R, u64, cgroup, CGROUP, "control group of its first page; 0: none")          \
	F(R, u32, cgroup_name, STRING, "of one that was removed; 0: it was not")       \
	F(R, u32, reserved, HIDDEN, "")
RECORD(where_file, WHERE_FILE_FIELDS);

/* Pages in memory of all files of a file system (--files). */
#define WHERE_MOUNT_FIELDS(F, R)                                           \
	F(R, u32, sample, ID, "number of the look")                        \
	F(R, u32, row, ID, "the row, as its place in the ledger")          \
	F(R, u32, mount, STRING, "where it is mounted")                    \
	F(R, u32, type, STRING, "type of the file system")                 \
	F(R, u64, files, COUNT, "files with pages in memory")              \
	F(R, u64, bytes, BYTES, "these pages")                             \
	F(R, u32, partial, NONE, "1: not all of its files were looked at") \
	F(R, u32, tgid, ID, "process in the mount namespace where it is; 0: memwhy's")
RECORD(where_mount, WHERE_MOUNT_FIELDS);

/* What files keep of a control group that was removed (--files). */
#define WHERE_REMOVED_FIELDS(F, R)                                         \
	F(R, u32, sample, ID, "number of the look")                        \
	F(R, u32, name, STRING, "name of its directory")                   \
	F(R, u64, cgroup, CGROUP, "control group")                         \
	F(R, u64, files, COUNT, "files whose first page is charged to it") \
	F(R, u64, bytes, BYTES, "their pages")                             \
	F(R, u32, path, STRING, "the largest of them")                     \
	F(R, u32, reserved, HIDDEN, "")
RECORD(where_removed, WHERE_REMOVED_FIELDS);

#endif
