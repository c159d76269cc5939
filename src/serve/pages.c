/* What the server answers: metrics, the state of the service, and its last report. */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "render/render.h"
#include "serve/service.h"

#define ALIVE_NS (30 * NSEC_PER_SEC) /* a session that was not seen for longer hangs */
#define PAGE_WIDTH 100

void service_page(struct service *s, const struct report *r)
{
	const struct renderer *text = renderer_find("text");
	struct render_options o = {.width = PAGE_WIDTH};
	struct str page = {}, old;

	text->report(r, &o, &page);
	pthread_mutex_lock(&s->lock);
	old = s->page;
	s->page = page;
	pthread_mutex_unlock(&s->lock);
	str_free(&old);
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

static void page_answer(struct service *s, struct http_answer *ret)
{
	pthread_mutex_lock(&s->lock);
	str_addn(&ret->body, str_get(&s->page), s->page.len);
	pthread_mutex_unlock(&s->lock);
	if (!ret->body.len)
		str_add(&ret->body, "The first interval is not over yet.\n");
}

void service_answer(void *arg, const struct http_request *q, struct http_answer *ret)
{
	struct service *s = arg;

	if (!strcmp(q->path, "/metrics")) {
		metrics_answer(s, q, ret);
	} else if (!strcmp(q->path, "/healthz")) {
		health_answer(s, ret);
	} else if (!strcmp(q->path, "/")) {
		page_answer(s, ret);
	} else {
		ret->status = 404;
		str_add(&ret->body, "Not Found: there are /, /metrics and /healthz\n");
	}
}
