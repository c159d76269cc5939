/* See run.h. */
#include "cmd/run.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/ours.h"
#include "cmd/own.h"
#include "cmd/part.h"
#include "cmd/record_now.h"
#include "cmd/recording.h"
#include "cmd/running.h"
#include "cmd/scope.h"
#include "event/log.h"
#include "export/export.h"

#define WATCHED_NAMES_REST 500 /* new files cost a screen a fifth of a percent of a CPU */

void running_report_begin(struct running *g, struct report *r)
{
	report_init(r, g->run->cmd->name, &g->pipe.stream);
	r->has_findings = g->run->finds;
	output_select(&g->out, g->run->o, r);
	r->repeated = g->run->o->interval_ns && !g->run->o->each;
}

/* What was asked for now, of a recording; else what it was recorded of. */
static const char *scope_words(const struct running *g, struct str *buf)
{
	if (!narrow_is_scope(&g->narrow.want))
		return g->pipe.stream.session.scope;
	narrow_words(&g->narrow.want, buf);
	return str_get(buf);
}

void running_report_end(struct running *g, struct report *r)
{
	_cleanup_str_ struct str words = {};

	if (g->run->o->input && r->stream->has_session)
		g->run->finds ? recording_tell_check(r) : recording_tell(g->run, r);
	part_tell(&g->narrow, r);
	if (g->unfiltered)
		recording_unfiltered(r);
	report_add_stream_notes(r);
	/* What others than check find is of what they were asked for: they look at nothing else. */
	report_conclude(r, g->run->finds ? scope_words(g, &words) : NULL);
	if (g->run->conclude)
		g->run->conclude(r);
	g->run->incomplete |= g->run->finds ? report_is_refused(r) : report_tell_refused(r);
	vec_each (f, &r->findings)
		g->run->worst = MAX(g->run->worst, f->level);
}

static int report_hand(struct running *g, const struct report *r)
{
	const struct run_watch *w = g->run->watch;

	return w ? w->show(w->arg, r) : output_report(&g->out, r, &g->err);
}

static bool due_streams(const struct running *g);

static int report_make(struct running *g)
{
	struct report r;
	int rc;

	running_report_begin(g, &r);
	rc = pipeline_report(&g->pipe, &r);
	running_report_end(g, &r);
	if (!rc && due_streams(g))
		rc = report_drop_told(&r, &g->told);
	if (!rc)
		rc = report_hand(g, &r);
	report_destroy(&r);
	return rc;
}

/* A whole report of what was fed since the last one. */
static int running_report(void *arg)
{
	struct running *g = arg;
	int rc = report_make(g);

	if (g->record_asked)
		record_now_toggle(g);
	g->record_asked = false;
	pipeline_reset(&g->pipe);
	stream_interval_begin(&g->pipe.stream);
	return rc;
}

/* While the last probes are attached, what the first ones told already; the interval goes on. */
static int running_early(void *arg, size_t n)
{
	struct running *g = arg;

	return n == g->run->watch->early ? report_make(g) : 0;
}

static int running_asked(void *arg)
{
	struct running *g = arg;
	int asked = g->run->watch->asked(g->run->watch->arg);

	g->record_asked |= asked == RUN_RECORDS;
	return asked == RUN_ENDS;
}

/* An interval of a recording: where these are as short as was asked for, seconds are none. */
static int running_interval(void *arg)
{
	struct running *g = arg;

	g->own_intervals |=
		!g->by_second && stream_interval_ns(&g->pipe.stream) < g->run->watch_ns * 3 / 2;
	return running_report(g);
}

/* A second of a recording: what was told about once a second is an interval, if it is as long as
 * was asked for. */
static int running_second(void *arg)
{
	struct running *g = arg;

	if (g->own_intervals || stream_interval_ns(&g->pipe.stream) < g->run->watch_ns * 9 / 10)
		return 0;
	g->by_second = true;
	return running_report(g);
}

/* The single events that came since the last call, as rows. */
static int running_events(void *arg)
{
	struct running *g = arg;
	const struct view *v = g->pipe.views[g->each_view].view;
	struct report r;
	struct table *t;
	int rc = 0;

	running_report_begin(g, &r);
	t = v->each(g->pipe.views[g->each_view].state, &r);
	if (t && t->n_rows)
		rc = output_rows(&g->out, &r, t, &g->err);
	report_destroy(&r);
	pipeline_forget(&g->pipe);
	return rc;
}

