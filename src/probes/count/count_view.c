/* Counts of events as one table: by event, by the keys of --by and by fields of the events. */
#include "probes/count/count_view.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/frame.h"
#include "analysis/hist.h"
#include "probes/count/count_keys.h"
#include "probes/count/count_opts.h"

enum { BY_CPU = BY_OWN, BY_NODE = BY_OWN << 1, BY_EVENT = BY_OWN << 2 };

static const char *const by_keys[] = {BY_TASK_KEYS, "cpu", "node", "event", NULL};

struct key {
	struct by_task_key task;
	u32 event;
	u32 cpu, node; /* plus one */
	u32 reserved;
	u64 fields[COUNT_FIELDS];
};

struct sums {
	u64 count, sum, min, max;
	bool is_signed;
	struct hist hist;
};

enum {
	C_EVENT,
	C_TASK,
	C_CPU = C_TASK + BY_C_OWN,
	C_NODE,
	C_FIELDS,
	C_COUNT = C_FIELDS + COUNT_FIELDS,
	C_RATE,
	C_SUM,
	C_AVG,
	C_MIN,
	C_MAX,
	C_HIST,
	C_STACK,
	C_N,
};

static const struct by_column task_columns[] = {BY_TASK_COLUMNS};

/* The columns of fields are named by --by. */
static const struct by_column columns[C_N] = {
	[C_EVENT] = {0, {"event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "what happened"}},
	[C_CPU] = {BY_CPU, {"cpu", "CPU", CELL_U64, UNIT_ID, 0, "processor it happened on"}},
	[C_NODE] = {BY_NODE, {"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node of that processor"}},
	[C_COUNT] = {0, {"count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT, "events (exact)"}},
	[C_RATE] = {0, {"rate", "EVENTS/s", CELL_F64, UNIT_NONE, 0, "events a second"}},
	[C_SUM] = {0, {"sum", "SUM", CELL_U64, UNIT_NONE, 0,
			      "sum of the field of --sum, else of --hist (exact)"}},
	[C_AVG] = {0, {"avg", "AVG", CELL_F64, UNIT_NONE, 0, "its mean"}},
	[C_MIN] = {0, {"min", "MIN", CELL_U64, UNIT_NONE, 0, "its smallest value since the start"}},
	[C_MAX] = {0, {"max", "MAX", CELL_U64, UNIT_NONE, 0, "its largest value since the start"}},
	[C_HIST] = {0, {"hist", "VALUES", CELL_HIST, UNIT_NONE, 0,
			       "log2 histogram of the field of --hist; the first slot is 0 and "
			       "less"}},
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the event"}},
};

struct count_state {
	struct by_sums sums;
	struct by_column columns[C_N];
	struct count_keys keys;
	char names[COUNT_FIELDS][2][FILTER_NAME]; /* of the columns: name, title */
	const char *fields[COUNT_FIELDS];         /* of --by */
	const char *sum, *hist;
	char *const *operands;
	u32 n_operands;
	VEC(struct count_event) events; /* by their number */
};

static const struct by_spec spec = {
	.n_columns = C_N,
	.key_size = sizeof(struct key),
	.value_size = sizeof(struct sums),
};

/* --by without the fields of events, for those that every view counts by. */
static void common_keys(const struct count_keys *k, struct str *out)
{
	static const struct {
		u8 from;
		const char *name;
	} names[] = {{COUNT_PID, "process"}, {COUNT_TID, "thread"}, {COUNT_COMM, "comm"},
		{COUNT_CGROUP, "cgroup"}, {COUNT_STACK, "stack"}, {COUNT_CPU, "cpu"},
		{COUNT_NODE, "node"}};

	str_add(out, "event");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (count_keys_have(k, names[i].from))
			str_addf(out, ",%s", names[i].name);
}

static bool column_is_taken(const char *name)
{
	for (size_t i = 0; i < C_N; i++)
		if (columns[i].col.name && !strcmp(columns[i].col.name, name))
			return true;
	for (size_t i = 0; i < BY_C_OWN; i++)
		if (!strcmp(task_columns[i].col.name, name))
			return true;
	return false;
}

/* A column for each field of --by. A field called as another column keeps its "args.". */
static void field_columns(struct count_state *s)
{
	u32 n = 0;

	for (u32 i = 0; i < s->keys.n; i++) {
		const char *name = s->keys.keys[i].name;
		const char *bare = strncmp(name, "args.", 5) ? name : name + 5;
		char *title = s->names[n][1];

		if (s->keys.keys[i].from != COUNT_FIELD)
			continue;
		snprintf(s->names[n][0], FILTER_NAME, "%s", column_is_taken(bare) ? name : bare);
		for (size_t k = 0; bare[k]; k++)
			title[k] =
				bare[k] >= 'a' && bare[k] <= 'z' ? (char)(bare[k] - 32) : bare[k];
		s->fields[n] = bare;
		s->columns[C_FIELDS + n].col = (struct column){.name = s->names[n][0],
			.title = title,
			.type = CELL_TEXT,
			.help = "a field of the event"};
		n++;
	}
}

/* Leaves out, for good, a column that was not asked for. */
static void column_drop(struct count_state *s, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		s->columns[i].keys = 1U << 31;
}

static int count_init(void *state, const struct view_options *o, struct err *err)
{
	_cleanup_str_ struct str by = {};
	struct count_state *s = state;
	struct by_spec own = spec;
	const struct count_opts *asked = OPTS_OF(struct count_opts, o->opts);
	struct view_options options = *o;
	struct filter filter;
	int rc = count_keys_parse(o->by, o->stacks, &s->keys, err);

	rc = rc ? rc : filter_parse(asked->filter, &filter, err);
	if (rc)
		return rc;
	s->sum = asked->sum ? asked->sum : asked->hist;
	s->hist = asked->hist;
	s->operands = o->operands;
	s->n_operands = o->n_operands;
	memcpy(s->columns, columns, sizeof(columns));
	memcpy(&s->columns[C_TASK], task_columns, sizeof(task_columns));
	column_drop(s, C_FIELDS, COUNT_FIELDS);
	for (u32 i = 0; i < s->keys.n_fields; i++)
		s->columns[C_FIELDS + i].keys = 0;
	field_columns(s);
	if (!s->sum)
		column_drop(s, C_SUM, 4);
	if (!s->hist)
		column_drop(s, C_HIST, 1);
	own.columns = s->columns;
	common_keys(&s->keys, &by);
	options.by = str_get(&by);
	return by_sums_init(&s->sums, &own, &count_view, &options, err);
}

static int event_feed(struct count_state *s, const struct count_event *e)
{
	int rc = 0;

	if (e->event >= COUNT_EVENTS)
		return 0;
	while (s->events.n <= e->event && !rc)
		rc = vec_push(&s->events, (struct count_event){});
	if (!rc)
		s->events.v[e->event] = *e;
	return rc;
}

static void sums_add(struct sums *to, const struct sums *v)
{
	if (to->count && v->is_signed) {
		to->min = (u64)MIN((s64)to->min, (s64)v->min);
		to->max = (u64)MAX((s64)to->max, (s64)v->max);
	} else {
		to->min = to->count ? MIN(to->min, v->min) : v->min;
		to->max = to->count ? MAX(to->max, v->max) : v->max;
	}
	to->is_signed = v->is_signed;
	to->count += v->count;
	to->sum += v->sum;
	for (u32 i = 0; i < HIST_N; i++)
		to->hist.slots[i] += v->hist.slots[i];
}

static int agg_feed(struct count_state *s, const struct count_agg *r)
{
	u32 by = s->sums.by;
	struct key k = {
		.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm),
		.event = r->event,
		.cpu = by & BY_CPU ? r->cpu : 0,
		.node = by & BY_NODE ? r->node : 0,
	};
	struct sums v = {.count = r->count, .sum = r->sum, .min = r->min, .max = r->max}, *to;

	if (r->event >= s->events.n)
		return 0; /* its definition was lost */
	v.is_signed = s->events.v[r->event].sum_show == COUNT_SHOW_SIGNED;
	hist_merge32(&v.hist, r->hist, COUNT_SLOTS);
	memcpy(k.fields, r->fields, sizeof(k.fields));
	to = groups_get(&s->sums.groups, &k);
	if (!to)
		return -ENOMEM;
	sums_add(to, &v);
	return 0;
}

static int count_feed(void *state, const struct rec *r)
{
	struct count_state *s = state;

	if (r->kind == REC_COUNT_EVENT)
		return event_feed(s, (const struct count_event *)r);
	return r->kind == REC_COUNT_AGG ? agg_feed(s, (const struct count_agg *)r) : 0;
}

/* The name of a field without the "args." that tells it from what every event has. */
static const char *bare_name(const char *name)
{
	return name && !strncmp(name, "args.", 5) ? name + 5 : name;
}

static bool names_equal(const struct report *r, u32 id, const char *name)
{
	const char *other = bare_name(stream_string(r->stream, id));

	return other && name && !strcmp(other, bare_name(name));
}

static const struct count_event *event_of(const struct count_state *s, u32 event)
{
	return event < s->events.n && s->events.v[event].name ? &s->events.v[event] : NULL;
}

/* Is it one of those that the operands name (of a recording, which may hold others)? */
static bool event_wanted(const struct count_state *s, const char *name)
{
	for (u32 i = 0; i < s->n_operands; i++)
		if (!fnmatch(s->operands[i], name, 0))
			return true;
	return !s->n_operands;
}

/* The place of the i-th field of --by among those of the event; -1: it was not recorded. */
static int field_place(
	const struct count_state *s, const struct report *r, const struct count_event *e, u32 i)
{
	for (u32 k = 0; k < MIN((u32)e->n_fields, (u32)COUNT_FIELDS); k++)
		if (names_equal(r, e->fields[k], s->fields[i]))
			return (int)k;
	return -1;
}

static const char *symbol_text(struct report *r, u32 frame)
{
	const char *text = frame_text(r, frame);

	return text || !stream_frame(r->stream, frame) ? text : NO_SYMBOL;
}

struct flags {
	struct str text;
	u64 value;
};

static void flag_add(void *arg, u64 mask, const char *name)
{
	struct flags *f = arg;

	if (!mask || (f->value & mask) != mask)
		return;
	str_addf(&f->text, "%s%s", f->text.len ? "|" : "", name);
	f->value &= ~mask;
}

/* As the kernel prints them: each name in its order, then what is left. */
static const char *flags_text(struct report *r, const char *set, u64 value)
{
	struct flags f = {.value = value};
	const char *text;

	stream_enum_each(r->stream, set, flag_add, &f);
	if (f.value || !f.text.len)
		str_addf(&f.text, "%s0x%llx", f.text.len ? "|" : "", f.value);
	text = report_text(r, "%s", str_get(&f.text));
	str_free(&f.text);
	return text;
}

static struct cell field_cell(struct report *r, u8 show, const char *set, u64 v)
{
	const char *name;

	switch (show) {
	case COUNT_SHOW_SIGNED:
		return cell_s64((s64)v);
	case COUNT_SHOW_HEX:
		return cell_text(report_text(r, "0x%llx", v));
	case COUNT_SHOW_TEXT:
		name = v ? stream_string(r->stream, (u32)v) : "";
		return cell_text(name);
	case COUNT_SHOW_SYMBOL:
		return cell_text(symbol_text(r, (u32)v));
	case COUNT_SHOW_FLAGS:
		return cell_text(flags_text(r, set, v));
	case COUNT_SHOW_NAMED:
		name = stream_enum(r->stream, set, v);
		return name ? cell_text(name) : cell_u64(v);
	default:
		return cell_u64(v);
	}
}

/* What a row shows: the key with the fields of --by only, in their order. */
static int group_merge(const struct count_state *s, const struct report *r, struct groups *rows,
	const struct key *k, const struct sums *sums)
{
	const struct count_event *e = event_of(s, k->event);
	const char *name = e ? stream_string(r->stream, e->name) : NULL;
	struct key key = *k;
	struct sums *to;

	if (!name || !event_wanted(s, name))
		return 0;
	memset(key.fields, 0, sizeof(key.fields));
	for (u32 i = 0; i < s->keys.n_fields; i++) {
		int place = field_place(s, r, e, i);

		key.fields[i] = place < 0 ? 0 : k->fields[place];
	}
	to = groups_get(rows, &key);
	if (!to)
		return -ENOMEM;
	sums_add(to, sums);
	return 0;
}

static void sum_cells(struct cell all[C_N], const struct count_event *e, const struct sums *v)
{
	bool is_signed = e->sum_show == COUNT_SHOW_SIGNED;

	all[C_SUM] = is_signed ? cell_s64((s64)v->sum) : cell_u64(v->sum);
	all[C_MIN] = is_signed ? cell_s64((s64)v->min) : cell_u64(v->min);
	all[C_MAX] = is_signed ? cell_s64((s64)v->max) : cell_u64(v->max);
	all[C_AVG] =
		cell_f64((is_signed ? (double)(s64)v->sum : (double)v->sum) / (double)v->count);
}

static void row_fill(const struct count_state *s, struct report *r, const struct key *k,
	const struct sums *v, struct cell all[C_N])
{
	const struct count_event *e = event_of(s, k->event);
	u64 from = MAX(e->h.time_ns, r->stream->first_ns), to = r->stream->last_ns;
	double seconds = to > from ? (double)(to - from) / 1e9 : 0;

	by_task_cells(r, s->sums.by, &k->task, &all[C_TASK]);
	all[C_EVENT] = cell_text(stream_string(r->stream, e->name));
	all[C_CPU] = k->cpu ? cell_u64(k->cpu - 1) : (struct cell){};
	all[C_NODE] = k->node ? cell_u64(k->node - 1) : (struct cell){};
	for (u32 i = 0; i < s->keys.n_fields; i++) {
		int place = field_place(s, r, e, i);
		char set[sizeof(e->set_1) + 1] = "";

		if (place < 0)
			continue;
		memcpy(set, e->set_1 + sizeof(e->set_1) * (size_t)place, sizeof(e->set_1));
		all[C_FIELDS + i] = field_cell(r, e->show[place], set, k->fields[i]);
	}
	all[C_COUNT] = cell_u64(v->count);
	all[C_RATE] = seconds > 0 ? cell_f64((double)v->count / seconds) : (struct cell){};
	all[C_STACK] = cell_stack(k->task.stack);
	if (v->count && names_equal(r, e->sum, s->sum))
		sum_cells(all, e, v);
	if (names_equal(r, e->hist, s->hist))
		all[C_HIST] = hist_to_cell(r, &v->hist);
}

/* What was asked of a recording and is not in it. */
static void missing_tell(const struct count_state *s, struct report *r)
{
	vec_each (e, &s->events) {
		const char *name = e->name ? stream_string(r->stream, e->name) : NULL;

		if (!name || !event_wanted(s, name))
			continue;
		for (u32 i = 0; i < s->keys.n_fields; i++)
			if (field_place(s, r, e, i) < 0)
				report_not_checked(r,
					"%s was not recorded: that takes --by %s when recording",
					s->fields[i], s->fields[i]);
		if (s->sum && !names_equal(r, e->sum, s->sum))
			report_not_checked(r, "sums of %s were not recorded: that takes --sum %s",
				s->sum, s->sum);
		if (s->hist && !names_equal(r, e->hist, s->hist))
			report_not_checked(r,
				"values of %s were not recorded: that takes --hist %s", s->hist,
				s->hist);
		return;
	}
}

static int count_report(void *state, struct report *r)
{
	struct count_state *s = state;
	struct table *t = by_sums_table(&s->sums, r, "counts", "Events");
	const struct groups *g = &s->sums.groups;
	struct groups rows;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = "No such events in scope.";
	missing_tell(s, r);
	groups_init(&rows, sizeof(struct key), sizeof(struct sums));
	for (size_t i = 0; i < g->n && !rc; i++)
		rc = group_merge(s, r, &rows, groups_key(g, i), groups_value(g, i));
	for (size_t i = 0; i < rows.n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(s, r, groups_key(&rows, i), groups_value(&rows, i), all);
		rc = by_sums_row(&s->sums, t, all);
	}
	groups_free(&rows);
	return rc;
}

static void count_reset(void *state)
{
	groups_clear(&((struct count_state *)state)->sums.groups);
}

static void count_destroy(void *state)
{
	struct count_state *s = state;

	by_sums_free(&s->sums);
	vec_free(&s->events);
}

/* For the man page: all columns there can be, but for the fields of events. */
static const struct view_table tables[] = {
	{"counts", &task_columns[0].col, BY_C_OWN, sizeof(task_columns[0])},
	{"counts", &columns[C_EVENT].col, 1, sizeof(columns[0])},
	{"counts", &columns[C_CPU].col, 2, sizeof(columns[0])},
	{"counts", &columns[C_COUNT].col, C_N - C_COUNT, sizeof(columns[0])},
	{},
};

const struct view count_view = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.size = sizeof(struct count_state),
	.by_default = "event",
	.by_keys = by_keys,
	.by_fields = true,
	.init = count_init,
	.feed = count_feed,
	.report = count_report,
	.reset = count_reset,
	.destroy = count_destroy,
};
