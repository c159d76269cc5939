/* See policy_tables.h. */
#include "probes/policy/policy_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/units.h"
#include "probes/policy/policy_words.h"

#define NODE_BAR 30

void policy_show_init(struct policy_show *s)
{
	groups_init(&s->nodes, sizeof(u32), sizeof(struct policy_node));
}

static int mapping_feed(struct policy_show *s, const struct policy_mapping *m)
{
	struct policy_mapped p = {.m = *m, .first = (u32)s->pairs.n};
	u32 n = (m->h.size - (u32)sizeof(*m)) / (2 * sizeof(u32));

	for (u32 i = 0; i < n; i++) {
		if (vec_push(&s->pairs, m->nodes[2 * i]) ||
			vec_push(&s->pairs, m->nodes[2 * i + 1]))
			return -ENOMEM;
		p.bytes += m->nodes[2 * i + 1] * m->page_bytes;
	}
	p.count = n;
	return vec_push(&s->places, p);
}

int policy_show_feed(struct policy_show *s, const struct rec *r)
{
	struct policy_node *n;

	if (r->kind == REC_POLICY_MAPPING && r->size >= sizeof(struct policy_mapping))
		return mapping_feed(s, (const struct policy_mapping *)r);
	if (r->kind == REC_POLICY_THREAD)
		return vec_push(&s->threads, *(const struct policy_thread *)r);
	if (r->kind != REC_POLICY_NODE)
		return 0;
	n = groups_get(&s->nodes, &((const struct policy_node *)r)->node);
	if (!n)
		return -ENOMEM;
	*n = *(const struct policy_node *)r;
	return 0;
}

static char node_digit(u32 node)
{
	return node < 10 ? (char)('0' + node) : node < 36 ? (char)('a' + node - 10) : '*';
}

void policy_picture_add(struct str *out, const u32 *pairs, u32 n)
{
	u64 total = 0, at = 0, drawn = 0;

	for (u32 i = 0; i < n; i++)
		total += pairs[2 * i + 1];
	for (u32 i = 0; i < n && total; i++) {
		u64 to;

		at += pairs[2 * i + 1];
		to = (at * POLICY_PICTURE + total / 2) / total;
		for (; drawn < to; drawn++)
			str_addc(out, node_digit(pairs[2 * i]));
	}
}

static void nodes_add(struct str *out, const u32 *pairs, u32 n, u64 page_bytes)
{
	char buf[UNIT_BUF];

	for (u32 i = 0; i < n; i++)
		str_addf(out, "%s%u: %s", i ? ", " : "", pairs[2 * i],
			fmt_bytes(buf, pairs[2 * i + 1] * page_bytes));
}

/* Of the view, struct policy_show. */
static const u32 *pairs_of(const void *view, const struct policy_mapped *p)
{
	const struct policy_show *s = view;

	return s->pairs.v ? s->pairs.v + p->first : NULL;
}

CELL_WORDS(mapping_address, struct policy_mapped, str_add_hex(&s, e->m.start))
CELL_EXPR(mapping_bytes, struct policy_mapped, cell_u64(e->m.end - e->m.start))
CELL_EXPR(mapping_kind, struct policy_mapped, cell_text(policy_map_name(e->m.map)))
CELL_WORDS(mapping_picture, struct policy_mapped,
	policy_picture_add(&s, pairs_of(row->view, e), e->count))
CELL_WORDS(mapping_nodes, struct policy_mapped,
	nodes_add(&s, pairs_of(row->view, e), e->count, e->m.page_bytes))

static const struct cell_column mapping_columns[] = {
	CELL_NUMBER(struct policy_mapped, m.tgid, "pid", "PID", UNIT_ID, COL_WIDE, "process id"),
	CELL_BY(0, "address", "ADDRESS", CELL_TEXT, UNIT_NONE, 0, "where the mapping begins",
		mapping_address),
	CELL_BY(0, "bytes", "SIZE", CELL_U64, UNIT_BYTES, 0, "its size", mapping_bytes),
	CELL_BY(0, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"anonymous, heap, stack, file, shared memory, hugetlb, kernel's own", mapping_kind),
	CELL_FROM(0, struct policy_mapped, m.policy, "policy", "POLICY", CELL_TEXT, UNIT_NONE, 0,
		"in force, as numa_maps has it: of the mapping or, where it has none, of the "
		"thread",
		cell_of_string),
	CELL_NUMBER(struct policy_mapped, bytes, "present_bytes", "PRESENT", UNIT_BYTES,
		COL_WEIGHT | COL_LEVEL, "of it, in memory (exact)"),
	CELL_BY(0, "picture", "PAGES BY NODE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"how they spread: each character is its share of the pages, on the node of that "
		"number (a is 10)",
		mapping_picture),
	CELL_BY(0, "nodes", "ON NODES", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"bytes on each node (exact)", mapping_nodes),
	CELL_FROM(0, struct policy_mapped, m.file, "file", "FILE", CELL_TEXT, UNIT_NONE, 0,
		"of the mapping, or its [name]", cell_of_string),
};

static int mappings_report(const struct policy_show *s, struct report *r)
{
	struct table *t = cells_table(r, "mappings", "Mappings, their policies and pages",
		mapping_columns, ARRAY_SIZE(mapping_columns));

	if (!t)
		return -ENOMEM;
	t->sort = "present_bytes";
	t->empty = "No mappings: the process has ended, or is a kernel thread, or may not be read.";
	cells_each(t, r, mapping_columns, &s->places, s);
	return 0;
}