/* A view may have something to say at once. In formats that are one object it waits for the end,
 * and with stacks for their symbols. */
static bool due_streams(const struct running *g)
{
	const struct options *o = g->run->o;

	return g->run->views[0]->due && !o->stacks &&
	       (!strcmp(o->format, "text") || !strcmp(o->format, "wide"));
}

static int running_due(void *arg)
{
	struct running *g = arg;

	return g->run->views[0]->due(g->pipe.views[0].state) ? running_report(g) : 0;
}

/* --like: the lines of what came since the last call. */
static int running_look(void *arg)
{
	struct running *g = arg;
	_cleanup_str_ struct str s = {};
	struct report r;
	int rc;

	if (!g->out.started && g->look->head)
		str_addf(&s, "%s\n", g->look->head);
	running_report_begin(g, &r);
	g->look->lines(g->pipe.views[0].state, &r, &s);
	rc = output_text(&g->out, &s, &g->err);
	report_destroy(&r);
	if (g->look->every_ns) {
		pipeline_reset(&g->pipe);
		stream_interval_begin(&g->pipe.stream);
	}
	return rc;
}

/* The tool had no place for losses and notes: they go to stderr. */
static int running_look_end(struct running *g)
{
	_cleanup_str_ struct str s = {};
	struct report r;
	int rc = running_look(g);

	if (rc || g->run->o->quiet)
		return rc;
	running_report_begin(g, &r);
	running_report_end(g, &r);
	g->out.renderer->end(&r, &g->out.ro, &s);
	output_say(&s);
	report_destroy(&r);
	return 0;
}

/* -ENOMEM: rows are missing, and nothing is told. */
static int events_take(struct running *g, struct report *r, struct table **ret)
{
	*ret = g->pipe.views[g->each_view].view->each(g->pipe.views[g->each_view].state, r);
	return !*ret || (*ret)->failed ? -ENOMEM : 0;
}

/* How many events a page of a recording shows, the first ones: only those are held. 0: all. */
static u64 events_most(const struct running *g)
{
	const struct options *o = g->run->o;

	return o->each && options_one_page(o) && !o->sort && o->limit != UINT64_MAX &&
			       g->each_is_in_order
		       ? o->limit
		       : 0;
}

/* Events that came since the last call, behind those before them; beyond that many they are only
 * counted. */
static int running_gather(void *arg)
{
	struct running *g = arg;
	struct table *all, *t;
	struct report rest;
	int rc;

	if (!g->events.stream)
		running_report_begin(g, &g->events);
	all = g->events.tables.n ? g->events.tables.v[0] : NULL;
	if (!all || all->n_rows < events_most(g)) {
		rc = events_take(g, &g->events, &t);
		return rc || !all ? rc : report_join(&g->events);
	}
	running_report_begin(g, &rest);
	rc = events_take(g, &rest, &t);
	all->n_cut += rc ? 0 : t->n_rows;
	report_destroy(&rest);
	return rc;
}

int running_events_report(struct running *g, struct report *r)
{
	struct table *t;
	int rc;

	if (events_most(g)) {
		rc = running_gather(g);
		*r = g->events;
		g->events = (struct report){};
	} else {
		running_report_begin(g, r);
		rc = events_take(g, r, &t);
	}
	return rc;
}

/* --each of a recording with --sort, or on a page: events in one report at the end. */
static int running_events_page(struct running *g)
{
	struct report r;
	int rc = running_events_report(g, &r);

	if (rc) {
		report_destroy(&r);
		return rc;
	}
	if (!g->out.limited)
		r.limit = 0;
	running_report_end(g, &r);
	rc = output_report(&g->out, &r, &g->err);
	report_destroy(&r);
	return rc;
}

/* What stands below the rows of --each: losses, cost, notes. */
static int running_events_end(struct running *g)
{
	struct report r;
	int rc = running_events(g);

	if (rc)
		return rc;
	running_report_begin(g, &r);
	running_report_end(g, &r);
	rc = output_end(&g->out, &r, &g->err);
	report_destroy(&r);
	return rc;
}

/* Events in one report, and not as they come. */
static bool each_at_end(const struct options *o)
{
	return o->sort || options_one_page(o);
}

static int running_last(struct running *g)
{
	if (g->look)
		return running_look_end(g);
	if (!g->run->o->each)
		return running_report(g);
	return each_at_end(g->run->o) ? running_events_page(g) : running_events_end(g);
}

