/*
 * Who reads what into the page cache, and who evicted what is read back: shared by the two files of
 * this rule.
 */
#ifndef MEMWHY_RULES_PAGE_CACHE_H
#define MEMWHY_RULES_PAGE_CACHE_H

#include "probes/cache/cache.h"
#include "rules/facts.h"

#define REFAULTS_RISK 250.0 /* a second: 1 MiB */
#define REFAULTS_WARNING 2500.0
#define PAIR_PART 0.3 /* of what a victim reads back: pushed out by this one */

struct reader {
	u64 read;     /* pages looked at, of both kinds */
	u64 written;  /* those of them that came by its writes */
	u64 refaults; /* those of them that were read back */
	u64 refault_ns;
	u64 cgroup;
	u32 processes; /* of a program that are taken together; else 0 */
};

struct pair {
	u32 victim, evictor; /* 0: kswapd */
	u32 call;            /* enum cache_call; 0: for room */
};

struct lost {
	u64 pages;
	u64 last_ns;
	u32 times; /* that it was so when the tables were read */
};

struct page_cache {
	struct rule_sums sums; /* tgid -> struct reader */
	struct groups pairs;   /* struct pair -> struct lost: read back */
	u64 read, refaults;
	u64 on_ns, covered_ns;
};

/* Pages a second that a number of samples stands for. */
static inline double page_cache_second(const struct page_cache *s, u64 samples)
{
	return (double)samples * CACHE_STRIDE * 1e9 / (double)MAX(s->on_ns, 1ULL);
}

/* In which call nobody needed room; NULL: in none. */
const char *page_cache_hand_text(u32 call);
/* Who reads how much, and how much of it again. */
void page_cache_tell_reads(struct report *r, struct finding *f, const struct page_cache *s,
	const char *who, const struct reader *p);
void page_cache_tell_cost(
	struct report *r, struct finding *f, const struct page_cache *s, const struct reader *p);
/* Tells of pages that went by hand. 1: those of this process were among them; or -ENOMEM. */
int page_cache_tell_by_hand(struct report *r, const struct page_cache *s, u32 victim);

#endif
