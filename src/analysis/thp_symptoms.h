/*
 * The three known ways in which transparent huge pages hurt, each tested on what is known: with
 * its evidence, the setting to change, and the undo. One implementation for `thp` and `check`.
 */
#ifndef MEMWHY_ANALYSIS_THP_SYMPTOMS_H
#define MEMWHY_ANALYSIS_THP_SYMPTOMS_H

#include "analysis/thp_facts.h"
#include "report/report.h"

enum thp_symptom_name {
	THP_COMPACTION, /* faults compact memory before they get a huge page */
	THP_RECLAIMING, /* memory is reclaimed for huge pages while enough is free */
	THP_BLOAT,      /* processes hold huge pages that they use only in part */
	THP_SYMPTOMS,
};

enum thp_seen { THP_NOT_SEEN, THP_SEEN, THP_UNTESTED };

struct thp_symptom {
	u8 seen;  /* enum thp_seen */
	s8 level; /* enum finding_level */
	const char *name, *title;
	const char *evidence[FINDING_LINES];
	const char *confidence;
	const char *why;
	u64 cost_ns;
	const char *setting, *now; /* "transparent_hugepage/defrag", "always" */
	const char *to;            /* what to set it to; NULL: no setting helps */
	const char *try_[FINDING_LINES], *undo[FINDING_LINES], *verify[FINDING_LINES];
};

/* setting: the `source` of settings in f, counter: that of /proc/vmstat. looked: events of that
 * kind could be seen (bloat: memory could be sampled). Texts are owned by r, or static. */
struct thp_test {
	const struct thp_facts *facts;
	u32 setting, counter;
	bool looked;
};

void thp_symptom_test(struct report *r, const struct thp_test *t, enum thp_symptom_name name,
	struct thp_symptom *ret);
/* Adds a finding for a symptom that is seen. */
void thp_symptom_tell(struct report *r, const char *rule, const struct thp_symptom *s);

#endif
