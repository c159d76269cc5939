/* Calls that fail for a limit: what is known of them, and what to change. */
#ifndef MEMWHY_RULES_LIMITS_H
#define MEMWHY_RULES_LIMITS_H

#include "rules/holdings.h"

/* Workers of one name that meet the same limit are one trouble. */
struct failure_key {
	u8 why;
	char comm[COMM_LEN];
};

struct failure {
	u64 count, limit;
	u64 hard; /* of a limit of the process; 0: not known */
	u64 start_ns, parent_soft, parent_hard;
	u64 asked; /* bytes by one call, on average */
	u64 cgroup;
	u64 last_ns; /* time of the last record of it */
	u32 times;   /* in how many looks it was seen */
	u32 tgid;    /* the first that met it */
	u32 stack, where, error;
	u32 parent_tgid, parent; /* who started it, and from whom it has the limit; 0: not known */
	u32 number;              /* of the system call, where `call` is MAPS_OTHER */
	u8 call;
	bool others; /* … and other processes did */
	bool ended;
};

struct limits {
	struct held held;
	struct groups failures; /* struct failure_key -> struct failure */
	u64 on_ns, covered_ns;
};

/* Is free memory beside it of any interest? Not where files, tasks or the like are counted. */
bool limit_is_of_memory(u8 why);
/* What it makes, the sysctl that bounds their number (kernel.sem: also how many semaphores all of
 * them have), and what else the kernel refuses for in the same way. */
const char *const *limit_ipc(const struct failure *f);
/* "; python3 job.py (pid 7) has most of them, 60": who takes up what the limit is on; "" where that
 * is not known. */
const char *limits_holder(struct report *r, const struct held *h, u8 why, const struct failure *f);
/* What to try, how to undo and to verify it. */
void limits_advise(struct report *r, struct finding *x, const struct limits *s,
	const struct failure_key *k, const struct failure *f);

#endif
