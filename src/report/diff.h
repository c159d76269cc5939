/*
 * Merges tables of the same view from recordings before and after into one: rows are matched by
 * identity (report/identity.h), numbers become changes. Rows of one recording with the same
 * identity are merged as their columns allow (report/role.h). Knows neither files nor formats.
 *
 * With one recording per side, numbers are compared as they are. With several, means are compared,
 * with the standard deviation beside them, and Welch's t-test (base/welch.h) tells a change from
 * noise: noise if p is DIFF_LEVEL or more. For rows, p is corrected by Holm's method over all rows
 * of the table that vary, so that the chance of any false one among them is DIFF_LEVEL too. At that
 * level no split of six evenly spread values into three and three is more than noise (p = 0.021). A
 * change of 5 % is found with three recordings per side if runs differ by 1 % (p = 0.004), and with
 * five if they differ by 2 %.
 */
#ifndef MEMWHY_REPORT_DIFF_H
#define MEMWHY_REPORT_DIFF_H

#include "base/welch.h"
#include "report/view.h"

#define DIFF_LEVEL 0.01

/* A change as it is given on the command line: by such a part of what was before, or by so much. */
struct diff_change {
	bool given, share, is_number, is_time;
	double value; /* per cent, or a number or bytes */
	double ns;
};

struct diff_spec {
	const struct report *sides[2]; /* before, after: the first recording of each */
	const char *fields;            /* columns to compare, NULL: those that text shows */
	const char *main;              /* the one to order by; NULL: the first of them */
	bool counts;                   /* where neither names a column: one that is no time */
	const char *time;              /* … in place of this one; NULL: none */
	bool any_comm;                 /* of rows with stacks, names of tasks are left out */
	bool per_second;               /* sums are divided by the seconds of their recording */
	struct diff_change min;        /* rows that changed by less are left out */
};

/* A value of one side. */
struct diff_amount {
	long double value;    /* the mean of its recordings */
	long double variance; /* of that, where it was sampled */
	bool known;
	u32 n;              /* recordings that have it */
	struct sample runs; /* the values of the recordings */
};

/* What became of one table's main column. */
struct diff_result {
	const struct column *column; /* that of the table after */
	bool summed;                 /* it adds up: `total` is of all rows */
	struct diff_amount total[2];
	u32 runs[2];    /* recordings of each side */
	double total_p; /* of the total; negative: one recording a side tells nothing of noise */
	size_t rows, new_rows, gone_rows;
	/* The largest rise among rows that rose beyond their error and beyond noise (0: none did),
	 * and the largest relative to the value before. */
	long double rise, rise_share;
};

/* --rate has no meaning for a mean, nor for an amount at one time. */
bool diff_compares(const struct diff_spec *s, const struct column *c);
/* after - before, unless it is not known; and two standard errors of it, 0: it is exact. */
bool diff_change(
	const struct diff_amount amounts[2], bool summed, long double *ret, long double *ret_error);
/* "5%", "1M", "100", "10ms". -EINVAL. */
int diff_change_parse(const char *text, struct diff_change *ret);
/* In the unit of the column, where it is of `before`; false: it was not given, or in another. */
bool diff_threshold(const struct diff_change *c, const struct column *column, long double before,
	long double *ret);

static inline bool diff_has_several(const struct diff_result *res)
{
	return res->runs[0] > 1 || res->runs[1] > 1;
}

/* Is there one recording a side, or is a change of this p none that noise makes? */
static inline bool diff_is_beyond(double p, bool several)
{
	return !several || (p >= 0 && p < DIFF_LEVEL);
}

struct diff_match;

/* The comparison of the tables of this name, which begins with the reports of s. Both must outlive
 * it. -ENOENT: there is nothing to compare. */
int diff_begin(const struct diff_spec *s, const char *name, struct diff_match **ret);
/* Adds the report on another recording of a side, which may go then. Stacks that no other recording
 * had are added to `into`. -ENOENT: it has no such table; nothing was changed. */
int diff_join(struct diff_match *m, u32 side, const struct report *r, const char *name,
	struct stream *into);
/*
 * Adds to `r` a table of the changes, and one of their total. The stream of r is that of the report
 * after; stacks that it does not have are added to it: `into` is that stream. The two reports must
 * outlive r. To be called once.
 */
int diff_show(struct report *r, struct stream *into, struct diff_match *m, struct diff_result *ret);
void diff_end(struct diff_match *m);

/* The columns they have beside those that rows are matched by, for the man page. */
extern const struct view_table *const diff_tables[];

#endif
