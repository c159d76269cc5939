/*
 * The report: what a command found, as tables, findings and notes. It is what renderers draw,
 * and all they see; it knows neither where the numbers came from nor how they will be printed.
 *
 * A column is described once (name, type, unit, help); every format, the help texts and the man
 * pages walk that description. Column names follow the house rules: they are the fields in JSON
 * and CSV and carry their unit (_ns, _bytes, _pages, _ratio, _total); `title` heads the column in
 * text.
 */
#ifndef MEMWHY_REPORT_REPORT_H
#define MEMWHY_REPORT_REPORT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/stream.h"

enum cell_type {
	CELL_EMPTY = 0, /* not known: "-" in text, null in JSON, nothing in CSV */
	CELL_U64,
	CELL_S64,
	CELL_F64,
	CELL_BOOL,
	CELL_TEXT,
	CELL_STACK,
	CELL_HIST,
};

/* A log2 histogram: slot 0 counts the value 0, slot i counts 2^(i-1) <= v < 2^i; the last slot
 * also counts all that is larger. */
#define HIST_SLOTS 40
struct hist_cell {
	u64 slots[HIST_SLOTS];
};

struct cell {
	u8 type;      /* enum cell_type */
	bool escaped; /* text that was made safe to print, with escapes of its own (str_add_escaped)
		       */
	union {
		u64 u;
		s64 s;
		double f;
		bool b;
		const char *text;             /* owned by the report's arena, or static */
		u32 stack;                    /* id in the report's stream, 0: none */
		const struct hist_cell *hist; /* owned by the report's arena */
	};
};

enum column_flags {
	COL_WIDE = 1,    /* in text only with -o wide; always in the other formats */
	COL_WEIGHT = 2,  /* what -o folded counts; the first such column */
	COL_HIDDEN = 4,  /* never in text: for programs only */
	COL_BELOW = 8,   /* sentences: in text below the row, wrapped; with -o wide in its place */
	COL_WHOLE = 16,  /* a last column of text that is not cut to the width of the screen */
	COL_RARE = 32,   /* not in text where all of its cells are empty */
	COL_ASIDE = 64,  /* text said of the row, not what it is of: no two runs need agree in it */
	COL_LEVEL = 128, /* an amount at one time: over time it means nothing */
	COL_CHANGE = 256,    /* a difference: in text what rose has its sign */
	COL_WEIGHT_TO = 512, /* -o folded counts it after the first, as of two runs */
	COL_KEY = 1024,      /* a number that the row is of: a size to count by */
	/* Where the screen is too narrow for all columns, these go first, and these last. */
	COL_LESSER = 2048,
	COL_MAIN = 4096,
};

struct column {
	const char *name;  /* "total_ns" */
	const char *title; /* "TIME" */
	u8 type;           /* enum cell_type of its cells (any cell may be CELL_EMPTY) */
	u8 unit;           /* enum unit: how text shows the number */
	u16 flags;         /* enum column_flags */
	const char *help;
};

/*
 * A column of cgroups (CELL_TEXT, UNIT_CGROUP) holds paths. Text shows short names; rows in JSON
 * have beside each path that is a container's the id of that container, in a field of this name.
 */
#define CONTAINER_FIELD_LEN 40
void container_field(const struct column *c, char ret[CONTAINER_FIELD_LEN]);

struct table_parts;

struct table {
	const char *name;  /* the `table` field of its rows in JSON; "process" */
	const char *title; /* the line above it in text; "Page faults by process" */
	const char *empty; /* the sentence printed instead when it has no rows; NULL: nothing */
	const struct column *cols;
	size_t n_cols;
	VEC(struct cell) cells; /* n_cols each row, row after row */
	size_t n_rows;
	const char *sort; /* column it is sorted by, descending; NULL: as filled; "-x": ascending */
	u32 stack_limit;  /* of frames shown in text under a row; 0: the default */
	size_t n_cut;     /* rows already cut by table_arrange */
	bool failed;      /* memory was short for a row */
	bool story;  /* its rows make sense only together: cut only by a --limit that was given */
	bool lasts;  /* a story of what another recording has too: `diff` compares its rows */
	bool nested; /* a row is in the sums of that above it: they do not add up */
	const struct table_parts *parts; /* see parts.h; NULL: not known */
	/* See table_keep(). */
	size_t keep, keep_col;
	const char *keep_sort;
	struct cell worst; /* of those to be kept, in keep_col; empty: any row is */
};

