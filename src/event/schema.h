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
/* A number kept in the flags of the record's head. */
#define FIELD_FLAGS(name_, unit_, help_)                                                       \
	{                                                                                  \
		.name = (name_), .offset = offsetof(struct rec, flags), .type = FIELD_U16, \
		.unit = (unit_), .count = 1, .help = (help_)                               \
	}
#define KIND(number_, type_, name_, fields_, help_)                                             \
	{                                                                                       \
		.kind = (number_), .size = sizeof(type_), .name = (name_), .fields = (fields_), \
		.n_fields = ARRAY_SIZE(fields_), .help = (help_)                                \
	}

/*
 * A kind whose record is declared by a list, see RECORD() in event/wire.h:
 *
 *	RECORD_KIND(REC_FAULTS_AGG, struct faults_agg, "faults_agg", FAULTS_AGG_FIELDS,
 *		"faults of …")
 *
 * RECORD_FIELDS() are its rows alone, for a table with others beside them.
 */
#define RECORD_KIND(number_, type_, name_, LIST_, help_) \
	RECORD_KIND_(number_, type_, name_, help_, false, RECORD_FIELDS(type_, LIST_))
/* One of which no part of a recording is made by task (see struct kind). */
#define RECORD_KIND_WHOLE(number_, type_, name_, LIST_, help_) \
	RECORD_KIND_(number_, type_, name_, help_, true, RECORD_FIELDS(type_, LIST_))
/* With the flags in the record's head as a field of their own, the first. */
#define RECORD_KIND_FLAGS(number_, type_, name_, LIST_, help_, flags_, unit_, flags_help_)         \
	RECORD_KIND_(number_, type_, name_, help_, false, FIELD_FLAGS(flags_, unit_, flags_help_), \
		RECORD_FIELDS(type_, LIST_))
#define RECORD_KIND_(number_, type_, name_, help_, whole_, ...)                                 \
	{                                                                                       \
		.kind = (number_), .size = sizeof(type_), .name = (name_), .help = (help_),     \
		.whole = (whole_), .fields = (const struct field[]){__VA_ARGS__},               \
		.n_fields = sizeof((const struct field[]){__VA_ARGS__}) / sizeof(struct field), \
	}
#define RECORD_FIELDS(type_, LIST_) LIST_(RECORD_FIELD, type_)
#define RECORD_FIELD(R, type_, name_, unit_, help_) RECORD_FIELD_##unit_(R, name_, help_)
#define RECORD_FIELD_NONE(R, name_, help_) RECORD_ROW(R, name_, UNIT_NONE, help_)
#define RECORD_FIELD_COUNT(R, name_, help_) RECORD_ROW(R, name_, UNIT_COUNT, help_)
#define RECORD_FIELD_BYTES(R, name_, help_) RECORD_ROW(R, name_, UNIT_BYTES, help_)
#define RECORD_FIELD_PAGES(R, name_, help_) RECORD_ROW(R, name_, UNIT_PAGES, help_)
#define RECORD_FIELD_NS(R, name_, help_) RECORD_ROW(R, name_, UNIT_NS, help_)
#define RECORD_FIELD_ID(R, name_, help_) RECORD_ROW(R, name_, UNIT_ID, help_)
#define RECORD_FIELD_HEX(R, name_, help_) RECORD_ROW(R, name_, UNIT_HEX, help_)
#define RECORD_FIELD_STRING(R, name_, help_) RECORD_ROW(R, name_, UNIT_STRING, help_)
#define RECORD_FIELD_STACK(R, name_, help_) RECORD_ROW(R, name_, UNIT_STACK, help_)
#define RECORD_FIELD_CGROUP(R, name_, help_) RECORD_ROW(R, name_, UNIT_CGROUP, help_)
#define RECORD_FIELD_PERMILLE(R, name_, help_) RECORD_ROW(R, name_, UNIT_PERMILLE, help_)
#define RECORD_FIELD_HIDDEN(R, name_, help_)
#define RECORD_ROW(R, name_, unit_, help_)                                           \
	{                                                                            \
		.name = #name_, .offset = offsetof(R, name_),                        \
		.type = FIELD_TYPE(((R *)NULL)->name_), .unit = (unit_),             \
		.count = FIELD_COUNT(((R *)NULL)->name_), .help = (help_)            \
	},
/* clang-format off: it does not know _Generic */
#define FIELD_TYPE(member_)                                                          \
	_Generic((member_),                                                          \
		u8: FIELD_U8, u8 *: FIELD_U8, u16: FIELD_U16, u16 *: FIELD_U16,      \
		u32: FIELD_U32, u32 *: FIELD_U32, u64: FIELD_U64, u64 *: FIELD_U64,  \
		s32: FIELD_S32, s64: FIELD_S64, s64 *: FIELD_S64,                    \
		char *: FIELD_CHARS)
/* The number of elements of an array, else 1. */
#define FIELD_COUNT(member_)                                                         \
	(sizeof(member_) / _Generic((member_),                                       \
		char *: 1, u8 *: 1, u16 *: 2, u32 *: 4, u64 *: 8, s64 *: 8,          \
		default: sizeof(member_)))
/* clang-format on */

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
