/* See numa_tables.h: nodes and what goes between them; moves; what has no object. */
#include <errno.h>

#include "analysis/cells.h"
#include "probes/numa/view/numa_places.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/judge/numa_words.h"

#define BAR 20

char numa_shade(u64 n, u64 most)
{
	static const char shades[] = " .:-=+*#%@";

	if (!n || !most)
		return ' ';
	return shades[1 + MIN(n * 9 / (most + 1), 8ULL)];
}

char numa_digit(s32 node)
{
	if (node < 0)
		return '?';
	return node < 10 ? (char)('0' + node) : node < 36 ? (char)('a' + node - 10) : '*';
}

static u32 nodes_of(const struct numa_feed *f, const struct numa_groups *g)
{
	u64 mask = numa_machine(f)->nodes | numa_from_mask(&g->all) | numa_to_mask(&g->all);

	return mask ? 64 - (u32)__builtin_clzll(mask) : 0;
}

struct matrix_row {
	const u64 *to;
	u64 all, most;
	u32 node, n;
};

static void heat_add(struct str *s, const struct matrix_row *m)
{
	str_addc(s, '|');
	for (u32 i = 0; i < 2 * m->n; i++)
		str_addc(s, numa_shade(m->to[i / 2], m->most));
	str_addc(s, '|');
}

static void shares_add(struct str *s, const struct matrix_row *m)
{
	for (u32 i = 0; i < m->n; i++)
		if (m->to[i])
			str_addf(s, "%s%u: %.0f %%", s->len ? ", " : "", i,
				100.0 * (double)m->to[i] / (double)m->all);
}

CELL_EXPR(matrix_remote, struct matrix_row, cell_ratio(e->all - e->to[e->node], e->all))
CELL_WORDS(matrix_heat, struct matrix_row, heat_add(&s, e))
CELL_WORDS(matrix_shares, struct matrix_row, shares_add(&s, e))

static const struct cell_column matrix_columns[] = {
	CELL_NUMBER(
		struct matrix_row, node, "cpu_node", "FROM NODE", UNIT_ID, 0, "node of the CPU"),
	CELL_NUMBER(struct matrix_row, all, "accesses", "ACCESSES", UNIT_COUNT, COL_WEIGHT,
		"from it to memory of a known node (estimated)"),
	CELL_BY(0, "remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0,
		"of them, to other nodes (sampled)", matrix_remote),
	CELL_BY(0, "heat", "TO NODES 0 ...", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"two characters a node, from 0 on: the darker, the more accesses ('@' is the most "
		"between any two nodes, '.' is few)",
		matrix_heat),
	CELL_BY(0, "to_nodes", "SHARES", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"of its accesses, to each node", matrix_shares),
};

static int matrix_report(struct report *r, const struct numa_groups *g, u32 n)
{
	struct table *t = cells_table(r, "matrix", "Accesses from nodes to nodes", matrix_columns,
		ARRAY_SIZE(matrix_columns));
	struct matrix_row row = {.n = n};
	int rc = t ? 0 : -ENOMEM;

	for (u32 i = 0; i < NUMA_NODES * NUMA_NODES; i++)
		row.most = MAX(row.most, g->matrix[i]);
	for (row.node = 0; row.node < n && !rc; row.node++) {
		row.to = &g->matrix[row.node * NUMA_NODES];
		row.all = 0;
		for (u32 k = 0; k < n; k++)
			row.all += row.to[k];
		if (row.all)
			rc = cells_one(t, r, matrix_columns, &row, NULL);
	}
	return rc;
}

struct pair_row {
	u32 from, to;
	u64 accesses;
};

static const struct cell_column pair_columns[] = {
	CELL_NUMBER(
		struct pair_row, from, "cpu_node", "FROM", UNIT_ID, COL_WIDE, "node of the CPU"),
	CELL_NUMBER(struct pair_row, to, "page_node", "TO", UNIT_ID, COL_WIDE, "node of the page"),
	CELL_NUMBER(struct pair_row, accesses, "accesses", "ACCESSES", UNIT_COUNT,
		COL_WIDE | COL_WEIGHT,
		"from one to the other (estimated): matrix as numbers, for programs"),
};

