/*
 * What is wrong with how nodes use memory: a pattern for a group of objects, where the evidence
 * bears one, and how many of its remote accesses a fix would save. Pure; words are in
 * numa_advice.c.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_PATTERNS_H
#define MEMWHY_PROBES_NUMA_JUDGE_PATTERNS_H

#include "probes/numa/judge/numa_groups.h"

/* Below these there is no verdict. */
#define NUMA_MIN_SAMPLES 100 /* of a group, with known locality */
#define NUMA_MIN_REMOTE 30   /* of them, remote */
#define NUMA_MIN_RATIO 0.15  /* remote, for sure (lower bound of 95 %) */
#define NUMA_MIN_SHARE 0.03  /* of all accesses: remote ones to this group */
#define NUMA_MIN_SHARING 64  /* samples in pieces with two or more */

enum numa_pattern {
	NUMA_NO_PATTERN,
	NUMA_THIN,        /* remote as it seems, but too few samples */
	NUMA_PRODUCER,    /* used on one node, and it lies on another */
	NUMA_ALTERNATING, /* several nodes, in turns */
	NUMA_CONCURRENT,  /* several nodes at the same time, the same parts */
	NUMA_PARTITIONED, /* several nodes, each its own part; and all lies on one */
	NUMA_FALSE_PAGE,  /* nodes share pages, but not what is in them */
	NUMA_FALSE_HUGE,  /* … huge pages, but not base pages */
	NUMA_PAGE_CACHE,  /* of a file: it lies where it was first read */
	NUMA_MOVED_AWAY,  /* who made it uses it, from another node than then */
	NUMA_SLOW_TIER,   /* on nodes without CPUs */
	NUMA_UNCLEAR,     /* several nodes; hint faults do not tell whether in turns */
	NUMA_PATTERNS,
};

struct numa_verdict {
	u32 pattern;         /* enum numa_pattern */
	u32 group;           /* in numa_groups.list */
	bool balanced;       /* as the program laid it out; balancing has moved most of it since */
	bool used;           /* too few faults were remote, but nodes share its pages */
	double used_ratio;   /* remote by the nodes' shares of its accesses and pages */
	double laid_ratio;   /* remote by that layout; as remote_ratio where it is not known */
	double remote_ratio; /* as it was */
	double saved_ratio;  /* of the group's remote accesses, by the fix (estimated) */
	double share;        /* its remote accesses of all accesses */
	s32 user;            /* node that uses it most from afar; -1 */
	s32 home;            /* node where most of it lies; -1 */
	double home_ratio;   /* of its accesses, to pages there */
};

struct numa_verdict numa_judge(const struct numa_feed *f, const struct numa_groups *g, u32 group);
/* What a share that comes in bursts is at least and at most (95 % each). false: too few of them. */
bool numa_share_bounds(const struct numa_clusters *c, double *ret_low, double *ret_high);
const char *numa_pattern_name(u32 pattern);
/* Does nearly all memory that is used lie on one node, though several use it? */
bool numa_all_on_one(const struct numa_groups *g, s32 *ret_node, double *ret_ratio);

#endif
