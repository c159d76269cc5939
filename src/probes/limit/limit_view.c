/* See limit_view.h. Records in, tables out. */
#include "probes/limit/limit_view.h"

#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "probes/limit/limit.h"
#include "probes/limit/limit_tables.h"

#define LOOKS_MOST 4096
#define FOR_NS (60 * NSEC_PER_SEC)

struct limit_state {
	struct limit_facts f;
	VEC(struct limit_mapped) looks;
};

static int limit_init(void *state, const struct view_options *o, struct err *err)
{
	(void)state;
	(void)o;
	(void)err;
	return 0;
}

static int group_feed(struct limit_facts *f, const struct limit_group *g)
{
	if (!f->first.h.kind)
		f->first = *g;
	f->last = *g;
	return 0;
}

static int files_feed(struct limit_facts *f, const struct limit_files *l)
{
	if (l->stride && l->page_bytes)
		f->files = *l;
	return 0;
}

static int limit_feed(void *state, const struct rec *r)
{
	struct limit_state *v = state;

	switch (r->kind) {
	case REC_LIMIT_GROUP:
		return group_feed(&v->f, (const void *)r);
	case REC_LIMIT_FILES:
		return files_feed(&v->f, (const void *)r);
	case REC_LIMIT_MAPPED:
		v->f.mapped = *(const struct limit_mapped *)r;
		return v->looks.n < LOOKS_MOST ? vec_push(&v->looks, v->f.mapped) : 0;
	default:
		return 0;
	}
}

/* The latest look of the first three quarters. */
static void early_find(struct limit_state *v)
{
	u64 before = v->f.mapped.elapsed_ns / 4 * 3;

	memset(&v->f.early, 0, sizeof(v->f.early));
	vec_each (m, &v->looks)
		if (m->elapsed_ns <= before)
			v->f.early = *m;
}

static int limit_report(void *state, struct report *r)
{
	struct limit_state *v = state;
	u64 lost = 0, seen = 0;
	struct limit_need n;
	int rc;

	early_find(v);
	vec_each (l, &r->stream->losses)
		if (!strcmp(l->probe, "limit")) {
			seen = l->seen;
			lost = l->lost;
		}
	limit_judge(&v->f, lost, seen, &n);
	rc = limit_tables_report(&v->f, &n, r);
	if (!rc)
		limit_advise(&v->f, &n, r);
	return rc;
}

static void limit_reset(void *state)
{
	(void)state; /* what is needed is known by all that was seen */
}

static void limit_destroy(void *state)
{
	vec_free(&((struct limit_state *)state)->looks);
}

static u64 limit_for_ns(const struct view_options *o)
{
	(void)o;
	return FOR_NS;
}

const struct view limit_view = {
	.tables = (const struct view_table *const[]){limit_tables_all, NULL},
	.size = sizeof(struct limit_state),
	.for_ns = limit_for_ns,
	.init = limit_init,
	.feed = limit_feed,
	.report = limit_report,
	.reset = limit_reset,
	.destroy = limit_destroy,
};