/* The same as numbers. */
static int pairs_report(struct report *r, const struct numa_groups *g)
{
	struct table *t = cells_table(
		r, "pairs", "Accesses from node to node", pair_columns, ARRAY_SIZE(pair_columns));
	int rc = t ? 0 : -ENOMEM;

	for (u32 i = 0; i < NUMA_NODES * NUMA_NODES && !rc; i++) {
		const struct pair_row row = {i / NUMA_NODES, i % NUMA_NODES, g->matrix[i]};

		if (row.accesses)
			rc = cells_one(t, r, pair_columns, &row, NULL);
	}
	return rc;
}

/* Latencies of accesses to a node, by whether they came from it. */
struct latencies {
	u64 n[2], sum[2];
};

static void latencies_sum(const struct numa_feed *f, struct latencies all[NUMA_NODES])
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;

	while ((a = numa_flow_next(&flow))) {
		int remote = numa_access_remote(a);
		u64 latency = numa_access_latency(a);

		if (a->page_node < 0 || remote < 0 || !latency)
			continue;
		all[a->page_node].n[remote]++;
		all[a->page_node].sum[remote] += latency;
	}
}

struct node_row {
	const struct numa_machine *m;
	const struct numa_places_held *held;
	u32 node;
	u64 accesses, all; /* to its memory; to that of all nodes */
	u64 local, from;   /* of those whose CPU is known: from its own; in all */
	struct latencies l;
};

static struct node_row node_row(const struct numa_feed *f, const struct numa_groups *g, u32 node,
	const struct latencies *l, const struct numa_places_held *held)
{
	struct node_row n = {numa_machine(f), held, node, g->all.to[node], 0,
		g->matrix[node * NUMA_NODES + node], 0, *l};

	for (u32 i = 0; i < NUMA_NODES; i++) {
		n.all += g->all.to[i];
		n.from += g->matrix[i * NUMA_NODES + node];
	}
	return n;
}

static double numa_nodes_share_of(const struct node_row *n)
{
	return n->all ? (double)n->accesses / (double)n->all : 0;
}

static bool is_there(const struct node_row *n)
{
	return n->m->nodes & 1ULL << n->node;
}

/* What the node has, by node; empty where that is not known. */
static struct cell memory_cell(const struct node_row *n, const u64 *bytes)
{
	return is_there(n) && n->m->bytes[n->node] ? cell_u64(bytes[n->node]) : (struct cell){};
}

CELL_EXPR(node_share, struct node_row, cell_f64(numa_nodes_share_of(e)))
CELL_EXPR(node_bar, struct node_row,
	cell_text(report_text(
		r, "%.*s", (int)(numa_nodes_share_of(e) * BAR + 0.5), "####################")))
CELL_EXPR(node_remote, struct node_row,
	e->from ? cell_f64(1 - (double)e->local / (double)e->from) : (struct cell){})
CELL_EXPR(node_local_latency, struct node_row,
	e->l.n[0] ? cell_u64(e->l.sum[0] / e->l.n[0]) : (struct cell){})
CELL_EXPR(node_remote_latency, struct node_row,
	e->l.n[1] ? cell_u64(e->l.sum[1] / e->l.n[1]) : (struct cell){})
CELL_EXPR(node_bytes, struct node_row, memory_cell(e, e->m->bytes))
CELL_EXPR(node_free, struct node_row, memory_cell(e, e->m->free_bytes))
CELL_EXPR(node_held, struct node_row,
	e->held->any ? cell_u64(e->held->bytes[e->node]) : (struct cell){})
CELL_EXPR(node_tier, struct node_row, cell_node(is_there(e) ? e->m->tier[e->node] : -1))
CELL_EXPR(node_cpus, struct node_row,
	is_there(e) ? cell_bool(e->m->cpus & 1ULL << e->node) : (struct cell){})

