/* See numa_tables.h: accesses by site, object, type, function or thread. */
#include "probes/numa/view/numa_tables.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "analysis/cells.h"
#include "probes/numa/judge/numa_patterns.h"
#include "probes/numa/judge/numa_words.h"

#define ROWS_MAX 20000 /* with most accesses */

/* Keys of columns: bits of enum numa_by, and whether stacks were asked for. */
#define SITE (1U << NUMA_BY_SITE)
#define OBJECT (1U << NUMA_BY_OBJECT)
#define TYPE (1U << NUMA_BY_TYPE)
#define FUNCTION (1U << NUMA_BY_FUNCTION)
#define THREAD (1U << NUMA_BY_THREAD)
#define STACKS (1U << 31)
#define OBJECTS (SITE | OBJECT)

static u32 keys_of(enum numa_by by, bool stacks)
{
	return 1U << by | (stacks && 1U << by & OBJECTS ? STACKS : 0);
}

/* Of a type, a function and a thread only the sums are known, and what the row is of. */
struct access_row {
	struct numa_group g;
	const char *name;
	u64 moves;
	u32 pattern;
};

#define SUMS_RATIO(name_, part_, all_) CELL_EXPR(name_, struct access_row, cell_ratio(part_, all_))
SUMS_RATIO(remote_cell, e->g.sums.remote, e->g.sums.local + e->g.sums.remote)
SUMS_RATIO(stores_cell, e->g.sums.stores, e->g.sums.stores + e->g.sums.loads)
SUMS_RATIO(maker_cell, e->g.by_allocator, e->g.by_known)
SUMS_RATIO(alone_cell, e->g.before_sharing, e->g.sums.accesses)

static struct cell mask_cell(struct report *r, u64 mask)
{
	return mask ? cell_text(numa_mask_text(r, mask)) : (struct cell){};
}

CELL_EXPR(object_cell, struct access_row,
	e->g.site.object ? cell_u64(e->g.site.object - 1) : (struct cell){})
CELL_EXPR(kind_cell, struct access_row, cell_text(numa_kind_name(e->g.site.kind)))
CELL_EXPR(pid_cell, struct access_row, e->g.site.tgid ? cell_u64(e->g.site.tgid) : (struct cell){})
CELL_EXPR(bytes_cell, struct access_row,
	e->g.site.kind == OBJECT_KERNEL ? (struct cell){} : cell_u64(e->g.bytes))
CELL_EXPR(from_cell, struct access_row, mask_cell(r, numa_from_mask(&e->g.sums)))
CELL_EXPR(on_cell, struct access_row, mask_cell(r, numa_to_mask(&e->g.sums)))
CELL_EXPR(switches_cell, struct access_row,
	e->g.switch_pairs ? cell_f64(e->g.switches) : (struct cell){})
CELL_EXPR(other_touch_cell, struct access_row,
	e->g.first_touches ? cell_u64(e->g.first_touch_other) : (struct cell){})
CELL_EXPR(pattern_cell, struct access_row,
	e->pattern ? cell_text(numa_pattern_name(e->pattern)) : (struct cell){})

static struct cell latency_cell(const struct numa_sums *s, bool remote)
{
	return s->latency_n[remote] ? cell_u64(s->latency_sum[remote] / s->latency_n[remote])
				    : (struct cell){};
}

CELL_EXPR(local_latency_cell, struct access_row, latency_cell(&e->g.sums, false))
CELL_EXPR(remote_latency_cell, struct access_row, latency_cell(&e->g.sums, true))

/* Of a struct numa_sharing. */
static CELL_GET(mixed_cell)
{
	const struct numa_sharing *s = (const void *)((const char *)row->sums + offset);

	return s->samples ? cell_f64(s->mixed) : (struct cell){};
}

#define MIXED(unit_, name_, title_, help_)                                               \
	CELL_FROM(OBJECTS, struct access_row, g.sharing[unit_], name_, title_, CELL_F64, \
		UNIT_RATIO, COL_WIDE, help_, mixed_cell)

