/*
 * Pages that are freed on one CPU and allocated on another: they travel through the lists of the
 * zone, under its lock, and their cache lines with them.
 */
#include <stddef.h>

#include "base/units.h"
#include "rules/facts.h"
#include "rules/page_lists.h"
#include "rules/rules.h"

#define MIN_RUNS 4        /* refills, and drains, seen: thousands of pages can be one */
#define MIN_PAGES 500     /* seen */
#define PAGES_NOTE 5000.0 /* a second: 20 MB/s */
#define MIN_SHARE 0.25    /* of the pages that came back from the zone's lists */

struct travel {
	u64 pages, crossed, top_pages;
	struct pages_pair top;
};

static struct travel travel_of(const struct page_lists *p)
{
	struct travel t = {};

	for (size_t i = 0; i < p->pairs.n; i++) {
		const struct pages_pair *k = groups_key(&p->pairs, i);
		u64 pages = *(const u64 *)groups_value(&p->pairs, i);

		t.pages += pages;
		if (k->from == k->to)
			continue;
		t.crossed += pages;
		if (pages <= t.top_pages)
			continue;
		t.top_pages = pages;
		t.top = *k;
	}
	return t;
}

static void tell_balance(
	const struct page_lists *p, struct report *r, struct finding *f, const struct pages_pair *k)
{
	const s64 *from = groups_find(&p->cpus, &k->from), *to = groups_find(&p->cpus, &k->to);
	double seconds = page_lists_seconds(p, r);

	if (from && to && *from < 0 && *to > 0)
		finding_line(r, f->evidence,
			"CPU %u freed %.0f pages a second more than it allocated, CPU %u allocated "
			"%.0f more than it freed",
			k->from, (double)-*from / seconds, k->to, (double)*to / seconds);
}

static void tell_users(const struct page_lists *p, struct report *r, struct finding *f)
{
	u32 allocates = 0, frees = 0;

	if (!page_lists_most(p, offsetof(struct page_user, allocations), &allocates) ||
		!page_lists_most(p, offsetof(struct page_user, frees), &frees))
		return;
	finding_line(r, f->evidence,
		"%s (pid %u) allocates the most pages, %s (pid %u) frees the most",
		stream_comm(r->stream, allocates, 0), allocates, stream_comm(r->stream, frees, 0),
		frees);
}

static int pcp_imbalance_rule_report(void *v, struct report *r)
{
	const struct page_lists *p = v;
	struct travel t = travel_of(p);
	double rate = (double)t.crossed / page_lists_seconds(p, r);
	struct finding *f;

	if (p->all.refill_runs < MIN_RUNS || p->all.drain_runs < MIN_RUNS)
		return 0;
	if (t.crossed < MIN_PAGES || rate < PAGES_NOTE ||
		(double)t.crossed < MIN_SHARE * (double)t.pages)
		return 0;
	/* As any pipe between two CPUs has it: what hurts are waits for the lock, told by another
	 * rule. */
	f = report_finding(r, LEVEL_NOTE, "pcp-imbalance");
	if (!f)
		return 0;
	f->title = report_text(r,
		"Pages are freed on one CPU and allocated on another: %.0f a second, most from CPU "
		"%u to CPU %u",
		rate, t.top.from, t.top.to);
	f->confidence =
		"medium: the pages were tracked from list to list; what it costs is not known";
	finding_line(r, f->evidence,
		"%.0f %% of the pages that came back from the zone had been drained by another "
		"CPU; %.0f %% of these from CPU %u to CPU %u",
		100.0 * (double)t.crossed / (double)t.pages,
		100.0 * (double)t.top_pages / (double)t.crossed, t.top.from, t.top.to);
	finding_line(r, f->evidence, "seen: %llu refills of %llu pages and %llu drains of %llu",
		p->all.refill_runs, p->all.refill_pages, p->all.drain_runs, p->all.drain_pages);
	tell_balance(p, r, f, &t.top);
	tell_users(p, r, f);
	page_lists_tell_sampled(p, r, f);
	f->why = "The freeing CPU's list overflows and is drained, the allocating CPU's runs empty "
		 "and is refilled: each time under zone->lock, and the pages are in the wrong "
		 "CPU's caches.";
	finding_line(r, f->try_,
		"Free pages on the CPU that allocates them: keep both ends of the work on one CPU "
		"or on CPUs that share a cache (taskset(1)), or reuse buffers.");
	page_lists_tell_larger(p, r, f);
	if (!f->undo[0])
		finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy pages --for 10s --table imbalance`");
	return 0;
}

const struct view rule_pcp_imbalance = PAGE_LISTS_RULE(pcp_imbalance_rule_report);