static const struct cell_column node_columns[] = {
	CELL_NUMBER(struct node_row, node, "node", "NODE", UNIT_ID, 0, "node with memory"),
	CELL_NUMBER(struct node_row, accesses, "accesses", "ACCESSES", UNIT_COUNT, COL_WEIGHT,
		"to its memory (estimated)"),
	CELL_BY(0, "share_ratio", "LOAD", CELL_F64, UNIT_RATIO, 0, "of all accesses", node_share),
	CELL_BY(0, "bar", "", CELL_TEXT, UNIT_NONE, COL_ASIDE, "the load as a bar", node_bar),
	CELL_BY(0, "remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, COL_RARE,
		"of the accesses to it, from CPUs of other nodes (sampled)", node_remote),
	CELL_BY(0, "local_latency_cycles", "LAT LOCAL", CELL_U64, UNIT_COUNT, COL_RARE,
		"mean latency of accesses from its own CPUs, in cycles; only from hardware samples",
		node_local_latency),
	CELL_BY(0, "remote_latency_cycles", "LAT REMOTE", CELL_U64, UNIT_COUNT, COL_RARE,
		"the same, from other nodes", node_remote_latency),
	CELL_BY(0, "node_bytes", "HAS", CELL_U64, UNIT_BYTES, 0, "memory of the node", node_bytes),
	CELL_BY(0, "free_bytes", "FREE", CELL_U64, UNIT_BYTES, 0, "of it, free at the start",
		node_free),
	CELL_BY(0, "held_bytes", "HELD", CELL_U64, UNIT_BYTES, COL_RARE | COL_LEVEL,
		"by the processes of -p, or the command, when last looked at (exact; see places)",
		node_held),
	CELL_BY(0, "tier", "TIER", CELL_U64, UNIT_ID, COL_WIDE, "of its memory: less is faster",
		node_tier),
	CELL_BY(0, "has_cpus", "CPUS", CELL_BOOL, UNIT_NONE, COL_WIDE, "false: memory only",
		node_cpus),
};

static int load_report(struct report *r, const struct numa_feed *f, const struct numa_groups *g,
	u32 n, const struct numa_places_held *held)
{
	struct table *t = cells_table(
		r, "nodes", "Load of the nodes' memory", node_columns, ARRAY_SIZE(node_columns));
	struct latencies latencies[NUMA_NODES] = {};
	int rc = t ? 0 : -ENOMEM;

	latencies_sum(f, latencies);
	for (u32 i = 0; i < n && !rc; i++) {
		const struct node_row row = node_row(f, g, i, &latencies[i], held);

		if (is_there(&row) || row.accesses)
			rc = cells_one(t, r, node_columns, &row, NULL);
	}
	return rc;
}

struct move_key {
	u32 thread, why;
	s32 from, to;
};

struct move_sums {
	u64 moves, pages, failed;
};

static int moves_sum(struct groups *by, const struct numa_moved *m, size_t n, bool thread)
{
	for (size_t i = 0; i < n; i++) {
		struct move_key k = {thread, thread ? 0 : m[i].why, m[i].from, m[i].to};
		struct move_sums *s = groups_get(by, &k);

		if (!s)
			return -ENOMEM;
		s->moves++;
		s->pages += m[i].pages;
		s->failed += m[i].failed;
	}
	return 0;
}

CELL_EXPR(move_what, struct move_sums,
	cell_text(((const struct move_key *)row->key)->thread ? "threads" : "pages"))
CELL_EXPR(move_why, struct move_sums,
	cell_text(numa_move_name(((const struct move_key *)row->key)->why)))

static CELL_GET(move_pages)
{
	return ((const struct move_key *)row->key)->thread ? (struct cell){}
							   : cell_of_u64(r, row, offset);
}

static const struct cell_column move_columns[] = {
	CELL_BY(0, "what", "WHAT", CELL_TEXT, UNIT_NONE, 0, "pages or threads", move_what),
	CELL_BY(0, "why", "WHY", CELL_TEXT, UNIT_NONE, 0, "who moved the pages", move_why),
	CELL_FROM(0, struct move_key, from, "from_node", "FROM", CELL_U64, UNIT_ID, 0, "node",
		cell_of_node),
	CELL_FROM(0, struct move_key, to, "to_node", "TO", CELL_U64, UNIT_ID, 0, "node",
		cell_of_node),
	CELL_NUMBER(struct move_sums, moves, "moves", "MOVES", UNIT_COUNT, COL_WEIGHT,
		"how often (exact)"),
	CELL_FROM(0, struct move_sums, pages, "pages", "PAGES", CELL_U64, UNIT_PAGES, 0,
		"pages moved (exact)", move_pages),
	CELL_FROM(0, struct move_sums, failed, "failed_pages", "NOT MOVED", CELL_U64, UNIT_PAGES, 0,
		"pages that could not be moved", move_pages),
};

static const struct cell_table moves_table = {
	CELL_TABLE("moves", "Pages and threads that changed node", "moves", NULL, move_columns)};

static int moves_report(struct report *r, const struct numa_feed *f)
{
	const struct numa_moved *m;
	struct groups by;
	size_t n;
	int rc;

	groups_init(&by, sizeof(struct move_key), sizeof(struct move_sums));
	m = numa_page_moves(f, &n);
	rc = moves_sum(&by, m, n, false);
	m = numa_thread_moves(f, &n);
	rc = rc ? rc : moves_sum(&by, m, n, true);
	rc = rc ? rc : cells_report(r, &moves_table, &by, NULL);
	groups_free(&by);
	return rc;
}

