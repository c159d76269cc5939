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
	CGROUP_HANGS = 128, /* version 1: its OOM killer is off, and tasks wait in its place */
};

/*
 * The memory of one group, those below it included: sent while any of the flags above apply,
 * whenever it changed, and at the end. Limits are the group's own; a parent's may be lower.
 */
struct cgroup_usage {
	struct rec h; /* h.flags: enum cgroup_usage_flags */
	u64 cgroup;   /* id */
	u32 version;  /* of the hierarchy: 1 or 2 */
	u32 level;    /* below the mounted root, which is 0 */
	u64 usage_bytes;
	u64 peak_bytes;  /* 0: not known */
	u64 limit_bytes; /* memory.max; CGROUP_USAGE_NONE */
	u64 high_bytes;  /* memory.high; CGROUP_USAGE_NONE, as always in version 1 */
	u64 swap_bytes;
	u64 swap_limit_bytes; /* version 1: of memory and swap together; CGROUP_USAGE_NONE */
	/* Since the group was made; first_*: when it was first seen. */
	u64 limit_hit_total; /* usage was about to exceed the limit; v1 failcnt, v2 "max" */
	u64 high_hit_total;
	u64 oom_total;      /* allocations that failed for the limit; version 2 only */
	u64 oom_kill_total; /* processes killed */
	u64 first_limit_hit_total;
	u64 first_oom_kill_total;
	u64 some_total_us, full_total_us; /* memory pressure, as in system_pressure; version 2 */
	/* What the usage is, as memory.stat tells, the groups below included. */
	u64 anon_bytes;
	u64 file_bytes;   /* page cache, without shmem_bytes */
	u64 shmem_bytes;  /* tmpfs and shared memory */
	u64 kernel_bytes; /* charged to it by the kernel: slab, page tables, stacks; 0: not known */
	u64 locked_bytes; /* cannot be reclaimed: mlock and the like; part of the others */
	u64 dirty_bytes;  /* part of file_bytes */
	/* Pages that were read or faulted back soon after they were reclaimed, since the group was
	 * made; first_*: when its parts were first read. */
	u64 refault_file_total, refault_anon_total;
	u64 first_refault_file_total, first_refault_anon_total;
	u64 first_some_total_us;
	u64 first_high_hit_total;
};

/* What each of those below takes of slab, and of memory on each CPU (measured on 6.18, x86-64). */
#define CGROUP_DYING_BYTES (11ULL << 10)
#define CGROUP_DYING_CPU_BYTES 1700ULL

/*
 * Control groups that were removed and that the kernel still keeps, since something charged to them
 * is left: sent at the start, when it has changed and at the end, where there are some.
 */
struct cgroup_dying {
	struct rec h;
	u32 version; /* of memory's hierarchy */
	u32 reserved;
	u64 dying, first_dying; /* first_*: at the start */
	u64 alive;
	/* Version 2: the group deepest in the tree below which most of them were; 0: not known. */
	u64 below;
	u64 below_dying;
};

#endif
