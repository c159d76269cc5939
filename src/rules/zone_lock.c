/*
 * CPUs that take the lock of a zone for much of what they allocate, and wait for each other there.
 * The waits, where they are known, decide on the level; how often it is taken alone is no trouble
 * yet.
 */
#include <stddef.h>

#include "base/units.h"
#include "rules/facts.h"
#include "rules/page_lists.h"
#include "rules/rules.h"

#define MIN_ALLOCATIONS 2000 /* seen: fewer say little */
#define MANY 50000.0         /* locks a second */
#define MANY_OF 10000.0      /* the same, where they are MIN_SHARE of the allocations */
#define MIN_SHARE 0.1
#define MIN_WAITS 100 /* seen */

struct locks {
	double per_second, share, waited; /* of the allocations; of the time of all CPUs */
	u64 all;
};

static struct locks locks_of(const struct page_lists *p, const struct report *r)
{
	const struct pages_cpu_sums *n = &p->all;
	double seconds = page_lists_seconds(p, r);
	u32 cpus = MAX(r->stream->host.cpus, 1U);
	u64 locked = 0;

	for (size_t i = 0; i < p->users.n; i++)
		locked += ((const struct page_user *)groups_value(&p->users, i))->locked;
	return (struct locks){
		.all = n->direct + n->refill_runs + n->drain_runs,
		.per_second = (double)(n->direct + n->refill_runs + n->drain_runs) / seconds,
		.share = n->allocations ? (double)locked / (double)n->allocations : 0,
		.waited = (double)n->wait_ns / 1e9 / seconds / cpus,
	};
}

static int zone_lock_level_of(const struct page_lists *p, const struct locks *l)
{
	int waited = p->all.waits >= MIN_WAITS ? share_level(l->waited, 0.01, 0.05, 0.25) : -1;

	if (waited >= 0)
		return waited;
	return l->per_second >= MANY || (l->per_second >= MANY_OF && l->share >= MIN_SHARE)
		       ? LEVEL_NOTE
		       : -1;
}

static void zone_lock_tell(
	const struct page_lists *p, struct report *r, struct finding *f, const struct locks *l)
{
	const struct pages_cpu_sums *n = &p->all;
	double seconds = page_lists_seconds(p, r);
	const struct page_user *u;
	char a[UNIT_BUF];
	u32 tgid = 0;

	finding_line(r, f->evidence,
		"a second: %.0f refills of %.0f pages and %.0f drains of %.0f pages of the lists "
		"of CPUs, %.0f blocks past them",
		(double)n->refill_runs / seconds,
		(double)n->refill_pages / (double)MAX(n->refill_runs, 1ULL),
		(double)n->drain_runs / seconds,
		(double)n->drain_pages / (double)MAX(n->drain_runs, 1ULL),
		(double)n->direct / seconds);
	finding_line(r, f->evidence, "%.1f %% of %.0f allocations a second took the lock",
		100.0 * l->share, (double)n->allocations / seconds);
	if (n->waits)
		finding_line(r, f->evidence,
			"CPUs waited for it %.0f times a second, %s each: %.1f %% of all their "
			"time, at least",
			(double)n->waits / seconds, fmt_ns(a, n->wait_ns / n->waits),
			100.0 * l->waited);
	u = page_lists_most(p, offsetof(struct page_user, locked), &tgid);
	if (u)
		finding_line(r, f->evidence, "most of it for %s (pid %u): %.0f %%",
			stream_comm(r->stream, tgid, 0), tgid,
			100.0 * (double)u->locked /
				(double)MAX(1ULL, (u64)(l->share * (double)n->allocations + 0.5)));
	page_lists_tell_sampled(p, r, f);
}

static const char *zone_lock_confidence(const struct page_lists *p, const struct report *r)
{
	if (p->all.waits >= MIN_WAITS)
		return "high: the waits were timed; those of the first waiter are not seen";
	if (stream_knows(r->stream, "pages", PAGES_WAITS))
		return "low: it is taken often, but no CPU was seen waiting behind another waiter";
	return "low: it is taken often; whether CPUs wait for each other is not known here (needs "
	       "lock:contention_begin, Linux 5.19)";
}

static int zone_lock_rule_report(void *v, struct report *r)
{
	const struct page_lists *p = v;
	struct locks l = locks_of(p, r);
	int level = zone_lock_level_of(p, &l);
	double covered =
		(double)(p->sampled.bursts ? p->sampled.covered_ns : stream_interval_ns(r->stream));
	struct finding *f;

	if (p->all.allocations < MIN_ALLOCATIONS || level < 0)
		return 0;
	f = report_finding(r, level, "zone-lock");
	if (!f)
		return 0;
	f->title =
		p->all.waits >= MIN_WAITS
			? report_text(r, "CPUs wait for the lock of a zone: %.1f %% of their time",
				  100.0 * l.waited)
			: report_text(r, "The locks of zones are taken %.0f times a second",
				  l.per_second);
	f->confidence = zone_lock_confidence(p, r);
	zone_lock_tell(p, r, f, &l);
	f->why = "A CPU allocates from its own list. When that is empty, full, or has no block of "
		 "that size, it takes the lock of the whole zone, with interrupts off, and other "
		 "CPUs that do the same wait.";
	if (p->all.direct > p->all.refill_runs + p->all.drain_runs)
		finding_line(r, f->try_,
			"Most are single blocks that the lists do not keep: find who allocates "
			"them, `memwhy pages --by process,order --sort locked --for 10s`");
	else
		page_lists_tell_larger(p, r, f);
	finding_line(r, f->try_,
		"Find the code paths: `memwhy pages --stacks=kernel --sort locked --for 10s`");
	if (!f->undo[0])
		finding_line(r, f->undo, "Nothing to undo.");
	if (p->all.waits >= MIN_WAITS)
		f->cost_ns = (u64)(l.waited * MAX(r->stream->host.cpus, 1U) * covered);
	finding_line(r, f->verify, "`memwhy pages --for 10s --table pcp`");
	return 0;
}

const struct view rule_zone_lock = PAGE_LISTS_RULE(zone_lock_rule_report);
