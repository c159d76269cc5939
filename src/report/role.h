/*
 * The role of a column when rows are merged: part of the row's identity, or a number, and how two
 * of these become one. Derived from the description of the column alone: its type, unit, flags and
 * the words of its name.
 */
#ifndef MEMWHY_REPORT_ROLE_H
#define MEMWHY_REPORT_ROLE_H

#include "report/report.h"

enum role {
	ROLE_NONE,  /* neither: pids, addresses, times of events, histograms, texts that say more */
	ROLE_KEY,   /* what the row is of: names, stacks, nodes, orders */
	ROLE_SUM,   /* a number that adds up */
	ROLE_LEAST, /* of several, the smallest */
	ROLE_MOST,  /* of several, the largest */
	ROLE_SINGLE, /* a mean, a quantile, a ratio: of several rows it is not known */
	ROLE_ERROR,  /* standard error of another column: "live_error_bytes" of "live_bytes" */
};

enum role column_role(const struct column *c);

static inline bool role_is_value(enum role r)
{
	return r == ROLE_SUM || r == ROLE_LEAST || r == ROLE_MOST || r == ROLE_SINGLE;
}

/* The column with the standard error of this one, or -ENOENT. */
int table_error_column(const struct table *t, size_t col);
/* Are the rows sums, of which each can be found in another report: no events, no course over time?
 */
bool table_is_sums(const struct table *t);
/* The number to look at first: what the table is sorted by, its weight, or its first. -ENOENT. */
int table_main_column(const struct table *t);
/* The same of counts and amounts, which two runs of one program have nearly alike as times do not:
 * the main column, unless that is a time or no sum. Where there is none, the main column. */
int table_count_column(const struct table *t);

#endif
