/* See numa_view.h: the accesses of a thread or of an object in order, and pictures of them. */
#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/units.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/view/numa_view.h"
#include "probes/numa/judge/numa_words.h"

#define ROWS_MAX 1000000
#define SLOTS 50       /* of a picture */
#define LINES_MAX 2000 /* rows of the timeline: the first ones seen */
#define MARKS 26       /* threads that have a letter */

/* What was asked for, as a filter over all accesses. */
struct filter {
	bool by_thread, by_object;
	u32 tid;
	u8 *objects;        /* by number: wanted */
	u32 n_objects, one; /* the only object; NUMA_NONE: several */
	u64 first_ns, last_ns, n;
};

/* NULL: there is no such object. */
static const char *object_name(struct report *r, const struct numa_feed *f, u32 object)
{
	struct object o;
	struct numa_site site;

	if (!numa_object(f, object, &o))
		return NULL;
	site = numa_site_of(&o, object, true);
	return numa_site_name(r, f, &site);
}

/* By a part of its name, or by its kind, as the tables have them. */
static bool object_is(struct report *r, const struct numa_feed *f, u32 object, const char *words)
{
	const char *name = object_name(r, f, object);
	struct object o;

	return name && (strstr(name, words) || (numa_object(f, object, &o) &&
						       !strcmp(numa_kind_name(o.kind), words)));
}

static int objects_choose(
	struct report *r, const struct numa_feed *f, const char *words, struct filter *w)
{
	u64 number = 0;
	bool is_number = !parse_u64(words, 0, NUMA_NONE - 1, &number);

	w->n_objects = numa_objects(f);
	w->objects = calloc(MAX(w->n_objects, 1U), 1);
	w->one = NUMA_NONE;
	if (!w->objects)
		return -ENOMEM;
	for (u32 i = 0, n = 0; i < w->n_objects; i++) {
		if (is_number ? i != number : !object_is(r, f, i, words))
			continue;
		w->objects[i] = 1;
		w->one = n++ ? NUMA_NONE : i;
	}
	return 0;
}

static int filter_make(struct report *r, const struct numa_feed *f,
	const struct numa_flow_asked *asked, struct filter *w)
{
	u64 tid;

	if (asked->thread && !parse_u64(asked->thread, 0, 0xffffffff, &tid)) {
		w->by_thread = true;
		w->tid = (u32)tid;
	}
	w->one = NUMA_NONE;
	w->by_object = asked->object != NULL;
	return w->by_object ? objects_choose(r, f, asked->object, w) : 0;
}

static bool numa_flows_wanted(
	const struct filter *w, const struct numa_feed *f, const struct numa_access *a)
{
	if (w->by_thread && numa_thread(f, a->thread)->tid != w->tid)
		return false;
	return !w->by_object || (a->object < w->n_objects && w->objects[a->object]);
}

static void filter_bounds(struct filter *w, const struct numa_feed *f)
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;

	while ((a = numa_flow_next(&flow))) {
		if (!numa_flows_wanted(w, f, a))
			continue;
		w->first_ns = w->n++ ? w->first_ns : a->time_ns;
		w->last_ns = a->time_ns;
	}
}

/* An access, and what it was to. */
struct flow_row {
	struct numa_access a;
	struct numa_thread t;
	struct object o;
	const char *name;
	bool known; /* the object is */
};

static struct flow_row flow_row(
	struct report *r, const struct numa_feed *f, const struct numa_access *a)
{
	struct flow_row row = {.a = *a, .t = *numa_thread(f, a->thread)};

	row.known = numa_object(f, a->object, &row.o);
	row.name = row.known ? object_name(r, f, a->object) : numa_why_name(a->why);
	return row;
}

static CELL_GET(flow_remote)
{
	int remote = numa_access_remote(&((const struct flow_row *)row->sums)->a);

	return remote < 0 ? (struct cell){} : cell_bool(remote);
}

CELL_EXPR(flow_comm, struct flow_row, cell_text(stream_comm(r->stream, e->t.tgid, e->t.tid)))
CELL_EXPR(flow_object, struct flow_row, e->known ? cell_u64(e->a.object) : (struct cell){})
CELL_EXPR(flow_kind, struct flow_row,
	e->known ? cell_text(numa_kind_name(e->o.kind)) : (struct cell){})
CELL_EXPR(flow_offset, struct flow_row,
	e->known && e->a.address >= e->o.start ? cell_u64(e->a.address - e->o.start)
					       : (struct cell){})