static const struct cell_column columns[] = {
	CELL_BY(OBJECT, "object", "OBJECT", CELL_U64, UNIT_ID, 0,
		"with --by object: its number, for numa flow --object", object_cell),
	CELL_FROM(OBJECTS | FUNCTION | THREAD, struct access_row, name, "name", "WHAT", CELL_TEXT,
		UNIT_NONE, 0,
		"who allocated or mapped it, the variable, the file, the stack's thread; with --by "
		"function and thread: that",
		cell_of_text),
	CELL_BY(OBJECTS | TYPE, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"heap block, heap (not divided into blocks), mapping, stack, variable, data and "
		"code (of "
		"a "
		"file's mapping), file, shared memory, hugetlb, vdso, kernel",
		kind_cell),
	CELL_BY(OBJECTS | THREAD, "pid", "PID", CELL_U64, UNIT_ID, COL_WIDE,
		"process; empty: of any", pid_cell),
	CELL_BY(OBJECTS, "bytes", "SIZE", CELL_U64, UNIT_BYTES, 0,
		"of the object with most samples", bytes_cell),
	CELL_KEY(SITE | TYPE, struct access_row, g.n, "objects", "N", UNIT_COUNT, 0,
		"objects that were touched"),
	CELL_NUMBER(struct access_row, g.sums.accesses, "accesses", "ACCESSES", UNIT_COUNT,
		COL_WEIGHT, "to it (estimated: samples times what each stands for)"),
	CELL_NUMBER(struct access_row, g.sums.samples, "samples", "SAMPLES", UNIT_COUNT, COL_WIDE,
		"accesses that were seen (exact)"),
	CELL_BY(0, "remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0,
		"of the accesses whose place is known, to another node than the CPU's (sampled)",
		remote_cell),
	CELL_NUMBER(struct access_row, g.sums.remote, "remote_total", "REMOTE N", UNIT_COUNT,
		COL_WIDE, "remote accesses (estimated)"),
	CELL_BY(0, "from_nodes", "FROM", CELL_TEXT, UNIT_NONE, COL_ASIDE, "nodes of the CPUs",
		from_cell),
	CELL_BY(0, "on_nodes", "ON", CELL_TEXT, UNIT_NONE, COL_ASIDE, "nodes of the pages",
		on_cell),
	CELL_KEY(OBJECTS, struct access_row, g.threads, "threads", "THREADS", UNIT_COUNT, 0,
		"that were seen to touch it"),
	CELL_BY(OBJECTS, "maker_ratio", "BY ALLOCATOR", CELL_F64, UNIT_RATIO, COL_RARE,
		"of its accesses, by the thread that allocated or mapped it, where that is known",
		maker_cell),
	CELL_BY(OBJECTS, "before_sharing_ratio", "ALONE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of its accesses, before a second thread was seen to touch the object", alone_cell),
	CELL_BY(0, "stores_ratio", "STORES", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of its accesses that are known to be loads or stores", stores_cell),
	CELL_FROM(0, struct access_row, g.sums.hitm, "hitm", "HITM", CELL_U64, UNIT_COUNT, COL_WIDE,
		"accesses that found the line modified in another cache (estimated)",
		cell_of_known),
	CELL_BY(0, "local_latency_cycles", "LAT LOCAL", CELL_U64, UNIT_COUNT, COL_WIDE,
		"mean latency of local accesses, in cycles; only from hardware samples",
		local_latency_cell),
	CELL_BY(0, "remote_latency_cycles", "LAT REMOTE", CELL_U64, UNIT_COUNT, COL_WIDE,
		"the same, of remote ones", remote_latency_cell),
	MIXED(NUMA_UNIT_LINE, "line_mixed_ratio", "MIXED LINE",
		"chance that two accesses to one line of 64 bytes are from different nodes "
		"(estimated; empty: no two were seen)"),
	MIXED(NUMA_UNIT_PAGE, "page_mixed_ratio", "MIXED PAGE",
		"the same, to one page of 4 KiB: where lines are not mixed, it is shared falsely"),
	MIXED(NUMA_UNIT_HUGE, "huge_mixed_ratio", "MIXED HUGE",
		"the same, to the same 2 MiB: where pages are not mixed, a huge page would be "
		"shared falsely"),
	MIXED(NUMA_UNIT_OBJECT, "mixed_ratio", "MIXED", "the same, to one object"),
	CELL_BY(OBJECTS, "switches_ratio", "SWITCHES", CELL_F64, UNIT_RATIO, COL_WIDE,
		"the same, of two accesses to an object that followed each other: much less means "
		"in turns",
		switches_cell),
	CELL_KEY(OBJECTS, struct access_row, g.frees, "frees", "FREES", UNIT_COUNT, COL_WIDE,
		"objects freed"),
	CELL_KEY(OBJECTS, struct access_row, g.remote_frees, "remote_frees", "FAR FREES",
		UNIT_COUNT, COL_WIDE,
		"of them, by a thread on another node than the one where it was made"),
	CELL_BY(OBJECTS, "other_first_touches", "FAR TOUCH", CELL_U64, UNIT_COUNT, COL_WIDE,
		"first touches of pages seen, that put them on another node than its maker ran on",
		other_touch_cell),
	CELL_KEY(OBJECTS, struct access_row, g.moved_pages, "moved_pages", "MOVED", UNIT_PAGES,
		COL_WIDE,
		"pages of it that the kernel migrated (exact where the source has addresses)"),
	CELL_KEY(THREAD, struct access_row, moves, "node_moves", "MOVES", UNIT_COUNT, 0,
		"with --by thread: how often the scheduler took it to another node (exact)"),
	CELL_BY(OBJECTS, "pattern", "PATTERN", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"how nodes use it, where the samples bear a verdict", pattern_cell),
	CELL_FROM(STACKS, struct access_row, g.site.stack, "stack", "STACK", CELL_STACK, UNIT_NONE,
		0, "with --stacks: where it was allocated or mapped", cell_of_stack),
};

const struct view_table numa_access_tables[] = {
	[NUMA_BY_SITE] = CELLS_VIEW("sites", columns),
	[NUMA_BY_OBJECT] = CELLS_VIEW("objects", columns),
	[NUMA_BY_TYPE] = CELLS_VIEW("types", columns),
	[NUMA_BY_FUNCTION] = CELLS_VIEW("functions", columns),
	[NUMA_BY_THREAD] = CELLS_VIEW("threads", columns),
	{},
};

u64 numa_tables_without(const struct view_table *t)
{
	u64 without = 0;

	for (u32 by = 0; by <= NUMA_BY_THREAD; by++)
		for (size_t i = 0; t == &numa_access_tables[by] && i < ARRAY_SIZE(columns); i++)
			if (columns[i].keys && !(columns[i].keys & keys_of(by, true)))
				without |= 1ULL << i;
	return without;
}

static int numa_tables_row_add(
	struct table *t, struct report *r, u32 keys, const struct access_row *row)
{
	return cells_row(
		t, r, columns, ARRAY_SIZE(columns), &(struct row_of){keys, row, row, NULL});
}

struct order {
	u64 accesses;
	u32 group;
};

static int order_compare(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static int groups_rows(struct table *t, u32 keys, struct report *r, const struct numa_feed *f,
	const struct numa_groups *g)
{
	struct order *order = malloc(MAX(g->list.n, 1UL) * sizeof(*order));
	int rc = order ? 0 : -ENOMEM;

	for (u32 i = 0; !rc && i < g->list.n; i++)
		order[i] = (struct order){g->list.v[i].sums.accesses, i};
	if (!rc)
		qsort(order, g->list.n, sizeof(*order), order_compare);
	for (u32 i = 0; !rc && i < g->list.n && i < ROWS_MAX; i++) {
		const struct numa_group *of = &g->list.v[order[i].group];
		const struct access_row row = {*of, numa_site_name(r, f, &of->site), 0,
			numa_judge(f, g, order[i].group).pattern};

		rc = numa_tables_row_add(t, r, keys, &row);
	}
	if (!rc && g->list.n > ROWS_MAX)
		report_note(r, "%zu rows with fewer accesses are left out", g->list.n - ROWS_MAX);
	free(order);
	return rc;
}

static void sums_join(struct numa_sums *to, const struct numa_sums *s)
{
	to->samples += s->samples;
	to->accesses += s->accesses;
	to->local += s->local;
	to->remote += s->remote;
	to->loads += s->loads;
	to->stores += s->stores;
	to->hitm += s->hitm;
	for (u32 i = 0; i < NUMA_NODES; i++) {
		to->from[i] += s->from[i];
		to->to[i] += s->to[i];
	}
	for (u32 i = 0; i < 2; i++) {
		to->latency_n[i] += s->latency_n[i];
		to->latency_sum[i] += s->latency_sum[i];
	}
}

static int type_rows(struct table *t, u32 keys, struct report *r, const struct numa_groups *g)
{
	struct access_row *types = calloc(OBJECT_KINDS, sizeof(*types));
	int rc = types ? 0 : -ENOMEM;

	for (u32 i = 0; !rc && i < g->list.n; i++) {
		struct numa_group *type = &types[g->list.v[i].site.kind].g;

		sums_join(&type->sums, &g->list.v[i].sums);
		type->n += g->list.v[i].n;
	}
	for (u32 i = 0; !rc && i < OBJECT_KINDS; i++) {
		types[i].g.site.kind = i;
		if (types[i].g.n)
			rc = numa_tables_row_add(t, r, keys, &types[i]);
	}
	free(types);
	return rc;
}

/* The row of a stack's function: by its name, so that its lines are one row. */
static int function_of(
	struct report *r, struct groups *names, struct groups *stacks, u32 stack, u64 *ret_key)
{
	u64 *known = groups_find(stacks, &stack);
	struct access_row *row;
	const char *name;

	if (known) {
		*ret_key = *known;
		return 0;
	}
	name = numa_function(r, stack, false);
	name = name ? name : "(not known)";
	*ret_key = XXH3_64bits(name, strlen(name));
	known = groups_get(stacks, &stack);
	row = groups_get(names, ret_key);
	if (!known || !row)
		return -ENOMEM;
	*known = *ret_key;
	row->name = name;
	return 0;
}

static int function_rows(struct table *t, u32 keys, struct report *r, struct numa_feed *f)
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;
	struct groups names, stacks;
	u64 key = 0;
	int rc = 0;

	groups_init(&names, sizeof(u64), sizeof(struct access_row));
	groups_init(&stacks, sizeof(u32), sizeof(u64));
	while (!rc && (a = numa_flow_next(&flow))) {
		rc = function_of(r, &names, &stacks, a->stack, &key);
		if (!rc)
			numa_sums_add(&((struct access_row *)groups_find(&names, &key))->g.sums, a);
	}
	for (size_t i = 0; !rc && i < names.n; i++)
		rc = numa_tables_row_add(t, r, keys, groups_value(&names, i));
	groups_free(&names);
	groups_free(&stacks);
	return rc;
}

static int thread_row(
	struct table *t, u32 keys, struct report *r, struct numa_feed *f, u32 i, u64 moves)
{
	const struct numa_thread *thread = numa_thread(f, i);
	struct numa_flow flow = numa_flow_thread(f, i);
	struct access_row row = {.g.site.tgid = thread->tgid, .moves = moves};
	const struct numa_access *a;

	while ((a = numa_flow_next(&flow)))
		numa_sums_add(&row.g.sums, a);
	if (!row.g.sums.samples)
		return 0;
	row.name = report_text(
		r, "%s (%u)", stream_comm(r->stream, thread->tgid, thread->tid), thread->tid);
	return numa_tables_row_add(t, r, keys, &row);
}

static int thread_rows(struct table *t, u32 keys, struct report *r, struct numa_feed *f)
{
	u32 n = numa_threads(f);
	u64 *counts = calloc(MAX(n, 1U), sizeof(*counts));
	size_t n_moves;
	const struct numa_moved *m = numa_thread_moves(f, &n_moves);
	int rc = counts ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n_moves; i++)
		if (m[i].thread < n && m[i].from != m[i].to)
			counts[m[i].thread]++;
	for (u32 i = 0; !rc && i < n; i++)
		rc = thread_row(t, keys, r, f, i, counts[i]);
	free(counts);
	return rc;
}

int numa_accesses_report(struct report *r, struct numa_feed *f, const struct numa_groups *groups,
	enum numa_by by, bool stacks)
{
	static const char *const titles[] = {
		[NUMA_BY_SITE] = "Accesses by what was allocated or mapped where",
		[NUMA_BY_OBJECT] = "Accesses by object",
		[NUMA_BY_TYPE] = "Accesses by kind of object",
		[NUMA_BY_FUNCTION] = "Accesses by function",
		[NUMA_BY_THREAD] = "Accesses by thread",
	};
	u32 keys = keys_of(by, stacks);
	struct table *t = cells_table_by(
		r, numa_access_tables[by].name, titles[by], columns, ARRAY_SIZE(columns), keys);

	if (!t)
		return -ENOMEM;
	t->sort = "accesses";
	t->empty = "No access was sampled.";
	if (by == NUMA_BY_TYPE)
		return type_rows(t, keys, r, groups);
	if (by == NUMA_BY_FUNCTION)
		return function_rows(t, keys, r, f);
	if (by == NUMA_BY_THREAD)
		return thread_rows(t, keys, r, f);
	return groups_rows(t, keys, r, f, groups);
}