/* --each: what came since the last call, so that no more than that is held. */
static int running_each(void *arg)
{
	struct running *g = arg;

	return g->look ? running_look(g) : running_events(g);
}

/* Does it have stacks if they are asked for? */
static bool takes_stacks(const struct view *v)
{
	for (const char *const *key = v->by_keys; key && *key; key++)
		if (!strcmp(*key, "stack"))
			return true;
	for (const struct view_table *const *set = v->tables; set && *set; set++)
		for (const struct view_table *t = *set; t->name; t++)
			for (size_t i = 0; i < t->n_cols; i++)
				if (((const struct column *)((const char *)t->cols + i * t->stride))
						->type == CELL_STACK)
					return true;
	return false;
}

/* The views with nothing in them: do they have the columns and tables that were asked for? */
static int running_rehearse(struct running *g)
{
	const struct options *o = g->run->o;
	bool never = o->stacks || g->run->finds || !takes_stacks(g->run->views[0]);
	struct report r;
	int rc = 0;

	running_report_begin(g, &r);
	if (o->each)
		g->pipe.views[g->each_view].view->each(g->pipe.views[g->each_view].state, &r);
	else
		rc = pipeline_report(&g->pipe, &r);
	if (!rc)
		rc = report_check(&r, &g->err);
	g->each_is_in_order = o->each && r.tables.n == 1 && !r.tables.v[0]->sort;
	if (!rc && export_of_stacks(o->format) && !report_has_stacks(&r)) {
		err_set(&g->err, -EINVAL, "a profile shows stacks, but 'memwhy %s' has none%s",
			g->run->cmd->name, never ? "" : " without --stacks");
		rc = never ? err_hint(&g->err, "for example: memwhy faults --stacks -o %s",
				     o->format)
			   : err_hint(&g->err, "add --stacks");
	}
	report_destroy(&r);
	pipeline_reset(&g->pipe);
	return rc;
}

/* On a terminal it is to be seen why. */
static bool command_apart(const struct running *g)
{
	const struct options *o = g->run->o;
	bool apart = o->argv && output_takes_stdout(&g->out, o);

	if (apart && !o->quiet && isatty(STDERR_FILENO))
		fprintf(stderr,
			"memwhy: the command's output goes to stderr, since the report goes to "
			"stdout (or use --out FILE)\n");
	return apart;
}

static int run_live(struct running *g, struct capture_options *opt, const struct scope_words *words)
{
	const struct options *o = g->run->o;
	const struct run_watch *w = g->run->watch;
	struct session_config cfg = {
		.command = g->run->cmd->name,
		.scope_text = words->text,
		.probes = g->run->probes,
		.n_probes = g->run->n_probes,
		.lenient = g->run->lenient,
		.needs_privilege = g->run->company.needs_privilege,
		.n_beside = g->run->n_beside,
		.guarded = g->run->guarded,
		.debug_info = !o->no_lines,
		.opt = *opt,
		.for_ns = o->for_ns,
		.interval_ns = o->interval_ns,
		.argv = o->argv,
		.apart = command_apart(g),
		.on_tick = o->each   ? NULL
			   : g->look ? running_look
				     : running_report,
		.on_events = o->each          ? running_each
			     : due_streams(g) ? running_due
					      : NULL,
		.events_named = o->each && o->stacks,
		.on_fd = w ? running_asked : NULL,
		.fd = w ? w->fd : -1,
		.on_opened = w ? running_early : NULL,
		.names_rest = w ? WATCHED_NAMES_REST : 0,
		.helpers = {w ? w->helpers[0] : 0, w ? w->helpers[1] : 0},
		.arg = g,
	};

	return session_run(&cfg, &g->pipe.sink, &g->run->result, &g->err);
}

/* Where the records of a recording go: into the pipeline, or what is in front of it. */
static int running_narrow(struct running *g, struct sink **ret)
{
	const struct probe *p = probe_find(g->run->cmd->name);
	struct narrow_want want = {};
	int rc = part_from_options(g->run->o, p, &want, &g->err);

	*ret = &g->pipe.sink;
	if (!rc && narrow_wanted(&want))
		rc = pipeline_schema(&g->schema);
	if (!rc && narrow_wanted(&want)) {
		narrow_init(&g->narrow, &want, &g->schema, &g->pipe.sink, &g->pipe.stream);
		*ret = &g->narrow.sink;
	}
	narrow_want_free(&want);
	return rc;
}

