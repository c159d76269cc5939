/*
 * Control groups: where the hierarchies are mounted, which directory and kernel id a path, a
 * process or an id stands for, and what a group's memory controller says. Owns cgroup v1 and v2's
 * file names and their differences; knows nothing of how ids come out of BPF.
 *
 * All paths are as on the system; the readers put sys_root() in front.
 */
#ifndef MEMWHY_SYS_CGROUP_H
#define MEMWHY_SYS_CGROUP_H

#include <limits.h>

#include "base/vec.h"
#include "sys/keyvals.h"
#include "sys/mounts.h"

struct cgroup_hierarchy {
	int version;          /* 1, 2, or 0: not mounted */
	char mount[PATH_MAX]; /* "/sys/fs/cgroup/memory" */
	char root[PATH_MAX];  /* which cgroup is mounted there: "/", or a container's own */
};

/*
 * Pure v2: memory and unified are the same. Pure v1: unified has version 0. Hybrid: memory is v1
 * and unified is v2, so that bpf_get_current_cgroup_id(), which speaks of v2 only, does not name
 * the group that memory is charged to.
 */
struct cgroup_mounts {
	struct cgroup_hierarchy memory;
	struct cgroup_hierarchy unified;
};

/* -ENOENT when neither is mounted. */
int cgroup_mounts_find(const struct mounts *mounts, struct cgroup_mounts *ret);
int cgroup_mounts_read(struct cgroup_mounts *ret);

struct cgroup {
	int version;
	u32 level; /* 0: the hierarchy's root, as in the kernel's struct cgroup */
	u64 id;    /* inode number of the directory: the kernel's kernfs id (5.5 and later) */
	char dir[PATH_MAX]; /* mount point and path, without a slash at the end */
	size_t path_at;     /* where the path starts in dir */
};

/* "/system.slice/a.service"; "/" for the mounted root. */
const char *cgroup_path(const struct cgroup *cg);

/*
 * The group of a path that a person gave: below a mount point ("/sys/fs/cgroup/a/b"), or relative
 * to the hierarchy with or without a leading slash ("/a/b", "a/b"), memory's first. A path as in
 * /proc/PID/cgroup of a container's mount is understood too. -ENOENT or -ENOTDIR where there is
 * no such directory, -EINVAL for "..", -ENAMETOOLONG.
 */
int cgroup_resolve(const struct cgroup_mounts *mounts, const char *path, struct cgroup *ret);
/* The group that the memory of this process is charged to. -ENOENT also when it is outside of
 * what is mounted here. */
int cgroup_of_pid(const struct cgroup_mounts *mounts, int pid, struct cgroup *ret);

/* Groups kept by cgroup_ids_load; those beyond are not found. */
#define CGROUP_IDS_MAX 65536
/* Minimum distance between walks of cgroup_ids_renew, the time they may take at first, and their
 * maximum share of time later. A new group gets its name at once, while a flood of removed groups
 * costs little. */
#define CGROUP_IDS_APART_NS 20000000ULL
#define CGROUP_IDS_CREDIT_NS 200000000ULL
#define CGROUP_IDS_PART 32

struct cgroup_id {
	u64 id;
	char *path; /* as cgroup_path() */
};

/* To be zeroed before its first use. */
struct cgroup_ids {
	VEC(struct cgroup_id) list; /* by id */
	bool truncated;             /* there were more than CGROUP_IDS_MAX */
	/* For cgroup_ids_renew: the time its walks took beyond their share, when the last one
	 * ended, and how many there were. */
	u64 debt_ns, walked_ns;
	u32 walks;
};

#define _cleanup_cgroup_ids_ _cleanup_(cgroup_ids_free)

void cgroup_ids_free(struct cgroup_ids *ids);
/* Replaces what ret held by all groups there are now: one readdir() a group, no stat(). Groups
 * that vanish meanwhile are kept. -ENOMEM, or -errno of opening the mount point. */
int cgroup_ids_load(const struct cgroup_hierarchy *h, struct cgroup_ids *ret);
/* The same where an id was not found, but not again and again, as ids of groups that are gone never
 * are: -EAGAIN, and nothing is done, where walks took too long. must: it is done all the same. */
int cgroup_ids_renew(const struct cgroup_hierarchy *h, struct cgroup_ids *ids, bool must);
/* NULL for an id that is not known: the group is newer, or gone. */
const char *cgroup_ids_path(const struct cgroup_ids *ids, u64 id);

#define CGROUP_NO_LIMIT (~0ULL)

/*
 * A group's memory: bytes, and in v2 also the counts, include all levels below it; v1's counts are
 * the group's own. What a kernel or version does not have is 0, or CGROUP_NO_LIMIT for a limit. A
 * limit is the group's own: one of its parents may have a lower.
 */
struct cgroup_memory {
	int version;
	bool has_swap; /* swap is accounted (CONFIG, swapaccount=) */
	u64 usage_bytes;
	u64 peak_bytes;        /* v1 max_usage_in_bytes; v2 memory.peak (5.19) */
	u64 limit_bytes;       /* v1 limit_in_bytes; v2 memory.max */
	u64 high_bytes;        /* v2 memory.high: throttled above it */
	u64 low_bytes;         /* v2 memory.low: protected below it, if it can be; 0 for none */
	u64 min_bytes;         /* v2 memory.min: protected below it in any case; 0 for none */
	u64 swap_bytes;        /* v1 total_swap of memory.stat */
	u64 swap_limit_bytes;  /* v2 memory.swap.max */
	u64 memsw_limit_bytes; /* v1 only: of memory and swap together */
	u64 limit_hit_total;   /* v1 failcnt; v2 "max" of memory.events */
	u64 high_hit_total;    /* v2 "high" */
	u64 oom_total;         /* v2 "oom": allocations that failed for the limit */
	u64 oom_kill_total;    /* processes killed (v1: since 4.13) */
	bool hangs; /* v1: at its limit, with its OOM killer off: its tasks wait for memory */
};

/* "max", or bytes; v1 says 9223372036854771712 for no limit. -EINVAL. */
int cgroup_limit_parse(const char *text, u64 *ret);
/* -ENOENT when the group is gone, has no memory controller, or is the root of v2. */
int cgroup_memory_read(const struct cgroup *cg, struct cgroup_memory *ret);
/* memory.stat. v1's own names; "total_" ones include the levels below. */
int cgroup_stat_read(const struct cgroup *cg, struct keyvals *kv);

#endif