struct node_key {
	u32 tgid, node;
};

/* Bytes by process and node, and by process. */
static int node_sums(const struct policy_show *s, struct groups *by_node, struct groups *by_tgid)
{
	vec_each (p, &s->places) {
		for (u32 i = 0; i < p->count; i++) {
			const u32 *pair = &s->pairs.v[p->first + 2 * i];
			struct node_key k = {p->m.tgid, pair[0]};
			u64 *here = groups_get(by_node, &k), *all = groups_get(by_tgid, &k.tgid);

			if (!here || !all)
				return -ENOMEM;
			*here += pair[1] * p->m.page_bytes;
			*all += pair[1] * p->m.page_bytes;
		}
	}
	return 0;
}

struct node_row {
	const struct node_key *key;
	const struct policy_node *node; /* NULL: not known */
	u64 bytes, all;
};

/* Sums of a recording that somebody made up may have wrapped. */
static double policy_tables_share_of(const struct node_row *n)
{
	return n->all ? (double)MIN(n->bytes, n->all) / (double)n->all : 0;
}

CELL_EXPR(node_pid, struct node_row, cell_u64(e->key->tgid))
CELL_EXPR(node_number, struct node_row, cell_u64(e->key->node))
CELL_EXPR(
	node_share, struct node_row, e->all ? cell_f64(policy_tables_share_of(e)) : (struct cell){})
CELL_EXPR(node_bar, struct node_row,
	cell_text(report_text(r, "%.*s", (int)(policy_tables_share_of(e) * NODE_BAR + 0.5),
		"##############################")))
CELL_EXPR(node_has, struct node_row, e->node ? cell_u64(e->node->bytes) : (struct cell){})
CELL_EXPR(node_free, struct node_row, e->node ? cell_u64(e->node->free_bytes) : (struct cell){})

static const struct cell_column node_columns[] = {
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", node_pid),
	CELL_BY(0, "node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node", node_number),
	CELL_NUMBER(struct node_row, bytes, "bytes", "HERE", UNIT_BYTES, COL_WEIGHT,
		"memory of the process on it (exact)"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all its memory",
		node_share),
	CELL_BY(0, "bar", "", CELL_TEXT, UNIT_NONE, COL_ASIDE, "the share as a bar", node_bar),
	CELL_BY(0, "node_bytes", "NODE HAS", CELL_U64, UNIT_BYTES, 0, "memory of the node",
		node_has),
	CELL_BY(0, "free_bytes", "FREE", CELL_U64, UNIT_BYTES, COL_LEVEL, "of it, free", node_free),
};

static int policy_tables_nodes_fill(const struct policy_show *s, struct report *r, struct table *t,
	struct groups *by_node, struct groups *by_tgid)
{
	int rc = node_sums(s, by_node, by_tgid);

	for (size_t i = 0; i < by_node->n && !rc; i++) {
		const struct node_key *k = groups_key(by_node, i);
		const struct node_row row = {k, groups_find(&s->nodes, &k->node),
			*(u64 *)groups_value(by_node, i), *(u64 *)groups_find(by_tgid, &k->tgid)};

		rc = cells_one(t, r, node_columns, &row, NULL);
	}
	return rc;
}

static int nodes_report(const struct policy_show *s, struct report *r)
{
	struct table *t =
		cells_table(r, "nodes", "Memory by node", node_columns, ARRAY_SIZE(node_columns));
	struct groups by_node, by_tgid;
	int rc;

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	groups_init(&by_node, sizeof(struct node_key), sizeof(u64));
	groups_init(&by_tgid, sizeof(u32), sizeof(u64));
	rc = policy_tables_nodes_fill(s, r, t, &by_node, &by_tgid);
	groups_free(&by_node);
	groups_free(&by_tgid);
	return rc;
}

static const struct cell_column thread_columns[] = {
	CELL_NUMBER(struct policy_thread, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_NUMBER(struct policy_thread, tid, "tid", "TID", UNIT_ID, 0, "thread id"),
	CELL_FROM(0, struct policy_thread, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread", cell_of_comm),
	CELL_FROM(0, struct policy_thread, node, "node", "RAN ON", CELL_U64, UNIT_ID, 0,
		"node of the CPU it last ran on", cell_of_node),
	CELL_FROM(0, struct policy_thread, policy, "policy", "POLICY", CELL_TEXT, UNIT_NONE, 0,
		"of the thread, as its first mapping shows it (numa_maps)", cell_of_string),
};

static int threads_report(const struct policy_show *s, struct report *r)
{
	struct table *t = cells_table(r, "threads", "Threads and their policies", thread_columns,
		ARRAY_SIZE(thread_columns));

	cells_each(t, r, thread_columns, &s->threads, NULL);
	return t ? 0 : -ENOMEM;
}

const struct view_table policy_show_tables[] = {
	CELLS_VIEW("mappings", mapping_columns),
	CELLS_VIEW("nodes", node_columns),
	CELLS_VIEW("threads", thread_columns),
	{},
};

int policy_show_report(struct policy_show *s, struct report *r)
{
	int rc = nodes_report(s, r);

	if (!rc)
		rc = mappings_report(s, r);
	return rc ? rc : threads_report(s, r);
}

void policy_show_reset(struct policy_show *s)
{
	s->places.n = s->pairs.n = s->threads.n = 0;
}

void policy_show_free(struct policy_show *s)
{
	vec_free(&s->places);
	vec_free(&s->pairs);
	vec_free(&s->threads);
	groups_free(&s->nodes);
}
