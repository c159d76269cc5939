/* See leak_cells.h. */
#include "probes/leak/leak_cells.h"

#include "base/units.h"

#define LIVES_MIN 20 /* freed objects that tell how long they usually live */

#define MIN_BYTES (256ULL << 10)
#define MIN_SECONDS 10.0
#define MIN_STAYED 0.8 /* of what was there after the first third */
#define DAY 86400.0

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
	c->first = cell_s64(j->thirds[0]);
	c->middle = cell_s64(j->thirds[1]);
	c->last = cell_s64(j->thirds[2]);
	c->slope = cell_f64(j->per_second);
	c->fit = cell_f64(j->fit);
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
	growth_fill(c, j, stayed);
	ages_fill(c, r, a);
}

bool leak_is_suspect(const struct leak_evidence *e, u64 least)
{
	return (s64)e->bytes >= (s64)MIN_BYTES && e->judged->seconds >= MIN_SECONDS &&
	       e->live >= least && e->stayed >= MIN_STAYED;
}

int leak_suspect_level(const struct report *r, const struct leak_judgement *j)
{
	u64 memory = r->stream->host.memory_bytes;

	return memory && (double)j->now * DAY > (double)memory ? LEVEL_WARNING : LEVEL_RISK;
}

void leak_tell_growth(struct report *r, struct finding *f, const struct leak_evidence *e)
{
	const struct leak_judgement *j = e->judged;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	finding_line(r, f->evidence, "%llu outstanding (%s) of %llu allocated in %.0f s", e->live,
		fmt_bytes(a, e->bytes), e->allocated, j->seconds);
	finding_line(r, f->evidence,
		"grew in each of %u parts of that time: by %s, %s and %s in its thirds", LEAK_PARTS,
		fmt_bytes(a, (u64)j->thirds[0]), fmt_bytes(b, (u64)j->thirds[1]),
		fmt_bytes(c, (u64)j->thirds[2]));
	finding_line(r, f->evidence, "of what was there after the first third, %.0f %% still is",
		100 * e->stayed);
}

void leak_tell_lives(struct report *r, struct finding *f, u64 freed, const struct durations *lives)
{
	char a[UNIT_BUF];

	if (lives->count)
		finding_line(r, f->evidence,
			"those that were freed (%llu) lived %s in the median (estimated)", freed,
			fmt_ns(a, hist_quantile(&lives->hist, 0.5, lives->max_ns)));
}

struct lines {
	struct report *r;
	struct finding *f;
	int n;
};

static void line_add(void *arg, const char *text)
{
	struct lines *l = arg;

	if (l->n++ < 3)
		finding_line(l->r, l->f->evidence, "%s%s", l->n == 1 ? "at " : "   from ", text);
}

void leak_tell_stack(struct report *r, struct finding *f, u32 stack)
{
	struct lines lines = {r, f, 0};

	stack_lines(r->stream, stack, false, line_add, &lines);
}
