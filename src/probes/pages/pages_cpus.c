/* What CPUs do with their lists of free pages, and between which of them pages travel. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/pages/pages_tables.h"

static CELL_GET(locks_cell)
{
	const struct pages_cpu_sums *s = row->sums;
	double seconds = pages_cpus_seconds(row->view, r);

	return seconds > 0
		       ? cell_f64((double)(s->direct + s->refill_runs + s->drain_runs) / seconds)
		       : (struct cell){};
}

static CELL_GET(balance_cell)
{
	const struct pages_cpu_sums *s = row->sums;

	return cell_s64((s64)(s->refill_pages - s->drain_pages));
}

static CELL_GET(waits_cell)
{
	return stream_knows(r->stream, "pages", PAGES_WAITS) ? cell_of_u64(r, row, offset)
							     : (struct cell){};
}

#define PCP(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct pages_cpu_sums, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column pcp_columns[] = {
	{0, {"cpu", "CPU", CELL_U64, UNIT_ID, 0, "CPU"}, cell_of_key_u32, 0},
	PCP(allocations, "allocations", "ALLOCS", UNIT_COUNT, COL_WEIGHT,
		"allocations on this CPU"),
	PCP(frees, "frees", "FREES", UNIT_COUNT, 0, "frees on this CPU"),
	PCP(direct, "direct", "DIRECT", UNIT_COUNT, 0,
		"blocks taken from the buddy lists, past the CPU's list"),
	PCP(refill_runs, "refills", "REFILLS", UNIT_COUNT, 0,
		"times its list was refilled (runs of events)"),
	PCP(refill_pages, "refill_pages", "PAGES IN", UNIT_PAGES, 0, "pages these brought"),
	PCP(drain_runs, "drains", "DRAINS", UNIT_COUNT, 0,
		"times its list was drained (runs of events)"),
	PCP(drain_pages, "drain_pages", "PAGES OUT", UNIT_PAGES, 0, "pages these took"),
	CELL_BY(0, "locks_per_second", "LOCKS/s", CELL_F64, UNIT_COUNT, 0,
		"zone->lock taken by this CPU for these, at least", locks_cell),
	CELL_BY(0, "balance_pages", "IN - OUT", CELL_S64, UNIT_PAGES, 0,
		"above 0: this CPU takes pages that others give back", balance_cell),
	CELL_FROM(0, struct pages_cpu_sums, waits, "waits", "WAITS", CELL_U64, UNIT_COUNT, COL_WIDE,
		"times it waited for zone->lock behind another that waits (a lower bound)",
		waits_cell),
	CELL_FROM(0, struct pages_cpu_sums, wait_ns, "wait_ns", "WAITED", CELL_U64, UNIT_NS, 0,
		"how long these took together", waits_cell),
};

struct travel {
	u64 pages, crossed;
	const struct pages_pair *top; /* the pair of CPUs with most */
	u64 top_pages;
};

static CELL_GET(pair_bytes_cell)
{
	return cell_u64(*(const u64 *)row->sums * pages_page_bytes(r));
}

static CELL_GET(pair_ratio_cell)
{
	const struct travel *t = row->view;

	return cell_f64((double)*(const u64 *)row->sums / (double)MAX(t->pages, 1ULL));
}

static const struct cell_column pair_columns[] = {
	CELL_KEY(0, struct pages_pair, from, "drained_cpu", "DRAINED ON", UNIT_ID, 0,
		"CPU whose list the page was drained from last"),
	CELL_KEY(0, struct pages_pair, to, "refilled_cpu", "REFILLED ON", UNIT_ID, 0,
		"CPU whose list it then refilled"),
	{0,
		{"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WEIGHT,
			"pages (of those whose drain was seen and is remembered)"},
		cell_of_u64, 0},
	CELL_BY(0, "bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_WIDE, "and bytes", pair_bytes_cell),
	CELL_BY(0, "pages_ratio", "%", CELL_F64, UNIT_RATIO, 0, "share of all such pages",
		pair_ratio_cell),
};

const struct view_table pages_cpu_tables[] = {
	CELLS_VIEW("pcp", pcp_columns),
	CELLS_VIEW("imbalance", pair_columns),
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
		report_note(r, "%s is now %llu; a smaller number makes the lists larger, down to 8",
			name, p->lists.fraction);
	else if (name)
		report_note(r,
			"%s is now 0: the kernel sizes the lists; 8 makes them as large as "
			"possible (an eighth of each zone, over all CPUs), 0 undoes it",
			name);
}

int pages_cpus_report(const struct pages_cpus *p, struct report *r)
{
	static const struct cell_table pcp = {CELL_TABLE("pcp", "Lists of free pages of each CPU",
		"-cpu", "No CPU allocated or freed a page in scope.", pcp_columns)};
	static const struct cell_table pairs = {
		CELL_TABLE("imbalance", "Pages drained on one CPU and refilled on one", "pages",
			"No page was seen to be drained and refilled.", pair_columns)};
	struct travel travel = travel_of(p);
	char a[UNIT_BUF], b[UNIT_BUF];
	int rc = cells_report(r, &pcp, &p->cpus, p);

	if (p->sampled.bursts)
		report_note(r,
			"pages were counted in %llu bursts, %s in total, out of %s: the counts "
			"cover the bursts only",
			p->sampled.bursts, fmt_ns(a, p->sampled.on_ns),
			fmt_ns(b, p->sampled.covered_ns));
	if (!rc)
		rc = cells_report(r, &pairs, &p->pairs, &travel);
	if (!rc)
		travel_tell(p, r, &travel);
	return rc;
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
