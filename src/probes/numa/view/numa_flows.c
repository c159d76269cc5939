/* See numa_view.h: the accesses of a thread or of an object in order, and pictures of them. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/view/numa_view.h"
#include "probes/numa/judge/numa_words.h"

#define ROWS_MAX 1000000
#define SLOTS 50       /* of a picture */
#define LINES_MAX 2000 /* rows of the timeline: the first ones seen */

enum {
	F_TIME,
	F_PID,
	F_TID,
	F_COMM,
	F_OBJECT,
	F_NAME,
	F_KIND,
	F_OFFSET,
	F_ADDRESS,
	F_OP,
	F_CPU,
	F_FROM,
	F_ON,
	F_KNOWN,
	F_REMOTE,
	F_LATENCY,
	F_LEVEL,
	F_SOURCE,
	F_ACCESSES,
	F_FUNCTION,
	F_STACK,
	F_N,
};

static const struct column flow_columns[F_N] = {
	[F_TIME] = {"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "of the access, since the start"},
	[F_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_WIDE, "process id"},
	[F_TID] = {"tid", "TID", CELL_U64, UNIT_ID, 0, "thread id"},
	[F_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, COL_WIDE, "name of the thread"},
	[F_OBJECT] = {"object", "OBJECT", CELL_U64, UNIT_ID, 0, "number of the object"},
	[F_NAME] = {"name", "WHAT", CELL_TEXT, UNIT_NONE, 0,
		"who allocated or mapped it, the variable, the file, the stack's thread"},
	[F_KIND] = {"kind", "KIND", CELL_TEXT, UNIT_NONE, COL_WIDE, "of the object"},
	[F_OFFSET] = {"offset_bytes", "AT", CELL_U64, UNIT_BYTES, 0, "from the object's begin"},
	[F_ADDRESS] = {"address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "what was accessed"},
	[F_OP] = {"op", "OP", CELL_TEXT, UNIT_NONE, COL_RARE,
		"load or store, where the source tells"},
	[F_CPU] = {"cpu", "CPU", CELL_U64, UNIT_ID, COL_WIDE, "processor"},
	[F_FROM] = {"cpu_node", "FROM", CELL_U64, UNIT_ID, 0, "node of the CPU"},
	[F_ON] = {"page_node", "ON", CELL_U64, UNIT_ID, 0, "node of the page"},
	[F_KNOWN] = {"node_known_by", "KNOWN BY", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"how the node of the page is known: see the table sources"},
	[F_REMOTE] = {"remote", "REMOTE", CELL_BOOL, UNIT_NONE, COL_WIDE,
		"was it remote; empty: not known"},
	[F_LATENCY] = {"latency_cycles", "LATENCY", CELL_U64, UNIT_COUNT, COL_RARE,
		"in cycles; only hardware tells it"},
	[F_LEVEL] = {"level", "LEVEL", CELL_TEXT, UNIT_NONE, COL_WIDE, "where the data was found"},
	[F_SOURCE] = {"source", "SOURCE", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"the source of the sample"},
	[F_ACCESSES] = {"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WIDE | COL_WEIGHT,
		"that the sample stands for (estimated)"},
	[F_FUNCTION] = {"function", "BY", CELL_TEXT, UNIT_NONE, 0, "function that accessed it"},
	[F_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, COL_WIDE, "code path of the access"},
};

enum { T_WHO, T_ACCESSES, T_REMOTE, T_PICTURE, T_N };

static const struct column time_columns[T_N] = {
	{"who", "WHO", CELL_TEXT, UNIT_NONE, 0,
		"a thread; with --thread an object; or how many threads, or nodes"},
	{"accesses", "ACCESSES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "(estimated)"},
	{"remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0, "of them (sampled)"},
	{"picture", "OVER TIME", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"from the first to the last access shown: the node of the CPU that most accesses "
		"of "
		"each fiftieth came from ('?': not known); of threads and nodes: how many were "
		"seen at once ('*': "
		"more than 35)"},
};

enum { P_WHAT, P_BYTES, P_PICTURE, P_N };

static const struct column page_columns[P_N] = {
	{"what", "PAGES", CELL_TEXT, UNIT_NONE, 0, "what the picture shows"},
	{"bytes", "SIZE", CELL_U64, UNIT_BYTES, 0, "of the object"},
	{"picture", "FROM ITS BEGIN TO ITS END", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"a fiftieth of the object each: the node it lies on as seen last, the node that "
		"uses "
		"it most, and how remote it is (' ': not at all, '@': all)"},
};

const struct view_table numa_flow_tables[] = {
	{"flow", flow_columns, F_N, sizeof(flow_columns[0])},
	{"timeline", time_columns, T_N, sizeof(time_columns[0])},
	{"pages", page_columns, P_N, sizeof(page_columns[0])},
	{},
};

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

static bool wanted(const struct filter *w, const struct numa_feed *f, const struct numa_access *a)
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
		if (!wanted(w, f, a))
			continue;
		w->first_ns = w->n++ ? w->first_ns : a->time_ns;
		w->last_ns = a->time_ns;
	}
}

static void flow_fill(
	struct cell *row, struct report *r, const struct numa_feed *f, const struct numa_access *a)
{
	const struct numa_thread *t = numa_thread(f, a->thread);
	int remote = numa_access_remote(a);
	struct object o;

	row[F_TIME] = cell_since(r, a->time_ns);
	row[F_PID] = cell_u64(t->tgid);
	row[F_TID] = cell_u64(t->tid);
	row[F_COMM] = cell_text(stream_comm(r->stream, t->tgid, t->tid));
	row[F_NAME] = cell_text(numa_why_name(a->why));
	if (numa_object(f, a->object, &o)) {
		row[F_OBJECT] = cell_u64(a->object);
		row[F_NAME] = cell_text(object_name(r, f, a->object));
		row[F_KIND] = cell_text(numa_kind_name(o.kind));
		if (a->address >= o.start)
			row[F_OFFSET] = cell_u64(a->address - o.start);
	}
	if (a->address)
		row[F_ADDRESS] =
			cell_text(report_text(r, "0x%llx", (unsigned long long)a->address));
	row[F_OP] = cell_text(numa_op_name(a->op));
	row[F_CPU] = cell_node(a->cpu);
	row[F_FROM] = cell_node(a->cpu_node);
	row[F_ON] = cell_node(a->page_node);
	row[F_KNOWN] = cell_text(numa_page_from_name(a->from));
	if (remote >= 0)
		row[F_REMOTE] = (struct cell){.type = CELL_BOOL, .b = remote};
	if (numa_access_latency(a))
		row[F_LATENCY] = cell_u64(numa_access_latency(a));
	row[F_LEVEL] = cell_text(numa_level_name(a->level));
	row[F_SOURCE] = cell_text(numa_source_name(a->source));
	row[F_ACCESSES] = cell_u64(numa_access_weight(a));
	row[F_FUNCTION] = cell_text(numa_function(r, a->stack, false));
	if (a->stack)
		row[F_STACK] = cell_stack(a->stack);
}

static int flow_report(struct report *r, const struct numa_feed *f, const struct filter *w)
{
	struct table *t = report_table(r, "flow", "Accesses in order", flow_columns, F_N);
	struct numa_flow flow = numa_flow_all(f);
	u64 limit = r->limit && !r->sort ? MIN(r->limit, (u32)ROWS_MAX) : ROWS_MAX;
	const struct numa_access *a;

	if (!t)
		return -ENOMEM;
	t->empty = "No access to it was sampled; memwhy numa --by object lists what was.";
	while ((a = numa_flow_next(&flow)) && t->n_rows < limit) {
		struct cell *row;

		if (!wanted(w, f, a))
			continue;
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		flow_fill(row, r, f, a);
	}
	t->n_cut = w->n - t->n_rows;
	return 0;
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

		if (!wanted(w, f, a))
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

static int count_row(
	struct table *t, struct report *r, const struct groups *lines, const char *who, bool nodes)
{
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	row[T_WHO] = cell_text(who);
	row[T_PICTURE] = cell_text(count_picture(r, lines, nodes));
	return 0;
}

static int line_row(struct table *t, struct report *r, const struct numa_feed *f,
	const struct filter *w, u32 key, const struct line *l)
{
	const struct numa_thread *thread = w->by_thread ? NULL : numa_thread(f, key);
	struct cell *row = table_row(t);

	if (!row)
		return -ENOMEM;
	row[T_WHO] =
		thread ? cell_text(report_text(r, "%s (%u)",
				 stream_comm(r->stream, thread->tgid, thread->tid), thread->tid))
		       : cell_text(object_name(r, f, key));
	row[T_ACCESSES] = cell_u64(l->accesses);
	if (l->local + l->remote)
		row[T_REMOTE] = cell_f64((double)l->remote / (double)(l->local + l->remote));
	row[T_PICTURE] = cell_text(line_picture(r, l));
	return 0;
}

static int timeline_report(struct report *r, const struct numa_feed *f, const struct filter *w)
{
	struct table *t = report_table(r, "timeline", "Over time", time_columns, T_N);
	struct groups lines;
	int rc;

	if (!t)
		return -ENOMEM;
	t->sort = "accesses";
	groups_init(&lines, sizeof(u32), sizeof(struct line));
	rc = lines_sum(f, w, &lines);
	for (size_t i = 0; !rc && i < lines.n && i < LINES_MAX; i++)
		rc = line_row(
			t, r, f, w, *(const u32 *)groups_key(&lines, i), groups_value(&lines, i));
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
	u64 judged, remote;
};

static void parts_sum(
	struct numa_feed *f, u32 object, const struct object *o, struct part parts[SLOTS])
{
	struct numa_flow flow = numa_flow_object(f, object);
	const struct numa_placed *placed;
	const struct numa_access *a;
	size_t n;

	while ((a = numa_flow_next(&flow))) {
		int remote = numa_access_remote(a);
		struct part *p;

		if (a->address < o->start || a->address - o->start >= o->bytes)
			continue;
		p = &parts[(u64)((double)(a->address - o->start) / (double)o->bytes * SLOTS)];
		p->on = a->page_node >= 0 ? a->page_node : p->on;
		if (a->cpu_node >= 0)
			p->from[a->cpu_node]++;
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

static void part_pictures(const struct part parts[SLOTS], char on[SLOTS + 1], char from[SLOTS + 1],
	char remote[SLOTS + 1])
{
	for (u32 i = 0; i < SLOTS; i++) {
		const struct part *p = &parts[i];
		u32 best = 0;

		for (u32 n = 1; n < NUMA_NODES; n++)
			best = p->from[n] > p->from[best] ? n : best;
		on[i] = p->on >= 0 ? numa_digit(p->on) : '.';
		from[i] = p->from[best] ? numa_digit((s32)best) : '.';
		remote[i] = p->judged ? numa_shade(p->remote, p->judged) : '.';
	}
}

/* Of one object only: several have no common begin and end. */
static int pages_report(struct report *r, struct numa_feed *f, const struct filter *w)
{
	struct table *t = report_table(r, "pages", "Its pages", page_columns, P_N);
	static const char *const what[] = {"lie on node", "used from node", "remote"};
	char pictures[3][SLOTS + 1] = {};
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
	parts_sum(f, w->one, &o, parts);
	part_pictures(parts, pictures[0], pictures[1], pictures[2]);
	free(parts);
	for (u32 i = 0; i < ARRAY_SIZE(what); i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[P_WHAT] = cell_text(what[i]);
		row[P_BYTES] = i ? (struct cell){} : cell_u64(o.bytes);
		row[P_PICTURE] = cell_text(report_text(r, "|%s|", pictures[i]));
	}
	return 0;
}

int numa_flows_report(struct report *r, struct numa_feed *f, const struct numa_flow_asked *asked)
{
	struct filter w = {};
	int rc = filter_make(r, f, asked, &w);

	if (!rc)
		filter_bounds(&w, f);
	rc = rc ? rc : flow_report(r, f, &w);
	rc = rc ? rc : timeline_report(r, f, &w);
	rc = rc ? rc : pages_report(r, f, &w);
	free(w.objects);
	return rc;
}
