/* See leak_series.h. */
#include "probes/leak/leak_series.h"

#include "analysis/trend.h"
#include "base/util.h"

void leak_clock_begin(struct leak_clock *c, u64 time_ns)
{
	if (c->drains)
		return;
	c->begin_ns = c->last_ns = time_ns;
	c->per_span = 1;
}

static void clock_join(struct leak_clock *c)
{
	for (u32 i = 0; i < LEAK_SPANS / 2; i++)
		c->ends_ns[i] = c->ends_ns[2 * i + 1];
	c->n = LEAK_SPANS / 2;
	c->per_span *= 2;
}

bool leak_clock_drain(struct leak_clock *c, u64 time_ns)
{
	if (!c->begin_ns)
		leak_clock_begin(c, time_ns);
	if (time_ns <= c->last_ns)
		return false;
	c->drains++;
	c->last_ns = time_ns;
	if (++c->in_span < c->per_span)
		return false;
	c->in_span = 0;
	c->ends_ns[c->n++] = time_ns;
	if (c->n < LEAK_SPANS)
		return false;
	clock_join(c);
	return true;
}

void leak_clock_end(struct leak_clock *c, u64 time_ns)
{
	u32 last; /* the span that ended with the last drain */
	u64 from;

	if (!c->drains || (!c->in_span && !c->n))
		return;
	last = c->in_span ? c->n : c->n - 1;
	from = last ? c->ends_ns[last - 1] : c->begin_ns;
	if (time_ns >= c->last_ns || time_ns <= from)
		return;
	c->last_ns = time_ns;
	if (!c->in_span)
		c->ends_ns[last] = time_ns;
}

/* Records hold anything: sums wrap rather than overflow. */
static s64 plus(s64 a, s64 b)
{
	return (s64)((u64)a + (u64)b);
}

static s64 minus(s64 a, s64 b)
{
	return (s64)((u64)a - (u64)b);
}

static s64 whole(double v)
{
	return v > 9e18 ? (s64)9e18 : v < -9e18 ? (s64)-9e18 : (s64)v;
}

void leak_series_add(struct leak_series *s, const struct leak_clock *c, s64 bytes)
{
	s->net[c->n] = plus(s->net[c->n], bytes);
}

void leak_series_join(struct leak_series *s)
{
	for (u32 i = 0; i < LEAK_SPANS / 2; i++)
		s->net[i] = plus(s->net[2 * i], s->net[2 * i + 1]);
	for (u32 i = LEAK_SPANS / 2; i < LEAK_SPANS; i++)
		s->net[i] = 0;
}

/* The end of span i; the present one ends now. */
static u64 span_end(const struct leak_clock *c, u32 i)
{
	return i < c->n ? c->ends_ns[i] : c->last_ns;
}

s64 leak_series_at(const struct leak_series *s, const struct leak_clock *c, u64 time_ns)
{
	u64 from = c->begin_ns;
	s64 sum = 0;

	for (u32 i = 0; i <= c->n && i < LEAK_SPANS; i++) {
		u64 end = span_end(c, i);

		if (time_ns < end) {
			double part = end > from && time_ns > from
					      ? (double)(time_ns - from) / (double)(end - from)
					      : 0;

			return plus(sum, whole(part * (double)s->net[i]));
		}
		sum = plus(sum, s->net[i]);
		from = end;
	}
	return sum;
}

/* How far it fell from a height it had. */
static s64 deepest_fall(const struct leak_series *s, const struct leak_clock *c)
{
	s64 sum = 0, peak = 0, fall = 0;

	for (u32 i = 0; i <= c->n && i < LEAK_SPANS; i++) {
		sum = plus(sum, s->net[i]);
		peak = MAX(peak, sum);
		fall = MAX(fall, minus(peak, sum));
	}
	return fall;
}

static void trend_fill(
	const struct leak_series *s, const struct leak_clock *c, struct leak_judgement *j)
{
	struct trend t = {};
	s64 sum = 0;

	trend_add(&t, c->begin_ns, 0);
	for (u32 i = 0; i <= c->n && i < LEAK_SPANS; i++) {
		sum = plus(sum, s->net[i]);
		if (i < c->n || c->in_span)
			trend_add(&t, span_end(c, i), (double)sum);
	}
	j->per_second = trend_slope(&t);
	j->fit = trend_fit(&t);
}

