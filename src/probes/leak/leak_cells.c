/* See leak_cells.h. */
#include "probes/leak/leak_cells.h"

#define LIVES_MIN 20 /* freed objects that tell how long they usually live */

/* The share of a histogram above a value, evenly within its slot. */
static double share_above(const struct hist *h, u64 value)
{
	double above = 0, all = (double)hist_count(h);

	for (u32 i = 1; i < HIST_N; i++) {
		double low = (double)(1ULL << (i - 1)), v = (double)value;

		if (v <= low)
			above += (double)h->slots[i];
		else if (v < 2 * low)
			above += (double)h->slots[i] * (2 * low - v) / low;
	}
	return all > 0 ? above / all : 0;
}

static void growth_fill(struct leak_cells *c, const struct leak_judgement *j, double stayed)
{
	c->verdict = cell_text(leak_verdict_name(j->verdict));
	if (stayed >= 0)
		c->stayed = cell_f64(stayed);
	if (j->verdict == LEAK_SHORT || j->verdict == LEAK_SLABS)
		return;
	c->now = cell_s64(j->now);
	for (u32 i = 0; i < 3; i++)
		c->trend[i] = cell_s64(j->thirds[i]);
	c->trend[3] = cell_f64(j->per_second);
	c->trend[4] = cell_f64(j->fit);
}

static void ages_fill(struct leak_cells *c, struct report *r, const struct leak_ages *a)
{
	const struct hist *lives = &a->lives->hist;
	u64 n = hist_count(lives), max = a->lives->max_ns;

	if (hist_count(a->ages)) {
		c->old = cell_u64(a->old);
		c->age_p50 = cell_u64(hist_quantile(a->ages, 0.5, a->oldest_ns));
		c->age_max = cell_u64(a->oldest_ns);
		c->ages = hist_to_cell(r, a->ages);
	}
	if (!n)
		return;
	c->life_p50 = cell_u64(hist_quantile(lives, 0.5, max));
	c->life_p99 = cell_u64(hist_quantile(lives, 0.99, max));
	c->life_max = cell_u64(max);
	c->lives = hist_to_cell(r, lives);
	if (n >= LIVES_MIN && hist_count(a->ages))
		c->outlived = cell_f64(share_above(a->ages, hist_quantile(lives, 0.99, max)));
}

void leak_cells_fill(struct leak_cells *c, struct report *r, const struct leak_judgement *j,
	double stayed, const struct leak_ages *a)
{
	*c = (struct leak_cells){};
	if (j)
		growth_fill(c, j, stayed);
	ages_fill(c, r, a);
}

CELL_GET(leak_cell)
{
	return *(const struct cell *)((const char *)row->view + offset);
}

CELL_GET(leak_live_cell)
{
	return leak_live_of(*(const u64 *)((const char *)row->sums + offset));
}
