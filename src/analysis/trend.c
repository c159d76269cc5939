/* See trend.h. */
#include "analysis/trend.h"

void trend_add(struct trend *t, u64 time_ns, double value)
{
	double x, y;

	if (!t->n) {
		t->first_ns = time_ns;
		t->first = value;
	}
	x = (double)(time_ns - t->first_ns) / 1e9;
	y = value - t->first;
	t->n++;
	t->last_ns = time_ns;
	t->last = value;
	t->t += x;
	t->v += y;
	t->tt += x * x;
	t->tv += x * y;
	t->vv += y * y;
}

double trend_slope(const struct trend *t)
{
	double n = (double)t->n, d = n * t->tt - t->t * t->t;

	return t->n < 2 || d <= 0 ? 0 : (n * t->tv - t->t * t->v) / d;
}

double trend_fit(const struct trend *t)
{
	double n = (double)t->n;
	double x = n * t->tt - t->t * t->t, y = n * t->vv - t->v * t->v,
	       xy = n * t->tv - t->t * t->v;

	return x <= 0 || y <= 0 ? 0 : xy * xy / (x * y);
}
