/* See where_limits.h. */
#include "probes/where/where_limits.h"

#include <errno.h>

#define LEVELS_MOST 256

enum { M_GROUP, M_USAGE, M_LIMIT, M_HIGH, M_HEADROOM, M_SWAP, M_HITS, M_NEAREST, M_N };

static const struct column columns[M_N] = {
	[M_GROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_MAIN,
		"the group, and those above it"},
	[M_USAGE] = {"usage_bytes", "USAGE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory charged to it and to those below"},
	[M_LIMIT] = {"limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory.max, of version 1 memory.limit_in_bytes; empty: none"},
	[M_HIGH] = {"high_bytes", "HIGH", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_RARE,
		"memory.high, above which it is slowed down; empty: none"},
	[M_HEADROOM] = {"headroom_bytes", "HEADROOM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what it can still be charged until the lower one of the two"},
	[M_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"of it in swap"},
	[M_HITS] = {"limit_hit_total", "LIMIT HIT", CELL_U64, UNIT_COUNT, COL_LESSER,
		"how often it met its limit since it was made"},
	[M_NEAREST] = {"nearest", "NEAREST", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"yes: of the chain this limit leaves least headroom"},
};

const struct view_table where_limits_tables[] = {
	{"limits", columns, M_N, sizeof(struct column)},
	{},
};

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

int where_limits_report(const struct where_limits *l, struct report *r)
{
	struct table *t = report_table(r, "limits", "Limits of the chain", columns, M_N);
	u64 least = WHERE_NO_LIMIT;

	if (!t)
		return -ENOMEM;
	t->story = true;
	vec_each (m, &l->list)
		least = MIN(least, headroom(m));
	table_each (c, t, m, &l->list) {
		c[M_GROUP] = cell_text(stream_cgroup(r->stream, m->cgroup));
		c[M_USAGE] = cell_u64(m->usage_bytes);
		c[M_LIMIT] = cell_limit(m->limit_bytes);
		c[M_HIGH] = cell_limit(m->high_bytes);
		c[M_HEADROOM] = cell_limit(headroom(m));
		c[M_SWAP] = cell_u64(m->swap_bytes);
		c[M_HITS] = cell_u64(m->limit_hit_total);
		if (least != WHERE_NO_LIMIT && headroom(m) == least)
			c[M_NEAREST] = cell_text("yes");
	}
	return t->failed ? -ENOMEM : 0;
}
