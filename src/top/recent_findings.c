/* See held.h. */
#include "top/recent_findings.h"

#include "base/clock.h"
#include "rules/rules.h"
#include "top/interval.h"

#define LEAST_NS (NSEC_PER_SEC / 2) /* a rule says nothing of less */
#define WINDOW_NS (10 * NSEC_PER_SEC)
#define SHORT_NS (3 * NSEC_PER_SEC) /* of a window that is younger, the one before is told */

int held_init(struct held *h, const struct view_options *o, struct err *err)
{
	int rc = 0;

	h->rules = calloc(rules_n, sizeof(*h->rules));
	for (size_t i = 0; h->rules && i < rules_n && !rc; i++) {
		h->rules[i] = calloc(1, MAX(rules[i]->size, 1UL));
		rc = h->rules[i] ? rules[i]->init(h->rules[i], o, err) : -ENOMEM;
	}
	return h->rules ? rc : -ENOMEM;
}

int held_feed(struct held *h, const struct rec *r)
{
	int rc = 0;

	if (!h->begin_ns)
		h->begin_ns = r->time_ns;
	h->now_ns = MAX(h->now_ns, r->time_ns);
	for (size_t i = 0; i < rules_n && !rc; i++)
		rc = rules[i]->feed(h->rules[i], r);
	return rc;
}

/* The findings of the window so far become what stands. */
static int window_keep(struct held *h, const struct report *r)
{
	int rc = 0;

	arena_free(&h->arena);
	h->arena = (struct arena){};
	h->last.n = 0;
	vec_each (f, &r->findings)
		rc = rc ? rc : vec_push(&h->last, finding_copy(&h->arena, f));
	return rc;
}

static int window_report(struct held *h, struct report *r)
{
	struct stream window = *r->stream; /* what it is besides its interval is shared */
	const struct stream *interval = r->stream;
	int rc = 0;

	if (h->repeated)
		window.first_ns = MIN(h->begin_ns, window.last_ns);
	r->stream = &window;
	for (size_t i = 0; i < rules_n && !rc; i++)
		rc = rules[i]->report(h->rules[i], r);
	r->stream = interval;
	return rc;
}

int held_report(struct held *h, struct report *r)
{
	int rc = 0;

	if (h->repeated && h->last.n && h->now_ns - h->begin_ns < SHORT_NS) {
		vec_each (f, &h->last)
			rc = rc ? rc : vec_push(&r->findings, finding_copy(&r->arena, f));
		return rc;
	}
	if (h->now_ns - h->begin_ns < LEAST_NS)
		return 0;
	rc = window_report(h, r);
	return rc ? rc : window_keep(h, r);
}

void held_reset(struct held *h)
{
	h->repeated = true;
	if (h->now_ns - h->begin_ns < WINDOW_NS)
		return;
	for (size_t i = 0; i < rules_n; i++)
		if (rules[i]->reset)
			rules[i]->reset(h->rules[i]);
	h->begin_ns = h->now_ns;
}

bool held_remembers(const struct held *h)
{
	return h->now_ns != h->begin_ns;
}

void held_destroy(struct held *h)
{
	for (size_t i = 0; h->rules && i < rules_n; i++) {
		if (h->rules[i] && rules[i]->destroy)
			rules[i]->destroy(h->rules[i]);
		free(h->rules[i]);
	}
	free(h->rules);
	arena_free(&h->arena);
	vec_free(&h->last);
}
