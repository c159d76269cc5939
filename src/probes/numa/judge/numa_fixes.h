/*
 * Private to the findings of numa: what to do about a pattern, in words and as calls and commands
 * with their numbers filled in.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_FIXES_H
#define MEMWHY_PROBES_NUMA_JUDGE_FIXES_H

#include "base/units.h"
#include "probes/numa/judge/numa_bound.h"
#include "probes/numa/judge/numa_patterns.h"
#include "report/report.h"

/* A finding that is being written. */
struct advice {
	struct report *r;
	const struct numa_bound *bound;
	const struct numa_feed *f;
	const struct numa_groups *groups;
	const struct numa_group *g;
	const struct numa_verdict *v;
	struct finding *to;
	const char *name;
	char bytes[UNIT_BUF];
	struct object largest;
};

/* The command line of the process whose object it is, for finding_command(); NULL: not known. */
const char *numa_words(const struct advice *a);
/*
 * A line that says what to run it under; where its command line is known, as a command. say_ and
 * with_ are literals, one format together.
 */
#define NUMA_RUN(a_, lines_, say_, with_, ...)                                                \
	({                                                                                    \
		const char *words_ = numa_words(a_);                                          \
		if (words_)                                                                   \
			finding_command((a_)->r, lines_, words_,                              \
				say_ ": `" with_ __VA_OPT__(, ) __VA_ARGS__);                 \
		else                                                                          \
			finding_line((a_)->r, lines_,                                         \
				say_ " (run it under " with_ ")" __VA_OPT__(, ) __VA_ARGS__); \
	})

/* Why it is so, what to try, and how that is undone. */
void numa_fix(struct advice *a);

/* Is so much of it elsewhere that interleaving changes little? */
bool numa_spread_already(const struct advice *a);

#endif