enum finding_level { LEVEL_NOTE, LEVEL_RISK, LEVEL_WARNING, LEVEL_CRITICAL };

#define FINDING_LINES 16

/* What a trouble costs, as bits. */
enum finding_loss {
	LOSS_RECLAIM = 1, /* allocations that wait until memory is freed */
	LOSS_REFAULT = 2, /* reading back what was pushed out */
	LOSS_SWAP = 4,
	LOSS_COMPACTION = 8,
	LOSS_KILLED = 16,
	LOSS_KERNEL = 32,   /* memory of the kernel, in slab caches or pages that no counter has */
	LOSS_SPACE = 64,    /* mappings of one process */
	LOSS_GROUP = 128,   /* the room of one control group */
	LOSS_FLUSH = 256,   /* interrupts for what one process changes in its mappings */
	LOSS_DROPPED = 512, /* reading what somebody threw out of the page cache */
};

/*
 * In try_, undo, verify and the report's `next`, text between `backticks` is a command: text
 * output puts it on a line of its own and never breaks it. There is no other backtick in them.
 */
struct finding {
	int level;        /* enum finding_level */
	const char *rule; /* the rule that found it: "reclaim-stalls" */
	const char *title;
	const char *confidence; /* "high: every event was counted", … */
	u64 cost_ns;            /* time lost to it in the interval, for ranking; 0: not known */
	u64 held_bytes;         /* memory it takes, for ranking where no time is; 0: not known */
	u64 grown_bytes;        /* by how much that grew in the interval; 0: not known */
	u32 tgid;               /* the culprit, where it is a process; 0: it is none */
	u32 losses;             /* enum finding_loss: what it causes, or what this is a sign of */
	u64 cgroup;             /* where: the group (id); 0: the machine, or not known */
	u64 home;               /* the group that the culprit is in; 0: not known */
	/* It says what hurts, not why: it goes below the finding that explains it, which takes over
	 * its cost. */
	bool symptom;
	bool advises; /* … but the first line of its advice stays, below that of the cause */
	bool yields; /* a cause, but one within the same group says more: it goes below that */
	/* A sum, most of which one who holds as much may explain: then it goes below that. One of
	 * 2 also goes below one of 1. */
	u8 folds;
	bool here;   /* of tasks in the scope, though neither tgid nor cgroup says so */
	bool benign; /* what it costs is work that somebody wants done: no symptom makes it worse */
	bool wall;   /* its cost is time that passed, not a sum over tasks */
	const char *evidence[FINDING_LINES]; /* NULL-terminated unless full */
	const char *why;
	const char *try_[FINDING_LINES];
	const char *undo[FINDING_LINES];
	const char *verify[FINDING_LINES];
};

/* One of several recordings that are compared; its stream has no names. */
struct report_side {
	const char *name;
	const struct stream *stream;
};

