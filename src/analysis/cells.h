/*
 * Columns that know how to get their cells, so that a view says once what a column is, and prints a
 * table without naming its columns again: from a member of the row's key, of its sums, or of its
 * record, or by a function. The columns that many views have are here, once.
 */
#ifndef MEMWHY_ANALYSIS_CELLS_H
#define MEMWHY_ANALYSIS_CELLS_H

#include "base/groups.h"
#include "report/report.h"

/* What a row is made of: a key and its sums, or one record, which is then both. */
struct row_of {
	u32 by; /* keys that were asked for, see analysis/by.h; 0: columns of all keys */
	const void *key, *sums;
	const void *
		view; /* what the functions of the view's own columns need besides; NULL: nothing */
};

/* offset: of the member, in whatever the function takes it from. */
typedef struct cell cell_get(struct report *r, const struct row_of *row, size_t offset);

/* The head of such a function, which need not look at all of it. */
#define CELL_GET(name_)                                             \
	struct cell name_(__attribute__((unused)) struct report *r, \
		__attribute__((unused)) const struct row_of *row,   \
		__attribute__((unused)) size_t offset)

/* All of one that is an expression of the sums or the record, e. */
#define CELL_EXPR(name_, type_, ...)                                               \
	static CELL_GET(name_)                                                     \
	{                                                                          \
		__attribute__((unused)) const type_ *e = (const type_ *)row->sums; \
		return __VA_ARGS__;                                                \
	}

/* The same of text that is put into s; empty: no text. */
#define CELL_WORDS(name_, type_, ...)                                              \
	static CELL_GET(name_)                                                     \
	{                                                                          \
		__attribute__((unused)) const type_ *e = (const type_ *)row->sums; \
		_cleanup_str_ struct str s = {};                                   \
		__VA_ARGS__;                                                       \
		return cell_str(r, &s);                                            \
	}

struct cell_column {
	u32 keys; /* of --by: shown if one of them was asked for; 0: always */
	struct column col;
	cell_get *get;
	size_t offset;
};

/* A member of the sums, the record or the key, as a number. */
cell_get cell_of_u8, cell_of_u16, cell_of_u32, cell_of_u64, cell_of_s32, cell_of_s64;
cell_get cell_of_key_u8, cell_of_key_u16, cell_of_key_u32, cell_of_key_u64;
/* A u64; 0: not known. */
cell_get cell_of_known;
/* The id of a string of the stream; 0: none. */
cell_get cell_of_string;
/* A pointer to text; NULL: none. */
cell_get cell_of_text;
/* An s32 of the key or the record: a NUMA node; below 0: not known. */
cell_get cell_of_node;

/* The column of a member of the sums or of the record: its type chooses the function. */
#define CELL_NUMBER(type_, member_, name_, title_, unit_, flags_, help_) \
	{                                                                \
		0,                                                       \
			{name_, title_,                                  \
				_Generic(((type_ *)0)->member_, s32      \
					 : CELL_S64, s64                 \
					 : CELL_S64, default             \
					 : CELL_U64),                    \
				unit_, flags_, help_},                   \
			_Generic(((type_ *)0)->member_, u8               \
				 : cell_of_u8, u16                       \
				 : cell_of_u16, u32                      \
				 : cell_of_u32, s32                      \
				 : cell_of_s32, s64                      \
				 : cell_of_s64, u64                      \
				 : cell_of_u64),                         \
			offsetof(type_, member_)                         \
	}
/* The same of a member of the key, shown where one of these keys was asked for; 0: always. */
#define CELL_KEY(keys_, type_, member_, name_, title_, unit_, flags_, help_) \
	{                                                                    \
		keys_, {name_, title_, CELL_U64, unit_, flags_, help_},      \
			_Generic(((type_ *)0)->member_, u8                   \
				 : cell_of_key_u8, u16                       \
				 : cell_of_key_u16, u32                      \
				 : cell_of_key_u32, u64                      \
				 : cell_of_key_u64),                         \
			offsetof(type_, member_)                             \
	}
/* One that a function fills. */
#define CELL_BY(keys_, name_, title_, kind_, unit_, flags_, help_, get_)     \
	{                                                                    \
		keys_, {name_, title_, kind_, unit_, flags_, help_}, get_, 0 \
	}
