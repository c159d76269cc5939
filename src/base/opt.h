/*
 * Option tables: one description from which the parser, --help, the man pages and the shell
 * completion all come. Options write into a struct by offset. Knows no command.
 */
#ifndef MEMWHY_BASE_OPT_H
#define MEMWHY_BASE_OPT_H

#include "base/err.h"

enum opt_type {
	OPT_FLAG,     /* bool */
	OPT_STRING,   /* const char * */
	OPT_OPTIONAL, /* const char *, only as --name=VALUE; "" when given without a value */
	OPT_DURATION, /* u64 ns */
	OPT_SIZE,     /* u64 bytes */
	OPT_COUNT,    /* u64 */
};

struct opt {
	const char *name;   /* without the dashes */
	char letter;        /* 0: none */
	u8 type;            /* enum opt_type */
	size_t offset;      /* in the struct given to opt_parse */
	const char *arg;    /* what the help calls its value; NULL for a flag. With a comma: a
			       list, in which no word is empty */
	const char *help;   /* one line or more, wrapped by the help */
	const char *values; /* the words it takes, separated by spaces, or NULL; for completion */
};

/* A row of a table whose options write into type_. */
#define OPT(type_, name_, letter_, kind_, member_, arg_, help_, values_)              \
	{                                                                             \
		name_, letter_, kind_, offsetof(type_, member_), arg_, help_, values_ \
	}

/* A set of option tables, searched in order; ends with a NULL table. */
struct opt_set {
	const struct opt *opts;
	size_t n;
	void *dst; /* what its options write into; NULL: what opt_parse() was given */
};

/* A table with the heading that help gives it. A list of them ends with one without. */
struct opt_group {
	const char *heading;
	const struct opt *opts;
	size_t n;
};

/* The options that an opaque pointer holds. NULL: none was given, which is all 0. */
#define OPTS_OF(type_, at_) ((const type_ *)((at_) ? (at_) : &(const type_){}))

/*
 * Parses argv[1..argc) into dst. Options and operands may be mixed; "--" ends the options: what
 * follows is the command to run (*ret_rest, its index in argv, or argc). Operands are moved to the
 * front of argv[1..]; their number is *ret_operands.
 * -EINVAL: err has the cause, and the nearest option where one was mistyped. Those of `others` are
 * not mistyped, but not taken.
 */
int opt_parse(const struct opt_set *sets, const struct opt_set *others, void *dst, int argc,
	char **argv, int *ret_operands, int *ret_rest, struct err *err);

#endif
