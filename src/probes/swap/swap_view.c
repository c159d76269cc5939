/* Swap I/O as tables: sums by the keys of --by, or one row an event with --each. */
#include "probes/swap/swap_view.h"

#include <errno.h>
#include <string.h>

#include "analysis/by.h"
#include "analysis/durations.h"
#include "base/clock.h"
#include "probes/swap/swap.h"
#include "probes/swap/swap_tables.h"

static const char *const by_keys[] = {BY_TASK_KEYS, NULL};

/* who is part of the key of swap-outs alone. */
struct key {
	struct by_task_key task;
	u64 who;
};

struct sums {
	u64 count, pages, zswap_pages;
	struct durations waits;
};

enum {
	I_PAGES = BY_C_OWN,
	I_COUNT,
	I_ZSWAP,
	I_WAITS,
	I_DURATIONS,
	I_STACK = I_DURATIONS + DURATIONS_N,
	I_N,
};

static const struct by_column in_columns[I_N] = {
	BY_TASK_COLUMNS,
	[I_PAGES] = {0, {"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WEIGHT,
				"pages read from swap, as pswpin counts (exact)"}},
	[I_COUNT] = {0,
		{"count", "READS", CELL_U64, UNIT_COUNT, 0,
			"reads: a fault may need several, and one may be of several pages"}},
	[I_ZSWAP] = {0, {"zswap_pages", "ZSWAP", CELL_U64, UNIT_PAGES, 0,
				"pages that came back from zswap instead, as zswpin counts; empty "
				"where that was not counted"}},
	[I_WAITS] = {0, {"waits", "WAITS", CELL_U64, UNIT_COUNT, 0,
				"page faults that had to wait for any of these (exact)"}},
	DURATIONS_COLUMNS(I_DURATIONS, "time in them, from the first read to the end of the fault"),
	[I_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that had to read"}},
};

enum { O_WHO = BY_C_OWN, O_PAGES, O_COUNT, O_STACK, O_N };

static const struct by_column out_columns[O_N] = {
	BY_TASK_COLUMNS,
	[O_WHO] = {0, {"who", "WHO", CELL_TEXT, UNIT_NONE, 0,
			      "task (its own reclaim, or at the limit of a control group), kswapd, "
			      "or another kernel thread"}},
	[O_PAGES] = {0, {"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WEIGHT,
				"pages written to swap, as pswpout counts (exact)"}},
	[O_COUNT] = {0, {"count", "WRITES", CELL_U64, UNIT_COUNT, 0, "writes"}},
	[O_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that swapped out"}},
};

static const struct column each_columns[] = {
	EACH_COLUMNS("since the start; of a wait: its end"),
	{"type", "TYPE", CELL_TEXT, UNIT_NONE, 0,
		"in: a read was begun; zswap: pages came back from zswap; out: a write was begun; "
		"wait: a fault with any in or zswap is over"},
	{"who", "WHO", CELL_TEXT, UNIT_NONE, COL_WIDE, "task, kswapd or another kernel thread"},
	{"pages", "PAGES", CELL_U64, UNIT_PAGES, 0,
		"of the read or write; of a wait: of its reads"},
	{"reads", "READS", CELL_U64, UNIT_COUNT, COL_WIDE, "of a wait: its reads"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,
		"of a wait: from its first read to the end of the fault"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path"},
};

static const struct by_spec in_spec = BY_SPEC(in_columns, struct key, struct sums);
static const struct by_spec out_spec = BY_SPEC(out_columns, struct key, struct sums);

struct swapin_key {
	char comm[COMM_LEN];
	u64 tgid;
};

struct swap_view_state {
	u64 min_ns;
	struct by_sums in, out;
	struct swap_tables tables;
	struct groups swapin; /* struct swapin_key -> reads */
	VEC(struct swap_event) events;
};

static const char *who_name(u8 who)
{
	static const char *const names[SWAP_WHO_N] = {"task", "kswapd", "kernel thread"};

	return who < SWAP_WHO_N ? names[who] : "unknown";
}

static int swap_init(void *state, const struct view_options *o, struct err *err)
{
	struct swap_view_state *v = state;
	int rc = by_sums_init(&v->in, &in_spec, &swap_view, o, err);

	if (rc)
		return rc;
	v->min_ns = o->min_ns;
	swap_tables_init(&v->tables);
	groups_init(&v->swapin, sizeof(struct swapin_key), sizeof(u64));
	return by_sums_init(&v->out, &out_spec, &swap_view, o, err);
}

static int agg_feed(struct by_sums *b, const struct swap_agg *r)
{
	struct key k = {.task = by_task_key(b->by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};
	struct sums *s;

	k.who = r->type == SWAP_OUT ? r->who : 0;
	s = groups_get(&b->groups, &k);
	if (!s)
		return -ENOMEM;
	if (r->type == SWAP_ZSWAP) {
		s->zswap_pages += r->pages;
	} else {
		s->count += r->count;
		s->pages += r->pages;
	}
	durations_add(&s->waits, r->waits, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	return 0;
}

static int swapin_feed(struct groups *g, const struct swap_agg *r)
{
	struct swapin_key k = {.tgid = r->tgid};
	u64 *reads;

	memcpy(k.comm, r->comm, sizeof(k.comm));
	reads = groups_get(g, &k);
	if (!reads)
		return -ENOMEM;
	*reads += r->count;
	return 0;
}

static int swap_feed(void *state, const struct rec *rec)
{
	struct swap_view_state *v = state;
	const struct swap_agg *r = (const void *)rec;
	const struct swap_event *e = (const void *)rec;

	if (rec->kind == REC_SWAP_AGG && r->type == SWAP_OUT)
		return agg_feed(&v->out, r);
	if (rec->kind == REC_SWAP_AGG && (r->type == SWAP_IN || r->type == SWAP_ZSWAP)) {
		int rc = r->count ? swapin_feed(&v->swapin, r) : 0;

		return rc ? rc : agg_feed(&v->in, r);
	}
	if (rec->kind == REC_SWAP_EVENT)
		return v->min_ns && (e->type != SWAP_WAIT || e->ns < v->min_ns)
			       ? 0
			       : vec_push(&v->events, *e);
	return swap_tables_feed(&v->tables, rec);
}

enum obtained { OBTAINED_UNKNOWN, OBTAINED_NO, OBTAINED_YES };

static enum obtained data_is_obtained(const struct report *r, const char *data)
{
	vec_each (m, &r->stream->methods)
		if (!strcmp(m->probe, "swap") && !strcmp(m->data, data))
			return m->method[0] ? OBTAINED_YES : OBTAINED_NO;
	return OBTAINED_UNKNOWN;
}

static const char *empty_text(const struct report *r, const char *none)
{
	return data_is_obtained(r, SWAP_DATA_IO) == OBTAINED_NO
		       ? "Cannot be counted here: `memwhy doctor` says why. The counters below can."
		       : none;
}

static int ins_report(struct swap_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->in, r, "swap_ins", "Swap-ins");
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "pages";
	t->empty = empty_text(r, "No swap-ins in scope.");
	for (size_t i = 0; i < v->in.groups.n && !rc; i++) {
		const struct key *k = groups_key(&v->in.groups, i);
		const struct sums *s = groups_value(&v->in.groups, i);
		struct cell all[I_N] = {};

		by_task_cells(r, v->in.by, &k->task, all);
		all[I_PAGES] = cell_u64(s->pages);
		all[I_COUNT] = cell_u64(s->count);
		if (s->zswap_pages || data_is_obtained(r, SWAP_DATA_ZSWAP) == OBTAINED_YES)
			all[I_ZSWAP] = cell_u64(s->zswap_pages);
		all[I_WAITS] = cell_u64(s->waits.count);
		all[I_STACK] = cell_stack(k->task.stack);
		durations_cells(r, &s->waits, &all[I_DURATIONS]);
		rc = by_sums_row(&v->in, t, all);
	}
	return rc;
}

static int outs_report(struct swap_view_state *v, struct report *r)
{
	struct table *t = by_sums_table(&v->out, r, "swap_outs", "Swap-outs, by who reclaimed");
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->sort = "pages";
	t->empty = empty_text(r, "No swap-outs in scope.");
	for (size_t i = 0; i < v->out.groups.n && !rc; i++) {
		const struct key *k = groups_key(&v->out.groups, i);
		const struct sums *s = groups_value(&v->out.groups, i);
		struct cell all[O_N] = {};

		by_task_cells(r, v->out.by, &k->task, all);
		all[O_WHO] = cell_text(who_name((u8)k->who));
		all[O_PAGES] = cell_u64(s->pages);
		all[O_COUNT] = cell_u64(s->count);
		all[O_STACK] = cell_stack(k->task.stack);
		rc = by_sums_row(&v->out, t, all);
	}
	return rc;
}

static int swap_report(void *state, struct report *r)
{
	struct swap_view_state *v = state;
	int rc = ins_report(v, r);

	if (!rc)
		rc = outs_report(v, r);
	return rc ? rc : swap_tables_report(&v->tables, r);
}

static const char *type_name(u8 type)
{
	static const char *const names[SWAP_TYPE_N] = {"in", "out", "wait", "zswap"};

	return type < SWAP_TYPE_N ? names[type] : "unknown";
}

static void each_fill(struct cell *row, struct report *r, const struct swap_event *e)
{
	bool wait = e->type == SWAP_WAIT;

	each_cells(r, e->h.time_ns, e->tgid, e->tid, e->comm, e->cgroup, row);
	row[5] = cell_text(type_name(e->type));
	row[6] = cell_text(who_name(e->who));
	row[7] = cell_u64(e->pages);
	row[8] = wait ? cell_u64(e->reads) : (struct cell){};
	row[9] = wait ? cell_u64(e->ns) : (struct cell){};
	row[10] = cell_stack(e->ustack);
}

static struct table *swap_each(void *state, struct report *r)
{
	struct swap_view_state *v = state;
	struct table *t = report_table(
		r, "swap", "Swap I/O and waits, each", each_columns, ARRAY_SIZE(each_columns));

	table_each (row, t, e, &v->events)
		each_fill(row, r, e);
	v->events.n = 0;
	return t;
}

static void swap_reset(void *state)
{
	struct swap_view_state *v = state;

	groups_clear(&v->in.groups);
	groups_clear(&v->out.groups);
	groups_clear(&v->swapin);
	swap_tables_reset(&v->tables);
}

static void swap_destroy(void *state)
{
	struct swap_view_state *v = state;

	by_sums_free(&v->in);
	by_sums_free(&v->out);
	groups_free(&v->swapin);
	swap_tables_free(&v->tables);
	vec_free(&v->events);
}

struct swapin_row {
	const struct swapin_key *key;
	u64 reads;
};

static int by_reads(const void *a, const void *b)
{
	const struct swapin_row *x = a, *y = b;

	return x->reads < y->reads ? -1 : x->reads > y->reads;
}

/* swapin.bt counts calls of swap_readpage, which zswap may answer. It prints the time, a line for
 * each name and process, fewest first, and an empty line. */
static void swapin_lines(void *state, struct report *r, struct str *out)
{
	struct swap_view_state *v = state;
	VEC(struct swapin_row) rows = {};

	str_addf(out, "%s\n", report_clock(r, r->stream->last_ns));
	for (size_t i = 0; i < v->swapin.n; i++) {
		struct swapin_row row = {
			groups_key(&v->swapin, i), *(u64 *)groups_value(&v->swapin, i)};

		if (vec_push(&rows, row))
			break;
	}
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(rows.v[0]), by_reads);
	vec_each (row, &rows) {
		char comm[COMM_LEN + 1];

		snprintf(comm, sizeof(comm), "%.*s", COMM_LEN, row->key->comm);
		str_add(out, "@[");
		str_add_escaped(out, comm);
		str_addf(out, ", %llu]: %llu\n", row->key->tgid, row->reads);
	}
	str_add(out, "\n");
	vec_free(&rows);
}

static const struct look looks[] = {
	{"swapin", NULL, NSEC_PER_SEC, swapin_lines, NULL},
	{},
};

static const struct view_table tables[] = {
	{"swap_ins", &in_columns[0].col, I_N, sizeof(in_columns[0])},
	{"swap_outs", &out_columns[0].col, O_N, sizeof(out_columns[0])},
	{"swap", each_columns, ARRAY_SIZE(each_columns), sizeof(each_columns[0])},
	{},
};

const struct view swap_view = {
	.tables = (const struct view_table *const[]){tables, swap_side_tables, NULL},
	.size = sizeof(struct swap_view_state),
	.looks = looks,
	.by_default = "process",
	.by_keys = by_keys,
	.init = swap_init,
	.feed = swap_feed,
	.report = swap_report,
	.each = swap_each,
	.times_each = true,
	.reset = swap_reset,
	.destroy = swap_destroy,
};