struct report {
	const char *command;
	const struct stream *stream;
	/* A report on recordings before and after: `stream` is of the first one after, this of the
	 * first before; else NULL. */
	const struct stream *before;
	const char *names[2];              /* of the two, the one before first */
	VEC(struct report_side) others[2]; /* the other recordings of the two sides */
	const char *of;                    /* the command whose tables they are */
	struct arena arena;
	VEC(struct table *) tables;   /* tables and their cells are freed with the report */
	VEC(struct finding) findings; /* in order of rank */
	VEC(struct finding)
	elsewhere;               /* likewise: outside of the scope; titles only */
	bool unrecorded;         /* of what it looks at, the recording lacks some */
	bool scoped;             /* some tasks or a group were asked for, not the machine */
	bool has_findings;       /* the command looks for findings: show "none" as an answer */
	const char *verdict;     /* one line, or NULL */
	VEC(const char *) notes; /* what a reader must know to read the numbers rightly */
	VEC(const char *) not_checked; /* what could not be looked at, and why */
	VEC(const char *) next;        /* what to run next */
	const char *fields;            /* --fields, NULL: all */
	const char *sort;              /* --sort, NULL: each table's own */
	const char *only;              /* --table NAME, NULL: all */
	u32 limit;                     /* rows of each table, 0: all */
	bool limited;                  /* … as --limit said */
	bool repeated;                 /* one of several, each of an interval (-i) */
};

/* The stream (never NULL, it may be empty) must outlive the report. */
void report_init(struct report *r, const char *command, const struct stream *stream);
void report_destroy(struct report *r);
/* Seconds of the interval, never 0. */
double report_seconds(const struct report *r);
/* ns as a share of the interval; several tasks can together lose more than 1. */
double report_share(const struct report *r, u64 ns);

/* Text owned by the report; "" when memory is short. */
const char *report_text(struct report *r, const char *fmt, ...) _printf_(2, 3);
/* The same of n bytes of text, up to their NUL. */
const char *report_textn(struct report *r, const char *text, size_t n);
/* Time that tasks lost, as a share of the interval: "12.5 % of the time", "2.8 tasks held up on
 * average". */
const char *report_share_text(struct report *r, u64 ns);
/* The running kernel's name for a value of the stream's set (REC_ENUM), or the number. */
const char *report_enum(struct report *r, const char *set, u64 value);
/* A process as people know it: "nginx (pid 12)", "python3 worker.py (pid 13)". */
const char *report_process(struct report *r, u32 tgid);
/* The same without its number. */
const char *report_program(struct report *r, u32 tgid);
/* The short name of a cgroup's path, where it has one (event/cgroup_name.h). */
const char *report_cgroup(struct report *r, const char *path);
/* Is a group (id) this one, or below it? No group is taken to be below the root. */
bool report_cgroup_within(const struct report *r, u64 cgroup, u64 top);
/* The time of day, "21:30:25", of a time in the stream; "" where the stream does not tell. */
const char *report_clock(struct report *r, u64 time_ns);
void report_note(struct report *r, const char *fmt, ...) _printf_(2, 3);
void report_not_checked(struct report *r, const char *fmt, ...) _printf_(2, 3);
void report_next(struct report *r, const char *fmt, ...) _printf_(2, 3);
/* Adds a finding to be filled, valid until the next is added; NULL when memory is short. */
struct finding *report_finding(struct report *r, int level, const char *rule);
/*
 * Adds a line to evidence, try_, undo or verify; lines beyond FINDING_LINES are dropped. As with
 * report_next, the format is a sentence with commands in `backticks`. A command is built from
 * words: each %s in it is quoted for a shell, so it is one word or a part of one, whatever it
 * holds. In a sentence a %s cannot begin a command: its backticks become apostrophes. There is no
 * %c and no %*.
 */
void finding_line(struct report *r, const char *lines[FINDING_LINES], const char *fmt, ...)
	_printf_(3, 4);
/*
 * The same where a command line of the system ends a line: the format ends within a command, which
 * goes on with these words, COMMAND_WORD_END between them, each quoted for a shell.
 */
#define COMMAND_WORD_END "\x1f"
void finding_command(struct report *r, const char *lines[FINDING_LINES], const char *words,
	const char *fmt, ...) _printf_(4, 5);
/* Puts symptoms below what causes them, and says of each cause which part of the time lost it
 * explains. To be called once, before report_rank(). */
void report_explain(struct report *r);
/*
 * Parts findings, by the words of a scope ("pid 12, comm cc1"; "system-wide", "" and NULL: none):
 * those of the machine, and of groups that none of its tasks is in, go to `elsewhere`.
 */
