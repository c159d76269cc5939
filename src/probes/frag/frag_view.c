/* See frag_view.h: the zones, what an allocation meets in them, and who fragments them. */
#include "probes/frag/frag_view.h"

#include <string.h>

#include "probes/frag/frag_allocate.h"
#include "probes/frag/frag_events.h"

struct frag_state {
	struct zones zones;
	struct events events;
	bool each;
};

static int frag_init(void *state, const struct view_options *o, struct err *err)
{
	struct frag_state *f = state;
	int rc = events_init(&f->events, &frag_view, o, err);

	if (rc)
		return rc;
	zones_init(&f->zones);
	f->each = o->each;
	return 0;
}

static int frag_feed(void *state, const struct rec *r)
{
	struct frag_state *f = state;
	int rc = zones_feed(&f->zones, r);

	return rc ? rc : events_feed(&f->events, r);
}

static int frag_report(void *state, struct report *r)
{
	struct frag_state *f = state;
	int rc = zones_report(&f->zones, r);
	const char *scope = r->stream->session.scope;

	if (scope[0] && strncmp(scope, "system-wide", sizeof(r->stream->session.scope)))
		report_note(r, "The scope limits the events; free memory is the whole machine's.");
	if (!rc)
		rc = allocate_report(&f->zones, f->events.pageblock_order, r);
	if (!rc)
		rc = types_report(&f->zones, r);
	return rc || f->each ? rc : events_report(&f->events, r);
}

static struct table *frag_each(void *state, struct report *r)
{
	struct frag_state *f = state;

	return events_each(&f->events, &f->zones, r);
}

static void frag_reset(void *state)
{
	struct frag_state *f = state;

	zones_reset(&f->zones);
	groups_clear(&f->events.sums.groups);
}

static void frag_destroy(void *state)
{
	struct frag_state *f = state;

	zones_free(&f->zones);
	events_free(&f->events);
}

const struct view frag_view = {
	.size = sizeof(struct frag_state),
	.by_default = EVENTS_BY_DEFAULT,
	.by_keys = events_by_keys,
	.tables = (const struct view_table *const[]){zones_tables, allocate_tables, events_tables,
		NULL},
	.init = frag_init,
	.feed = frag_feed,
	.report = frag_report,
	.each = frag_each,
	.reset = frag_reset,
	.destroy = frag_destroy,
};
