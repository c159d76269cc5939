/* See record_now.h. */
#include "cmd/record_now.h"

#include <time.h>

#include "base/clock.h"
#include "serve/latest.h"

struct record_now {
	struct latest *latest;
};

static int record_now_init(void *state, const struct view_options *o, struct err *err)
{
	struct record_now *n = state;

	(void)o;
	(void)err;
	return latest_new(&n->latest);
}

static int record_now_feed(void *state, const struct rec *r)
{
	/* Tasks are in the stream; that one has ended takes what is known of it along. */
	if (r->kind != REC_TASK || task_is_over(r))
		latest_put(((struct record_now *)state)->latest, r);
	return 0;
}

static int record_now_report(void *state, struct report *r)
{
	(void)state;
	(void)r;
	return 0;
}

static void record_now_destroy(void *state)
{
	latest_free(((struct record_now *)state)->latest);
}

const struct view record_now_view = {
	.size = sizeof(struct record_now),
	.init = record_now_init,
	.feed = record_now_feed,
	.report = record_now_report,
	.destroy = record_now_destroy,
};

struct sending {
	struct sink *to;
	u64 time_ns;
	int rc;
};

static void record_now_task_send(void *arg, const struct rec_task *t)
{
	struct sending *s = arg;
	struct rec_task r = *t;

	r.h.size = sizeof(r);
	r.h.time_ns = s->time_ns;
	s->rc = s->rc ? s->rc : s->to->put(s->to, &r.h);
}

static int tasks_send(const struct stream *s, u64 time_ns, struct sink *to)
{
	struct sending sending = {to, time_ns, 0};

	stream_each_task(s, record_now_task_send, &sending);
	return sending.rc;
}

/* What was lost, and what it cost, before. */
static int sums_send(const struct stream *s, struct sink *to)
{
	int rc = 0;

	vec_each (l, &s->losses) {
		struct rec_loss r = REC_INIT(struct rec_loss, REC_LOSS, s->last_ns);

		r.seen = l->seen + l->seen_before;
		r.delivered = l->delivered + l->delivered_before;
		r.lost = l->lost + l->lost_before;
		memcpy(r.probe, l->probe, sizeof(r.probe));
		snprintf(r.reason, sizeof(r.reason), "%s", l->reason);
		rc = rc ? rc : to->put(to, &r.h);
	}
	if (!rc && s->cost.h.size) {
		struct rec_cost c = s->cost;

		c.h.size = sizeof(c);
		rc = to->put(to, &c.h);
	}
	return rc;
}

/* The session is told twice, as a live one is: what it cost is since the first, the interval begins
 * with the second. */
static int begin_send(const struct running *g, struct sink *to)
{
	const struct stream *s = &g->pipe.stream;
	const struct record_now *n = g->pipe.views[g->pipe.n_views - 1].state;
	struct rec_session session = s->session, opened = session;
	u64 passed = s->last_ns - MIN(session.h.time_ns, s->last_ns);
	int rc;

	opened.h.size = session.h.size = sizeof(session);
	opened.h.time_ns = s->opened_ns ? s->opened_ns : opened.h.time_ns;
	opened.wall_ns -= session.wall_ns ? session.h.time_ns - opened.h.time_ns : 0;
	session.h.time_ns += passed;
	session.wall_ns += session.wall_ns ? passed : 0;
	rc = to->put(to, &s->host.h);
	rc = rc ? rc : to->put(to, &opened.h);
	rc = rc ? rc : stream_send_names(s, to);
	rc = rc ? rc : tasks_send(s, session.h.time_ns, to);
	rc = rc ? rc : latest_send(n->latest, session.h.time_ns, to);
	rc = rc ? rc : sums_send(s, to);
	return rc ? rc : to->put(to, &session.h);
}

static void record_now_tell(struct running *g, bool records, const char *text)
{
	g->run->watch->tell(g->run->watch->arg, records, text);
}

static void record_begin(struct running *g)
{
	struct target to;
	time_t now = time(NULL);
	struct err err = {};
	struct tm tm;

	if (!gmtime_r(&now, &tm) ||
		!strftime(g->recording, sizeof(g->recording), "memwhy-%Y%m%d-%H%M%S.mw", &tm))
		return;
	to = log_target(g->recording);
	if (pipeline_log(&g->pipe, &to, &err)) {
		record_now_tell(g, false, err.msg);
		return;
	}
	begin_send(g, log_writer_sink(g->pipe.log)); /* a full disk is told at the end */
	record_now_tell(g, true, g->recording);
}

static void record_end(struct running *g)
{
	struct rec_tick end = REC_INIT(struct rec_tick, REC_END, g->pipe.stream.last_ns);
	struct sink *to = log_writer_sink(g->pipe.log);
	struct err err = {};

	to->put(to, &end.h);
	record_now_tell(g, true, "");
	if (pipeline_close_log(&g->pipe, &err))
		record_now_tell(g, false, err.msg);
}

void record_now_toggle(struct running *g)
{
	if (g->run->o->record)
		record_now_tell(g, false, "it is recorded already: --record");
	else if (g->pipe.log)
		record_end(g);
	else
		record_begin(g);
}
