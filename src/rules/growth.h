/*
 * Growth of one process, or of those of one program together: its course, and when it will hurt.
 * Knows no finding.
 */
#ifndef MEMWHY_RULES_GROWTH_H
#define MEMWHY_RULES_GROWTH_H

#include "analysis/shape.h"
#include "rules/facts.h"

#define GROWTH_MIN_SECONDS 4.0
#define GROWTH_GONE_NS \
	(1500 * NSEC_PER_MSEC) /* before the end: what was not seen since has ended */
#define GROWTH_SOON_S 600.0
#define GROWTH_LATER_S 3600.0
#define GROWTH_FULL_S 1.0 /* until what it grows in is used up: it is */

struct grown {
	struct shape anon, space;
	u64 start_ns; /* of the process: an id that is used again begins anew */
	u64 cgroup;
	u32 stack;
	u64 stack_faults;           /* of the code path with the most faults on anonymous memory */
	u64 faults;                 /* sampled with a stack */
	struct process_path walked; /* the same of stacks that need no frame pointers */
	u64 swap_bytes;             /* as it was last known */
	u64 first_stack_bytes, stack_bytes; /* of its first thread; 0: not known */
	u64 heap_limit_bytes;               /* as its command line says; 0: it does not */
	u32 ppid;
	bool swap_known;
	bool headless; /* its first thread has ended, others run on */
	bool told;     /* as one of a family */
	char comm[COMM_LEN];
};

/* What one growth is about, and when it hurts. */
struct growth_verdict {
	double rate, seconds, grown;
	double left;      /* seconds until what it grows in is used up; below 0: not known */
	u64 room;         /* what is left of that */
	const char *what; /* "available memory" */
	bool young;       /* it may still be starting up */
	bool newer;       /* it is younger than the look */
	bool drifts;      /* beneath its ups and downs */
	bool group;       /* what it grows in is the room of its group */
	bool bounded;     /* it fills what it had mapped before, and that fits into what is left */
	double fit;       /* R² of a line */
	double life;      /* seconds that it has grown at this rate, from its start on; 0: not so */
	u64 mapped;       /* that it may still touch */
	int level;
};

/* What else was seen meanwhile. */
struct growth_seen {
	const struct facts *facts;
	u64 last_ns; /* of any sample of processes */
};

static inline double growth_bytes(const struct shape *s)
{
	return s->trend.last - s->trend.first;
}

static inline double growth_seconds(const struct shape *s)
{
	return (double)(s->trend.last_ns - s->trend.first_ns) / 1e9;
}

/* It may still be starting up. */
bool growth_is_young(const struct grown *g, const struct shape *s);
/* Is there a growth to tell, and how bad is it? */
bool growth_judge(const struct growth_seen *s, const struct report *r, const struct grown *g,
	struct growth_verdict *ret);
/* Takes another verdict into that on several. */
void growth_add(struct growth_verdict *all, const struct growth_verdict *d);
/* When all of them together use up what they grow in, and how bad that is. */
void growth_judge_sum(const struct growth_seen *s, const struct report *r, u64 cgroup,
	struct growth_verdict *all);

#endif
