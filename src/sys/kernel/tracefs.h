/*
 * Tracepoints as tracefs shows them: where tracefs is, whether a tracepoint exists, its id and
 * its fields. Owns the format files' format; attaches nothing.
 *
 * -ENOENT: there is no tracefs, or no such tracepoint. -EPERM: it is not mounted, and we may not
 * mount it. -EACCES: it may be there, but is closed to us (0700, root). Without tracefs a
 * tracepoint may still be usable by other means (BTF-typed and raw tracepoints need none).
 */
#ifndef MEMWHY_SYS_TRACEFS_H
#define MEMWHY_SYS_TRACEFS_H

#include <limits.h>

#include "base/vec.h"

#define TRACEPOINT_NAME_MAX 64
#define TRACEPOINT_FIELDS_MAX 128

/* The directory through which it can be read: see kernelfs.h. */
int tracefs_find(char ret_dir[PATH_MAX]);

struct tracepoint_field {
	char name[TRACEPOINT_NAME_MAX];
	char type[TRACEPOINT_NAME_MAX]; /* as in C: "unsigned long", "char[16]", "__data_loc char[]"
					 */
	u32 offset;                     /* bytes from the start of the record */
	u32 size;
	bool is_signed;
	bool is_common; /* of every event: common_type, common_pid, … */
	bool is_array;
	/* The field is a u32: the data's offset in its low and its length in its high 16 bits. The
	 * offset is from the start of the record, or for __rel_loc from the end of the field. */
	bool is_data_loc;
	bool is_rel_loc;
};

/* To be zeroed before its first use. */
struct tracepoint_format {
	char name[TRACEPOINT_NAME_MAX];
	u32 id;
	VEC(struct tracepoint_field) fields; /* in the order of the file */
};

#define _cleanup_tracepoint_format_ _cleanup_(tracepoint_format_free)

void tracepoint_format_free(struct tracepoint_format *format);
/* Replaces what ret held. Fields of another form, or with names too long, are skipped; -EINVAL
 * when there is no field or no name, -ENOMEM. */
int tracepoint_format_parse(const char *text, struct tracepoint_format *ret);
/* Calls fn for each pair of the first __print_symbolic() of a format file: {5, "exceed_none_pte"}.
 * Pairs of another form are skipped. The number of pairs, -EINVAL without any, or what fn returned
 * that is negative. */
int tracepoint_symbols_parse(
	const char *text, int (*fn)(void *arg, u64 value, const char *name), void *arg);
/* NULL where there is none. */
const struct tracepoint_field *tracepoint_format_field(
	const struct tracepoint_format *format, const char *name);

/* The id of the tracepoint category:name, with dir from tracefs_find(). 0, -ENOENT, -EACCES,
 * -EINVAL for a name with a slash. */
int tracepoint_id_read(const char *dir, const char *category, const char *name, u64 *ret);
int tracepoint_format_read(
	const char *dir, const char *category, const char *name, struct tracepoint_format *ret);

#endif
