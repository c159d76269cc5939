/* See welch.h. */
#include "base/welch.h"

#include <math.h>

#include "base/util.h"

#define TERMS 300 /* far more than are needed at these arguments */
#define TINY 1e-300
#define EXACT 1e-15
#define STIRLING 16
#define LOG_ROOT_2PI 0.91893853320467274178

void sample_add(struct sample *s, long double value)
{
	long double from = value - s->mean;

	s->mean += from / ++s->n;
	s->squares += from * (value - s->mean);
}

long double sample_variance(const struct sample *s)
{
	return s->n > 1 ? s->squares / (s->n - 1) : 0;
}

/* ln(Gamma(x)) for x > 0: Stirling's series, from where what follows is below 1e-14 (6.1.41 and
 * 6.1.15 there). libm's would bring sines along, for x < 0. */
static double log_gamma(double x)
{
	double low = 1, y;

	while (x < STIRLING)
		low *= x++;
	y = 1 / (x * x);
	return (x - 0.5) * log(x) - x + LOG_ROOT_2PI - log(low) +
	       (1. / 12 - y * (1. / 360 - y * (1. / 1260 - y / 1680))) / x;
}

static double away_from_0(double v)
{
	return fabs(v) < TINY ? TINY : v;
}

/*
 * The continued fraction of the incomplete beta function I_x(a, b), without the factor in front of
 * it (Abramowitz and Stegun, 26.5.8), by Lentz's method. It is fast where x < (a + 1) / (a + b +
 * 2).
 */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), sum = d;

	for (int m = 1; m < TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / away_from_0(1 + even * d);
		c = away_from_0(1 + even / c);
		sum *= c * d;
		d = 1 / away_from_0(1 + odd * d);
		c = away_from_0(1 + odd / c);
		sum *= c * d;
		if (fabs(c * d - 1) < EXACT)
			break;
	}
	return sum;
}

/* I_x(a, b), the chance that a beta distribution is below x. */
static double beta_below(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b; /* 26.5.2 */
}

/* 26.7.1 and 26.5.27 there. */
double student_p(double t, double f)
{
	return beta_below(f / (f + t * t), f / 2, 0.5);
}

double welch_p(const struct sample *a, const struct sample *b)
{
	long double va = sample_variance(a), vb = sample_variance(b), freedom;

	if (!a->n || !b->n || (a->n < 2 && b->n < 2))
		return -1;
	if (a->n < 2)
		va = vb;
	if (b->n < 2)
		vb = va;
	va /= a->n;
	vb /= b->n;
	if (va + vb <= 0)
		return a->mean == b->mean;
	if (a->n < 2 || b->n < 2)
		freedom = a->n + b->n - 2;
	else
		freedom = (va + vb) * (va + vb) / (va * va / (a->n - 1) + vb * vb / (b->n - 1));
	return student_p((double)((b->mean - a->mean) / sqrtl(va + vb)), (double)freedom);
}

void holm_adjust(double *p, size_t n)
{
	double least = 0;

	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin(p[i] * (double)(n - i), 1));
		p[i] = least;
	}
}
