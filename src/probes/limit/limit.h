/*
 * How much memory a control group needs: what the BPF programs, the probe and its view agree on,
 * and the records.
 */
#ifndef MEMWHY_PROBES_LIMIT_H
#define MEMWHY_PROBES_LIMIT_H

#include "bpf/shared.h"

#define LIMIT_TICK_SHIFT 27  /* times of pages are in steps of 2^27 ns: 134 ms */
#define LIMIT_SECOND_SHIFT 3 /* eight steps: what counts as another time that a page was used */
#define LIMIT_ROOM 131072    /* pages that are followed */

/* Which pages are followed, and how many these are. The programs halve their share before there is
 * no room left; user space then drops those that are no longer among them. */
struct limit_share {
	u64 made;
	u64 next; /* at so many the share is halved */
	u32 mask; /* pages whose hash has none of these bits are followed */
	u32 reserved;
};

/* A page of a file. */
struct limit_page {
	u64 ino;
	u32 dev;
	u32 index;
};

/* All in the group's time, the first and the last use in ticks of the clock. */
struct limit_use {
	u32 first, last; /* 0: not used, only read ahead */
	u32 seconds;     /* in how many different ones it was used */
	u16 added;       /* it came into the page cache so many times */
	u16 found;       /* its first use found it in the page cache */
};

struct limit_counts {
	u64 uses; /* of pages that are followed */
};

static inline u64 limit_file_hash(u64 ino, u32 dev)
{
	return (ino ^ (u64)dev << 40) * 0x9e3779b97f4a7c15ULL;
}

static inline u32 limit_page_hash(u64 file_hash, u64 index)
{
	return (u32)(((file_hash + index) * 0xd6e8feb86659fd93ULL) >> 32);
}

#define LIMIT_PARTS 16
#define LIMIT_AGES 16

enum limit_files_flags {
	LIMIT_READS_KNOWN = 1,
	LIMIT_WRITES_KNOWN = 2,
	LIMIT_ADDS_KNOWN = 4,
};

/* On disk: pages of files that the group used since the start, as they stand now. All numbers are
 * of pages that are followed, one in `stride`. h.flags: enum limit_files_flags. */
struct limit_files {
	struct rec h;
	u64 elapsed_ns;
	u32 stride;
	u32 page_bytes;
	u64 followed, room;
	u64 reused; /* used in two different seconds or more, or found in the page cache */
	u64 once;   /* read in or written, and not used again */
	u64 ahead;  /* read ahead, and not used */
	u64 again;  /* came into the page cache more than once: it had been pushed out */
	/* Of `reused`: by when they were first used, in parts of the time so far. */
	u64 first[LIMIT_PARTS];
	/* Of `reused` and `once`: by how long they have not been used: slot i is less than 2^i s.
	 */
	u64 age[LIMIT_AGES];
};

/* On disk: what the processes of the group have touched through their page tables since the bits
 * that the CPU sets were cleared. */
struct limit_mapped {
	struct rec h;
	u64 elapsed_ns;
	u64 anon_bytes, file_bytes; /* touched; of pages that several map the part of each */
	u64 rss_bytes;
	u32 processes;
	u32 refused; /* processes that could not be looked at */
	u64 read_ns; /* what reading took */
};

enum limit_group_flags {
	LIMIT_PRESSURE_GROUP = 1,   /* the stall times are the group's */
	LIMIT_PRESSURE_MACHINE = 2, /* … are of the whole machine */
	LIMIT_PARTIAL = 4,          /* uses of files are of some tasks of the group only */
};

/* On disk: the group by its memory controller. h.flags: enum limit_group_flags. */
struct limit_group {
	struct rec h;
	u64 cgroup;
	u64 elapsed_ns;
	u32 version, cpus;
	u32 dir; /* string: its directory */
	u32 reserved;
	u64 usage_bytes, limit_bytes, high_bytes; /* LIMIT_NONE: no limit */
	u64 anon_bytes, file_bytes, shmem_bytes, kernel_bytes, locked_bytes, swap_bytes;
	u64 swap_free_bytes; /* that it could use */
	u64 limit_hit_total, high_hit_total, refault_total, oom_total;
	u64 some_us, full_us;
	u64 read_bytes, read_ns; /* that disks have read since boot, and the time that took */
};

#define LIMIT_NONE (~0ULL)

#endif