CELL_WORDS(flow_address, struct flow_row, if (e->a.address) str_add_hex(&s, e->a.address))
CELL_EXPR(flow_op, struct flow_row, cell_text(numa_op_name(e->a.op)))
CELL_EXPR(flow_cpu, struct flow_row, cell_node(e->a.cpu))
CELL_EXPR(flow_from, struct flow_row, cell_node(e->a.cpu_node))
CELL_EXPR(flow_on, struct flow_row, cell_node(e->a.page_node))
CELL_EXPR(flow_known, struct flow_row, cell_text(numa_page_from_name(e->a.from)))
CELL_EXPR(flow_latency, struct flow_row,
	numa_access_latency(&e->a) ? cell_u64(numa_access_latency(&e->a)) : (struct cell){})
CELL_EXPR(flow_level, struct flow_row, cell_text(numa_level_name(e->a.level)))
CELL_EXPR(flow_source, struct flow_row, cell_text(numa_source_name(e->a.source)))
CELL_EXPR(flow_accesses, struct flow_row, cell_u64(numa_access_weight(&e->a)))
CELL_EXPR(flow_function, struct flow_row, cell_text(numa_function(r, e->a.stack, false)))

static const struct cell_column flow_columns[] = {
	CELL_FROM(0, struct flow_row, a.time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"of the access, since the start", cell_of_time),
	CELL_NUMBER(struct flow_row, t.tgid, "pid", "PID", UNIT_ID, COL_WIDE, "process id"),
	CELL_NUMBER(struct flow_row, t.tid, "tid", "TID", UNIT_ID, 0, "thread id"),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, COL_WIDE, "name of the thread", flow_comm),
	CELL_BY(0, "object", "OBJECT", CELL_U64, UNIT_ID, 0, "number of the object", flow_object),
	CELL_FROM(0, struct flow_row, name, "name", "WHAT", CELL_TEXT, UNIT_NONE, 0,
		"who allocated or mapped it, the variable, the file, the stack's thread",
		cell_of_text),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "of the object", flow_kind),
	CELL_BY(0, "offset_bytes", "AT", CELL_U64, UNIT_BYTES, 0, "from the object's begin",
		flow_offset),
	CELL_BY(0, "address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "what was accessed",
		flow_address),
	CELL_BY(0, "op", "OP", CELL_TEXT, UNIT_NONE, COL_RARE,
		"load or store, where the source shows it", flow_op),
	CELL_BY(0, "cpu", "CPU", CELL_U64, UNIT_ID, COL_WIDE, "processor", flow_cpu),
	CELL_BY(0, "cpu_node", "FROM", CELL_U64, UNIT_ID, 0, "node of the CPU", flow_from),
	CELL_BY(0, "page_node", "ON", CELL_U64, UNIT_ID, 0, "node of the page", flow_on),
	CELL_BY(0, "node_known_by", "KNOWN BY", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"how the node of the page is known: see the table sources", flow_known),
	CELL_BY(0, "remote", "REMOTE", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"was it remote; empty: not known", flow_remote),
	CELL_BY(0, "latency_cycles", "LATENCY", CELL_U64, UNIT_COUNT, COL_RARE,
		"in cycles; only from hardware samples", flow_latency),
	CELL_BY(0, "level", "LEVEL", CELL_TEXT, UNIT_NONE, COL_WIDE, "where the data was found",
		flow_level),
	CELL_BY(0, "source", "SOURCE", CELL_TEXT, UNIT_NONE, COL_WIDE, "the source of the sample",
		flow_source),
	CELL_BY(0, "accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WIDE | COL_WEIGHT,
		"that the sample stands for (estimated)", flow_accesses),
	CELL_BY(0, "function", "BY", CELL_TEXT, UNIT_NONE, 0, "function that accessed it",
		flow_function),
	CELL_FROM(0, struct flow_row, a.stack, "stack", "STACK", CELL_STACK, UNIT_NONE, COL_WIDE,
		"code path of the access", cell_of_stack),
};

static int flow_report(struct report *r, const struct numa_feed *f, const struct filter *w)
{
	struct table *t =
		cells_table(r, "flow", "Accesses in order", flow_columns, ARRAY_SIZE(flow_columns));
	struct numa_flow flow = numa_flow_all(f);
	u64 limit = r->limit && !r->sort ? MIN(r->limit, (u32)ROWS_MAX) : ROWS_MAX;
	const struct numa_access *a;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->empty = "No access to it was sampled; memwhy numa --by object lists what was.";
	while ((a = numa_flow_next(&flow)) && t->n_rows < limit && !rc) {
		if (numa_flows_wanted(w, f, a)) {
			const struct flow_row row = flow_row(r, f, a);

			rc = cells_one(t, r, flow_columns, &row, NULL);
		}
	}
	t->n_cut = w->n - t->n_rows;
	return rc;
}