/* It has no place to say that something was not recorded. */
static bool format_is_bare(const char *format)
{
	return export_of_stacks(format) || !strcmp(format, "csv");
}

int running_input(struct running *g)
{
	const struct options *o = g->run->o;
	bool each_interval = o->interval_ns || g->run->watch;
	const struct probe *of = probe_find(g->run->cmd->name);
	struct sink *sink;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	rc = running_narrow(g, &sink);
	if (rc)
		return rc;
	rc = replay_fd(g->input, o->input, of, sink,
		&(struct replay_takers){
			.on_tick = g->on_part                ? g->on_part
				   : !each_interval || o->each ? NULL
				   : g->look                 ? running_look
							     : running_interval,
			.on_events = events_most(g)               ? running_gather
				     : o->each && !each_at_end(o) ? running_each
								  : NULL,
			.on_second = g->on_part                          ? g->on_part
				     : g->run->watch_ns && each_interval ? running_second
									 : NULL,
			.names_first = o->each && o->stacks ? &g->pipe.stream : NULL,
			.arg = g,
		},
		&g->err);
	if (rc && rc != -ENODATA)
		return rc;
	if (rc)
		snprintf(
			g->pipe.stream.damage, sizeof(g->pipe.stream.damage), "%.159s", g->err.msg);
	if (!rc && !g->pipe.stream.has_session)
		rc = err_set(
			&g->err, -EINVAL, "%.200s: nothing was recorded in it", g->run->o->input);
	if (!rc && !g->run->finds && format_is_bare(o->format) &&
		!recording_has(&g->pipe.stream, of))
		rc = recording_lacks(&g->pipe.stream, NULL, of, &g->err);
	if (!rc && !g->run->finds && format_is_bare(o->format) &&
		recording_is_of_events(&g->pipe.stream, of, o, &g->err))
		rc = g->err.code;
	return rc;
}

static int running_enter(struct running *g)
{
	const struct probe *of = probe_find(g->run->cmd->name);
	int rc = replay_open(g->run->o->input, &g->input, &g->err);

	return rc ? rc : recording_enter(&g->input, 1, of, g->run->o, &g->unfiltered, &g->err);
}

static int views_add(struct running *g)
{
	const struct options *o = g->run->o;
	struct view_options vo = {
		.by = o->by,
		.each = o->each,
		.min_ns = o->min_ns,
		.stacks = o->stacks != NULL,
		.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.most_bytes = recording_memory(o) / 2,
		.look = g->look,
		.opts = own_of(o, g->run->cmd->probe),
		.operands = o->operands,
		.n_operands = (u32)o->n_operands,
	};
	u64 (*every_ns)(const struct view_options *) = g->run->views[0]->every_ns;
	u64 (*for_ns)(const struct view_options *) = g->run->views[0]->for_ns;
	int rc = 0;

	if (every_ns && !g->run->o->interval_ns && !options_one_page(o))
		g->run->o->interval_ns = every_ns(&vo);
	if (for_ns && !o->for_ns && !o->interval_ns && !o->argv)
		g->run->o->for_ns = for_ns(&vo);
	for (size_t i = 0; i < g->run->n_views && !rc; i++)
		rc = pipeline_add(&g->pipe, g->run->views[i], &vo, &g->err);
	if (!rc && o->min_ns && !o->each)
		return err_set(&g->err, -EINVAL, "--min filters single events and needs --each");
	return rc;
}

int running_views(struct running *g)
{
	int rc = pipeline_init(&g->pipe);

	if (!rc)
		rc = views_add(g);
	if (!rc) {
		g->out.renderer = output_renderer(g->run->o->format);
		rc = running_rehearse(g);
	}
	return rc;
}

/* The scope of a session; that of a recording (part.h) needs no process or group to be here. */
static int scope_live(const struct options *o, struct capture_options *opt,
	struct scope_words *words, struct err *err)
{
	struct options live = *o;

	if (o->input)
		live.pids = live.comm = live.cgroup = live.container = NULL;
	return scope_from_options(&live, opt, words, err);
}

/* All that can be found wrong before anything is opened, written or run. */
static int running_prepare(
	struct running *g, struct capture_options *opt, struct scope_words *words)
{
	struct options *o = g->run->o;
	int rc = running_options(g);

