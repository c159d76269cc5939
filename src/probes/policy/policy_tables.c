/* See policy_tables.h. */
#include "probes/policy/policy_tables.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/policy/policy_words.h"

#define NODE_BAR 30

enum {
	M_PID,
	M_ADDRESS,
	M_BYTES,
	M_KIND,
	M_POLICY,
	M_PRESENT,
	M_PICTURE,
	M_NODES,
	M_FILE,
	M_N,
};

static const struct column mapping_columns[M_N] = {
	{"pid", "PID", CELL_U64, UNIT_ID, COL_WIDE, "process id"},
	{"address", "ADDRESS", CELL_TEXT, UNIT_NONE, 0, "where the mapping begins"},
	{"bytes", "SIZE", CELL_U64, UNIT_BYTES, 0, "its size"},
	{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"anonymous, heap, stack, file, shared memory, hugetlb, kernel's own"},
	{"policy", "POLICY", CELL_TEXT, UNIT_NONE, 0,
		"in force, as numa_maps has it: of the mapping or, where it has none, of the "
		"thread"},
	{"present_bytes", "PRESENT", CELL_U64, UNIT_BYTES, COL_WEIGHT | COL_LEVEL,
		"of it, in memory (exact)"},
	{"picture", "PAGES BY NODE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"how they spread: each character is its share of the pages, on the node of that "
		"number (a is 10)"},
	{"nodes", "ON NODES", CELL_TEXT, UNIT_NONE, COL_WIDE, "bytes on each node (exact)"},
	{"file", "FILE", CELL_TEXT, UNIT_NONE, 0, "of the mapping, or its [name]"},
};

enum { N_PID, N_NODE, N_BYTES, N_SHARE, N_BAR, N_TOTAL, N_FREE, N_N };

static const struct column node_columns[N_N] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},
	{"bytes", "HERE", CELL_U64, UNIT_BYTES, COL_WEIGHT, "memory of the process on it (exact)"},
	{"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all its memory"},
	{"bar", "", CELL_TEXT, UNIT_NONE, COL_ASIDE, "the share as a bar"},
	{"node_bytes", "NODE HAS", CELL_U64, UNIT_BYTES, 0, "memory of the node"},
	{"free_bytes", "FREE", CELL_U64, UNIT_BYTES, COL_LEVEL, "of it, free"},
};

static const struct column thread_columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"tid", "TID", CELL_U64, UNIT_ID, 0, "thread id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread"},
	{"node", "RAN ON", CELL_U64, UNIT_ID, 0, "node of the CPU it last ran on"},
	{"policy", "POLICY", CELL_TEXT, UNIT_NONE, 0,
		"of the thread, as its first mapping shows it (numa_maps)"},
};

const struct view_table policy_show_tables[] = {
	{"mappings", mapping_columns, M_N, sizeof(mapping_columns[0])},
	{"nodes", node_columns, N_N, sizeof(node_columns[0])},
	{"threads", thread_columns, ARRAY_SIZE(thread_columns), sizeof(thread_columns[0])},
	{},
};

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

static struct cell string_cell(const struct report *r, u32 id)
{
	return id ? cell_text(stream_string(r->stream, id)) : (struct cell){};
}

static void mapping_fill(struct cell *row, struct report *r, const struct policy_show *s,
	const struct policy_mapped *p)
{
	const u32 *pairs = s->pairs.v ? s->pairs.v + p->first : NULL;
	_cleanup_str_ struct str picture = {}, nodes = {};

	policy_picture_add(&picture, pairs, p->count);
	nodes_add(&nodes, pairs, p->count, p->m.page_bytes);
	row[M_PID] = cell_u64(p->m.tgid);
	row[M_ADDRESS] = cell_text(report_text(r, "0x%llx", (unsigned long long)p->m.start));
	row[M_BYTES] = cell_u64(p->m.end - p->m.start);
	row[M_KIND] = cell_text(policy_map_name(p->m.map));
	row[M_POLICY] = string_cell(r, p->m.policy);
	row[M_PRESENT] = cell_u64(p->bytes);
	if (p->count) {
		row[M_PICTURE] = cell_text(report_text(r, "%s", str_get(&picture)));
		row[M_NODES] = cell_text(report_text(r, "%s", str_get(&nodes)));
	}
	row[M_FILE] = string_cell(r, p->m.file);
}

static int mappings_report(const struct policy_show *s, struct report *r)
{
	struct table *t = report_table(
		r, "mappings", "Mappings, their policies and pages", mapping_columns, M_N);

	if (!t)
		return -ENOMEM;
	t->sort = "present_bytes";
	t->empty = "No mappings: the process has ended, or is a kernel thread, or may not be read.";
	vec_each (p, &s->places) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		mapping_fill(row, r, s, p);
	}
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

static void node_fill(struct cell *row, struct report *r, const struct policy_show *s,
	const struct node_key *k, u64 bytes, u64 all)
{
	const struct policy_node *n = groups_find(&s->nodes, &k->node);
	/* Sums of a recording that somebody made up may have wrapped. */
	double share = all ? (double)MIN(bytes, all) / (double)all : 0;

	row[N_PID] = cell_u64(k->tgid);
	row[N_NODE] = cell_u64(k->node);
	row[N_BYTES] = cell_u64(bytes);
	if (all)
		row[N_SHARE] = cell_f64(share);
	row[N_BAR] = cell_text(report_text(
		r, "%.*s", (int)(share * NODE_BAR + 0.5), "##############################"));
	if (!n)
		return;
	row[N_TOTAL] = cell_u64(n->bytes);
	row[N_FREE] = cell_u64(n->free_bytes);
}

static int nodes_fill(const struct policy_show *s, struct report *r, struct table *t,
	struct groups *by_node, struct groups *by_tgid)
{
	int rc = node_sums(s, by_node, by_tgid);

	for (size_t i = 0; i < by_node->n && !rc; i++) {
		const struct node_key *k = groups_key(by_node, i);
		const u64 *all = groups_find(by_tgid, &k->tgid);
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		node_fill(row, r, s, k, *(u64 *)groups_value(by_node, i), *all);
	}
	return rc;
}

static int nodes_report(const struct policy_show *s, struct report *r)
{
	struct table *t = report_table(r, "nodes", "Memory by node", node_columns, N_N);
	struct groups by_node, by_tgid;
	int rc;

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	groups_init(&by_node, sizeof(struct node_key), sizeof(u64));
	groups_init(&by_tgid, sizeof(u32), sizeof(u64));
	rc = nodes_fill(s, r, t, &by_node, &by_tgid);
	groups_free(&by_node);
	groups_free(&by_tgid);
	return rc;
}

static int threads_report(const struct policy_show *s, struct report *r)
{
	struct table *t = report_table(r, "threads", "Threads and their policies", thread_columns,
		ARRAY_SIZE(thread_columns));

	if (!t)
		return -ENOMEM;
	vec_each (x, &s->threads) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[0] = cell_u64(x->tgid);
		row[1] = cell_u64(x->tid);
		row[2] = cell_text(report_text(r, "%.16s", x->comm));
		row[3] = x->node < 0 ? (struct cell){} : cell_u64((u64)x->node);
		row[4] = string_cell(r, x->policy);
	}
	return 0;
}

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