void report_split(struct report *r, const char *words);
/* Do the words of a scope leave out a part of the machine? */
bool report_scope_is_part(const char *words);
/* Splits, explains and ranks. To be called once, instead of these. */
void report_conclude(struct report *r, const char *words);
/* Orders findings by level, then by cost, then by memory. Where one gives a command that one before
 * it gives too, it refers to that instead. What is to be tried and changes nothing has nothing to
 * undo. To be called once. */
void report_rank(struct report *r);
const char *finding_level_name(int level);
/* -EINVAL for a name that is none. */
int finding_level_parse(const char *name, int *ret_level);
/* Adds what the stream itself says: its notes to notes and not_checked, and the data its probes
 * could not obtain to not_checked, by cause. A text that is already there is not added twice. */
void report_add_stream_notes(struct report *r);

/* Notes that earlier reports of the run had. Zeroed at first. */
struct notes_told {
	VEC(char *) texts;
};

/* Leaves out the notes that were told, and keeps the others as told. -ENOMEM: some are kept. */
int report_drop_told(struct report *r, struct notes_told *told);
void notes_told_free(struct notes_told *told);
/* Was something not looked at for want of rights? */
bool report_is_refused(const struct report *r);
/* What to do about it, as a sentence. */
const char *report_refused_remedy(const struct report *r);
/* If so, empty tables do not say that there was nothing, and the verdict says that the report is
 * incomplete. Returns whether there were such tables. */
bool report_tell_refused(struct report *r);
/* The notes alone. */
void report_add_notes(struct report *r);
/* Data that could not be obtained, in groups of what is the same in this. */
typedef bool (*missing_same_fn)(const struct stream_method *a, const struct stream_method *b);
bool missing_by_cause(const struct stream_method *a, const struct stream_method *b);
bool missing_by_remedy(const struct stream_method *a, const struct stream_method *b);
/* Is it the first of its group? */
bool missing_is_first(
	const struct stream *s, const struct stream_method *like, missing_same_fn same);
/* "faults: huge pages; stalls: retries, throttling"; of many "faults, stalls (12 kinds of data)".
 */
void missing_list_add(struct str *out, const struct stream *s, const struct stream_method *like,
	missing_same_fn same);

/* Holds --fields, --sort and --table against the tables: 0, or -EINVAL with the nearest name. */
int report_check(const struct report *r, struct err *err);
/* Any table (of those chosen by --table) has a column of stacks: -o folded has something to say. */
bool report_has_stacks(const struct report *r);

/* A new empty table. cols must outlive the report. NULL when memory is short. */
struct table *report_table(struct report *r, const char *name, const char *title,
	const struct column *cols, size_t n_cols);
/* Puts the rows of the last table behind those of the one before it, which has the same columns,
 * and takes that last one away. -ENOMEM */
int report_join(struct report *r);
/* Rows that will not be shown, as --sort and --limit say, are dropped while it is filled: only
 * where no column is COL_RARE, or all rows have it. Its own sort must be known. keep 0: they stay.
 */
void table_keep(struct table *t, const struct report *r);
/* With keep, before a row is filled: whether it may be shown, by its cell of keep_col. If not, it
 * is counted as cut. */
bool table_takes(struct table *t, const struct cell *c);
/* Appends a row of empty cells and returns it (n_cols cells, valid until the next row), or NULL. */
struct cell *table_row(struct table *t);
struct cell *table_cell(const struct table *t, size_t row, size_t col);
/* Appends a row for each element p of a vector; for none where memory is short, or t is NULL. */
#define table_each(row, t, p, vec) \
	vec_each (p, vec)          \
		for (struct cell *row = (t) ? table_row(t) : NULL; row; row = NULL)
/* Index of the column, or -ENOENT. */
int table_column(const struct table *t, const char *name);
/* Fills cols (room for t->n_cols) with the columns named by `--fields`, in that order, each once;
 * all of them when fields is NULL. Returns how many. */