static void growth_fill(
	const struct leak_series *s, const struct leak_clock *c, struct leak_judgement *j)
{
	u64 all = c->last_ns - c->begin_ns;
	s64 before = 0;

	for (u32 i = 0; i < LEAK_PARTS; i++) {
		s64 now = leak_series_at(s, c, c->begin_ns + all / LEAK_PARTS * (i + 1));
		s64 grown;

		if (i + 1 == LEAK_PARTS)
			now = leak_series_at(s, c, c->last_ns);
		grown = minus(now, before);
		j->parts[i] = grown;
		j->thirds[i * 3 / LEAK_PARTS] = plus(j->thirds[i * 3 / LEAK_PARTS], grown);
		before = now;
	}
	j->seconds = (double)all / 1e9;
	if (all)
		j->now = whole((double)j->thirds[2] / (j->seconds / 3));
}

/*
 * Did it grow in each part, at much the same rate? The first part does not count for the rate: what
 * comes and goes has its level built up in it. Nor is that much of what is there.
 */
static bool is_steady(const struct leak_judgement *j, s64 live)
{
	s64 least = j->parts[1], most = j->parts[1];

	for (u32 i = 1; i < LEAK_PARTS; i++) {
		least = MIN(least, j->parts[i]);
		most = MAX(most, j->parts[i]);
	}
	return j->parts[0] > 0 && least > 0 && least >= most / 4 &&
	       j->thirds[2] >= j->thirds[1] / 2 && minus(live, j->parts[0]) >= live / 10;
}

static enum leak_verdict shape(const struct leak_judgement *j, s64 live, s64 fall, bool churns)
{
	if (is_steady(j, live))
		return LEAK_STEADY;
	if (fall > live / 4)
		return LEAK_SWINGS;
	if (j->thirds[2] <= live / 10)
		return churns ? LEAK_CHURN : LEAK_FLAT;
	if (j->thirds[2] >= live - live / 10)
		return LEAK_LATE;
	if (j->thirds[2] < live / 6)
		return LEAK_SLOWS;
	return LEAK_UNEVEN;
}

void leak_judge(const struct leak_series *s, const struct leak_clock *c,
	const struct leak_counts *n, struct leak_judgement *ret)
{
	s64 live = leak_series_at(s, c, c->last_ns);

	*ret = (struct leak_judgement){};
	growth_fill(s, c, ret);
	trend_fill(s, c, ret);
	if (!n->live || live <= 0)
		ret->verdict = LEAK_GONE;
	else if (c->drains < LEAK_PARTS || c->last_ns - c->begin_ns < LEAK_SHORTEST_NS)
		ret->verdict = LEAK_SHORT;
	else if (n->live < LEAK_PARTS)
		ret->verdict = LEAK_FEW;
	else
		ret->verdict = shape(ret, live, deepest_fall(s, c), n->freed >= n->allocated / 2);
}

const char *leak_verdict_name(enum leak_verdict v)
{
	static const char *const names[LEAK_VERDICTS] = {
		[LEAK_SHORT] = "too short to tell",
		[LEAK_GONE] = "all freed",
		[LEAK_FEW] = "too few to tell",
		[LEAK_SWINGS] = "rises and falls",
		[LEAK_STEADY] = "grows steadily",
		[LEAK_FLAT] = "filled early, flat since",
		[LEAK_CHURN] = "comes and goes",
		[LEAK_SLOWS] = "grows ever slower",
		[LEAK_LATE] = "came at the end",
		[LEAK_UNEVEN] = "grows unevenly",
		[LEAK_RENEWED] = "grows, but old ones go",
		[LEAK_CONTRADICTED] = "grows, but its cache does not",
		[LEAK_SLABS] = "slabs of the objects shown",
		[LEAK_ONCE] = "one-time: came early, stays",
	};

	return v < LEAK_VERDICTS ? names[v] : "";
}
