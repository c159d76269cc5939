/* The rows of two tables brought together, and the amounts in them. Private to report/diff.c. */
#ifndef MEMWHY_REPORT_DIFF_MATCH_H
#define MEMWHY_REPORT_DIFF_MATCH_H

#include "report/diff.h"
#include "report/identity.h"
#include "report/role.h"

/* A column that both tables have. */
struct diff_column {
	const struct column *c;
	enum role role;
	size_t at[2];
	int error[2]; /* column of its standard error, or negative */
};

struct diff_entry {
	u32 side, n;
	size_t row, at; /* its identity: n numbers from here on in `ids` */
};

/* Entries [first, first + n) are of the same thing, those of the side before first. */
struct diff_row {
	size_t first, n;
	long double change; /* of the main column, without its sign; negative: not known */
	long double size;   /* the larger of its two values */
};

struct diff_match {
	const struct diff_spec *spec;
	const struct table *tables[2];
	VEC(struct diff_column) cols; /* that are compared, the main one first */
	VEC(struct diff_column) keys;
	VEC(struct diff_entry) entries;
	VEC(struct diff_row) rows; /* by the size of their change */
	identity_vec ids;
	struct texts texts;
};

/* -ENOENT: no column can be compared. */
int diff_match_open(const struct diff_spec *s, const char *name, struct diff_match *ret);
void diff_match_close(struct diff_match *m);
/* The amounts of a row in a column, before and after. n is 0 where it is not there. */
void diff_amounts(const struct diff_match *m, const struct diff_row *row,
	const struct diff_column *c, struct diff_amount ret[2]);
/* The first entry of a side, NULL: it has none. */
const struct diff_entry *diff_row_entry(
	const struct diff_match *m, const struct diff_row *row, u32 side);

#endif
