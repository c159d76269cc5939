/* What CPUs do with their lists of free pages, and between which of them pages travel. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/pages/pages_tables.h"

enum {
	P_CPU,
	P_ALLOCS,
	P_FREES,
	P_DIRECT,
	P_REFILLS,
	P_REFILL_PAGES,
	P_DRAINS,
	P_DRAIN_PAGES,
	P_LOCKS,
	P_BALANCE,
	P_WAITS,
	P_WAIT,
	P_N,
};

static const struct column pcp_columns[P_N] = {
	[P_CPU] = {"cpu", "CPU", CELL_U64, UNIT_ID, 0, "CPU"},
	[P_ALLOCS] = {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"allocations on this CPU"},
	[P_FREES] = {"frees", "FREES", CELL_U64, UNIT_COUNT, 0, "frees on this CPU"},
	[P_DIRECT] = {"direct", "DIRECT", CELL_U64, UNIT_COUNT, 0,
		"blocks taken from the buddy lists, past the CPU's list"},
	[P_REFILLS] = {"refills", "REFILLS", CELL_U64, UNIT_COUNT, 0,
		"times its list was refilled (runs of events)"},
	[P_REFILL_PAGES] = {"refill_pages", "PAGES IN", CELL_U64, UNIT_PAGES, 0,
		"pages these brought"},
	[P_DRAINS] = {"drains", "DRAINS", CELL_U64, UNIT_COUNT, 0,
		"times its list was drained (runs of events)"},
	[P_DRAIN_PAGES] = {"drain_pages", "PAGES OUT", CELL_U64, UNIT_PAGES, 0, "pages these took"},
	[P_LOCKS] = {"locks_per_second", "LOCKS/s", CELL_F64, UNIT_COUNT, 0,
		"zone->lock taken by this CPU for these, at least"},
	[P_BALANCE] = {"balance_pages", "IN - OUT", CELL_S64, UNIT_PAGES, 0,
		"above 0: this CPU takes pages that others give back"},
	[P_WAITS] = {"waits", "WAITS", CELL_U64, UNIT_COUNT, COL_WIDE,
		"times it waited for zone->lock behind another that waits (a lower bound)"},
	[P_WAIT] = {"wait_ns", "WAITED", CELL_U64, UNIT_NS, 0, "how long these took together"},
};

enum { I_FROM, I_TO, I_PAGES, I_BYTES, I_RATIO, I_N };

static const struct column pair_columns[I_N] = {
	[I_FROM] = {"drained_cpu", "DRAINED ON", CELL_U64, UNIT_ID, 0,
		"CPU whose list the page was drained from last"},
	[I_TO] = {"refilled_cpu", "REFILLED ON", CELL_U64, UNIT_ID, 0,
		"CPU whose list it then refilled"},
	[I_PAGES] = {"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WEIGHT,
		"pages (of those whose drain was seen and is remembered)"},
	[I_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_WIDE, "and bytes"},
	[I_RATIO] = {"pages_ratio", "%", CELL_F64, UNIT_RATIO, 0, "share of all such pages"},
};

const struct view_table pages_cpu_tables[] = {
	{"pcp", pcp_columns, P_N, sizeof(pcp_columns[0])},
	{"imbalance", pair_columns, I_N, sizeof(pair_columns[0])},
	{},
};

void pages_cpus_init(struct pages_cpus *p)
{
	groups_init(&p->cpus, sizeof(u32), sizeof(struct pages_cpu_sums));
	groups_init(&p->pairs, sizeof(struct pages_pair), sizeof(u64));
}

static int pcp_feed(struct pages_cpus *p, const struct pages_pcp *r)
{
	struct pages_cpu_sums *s = groups_get(&p->cpus, &r->cpu);

	if (!s)
		return -ENOMEM;
	s->direct += r->direct;
	s->refill_runs += r->refill_runs;
	s->refill_pages += r->refill_pages;
	s->drain_runs += r->drain_runs;
	s->drain_pages += r->drain_pages;
	s->allocations += r->allocations;
	s->frees += r->frees;
	s->waits += r->waits;
	s->wait_ns += r->wait_ns;
	return 0;
}

static int pair_feed(struct pages_cpus *p, const struct pages_imbalance *r)
{
	struct pages_pair k = {.from = r->from, .to = r->to};
	u64 *pages = groups_get(&p->pairs, &k);

	if (!pages)
		return -ENOMEM;
	*pages += r->pages;
	return 0;
}

int pages_cpus_feed(struct pages_cpus *p, const struct rec *r)
{
	if (r->kind == REC_PAGES_PCP)
		return pcp_feed(p, (const struct pages_pcp *)r);
	if (r->kind == REC_PAGES_IMBALANCE)
		return pair_feed(p, (const struct pages_imbalance *)r);
	if (r->kind == REC_PAGES_LISTS)
		p->lists = *(const struct pages_lists *)r;
	if (r->kind == REC_PAGES_SAMPLED)
		pages_sampled_add(&p->sampled, (const struct pages_sampled *)r);
	return 0;
}

double pages_cpus_seconds(const struct pages_cpus *p, const struct report *r)
{
	u64 ns = p->sampled.bursts ? p->sampled.on_ns : stream_interval_ns(r->stream);

	return (double)ns / 1e9;
}

static int pcp_report(const struct pages_cpus *p, struct report *r)
{
	struct table *t =
		report_table(r, "pcp", "Lists of free pages of each CPU", pcp_columns, P_N);
	bool waits = stream_knows(r->stream, "pages", PAGES_WAITS);
	double seconds = pages_cpus_seconds(p, r);

	if (!t)
		return -ENOMEM;
	t->sort = "-cpu";
	t->empty = "No CPU allocated or freed a page in scope.";
	for (size_t i = 0; i < p->cpus.n; i++) {
		const struct pages_cpu_sums *s = groups_value(&p->cpus, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[P_CPU] = cell_u64(*(const u32 *)groups_key(&p->cpus, i));
		row[P_ALLOCS] = cell_u64(s->allocations);
		row[P_FREES] = cell_u64(s->frees);
		row[P_DIRECT] = cell_u64(s->direct);
		row[P_REFILLS] = cell_u64(s->refill_runs);
		row[P_REFILL_PAGES] = cell_u64(s->refill_pages);
		row[P_DRAINS] = cell_u64(s->drain_runs);
		row[P_DRAIN_PAGES] = cell_u64(s->drain_pages);
		if (seconds > 0)
			row[P_LOCKS] = cell_f64(
				(double)(s->direct + s->refill_runs + s->drain_runs) / seconds);
		row[P_BALANCE] = cell_s64((s64)(s->refill_pages - s->drain_pages));
		if (waits) {
			row[P_WAITS] = cell_u64(s->waits);
			row[P_WAIT] = cell_u64(s->wait_ns);
		}
	}
	return 0;
}

struct travel {
	u64 pages, crossed;
	const struct pages_pair *top; /* the pair of CPUs with most */
	u64 top_pages;
};

