/*
 * Two tables of the same view, of two recordings, as one: their rows matched by what they are of
 * (report/identity.h), and what became of the numbers in them. Rows of one recording that are of
 * the same thing are put together as their columns allow (report/role.h). It knows neither files
 * nor formats.
 */
#ifndef MEMWHY_REPORT_DIFF_H
#define MEMWHY_REPORT_DIFF_H

#include "report/view.h"

/* A change as it is given on the command line: by such a part of what was before, or by so much. */
struct diff_change {
	bool given, share, is_number, is_time;
	double value; /* per cent, or a number or bytes */
	double ns;
};

struct diff_spec {
	const struct report *sides[2]; /* before, after */
	const char *fields;            /* columns to compare, NULL: those that text shows */
	const char *main;              /* the one to order by; NULL: the first of them */
	bool any_comm;                 /* of rows with stacks, names of tasks are left out */
	bool per_second;               /* sums are divided by the seconds of their recording */
	struct diff_change min;        /* rows that changed by less are left out */
};

/* A value of one side. */
struct diff_amount {
	long double value, variance;
	bool known;
	u32 n; /* cells it was made of */
};

/* What became of one table's main column. */
struct diff_result {
	const struct column *column; /* that of the table after */
	bool summed;                 /* it adds up: `total` is of all rows */
	struct diff_amount total[2];
	size_t rows, new_rows, gone_rows;
	/* Of rows that rose beyond their error, the most (0: none did), and the most as a part of
	 * what was. */
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

/*
 * Adds to `r` a table of the changes in the tables of this name, and one of their total. The
 * stream of r is that of the report after; stacks that only the one before has are added to it:
 * `into` is that stream. Both reports must outlive r. -ENOENT: there is nothing to compare.
 */
int diff_table(struct report *r, struct stream *into, const struct diff_spec *s, const char *name,
	struct diff_result *ret);

/* The columns they have beside those that rows are matched by, for the man page. */
extern const struct view_table *const diff_tables[];

#endif
