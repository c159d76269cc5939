/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/cells.h"

struct node {
	const struct heap_total *total;
	u32 first, last, next; /* children, in the order they came: index plus one */
	u32 above;             /* the same */
	u32 depth;
	u64 processes, live, allocations, bytes;
};

static int heap_tree_by_number(const void *a, const void *b)
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

static void heap_tree_node_add(struct node *to, const struct node *n)
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
		heap_tree_node_add(&all[all[i - 1].above ? all[i - 1].above - 1 : n], &all[i - 1]);
}

/* What is asked of all of it: the view of the rows. */
struct tree {
	const struct node *all;
	const struct heap_together_record *together; /* NULL: not known */
};

/* Of a number of the process's own. */
static CELL_GET(own_cell)
{
	const struct heap_total *of = ((const struct node *)row->sums)->total;

	return of ? cell_u64(*(const u64 *)((const char *)of + offset)) : (struct cell){};
}

static CELL_GET(peak_cell)
{
	const struct node *n = row->sums;
	const struct heap_together_record *together = ((const struct tree *)row->view)->together;

	return n->total   ? cell_u64(n->total->peak_bytes)
	       : together ? cell_u64(together->peak_bytes)
			  : (struct cell){};
}

static CELL_GET(peak_most_cell)
{
	const struct node *n = row->sums;
	const struct heap_together_record *together = ((const struct tree *)row->view)->together;

	return !n->total && together ? cell_u64(together->peak_most_bytes) : (struct cell){};
}

static CELL_GET(state_cell)
{
	const struct node *n = row->sums;
	const struct node *up =
		n->above ? &((const struct tree *)row->view)->all[n->above - 1] : NULL;

	if (!n->total)
		return (struct cell){};
	if (n->total->h.flags & HEAP_FORKED)
		return cell_text("fork");
	return cell_text(up && up->total->tgid == n->total->tgid ? "exec" : NULL);
}

CELL_EXPR(pid_cell, struct node, e->total ? cell_u64(e->total->tgid) : (struct cell){})
CELL_EXPR(depth_cell, struct node, e->total ? cell_u64(e->depth) : (struct cell){})
CELL_EXPR(name_cell, struct node,
	cell_text(e->total ? report_text(
				     r, "%*s%.16s", 2 * (int)MIN(e->depth, 20U), "", e->total->comm)
			   : "all processes"))

static const struct cell_column columns[] = {
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id; none: all processes", pid_cell),
	CELL_BY(0, "depth", "DEPTH", CELL_U64, UNIT_COUNT, COL_WIDE,
		"how many processes are above it", depth_cell),
	CELL_BY(0, "tree", "TREE", CELL_TEXT, UNIT_NONE, 0,
		"name of the process, below what it was before its exec, or who started it",
		name_cell),
	CELL_NUMBER(struct node, processes, "processes", "PROCESSES", UNIT_COUNT, 0,
		"this one and all below it; each exec counts as one, and only those that "
		"allocated or mapped are known"),
	CELL_BY(0, "peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"most bytes that it had allocated at one time; of all: together, as seen every "
		"few ms, since the order between processes is not known to less",
		peak_cell),
	CELL_BY(0, "peak_most_bytes", "AT MOST", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL,
		"of all: their peak was not above this", peak_most_cell),
	CELL_FROM(0, struct heap_total, live_bytes, "live_bytes", "LIVE", CELL_U64, UNIT_BYTES,
		COL_WIDE | COL_LEVEL, "its own, by its end or that of the interval", own_cell),
	CELL_FROM(0, struct heap_total, allocations, "allocations", "ALLOCS", CELL_U64, UNIT_COUNT,
		COL_WIDE, "its own blocks allocated", own_cell),
	CELL_FROM(0, struct heap_total, bytes, "allocated_bytes", "ALLOCATED", CELL_U64, UNIT_BYTES,
		0, "asked for its own blocks", own_cell),
	CELL_NUMBER(struct node, live, "sum_live_bytes", "SUM LIVE", UNIT_BYTES, COL_LEVEL,
		"live_bytes of it and all below it; of those that ended, by their end"),
	CELL_NUMBER(struct node, allocations, "sum_allocations", "SUM ALLOCS", UNIT_COUNT, 0,
		"blocks allocated, it and all below it"),
	CELL_NUMBER(struct node, bytes, "sum_allocated_bytes", "SUM ALLOCATED", UNIT_BYTES, 0,
		"asked for these"),
	CELL_BY(0, "state", "STATE", CELL_TEXT, UNIT_NONE, 0,
		"fork, exec (of the process above), or empty: started by it, or by nobody known",
		state_cell),
};

const struct view_table heap_tree_tables[] = {
	CELLS_VIEW("tree", columns),
	{},
};

/* All, then each before those below it. */
static int heap_tree_rows_add(struct table *t, struct report *r, const struct tree *tree, size_t n)
{
	const struct node *all = tree->all;
	u32 at = all[n].first;
	int rc = cells_one(t, r, columns, &all[n], tree);

	while (at && !rc) {
		const struct node *node = &all[at - 1];

		rc = cells_one(t, r, columns, node, tree);
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
	struct table *t = cells_table(r, "tree", "Who started whom", columns, ARRAY_SIZE(columns));
	_cleanup_free_ struct node *all = calloc(n + 1, sizeof(*all));

	if (!t || !all)
		return -ENOMEM;
	t->nested = true;
	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		all[i].total = of[i];
	qsort(all, n, sizeof(*all), heap_tree_by_number);
	tree_make(all, n);
	return heap_tree_rows_add(t, r, &(struct tree){all, together}, n);
}
