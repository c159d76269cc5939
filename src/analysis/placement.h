/*
 * Is the memory of a process on other nodes than its threads, why, and what to do about it. Fed by
 * the rule of `check` and by the view of `numa` alike; knows no record.
 *
 * A node is used where at least a tenth of the CPU time was; without CPU times, where a thread was.
 * Memory on nodes that are not used is far.
 */
#ifndef MEMWHY_ANALYSIS_PLACEMENT_H
#define MEMWHY_ANALYSIS_PLACEMENT_H

#include "report/report.h"

struct placement {
	u32 tgid;
	const char *comm;
	u32 nodes; /* of the arrays, at most 32 */
	/* By node; in base pages of page_bytes. policy_pages: of pages, those under a policy that
	 * names the node. */
	const u64 *pages, *policy_pages;
	const u64 *ran_ns;
	const u32 *threads;
	u64 page_bytes;
	u32 cpu_nodes;       /* bit i: node i has CPUs; 0: not known */
	u32 allowed_nodes;   /* bit i: it may run on node i; 0: not known */
	u32 allowed_memory;  /* bit i: its cpuset allows memory there; 0: not known */
	const char *cpus;    /* that it may run on: "0-3,8"; NULL: not known */
	const char *policy;  /* of most of policy_pages: "bind:1"; NULL or "": none */
	bool own;            /* … that of its mappings (mbind), not of the process */
	bool looked;         /* for the call that set it, … */
	const char *call;    /* … in words; NULL: it was not seen */
	const char *command; /* of finding_command(); NULL: not known */
	bool ended;          /* by now */
};

enum placement_why {
	PLACEMENT_FINE,
	PLACEMENT_TOUCHED, /* where it was first touched */
	PLACEMENT_POLICY,  /* where a policy puts it */
	PLACEMENT_CPUSET,  /* where its cpuset allows memory */
};

struct placement_verdict {
	u32 why;           /* enum placement_why */
	u32 users, far_on; /* nodes that use memory; far nodes that hold some (by the policy) */
	u32 user, home;    /* of these, the one with most CPU time; with most far pages */
	u64 far_pages, all_pages;
};

struct placement_verdict placement_judge(const struct placement *p);
/* Adds the finding, unless the verdict is that all is fine. 0 or -ENOMEM. */
int placement_tell(struct report *r, const struct placement *p, const struct placement_verdict *v);

#endif