	if (!rc)
		rc = scope_live(o, opt, words, &g->err);
	if (!rc)
		rc = running_views(g);
	if (!rc && g->run->cmd->needs_command && !o->argv && !o->pids && !o->input) {
		err_set(&g->err, -EINVAL, "%s needs a command to run, or -p", g->run->cmd->name);
		rc = err_hint(&g->err, "memwhy %s -- CMD; memwhy %s -p PID", g->run->cmd->name,
			g->run->cmd->name);
	}
	if (!rc)
		rc = output_open(o, &g->out, &g->err);
	return rc;
}

static int running_log(struct running *g)
{
	const struct target to = ours_recording(g->run->o, g->run->o->record);
	_cleanup_free_ struct schema *s = NULL;
	int fd = g->run->o->record_fd;

	if (fd) {
		s = calloc(1, sizeof(*s));
		return !s || pipeline_schema(s) ? -ENOMEM
						: log_writer_open_fd(dup(fd), "the recording", s,
							  &g->pipe.log, &g->err);
	}
	return pipeline_log(&g->pipe, &to, &g->err);
}

static int running_go(struct running *g)
{
	const struct options *o = g->run->o;
	struct capture_options opt = {};
	struct scope_words words;
	int rc = running_prepare(g, &opt, &words), damaged = 0;

	if (!rc && o->record)
		rc = running_log(g);
	if (!rc && o->input)
		rc = running_enter(g);
	if (!rc && o->input)
		rc = running_input(g);
	else if (!rc) {
		opt.stack_every = g->run->stack_every;
		opt.gentle = g->run->gentle;
		opt.watch_ns = g->run->watch_ns;
		opt.sample_ns =
			MIN(opt.watch_ns, NSEC_PER_SEC); /* each interval's end, and no more */
		opt.outstanding = g->run->company.outstanding;
		opt.least_bytes = g->run->company.least_bytes;
		opt.few_stacks = g->stacks_by_default;
		opt.plain_stacks = g->run->plain_stacks;
		opt.named = g->run->named ? g->run->named : g->run->cmd->name;
		opt.operands = o->operands;
		opt.n_operands = (u32)o->n_operands;
		rc = run_live(g, &opt, &words);
	}
	scope_free(&opt);
	if (rc == -ENODATA && o->input) { /* what could be read is reported all the same */
		damaged = rc;
		rc = 0;
	}
	if (!rc)
		rc = running_last(g);
	if (rc == -ENOMEM && o->input)
		rc = recording_too_large(o->input, o, &g->err);
	return rc ? rc : damaged;
}

static int running_close(struct running *g, int rc)
{
	struct err last = {};
	bool log = g->pipe.log && g->run->o->record;
	int closed = pipeline_close_log(&g->pipe, &last);

	if (rc && log && !stream_delivered(&g->pipe.stream))
		unlink(g->run->o->record); /* or it would look like a quiet machine */
	if (closed && !rc) {
		rc = closed;
		g->err = last;
	}
	if (rc)
		output_drop(&g->out);
	if (g->out.file) {
		closed = output_close(&g->out, &last);
		if (closed && !rc) {
			rc = closed;
			g->err = last;
		}
	}
	report_destroy(&g->events);
	narrow_destroy(&g->narrow);
	str_free(&g->by);
	if (g->input)
		close(g->input);
	pipeline_destroy(&g->pipe);
	notes_told_free(&g->told);
	return rc;
}

int run_status(int rc, const struct session_result *result)
{
	if (rc && result->exec_failed) /* as a shell says it */
		return rc == -ENOENT ? 127 : 126;
	if (rc && rc != -EPIPE) /* that reader has seen enough */
		return command_status(rc);
	if (result->has_child && result->child_ended)
		return result->child_status;
	return result->interrupted && !rc ? STATUS_INTERRUPTED : STATUS_DONE;
}

int run_live_or_input(struct run *r)
{
	_cleanup_free_ struct running *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return STATUS_INTERNAL;
	g->run = r;
	r->worst = -1;
	rc = running_close(g, running_go(g));
	if (r->watch && !rc && r->o->input)
		r->watch->wait(r->watch->arg);
	if (r->watch)
		r->watch->close(r->watch->arg);
	if (!(rc == -EINTR && r->watch))
		command_end(rc, &g->err, r->cmd->name);
	r->done = !rc && !r->result.interrupted;
	if (r->done && r->incomplete)
		return r->o->input ? STATUS_DAMAGED : STATUS_NOT_SUPPORTED;
	return run_status(rc, &r->result);
}
