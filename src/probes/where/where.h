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
	WHERE_P_HUGE_UNUSED, /* of WHERE_P_ANON_HUGE: never written to (estimated) */
	WHERE_P_HUGE_ERROR,  /* twice the standard error of that */
	WHERE_PARTS,
	WHERE_PARTS_MAX = 32,
};

/*
 * One ledger, as read at one time. Every row but WHERE_REST is a counter of the kernel, or an
 * estimate (`estimated`); what they leave of the total is the rest, which is below 0 where counters
 * changed while they were read.
 */
struct where_ledger {
	struct rec h;
	u32 scope;  /* enum where_scope */
	u32 sample; /* number of the look: owners of the same number belong to it */
	u32 tgid;
	u32 name; /* string: the process */
	u64 cgroup;
	u64 total_bytes;
	u64 known;       /* rows that are, a bit each; others are part of the rest */
	u64 estimated;   /* rows that are, a bit each */
	u64 known_parts; /* a bit each */
	u64 bytes[WHERE_ROWS_MAX];
	u64 parts[WHERE_PARTS_MAX];
};

/* Who has a part of a row. */
struct where_owner {
	struct rec h;
	u32 row;            /* enum where_row */
	u32 sample;         /* as in the ledger */
	u32 scope, of_tgid; /* whose ledger */
	u32 name;           /* string */
	u32 detail;         /* string; 0: nothing more */
	u32 tgid;           /* where it is a process */
	u32 estimated;      /* 1: bytes are */
	u64 cgroup;         /* where it is a group */
	u64 bytes;
	u64 count;      /* of what it is made of; 0: not known */
	u64 free_bytes; /* of it, not in use: free objects of a slab cache, kept by an allocator */
};

/* An arena of glibc's malloc in a process. */
struct where_arena {
	struct rec h;
	u32 tgid;
	u32 sample;
	u32 index;   /* 0: the main arena */
	u32 partial; /* 1: it could not be read to its end; what is below is what was read */
	u64 address;
	u64 heaps;
	u64 system_bytes;            /* what it has from the kernel */
	u64 used_blocks, used_bytes; /* live, with those in fastbins and caches of threads */
	u64 free_blocks, free_bytes; /* in its bins */
	u64 top_bytes;
	u64 fast_blocks, fast_bytes;
	u64 cache_blocks, cache_bytes;
	u64 kept_bytes;      /* resident pages that have nothing but free blocks */
	u64 trimmable_bytes; /* of these, what malloc_trim(0) gives back */
};

#define WHERE_RUNTIME_BYTES 8
#define WHERE_BY_MAPPINGS (1U << 31) /* in known: its structures were not found */

/* A part of the heap of a runtime, or of an allocator other than glibc's, in a process. */
struct where_runtime {
	struct rec h;
	u32 tgid;
	u32 sample;
	u32 by;    /* enum managed_by (sys/managed.h) */
	u32 index; /* of the parts of this process; 0: those of an earlier look are over */
	u32 name;  /* string: the part */
	u32 known; /* a bit for each of bytes, or WHERE_BY_MAPPINGS */
	u64 bytes[WHERE_RUNTIME_BYTES]; /* enum managed_bytes */
	s64 decay_ms;                   /* of jemalloc's dirty pages; -1: never given back */
};

#define WHERE_CENSUS_KINDS 16

/* What the pages themselves say (enum kpage_kind in sys/kpage.h), in page frames. */
struct where_census {
	struct rec h;
	u32 sample;
	u32 has_charged;
	u64 page_bytes;
	u64 looked, of; /* frames looked at, and all that there are */
	u64 took_ns;
	u64 pages[WHERE_CENSUS_KINDS];
	u64 error[WHERE_CENSUS_KINDS]; /* two standard deviations; 0: all were looked at */
	u64 mapped[WHERE_CENSUS_KINDS];
	u64 charged[WHERE_CENSUS_KINDS]; /* to a group below the root */
};

/* "anonymous"; "rest" for what is no row. */
const char *where_row_name(u32 scope, u32 row);

#define WHERE_NO_LIMIT (~0ULL)

/* The memory of a group, or of one above it, and its limits. */
struct where_limit {
	struct rec h;
	u32 sample;
	u32 level;                                            /* below the root of the hierarchy */
	u64 cgroup, of_cgroup;                                /* of_cgroup: whose ledger */
	u64 usage_bytes, limit_bytes, high_bytes, swap_bytes; /* WHERE_NO_LIMIT */
	u64 limit_hit_total;
};

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
struct where_file {
	struct rec h;
	u32 sample; /* number of the look, as in the ledger */
	u32 row;    /* enum where_row */
	u32 path;   /* string */
	u32 flags;  /* enum inodes_flags */
	u64 bytes;
	u64 cgroup;      /* that its first page is charged to; 0: none */
	u32 cgroup_name; /* string: of one that was removed; 0: it was not */
	u32 reserved;
};

/* Pages in memory of all files of a file system (--files). */
struct where_mount {
	struct rec h;
	u32 sample;
	u32 row;
	u32 mount; /* string */
	u32 type;  /* string: of the file system */
	u64 files, bytes;
	u32 partial; /* 1: it was not looked at to its end */
	u32 tgid;    /* a process in the mount namespace where it is; 0: memwhy's own */
};

/* What files keep of a control group that was removed (--files). */
struct where_removed {
	struct rec h;
	u32 sample;
	u32 name; /* string: of its directory */
	u64 cgroup;
	u64 files, bytes; /* whose first page is charged to it */
	u32 path;         /* string: the largest of them */
	u32 reserved;
};

#endif