static struct travel travel_of(const struct pages_cpus *p)
{
	struct travel t = {};

	for (size_t i = 0; i < p->pairs.n; i++) {
		const struct pages_pair *k = groups_key(&p->pairs, i);
		u64 pages = *(u64 *)groups_value(&p->pairs, i);

		t.pages += pages;
		if (k->from == k->to)
			continue;
		t.crossed += pages;
		if (pages <= t.top_pages)
			continue;
		t.top_pages = pages;
		t.top = k;
	}
	return t;
}

#define HINT_PAGES_PER_SECOND 1000
#define HINT_SHARE 0.25

static const char *fraction_name(u32 flags)
{
	return flags & PAGES_HIGH_FRACTION  ? "vm.percpu_pagelist_high_fraction"
	       : flags & PAGES_OLD_FRACTION ? "vm.percpu_pagelist_fraction"
					    : NULL;
}

/* What a user can do about pages that travel between CPUs, where they do. */
static void travel_tell(const struct pages_cpus *p, struct report *r, const struct travel *t)
{
	double seconds = pages_cpus_seconds(p, r);
	const char *name = fraction_name(p->lists.flags);

	if (!t->top || (double)t->crossed < HINT_PAGES_PER_SECOND * seconds ||
		(double)t->crossed < HINT_SHARE * (double)t->pages)
		return;
	report_note(r,
		"%.0f %% of the refilled pages had been drained by another CPU, most from CPU %u "
		"to CPU %u: free pages on the CPU that allocates them, or make the lists larger",
		100.0 * (double)t->crossed / (double)t->pages, t->top->from, t->top->to);
	if (name && p->lists.fraction)
		report_note(r, "%s is %llu now; a smaller number makes the lists larger, 8 at most",
			name, p->lists.fraction);
	else if (name)
		report_note(r,
			"%s is 0 now: the kernel sizes the lists; 8 makes them as large as they "
			"get (an eighth of each zone, over all CPUs), 0 undoes it",
			name);
}

static int pair_report(const struct pages_cpus *p, struct report *r)
{
	struct table *t = report_table(
		r, "imbalance", "Pages drained on one CPU and refilled on one", pair_columns, I_N);
	struct travel travel = travel_of(p);

	if (!t)
		return -ENOMEM;
	t->sort = "pages";
	t->empty = "No page was seen to be drained and refilled.";
	for (size_t i = 0; i < p->pairs.n; i++) {
		const struct pages_pair *k = groups_key(&p->pairs, i);
		u64 pages = *(u64 *)groups_value(&p->pairs, i);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[I_FROM] = cell_u64(k->from);
		row[I_TO] = cell_u64(k->to);
		row[I_PAGES] = cell_u64(pages);
		row[I_BYTES] = cell_u64(pages * pages_page_bytes(r));
		row[I_RATIO] = cell_f64((double)pages / (double)MAX(travel.pages, 1ULL));
	}
	travel_tell(p, r, &travel);
	return 0;
}

int pages_cpus_report(const struct pages_cpus *p, struct report *r)
{
	char a[UNIT_BUF], b[UNIT_BUF];
	int rc = pcp_report(p, r);

	if (p->sampled.bursts)
		report_note(r,
			"pages were counted in %llu bursts of together %s, in the place of %s: "
			"that is what the counts are of",
			p->sampled.bursts, fmt_ns(a, p->sampled.on_ns),
			fmt_ns(b, p->sampled.covered_ns));
	return rc ? rc : pair_report(p, r);
}

void pages_cpus_clear(struct pages_cpus *p)
{
	groups_clear(&p->cpus);
	groups_clear(&p->pairs);
	p->sampled = (struct pages_sampled){};
}

void pages_cpus_free(struct pages_cpus *p)
{
	groups_free(&p->cpus);
	groups_free(&p->pairs);
}
