/* --by: which keys a view counts by, and the columns that belong to them. */
#ifndef MEMWHY_ANALYSIS_BY_H
#define MEMWHY_ANALYSIS_BY_H

#include "base/err.h"
#include "report/report.h"

/* Bit i of *ret for each keys[i] that stands in the comma-separated text. -EINVAL names the
 * word that is no key, and the keys there are. */
int by_parse(const char *text, const char *const *keys, u32 *ret, struct err *err);

/* A column, and the keys of which at least one must be asked for to show it; 0: always. */
struct by_column {
	u32 keys;
	struct column col;
};

/* Copies the columns that `by` shows to cols (room for n) and, for each, its index in `all` to
 * ret_index. Returns how many. */
size_t by_columns(
	const struct by_column *all, size_t n, u32 by, struct column *cols, size_t *ret_index);

#endif
