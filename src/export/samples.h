/*
 * What formats of profiles have in common: the table of a report that has stacks, which of its
 * numbers are values of a sample, and which of its columns say more of one. It knows no format.
 */
#ifndef MEMWHY_EXPORT_SAMPLES_H
#define MEMWHY_EXPORT_SAMPLES_H

#include "render/render_slice.h"

#define SAMPLE_VALUES 32
#define SAMPLE_LABELS 24

/* A number of each sample. */
struct sample_value {
	size_t col;
	char name[40];    /* "inuse_space" */
	const char *unit; /* "bytes", "nanoseconds", "count", "pages" */
};

struct samples {
	struct slices slices;
	const struct slice *slice; /* NULL: the report has no stacks to show */
	const struct stream *stream;
	size_t stack; /* column */
	struct sample_value values[SAMPLE_VALUES];
	size_t n_values; /* at least 1 */
	size_t main;     /* the value to look at first */
	size_t labels[SAMPLE_LABELS];
	size_t n_labels;
	int tid, pid; /* columns; -1: none */
	const char *period, *period_unit;
};

/* 0 or -ENOMEM. Columns that --fields names are the values, if any; else those that add up. */
int samples_open(const struct report *r, struct samples *ret);
void samples_close(struct samples *s);

const struct cell *samples_cell(const struct samples *s, size_t row, size_t col);
/* The id of the row's stack, 0: none. */
u32 samples_stack(const struct samples *s, size_t row);
/* A value of a sample, to the next whole number; 0: it is not known. */
s64 samples_value(const struct samples *s, size_t row, size_t value);
/* No sample has anything below 0 here. */
bool samples_is_positive(const struct samples *s, size_t value);

#endif
