/*
 * --by: which keys a view counts by, the columns that belong to them, and the sums by those keys.
 * What a view of tasks needs of it is the same everywhere: its keys (enum by_task) come first.
 */
#ifndef MEMWHY_ANALYSIS_BY_H
#define MEMWHY_ANALYSIS_BY_H

#include "analysis/cells.h"
#include "base/groups.h"
#include "report/view.h"

/* Bits of the keys that all views of tasks have; their names stand first in by_keys. */
enum by_task {
	BY_PROCESS = 1,
	BY_THREAD = 2,
	BY_COMM = 4,
	BY_CGROUP = 8,
	BY_STACK = 16,
	BY_OWN = 32, /* the first of the view's own, then BY_OWN << 1, ... */
};

#define BY_TASKS (BY_PROCESS | BY_THREAD)
#define BY_TASK_KEYS "process", "thread", "comm", "cgroup", "stack"

/* The key of a task, to be the first member of a view's key. What is not asked for is zero. */
struct by_task_key {
	u64 cgroup;
	u32 tgid, tid;
	u32 stack;
	u32 reserved;
	char comm[COMM_LEN];
};

struct by_task_key by_task_key(
	u32 by, u32 tgid, u32 tid, u64 cgroup, u32 stack, const char comm[COMM_LEN]);
/* The first columns of a view of tasks: of a key whose first member is struct by_task_key. */
cell_get by_pid_cell, by_tid_cell, by_comm_cell, by_cgroup_cell, by_stack_cell;

#define BY_TASK_CELLS BY_TASK_CELLS_BY(by_pid_cell, by_tid_cell, by_comm_cell, by_cgroup_cell)

/* By functions of the view's own. */
#define BY_TASK_CELLS_BY(pid_, tid_, comm_, cgroup_)                                               \
	CELL_BY(BY_TASKS, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", pid_),                 \
		CELL_BY(BY_THREAD, "tid", "TID", CELL_U64, UNIT_ID, 0, "thread id", tid_),         \
		CELL_BY(BY_TASKS | BY_COMM, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,               \
			"name of the process or thread", comm_),                                   \
		CELL_BY(BY_CGROUP, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0, "control group", \
			cgroup_)

#define BY_STACK_CELLS(help_) \
	CELL_BY(BY_STACK, "stack", "STACK", CELL_STACK, UNIT_NONE, 0, help_, by_stack_cell)

#define BY_COLUMNS 40

/* What a view counts: constant. */
struct by_spec {
	const struct cell_column *cells;
	size_t n_columns; /* at most BY_COLUMNS */
	size_t key_size, value_size;
	bool (*shows)(const struct row_of *row); /* NULL: a row for each key */
};

/* More members may follow: .shows. */
#define CELLS_SPEC(cells_, key_, sums_, ...)                                                \
	{                                                                                   \
		.cells = cells_, .n_columns = ARRAY_SIZE(cells_), .key_size = sizeof(key_), \
		.value_size = sizeof(sums_), ##__VA_ARGS__                                  \
	}

/* Sums by the keys that were asked for, and the columns that show them. */
struct by_sums {
	u32 by;
	struct groups groups;
	size_t n_cols;
	struct column cols[BY_COLUMNS];
	size_t index[BY_COLUMNS]; /* in cells */
	const struct cell_column *cells;
	bool (*shows)(const struct row_of *row);
};

/* By the keys of the view v. -EINVAL: --by names what is no key; the error says which there are.
 * --stacks adds BY_STACK. */
int by_sums_init(struct by_sums *s, const struct by_spec *spec, const struct view *v,
	const struct view_options *o, struct err *err);
/* A table with the chosen columns. */
struct table *by_sums_table(
	struct by_sums *s, struct report *r, const char *name, const char *title);
/* A row of it, of any key and sums; view: what the functions of the columns need besides. Left out
 * where spec.shows says so, or where it will not be shown (table_keep). -ENOMEM */
int by_sums_row(const struct by_sums *s, struct report *r, struct table *t, const void *key,
	const void *sums, const void *view);
/* A table with the chosen columns and a row for each key. NULL: no memory. */
struct table *by_sums_show(
	struct by_sums *s, struct report *r, const char *name, const char *title);
/* The same, with what the functions of the columns need besides (struct row_of). */
struct table *by_sums_show_with(
	struct by_sums *s, struct report *r, const char *name, const char *title, const void *view);
/* Its rows alone, into a table of by_sums_table(). -ENOMEM */
int by_sums_rows(const struct by_sums *s, struct report *r, struct table *t, const void *view);
void by_sums_free(struct by_sums *s);

#endif
