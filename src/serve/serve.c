/* See serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "probes/oom/oom.h"
#include "serve/listen.h"
#include "serve/secret.h"
#include "serve/service.h"
#include "sys/root.h"

#define TURN_NS (500 * NSEC_PER_MSEC)
/* A service is not to be noticed. */
#define SAMPLE_NS (2 * NSEC_PER_SEC)
#define DRAIN_NS (2 * NSEC_PER_SEC)
#define NAMES_REST 500
#define WRITE_MS 60000  /* for an incident, at the end */
#define STACK_EVERY 251 /* a prime, so that a program's own rhythm is not sampled */

static void daemon_kill_take(struct service *s, const struct daemon_kill *k)
{
	if (daemon_kill_begins(&s->daemons, k)) {
		metrics_daemon_kill(s->metrics);
		if (s->box)
			blackbox_daemon_kill(s->box, &s->pipe->stream, k);
	}
	journal_daemon_kill(s, &k->h);
}

/* All records pass here, in the session's thread. */
static int service_put(struct sink *sink, const struct rec *r)
{
	struct service *s = (struct service *)sink; /* its first member */

	metrics_feed(s->metrics, r);
	if (s->box)
		blackbox_put(s->box, &s->pipe->stream, r);
	if (s->push && push_profiles_feed(s->pushed, r))
		return -ENOMEM;
	if (r->kind == REC_OOM_KILL && r->size >= sizeof(struct oom_kill))
		journal_kill(s, r);
	if (r->kind == REC_DAEMON_KILL && r->size >= sizeof(struct daemon_kill))
		daemon_kill_take(s, (const struct daemon_kill *)r);
	if (r->kind == REC_NOTE && r->size >= sizeof(struct rec_note))
		journal_note(s, r);
	return s->pipe->sink.put(&s->pipe->sink, r);
}

static void counts_tell(struct service *s)
{
	struct serve_counts counts = {};

	if (s->box)
		blackbox_counts(s->box, &counts);
	counts.pushes = s->push != NULL;
	if (s->push)
		push_counts(s->push, &counts.push);
	pthread_mutex_lock(&s->lock);
	s->counts = counts;
	pthread_mutex_unlock(&s->lock);
}

static void incident_tell(struct service *s, const struct written *w)
{
	journal_incident(s, w);
	counts_tell(s);
}

/* After a tick that put no names off: all that was counted has its own. */
static void incident_write(struct service *s)
{
	struct written w;

	if (blackbox_write(s->box, &s->pipe->stream, &w))
		incident_tell(s, &w);
}

static void incident_take(struct service *s, int wait_ms)
{
	struct written w;

	if (blackbox_take(s->box, wait_ms, &w))
		incident_tell(s, &w);
}

/* What is being written, and what fired as the session ended. */
static void incidents_end(struct service *s)
{
	incident_take(s, WRITE_MS);
	if (!blackbox_is_pending(s->box))
		return;
	incident_write(s);
	incident_take(s, WRITE_MS);
}

/* 1: what is new has to have names first. */
static int service_tick(void *arg)
{
	struct service *s = arg;
	u64 now = clock_mono_ns();
	bool due = s->box && blackbox_is_due(s->box), named = s->named;
	struct report r;
	int rc;

	if (due && !named)
		return s->named = true;
	s->named = false;
	if (due)
		incident_write(s);
	/* A tick for an incident alone does not end the interval of the findings. */
	if (now + TURN_NS < s->report_next_ns)
		return 0;
	report_init(&r, "check", &s->pipe->stream);
	r.has_findings = true;
	rc = pipeline_report(s->pipe, &r);
	report_add_stream_notes(&r);
	report_conclude(&r, NULL);
	if (!rc && !named && journal_has_news(s, &r)) {
		report_destroy(&r);
		return s->named = true;
	}
	s->report_next_ns = now + s->cfg.interval_ns;
	if (!rc) {
		metrics_findings(s->metrics, &r);
		journal_findings(s, &r);
		service_page(s, &r);
		if (s->box)
			blackbox_findings(s->box, &r);
	}
	report_destroy(&r);
	if (!rc && s->push)
		rc = push_profiles_make(s->pushed, &s->pipe->stream, s->push);
	pipeline_reset(s->pipe);
	stream_interval_begin(&s->pipe->stream);
	return rc;
}

static void push_tell(struct service *s)
{
	char why[160];
	int news = push_news(s->push, why);

	if (news)
		journal_warn(s, news < 0 ? "push_failed" : "push_works", news < 0 ? why : "");
}

