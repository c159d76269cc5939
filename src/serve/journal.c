/* Lines of the service for people and for what ships the journal: one JSON object each. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "probes/oom/oom.h"
#include "serve/service.h"
#include "serve/tally.h"

static void line_begin(struct json *j, const char *event)
{
	time_t now = (time_t)(clock_wall_ns() / NSEC_PER_SEC);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_begin_object(j);
	json_key(j, "time");
	json_str(j, when);
	json_key(j, "event");
	json_str(j, event);
}

static void member(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	if (value)
		json_str(j, value);
	else
		json_null(j);
}

/* Nobody may be there to read it: that does not end the service. */
static void line_end(const struct service *s, struct json *j)
{
	json_end_object(j);
	if (s->cfg.quiet || j->out->failed)
		return;
	printf("%s\n", str_get(j->out));
	fflush(stdout);
}

/* What was found in the interval before is not said again. */
static bool journal_was_told(const struct service *s, const struct finding *f)
{
	vec_each (t, &s->told)
		if (t->level == f->level && !strncmp(t->rule, f->rule, sizeof(t->rule) - 1))
			return true;
	return false;
}

static void told_set(struct service *s, const struct report *r)
{
	s->told.n = 0;
	vec_each (f, &r->findings) {
		struct told t = {.level = f->level};

		snprintf(t.rule, sizeof(t.rule), "%s", f->rule);
		if (vec_push(&s->told, t))
			return; /* then it is told twice */
	}
}

bool journal_has_news(const struct service *s, const struct report *r)
{
	vec_each (f, &r->findings)
		if (!journal_was_told(s, f))
			return true;
	return false;
}

void journal_findings(struct service *s, const struct report *r)
{
	vec_each (f, &r->findings) {
		_cleanup_str_ struct str out = {};
		struct json j = {.out = &out};

		if (journal_was_told(s, f))
			continue;
		line_begin(&j, "finding");
		member(&j, "level", finding_level_name(f->level));
		member(&j, "rule", f->rule);
		member(&j, "title", f->title);
		member(&j, "evidence", f->evidence[0]);
		line_end(s, &j);
	}
	told_set(s, r);
}

/* What is known of its container and pod. */
static void journal_names_add(const struct service *s, struct json *j, u64 cgroup)
{
	const char *const *names = metrics_names(s->metrics, cgroup);

	for (size_t i = 0; i < GROUP_NAMES; i++)
		if (names[i])
			member(j, group_name_words[i], names[i]);
}

void journal_daemon_kill(struct service *s, const struct rec *r)
{
	const struct daemon_kill *k = (const struct daemon_kill *)r;
	const char *path = stream_cgroup(&s->pipe->stream, k->victim_cgroup);
	_cleanup_str_ struct str out = {};
	struct json j = {.out = &out};
	char comm[COMM_LEN + 1] = "", by[COMM_LEN + 1] = "";

	memcpy(comm, k->victim_comm, COMM_LEN);
	memcpy(by, k->comm, COMM_LEN);
	line_begin(&j, "daemon_kill");
	member(&j, "by", by);
	member(&j, "comm", comm);
	json_key(&j, "pid");
	json_u64(&j, k->victim_tgid);
	json_key(&j, "signal");
	json_u64(&j, k->signal);
	member(&j, "cgroup", path);
	journal_names_add(s, &j, k->victim_cgroup);
	line_end(s, &j);
}

void journal_kill(struct service *s, const struct rec *r)
{
	const struct oom_kill *k = (const struct oom_kill *)r;
	_cleanup_str_ struct str out = {};
	struct json j = {.out = &out};
	const char *path = stream_cgroup(&s->pipe->stream, k->victim_cgroup);
	char comm[COMM_LEN + 1] = "";

	memcpy(comm, k->victim_comm, COMM_LEN);
	line_begin(&j, "oom_kill");
	member(&j, "comm", comm);
	json_key(&j, "pid");
	json_u64(&j, k->victim_tgid ? k->victim_tgid : k->victim_tid);
	member(&j, "cgroup", path);
	journal_names_add(s, &j, k->victim_cgroup);
	member(&j, "limit_of",
		k->oom_cgroup ? stream_cgroup(&s->pipe->stream, k->oom_cgroup) : NULL);
	line_end(s, &j);
}

void journal_incident(struct service *s, const struct written *w)
{
	_cleanup_str_ struct str out = {};
	struct json j = {.out = &out};

	line_begin(&j, w->result.failed ? "incident_lost" : "incident");
	json_key(&j, "number");
	json_u64(&j, w->result.incident.number);
	if (!w->result.failed) {
		char path[PATH_MAX];

		incident_path(path, w->dir, &w->result.incident, INCIDENT_RECORDING);
		member(&j, "file", path);
	}
	member(&j, "kind", w->fired.kind);
	json_key(&j, "reasons");
	json_begin_array(&j);
	for (u32 i = 0; i < w->fired.n; i++)
		json_str(&j, w->fired.reasons[i]);
	json_end_array(&j);
	json_key(&j, "more");
	json_u64(&j, w->fired.more);
	if (*w->result.why)
		member(&j, "error", w->result.why);
	line_end(s, &j);
}

void journal_note(struct service *s, const struct rec *r)
{
	const struct rec_note *n = (const struct rec_note *)r;
	char text[sizeof(n->text) + 1];

	if (r->flags != NOTE_WARNING || strncmp(n->probe, "names", sizeof(n->probe)) != 0)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)sizeof(n->text), n->text);
	journal_warn(s, "warning", text);
}

void journal_warn(struct service *s, const char *event, const char *text)
{
	_cleanup_str_ struct str out = {};
	struct json j = {.out = &out};

	line_begin(&j, event);
	member(&j, "text", text);
	line_end(s, &j);
}
