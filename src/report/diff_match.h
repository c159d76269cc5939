/*
 * Matches the rows of the same table across several recordings, and their amounts. Private to
 * report/diff.c. The reports of the first recording of each side are used in place. The streams of
 * the others are freed, so what is compared is copied, and names only if no earlier recording had
 * them.
 */
#ifndef MEMWHY_REPORT_DIFF_MATCH_H
#define MEMWHY_REPORT_DIFF_MATCH_H

#include "report/diff.h"
#include "report/identity.h"
#include "report/role.h"
#include "report/stack_copy.h"

/* A column that all tables have. */
struct diff_column {
	const struct column *c;
	enum role role;
	size_t at[2]; /* of the first recordings */
	int error[2]; /* column of its standard error, or negative */
};

/* A recording: those of number 0 and 1 are the first of each side. */
struct diff_run {
	u32 side;
	const struct table *table;   /* of the first ones */
	const struct stream *stream; /* likewise */
	long double seconds;
	VEC(struct cell) cells; /* of the others: rows of keys, values and their errors */
};

struct diff_entry {
	u32 run, n;
	size_t row, at; /* its identity: n numbers from here on in `ids` */
	bool keyed;     /* its names and stacks are there to be shown */
};

/* Entries [first, first + n) are of the same thing, by recording. */
struct diff_row {
	size_t first, n;
	long double change; /* of the main column, without its sign; negative: not known */
	long double size;   /* the larger of its two values */
	double p;           /* of the main column, among all rows; negative: not known */
};

struct diff_match {
	const struct diff_spec *spec;
	VEC(struct diff_run) runs;
	u32 n_runs[2];                /* of each side */
	VEC(struct diff_column) cols; /* that are compared, the main one first */
	VEC(struct diff_column) keys;
	VEC(struct diff_entry) entries;
	VEC(struct diff_row) rows; /* by the size of their change */
	identity_vec ids;
	struct texts texts;
	struct arena arena;
};

/* All recordings are there: finds the rows. 0 or -ENOMEM. */
int diff_match_rows(struct diff_match *m);
/* Are there several recordings of a side? */
bool diff_is_several(const struct diff_match *m);
/* The amounts of a row in a column, before and after. n is 0 where it is not there. */
void diff_amounts(const struct diff_match *m, const struct diff_row *row,
	const struct diff_column *c, struct diff_amount ret[2]);
/* The totals of a column that adds up, over all rows. 0 or -ENOMEM. */
int diff_totals(const struct diff_match *m, const struct diff_column *c, struct diff_amount ret[2]);
/* The one whose names and stacks are shown: of the first recording after, if it is there. */
const struct diff_entry *diff_row_shown(const struct diff_match *m, const struct diff_row *row);
/* Its cell of the i-th key. */
const struct cell *diff_key(const struct diff_match *m, const struct diff_entry *e, size_t i);

#endif
