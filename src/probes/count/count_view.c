/* Counts of events as one table: by event, by the keys of --by and by fields of the events. */
#include "probes/count/count_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/frame_text.h"
#include "analysis/hist.h"
#include "base/match.h"
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

#define TASK_COLUMNS 4

enum {
	C_EVENT,
	C_TASK,
	C_CPU = C_TASK + TASK_COLUMNS,
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

struct count_state {
	struct by_sums sums;
	struct cell_column columns[C_N];
	struct count_keys keys;
	char names[COUNT_FIELDS][2][FILTER_NAME]; /* of the columns: name, title */
	const char *fields[COUNT_FIELDS];         /* of --by */
	const char *sum, *hist;
	char *const *operands;
	u32 n_operands;
	VEC(struct count_event) events; /* by their number */
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

static int count_view_event_feed(struct count_state *s, const struct count_event *e)
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

static void count_view_sums_add(struct sums *to, const struct sums *v)
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

static int count_view_agg_feed(struct count_state *s, const struct count_agg *r)
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
	count_view_sums_add(to, &v);
	return 0;
}

static int count_feed(void *state, const struct rec *r)
{
	struct count_state *s = state;

	if (r->kind == REC_COUNT_EVENT)
		return count_view_event_feed(s, (const struct count_event *)r);
	return r->kind == REC_COUNT_AGG ? count_view_agg_feed(s, (const struct count_agg *)r) : 0;
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
		if (pattern_matches(s->operands[i], name))
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
	count_view_sums_add(to, sums);
	return 0;
}

static const struct count_event *event_of_row(const struct row_of *row)
{
	return event_of(row->view, ((const struct key *)row->key)->event);
}

static CELL_GET(event_cell)
{
	return cell_text(stream_string(r->stream, event_of_row(row)->name));
}

/* Of an u32 of the key that is a number plus one; 0: not known. */
static CELL_GET(number_cell)
{
	u32 v = *(const u32 *)((const char *)row->key + offset);

	return v ? cell_u64(v - 1) : (struct cell){};
}

/* offset: which of the fields of --by. */
static CELL_GET(field_column_cell)
{
	const struct count_event *e = event_of_row(row);
	int place = field_place(row->view, r, e, (u32)offset);
	char set[sizeof(e->set_1) + 1] = "";

	if (place < 0)
		return (struct cell){};
	memcpy(set, e->set_1 + sizeof(e->set_1) * (size_t)place, sizeof(e->set_1));
	return field_cell(r, e->show[place], set, ((const struct key *)row->key)->fields[offset]);
}

static CELL_GET(rate_cell)
{
	u64 from = MAX(event_of_row(row)->h.time_ns, r->stream->first_ns);
	u64 to = r->stream->last_ns, count = ((const struct sums *)row->sums)->count;

	return to > from ? cell_f64((double)count / ((double)(to - from) / 1e9)) : (struct cell){};
}

/* Is the sum that of the field that is asked for? */
static bool is_summed(const struct report *r, const struct row_of *row)
{
	return ((const struct sums *)row->sums)->count &&
	       names_equal(r, event_of_row(row)->sum, ((const struct count_state *)row->view)->sum);
}

static bool is_signed(const struct row_of *row)
{
	return event_of_row(row)->sum_show == COUNT_SHOW_SIGNED;
}

static CELL_GET(sum_cell)
{
	if (!is_summed(r, row))
		return (struct cell){};
	return is_signed(row) ? cell_of_s64(r, row, offset) : cell_of_u64(r, row, offset);
}

static CELL_GET(average_cell)
{
	const struct sums *v = row->sums;
	double sum = is_signed(row) ? (double)(s64)v->sum : (double)v->sum;

	return is_summed(r, row) ? cell_f64(sum / (double)v->count) : (struct cell){};
}

static CELL_GET(hist_cell)
{
	const struct count_state *s = row->view;

	return names_equal(r, event_of_row(row)->hist, s->hist)
		       ? hist_to_cell(r, &((const struct sums *)row->sums)->hist)
		       : (struct cell){};
}

#define OF_FIELD(member_, title_, help_)                                                    \
	CELL_FROM(0, struct sums, member_, #member_, title_, CELL_U64, UNIT_NONE, 0, help_, \
		sum_cell)

/* The columns of fields are named by --by. */
static const struct cell_column columns[C_N] = {
	[C_EVENT] =
		CELL_BY(0, "event", "EVENT", CELL_TEXT, UNIT_NONE, 0, "what happened", event_cell),
	[C_TASK] = BY_TASK_CELLS,
	[C_CPU] = CELL_FROM(BY_CPU, struct key, cpu, "cpu", "CPU", CELL_U64, UNIT_ID, 0,
		"processor it happened on", number_cell),
	[C_NODE] = CELL_FROM(BY_NODE, struct key, node, "node", "NODE", CELL_U64, UNIT_ID, 0,
		"NUMA node of that processor", number_cell),
	[C_COUNT] = CELL_COUNT(struct sums, count, "COUNT", "events (exact)"),
	[C_RATE] = CELL_BY(
		0, "rate", "EVENTS/s", CELL_F64, UNIT_NONE, 0, "events a second", rate_cell),
	[C_SUM] = OF_FIELD(sum, "SUM", "sum of the field of --sum, else of --hist (exact)"),
	[C_AVG] = CELL_BY(0, "avg", "AVG", CELL_F64, UNIT_NONE, 0, "its mean", average_cell),
	[C_MIN] = OF_FIELD(min, "MIN", "its smallest value since the start"),
	[C_MAX] = OF_FIELD(max, "MAX", "its largest value since the start"),
	[C_HIST] = CELL_BY(0, "hist", "VALUES", CELL_HIST, UNIT_NONE, 0,
		"log2 histogram of the field of --hist; the first slot is 0 and less", hist_cell),
	[C_STACK] = BY_STACK_CELLS("code path of the event"),
};

static bool column_is_taken(const char *name)
{
	for (size_t i = 0; i < C_N; i++)
		if (columns[i].col.name && !strcmp(columns[i].col.name, name))
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
		s->columns[C_FIELDS + n].get = field_column_cell;
		s->columns[C_FIELDS + n].offset = n;
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
	struct by_spec own = CELLS_SPEC(columns, struct key, struct sums);
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
	column_drop(s, C_FIELDS, COUNT_FIELDS);
	for (u32 i = 0; i < s->keys.n_fields; i++)
		s->columns[C_FIELDS + i].keys = 0;
	field_columns(s);
	if (!s->sum)
		column_drop(s, C_SUM, 4);
	if (!s->hist)
		column_drop(s, C_HIST, 1);
	own.cells = s->columns;
	common_keys(&s->keys, &by);
	options.by = str_get(&by);
	return by_sums_init(&s->sums, &own, &count_view, &options, err);
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
	for (size_t i = 0; i < rows.n && !rc; i++)
		rc = by_sums_row(&s->sums, r, t, groups_key(&rows, i), groups_value(&rows, i), s);
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
	{"counts", &columns[C_TASK].col, TASK_COLUMNS, sizeof(columns[0])},
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
