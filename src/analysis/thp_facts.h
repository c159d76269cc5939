/*
 * What is known of transparent huge pages in an interval: settings, the kernel's counters, time
 * lost to compaction and reclaim, waste. Fed by the view of `thp` and by the rule of `check` alike;
 * knows no record.
 */
#ifndef MEMWHY_ANALYSIS_THP_FACTS_H
#define MEMWHY_ANALYSIS_THP_FACTS_H

#include "base/groups.h"
#include "base/types.h"
#include "event/meta.h"

#define THP_FACT_NAME 48
#define THP_FACT_TEXT 24

struct thp_fact_key {
	u32 source; /* as the caller has it: names are unique within one */
	char name[THP_FACT_NAME];
};

struct thp_fact {
	u64 first, last;
	char text[THP_FACT_TEXT];
};

/* Work for huge pages that somebody waits for, or kswapd does. */
struct thp_load {
	u64 count, ns, max_ns;
	u64 compared;        /* of these, with a free memory that is known */
	u64 above, above_ns; /* begun with free memory above the high watermarks */
};

enum thp_work_what { THP_WORK_NONE, THP_WORK_COMPACT, THP_WORK_RECLAIM, THP_WORK_KSWAPD };

/* What was done for huge pages since it was said last. */
struct thp_work {
	u8 what;       /* enum thp_work_what */
	bool waits;    /* by a task that waits for it, not by khugepaged */
	bool compared; /* `above` is known */
	u32 tgid;
	u64 count, ns, max_ns;
	u64 above, above_ns;
};

/* The last that was said of a process. */
struct thp_usage {
	u64 start_ns;
	u64 rss_bytes, anon_huge_bytes, shmem_huge_bytes, file_huge_bytes;
	u64 waste_bytes, error_bytes;
	u64 cgroup;
	u32 sampled, candidates;
	u32 untouched; /* of sampled: all zero */
	u32 exact;
	bool over; /* it has ended */
	char comm[COMM_LEN];
};

struct thp_facts {
	struct groups values;     /* struct thp_fact_key -> struct thp_fact */
	struct groups payers;     /* tgid -> ns lost to compaction */
	struct groups reclaimers; /* tgid -> ns lost to reclaim while memory was free */
	struct groups usages;     /* tgid -> struct thp_usage */
	struct thp_load compact, reclaim, kswapd;
	u64 samples, samples_above; /* of free memory, and those above the high watermarks */
	u64 free_min, high, total;  /* pages; 0: not known */
};

void thp_facts_init(struct thp_facts *f);
void thp_facts_free(struct thp_facts *f);
/* The next interval begins: what was last is first, sums are 0; usages stay, but of those that have
 * ended. */
void thp_facts_reset(struct thp_facts *f);

/* name and text need not end with a NUL within their size. */
int thp_facts_value(struct thp_facts *f, u32 source, const char *name, u64 value, const char *text);
/* Free memory and the sum of high watermarks, each in pages. */
void thp_facts_memory(struct thp_facts *f, const char *name, u64 pages);
int thp_facts_work(struct thp_facts *f, const struct thp_work *w);
int thp_facts_usage(struct thp_facts *f, u32 tgid, const struct thp_usage *u);
/* A REC_TASK: that of a process that has ended goes with the interval. */
void thp_facts_task(struct thp_facts *f, const struct rec *r);

/* NULL when it was never sent. */
const struct thp_fact *thp_facts_find(const struct thp_facts *f, u32 source, const char *name);
u64 thp_facts_delta(const struct thp_facts *f, u32 source, const char *name);

#endif
