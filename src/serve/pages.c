/* What the server answers: metrics, the state of the service, and its last report. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "render/render.h"
#include "serve/service.h"

#define ALIVE_NS (30 * NSEC_PER_SEC) /* a session that was not seen for longer hangs */
#define PAGE_WIDTH 100
#define INCIDENTS "/incidents"

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
	str_add(&ret->body, alive_ns ? "the session has not been seen for 30 s\n"
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
		str_add(&ret->body, "The first interval is not over yet.\n");
}

static void not_found(struct http_answer *ret)
{
	ret->status = 404;
	str_add(&ret->body,
		"Not Found: there are /, /metrics, /incidents, /incidents/N and /healthz\n");
}

static void incident_line(const struct incident *i, struct str *out)
{
	time_t at = (time_t)i->time;
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	str_addf(out, "/incidents/%llu  %s  %s  %llu bytes\n", i->number, when, i->kind, i->bytes);
}

/* The report that was made as the incident was recorded: as a page for a browser, else as text. */
static void incident_report(struct service *s, const struct http_request *q,
	const struct incident *i, struct http_answer *ret)
{
	char path[PATH_MAX];

	incident_path(path, s->dir, i, INCIDENT_PAGE);
	if (q->html && !file_read(path, &ret->body)) {
		ret->type = "text/html; charset=utf-8";
		return;
	}
	str_clear(&ret->body);
	incident_path(path, s->dir, i, INCIDENT_TEXT);
	if (file_read(path, &ret->body))
		str_addf(&ret->body, "No report was written with it: memwhy incidents show %llu\n",
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
		for (size_t n = l.v.n; n; n--)
			incident_line(&l.v.v[n - 1], &ret->body);
		if (!l.v.n)
			str_add(&ret->body, "There are no incidents.\n");
	}
	incident_list_free(&l);
}

void service_answer(void *arg, const struct http_request *q, struct http_answer *ret)
{
	struct service *s = arg;

	if (!strcmp(q->path, "/metrics")) {
		metrics_answer(s, q, ret);
	} else if (!strcmp(q->path, "/healthz")) {
		health_answer(s, ret);
	} else if (!strcmp(q->path, "/")) {
		page_answer(s, q, ret);
	} else if (!strncmp(q->path, INCIDENTS, strlen(INCIDENTS))) {
		incidents_answer(s, q, q->path + strlen(INCIDENTS), ret);
	} else {
		not_found(ret);
	}
}
