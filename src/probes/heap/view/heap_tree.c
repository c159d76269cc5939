/* See heap_tree.h. */
#include "probes/heap/view/heap_tree.h"

#include <errno.h>
#include <stdlib.h>

enum {
	T_PID,
	T_DEPTH,
	T_TREE,
	T_PROCESSES,
	T_PEAK,
	T_PEAK_MOST,
	T_LIVE,
	T_ALLOCATIONS,
	T_BYTES,
	T_SUM_LIVE,
	T_SUM_ALLOCATIONS,
	T_SUM_BYTES,
	T_STATE,
	T_N,
};

_Static_assert(T_N == HEAP_TREE_COLUMNS, "columns of the tree");

const struct column heap_tree_columns[HEAP_TREE_COLUMNS] = {
	[T_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id; none: all processes"},
	[T_DEPTH] = {"depth", "DEPTH", CELL_U64, UNIT_COUNT, COL_WIDE,
		"how many processes are above it"},
	[T_TREE] = {"tree", "TREE", CELL_TEXT, UNIT_NONE, 0,
		"name of the process, below what it was before its exec, or who started it"},
	[T_PROCESSES] = {"processes", "PROCESSES", CELL_U64, UNIT_COUNT, 0,
		"this one and all below it; each exec counts as one, and only those that "
		"allocated or mapped are known"},
	[T_PEAK] = {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"most bytes that it had allocated at one time; of all: together, as seen every "
		"few ms, since the order between processes is not known to less"},
	[T_PEAK_MOST] = {"peak_most_bytes", "AT MOST", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL,
		"of all: their peak was not above this"},
	[T_LIVE] = {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL,
		"its own, by its end or that of the interval"},
	[T_ALLOCATIONS] = {"allocations", "ALLOCS", CELL_U64, UNIT_COUNT, COL_WIDE,
		"its own blocks allocated"},
	[T_BYTES] = {"allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES, 0,
		"asked for its own blocks"},
	[T_SUM_LIVE] = {"sum_live_bytes", "SUM LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"live_bytes of it and all below it; of those that ended, by their end"},
	[T_SUM_ALLOCATIONS] = {"sum_allocations", "SUM ALLOCS", CELL_U64, UNIT_COUNT, 0,
		"blocks allocated, it and all below it"},
	[T_SUM_BYTES] = {"sum_allocated_bytes", "SUM ALLOCATED", CELL_U64, UNIT_BYTES, 0,
		"asked for these"},
	[T_STATE] = {"state", "STATE", CELL_TEXT, UNIT_NONE, 0,
		"fork, exec (of the process above), or empty: started by it, or by nobody known"},
};

struct node {
	const struct heap_total *total;
	u32 first, last, next; /* children, in the order they came: index plus one */
	u32 above;             /* the same */
	u32 depth;
	u64 processes, live, allocations, bytes;
};

static int by_number(const void *a, const void *b)
{
	u32 x = ((const struct node *)a)->total->process,
	    y = ((const struct node *)b)->total->process;

	return x < y ? -1 : x > y;
}

/* Index plus one of a number below its own; 0: none. */
static u32 node_above(const struct node *all, size_t i)
{
	const struct heap_total *t = all[i].total;
	u32 wanted = t->before ? t->before : t->parent;
	size_t low = 0, high = i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].total->process < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low < i && all[low].total->process == wanted ? (u32)low + 1 : 0;
}

static void node_add(struct node *to, const struct node *n)
{
	to->processes += n->processes;
	to->live += n->live;
	to->allocations += n->allocations;
	to->bytes += n->bytes;
}

/* What is above has a lower number, so one pass down links and one pass up sums. all[n] is all. */
static void tree_make(struct node *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct heap_total *t = all[i].total;
		u32 above = node_above(all, i);
		struct node *up = &all[above ? above - 1 : n];

		all[i].above = above;
		all[i].depth = above ? up->depth + 1 : 0;
		all[i].processes = 1;
		all[i].live = t->live_bytes;
		all[i].allocations = t->allocations;
		all[i].bytes = t->bytes;
		if (up->last)
			all[up->last - 1].next = (u32)i + 1;
		else
			up->first = (u32)i + 1;
		up->last = (u32)i + 1;
	}
	for (size_t i = n; i > 0; i--)
		node_add(&all[all[i - 1].above ? all[i - 1].above - 1 : n], &all[i - 1]);
}

static void sums_fill(struct cell *row, const struct node *n)
{
	row[T_PROCESSES] = cell_u64(n->processes);
	row[T_SUM_LIVE] = cell_u64(n->live);
	row[T_SUM_ALLOCATIONS] = cell_u64(n->allocations);
	row[T_SUM_BYTES] = cell_u64(n->bytes);
}

static int node_row(struct table *t, struct report *r, const struct node *all, const struct node *n)
{
	const struct heap_total *of = n->total, *up = n->above ? all[n->above - 1].total : NULL;
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	row[T_PID] = cell_u64(of->tgid);
	row[T_DEPTH] = cell_u64(n->depth);
	row[T_TREE] =
		cell_text(report_text(r, "%*s%.16s", 2 * (int)MIN(n->depth, 20U), "", of->comm));
	row[T_PEAK] = cell_u64(of->peak_bytes);
	row[T_LIVE] = cell_u64(of->live_bytes);
	row[T_ALLOCATIONS] = cell_u64(of->allocations);
	row[T_BYTES] = cell_u64(of->bytes);
	if (of->h.flags & HEAP_FORKED)
		row[T_STATE] = cell_text("fork");
	else if (up && up->tgid == of->tgid)
		row[T_STATE] = cell_text("exec");
	sums_fill(row, n);
	return 0;
}

static int all_row(struct table *t, const struct node *n, const struct heap_together_record *of)
{
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	row[T_TREE] = cell_text("all processes");
	if (of) {
		row[T_PEAK] = cell_u64(of->peak_bytes);
		row[T_PEAK_MOST] = cell_u64(of->peak_most_bytes);
	}
	sums_fill(row, n);
	return 0;
}

/* Each before those below it. */
static int rows_add(struct table *t, struct report *r, const struct node *all, size_t n)
{
	u32 at = all[n].first;
	int rc = 0;

	while (at && !rc) {
		const struct node *node = &all[at - 1];

		rc = node_row(t, r, all, node);
		at = node->first;
		while (!at && node) {
			at = node->next;
			node = node->above ? &all[node->above - 1] : NULL;
		}
	}
	return rc;
}

int heap_tree_add(struct report *r, const struct heap_total *const *of, size_t n,
	const struct heap_together_record *together)
{
	struct table *t =
		report_table(r, "tree", "Who started whom", heap_tree_columns, HEAP_TREE_COLUMNS);
	_cleanup_free_ struct node *all = calloc(n + 1, sizeof(*all));
	int rc;

	if (!t || !all)
		return -ENOMEM;
	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		all[i].total = of[i];
	qsort(all, n, sizeof(*all), by_number);
	tree_make(all, n);
	rc = all_row(t, &all[n], together);
	return rc ? rc : rows_add(t, r, all, n);
}
