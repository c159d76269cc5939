/* See numa_tables.h: nodes and what goes between them; moves; what has no object. */
#include <errno.h>

#include "probes/numa/view/numa_places.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/judge/numa_words.h"

#define BAR 20

enum { M_FROM, M_ACCESSES, M_REMOTE, M_HEAT, M_TO, M_N };

static const struct column matrix_columns[M_N] = {
	{"cpu_node", "FROM NODE", CELL_U64, UNIT_ID, 0, "node of the CPU"},
	{"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"from it to memory of a known node (estimated)"},
	{"remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0, "of them, to other nodes (sampled)"},
	{"heat", "TO NODES 0 ...", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"two characters a node, from 0 on: the darker, the more accesses ('@' is the most "
		"between any two nodes, '.' is few)"},
	{"to_nodes", "SHARES", CELL_TEXT, UNIT_NONE, COL_ASIDE, "of its accesses, to each node"},
};

static const struct column pair_columns[] = {
	{"cpu_node", "FROM", CELL_U64, UNIT_ID, COL_WIDE, "node of the CPU"},
	{"page_node", "TO", CELL_U64, UNIT_ID, COL_WIDE, "node of the page"},
	{"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WIDE | COL_WEIGHT,
		"from one to the other (estimated): matrix as numbers, for programs"},
};

enum {
	N_NODE,
	N_ACCESSES,
	N_SHARE,
	N_BAR,
	N_REMOTE,
	N_LOCAL_LATENCY,
	N_REMOTE_LATENCY,
	N_BYTES,
	N_FREE,
	N_HELD,
	N_TIER,
	N_CPUS,
	N_N,
};

static const struct column node_columns[N_N] = {
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "node with memory"},
	{"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "to its memory (estimated)"},
	{"share_ratio", "LOAD", CELL_F64, UNIT_RATIO, 0, "of all accesses"},
	{"bar", "", CELL_TEXT, UNIT_NONE, COL_ASIDE, "the load as a bar"},
	{"remote_ratio", "FROM AFAR", CELL_F64, UNIT_RATIO, COL_RARE,
		"of the accesses to it, from CPUs of other nodes (sampled)"},
	{"local_latency_cycles", "LAT LOCAL", CELL_U64, UNIT_COUNT, COL_RARE,
		"mean latency of accesses from its own CPUs, in cycles; only hardware tells it"},
	{"remote_latency_cycles", "LAT REMOTE", CELL_U64, UNIT_COUNT, COL_RARE,
		"the same, from other nodes"},
	{"node_bytes", "HAS", CELL_U64, UNIT_BYTES, 0, "memory of the node"},
	{"free_bytes", "FREE", CELL_U64, UNIT_BYTES, 0, "of it, free at the start"},
	{"held_bytes", "HELD", CELL_U64, UNIT_BYTES, COL_RARE | COL_LEVEL,
		"by the processes of -p, or the command, when last looked at (exact; see places)"},
	{"tier", "TIER", CELL_U64, UNIT_ID, COL_WIDE, "of its memory: less is faster"},
	{"has_cpus", "CPUS", CELL_BOOL, UNIT_NONE, COL_WIDE, "false: memory only"},
};

static const struct column move_columns[] = {
	{"what", "WHAT", CELL_TEXT, UNIT_NONE, 0, "pages or threads"},
	{"why", "WHY", CELL_TEXT, UNIT_NONE, 0, "who moved the pages"},
	{"from_node", "FROM", CELL_U64, UNIT_ID, 0, "node"},
	{"to_node", "TO", CELL_U64, UNIT_ID, 0, "node"},
	{"moves", "MOVES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "how often (exact)"},
	{"pages", "PAGES", CELL_U64, UNIT_PAGES, 0, "pages moved (exact)"},
	{"failed_pages", "NOT MOVED", CELL_U64, UNIT_PAGES, 0, "pages that could not be moved"},
};

static const struct column missed_columns[] = {
	{"reason", "WITHOUT AN OBJECT, BECAUSE", CELL_TEXT, UNIT_NONE, 0,
		"why a sample has no object"},
	{"samples", "SAMPLES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "of them (exact)"},
	{"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all samples"},
};

static const struct column source_columns[] = {
	{"source", "SOURCE", CELL_TEXT, UNIT_NONE, 0, "where the samples come from"},
	{"node_known_by", "NODE OF THE PAGE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"how it is known: seen at the access and physical address are exact, level is "
		"what the hardware says"},
	{"samples", "SAMPLES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "of them (exact)"},
	{"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, 0, "that they stand for (estimated)"},
};

const struct view_table numa_node_tables[] = {
	{"matrix", matrix_columns, M_N, sizeof(matrix_columns[0])},
	{"pairs", pair_columns, ARRAY_SIZE(pair_columns), sizeof(pair_columns[0])},
	{"nodes", node_columns, N_N, sizeof(node_columns[0])},
	{"moves", move_columns, ARRAY_SIZE(move_columns), sizeof(move_columns[0])},
	{"unattributed", missed_columns, ARRAY_SIZE(missed_columns), sizeof(missed_columns[0])},
	{"sources", source_columns, ARRAY_SIZE(source_columns), sizeof(source_columns[0])},
	{},
};

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

static void matrix_fill(
	struct cell *row, struct report *r, const u64 *to, u32 node, u32 n, u64 most)
{
	_cleanup_str_ struct str heat = {}, shares = {};
	u64 all = 0;

	for (u32 i = 0; i < n; i++)
		all += to[i];
	for (u32 i = 0; i < n; i++) {
		char c = numa_shade(to[i], most);

		str_addc(&heat, c);
		str_addc(&heat, c);
		if (to[i])
			str_addf(&shares, "%s%u: %.0f %%", shares.len ? ", " : "", i,
				100.0 * (double)to[i] / (double)all);
	}
	row[M_FROM] = cell_u64(node);
	row[M_ACCESSES] = cell_u64(all);
	row[M_REMOTE] = cell_f64((double)(all - to[node]) / (double)all);
	row[M_HEAT] = cell_text(report_text(r, "|%s|", str_get(&heat)));
	row[M_TO] = cell_text(report_text(r, "%s", str_get(&shares)));
}

static int matrix_report(struct report *r, const struct numa_groups *g, u32 n)
{
	struct table *t =
		report_table(r, "matrix", "Accesses from nodes to nodes", matrix_columns, M_N);
	u64 most = 0;

	if (!t)
		return -ENOMEM;
	for (u32 i = 0; i < NUMA_NODES * NUMA_NODES; i++)
		most = MAX(most, g->matrix[i]);
	for (u32 i = 0; i < n; i++) {
		const u64 *to = &g->matrix[i * NUMA_NODES];
		u64 all = 0;
		struct cell *row;

		for (u32 k = 0; k < n; k++)
			all += to[k];
		if (!all)
			continue;
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		matrix_fill(row, r, to, i, n, most);
	}
	return 0;
}

/* The same as numbers. */
static int pairs_report(struct report *r, const struct numa_groups *g)
{
	struct table *t = report_table(
		r, "pairs", "Accesses from node to node", pair_columns, ARRAY_SIZE(pair_columns));

	if (!t)
		return -ENOMEM;
	for (u32 i = 0; i < NUMA_NODES * NUMA_NODES; i++) {
		struct cell *row = g->matrix[i] ? table_row(t) : NULL;

		if (!g->matrix[i])
			continue;
		if (!row)
			return -ENOMEM;
		row[0] = cell_u64(i / NUMA_NODES);
		row[1] = cell_u64(i % NUMA_NODES);
		row[2] = cell_u64(g->matrix[i]);
	}
	return 0;
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

static void node_fill(struct cell *row, struct report *r, const struct numa_feed *f,
	const struct numa_groups *g, u32 node, const struct latencies *l,
	const struct numa_places_held *held)
{
	const struct numa_machine *m = numa_machine(f);
	const struct numa_sums *s = &g->all;
	u64 all = 0, from = 0;
	double share;

	for (u32 i = 0; i < NUMA_NODES; i++) {
		all += s->to[i];
		from += g->matrix[i * NUMA_NODES + node];
	}
	share = all ? (double)s->to[node] / (double)all : 0;
	row[N_NODE] = cell_u64(node);
	row[N_ACCESSES] = cell_u64(s->to[node]);
	row[N_SHARE] = cell_f64(share);
	row[N_BAR] =
		cell_text(report_text(r, "%.*s", (int)(share * BAR + 0.5), "####################"));
	if (from)
		row[N_REMOTE] =
			cell_f64(1 - (double)g->matrix[node * NUMA_NODES + node] / (double)from);
	if (l->n[0])
		row[N_LOCAL_LATENCY] = cell_u64(l->sum[0] / l->n[0]);
	if (l->n[1])
		row[N_REMOTE_LATENCY] = cell_u64(l->sum[1] / l->n[1]);
	if (held->any)
		row[N_HELD] = cell_u64(held->bytes[node]);
	if (!(m->nodes & 1ULL << node))
		return;
	if (m->bytes[node]) {
		row[N_BYTES] = cell_u64(m->bytes[node]);
		row[N_FREE] = cell_u64(m->free_bytes[node]);
	}
	if (m->tier[node] >= 0)
		row[N_TIER] = cell_u64((u64)m->tier[node]);
	row[N_CPUS] = (struct cell){.type = CELL_BOOL, .b = m->cpus & 1ULL << node};
}

static int load_report(struct report *r, const struct numa_feed *f, const struct numa_groups *g,
	u32 n, const struct numa_places_held *held)
{
	struct table *t = report_table(r, "nodes", "Load of the nodes' memory", node_columns, N_N);
	struct latencies latencies[NUMA_NODES] = {};

	if (!t)
		return -ENOMEM;
	latencies_sum(f, latencies);
	for (u32 i = 0; i < n; i++) {
		struct cell *row;

		if (!(numa_machine(f)->nodes & 1ULL << i) && !g->all.to[i])
			continue;
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		node_fill(row, r, f, g, i, &latencies[i], held);
	}
	return 0;
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

static int moves_report(struct report *r, const struct numa_feed *f)
{
	struct table *t = report_table(r, "moves", "Pages and threads that changed node",
		move_columns, ARRAY_SIZE(move_columns));
	const struct numa_moved *m;
	struct groups by;
	size_t n;
	int rc;

	if (!t)
		return -ENOMEM;
	t->sort = "moves";
	groups_init(&by, sizeof(struct move_key), sizeof(struct move_sums));
	m = numa_page_moves(f, &n);
	rc = moves_sum(&by, m, n, false);
	m = numa_thread_moves(f, &n);
	rc = rc ? rc : moves_sum(&by, m, n, true);
	for (size_t i = 0; !rc && i < by.n; i++) {
		const struct move_key *k = groups_key(&by, i);
		const struct move_sums *s = groups_value(&by, i);
		struct cell *row = table_row(t);

		if (!row) {
			rc = -ENOMEM;
			break;
		}
		row[0] = cell_text(k->thread ? "threads" : "pages");
		row[1] = cell_text(numa_move_name(k->why));
		row[2] = cell_node(k->from);
		row[3] = cell_node(k->to);
		row[4] = cell_u64(s->moves);
		if (!k->thread) {
			row[5] = cell_u64(s->pages);
			row[6] = cell_u64(s->failed);
		}
	}
	groups_free(&by);
	return rc;
}

static int missed_report(struct report *r, const struct numa_feed *f, const struct numa_groups *g)
{
	struct table *t = report_table(r, "unattributed", "Samples without an object",
		missed_columns, ARRAY_SIZE(missed_columns));

	if (!t)
		return -ENOMEM;
	for (u32 why = 1; why < NUMA_WHYS; why++) {
		u64 n = numa_unattributed(f, why);
		struct cell *row = n ? table_row(t) : NULL;

		if (!n)
			continue;
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(numa_why_name(why));
		row[1] = cell_u64(n);
		row[2] = cell_f64((double)n / (double)MAX(g->all.samples, 1ULL));
	}
	return 0;
}

static int sources_report(struct report *r, const struct numa_feed *f)
{
	struct table *t = report_table(r, "sources", "Where the samples are from", source_columns,
		ARRAY_SIZE(source_columns));
	u64 samples[NUMA_SOURCES][NUMA_PAGE_FROMS] = {}, all[NUMA_SOURCES][NUMA_PAGE_FROMS] = {};
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;

	if (!t)
		return -ENOMEM;
	while ((a = numa_flow_next(&flow))) {
		samples[a->source][a->from]++;
		all[a->source][a->from] += numa_access_weight(a);
	}
	for (u32 i = 0; i < NUMA_SOURCES * NUMA_PAGE_FROMS; i++) {
		u32 source = i / NUMA_PAGE_FROMS, from = i % NUMA_PAGE_FROMS;
		struct cell *row = samples[source][from] ? table_row(t) : NULL;

		if (!samples[source][from])
			continue;
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(
			numa_source_name(source) ? numa_source_name(source) : "not known");
		row[1] = cell_text(numa_page_from_name(from));
		row[2] = cell_u64(samples[source][from]);
		row[3] = cell_u64(all[source][from]);
	}
	return 0;
}

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
