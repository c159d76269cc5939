/* See run_take.h. */
#include "cmd/run_take.h"

#include <errno.h>

#include "cmd/recording.h"
#include "cmd/running.h"

struct kept {
	struct running g;
	struct run run;
	struct options o;
	const struct probe *probe; /* whose data it needs; NULL: nobody's */
};

static int kept_read(struct kept *k, bool *ret_damaged)
{
	struct running *g = &k->g;
	int rc = running_options(g);

	if (!rc)
		rc = running_views(g);
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
		rc = pipeline_report(&g->pipe, r);
	}
	if (!rc)
		running_report_end(g, r);
	return rc;
}

int run_take_of(const struct run *run, const struct probe *of, int input, struct taken *ret,
	struct err *err)
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
	k->g.run = &k->run;
	k->g.input = input;
	rc = kept_read(k, &damaged);
	if (rc) {
		*err = k->g.err;
		report_destroy(&k->g.events);
		narrow_destroy(&k->g.narrow);
		str_free(&k->g.by);
		pipeline_destroy(&k->g.pipe);
		free(k);
		return rc;
	}
	*ret = (struct taken){.kept = k, .stream = &k->g.pipe.stream, .damaged = damaged};
	rc = kept_report(k, &ret->report);
	if (rc)
		taken_free(ret);
	return rc;
}

int run_take(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err)
{
	const struct probe *of = probe_find(cmd->name);
	struct options copy = *o;
	const struct run run = {.cmd = cmd, .o = &copy, .views = &of->view, .n_views = 1};

	return run_take_of(&run, of, input, ret, err);
}

void taken_free(struct taken *t)
{
	if (!t->kept)
		return;
	report_destroy(&t->report);
	narrow_destroy(&t->kept->g.narrow);
	str_free(&t->kept->g.by);
	pipeline_destroy(&t->kept->g.pipe);
	free(t->kept);
	*t = (struct taken){};
}
