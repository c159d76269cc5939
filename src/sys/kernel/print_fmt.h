/*
 * The names that a tracepoint's own print fmt gives to the bits and values of its fields. Owns the
 * constant expressions of C in it; reads no file.
 */
#ifndef MEMWHY_SYS_PRINT_FMT_H
#define MEMWHY_SYS_PRINT_FMT_H

#include "base/util.h"

#define PRINT_FMT_NAME 40   /* longest name, with a NUL */
#define PRINT_FMT_NAMES 128 /* of a field, at most */

enum print_fmt_kind { PRINT_FMT_NONE, PRINT_FMT_FLAGS, PRINT_FMT_SYMBOLIC };

/*
 * Calls fn with each name the text of a format file has for the values of a field. Entries whose
 * value is no constant (names of enums that the kernel left in the text) are left out. Returns what
 * the values are (enum print_fmt_kind), or what fn returned below 0.
 */
int print_fmt_names(const char *format, const char *field,
	int (*fn)(void *arg, u64 value, const char *name), void *arg);
/* The entries of a list, from the comma before its first brace on; those of value 0 only if `zero`.
 * Returns how many, or what fn returned below 0. */
int print_fmt_entries(
	const char *list, bool zero, int (*fn)(void *arg, u64 value, const char *name), void *arg);

#endif
