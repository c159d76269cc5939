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

static const char *who_name(u8 who)
{
	static const char *const names[SWAP_WHO_N] = {"task", "kswapd", "kernel thread"};

	return who < SWAP_WHO_N ? names[who] : "unknown";
}

static const char *swap_view_type_name(u8 type)
{
	static const char *const names[SWAP_TYPE_N] = {"in", "out", "wait", "zswap"};

	return type < SWAP_TYPE_N ? names[type] : "unknown";
}

enum obtained { OBTAINED_UNKNOWN, OBTAINED_NO, OBTAINED_YES };

static enum obtained data_is_obtained(const struct report *r, const char *data)
{
	vec_each (m, &r->stream->methods)
		if (!strcmp(m->probe, "swap") && !strcmp(m->data, data))
			return m->method[0] ? OBTAINED_YES : OBTAINED_NO;
	return OBTAINED_UNKNOWN;
}

/* Empty where that was not counted. */
static CELL_GET(zswap_cell)
{
	u64 pages = *(const u64 *)((const char *)row->sums + offset);

	return pages || data_is_obtained(r, SWAP_DATA_ZSWAP) == OBTAINED_YES ? cell_u64(pages)
									     : (struct cell){};
}

static const struct cell_column in_columns[] = {
	BY_TASK_CELLS,
	CELL_NUMBER(struct sums, pages, "pages", "PAGES", UNIT_PAGES, COL_WEIGHT,
		"pages read from swap, as pswpin counts (exact)"),
	CELL_NUMBER(struct sums, count, "count", "READS", UNIT_COUNT, 0,
		"reads: a fault may need several, and one may be of several pages"),
	CELL_FROM(0, struct sums, zswap_pages, "zswap_pages", "ZSWAP", CELL_U64, UNIT_PAGES, 0,
		"pages that came back from zswap instead, as zswpin counts; empty where that was "
		"not counted",
		zswap_cell),
	CELL_NUMBER(struct sums, waits.count, "waits", "WAITS", UNIT_COUNT, 0,
		"page faults that had to wait for any of these (exact)"),
	DURATIONS_CELLS(
		struct sums, waits, "time in them, from the first read to the end of the fault"),
	BY_STACK_CELLS("code path that had to read"),
};

static CELL_GET(who_cell)
{
	return cell_text(who_name((u8)((const struct key *)row->key)->who));
}

static const struct cell_column out_columns[] = {
	BY_TASK_CELLS,
	CELL_BY(0, "who", "WHO", CELL_TEXT, UNIT_NONE, 0,
		"task (its own reclaim, or at the limit of a control group), kswapd, or another "
		"kernel thread",
		who_cell),
	CELL_NUMBER(struct sums, pages, "pages", "PAGES", UNIT_PAGES, COL_WEIGHT,
		"pages written to swap, as pswpout counts (exact)"),
	CELL_NUMBER(struct sums, count, "count", "WRITES", UNIT_COUNT, 0, "writes"),
	BY_STACK_CELLS("code path that swapped out"),
};

static CELL_GET(each_type_cell)
{
	return cell_text(swap_view_type_name(((const struct swap_event *)row->sums)->type));
}

static CELL_GET(each_who_cell)
{
	return cell_text(who_name(((const struct swap_event *)row->sums)->who));
}

static CELL_GET(wait_reads_cell)
{
	const struct swap_event *e = row->sums;

	return e->type == SWAP_WAIT ? cell_u64(e->reads) : (struct cell){};
}

static CELL_GET(wait_time_cell)
{
	const struct swap_event *e = row->sums;

	return e->type == SWAP_WAIT ? cell_u64(e->ns) : (struct cell){};
}

static const struct cell_column each_columns[] = {
	EACH_CELLS(struct swap_event, "since the start; of a wait: its end", cell_of_time),
	CELL_BY(0, "type", "TYPE", CELL_TEXT, UNIT_NONE, 0,
		"in: a read was begun; zswap: pages came back from zswap; out: a write was begun; "
		"wait: a fault with any in or zswap is over",
		each_type_cell),
	CELL_BY(0, "who", "WHO", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"task, kswapd or another kernel thread", each_who_cell),
	CELL_NUMBER(struct swap_event, pages, "pages", "PAGES", UNIT_PAGES, 0,
		"of the read or write; of a wait: of its reads"),
	CELL_BY(0, "reads", "READS", CELL_U64, UNIT_COUNT, COL_WIDE, "of a wait: its reads",
		wait_reads_cell),
	CELL_BY(0, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0,
		"of a wait: from its first read to the end of the fault", wait_time_cell),
	CELL_STACK_OF(struct swap_event, ustack, "code path"),
};

static const struct by_spec in_spec = CELLS_SPEC(in_columns, struct key, struct sums);
static const struct by_spec out_spec = CELLS_SPEC(out_columns, struct key, struct sums);

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

static int swap_init(void *state, const struct view_options *o, struct err *err)
{
	struct swap_view_state *v = state;
	int rc = by_sums_init(&v->in, &in_spec, &swap_view, o, err);

	if (rc)
		return rc;
	v->min_ns = view_min_ns(o);
	swap_tables_init(&v->tables);
	groups_init(&v->swapin, sizeof(struct swapin_key), sizeof(u64));
	return by_sums_init(&v->out, &out_spec, &swap_view, o, err);
}

static int swap_view_agg_feed(struct by_sums *b, const struct swap_agg *r)
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
		return swap_view_agg_feed(&v->out, r);
	if (rec->kind == REC_SWAP_AGG && (r->type == SWAP_IN || r->type == SWAP_ZSWAP)) {
		int rc = r->count ? swapin_feed(&v->swapin, r) : 0;

		return rc ? rc : swap_view_agg_feed(&v->in, r);
	}
	if (rec->kind == REC_SWAP_EVENT)
		return v->min_ns && (e->type != SWAP_WAIT || e->ns < v->min_ns)
			       ? 0
			       : vec_push(&v->events, *e);
	return swap_tables_feed(&v->tables, rec);
}

static const char *empty_text(const struct report *r, const char *none)
{
	return data_is_obtained(r, SWAP_DATA_IO) == OBTAINED_NO
		       ? "Cannot be counted here: `memwhy doctor` says why. The counters below can."
		       : none;
}

static int sums_report(
	struct by_sums *s, struct report *r, const char *name, const char *title, const char *none)
{
	struct table *t = by_sums_show(s, r, name, title);

	if (!t)
		return -ENOMEM;
	t->sort = "pages";
	t->empty = empty_text(r, none);
	return 0;
}

static int swap_report(void *state, struct report *r)
{
	struct swap_view_state *v = state;
	int rc = sums_report(&v->in, r, "swap_ins", "Swap-ins", "No swap-ins in scope.");

	if (!rc)
		rc = sums_report(&v->out, r, "swap_outs", "Swap-outs, by who reclaimed",
			"No swap-outs in scope.");
	return rc ? rc : swap_tables_report(&v->tables, r);
}

static struct table *swap_each(void *state, struct report *r)
{
	struct swap_view_state *v = state;
	struct table *t = cells_table(
		r, "swap", "Swap I/O and waits, each", each_columns, ARRAY_SIZE(each_columns));

	cells_each(t, r, each_columns, &v->events, NULL);
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
	CELLS_VIEW("swap_ins", in_columns),
	CELLS_VIEW("swap_outs", out_columns),
	CELLS_VIEW("swap", each_columns),
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
