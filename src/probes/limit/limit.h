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
#define LIMIT_FILES_FIELDS(F, R)                                                               \
	F(R, u64, elapsed_ns, NS, "time since counting began")                                 \
	F(R, u32, stride, COUNT, "one page in so many is followed")                            \
	F(R, u32, page_bytes, BYTES, "size of a page")                                         \
	F(R, u64, followed, COUNT, "pages that are followed")                                  \
	F(R, u64, room, COUNT, "pages that could be")                                          \
	F(R, u64, reused, COUNT, "of these, used more than once")                              \
	F(R, u64, once, COUNT, "used once")                                                    \
	F(R, u64, ahead, COUNT, "read ahead and not used")                                     \
	F(R, u64, again, COUNT, "came into the page cache more than once")                     \
	F(R, u64[LIMIT_PARTS], first, COUNT,                                                   \
		"pages used more than once, by when they were first used, in 16 parts of the " \
		"time")                                                                        \
	F(R, u64[LIMIT_AGES], age, COUNT,                                                      \
		"pages by how long they have not been used: slot i is below 2^i s")
RECORD(limit_files, LIMIT_FILES_FIELDS);

/* On disk: what the processes of the group have touched through their page tables since the bits
 * that the CPU sets were cleared. */
#define LIMIT_MAPPED_FIELDS(F, R)                                                 \
	F(R, u64, elapsed_ns, NS, "time since the bits were cleared")             \
	F(R, u64, anon_bytes, BYTES, "anonymous memory that was touched since")   \
	F(R, u64, file_bytes, BYTES, "mapped files that were touched since")      \
	F(R, u64, rss_bytes, BYTES, "resident memory of the processes, added up") \
	F(R, u32, processes, COUNT, "processes looked at")                        \
	F(R, u32, refused, COUNT, "processes that could not be looked at")        \
	F(R, u64, read_ns, NS, "what reading took")
RECORD(limit_mapped, LIMIT_MAPPED_FIELDS);

enum limit_group_flags {
	LIMIT_PRESSURE_GROUP = 1,   /* the stall times are the group's */
	LIMIT_PRESSURE_MACHINE = 2, /* … are of the whole machine */
	LIMIT_PARTIAL = 4,          /* uses of files are of some tasks of the group only */
};

/* On disk: the group by its memory controller. h.flags: enum limit_group_flags. */
#define LIMIT_GROUP_FIELDS(F, R)                                                    \
	F(R, u64, cgroup, CGROUP, "control group")                                  \
	F(R, u64, elapsed_ns, NS, "time since the look began")                      \
	F(R, u32, version, ID, "of its hierarchy: 1 or 2")                          \
	F(R, u32, cpus, COUNT, "CPUs of the machine")                               \
	F(R, u32, dir, STRING, "directory of the group")                            \
	F(R, u32, reserved, HIDDEN, "")                                             \
	F(R, u64, usage_bytes, BYTES, "charged to it and to those below")           \
	F(R, u64, limit_bytes, BYTES, "its limit; 2^64-1: none")                    \
	F(R, u64, high_bytes, BYTES, "memory.high; 2^64-1: none")                   \
	F(R, u64, anon_bytes, BYTES, "anonymous memory")                            \
	F(R, u64, file_bytes, BYTES, "page cache, without shared memory")           \
	F(R, u64, shmem_bytes, BYTES, "tmpfs and shared memory")                    \
	F(R, u64, kernel_bytes, BYTES, "memory of the kernel and of sockets")       \
	F(R, u64, locked_bytes, BYTES, "not evictable; a part of the others")       \
	F(R, u64, swap_bytes, BYTES, "in swap")                                     \
	F(R, u64, swap_free_bytes, BYTES, "swap that is left for it")               \
	F(R, u64, limit_hit_total, COUNT, "times it met its limit")                 \
	F(R, u64, high_hit_total, COUNT, "times it was above memory.high")          \
	F(R, u64, refault_total, COUNT, "pages that came back after reclaim")       \
	F(R, u64, oom_total, COUNT, "processes killed")                             \
	F(R, u64, some_us, COUNT, "memory pressure: us in which some task stalled") \
	F(R, u64, full_us, COUNT, "memory pressure: us in which all tasks did")     \
	F(R, u64, read_bytes, BYTES, "read by all disks and partitions since boot") \
	F(R, u64, read_ns, NS, "that these reads took")
RECORD(limit_group, LIMIT_GROUP_FIELDS);

#define LIMIT_NONE (~0ULL)

#endif
