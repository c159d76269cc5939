/* See where_limits.h. */
#include "probes/where/where_limits.h"

#include <errno.h>

#include "analysis/cells.h"

#define LEVELS_MOST 256

void where_limits_free(struct where_limits *l)
{
	vec_free(&l->list);
}

int where_limits_feed(struct where_limits *l, const struct where_limit *r)
{
	if (l->list.n && l->list.v[0].sample != r->sample)
		l->list.n = 0;
	return l->list.n < LEVELS_MOST ? vec_push(&l->list, *r) : 0;
}

/* WHERE_NO_LIMIT: there is none. */
static u64 headroom(const struct where_limit *m)
{
	u64 least = MIN(m->limit_bytes, m->high_bytes);

	if (least == WHERE_NO_LIMIT)
		return WHERE_NO_LIMIT;
	return least > m->usage_bytes ? least - m->usage_bytes : 0;
}

static struct cell cell_limit(u64 v)
{
	return v == WHERE_NO_LIMIT ? (struct cell){} : cell_u64(v);
}

CELL_EXPR(limit_cell, struct where_limit, cell_limit(e->limit_bytes))
CELL_EXPR(high_cell, struct where_limit, cell_limit(e->high_bytes))
CELL_EXPR(headroom_cell, struct where_limit, cell_limit(headroom(e)))

/* The view: the least headroom of the chain. */
static CELL_GET(nearest_cell)
{
	u64 least = *(const u64 *)row->view;

	return cell_text(least != WHERE_NO_LIMIT && headroom(row->sums) == least ? "yes" : NULL);
}

static const struct cell_column columns[] = {
	CELL_FROM(0, struct where_limit, cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP,
		COL_MAIN, "the group, and those above it", cell_of_cgroup),
	CELL_NUMBER(struct where_limit, usage_bytes, "usage_bytes", "USAGE", UNIT_BYTES, COL_LEVEL,
		"memory charged to it and to those below"),
	CELL_BY(0, "limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory.max, of version 1 memory.limit_in_bytes; empty: none", limit_cell),
	CELL_BY(0, "high_bytes", "HIGH", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_RARE,
		"memory.high, above which it is slowed down; empty: none", high_cell),
	CELL_BY(0, "headroom_bytes", "HEADROOM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what it can still be charged until the lower one of the two", headroom_cell),
	CELL_NUMBER(struct where_limit, swap_bytes, "swap_bytes", "SWAP", UNIT_BYTES,
		COL_LEVEL | COL_LESSER, "of it in swap"),
	CELL_NUMBER(struct where_limit, limit_hit_total, "limit_hit_total", "LIMIT HIT", UNIT_COUNT,
		COL_LESSER, "how often it met its limit since it was made"),
	CELL_BY(0, "nearest", "NEAREST", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"yes: of the chain this limit leaves least headroom", nearest_cell),
};

const struct view_table where_limits_tables[] = {
	CELLS_VIEW("limits", columns),
	{},
};

int where_limits_report(const struct where_limits *l, struct report *r)
{
	struct table *t =
		cells_table(r, "limits", "Limits of the chain", columns, ARRAY_SIZE(columns));
	u64 least = WHERE_NO_LIMIT;

	if (!t)
		return -ENOMEM;
	t->story = t->lasts = true;
	vec_each (m, &l->list)
		least = MIN(least, headroom(m));
	cells_each(t, r, columns, &l->list, &least);
	return t->failed ? -ENOMEM : 0;
}
