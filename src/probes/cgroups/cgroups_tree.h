/*
 * Private to the cgroups probe: the groups there are and the few cheap numbers of each by which
 * it is known whether it is worth more. Owns the walk and its bounds; sends nothing.
 */
#ifndef MEMWHY_PROBES_CGROUPS_TREE_H
#define MEMWHY_PROBES_CGROUPS_TREE_H

#include "base/vec.h"
#include "sys/group/cgroup.h"

#define CGROUPS_MAX 16384
#define CGROUPS_LEVELS 8

struct cgroup_entry {
	u64 id;
	u64 usage_bytes, swap_bytes;
	u64 limit_bytes; /* the lower one of limit and high; CGROUP_NO_LIMIT */
	u64 limit_hits, oom_kills;
	u64 high_hits; /* of memory.high */
	u64 first_limit_hits, first_oom_kills, first_high_hits, first_usage_bytes;
	u64 first_refault_file, first_refault_anon, first_some_us; /* with `parts` */
	u64 sent;    /* hash of the last record; 0: none yet */
	u32 path;    /* offset in `paths` */
	u32 level;   /* below the mounted root */
	bool counts; /* it has the memory controller */
	bool parts;  /* memory.stat was read before */
	bool quiet;  /* see `sparing` */
};

/* To be zeroed before its first use. */
struct cgroups_tree {
	struct cgroup_hierarchy hierarchy;     /* memory's; version 0: there is none */
	char top[PATH_MAX];                    /* path of the group to start at, "" for all */
	VEC(struct cgroup_entry) list, before; /* by id, when not at work */
	struct str paths;                      /* each ends with a NUL; "" is the root */
	struct str text;
	struct keyvals kv;
	u64 scans;
	/* Where it lasts: of groups without children that held what they held, to the byte, and are
	 * far from their limit, a bounded number is looked at in a scan, by turns. */
	bool sparing;
	size_t n_quiet;
	bool no_swap;                                    /* the machine has none */
	bool truncated;                                  /* there were more, or deeper ones */
	char entries[16384] __attribute__((aligned(8))); /* of a directory */
};

/* Brings the list up to date. -ENOMEM, or why the first group cannot be opened. */
int cgroups_tree_scan(struct cgroups_tree *t);
const char *cgroups_tree_path(const struct cgroups_tree *t, const struct cgroup_entry *e);
void cgroups_tree_free(struct cgroups_tree *t);

#endif
