/*
 * What a record of each kind looks like: names, types, units and meaning of its fields. The log
 * carries this description, so that a program that has never heard of memwhy can read it.
 */
#ifndef MEMWHY_EVENT_SCHEMA_H
#define MEMWHY_EVENT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "event/wire.h"

enum field_type {
	FIELD_U8 = 1,
	FIELD_U16 = 2,
	FIELD_U32 = 3,
	FIELD_U64 = 4,
	FIELD_S32 = 5,
	FIELD_S64 = 6,
	FIELD_CHARS = 7, /* count bytes of text, NUL-padded */
	FIELD_TEXT = 8,  /* text to the end of the record, NUL-padded; the last field */
	FIELD_U32S = 9,  /* u32 to the end of the record; the last field */
};

enum unit {
	UNIT_NONE = 0,
	UNIT_COUNT = 1,
	UNIT_BYTES = 2,
	UNIT_PAGES = 3,
	UNIT_NS = 4,
	UNIT_RATIO = 5,     /* 0 to 1 */
	UNIT_ID = 6,        /* a number that is a name: pid, node, order */
	UNIT_HEX = 7,       /* an address, a mask */
	UNIT_STRING = 8,    /* id of a REC_STRING */
	UNIT_STACK = 9,     /* id of a REC_STACK, 0: none */
	UNIT_CGROUP = 10,   /* id of a REC_CGROUP; in a report, its path */
	UNIT_PERMILLE = 11, /* thousandths, as the kernel's fragmentation indices */
};

struct field {
	const char *name;
	u16 offset; /* from the start of the record */
	u8 type;    /* enum field_type */
	u8 unit;    /* enum unit */
	u16 count;  /* elements of a fixed array; 1 otherwise; 0 for FIELD_TEXT and FIELD_U32S */
	const char *help;
};

struct kind {
	u16 kind;
	u16 size; /* of the fixed part: shorter records are zero-extended to it */
	const char *name;
	const struct field *fields;
	size_t n_fields;
	const char *help;
	bool whole; /* means something only with all others of it: no part of a recording is made
		     * of them by task */
};

/* FIELD(struct fault_agg, count, FIELD_U64, UNIT_COUNT, "faults") */
#define FIELD(type_, member_, ftype_, unit_, help_)                                     \
	{                                                                               \
		.name = #member_, .offset = offsetof(type_, member_), .type = (ftype_), \
		.unit = (unit_), .count = 1, .help = (help_)                            \
	}
#define FIELD_ARRAY(type_, member_, ftype_, unit_, count_, help_)                       \
	{                                                                               \
		.name = #member_, .offset = offsetof(type_, member_), .type = (ftype_), \
		.unit = (unit_), .count = (count_), .help = (help_)                     \
	}
#define KIND(number_, type_, name_, fields_, help_)                                             \
	{                                                                                       \
		.kind = (number_), .size = sizeof(type_), .name = (name_), .fields = (fields_), \
		.n_fields = ARRAY_SIZE(fields_), .help = (help_)                                \
	}
/* A kind of which no part of a recording is made by task (see struct kind). */
#define KIND_WHOLE(number_, type_, name_, fields_, help_)                                       \
	{                                                                                       \
		.kind = (number_), .size = sizeof(type_), .name = (name_), .fields = (fields_), \
		.n_fields = ARRAY_SIZE(fields_), .help = (help_), .whole = true                 \
	}

/*
 * A set of kinds. The registry holds pointers only; kinds must outlive it. Lookup is O(1).
 */
struct schema {
	const struct kind *by_number[REC_KINDS];
};

/* -EEXIST if a number is taken by another kind, -ERANGE if it is too large. */
int schema_add(struct schema *s, const struct kind *kinds, size_t n);
const struct kind *schema_find(const struct schema *s, u16 kind);

#endif
