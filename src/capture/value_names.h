/*
 * The names of an enum of the running kernel, whose values change from release to release: as a
 * tracepoint prints them, else as the kernel's BTF has them, else from a table. Sends nothing.
 */
#ifndef MEMWHY_CAPTURE_VALUE_NAMES_H
#define MEMWHY_CAPTURE_VALUE_NAMES_H

#include "base/types.h"

struct value_names {
	const char *category, *tracepoint; /* whose first list of names it is */
	const char *type, *prefix;         /* the enum: COMPACT_SKIPPED is "skipped" */
	const char *const *table; /* by value, up to NULL; or NULL: no table is right for all */
};

/*
 * Calls fn for each value. Returns how many, or what fn returned below 0, or why none is known:
 * -ENOENT, -EPERM, -EACCES (of tracefs). *ret_method: where they are from, a constant.
 */
int value_names_read(const struct value_names *of,
	int (*fn)(void *arg, u64 value, const char *name), void *arg, const char **ret_method);

#endif
