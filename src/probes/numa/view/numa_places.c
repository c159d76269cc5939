/* See numa_places.h. */
#include "probes/numa/view/numa_places.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/numa/judge/numa_words.h"

#define ROWS_MAX 20000

/* A mapping of the kernel, as it was when last looked at. */
struct seen_key {
	u64 start;
	u32 tgid, reserved;
};

struct seen_part {
	u32 look, object;
	u64 bytes[NUMA_NODES];
};

/* A look at a process goes over its mappings by address, and over the nodes of each. */
struct looking {
	u64 start;
	s32 node;
	u32 look;
};

static int look_add(struct groups *parts, struct groups *looking, const struct numa_placed *p)
{
	struct seen_key key = {.start = p->start, .tgid = p->tgid};
	struct seen_part *part = groups_get(parts, &key);
	struct looking *at = groups_get(looking, &p->tgid);

	if (!part || !at)
		return -ENOMEM;
	if (!at->look || p->start < at->start || (p->start == at->start && p->node <= at->node))
		at->look++;
	at->start = p->start;
	at->node = p->node;
	if (part->look != at->look)
		*part = (struct seen_part){.look = at->look};
	part->object = p->object;
	part->bytes[p->node] = p->pages * p->page_bytes;
	return 0;
}

static int looks_make(const struct numa_feed *f, struct groups *parts, struct groups *looking)
{
	size_t n;
	const struct numa_placed *p = numa_places(f, &n);
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (p[i].sum && p[i].node >= 0)
			rc = look_add(parts, looking, &p[i]);
	return rc;
}

static int look_sum(
	const struct numa_feed *f, const struct seen_part *part, struct numa_places_held *h)
{
	struct numa_site site = {};
	struct object o;
	u64(*bytes)[NUMA_NODES];

	if (numa_object_any(f, part->object, &o))
		site = numa_site_of(&o, part->object, false);
	bytes = groups_get(&h->sites, &site);
	if (!bytes)
		return -ENOMEM;
	for (u32 i = 0; i < NUMA_NODES; i++) {
		(*bytes)[i] += part->bytes[i];
		h->bytes[i] += part->bytes[i];
		h->any = h->any || part->bytes[i];
	}
	return 0;
}

int numa_places_sum(const struct numa_feed *f, struct numa_places_held *ret)
{
	struct groups parts, looking;
	int rc;

	*ret = (struct numa_places_held){};
	groups_init(&ret->sites, sizeof(struct numa_site), sizeof(u64[NUMA_NODES]));
	groups_init(&parts, sizeof(struct seen_key), sizeof(struct seen_part));
	groups_init(&looking, sizeof(u32), sizeof(struct looking));
	rc = looks_make(f, &parts, &looking);
	for (size_t i = 0; i < parts.n && !rc; i++) {
		const struct seen_key *key = groups_key(&parts, i);
		const struct seen_part *part = groups_value(&parts, i);
		const struct looking *last = groups_find(&looking, &key->tgid);

		if (part->look == last->look) /* else it was gone by then */
			rc = look_sum(f, part, ret);
	}
	groups_free(&parts);
	groups_free(&looking);
	return rc;
}

void numa_places_free(struct numa_places_held *h)
{
	groups_free(&h->sites);
}

struct place_row {
	const struct numa_site *site;
	u64 bytes, all;
	u32 node;
};

/* Of the view, struct numa_feed. */
CELL_EXPR(place_name, struct place_row,
	e->site->kind ? cell_text(numa_site_name(r, row->view, e->site)) : (struct cell){})
CELL_EXPR(place_kind, struct place_row,
	e->site->kind ? cell_text(numa_kind_name(e->site->kind)) : (struct cell){})
CELL_EXPR(place_pid, struct place_row, e->site->tgid ? cell_u64(e->site->tgid) : (struct cell){})
CELL_EXPR(place_share, struct place_row, cell_ratio(e->bytes, e->all))

static const struct cell_column columns[] = {
	CELL_BY(0, "name", "WHAT", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"who mapped it, the file, the stack's thread; neighbours that the kernel merged "
		"count as the first; empty: not known, as of a process that was idle",
		place_name),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "as of objects", place_kind),
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, COL_WIDE, "process; empty: of any", place_pid),
	CELL_NUMBER(
		struct place_row, node, "node", "NODE", UNIT_ID, COL_WIDE, "that its pages are on"),
	CELL_NUMBER(struct place_row, bytes, "bytes", "HOLDS", UNIT_BYTES,
		COL_WIDE | COL_WEIGHT | COL_LEVEL,
		"of its pages on the node, when last looked at (exact; what several processes map "
		"counts for each)"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_WIDE, "of all its pages",
		place_share),
};

const struct view_table numa_place_tables[] = {
	CELLS_VIEW("places", columns),
	{},
};

static int numa_places_rows_add(struct table *t, struct report *r, const struct numa_feed *f,
	const struct numa_site *site, const u64 bytes[NUMA_NODES])
{
	struct place_row row = {.site = site};
	int rc = 0;

	for (u32 i = 0; i < NUMA_NODES; i++)
		row.all += bytes[i];
	for (row.node = 0; row.node < NUMA_NODES && !rc; row.node++) {
		row.bytes = bytes[row.node];
		if (row.bytes)
			rc = cells_one(t, r, columns, &row, f);
	}
	return rc;
}

int numa_places_report(
	struct report *r, const struct numa_feed *f, const struct numa_places_held *h)
{
	struct table *t = cells_table(r, "places", "Where memory is", columns, ARRAY_SIZE(columns));
	int rc = t ? 0 : -ENOMEM;

	if (rc)
		return rc;
	t->sort = "bytes";
	for (size_t i = 0; i < h->sites.n && t->n_rows < ROWS_MAX && !rc; i++)
		rc = numa_places_rows_add(t, r, f, groups_key(&h->sites, i),
			*(u64(*)[NUMA_NODES])groups_value(&h->sites, i));
	return rc;
}
