/* See where_view.h. Records in, tables out: keeps the first and the last ledger of each subject. */
#include "probes/where/where_view.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "probes/holders/holders.h"
#include "probes/where/where_census.h"
#include "probes/where/where_tables.h"
#include "probes/where/where_ledger.h"

#define SUBJECTS_MAX 1024

struct where_state {
	struct where_tables t;
};

static int where_init(void *state, const struct view_options *o, struct err *err)
{
	where_evictions_init(&((struct where_state *)state)->t.evictions);
	(void)o;
	(void)err;
	return 0;
}

static int ledger_feed(struct where_tables *t, const struct where_ledger *l)
{
	struct where_subject s = {.first = *l, .last = *l};

	vec_each (k, &t->subjects)
		if (k->last.scope == l->scope && k->last.tgid == l->tgid &&
			k->last.cgroup == l->cgroup) {
			k->last = *l;
			return 0;
		}
	return t->subjects.n < SUBJECTS_MAX ? vec_push(&t->subjects, s) : 0;
}

/* Those of the first look stay, to see what has grown since; of the others the latest. */
static int owner_feed(struct where_tables *t, const struct where_owner *o)
{
	if (!t->first_sample)
		t->first_sample = o->sample + 1;
	if (t->first_sample == o->sample + 1)
		return vec_push(&t->first, *o);
	if (t->last_sample != o->sample + 1)
		t->last.n = 0;
	t->last_sample = o->sample + 1;
	return vec_push(&t->last, *o);
}

/* A record may hold anything: rows are places of an array. */
static bool owner_is_sound(const struct where_owner *o)
{
	return o->row < WHERE_ROWS && o->scope <= WHERE_GROUP;
}

static int where_feed(void *state, const struct rec *r)
{
	struct where_state *v = state;
	int rc = 0;

	if (where_files_feed(&v->t.files, r, &rc) ||
		where_evictions_feed(&v->t.evictions, r, &rc) ||
		where_taken_feed(&v->t.taken, r, &rc))
		return rc;
	switch (r->kind) {
	case REC_WHERE_LEDGER: {
		const struct where_ledger *l = (const void *)r;

		return l->scope <= WHERE_GROUP ? ledger_feed(&v->t, l) : 0;
	}
	case REC_WHERE_OWNER:
		return owner_is_sound((const void *)r) ? owner_feed(&v->t, (const void *)r) : 0;
	case REC_WHERE_ARENA:
		return where_arenas_feed(&v->t.arenas, (const void *)r);
	case REC_WHERE_RUNTIME:
		return where_runtimes_feed(&v->t.runtimes, (const void *)r);
	case REC_WHERE_LIMIT:
		return where_limits_feed(&v->t.limits, (const void *)r);
	case REC_WHERE_CENSUS:
		v->t.census = *(const struct where_census *)r;
		return 0;
	case REC_CGROUP_DYING:
		v->t.dying = *(const struct cgroup_dying *)r;
		return 0;
	case REC_HELD_TOTALS:
		v->t.held = *(const struct held_totals *)r;
		v->t.holders.n = v->t.look_over ? 0 : v->t.holders.n;
		v->t.look_over = true;
		return 0;
	case REC_HELD_MAPS:
		v->t.maps = *(const struct held_maps *)r;
		return 0;
	case REC_HELD_PROCESS:
		if (r->flags & HELD_ENDED)
			return 0;
		v->t.holders.n = v->t.look_over ? 0 : v->t.holders.n;
		v->t.look_over = false;
		return vec_push(&v->t.holders, *(const struct held_process *)r);
	default:
		return 0;
	}
}

static int where_report(void *state, struct report *r)
{
	struct where_state *v = state;

	return where_tables_report(&v->t, r);
}

/* What was last is what the next interval begins with. */
static void where_reset(void *state)
{
	struct where_tables *t = &((struct where_state *)state)->t;

	vec_each (s, &t->subjects)
		s->first = s->last;
	if (t->last.n) {
		vec_swap(&t->first, &t->last);
		t->first_sample = t->last_sample;
	}
	t->last.n = 0;
	t->last_sample = 0;
	where_evictions_reset(&t->evictions);
}

static void where_destroy(void *state)
{
	where_tables_free(&((struct where_state *)state)->t);
}

/* Where memory is, is told at once. */
static u64 where_for_ns(const struct view_options *o)
{
	(void)o;
	return 1;
}

const struct view where_view = {
	.tables = (const struct view_table *const[]){where_tables_all, where_arenas_tables,
		where_runtimes_tables, where_evictions_tables, where_taken_tables,
		where_limits_tables, where_census_tables, where_dying_tables, where_files_tables,
		NULL},
	.size = sizeof(struct where_state),
	.for_ns = where_for_ns,
	.init = where_init,
	.feed = where_feed,
	.report = where_report,
	.reset = where_reset,
	.destroy = where_destroy,
};
