/* See frag_allocate.h. */
#include "probes/frag/frag_allocate.h"

#include <errno.h>

#include "analysis/cells.h"
#include "base/units.h"

/* The zones of one node, by their number in it. */
struct node {
	u32 node;
	u32 orders;
	u32 kernel_index;
	bool movable; /* has zones above kernel_index */
	bool has[FRAG_ZONES];
	struct frag_pool pools[FRAG_ZONES];
};

struct choice {
	const struct frag_pool *pool;
	struct frag_answer a;
	u32 order;
	bool movable;
};

static void frag_allocate_node_add(struct node *n, const struct frag_pool *p)
{
	const struct frag_zone *z = &p->zone;
	u32 orders = MIN(z->orders, (u32)FRAG_ORDERS);

	if (!(z->flags & FRAG_MARKS) || z->index >= FRAG_ZONES)
		return;
	n->has[z->index] = true;
	n->pools[z->index] = *p;
	n->orders = MAX(n->orders, orders);
	n->kernel_index = z->kernel_index;
	n->movable |= z->index > z->kernel_index;
}

static struct node frag_allocate_node_of(const struct zones *z, u32 number, const struct stream *s)
{
	struct node n = {.node = number};

	for (size_t i = 0; i < z->zones.n; i++) {
		struct frag_pool p;

		if (zones_get(z, i)->last.node != number)
			continue;
		p = zones_pool(z, i, s);
		frag_allocate_node_add(&n, &p);
	}
	return n;
}

/* Zones are tried from the highest allowed down; the best answer counts. */
static struct choice node_ask(const struct node *n, u32 order, bool movable)
{
	struct choice best = {};

	for (u32 i = FRAG_ZONES; i-- > 0;) {
		struct frag_answer a;

		if (!n->has[i] || (!movable && i > n->kernel_index))
			continue;
		a = frag_meet(&n->pools[i], order);
		if (a.meets && (!best.pool || a.meets < best.a.meets))
			best = (struct choice){&n->pools[i], a, order, movable};
	}
	return best;
}

static const char *bytes_text(struct report *r, s64 pages)
{
	char buf[UNIT_BUF];

	return report_text(r, "%s", fmt_bytes(buf, (u64)MAX(pages, (s64)0) * page_bytes(r)));
}

static const char *reason(struct report *r, const struct choice *c)
{
	const struct frag_answer *a = &c->a;
	const char *free = bytes_text(r, a->free_pages);
	const char *low = bytes_text(r, (s64)a->low_pages), *min = bytes_text(r, (s64)a->min_pages);

	switch (a->why) {
	case WHY_ABOVE_LOW:
		return report_text(r, "%s free, low watermark %s", free, low);
	case WHY_BELOW_LOW:
		return report_text(r, "%s free, under the low watermark %s", free, low);
	case WHY_NO_BLOCK:
		return report_text(r, "%s free, but in smaller blocks", free);
	case WHY_BELOW_MIN:
		return report_text(r, "%s free, min watermark %s", free, min);
	case WHY_NO_ROOM:
		return report_text(r, "no block; %s free, compacting takes %s", free,
			bytes_text(r, (s64)a->room_pages));
	case WHY_SHORT:
		return report_text(r, "no block; index %d.%03d says memory is short",
			a->index / 1000, a->index % 1000);
	case WHY_RESERVED:
		return report_text(r, "%s free, %s kept for lower zones", free, low);
	case WHY_NO_COMPACTION:
		return "no block, and this kernel does not compact";
	default:
		return NULL;
	}
}

CELL_EXPR(choice_node, struct choice, cell_u64(e->pool->zone.node))
CELL_EXPR(choice_kind, struct choice, cell_text(e->movable ? "movable" : "kernel"))
CELL_EXPR(choice_bytes, struct choice, cell_u64(page_bytes(r) << e->order))
CELL_EXPR(choice_meets, struct choice, cell_text(frag_meets_name(e->a.meets)))
CELL_EXPR(choice_zone, struct choice, cell_text(report_text(r, "%.16s", e->pool->zone.zone)))
CELL_EXPR(choice_reason, struct choice, cell_text(reason(r, e)))