/* Threads in a picture are letters: 'a' has most accesses. */
struct marks {
	u32 threads[MARKS];
	size_t n;
};

/* '*': one of those that have none. */
static char mark_of(const struct marks *m, u32 thread)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->threads[i] == thread)
			return (char)('a' + i);
	return '*';
}

/* Moves the thread with most accesses of those left to the marks. */
static void mark_next(struct marks *m, struct groups *sums)
{
	u64 *best = NULL;
	size_t at = 0;

	for (size_t i = 0; i < sums->n; i++) {
		u64 *n = groups_value(sums, i);

		if (!*n || (best && *n <= *best))
			continue;
		best = n;
		at = i;
	}
	if (!best)
		return;
	m->threads[m->n++] = *(const u32 *)groups_key(sums, at);
	*best = 0;
}

static int marks_make(const struct numa_feed *f, const struct filter *w, struct marks *ret)
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;
	struct groups sums;
	int rc = 0;

	groups_init(&sums, sizeof(u32), sizeof(u64));
	while (!rc && (a = numa_flow_next(&flow))) {
		u64 *sum = numa_flows_wanted(w, f, a) ? groups_get(&sums, &a->thread) : NULL;

		if (sum)
			*sum += numa_access_weight(a);
		else if (numa_flows_wanted(w, f, a))
			rc = -ENOMEM;
	}
	for (size_t i = 0; i < MARKS && !rc; i++)
		mark_next(ret, &sums);
	groups_free(&sums);
	return rc;
}

/* Of one row of the timeline: in each slot, accesses from each node. */
struct line {
	u64 accesses, local, remote;
	u32 slots[SLOTS][NUMA_NODES];
	bool any[SLOTS]; /* also where the node is not known */
};

static u32 slot_of(const struct filter *w, u64 time_ns)
{
	double span = (double)(w->last_ns - w->first_ns) + 1;
	u32 slot = (u32)((double)(time_ns - w->first_ns) / span * SLOTS);

	return MIN(slot, (u32)SLOTS - 1);
}

static int lines_sum(const struct numa_feed *f, const struct filter *w, struct groups *lines)
{
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;

	while ((a = numa_flow_next(&flow))) {
		u32 key = w->by_thread ? a->object : a->thread;
		int remote = numa_access_remote(a);
		struct line *l;
		u32 slot;

		if (!numa_flows_wanted(w, f, a))
			continue;
		l = lines->n < LINES_MAX ? groups_get(lines, &key) : groups_find(lines, &key);
		if (!l && lines->n >= LINES_MAX)
			continue;
		if (!l)
			return -ENOMEM;
		l->accesses += numa_access_weight(a);
		l->local += !remote;
		l->remote += remote > 0;
		slot = slot_of(w, a->time_ns);
		l->any[slot] = true;
		if (a->cpu_node >= 0)
			l->slots[slot][a->cpu_node]++;
	}
	return 0;
}

static const char *line_picture(struct report *r, const struct line *l)
{
	char picture[SLOTS + 1] = {};

	for (u32 i = 0; i < SLOTS; i++) {
		u32 best = 0;

		for (u32 n = 1; n < NUMA_NODES; n++)
			best = l->slots[i][n] > l->slots[i][best] ? n : best;
		picture[i] = l->slots[i][best] ? numa_digit((s32)best) : l->any[i] ? '?' : '.';
	}
	return report_text(r, "%s", picture);
}

/* How many lines, or nodes, are in each slot. */
static const char *count_picture(struct report *r, const struct groups *lines, bool nodes)
{
	char picture[SLOTS + 1] = {};

	for (u32 i = 0; i < SLOTS; i++) {
		u64 mask = 0;
		u32 n = 0;

		for (size_t k = 0; k < lines->n; k++) {
			const struct line *l = groups_value(lines, k);
			u64 here = 0;

			for (u32 node = 0; node < NUMA_NODES; node++)
				here |= l->slots[i][node] ? 1ULL << node : 0;
			mask |= here;
			n += l->any[i];
		}
		n = nodes ? (u32)__builtin_popcountll(mask) : n;
		picture[i] = n ? numa_digit((s32)n) : '.';
	}
	return report_text(r, "%s", picture);
}

