/* Control groups and their memory: the records. */
#ifndef MEMWHY_PROBES_CGROUPS_H
#define MEMWHY_PROBES_CGROUPS_H

#include "event/wire.h"

#define CGROUP_USAGE_NONE (~0ULL) /* no limit */

enum cgroup_usage_flags {
	/* Uses half of its limit, or of memory.high, or more, or took 1/64 of it meanwhile. */
	CGROUP_NEAR_LIMIT = 1,
	CGROUP_SWAPS = 2,  /* has memory in swap */
	CGROUP_EVENTS = 4, /* hit its limit, or lost a process to the OOM killer, since the start */
	CGROUP_SCOPE = 8,  /* the group that was asked for (-g) */
	CGROUP_HAS_PRESSURE = 16, /* some_total_us and full_total_us are known */
	CGROUP_HAS_PARTS = 32,    /* what comes after full_total_us is known */
	/* Sent at each sample while it has memory: one that is not among a sample's has none, or
	 * is gone. */
	CGROUP_WATCHED = 64,
	CGROUP_HANGS = 128,     /* version 1: its OOM killer is off, and tasks wait in its place */
	CGROUP_PROTECTED = 256, /* version 2: has 1/20 of memory, and memory.min or memory.low */
};

/*
 * The memory of one group, those below it included: sent while any of the flags above apply,
 * whenever it changed, and at the end. Limits are the group's own; a parent's may be lower.
 Flags: enum cgroup_usage_flags. */
#define CGROUP_USAGE_FIELDS(F, R)                                                                  \
	F(R, u64, cgroup, CGROUP, "control group")                                                 \
	F(R, u32, version, ID, "of its hierarchy: 1 or 2")                                         \
	F(R, u32, level, ID, "its depth below the mounted root, which is 0")                       \
	F(R, u64, usage_bytes, BYTES, "memory, with the groups below")                             \
	F(R, u64, peak_bytes, BYTES, "the most it used; 0: not known")                             \
	F(R, u64, limit_bytes, BYTES, "its own limit; all bits set: none")                         \
	F(R, u64, high_bytes, BYTES, "memory.high; all bits set: none")                            \
	F(R, u64, swap_bytes, BYTES, "memory in swap")                                             \
	F(R, u64, swap_limit_bytes, BYTES,                                                         \
		"limit of swap, in version 1 of memory and swap together; all bits set: none")     \
	F(R, u64, limit_hit_total, COUNT, "times it was about to exceed the limit")                \
	F(R, u64, high_hit_total, COUNT, "times it was throttled at memory.high")                  \
	F(R, u64, oom_total, COUNT, "allocations that failed for the limit (version 2)")           \
	F(R, u64, oom_kill_total, COUNT, "its processes killed by the OOM killer")                 \
	F(R, u64, first_limit_hit_total, COUNT, "limit_hit_total at the start")                    \
	F(R, u64, first_oom_kill_total, COUNT, "oom_kill_total at the start")                      \
	F(R, u64, some_total_us, NONE,                                                             \
		"time in which one of its tasks waited for memory, in microseconds; with flag 16") \
	F(R, u64, full_total_us, NONE,                                                             \
		"time in which all of them did, in microseconds; with flag 16")                    \
	F(R, u64, anon_bytes, BYTES, "anonymous memory; from here on with flag 32")                \
	F(R, u64, file_bytes, BYTES, "page cache, without shared memory and tmpfs")                \
	F(R, u64, shmem_bytes, BYTES, "shared memory and tmpfs")                                   \
	F(R, u64, kernel_bytes, BYTES, "memory of the kernel charged to it")                       \
	F(R, u64, locked_bytes, BYTES, "cannot be reclaimed; part of the others")                  \
	F(R, u64, dirty_bytes, BYTES, "page cache not written yet")                                \
	F(R, u64, refault_file_total, PAGES,                                                       \
		"pages of files read back soon after they were reclaimed")                         \
	F(R, u64, refault_anon_total, PAGES, "the same of anonymous memory")                       \
	F(R, u64, first_refault_file_total, PAGES, "refault_file_total at the start")              \
	F(R, u64, first_refault_anon_total, PAGES, "refault_anon_total at the start")              \
	F(R, u64, first_some_total_us, NONE, "some_total_us at the start")                         \
	F(R, u64, first_high_hit_total, COUNT, "high_hit_total at the start")                      \
	F(R, u64, min_bytes, BYTES, "memory.min: not reclaimed below it")                          \
	F(R, u64, low_bytes, BYTES,                                                                \
		"memory.low: not reclaimed below it while there is other memory")
RECORD(cgroup_usage, CGROUP_USAGE_FIELDS);

enum cgroup_dying_flags {
	CGROUP_DYING_PARTS = 1, /* what they hold is known */
};

/* What each of those below takes of slab, and of memory on each CPU (measured on 6.18, x86-64). */
#define CGROUP_DYING_BYTES (11ULL << 10)
#define CGROUP_DYING_CPU_BYTES 1700ULL

/*
 * Control groups that were removed and that the kernel still keeps, since something charged to them
 * is left: sent at the start, when it has changed and at the end, where there are some. What they
 * hold is looked at at the end. Flags: enum cgroup_dying_flags.
 */
#define CGROUP_DYING_FIELDS(F, R)                                                      \
	F(R, u32, version, ID, "of memory's hierarchy: 1 or 2")                        \
	F(R, u32, reserved, HIDDEN, "")                                                \
	F(R, u64, dying, COUNT, "groups that were removed and are still kept")         \
	F(R, u64, first_dying, COUNT, "as many at the start")                          \
	F(R, u64, alive, COUNT, "groups that there are")                               \
	F(R, u64, below, CGROUP,                                                       \
		"the group that most of them were in (version 2), or those that hold " \
		"most; 0: not known")                                                  \
	F(R, u64, below_dying, COUNT, "how many of them (version 2)")                  \
	F(R, u64, file_bytes, BYTES,                                                   \
		"page cache that keeps them, without shared memory; with flag 1")      \
	F(R, u64, shmem_bytes, BYTES, "files in tmpfs and shared memory; with flag 1") \
	F(R, u64, anon_bytes, BYTES, "anonymous memory, in swap too; with flag 1")     \
	F(R, u64, below_bytes, BYTES, "of these, what is of those below; with flag 1")
RECORD(cgroup_dying, CGROUP_DYING_FIELDS);

#endif