static const struct cell_column columns[] = {
	CELL_BY(0, "node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node the memory is to come from",
		choice_node),
	CELL_BY(0, "allocation", "FOR", CELL_TEXT, UNIT_NONE, 0,
		"kernel: any zone but those for movable pages only; movable: all zones (only shown "
		"where the two differ)",
		choice_kind),
	CELL_NUMBER(struct choice, order, "order", "ORDER", UNIT_ID, 0, "2^order pages"),
	CELL_BY(0, "bytes", "SIZE", CELL_U64, UNIT_BYTES, 0, "size of the allocation",
		choice_bytes),
	CELL_BY(0, "meets", "MEETS", CELL_TEXT, UNIT_NONE, 0,
		"immediate, kswapd (immediate, and kswapd is woken), compaction, reclaim",
		choice_meets),
	CELL_BY(0, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone that serves it, or comes nearest",
		choice_zone),
	CELL_BY(0, "reason", "WHY", CELL_TEXT, UNIT_NONE, 0, "what decides it", choice_reason),
	CELL_NUMBER(struct choice, a.free_pages, "free_pages", "FREE", UNIT_PAGES, COL_WIDE,
		"free pages of the zone that count against the watermarks"),
	CELL_NUMBER(struct choice, a.low_pages, "low_pages", "LOW", UNIT_PAGES, COL_WIDE,
		"low watermark, with the zone's reserve for lower zones"),
	CELL_NUMBER(struct choice, a.min_pages, "min_pages", "MIN", UNIT_PAGES, COL_WIDE,
		"min watermark, likewise"),
	CELL_NUMBER(struct choice, a.index, "index_permille", "INDEX", UNIT_PERMILLE, COL_WIDE,
		"fragmentation index of the zone"),
};

/* A page, the largest order that counts as cheap, a huge page, the largest block; and every order
 * from which on it is different. */
static int node_rows(
	struct table *t, struct report *r, const struct node *n, u32 pageblock_order, bool movable)
{
	struct choice last = {};
	int rc = 0;

	for (u32 order = 0; order < n->orders && !rc; order++) {
		struct choice c = node_ask(n, order, movable);
		bool asked = !order || order == FRAG_COSTLY_ORDER || order == pageblock_order ||
			     order + 1 == n->orders;

		if (!c.pool)
			continue;
		if (asked || c.a.meets != last.a.meets)
			rc = cells_one(t, r, columns, &c, NULL);
		last = c;
	}
	return rc;
}

/* The lowest order that is not served at once somewhere. */
struct limit {
	u32 order;
	u32 node;
	enum frag_meets meets; /* MEETS_UNKNOWN: every order is served */
};

static void limit_add(struct limit *l, const struct node *n)
{
	for (u32 order = 0; order < n->orders; order++) {
		struct choice c = node_ask(n, order, false);

		if (c.a.meets < MEETS_COMPACTION)
			continue;
		if (!l->meets || order < l->order)
			*l = (struct limit){order, n->node, c.a.meets};
		return;
	}
}

static void verdict_set(struct report *r, const struct limit *l)
{
	const char *meets = frag_meets_name(l->meets);

	if (r->verdict)
		return;
	if (!l->meets)
		r->verdict = "An allocation of any order is served at once.";
	else if (!l->order)
		r->verdict = report_text(
			r, "Memory is short: on node %u a single page meets %s.", l->node, meets);
	else
		r->verdict = report_text(r,
			"Up to order %u (%s) an allocation is served at once; order %u meets %s "
			"on node %u.",
			l->order - 1, bytes_text(r, 1LL << (l->order - 1)), l->order, meets,
			l->node);
}

static bool node_is_new(const struct zones *z, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (zones_get(z, before)->last.node == zones_get(z, i)->last.node)
			return false;
	return true;
}

int allocate_report(const struct zones *z, u32 pageblock_order, struct report *r)
{
	struct table *t = cells_table(
		r, "allocate", "What an allocation meets now", columns, ARRAY_SIZE(columns));
	struct limit limit = {};
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < z->zones.n && !rc; i++) {
		struct node n;

		if (!node_is_new(z, i))
			continue;
		n = frag_allocate_node_of(z, zones_get(z, i)->last.node, r->stream);
		rc = node_rows(t, r, &n, pageblock_order, false);
		if (!rc && n.movable)
			rc = node_rows(t, r, &n, pageblock_order, true);
		limit_add(&limit, &n);
	}
	if (!rc && t->n_rows)
		verdict_set(r, &limit);
	return rc;
}

const struct view_table allocate_tables[] = {
	CELLS_VIEW("allocate", columns),
	{},
};
