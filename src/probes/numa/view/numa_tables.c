/* See numa_tables.h: accesses by site, object, type, function or thread. */
#include "probes/numa/view/numa_tables.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "probes/numa/judge/numa_patterns.h"
#include "probes/numa/judge/numa_words.h"

#define ROWS_MAX 20000 /* with most accesses */

enum {
	C_OBJECT,
	C_NAME,
	C_KIND,
	C_PID,
	C_BYTES,
	C_OBJECTS,
	C_ACCESSES,
	C_SAMPLES,
	C_REMOTE,
	C_REMOTE_TOTAL,
	C_FROM,
	C_ON,
	C_THREADS,
	C_MAKER,
	C_ALONE,
	C_STORES,
	C_HITM,
	C_LOCAL_LATENCY,
	C_REMOTE_LATENCY,
	C_LINE_MIXED,
	C_PAGE_MIXED,
	C_HUGE_MIXED,
	C_MIXED,
	C_SWITCHES,
	C_FREES,
	C_REMOTE_FREES,
	C_OTHER_TOUCH,
	C_MOVED,
	C_THREAD_MOVES,
	C_PATTERN,
	C_STACK,
	C_N,
};

static const struct column columns[C_N] = {
	[C_OBJECT] = {"object", "OBJECT", CELL_U64, UNIT_ID, 0,
		"with --by object: its number, for numa flow --object"},
	[C_NAME] = {"name", "WHAT", CELL_TEXT, UNIT_NONE, 0,
		"who allocated or mapped it, the variable, the file, the stack's thread; with --by "
		"function and thread: that"},
	[C_KIND] = {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"heap block, heap (not told by block), mapping, stack, variable, data and code (of "
		"a "
		"file's mapping), file, shared memory, hugetlb, vdso, kernel"},
	[C_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_WIDE, "process; empty: of any"},
	[C_BYTES] = {"bytes", "SIZE", CELL_U64, UNIT_BYTES, 0, "of the object with most samples"},
	[C_OBJECTS] = {"objects", "N", CELL_U64, UNIT_COUNT, 0, "objects that were touched"},
	[C_ACCESSES] = {"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"to it (estimated: samples times what each stands for)"},
	[C_SAMPLES] = {"samples", "SAMPLES", CELL_U64, UNIT_COUNT, COL_WIDE,
		"accesses that were seen (exact)"},
	[C_REMOTE] = {"remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0,
		"of the accesses whose place is known, to another node than the CPU's (sampled)"},
	[C_REMOTE_TOTAL] = {"remote_total", "REMOTE N", CELL_U64, UNIT_COUNT, COL_WIDE,
		"remote accesses (estimated)"},
	[C_FROM] = {"from_nodes", "FROM", CELL_TEXT, UNIT_NONE, COL_ASIDE, "nodes of the CPUs"},
	[C_ON] = {"on_nodes", "ON", CELL_TEXT, UNIT_NONE, COL_ASIDE, "nodes of the pages"},
	[C_THREADS] = {"threads", "THREADS", CELL_U64, UNIT_COUNT, 0, "that were seen to touch it"},
	[C_MAKER] = {"maker_ratio", "BY MAKER", CELL_F64, UNIT_RATIO, COL_RARE,
		"of its accesses, by the thread that allocated or mapped it, where that is known"},
	[C_ALONE] = {"before_sharing_ratio", "ALONE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of its accesses, before a second thread was seen to touch the object"},
	[C_STORES] = {"stores_ratio", "STORES", CELL_F64, UNIT_RATIO, COL_WIDE,
		"of its accesses that are known to be loads or stores"},
	[C_HITM] = {"hitm", "HITM", CELL_U64, UNIT_COUNT, COL_WIDE,
		"accesses that found the line modified in another cache (estimated)"},
	[C_LOCAL_LATENCY] = {"local_latency_cycles", "LAT LOCAL", CELL_U64, UNIT_COUNT, COL_WIDE,
		"mean latency of local accesses, in cycles; only hardware tells it"},
	[C_REMOTE_LATENCY] = {"remote_latency_cycles", "LAT REMOTE", CELL_U64, UNIT_COUNT, COL_WIDE,
		"the same, of remote ones"},
	[C_LINE_MIXED] = {"line_mixed_ratio", "MIXED LINE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"chance that two accesses to one line of 64 bytes are from different nodes "
		"(estimated; empty: no two were seen)"},
	[C_PAGE_MIXED] = {"page_mixed_ratio", "MIXED PAGE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"the same, to one page of 4 KiB: where lines are not mixed, it is shared falsely"},
	[C_HUGE_MIXED] = {"huge_mixed_ratio", "MIXED HUGE", CELL_F64, UNIT_RATIO, COL_WIDE,
		"the same, to the same 2 MiB: where pages are not mixed, a huge page would be "
		"shared falsely"},
	[C_MIXED] = {"mixed_ratio", "MIXED", CELL_F64, UNIT_RATIO, COL_WIDE,
		"the same, to one object"},
	[C_SWITCHES] = {"switches_ratio", "SWITCHES", CELL_F64, UNIT_RATIO, COL_WIDE,
		"the same, of two accesses to an object that followed each other: much less means "
		"in turns"},
	[C_FREES] = {"frees", "FREES", CELL_U64, UNIT_COUNT, COL_WIDE, "objects freed"},
	[C_REMOTE_FREES] = {"remote_frees", "FAR FREES", CELL_U64, UNIT_COUNT, COL_WIDE,
		"of them, by a thread on another node than the one where it was made"},
	[C_OTHER_TOUCH] = {"other_first_touches", "FAR TOUCH", CELL_U64, UNIT_COUNT, COL_WIDE,
		"first touches of pages seen, that put them on another node than its maker ran on"},
	[C_MOVED] = {"moved_pages", "MOVED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"pages of it that the kernel migrated (exact where the source tells addresses)"},
	[C_THREAD_MOVES] = {"node_moves", "MOVES", CELL_U64, UNIT_COUNT, 0,
		"with --by thread: how often the scheduler took it to another node (exact)"},
	[C_PATTERN] = {"pattern", "PATTERN", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"how nodes use it, where the samples bear a verdict"},
	[C_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"with --stacks: where it was allocated or mapped"},
};

#define BIT(c_) (1ULL << (c_))
#define ONLY_OBJECTS                                                                       \
	(BIT(C_BYTES) | BIT(C_THREADS) | BIT(C_MAKER) | BIT(C_ALONE) | BIT(C_LINE_MIXED) | \
		BIT(C_PAGE_MIXED) | BIT(C_HUGE_MIXED) | BIT(C_MIXED) | BIT(C_SWITCHES) |   \
		BIT(C_FREES) | BIT(C_REMOTE_FREES) | BIT(C_OTHER_TOUCH) | BIT(C_MOVED) |   \
		BIT(C_PATTERN))

/* Columns that say nothing with a key. */
static const u64 left_out[] = {
	[NUMA_BY_SITE] = BIT(C_OBJECT) | BIT(C_THREAD_MOVES),
	[NUMA_BY_OBJECT] = BIT(C_OBJECTS) | BIT(C_THREAD_MOVES),
	[NUMA_BY_TYPE] = ONLY_OBJECTS | BIT(C_OBJECT) | BIT(C_NAME) | BIT(C_PID) |
			 BIT(C_THREAD_MOVES) | BIT(C_STACK),
	[NUMA_BY_FUNCTION] = ONLY_OBJECTS | BIT(C_OBJECT) | BIT(C_KIND) | BIT(C_PID) |
			     BIT(C_OBJECTS) | BIT(C_THREAD_MOVES) | BIT(C_STACK),
	[NUMA_BY_THREAD] =
		ONLY_OBJECTS | BIT(C_OBJECT) | BIT(C_KIND) | BIT(C_OBJECTS) | BIT(C_STACK),
};

const struct view_table numa_access_tables[] = {
	[NUMA_BY_SITE] = {"sites", columns, C_N, sizeof(columns[0])},
	[NUMA_BY_OBJECT] = {"objects", columns, C_N, sizeof(columns[0])},
	[NUMA_BY_TYPE] = {"types", columns, C_N, sizeof(columns[0])},
	[NUMA_BY_FUNCTION] = {"functions", columns, C_N, sizeof(columns[0])},
	[NUMA_BY_THREAD] = {"threads", columns, C_N, sizeof(columns[0])},
	{},
};

u64 numa_tables_without(const struct view_table *t)
{
	for (u32 by = 0; by < ARRAY_SIZE(left_out); by++)
		if (t == &numa_access_tables[by])
			return left_out[by];
	return 0;
}

/* A table of the columns that a key has. */
struct shape {
	size_t n;
	size_t index[C_N];
	struct column cols[C_N];
};

static const struct shape *shape_of(enum numa_by by, bool stacks)
{
	static struct shape shapes[ARRAY_SIZE(left_out)][2];
	struct shape *s = &shapes[by][stacks];

	for (size_t i = s->n ? C_N : 0; i < C_N; i++) {
		if (left_out[by] & BIT(i) || (i == C_STACK && !stacks))
			continue;
		s->cols[s->n] = columns[i];
		s->index[s->n++] = i;
	}
	return s;
}

/* A row, of the cells of all columns. */
static int row_add(struct table *t, const struct shape *s, const struct cell all[C_N])
{
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		row[i] = all[s->index[i]];
	return 0;
}

static struct cell ratio_cell(u64 part, u64 all)
{
	return all ? cell_f64((double)part / (double)all) : (struct cell){};
}

static void sums_cells(struct cell *row, struct report *r, const struct numa_sums *s)
{
	row[C_ACCESSES] = cell_u64(s->accesses);
	row[C_SAMPLES] = cell_u64(s->samples);
	row[C_REMOTE] = ratio_cell(s->remote, s->local + s->remote);
	row[C_REMOTE_TOTAL] = cell_u64(s->remote);
	if (numa_from_mask(s))
		row[C_FROM] = cell_text(numa_mask_text(r, numa_from_mask(s)));
	if (numa_to_mask(s))
		row[C_ON] = cell_text(numa_mask_text(r, numa_to_mask(s)));
	row[C_STORES] = ratio_cell(s->stores, s->stores + s->loads);
	if (s->hitm)
		row[C_HITM] = cell_u64(s->hitm);
	if (s->latency_n[0])
		row[C_LOCAL_LATENCY] = cell_u64(s->latency_sum[0] / s->latency_n[0]);
	if (s->latency_n[1])
		row[C_REMOTE_LATENCY] = cell_u64(s->latency_sum[1] / s->latency_n[1]);
}

static const u8 mixed_columns[NUMA_UNITS] = {
	[NUMA_UNIT_LINE] = C_LINE_MIXED,
	[NUMA_UNIT_PAGE] = C_PAGE_MIXED,
	[NUMA_UNIT_HUGE] = C_HUGE_MIXED,
	[NUMA_UNIT_OBJECT] = C_MIXED,
};

static void group_cells(struct cell *row, struct report *r, const struct numa_feed *f,
	const struct numa_groups *all, u32 i, bool stacks)
{
	const struct numa_group *g = &all->list.v[i];
	struct numa_verdict v = numa_judge(f, all, i);

	sums_cells(row, r, &g->sums);
	if (g->site.object)
		row[C_OBJECT] = cell_u64(g->site.object - 1);
	row[C_NAME] = cell_text(numa_site_name(r, f, &g->site));
	row[C_KIND] = cell_text(numa_kind_name(g->site.kind));
	if (g->site.tgid)
		row[C_PID] = cell_u64(g->site.tgid);
	if (g->site.kind != OBJECT_KERNEL)
		row[C_BYTES] = cell_u64(g->bytes);
	if (!g->site.object)
		row[C_OBJECTS] = cell_u64(g->n);
	row[C_THREADS] = cell_u64(g->threads);
	row[C_MAKER] = ratio_cell(g->by_allocator, g->by_known);
	row[C_ALONE] = ratio_cell(g->before_sharing, g->sums.accesses);
	for (u32 unit = 0; unit < NUMA_UNITS; unit++)
		if (g->sharing[unit].samples)
			row[mixed_columns[unit]] = cell_f64(g->sharing[unit].mixed);
	if (g->switch_pairs)
		row[C_SWITCHES] = cell_f64(g->switches);
	row[C_FREES] = cell_u64(g->frees);
	row[C_REMOTE_FREES] = cell_u64(g->remote_frees);
	if (g->first_touches)
		row[C_OTHER_TOUCH] = cell_u64(g->first_touch_other);
	row[C_MOVED] = cell_u64(g->moved_pages);
	if (v.pattern)
		row[C_PATTERN] = cell_text(numa_pattern_name(v.pattern));
	if (stacks)
		row[C_STACK] = cell_stack(g->site.stack);
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

static int groups_rows(struct table *t, const struct shape *s, struct report *r,
	const struct numa_feed *f, const struct numa_groups *g, bool stacks)
{
	struct order *order = malloc(MAX(g->list.n, 1UL) * sizeof(*order));
	int rc = order ? 0 : -ENOMEM;

	for (u32 i = 0; !rc && i < g->list.n; i++)
		order[i] = (struct order){g->list.v[i].sums.accesses, i};
	if (!rc)
		qsort(order, g->list.n, sizeof(*order), order_compare);
	for (u32 i = 0; !rc && i < g->list.n && i < ROWS_MAX; i++) {
		struct cell all[C_N] = {};

		group_cells(all, r, f, g, order[i].group, stacks);
		rc = row_add(t, s, all);
	}
	if (!rc && g->list.n > ROWS_MAX)
		report_note(r, "%zu rows with fewer accesses are left out", g->list.n - ROWS_MAX);
	free(order);
	return rc;
}

struct type_row {
	struct numa_sums sums;
	u32 objects;
};

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

static int type_rows(
	struct table *t, const struct shape *s, struct report *r, const struct numa_groups *g)
{
	struct type_row *types = calloc(OBJECT_KINDS, sizeof(*types));
	int rc = types ? 0 : -ENOMEM;

	for (u32 i = 0; !rc && i < g->list.n; i++) {
		struct type_row *type = &types[g->list.v[i].site.kind];

		sums_join(&type->sums, &g->list.v[i].sums);
		type->objects += g->list.v[i].n;
	}
	for (u32 i = 0; !rc && i < OBJECT_KINDS; i++) {
		struct cell all[C_N] = {};

		if (!types[i].objects)
			continue;
		sums_cells(all, r, &types[i].sums);
		all[C_KIND] = cell_text(numa_kind_name(i));
		all[C_OBJECTS] = cell_u64(types[i].objects);
		rc = row_add(t, s, all);
	}
	free(types);
	return rc;
}

struct function_row {
	struct numa_sums sums;
	const char *name;
};

/* The row of a stack's function: by its name, so that its lines are one row. */
static int function_of(
	struct report *r, struct groups *names, struct groups *stacks, u32 stack, u64 *ret_key)
{
	u64 *known = groups_find(stacks, &stack);
	struct function_row *row;
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

static int function_rows(
	struct table *t, const struct shape *s, struct report *r, struct numa_feed *f)
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;
	struct groups names, stacks;
	u64 key = 0;
	int rc = 0;

	groups_init(&names, sizeof(u64), sizeof(struct function_row));
	groups_init(&stacks, sizeof(u32), sizeof(u64));
	while (!rc && (a = numa_flow_next(&flow))) {
		rc = function_of(r, &names, &stacks, a->stack, &key);
		if (!rc)
			numa_sums_add(&((struct function_row *)groups_find(&names, &key))->sums, a);
	}
	for (size_t i = 0; !rc && i < names.n; i++) {
		const struct function_row *v = groups_value(&names, i);
		struct cell all[C_N] = {};

		sums_cells(all, r, &v->sums);
		all[C_NAME] = cell_text(v->name);
		rc = row_add(t, s, all);
	}
	groups_free(&names);
	groups_free(&stacks);
	return rc;
}

static int thread_row(struct table *t, const struct shape *shape, struct report *r,
	struct numa_feed *f, u32 i, u64 moves)
{
	const struct numa_thread *thread = numa_thread(f, i);
	struct numa_flow flow = numa_flow_thread(f, i);
	const struct numa_access *a;
	struct numa_sums s = {};
	struct cell row[C_N] = {};

	while ((a = numa_flow_next(&flow)))
		numa_sums_add(&s, a);
	if (!s.samples)
		return 0;
	sums_cells(row, r, &s);
	row[C_NAME] = cell_text(report_text(
		r, "%s (%u)", stream_comm(r->stream, thread->tgid, thread->tid), thread->tid));
	row[C_PID] = cell_u64(thread->tgid);
	row[C_THREAD_MOVES] = cell_u64(moves);
	return row_add(t, shape, row);
}

static int thread_rows(
	struct table *t, const struct shape *s, struct report *r, struct numa_feed *f)
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
		rc = thread_row(t, s, r, f, i, counts[i]);
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
	const struct shape *s = shape_of(by, stacks);
	struct table *t = report_table(r, numa_access_tables[by].name, titles[by], s->cols, s->n);

	if (!t)
		return -ENOMEM;
	t->sort = "accesses";
	t->empty = "No access was sampled.";
	if (by == NUMA_BY_TYPE)
		return type_rows(t, s, r, groups);
	if (by == NUMA_BY_FUNCTION)
		return function_rows(t, s, r, f);
	if (by == NUMA_BY_THREAD)
		return thread_rows(t, s, r, f);
	return groups_rows(t, s, r, f, groups, stacks);
}
