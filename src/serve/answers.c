/* What the server answers: metrics, the state of the service, and its last report. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "render/render.h"
#include "serve/service.h"
#include "sys/root.h"

#define ALIVE_NS (30 * NSEC_PER_SEC) /* a session that was not seen for longer hangs */
#define PAGE_WIDTH 100
#define INCIDENTS "/incidents"
#define PROFILES "/debug/pprof"

void service_page(struct service *s, const struct report *r)
{
	const struct renderer *text = renderer_find("text"), *html = renderer_find("html");
	struct render_options o = {.width = PAGE_WIDTH};
	struct str page = {}, page_html = {}, old, old_html;

	text->report(r, &o, &page);
	html->report(r, &o, &page_html);
	pthread_mutex_lock(&s->lock);
	old = s->page;
	old_html = s->page_html;
	s->page = page;
	s->page_html = page_html;
	pthread_mutex_unlock(&s->lock);
	str_free(&old);
	str_free(&old_html);
}

/* What is resident now; 0: not known. */
static u64 rss_bytes(void)
{
	_cleanup_str_ struct str text = {};
	u64 pages = 0;

	if (!file_read("/proc/self/statm", &text))
		sscanf(str_get(&text), "%*u %llu", &pages);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

static void metrics_answer(struct service *s, const struct http_request *q, struct http_answer *ret)
{
	enum exposition_format format =
		q->openmetrics ? EXPOSITION_OPENMETRICS : EXPOSITION_CLASSIC;
	struct http_counts http = http_counts(s->http);
	struct serve_counts counts;

	pthread_mutex_lock(&s->lock);
	counts = s->counts;
	pthread_mutex_unlock(&s->lock);
	counts.rss_bytes = rss_bytes();
	counts.requests = http.answered;
	counts.refused = http.refused;
	counts.dropped = http.dropped;
	metrics_expose(s->metrics, format, &counts, &ret->body);
	ret->type = exposition_type(format);
}

static void health_answer(struct service *s, struct http_answer *ret)
{
	u64 alive_ns, now = clock_mono_ns();

	pthread_mutex_lock(&s->lock);
	alive_ns = s->alive_ns;
	pthread_mutex_unlock(&s->lock);
	if (alive_ns && now - MIN(now, alive_ns) < ALIVE_NS) {
		str_add(&ret->body, "ok\n");
		return;
	}
	ret->status = 503;
	str_add(&ret->body, alive_ns ? "the session has not responded for 30 s\n"
				     : "not all probes are attached yet\n");
}

/* As a page for a browser, else as text. */
static void page_answer(struct service *s, const struct http_request *q, struct http_answer *ret)
{
	const struct str *page = q->html ? &s->page_html : &s->page;

	pthread_mutex_lock(&s->lock);
	str_addn(&ret->body, str_get(page), page->len);
	pthread_mutex_unlock(&s->lock);
	if (q->html && ret->body.len)
		ret->type = "text/html; charset=utf-8";
	if (!ret->body.len)
		str_add(&ret->body, "No report yet: the first interval has not ended.\n");
}

static void not_found(struct http_answer *ret)
{
	ret->status = 404;
	str_add(&ret->body, "Not Found. Try /, /metrics, /incidents, /incidents/N, /healthz or "
			    "/debug/pprof\n");
}

static void incident_line(const struct incident *i, bool html, struct str *out)
{
	time_t at = (time_t)i->time;
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	if (html)
		str_addf(out, "<a href=\"/incidents/%llu\">", i->number);
	str_addf(out, "/incidents/%llu", i->number);
	str_addf(out, "%s  %s  ", html ? "</a>" : "", when);
	for (const char *p = i->kind; *p; p++) /* a name of a file, which anybody may have made */
		str_addc(out, isalnum((unsigned char)*p) || *p == '-' ? *p : '?');
	str_addf(out, "  %llu bytes\n", i->bytes);
}

/* In a browser each is a link. */
static void incidents_page(const struct incident_list *l, bool html, struct http_answer *ret)
{
	if (html) {
		ret->type = "text/html; charset=utf-8";
		str_add(&ret->body, "<!doctype html><title>memwhy: incidents</title><pre>"
				    "<a href=\"/\">What memwhy finds now</a>\n\n");
	}
	for (size_t n = l->v.n; n; n--)
		incident_line(&l->v.v[n - 1], html, &ret->body);
	if (!l->v.n)
		str_add(&ret->body, "There are no incidents.\n");
	if (html)
		str_add(&ret->body, "</pre>\n");
}

/* The report that was made as the incident was recorded: as a page for a browser, else as text. */
static void incident_report(struct service *s, const struct http_request *q,
	const struct incident *i, struct http_answer *ret)
{
	if (q->html && !incident_read(s->dir, i, INCIDENT_PAGE, &ret->body)) {
		ret->type = "text/html; charset=utf-8";
		return;
	}
	str_clear(&ret->body);
	if (incident_read(s->dir, i, INCIDENT_TEXT, &ret->body))
		str_addf(&ret->body,
			"This incident has no report. Try: memwhy incidents show %llu\n",
			i->number);
}

static void incident_answer(struct service *s, const struct http_request *q,
	const struct incident_list *l, const char *number, struct http_answer *ret)
{
	u64 n;

	if (parse_u64(number, 0, UINT64_MAX, &n)) {
		not_found(ret);
		return;
	}
	vec_each (i, &l->v) {
		if (i->number != n)
			continue;
		incident_report(s, q, i, ret);
		return;
	}
	not_found(ret);
}

static void incidents_answer(
	struct service *s, const struct http_request *q, const char *rest, struct http_answer *ret)
{
	struct incident_list l;

	if (!s->box || (*rest && *rest != '/') || incidents_list(s->dir, &l)) {
		not_found(ret);
		return;
	}
	if (*rest && rest[1]) {
		incident_answer(s, q, &l, rest + 1, ret);
	} else {
		incidents_page(&l, q->html, ret);
	}
	incident_list_free(&l);
}

static void profile_done(void *arg, int fd, struct http_answer *ret)
{
	(void)arg;
	if (profiler_take(fd, &ret->body))
		ret->type = HTTP_BYTES;
	else
		ret->status = 503;
}

static void answer_refuse(struct http_answer *ret, int status, const char *text)
{
	ret->status = status;
	str_addf(&ret->body, "%s\n", text);
}

static void profiles_list(struct http_answer *ret)
{
	for (size_t i = 0; i < PROFILE_KINDS; i++)
		str_addf(&ret->body, PROFILES "/%s?%sseconds=%d  %s\n", profile_kinds[i].name,
			profile_kinds[i].of_process ? "pid=N&" : "", PROFILE_SECONDS,
			profile_kinds[i].help);
	str_add(&ret->body, "Add pid=N to profile one process.\n");
}

static void profile_begin(
	struct service *s, const struct http_request *q, u32 kind, struct http_answer *ret)
{
	struct profile_ask ask = {.kind = kind, .seconds = PROFILE_SECONDS};

	ret->get_only = q->head;
	if (q->head)
		answer_refuse(ret, 405, "Use GET to ask for a profile.");
	else if (!profile_query_parse(q->query, &ask))
		answer_refuse(ret, 400, "Invalid query: pid is a process ID, seconds is 1 to 300.");
	else if (!ask.pid && profile_kinds[kind].of_process)
		answer_refuse(ret, 400, "This profile is of one process: add ?pid=N.");
	else if (ask.pid && sys_exists("/proc/%u", ask.pid))
		answer_refuse(ret, 404, "No such process.");
	else if (profiler_ask(&s->profiler, &ask, &ret->fd))
		answer_refuse(ret, 503, "The profile could not be started.");
	else {
		ret->later = profile_done;
		ret->seconds = ask.seconds + PROFILE_SECONDS_MORE;
	}
}

static void profiles_answer(
	struct service *s, const struct http_request *q, const char *rest, struct http_answer *ret)
{
	if (s->profiler.socket < 0) {
		answer_refuse(ret, 403,
			"Profiles are off. To turn them on, start memwhy serve with "
			"--allow-profiles, or add the line allow-profiles to its --config file.");
		return;
	}
	if (!*rest || !strcmp(rest, "/")) {
		profiles_list(ret);
		return;
	}
	for (u32 i = 0; i < PROFILE_KINDS; i++) {
		if (*rest != '/' || strcmp(rest + 1, profile_kinds[i].name) != 0)
			continue;
		profile_begin(s, q, i, ret);
		return;
	}
	not_found(ret);
}

/* `go tool pprof` posts addresses of code whose program has no symbols, and wants an answer. */
static void symbols_answer(struct http_answer *ret)
{
	str_add(&ret->body, "num_symbols: 0\n");
}

/*
 * May a web site be behind it, which has a browser ask? Any site can have its name stand for this
 * machine, so a name counts only with a password: on loopback, which nobody else reaches, and
 * wherever profiles are made. Those are for no page at all.
 */
static bool is_of_web_site(const struct service *s, const struct http_request *q, bool profiles)
{
	bool by_strange_name = q->by_name && !q->known;

	return profiles ? by_strange_name || q->from_page : by_strange_name && s->loopback;
}

void service_answer(void *arg, const struct http_request *q, struct http_answer *ret)
{
	bool profiles = !strncmp(q->path, PROFILES, strlen(PROFILES));
	struct service *s = arg;

	if (is_of_web_site(s, q, profiles)) {
		answer_refuse(ret, 403,
			"Web sites may not ask here. Use an address or localhost in the URL (any "
			"other name needs --auth); a request for a profile may not carry Origin or "
			"Referer.");
	} else if (q->post && s->profiler.socket >= 0 && !strcmp(q->path, PROFILES "/symbol")) {
		symbols_answer(ret);
	} else if (q->post) {
		ret->status = 405;
		str_addf(&ret->body, "%s\n", status_words(405));
	} else if (!strcmp(q->path, "/metrics")) {
		metrics_answer(s, q, ret);
	} else if (!strcmp(q->path, "/healthz")) {
		health_answer(s, ret);
	} else if (!strcmp(q->path, "/")) {
		page_answer(s, q, ret);
	} else if (!strncmp(q->path, INCIDENTS, strlen(INCIDENTS))) {
		incidents_answer(s, q, q->path + strlen(INCIDENTS), ret);
	} else if (profiles) {
		profiles_answer(s, q, q->path + strlen(PROFILES), ret);
	} else {
		not_found(ret);
	}
}