/* At each turn of the session's loop: several times a second, oftener where much goes on. */
static int service_turn(void *arg)
{
	struct service *s = arg;
	u64 now = clock_mono_ns();

	if (now < s->turn_next_ns)
		return 0;
	s->turn_next_ns = now + TURN_NS;
	pthread_mutex_lock(&s->lock);
	s->alive_ns = now;
	pthread_mutex_unlock(&s->lock);
	if (!s->ready) {
		s->ready = true;
		malloc_trim(0); /* attaching took more than the service does */
		metrics_settle(s->metrics);
		notify_send(s->notify_fd, "READY=1\nSTATUS=All probes are attached.");
		journal_warn(s, "ready", s->listen);
	}
	counts_tell(s);
	if (s->push)
		push_tell(s);
	if (s->box)
		incident_take(s, 0);
	if (!s->writer_gone && writer_is_gone(&s->writer)) {
		s->writer_gone = true;
		journal_warn(s, "writer_ended",
			"the process that writes incidents has ended: until a restart the service "
			"writes them itself, and counts late while doing so");
	}
	if (!s->profiler_gone && profiler_is_gone(&s->profiler)) {
		s->profiler_gone = true;
		journal_warn(s, "profiles_ended",
			"the process that makes profiles has ended: restart the service to get "
			"profiles again");
	}
	if (s->watchdog_ns && now >= s->watchdog_next_ns) {
		notify_send(s->notify_fd, "WATCHDOG=1");
		s->watchdog_next_ns = now + s->watchdog_ns;
	}
	return s->box && blackbox_is_due(s->box); /* 1: a tick, so that all has names */
}

/* The lines of --auth, if any. Nobody looks into processes from elsewhere without a password. */
static int users_read(const struct service *s, const char *path, struct str *ret, struct err *err)
{
	if (path)
		return secret_read("--auth", path, ret, err);
	if (s->local || !s->cfg.profiles)
		return 0;
	err_set(err, -EINVAL, "--allow-profiles lets every client look into processes");
	return err_hint(err, "to serve other machines, add --auth FILE");
}

static int users_load(struct service *s, const char *path, struct err *err)
{
	_cleanup_str_ struct str text = {};
	int rc = users_read(s, path, &text, err);

	return rc ? rc : http_users(s->http, path ? str_get(&text) : NULL, err);
}

static void exposure_tell(struct service *s)
{
	if (s->local)
		return;
	journal_warn(s, "warning",
		s->cfg.auth ? "passwords and data cross the network unencrypted: put a TLS proxy "
			      "in front"
			    : "other machines can read everything served here without a password: "
			      "listen on 127.0.0.1, or use --auth");
}

static bool text_differs(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b) != 0);
}

/* What the settings say now and what runs cannot take. */
static void restart_list(
	const struct serve_config *was, const struct serve_config *now, struct str *ret)
{
	const struct {
		const char *name;
		bool differs;
	} all[] = {
		{"listen", text_differs(was->listen, now->listen)},
		{"interval", was->interval_ns != now->interval_ns},
		{"for", was->for_ns != now->for_ns},
		{"allow-profiles", was->profiles != now->profiles},
		{"incidents",
			was->box.dir && now->box.dir && text_differs(was->box.dir, now->box.dir)},
		{"no-incidents", !was->box.dir != !now->box.dir},
		{"push", text_differs(was->push, now->push)},
		{"push-labels", text_differs(was->push_labels, now->push_labels)},
		{"push-headers", text_differs(was->push_headers, now->push_headers)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].differs)
			str_addf(ret, "%s%s",
				ret->len ? ", " : "these change after a restart: ", all[i].name);
}

static void service_reload(struct service *s)
{
	struct serve_config cfg = s->cfg;
	struct err err = {};
	_cleanup_str_ struct str text = {};
	int rc = s->reload->load(s->reload->arg, &cfg, &err);

	notify_send(s->notify_fd, "RELOADING=1");
	if (!rc)
		rc = users_load(s, cfg.auth, &err);
	if (!rc) {
		restart_list(s->begun, &cfg, &text);
		cfg.interval_ns = s->begun->interval_ns;
		cfg.profiles = s->begun->profiles;
		s->cfg = cfg;
		s->reload->taken(s->reload->arg);
		metrics_limit(s->metrics, cfg.max_series);
		if (s->box)
			blackbox_config(s->box, &cfg.box);
	}
	if (rc)
		str_addf(&text, "%s%s%s%s", err.msg, *err.hint ? " (" : "", err.hint,
			*err.hint ? ")" : "");
	journal_warn(s, rc ? "reload_failed" : "reloaded", str_get(&text));
	if (!rc)
		exposure_tell(s);
	notify_send(s->notify_fd, "READY=1");
}

static int service_signal(void *arg, int number)
{
	struct service *s = arg;

	if (number == SIGUSR1 && s->box)
		blackbox_ask(s->box);
	if (number == SIGHUP)
		service_reload(arg);
	return 0;
}

static int server_open(struct service *s, struct err *err)
{
	_cleanup_str_ struct str users = {};
	struct listen_address at;
	struct http_config http = {.answer = service_answer, .arg = s};
	int rc = listen_parse(s->cfg.listen, &at, err);

	s->local = at.local;
	s->loopback = at.loopback;
	if (!rc)
		rc = users_read(s, s->cfg.auth, &users, err);
	if (!rc)
		rc = listen_open(&at, s->cfg.listen, &http.fd, err);
	if (rc)
		return rc;
	http.users = s->cfg.auth ? str_get(&users) : NULL;
	rc = http_start(&http, &s->http, err);
	if (!rc)
		exposure_tell(s);
	return rc;
}

