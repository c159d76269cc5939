/* See action.h. */
#include "cmd/action.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture/names/names.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/own.h"
#include "cmd/scope.h"
#include "record/cost.h"
#include "record/origin.h"
#include "record/pipeline.h"
#include "record/session.h"

struct acting {
	const struct probe *probe;
	const struct probe_action *action;
	const struct options *o;
	void *state;
	struct capture_options opt;
	struct scope_words words;
};

bool action_wanted(const struct probe *p, const struct options *o)
{
	char words[OVER_WORDS];
	struct request r;

	if (!p->action)
		return false;
	own_request(o, p, words, &r);
	return p->action->wanted(&r, own_of(o, p));
}

static int session(
	const struct capture_options *opt, u64 for_ns, struct sink *sink, struct err *err)
{
	const struct probe *const list[] = {probe_find(opt->named)};
	struct session_result result = {};
	struct session_config cfg = {
		.command = opt->named,
		.scope_text = "",
		.probes = list,
		.n_probes = 1,
		.opt = *opt,
		.for_ns = for_ns,
	};
	int rc = session_run(&cfg, sink, &result, err);

	return !rc && result.interrupted ? -EINTR : rc;
}

/* What describes the machine, for the head of the report. */
static int head_send(struct pipeline *p, const struct acting *a)
{
	struct capture c = {.sink = &p->sink};
	struct rec_cost cost = cost_read(&(struct cost){.stats_fd = -1}, NULL, 0);
	int rc = names_open(&p->sink, &(struct names_options){}, &c.names);

	if (!rc)
		rc = origin_send(&c, a->probe->name, a->words.text);
	if (!rc)
		rc = capture_emit(&c, &cost.h);
	names_close(c.names);
	capture_close(&c);
	return rc;
}

static int report_print(
	const struct acting *a, struct pipeline *p, struct output *out, struct err *err)
{
	bool people = !strcmp(a->o->format, "text") || !strcmp(a->o->format, "wide");
	struct report r;
	int rc;

	report_init(&r, a->probe->name, &p->stream);
	output_select(out, a->o, &r);
	if (a->action->bare && a->o->limit == UINT64_MAX)
		r.limit = 0;
	out->ro.quiet |= a->action->bare && people;
	a->action->report(a->state, &r);
	rc = report_check(&r, err);
	if (!rc)
		rc = output_report(out, &r, err);
	report_destroy(&r);
	return rc;
}

static int acting_print(const struct acting *a, struct err *err)
{
	_cleanup_free_ struct pipeline *p = calloc(1, sizeof(*p));
	struct output out = {};
	int rc = p ? pipeline_init(p) : -ENOMEM;

	if (rc)
		return rc;
	rc = output_open(a->o, &out, err);
	if (!rc && !a->action->bare)
		rc = head_send(p, a);
	if (!rc)
		rc = report_print(a, p, &out, err);
	if (out.file && output_close(&out, err) && !rc)
		rc = -EIO;
	pipeline_destroy(p);
	return rc;
}

static int acting_run(struct acting *a, struct options *o, struct err *err)
{
	char words[OVER_WORDS];
	struct request request;
	struct action_task task = {
		.request = &request,
		.opts = own_of(o, a->probe),
		.capture = &a->opt,
		.session = session,
	};
	int rc = own_check(o, a->probe, err);

	own_request(o, a->probe, words, &request);
	if (!rc && !a->action->bare)
		rc = scope_from_options(o, &a->opt, &a->words, err);
	if (rc)
		return rc;
	a->opt.named = a->probe->name;
	rc = a->action->run(a->state, &task, err);
	return rc ? rc : acting_print(a, err);
}

int action_run(const struct probe *p, struct options *o)
{
	struct acting a = {.probe = p, .action = p->action, .o = o};
	struct err err = {};
	int rc;

	a.state = calloc(1, p->action->size);
	rc = a.state ? acting_run(&a, o, &err) : -ENOMEM;
	if (a.state)
		p->action->free(a.state);
	free(a.state);
	scope_free(&a.opt);
	return command_end(rc, &err, p->action->name);
}