/* One that a function makes of a member. */
#define CELL_FROM(keys_, type_, member_, name_, title_, kind_, unit_, flags_, help_, get_) \
	{                                                                                  \
		keys_, {name_, title_, kind_, unit_, flags_, help_}, get_,                 \
			offsetof(type_, member_)                                           \
	}
/* What the sums count, exactly: what -o folded weighs stacks by. */
#define CELL_COUNT(type_, member_, title_, help_) \
	CELL_NUMBER(type_, member_, "count", title_, UNIT_COUNT, COL_WEIGHT, help_)

/* A member of the record: a thread's name, the id of a control group or of a stack, a time. */
cell_get cell_of_comm, cell_of_cgroup, cell_of_stack, cell_of_time;

/* The first columns of single events of tasks; time_ is the function of the time. */
#define EACH_CELLS(type_, time_help_, time_)                                                      \
	CELL_FROM(                                                                                \
		0, type_, h.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0, time_help_, time_), \
		CELL_NUMBER(type_, tgid, "pid", "PID", UNIT_ID, 0, "process id"),                 \
		CELL_NUMBER(type_, tid, "tid", "TID", UNIT_ID, COL_WIDE, "thread id"),            \
		CELL_FROM(0, type_, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,                \
			"name of the thread", cell_of_comm),                                      \
		CELL_FROM(0, type_, cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, \
			"control group", cell_of_cgroup)
#define CELL_STACK_OF(type_, member_, help_)                                            \
	CELL_FROM(0, type_, member_, "stack", "STACK", CELL_STACK, UNIT_NONE, 0, help_, \
		cell_of_stack)

/* A table with these columns, and a row of it. -ENOMEM */
struct table *cells_table(struct report *r, const char *name, const char *title,
	const struct cell_column *cols, size_t n);
/* The same of those columns that belong to these keys, as by of its rows says too. */
struct table *cells_table_by(struct report *r, const char *name, const char *title,
	const struct cell_column *cols, size_t n, u32 by);
int cells_row(struct table *t, struct report *r, const struct cell_column *cols, size_t n,
	const struct row_of *row);
/* A row of a record, e. */
#define cells_one(t_, r_, cols_, e_, view_) \
	cells_row(t_, r_, cols_, ARRAY_SIZE(cols_), &(struct row_of){0, e_, e_, view_})
/* A row for each record of a vector; for none where memory is short, or t is NULL. */
#define cells_each(t_, r_, cols_, vec_, view_) \
	vec_each (e_, vec_)                    \
	cells_one(t_, r_, cols_, e_, view_)

/* Text that was put together; empty: none. */
struct cell cell_str(struct report *r, const struct str *s);

static inline struct cell cell_bool(bool v)
{
	return (struct cell){.type = CELL_BOOL, .b = v};
}

/* part / whole; empty of nothing. */
static inline struct cell cell_ratio(u64 part, u64 whole)
{
	return whole ? cell_f64((double)part / (double)whole) : (struct cell){};
}

/* What the interval had of it a second. */
static inline struct cell cell_per_second(const struct report *r, u64 n)
{
	u64 ns = stream_interval_ns(r->stream);

	return ns ? cell_f64((double)n / ((double)ns / 1e9)) : (struct cell){};
}

/* A table of sums by key: all that is to be said of it. */
struct cell_table {
	const char *name, *title, *sort, *empty; /* as in struct table */
	const struct cell_column *cols;
	size_t n_cols;
	bool (*shows)(const struct row_of *row); /* NULL: a row for each key */
};

#define CELL_TABLE(name_, title_, sort_, empty_, cols_)                                          \
	.name = (name_), .title = (title_), .sort = (sort_), .empty = (empty_), .cols = (cols_), \
	.n_cols = ARRAY_SIZE(cols_)

/* Adds the table to the report, with the rows of g. -ENOMEM */
int cells_report(
	struct report *r, const struct cell_table *t, const struct groups *g, const void *view);

/* Its columns, for the man page (struct view_table). */
#define CELLS_VIEW(name_, cols_)                                              \
	{                                                                     \
		name_, &(cols_)[0].col, ARRAY_SIZE(cols_), sizeof((cols_)[0]) \
	}

#endif