struct time_row {
	const char *who, *picture, *mark;
	const struct line *line; /* NULL: how many there are */
};

CELL_EXPR(time_accesses, struct time_row, e->line ? cell_u64(e->line->accesses) : (struct cell){})
CELL_EXPR(time_remote, struct time_row,
	e->line ? cell_ratio(e->line->remote, e->line->local + e->line->remote) : (struct cell){})

static const struct cell_column time_columns[] = {
	CELL_FROM(0, struct time_row, who, "who", "WHO", CELL_TEXT, UNIT_NONE, 0,
		"a thread; with --thread an object; or how many threads, or nodes", cell_of_text),
	CELL_FROM(0, struct time_row, mark, "mark", "MARK", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"the letter of the thread in the picture of the pages; '*': of those with fewer "
		"accesses",
		cell_of_text),
	CELL_BY(0, "accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "(estimated)",
		time_accesses),
	CELL_BY(0, "remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0, "of them (sampled)",
		time_remote),
	CELL_FROM(0, struct time_row, picture, "picture", "OVER TIME", CELL_TEXT, UNIT_NONE,
		COL_ASIDE,
		"from the first to the last access shown: the node of the CPU that most accesses "
		"of "
		"each fiftieth came from ('?': not known); of threads and nodes: how many were "
		"seen at once ('*': "
		"more than 35)",
		cell_of_text),
};

static int count_row(
	struct table *t, struct report *r, const struct groups *lines, const char *who, bool nodes)
{
	const struct time_row row = {.who = who, .picture = count_picture(r, lines, nodes)};

	return cells_one(t, r, time_columns, &row, NULL);
}

static int line_row(struct table *t, struct report *r, const struct numa_feed *f,
	const struct marks *m, u32 key, const struct line *l)
{
	const struct numa_thread *thread = m ? numa_thread(f, key) : NULL;
	struct time_row row = {.picture = line_picture(r, l), .line = l};

	row.who = thread ? report_text(r, "%s (%u)",
				   stream_comm(r->stream, thread->tgid, thread->tid), thread->tid)
			 : object_name(r, f, key);
	row.mark = m ? report_text(r, "%c", mark_of(m, key)) : NULL;
	return cells_one(t, r, time_columns, &row, NULL);
}

static int timeline_report(
	struct report *r, const struct numa_feed *f, const struct filter *w, const struct marks *m)
{
	struct table *t =
		cells_table(r, "timeline", "Over time", time_columns, ARRAY_SIZE(time_columns));
	struct groups lines;
	int rc;

	if (!t)
		return -ENOMEM;
	t->sort = "accesses";
	groups_init(&lines, sizeof(u32), sizeof(struct line));
	rc = lines_sum(f, w, &lines);
	for (size_t i = 0; !rc && i < lines.n && i < LINES_MAX; i++)
		rc = line_row(t, r, f, w->by_thread ? NULL : m, *(const u32 *)groups_key(&lines, i),
			groups_value(&lines, i));
	if (!rc && lines.n)
		rc = count_row(t, r, &lines,
			w->by_thread ? "objects at a time" : "threads at a time", false);
	if (!rc && lines.n)
		rc = count_row(t, r, &lines, "nodes at a time", true);
	groups_free(&lines);
	return rc;
}

struct part {
	s8 on;
	u32 from[NUMA_NODES];
	u32 by[MARKS + 1]; /* the last: threads without a letter */
	u64 judged, remote;
};

static void parts_sum(struct numa_feed *f, u32 object, const struct object *o,
	const struct marks *m, struct part parts[SLOTS])
{
	struct numa_flow flow = numa_flow_object(f, object);
	const struct numa_placed *placed;
	const struct numa_access *a;
	size_t n;

	while ((a = numa_flow_next(&flow))) {
		int remote = numa_access_remote(a);
		char mark = mark_of(m, a->thread);
		struct part *p;

		if (a->address < o->start || a->address - o->start >= o->bytes)
			continue;
		p = &parts[(u64)((double)(a->address - o->start) / (double)o->bytes * SLOTS)];
		p->on = a->page_node >= 0 ? a->page_node : p->on;
		if (a->cpu_node >= 0)
			p->from[a->cpu_node]++;
		p->by[mark == '*' ? MARKS : mark - 'a']++;
		p->judged += remote >= 0;
		p->remote += remote > 0;
	}
	placed = numa_places(f, &n);
	for (size_t i = 0; i < n; i++)
		for (u64 at = placed[i].start;
			placed[i].object == object && !placed[i].sum &&
			at < placed[i].start + placed[i].bytes && at - o->start < o->bytes;
			at += o->bytes / SLOTS + 1)
			parts[(u64)((double)(at - o->start) / (double)o->bytes * SLOTS)].on =
				placed[i].node;
}

