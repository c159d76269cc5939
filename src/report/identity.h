/*
 * What a row is of, in a form that is the same in every recording of the same thing: names instead
 * of ids, stacks by their functions. Pids, addresses, lines and offsets of code, and in which
 * function another was inlined, are not part of it.
 */
#ifndef MEMWHY_REPORT_IDENTITY_H
#define MEMWHY_REPORT_IDENTITY_H

#include "base/groups.h"
#include "report/report.h"

/* Numbers for texts: the same text has the same. It keeps copies of them. */
struct texts {
	VEC(const char *) entries;
	u32 *index; /* entry + 1 by hash; a power of two of them */
	size_t n_index;
	u64 seed;
	struct groups known; /* number by pointer, of texts of streams */
	struct arena arena;
};

typedef VEC(u32) identity_vec;

void texts_init(struct texts *ts);
void texts_free(struct texts *ts);
/* To be called before a stream whose rows were identified ends: its names go. */
void texts_forget(struct texts *ts);

/*
 * Appends the identity of a row: of its cells in the columns cols[0..n), which are keys
 * (report/role.h). Two rows are of the same thing if and only if the same numbers were appended.
 * 0 or -ENOMEM.
 */
int identity_add(struct texts *ts, const struct stream *s, const struct table *t, size_t row,
	const size_t *cols, size_t n, identity_vec *out);

/* The length of a function's name without what compilers add to the names of its copies:
 * ".constprop.0", ".isra.1", ".part.2", ".cold", ".llvm.123", " [clone ...]". */
size_t function_name_length(const char *function);

#endif
