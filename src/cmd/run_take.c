/* See run_take.h. */
#include "cmd/run_take.h"

#include <errno.h>

#include "cmd/recording.h"
#include "cmd/running.h"

struct kept {
	struct running g;
	struct run run;
	struct options o;
	const struct view *view;
	const struct probe *probe;
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
	if (!recording_has(&g->pipe.stream, k->probe))
		return err_set(&g->err, -EINVAL,
			"%.200s: %s was not recorded: the file is of 'memwhy %.31s'", k->o.input,
			k->probe->name, g->pipe.stream.session.command);
	return 0;
}

int run_take(const struct command *cmd, const struct options *o, int input, struct taken *ret,
	struct err *err)
{
	struct kept *k = calloc(1, sizeof(*k));
	bool damaged = false;
	int rc = k ? 0 : -ENOMEM;

	if (rc)
		return rc;
	k->o = *o;
	k->probe = probe_find(cmd->name);
	k->view = k->probe->view;
	k->run = (struct run){.cmd = cmd, .o = &k->o, .views = &k->view, .n_views = 1};
	k->g.run = &k->run;
	k->g.input = input;
	rc = kept_read(k, &damaged);
	if (rc) {
		*err = k->g.err;
		narrow_destroy(&k->g.narrow);
		pipeline_destroy(&k->g.pipe);
		free(k);
		return rc;
	}
	*ret = (struct taken){.kept = k, .stream = &k->g.pipe.stream, .damaged = damaged};
	running_report_begin(&k->g, &ret->report);
	rc = pipeline_report(&k->g.pipe, &ret->report);
	running_report_end(&k->g, &ret->report);
	if (rc)
		taken_free(ret);
	return rc;
}

void taken_free(struct taken *t)
{
	if (!t->kept)
		return;
	report_destroy(&t->report);
	narrow_destroy(&t->kept->g.narrow);
	pipeline_destroy(&t->kept->g.pipe);
	free(t->kept);
	*t = (struct taken){};
}