static int push_open(struct service *s, struct err *err)
{
	const struct serve_config *cfg = &s->cfg;
	_cleanup_free_ struct push_to *to = calloc(1, sizeof(*to));
	_cleanup_str_ struct str hosts = {}, headers = {};
	struct utsname name = {};
	int rc = to ? 0 : -ENOMEM;

	if (rc || !cfg->push)
		return rc;
	(void)file_read("/etc/hosts", &hosts);
	(void)uname(&name);
	rc = push_url_parse(cfg->push, str_get(&hosts), to, err);
	if (!rc)
		rc = push_labels_parse(cfg->push_labels, name.nodename, to, err);
	if (!rc && cfg->push_headers)
		rc = secret_read("--push-headers", cfg->push_headers, &headers, err);
	if (!rc)
		rc = push_headers_parse(str_get(&headers), cfg->push_headers, to, err);
	if (!rc)
		rc = push_profiles_new(STACK_EVERY, &s->pushed, err);
	return rc ? rc : push_start(to, &s->push, err);
}

static int service_prepare(struct service *s, struct err *err)
{
	int rc = metrics_new(s->cfg.max_series, &s->metrics);

	if (!rc)
		rc = blackbox_new(&s->cfg.box, &s->writer, &s->box, err);
	if (!rc) {
		s->listen = strdup(s->cfg.listen);
		s->dir = s->box ? strdup(s->cfg.box.dir) : NULL;
		rc = s->listen && (s->dir || !s->box) ? 0 : -ENOMEM;
	}
	s->pipe = calloc(1, sizeof(*s->pipe));
	if (!rc)
		rc = s->pipe ? pipeline_init(s->pipe) : -ENOMEM;
	if (!rc)
		rc = dump_rules(s->pipe, err);
	if (!rc)
		rc = push_open(s, err);
	return rc ? rc : server_open(s, err);
}

static int service_session(struct service *s, struct session_result *ret, struct err *err)
{
	_cleanup_free_ const struct probe **cheap = calloc(probes_n, sizeof(*cheap));
	struct session_config cfg = {
		.command = "serve",
		.scope_text = s->cfg.scope_text,
		.probes = cheap,
		.lenient = true,
		.needs_privilege = false,
		.opt = s->cfg.capture,
		.for_ns = s->cfg.for_ns,
		.interval_ns = s->cfg.interval_ns,
		.drain_ns = DRAIN_NS,
		.on_tick = service_tick,
		.on_events = service_turn,
		.brief_names = true,
		.names_rest = s->push ? 0 : NAMES_REST, /* a profile without names is another one */
		.on_signal = service_signal,
		.helpers = {s->writer.pid, s->profiler.pid},
		.arg = s,
	};

	if (!cheap)
		return -ENOMEM;
	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->cheap)
			cheap[cfg.n_probes++] = probes[i];
	cfg.opt.stack_every = STACK_EVERY;
	cfg.opt.sample_ns = SAMPLE_NS;
	cfg.opt.gentle = cfg.opt.plain_stacks = cfg.opt.user_stacks = true;
	cfg.opt.by = "major-mapping"; /* look mappings up for the few faults that wait */
	cfg.opt.named = "serve";
	return session_run(&cfg, &s->sink, ret, err);
}

static void service_close(struct service *s)
{
	notify_send(s->notify_fd, "STOPPING=1");
	http_stop(s->http);
	profiler_end(&s->profiler);
	writer_end(&s->writer);
	push_stop(s->push);
	push_profiles_free(s->pushed);
	if (s->notify_fd >= 0)
		close(s->notify_fd);
	if (s->pipe)
		pipeline_destroy(s->pipe);
	free(s->pipe);
	metrics_free(s->metrics);
	blackbox_free(s->box);
	free(s->listen);
	free(s->dir);
	vec_free(&s->told);
	str_free(&s->page);
	str_free(&s->page_html);
	pthread_mutex_destroy(&s->lock);
}

int serve_run(const struct serve_config *cfg, const struct serve_reload *reload,
	struct session_result *ret, struct err *err)
{
	struct service s = {
		.sink = {service_put},
		.cfg = *cfg,
		.begun = cfg,
		.reload = reload,
		.notify_fd = notify_open(),
		.watchdog_ns = notify_watchdog_ns(),
		.writer = {.socket = -1},
		.profiler = {.socket = -1},
	};
	int rc = cfg->box.dir ? writer_begin(&s.writer) : 0;

	if (!rc && cfg->profiles)
		rc = profiler_begin(&s.profiler);
	pthread_mutex_init(&s.lock, NULL);
	rc = rc ? rc : service_prepare(&s, err);
	if (!rc)
		rc = service_session(&s, ret, err);
	if (!rc && s.box)
		incidents_end(&s);
	service_close(&s);
	return rc;
}
