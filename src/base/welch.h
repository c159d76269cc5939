/*
 * Is a difference of two means more than noise? Two samples of what was measured several times,
 * compared by Welch's t-test, and many such tests at once. Knows nothing of what was measured.
 */
#ifndef MEMWHY_BASE_WELCH_H
#define MEMWHY_BASE_WELCH_H

#include <stddef.h>

#include "base/types.h"

struct sample {
	u32 n;
	long double mean;
	long double squares; /* sum of squared distances from the mean */
};

/* Welford's recurrence (Technometrics 4, 1962, 419-420): exact where values are large and near to
 * each other. A zeroed sample is empty. */
void sample_add(struct sample *s, long double value);
/* With n - 1; 0 of fewer than two. */
long double sample_variance(const struct sample *s);

/*
 * The chance that two samples of the same normal distribution are as far apart as these or farther,
 * on either side:
 *
 *     t = (b - a) / sqrt(va / na + vb / nb)
 *     f = (va / na + vb / nb)^2 / ((va / na)^2 / (na - 1) + (vb / nb)^2 / (nb - 1))
 *
 * with the means a and b and the variances va and vb; f are the degrees of freedom of Student's t
 * (B. L. Welch, Biometrika 34, 1947, 28-35). A sample of one has no variance of its own: it is
 * taken to have that of the other, which gives Student's test with n - 1 degrees of freedom. Values
 * that never vary are exact: 1 where they are equal, else 0. Negative: not known, as neither sample
 * has two values.
 */
double welch_p(const struct sample *a, const struct sample *b);
/* Student's t with f > 0 degrees of freedom: the probability of |t| or more. */
double student_p(double t, double f);

/* Corrects many tests at once, given in ascending order of p: makes each p the one it has among all
 * of them, so that below a level the chance of any false one is at most that level. (S. Holm,
 * Scand. J. Statist. 6, 1979, 65-70.) */
void holm_adjust(double *p, size_t n);

#endif
