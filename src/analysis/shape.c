/* See shape.h. */
#include "analysis/shape.h"

#include "base/util.h"

#define MIN_SAMPLES 8
#define LINE 0.9    /* R squared of a straight line */
#define NOISY_T 6.0 /* a slope so many times its standard error is none by chance, … */
#define EDGE_T 4.0  /* … nor this, where the lower edge climbs in each part of the time, … */
#define DRIFT_T 2.5 /* … and here it may still be chance */
#define SLOWED 0.35 /* the last part rises so little of the mean: it has stopped */

/* Of two of those kept the lower one stays. */
static void thin(struct shape *s)
{
	for (u32 i = 0; i < SHAPE_SAMPLES / 2; i++) {
		u32 at = 2 * i + (s->value[2 * i + 1] < s->value[2 * i]);

		s->time_ns[i] = s->time_ns[at];
		s->value[i] = s->value[at];
	}
	s->n = SHAPE_SAMPLES / 2;
	s->every *= 2;
}

void shape_add(struct shape *s, u64 time_ns, double value)
{
	trend_add(&s->trend, time_ns, value);
	if (!s->every)
		s->every = 1;
	if (s->skip) {
		s->skip--;
		return;
	}
	if (s->n == SHAPE_SAMPLES)
		thin(s);
	s->time_ns[s->n] = time_ns;
	s->value[s->n++] = value;
	s->skip = s->every - 1;
}

/* The lowest value of each part of the time. False: a part has none. */
static bool edge_of(const struct shape *s, double ret[SHAPE_PARTS])
{
	u64 first = s->time_ns[0], length = s->time_ns[s->n - 1] - first + 1;
	bool has[SHAPE_PARTS] = {};

	for (u32 i = 0; i < s->n; i++) {
		u32 part = (u32)((double)(s->time_ns[i] - first) / (double)length * SHAPE_PARTS);

		part = MIN(part, (u32)SHAPE_PARTS - 1);
		if (!has[part] || s->value[i] < ret[part])
			ret[part] = s->value[i];
		has[part] = true;
	}
	for (u32 i = 0; i < SHAPE_PARTS; i++)
		if (!has[i])
			return false;
	return true;
}

/* Is the slope of the line this many times its standard error? */
static bool slope_is(const struct trend *t, double times)
{
	double fit = trend_fit(t);

	return fit >= 1 || fit * (double)(t->n - 2) / (1 - fit) >= times * times;
}

/* Do the lowest values lie on a line? By chance five of them hardly do. */
static bool edge_is_line(const double edge[SHAPE_PARTS])
{
	struct trend t = {};

	for (u32 i = 0; i < SHAPE_PARTS; i++)
		trend_add(&t, (i + 1) * 1000000000ULL, edge[i]);
	return trend_fit(&t) >= LINE;
}

static enum shape_kind shape_kind_of(
	const struct shape *s, const double edge[SHAPE_PARTS], double mean)
{
	double last = edge[SHAPE_PARTS - 1] - edge[SHAPE_PARTS - 2];
	bool climbs = true, goes_on = last >= SLOWED * mean;

	for (u32 i = 1; i < SHAPE_PARTS; i++)
		climbs &= edge[i] - edge[i - 1] >= SLOWED * mean;
	if (climbs && slope_is(&s->trend, EDGE_T))
		return SHAPE_RISING;
	if (goes_on && (trend_fit(&s->trend) >= LINE || slope_is(&s->trend, NOISY_T)))
		return SHAPE_RISING;
	if (!goes_on && slope_is(&s->trend, NOISY_T))
		return SHAPE_FILLED;
	if (climbs && edge_is_line(edge))
		return SHAPE_DRIFTS;
	return goes_on && trend_slope(&s->trend) > 0 && slope_is(&s->trend, DRIFT_T) ? SHAPE_DRIFTS
										     : SHAPE_LEVEL;
}

enum shape_kind shape_judge(const struct shape *s, double *ret_rate)
{
	double edge[SHAPE_PARTS], mean, seconds;

	*ret_rate = 0;
	if (s->n < MIN_SAMPLES || !edge_of(s, edge))
		return SHAPE_UNKNOWN;
	seconds = (double)(s->time_ns[s->n - 1] - s->time_ns[0]) / 1e9;
	mean = (edge[SHAPE_PARTS - 1] - edge[0]) / (SHAPE_PARTS - 1);
	if (mean <= 0 || seconds <= 0)
		return SHAPE_LEVEL;
	*ret_rate = trend_fit(&s->trend) >= LINE ? trend_slope(&s->trend)
						 : mean * SHAPE_PARTS / seconds;
	return shape_kind_of(s, edge, mean);
}
