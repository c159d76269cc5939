/*
 * The functions of a Go program, from the table that its runtime keeps to print stacks: section
 * .gopclntab, which is there when symbols and debug information were stripped. A pure reader of
 * bytes that anybody may have written; must not know of files or of symbol tables.
 *
 * Layouts: those of Go 1.2, 1.16, 1.18 and 1.20, as their headers say; little endian. Names of all;
 * lines from 1.16 on. What was inlined is not known from this table: where that is, there is no
 * line, since it would be one of another function than the name.
 */
#ifndef MEMWHY_SYM_GOTABLE_H
#define MEMWHY_SYM_GOTABLE_H

#include "base/util.h"

enum go_layout { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table {
	const u8 *bytes; /* borrowed */
	size_t size;
	enum go_layout layout;
	u8 word;       /* bytes of a pointer */
	u8 entry;      /* … of an address or an offset in the list of functions */
	u8 quantum;    /* of addresses in tables of values */
	u64 text;      /* is added to addresses in the list */
	u64 n;         /* functions */
	u64 functions; /* where the list begins, and what offsets in it count from … */
	u64 base;
	u64 names, units, files, values; /* … and others */
};

struct go_function {
	u64 start;
	u64 end;
	const char *name; /* in the table's bytes */
};

/* Where in the table the address of the program's code stands, to find a relocation of it. 0: not
 * in this layout. -ENOEXEC: no such table. */
int go_table_text_field(const void *bytes, size_t size);
/* text: the address of the code, if a relocation says it; 0: the table does. -ENOEXEC: it is no
 * table of a known layout. */
int go_table_open(const void *bytes, size_t size, u64 text, struct go_table *ret);
/* The i-th function. -EBADMSG: it is not sound. */
int go_table_function(const struct go_table *t, u64 i, struct go_function *ret);
/* The source of an instruction; *ret_file lies in the table's bytes. -ENOENT: none is known. */
int go_table_line(const struct go_table *t, u64 address, const char **ret_file, u32 *ret_line);

#endif
