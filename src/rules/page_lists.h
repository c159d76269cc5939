/*
 * What the rules on the free lists of CPUs have in common: what was counted and for how long, how
 * large the lists are, and what to try where they are too small. Knows no finding.
 */
#ifndef MEMWHY_RULES_PAGE_LISTS_H
#define MEMWHY_RULES_PAGE_LISTS_H

#include "base/groups.h"
#include "probes/pages/pages.h"
#include "report/view.h"

/* What a process did with pages. */
struct page_user {
	u64 allocations, locked, frees;
};

struct page_lists {
	struct pages_sampled sampled;
	struct pages_lists lists;  /* h.size 0: not known */
	struct pages_cpu_sums all; /* over all CPUs */
	struct groups users;       /* tgid -> struct page_user; not those known by name only */
	struct groups cpus;        /* CPU -> s64: pages refilled less those drained */
	struct groups pairs;       /* struct pages_pair -> u64 pages */
};

int page_lists_init(void *v, const struct view_options *o, struct err *err);
int page_lists_feed(void *v, const struct rec *r);
void page_lists_reset(void *v);
void page_lists_destroy(void *v);

/* How long events were counted; never 0. */
double page_lists_seconds(const struct page_lists *p, const struct report *r);
/* Which bursts the numbers are from, where there were any. */
void page_lists_tell_sampled(const struct page_lists *p, struct report *r, struct finding *f);
/* What to try, undo and verify for lists that are too small for the work. */
void page_lists_tell_larger(const struct page_lists *p, struct report *r, struct finding *f);
/* The process with most of a member of struct page_user (its offset); NULL: there is none. */
const struct page_user *page_lists_most(const struct page_lists *p, size_t member, u32 *ret_tgid);

#define PAGE_LISTS_RULE(report_)                                                         \
	{                                                                                \
		.size = sizeof(struct page_lists), .init = page_lists_init,              \
		.feed = page_lists_feed, .report = (report_), .reset = page_lists_reset, \
		.destroy = page_lists_destroy,                                           \
	}

#endif