size_t table_select(const struct table *t, const char *fields, size_t *cols);
/* Fills order (room for t->n_rows) with the rows in the order of `--sort` (ignored where the table
 * has no such column) or of the table's own column: stable, empty cells last. */
void table_order(const struct table *t, const char *sort, size_t *order);
/* How many of the first n rows in that order are worth showing to somebody who did not say how many
 * to show: they have a hundredth of what the first one has, or are among the first five. */
size_t table_worth(const struct table *t, const char *sort, const size_t *order, size_t n);
/* Sorts the rows like table_order and cuts them to --limit. Returns how many rows were cut.
 * Renderers do it by themselves; this is for a report that is looked at before. */
size_t table_arrange(struct table *t, const char *sort, u32 limit);

static inline struct cell cell_u64(u64 v)
{
	return (struct cell){.type = CELL_U64, .u = v};
}

/* A time in the stream, as time since its start. */
static inline struct cell cell_since(const struct report *r, u64 time_ns)
{
	u64 start = r->stream->session.h.time_ns;

	return cell_u64(time_ns > start ? time_ns - start : 0);
}

static inline struct cell cell_s64(s64 v)
{
	return (struct cell){.type = CELL_S64, .s = v};
}

static inline struct cell cell_f64(double v)
{
	return (struct cell){.type = CELL_F64, .f = v};
}

static inline struct cell cell_text(const char *v)
{
	return v ? (struct cell){.type = CELL_TEXT, .text = v} : (struct cell){};
}

/* A NUMA node; empty below 0: not known. */
static inline struct cell cell_node(s32 node)
{
	return node < 0 ? (struct cell){} : cell_u64((u64)node);
}

static inline struct cell cell_stack(u32 id)
{
	return id ? (struct cell){.type = CELL_STACK, .stack = id} : (struct cell){};
}

/* One function of a stack: a frame, or a function inlined into it. */
struct stack_line {
	const char *function; /* NULL: not known */
	const char *file;     /* of the source; NULL: not known */
	const char *module;   /* path of the file that holds the code; NULL: not known */
	u32 line;             /* in file, 0: not known */
	u64 offset;           /* from the start of function, or of module when function is NULL */
	u64 address;
	u32 frame, part; /* in the stream; which of its functions, the innermost first */
	bool kernel;
	bool inlined;
};

/* Calls fn for each frame of a stack (its id in the stream), innermost first. */
void stack_each_frame(
	const struct stream *s, u32 stack, void (*fn)(void *arg, u32 frame), void *arg);
/* Calls fn for each line of a frame, the innermost inlined function first; at least once. */
void frame_each(const struct stream *s, u32 frame,
	void (*fn)(void *arg, const struct stack_line *l), void *arg);
/* Calls fn for each line of a stack, innermost first. */
void stack_each(const struct stream *s, u32 stack,
	void (*fn)(void *arg, const struct stack_line *l), void *arg);
/* "function (file:line)", else "function+0x10 (module)", else "/path/module+0x10", else "0x10".
 * `full`: files and modules with their directories. */
#define NO_SYMBOL "(no symbol)" /* in place of an address of the kernel */
void stack_line_add(struct str *out, const struct stack_line *l, bool full);
/*
 * The lines of a stack as text, innermost first: "function (file:line)" or
 * "function+0x10 (module)"; kernel frames end in "_[k]" where the caller asks for marks.
 * Each inlined function is a line of its own, marked "[inlined]".
 */
void stack_lines(const struct stream *s, u32 stack, bool mark_kernel,
	void (*line)(void *arg, const char *text), void *arg);
/* The same without what allocators and the kernel's entry have on all stacks (src/report/
 * stack_told.c has the list), for evidence; all of it where less than two lines would be left. */
void stack_told_lines(
	const struct stream *s, u32 stack, void (*line)(void *arg, const char *text), void *arg);

#endif