struct missed_row {
	u32 why;
	u64 n, all;
};

CELL_EXPR(missed_why, struct missed_row, cell_text(numa_why_name(e->why)))
CELL_EXPR(missed_share, struct missed_row, cell_ratio(e->n, MAX(e->all, 1ULL)))

static const struct cell_column missed_columns[] = {
	CELL_BY(0, "reason", "WITHOUT AN OBJECT, BECAUSE", CELL_TEXT, UNIT_NONE, 0,
		"why a sample has no object", missed_why),
	CELL_NUMBER(struct missed_row, n, "samples", "SAMPLES", UNIT_COUNT, COL_WEIGHT,
		"of them (exact)"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all samples", missed_share),
};

static int missed_report(struct report *r, const struct numa_feed *f, const struct numa_groups *g)
{
	struct table *t = cells_table(r, "unattributed", "Samples without an object",
		missed_columns, ARRAY_SIZE(missed_columns));
	int rc = t ? 0 : -ENOMEM;

	for (u32 why = 1; why < NUMA_WHYS && !rc; why++) {
		const struct missed_row row = {why, numa_unattributed(f, why), g->all.samples};

		if (row.n)
			rc = cells_one(t, r, missed_columns, &row, NULL);
	}
	return rc;
}

struct source_row {
	u64 samples, accesses;
	u32 source, from;
};

CELL_EXPR(source_name, struct source_row,
	cell_text(numa_source_name(e->source) ? numa_source_name(e->source) : "not known"))
CELL_EXPR(source_known, struct source_row, cell_text(numa_page_from_name(e->from)))

static const struct cell_column source_columns[] = {
	CELL_BY(0, "source", "SOURCE", CELL_TEXT, UNIT_NONE, 0, "where the samples come from",
		source_name),
	CELL_BY(0, "node_known_by", "NODE OF THE PAGE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"how it is known: seen at the access and physical address are exact, level is "
		"what the hardware says",
		source_known),
	CELL_NUMBER(struct source_row, samples, "samples", "SAMPLES", UNIT_COUNT, COL_WEIGHT,
		"of them (exact)"),
	CELL_NUMBER(struct source_row, accesses, "accesses", "ACCESSES", UNIT_COUNT, 0,
		"that they stand for (estimated)"),
};

static int sources_report(struct report *r, const struct numa_feed *f)
{
	struct table *t = cells_table(r, "sources", "Where the samples are from", source_columns,
		ARRAY_SIZE(source_columns));
	struct source_row all[NUMA_SOURCES][NUMA_PAGE_FROMS] = {};
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;
	int rc = t ? 0 : -ENOMEM;

	while ((a = numa_flow_next(&flow))) {
		struct source_row *s = &all[a->source][a->from];

		s->source = a->source;
		s->from = a->from;
		s->samples++;
		s->accesses += numa_access_weight(a);
	}
	for (u32 i = 0; i < NUMA_SOURCES * NUMA_PAGE_FROMS && !rc; i++) {
		const struct source_row *s = &all[i / NUMA_PAGE_FROMS][i % NUMA_PAGE_FROMS];

		if (s->samples)
			rc = cells_one(t, r, source_columns, s, NULL);
	}
	return rc;
}

const struct view_table numa_node_tables[] = {
	CELLS_VIEW("matrix", matrix_columns),
	CELLS_VIEW("pairs", pair_columns),
	CELLS_VIEW("nodes", node_columns),
	CELLS_VIEW("moves", move_columns),
	CELLS_VIEW("unattributed", missed_columns),
	CELLS_VIEW("sources", source_columns),
	{},
};

int numa_nodes_report(struct report *r, const struct numa_feed *f, const struct numa_groups *groups)
{
	u32 n = nodes_of(f, groups);
	struct numa_places_held held;
	int rc = numa_places_sum(f, &held);

	rc = rc ? rc : matrix_report(r, groups, n);
	rc = rc ? rc : pairs_report(r, groups);
	rc = rc ? rc : load_report(r, f, groups, n, &held);
	rc = rc ? rc : numa_places_report(r, f, &held);
	numa_places_free(&held);
	rc = rc ? rc : moves_report(r, f);
	rc = rc ? rc : missed_report(r, f, groups);
	return rc ? rc : sources_report(r, f);
}
