/* See run_take.h. */
#include "cmd/run_take.h"

#include <errno.h>

#include "cmd/recording.h"
#include "cmd/running.h"
#include "report/parts.h"

struct kept {
	struct running g;
	struct run run;
	struct options o;
	const struct probe *probe; /* whose data it needs; NULL: nobody's */
	bool partitioned;          /* the second view, of the same kind, is of the part at hand */
	struct parts parts;
};

/* What was counted since the part before. The first member of a kept is what is at work. */
static int part_take(void *arg)
{
	struct kept *k = arg;
	struct pipeline *p = &k->g.pipe;
	struct report r;
	int rc;

	if (!parts_due(&k->parts, &p->stream, p->stream.last_ns))
		return 0;
	report_init(&r, k->run.cmd->name, &p->stream);
	rc = p->views[1].view->report(p->views[1].state, &r);
	if (!rc)
		parts_take(&k->parts, &r, p->stream.last_ns);
	report_destroy(&r);
	p->views[1].view->reset(p->views[1].state);
	return rc;
}

/* Each view is put in front of the reader with all that it was fed. */
static int partitioned_report(struct kept *k, struct report *r)
{
	struct pipeline *p = &k->g.pipe;
	int rc;

	k->parts.least_ns = 1; /* what is left is a part, too */
	rc = part_take(k);
	if (!rc)
		rc = p->views[0].view->report(p->views[0].state, r);
	if (!rc)
		parts_fit(&k->parts, r);
	return rc;
}

static int run_take_kept_read(struct kept *k, bool *ret_damaged)
{
	struct running *g = &k->g;
	int rc = running_options(g);

	if (!rc)
		rc = running_views(g);
	if (k->partitioned)
		g->on_part = part_take;
	k->o.interval_ns = 0; /* the whole recording, also where the command has intervals */
	if (!rc)
		rc = running_input(g);
	*ret_damaged = rc == -ENODATA;
	if (rc && (!*ret_damaged || !g->pipe.stream.has_session))
		return rc;
	g->err = (struct err){};
	if (k->probe && !recording_has(&g->pipe.stream, k->probe))
		return recording_lacks(&g->pipe.stream, k->o.input, k->probe, &g->err);
	if (recording_is_of_events(&g->pipe.stream, k->probe, &k->o, &g->err))
		return g->err.code;
	return 0;
}

/* Fills the report: of sums, or of single events. */
static int kept_report(struct kept *k, struct report *r)
{
	struct running *g = &k->g;
	int rc = 0;

	if (k->o.each) {
		rc = running_events_report(g, r);
	} else {
		running_report_begin(g, r);
		rc = k->partitioned ? partitioned_report(k, r) : pipeline_report(&g->pipe, r);
	}
	if (!rc)
		running_report_end(g, r);
	return rc;
}

static void kept_free(struct kept *k)
{
	narrow_destroy(&k->g.narrow);
	str_free(&k->g.by);
	pipeline_destroy(&k->g.pipe);
	parts_free(&k->parts);
	free(k);
}

static int run_take_into(const struct run *run, const struct probe *of, int input, bool partitioned,
	struct taken *ret, struct err *err)
{
	struct kept *k = calloc(1, sizeof(*k));
	bool damaged = false;
	int rc = k ? 0 : -ENOMEM;

	if (rc)
		return rc;
	k->o = *run->o;
	k->probe = of;
	k->run = *run;
	k->run.o = &k->o;
	k->partitioned = partitioned;
	parts_init(&k->parts);
	k->g.run = &k->run;
	k->g.input = input;
	rc = run_take_kept_read(k, &damaged);
	if (rc) {
		*err = k->g.err;
		report_destroy(&k->g.events);
		kept_free(k);
		return rc;
	}
	*ret = (struct taken){.kept = k, .stream = &k->g.pipe.stream, .damaged = damaged};
	rc = kept_report(k, &ret->report);
	if (rc)
		taken_free(ret);
	return rc;
}

int run_take_of(const struct run *run, const struct probe *of, int input, struct taken *ret,
	struct err *err)
{
	return run_take_into(run, of, input, false, ret, err);
}

int run_take(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err)
{
	const struct probe *of = probe_find(cmd->name);
	struct options copy = *o;
	const struct run run = {.cmd = cmd, .o = &copy, .views = &of->view, .n_views = 1};

	return run_take_of(&run, of, input, ret, err);
}

int run_take_parts(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err)
{
	const struct probe *of = probe_find(cmd->name);
	const struct view *const views[] = {of->view, of->view};
	bool partitioned = of->view->reset && !of->view->levels && !of->view->due && !o->each;
	struct options copy = *o;
	const struct run run = {
		.cmd = cmd, .o = &copy, .views = views, .n_views = partitioned ? 2 : 1};

	return run_take_into(&run, of, input, partitioned, ret, err);
}

void taken_free(struct taken *t)
{
	if (!t->kept)
		return;
	report_destroy(&t->report);
	kept_free(t->kept);
	*t = (struct taken){};
}