static u32 most_of(const u32 *counts, u32 n)
{
	u32 best = 0;

	for (u32 i = 1; i < n; i++)
		best = counts[i] > counts[best] ? i : best;
	return best;
}

enum page_picture { PAGES_ON, PAGES_FROM, PAGES_BY, PAGES_REMOTE, PAGES_PICTURES };

static void part_pictures(const struct part parts[SLOTS], char pictures[PAGES_PICTURES][SLOTS + 1])
{
	for (u32 i = 0; i < SLOTS; i++) {
		const struct part *p = &parts[i];
		u32 from = most_of(p->from, NUMA_NODES), by = most_of(p->by, MARKS + 1);

		pictures[PAGES_ON][i] = p->on >= 0 ? numa_digit(p->on) : '.';
		pictures[PAGES_FROM][i] = p->from[from] ? numa_digit((s32)from) : '.';
		pictures[PAGES_BY][i] = !p->by[by] ? '.' : by == MARKS ? '*' : (char)('a' + by);
		pictures[PAGES_REMOTE][i] = p->judged ? numa_shade(p->remote, p->judged) : '.';
	}
}

struct page_row {
	const char *what, *picture;
	u64 bytes;
};

static const struct cell_column page_columns[] = {
	CELL_FROM(0, struct page_row, what, "what", "PAGES", CELL_TEXT, UNIT_NONE, 0,
		"what the picture shows", cell_of_text),
	CELL_FROM(0, struct page_row, bytes, "bytes", "SIZE", CELL_U64, UNIT_BYTES, 0,
		"of the object", cell_of_known),
	CELL_FROM(0, struct page_row, picture, "picture", "FROM START TO END", CELL_TEXT, UNIT_NONE,
		COL_ASIDE,
		"a fiftieth of the object each: the node it lies on as seen last, the node and the "
		"thread that use it most (the thread by its mark in the timeline), and how remote "
		"it is (' ': not at all, '@': all)",
		cell_of_text),
};

const struct view_table numa_flow_tables[] = {
	CELLS_VIEW("flow", flow_columns),
	CELLS_VIEW("timeline", time_columns),
	CELLS_VIEW("pages", page_columns),
	{},
};

/* Of one object only: several have no common begin and end. */
static int pages_report(
	struct report *r, struct numa_feed *f, const struct filter *w, const struct marks *m)
{
	struct table *t =
		cells_table(r, "pages", "Its pages", page_columns, ARRAY_SIZE(page_columns));
	static const char *const what[PAGES_PICTURES] = {
		"lie on node", "used from node", "used by thread", "remote"};
	char pictures[PAGES_PICTURES][SLOTS + 1] = {};
	struct part *parts;
	struct object o;

	if (!t)
		return -ENOMEM;
	if (w->one == NUMA_NONE || !numa_object(f, w->one, &o) || !o.bytes)
		return 0;
	parts = calloc(SLOTS, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	for (u32 i = 0; i < SLOTS; i++)
		parts[i].on = -1;
	parts_sum(f, w->one, &o, m, parts);
	part_pictures(parts, pictures);
	free(parts);
	for (u32 i = 0; i < PAGES_PICTURES; i++) {
		const struct page_row row = {
			what[i], report_text(r, "|%s|", pictures[i]), i ? 0 : o.bytes};

		if (cells_one(t, r, page_columns, &row, NULL))
			return -ENOMEM;
	}
	return 0;
}

int numa_flows_report(struct report *r, struct numa_feed *f, const struct numa_flow_asked *asked)
{
	struct filter w = {};
	struct marks marks = {};
	int rc = filter_make(r, f, asked, &w);

	if (!rc)
		filter_bounds(&w, f);
	rc = rc ? rc : marks_make(f, &w, &marks);
	rc = rc ? rc : flow_report(r, f, &w);
	rc = rc ? rc : timeline_report(r, f, &w, &marks);
	rc = rc ? rc : pages_report(r, f, &w, &marks);
	free(w.objects);
	return rc;
}
