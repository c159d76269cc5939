/* See page_lists.h. */
#include "rules/page_lists.h"

#include <errno.h>

#include "base/units.h"
#include "rules/facts.h"

#define LARGER 4       /* times, at each try */
#define FRACTION_MIN 8 /* the kernel takes no smaller one (mm/page_alloc.c) */

int page_lists_init(void *v, const struct view_options *o, struct err *err)
{
	struct page_lists *p = v;

	(void)o;
	(void)err;
	groups_init(&p->users, sizeof(u32), sizeof(struct page_user));
	groups_init(&p->cpus, sizeof(u32), sizeof(s64));
	groups_init(&p->pairs, sizeof(struct pages_pair), sizeof(u64));
	return 0;
}

static int user_feed(
	struct page_lists *p, const struct pages_who *who, u64 allocations, u64 locked, u64 frees)
{
	struct page_user *u;

	if (who->flags & PAGES_WHO_NAMED)
		return 0;
	u = groups_get(&p->users, &who->tgid);
	if (!u)
		return -ENOMEM;
	u->allocations += allocations;
	u->locked += locked;
	u->frees += frees;
	return 0;
}

static int cpu_feed(struct page_lists *p, const struct pages_pcp *r)
{
	s64 *balance = groups_get(&p->cpus, &r->cpu);

	if (!balance)
		return -ENOMEM;
	*balance = (s64)((u64)*balance + r->refill_pages - r->drain_pages);
	p->all.direct += r->direct;
	p->all.refill_runs += r->refill_runs;
	p->all.refill_pages += r->refill_pages;
	p->all.drain_runs += r->drain_runs;
	p->all.drain_pages += r->drain_pages;
	p->all.allocations += r->allocations;
	p->all.frees += r->frees;
	p->all.waits += r->waits;
	p->all.wait_ns += r->wait_ns;
	return 0;
}

static int pair_feed(struct page_lists *p, const struct pages_imbalance *r)
{
	struct pages_pair k = {.from = r->from, .to = r->to};
	u64 *pages = groups_get(&p->pairs, &k);

	if (!pages)
		return -ENOMEM;
	*pages += r->pages;
	return 0;
}

int page_lists_feed(void *v, const struct rec *r)
{
	struct page_lists *p = v;
	const struct pages_alloc *a = (const void *)r;
	const struct pages_free *f = (const void *)r;

	switch (r->kind) {
	case REC_PAGES_ALLOC:
		return user_feed(p, &a->who, a->count, a->direct + a->refilled, 0);
	case REC_PAGES_FREE:
		return user_feed(p, &f->who, 0, 0, f->count);
	case REC_PAGES_PCP:
		return cpu_feed(p, (const struct pages_pcp *)r);
	case REC_PAGES_IMBALANCE:
		return pair_feed(p, (const struct pages_imbalance *)r);
	case REC_PAGES_SAMPLED:
		pages_sampled_add(&p->sampled, (const struct pages_sampled *)r);
		return 0;
	case REC_PAGES_LISTS:
		p->lists = *(const struct pages_lists *)r;
	}
	return 0;
}

void page_lists_reset(void *v)
{
	struct page_lists *p = v;

	groups_clear(&p->users);
	groups_clear(&p->cpus);
	groups_clear(&p->pairs);
	p->sampled = (struct pages_sampled){};
	p->all = (struct pages_cpu_sums){};
}

void page_lists_destroy(void *v)
{
	struct page_lists *p = v;

	groups_free(&p->users);
	groups_free(&p->cpus);
	groups_free(&p->pairs);
}

double page_lists_seconds(const struct page_lists *p, const struct report *r)
{
	double s = (double)p->sampled.on_ns / 1e9;

	if (!p->sampled.bursts)
		return report_seconds(r);
	return s > 0.001 ? s : 0.001;
}

void page_lists_tell_sampled(const struct page_lists *p, struct report *r, struct finding *f)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	if (p->sampled.bursts)
		finding_line(r, f->evidence,
			"sampled: counted in %llu bursts, %s in all, scaled up to %s",
			p->sampled.bursts, fmt_ns(a, p->sampled.on_ns),
			fmt_ns(b, p->sampled.covered_ns));
}

const struct page_user *page_lists_most(const struct page_lists *p, size_t member, u32 *ret_tgid)
{
	const struct page_user *most = NULL;
	u64 best = 0;

	for (size_t i = 0; i < p->users.n; i++) {
		const char *u = groups_value(&p->users, i);
		u64 n = *(const u64 *)(u + member);

		if (n <= best)
			continue;
		best = n;
		most = (const void *)u;
		*ret_tgid = *(const u32 *)groups_key(&p->users, i);
	}
	return most;
}

/*
 * The fraction that makes the lists about LARGER times as large. vm.percpu_pagelist_high_fraction
 * divides each zone among all CPUs, the older vm.percpu_pagelist_fraction gives each CPU that part
 * of it. 0: they are as large as they get, or it is not known how large they are.
 */
static u64 fraction_next(const struct page_lists *p, const struct report *r)
{
	const struct rec_host *h = &r->stream->host;
	u64 pages = h->page_bytes ? h->memory_bytes / h->page_bytes : 0;
	u64 now = p->lists.high_pages, next;

	if (p->lists.flags & PAGES_OLD_FRACTION && h->cpus)
		now /= h->cpus;
	if (p->lists.fraction == FRACTION_MIN || !(p->lists.flags & PAGES_LIMITS) || !now ||
		now > pages)
		return 0;
	next = pages / now / LARGER;
	return MAX(next, (u64)FRACTION_MIN);
}

void page_lists_tell_larger(const struct page_lists *p, struct report *r, struct finding *f)
{
	const char *name = p->lists.flags & PAGES_HIGH_FRACTION ? "vm.percpu_pagelist_high_fraction"
			   : p->lists.flags & PAGES_OLD_FRACTION ? "vm.percpu_pagelist_fraction"
								 : NULL;
	u64 next = name ? fraction_next(p, r) : 0;

	if (!next || (p->lists.fraction && p->lists.fraction <= next))
		return;
	finding_line(r, f->try_, "Enlarge the per-CPU lists (%s is now %llu%s):", name,
		p->lists.fraction, p->lists.fraction ? "" : ": the kernel sizes them");
	finding_line(r, f->try_, "`sysctl -w %s=%llu`", name, next);
	finding_line(r, f->undo, "`sysctl -w %s=%llu`", name, p->lists.fraction);
}
