/* See blackbox.h. */
#include "serve/blackbox.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "record/pipeline.h"
#include "render/render.h"
#include "rules/rules.h"

#define AFTER_NS NSEC_PER_SEC      /* what follows at once belongs to it */
#define GAP_NS (10 * NSEC_PER_SEC) /* between two; what fires meanwhile is in the next one */
#define REPORT_WIDTH 100
#define NAMES_BYTES (1U << 20) /* of a recording, beside what the ring takes */

struct blackbox {
	struct blackbox_config cfg;
	char *dir;
	struct ring *ring;
	struct triggers *triggers;
	u64 next_ns; /* not before */
	u64 written, failed, skipped;
	struct incident_list kept;
};

static void kept_look(struct blackbox *b)
{
	struct incident_list l;

	if (incidents_list(b->dir, &l))
		return;
	incident_list_free(&b->kept);
	b->kept = l;
}

int blackbox_new(const struct blackbox_config *cfg, struct blackbox **ret, struct err *err)
{
	struct blackbox *b;
	int rc;

	*ret = NULL;
	if (!cfg->dir)
		return 0;
	rc = incidents_prepare(cfg->dir, err);
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->dir = strdup(cfg->dir);
	rc = b->dir ? 0 : -ENOMEM;
	if (!rc)
		rc = ring_new(cfg->keep_ns, cfg->ring_bytes, &b->ring);
	if (!rc)
		rc = triggers_new(&cfg->triggers, &b->triggers);
	if (rc) {
		blackbox_free(b);
		return rc;
	}
	b->cfg = *cfg;
	kept_look(b);
	*ret = b;
	return 0;
}

void blackbox_free(struct blackbox *b)
{
	if (!b)
		return;
	ring_free(b->ring);
	triggers_free(b->triggers);
	incident_list_free(&b->kept);
	free(b->dir);
	free(b);
}

void blackbox_config(struct blackbox *b, const struct blackbox_config *cfg)
{
	b->cfg = *cfg; /* but the directory, which was opened */
	ring_limit(b->ring, cfg->keep_ns, cfg->ring_bytes);
	triggers_config(b->triggers, &cfg->triggers);
}

void blackbox_put(struct blackbox *b, const struct stream *names, const struct rec *r)
{
	ring_put(b->ring, r);
	triggers_feed(b->triggers, names, r);
}

void blackbox_findings(struct blackbox *b, const struct report *r)
{
	triggers_findings(b->triggers, r);
}

void blackbox_ask(struct blackbox *b)
{
	triggers_ask(b->triggers);
}

bool blackbox_is_pending(const struct blackbox *b)
{
	return triggers_pending(b->triggers);
}

bool blackbox_is_due(const struct blackbox *b)
{
	u64 since = triggers_pending(b->triggers), now = clock_mono_ns();

	return since && now >= since + AFTER_NS && now >= b->next_ns;
}

/* All rules look at the recording as it is written. */
static int pipe_open(struct pipeline *p, const char *path, struct err *err)
{
	const struct target to = log_target(path);
	int rc = pipeline_init(p);

	for (size_t i = 0; i < rules_n && !rc; i++)
		rc = pipeline_add(p, rules[i],
			&(struct view_options){.by = "major-mapping", .stacks = true}, err);
	return rc ? rc : pipeline_log(p, &to, err);
}

/* Whole or not at all: the recording tells the same. */
static void text_write(const struct str *text, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && (text->failed || write(fd, text->buf, text->len) != (ssize_t)text->len))
		unlink(path);
}

/* What it was written for. */
static void reasons_add(struct str *text, const struct fired *f)
{
	for (u32 i = 0; i < f->n; i++) {
		str_add_escaped(text, f->reasons[i]);
		str_addc(text, '\n');
	}
	if (f->more)
		str_addf(text, "... and %u more\n", f->more);
	str_addc(text, '\n');
}

/* What `memwhy check --input` says of it, for those who look without the program. */
static void reports_write(
	struct blackbox *b, struct pipeline *p, const struct incident *i, const struct fired *f)
{
	struct render_options o = {.width = REPORT_WIDTH};
	_cleanup_str_ struct str text = {}, page = {};
	char path[PATH_MAX];
	struct report r;

	reasons_add(&text, f);
	report_init(&r, "check", &p->stream);
	r.has_findings = true;
	if (!pipeline_report(p, &r)) {
		report_add_stream_notes(&r);
		report_conclude(&r, NULL);
		renderer_find("text")->report(&r, &o, &text);
		renderer_find("html")->report(&r, &o, &page);
		incident_path(path, b->dir, i, INCIDENT_TEXT);
		text_write(&text, path);
		incident_path(path, b->dir, i, INCIDENT_PAGE);
		text_write(&page, path);
	}
	report_destroy(&r);
}

static int incident_write(struct blackbox *b, const struct stream *names, const struct incident *i,
	const struct fired *f, struct err *err)
{
	_cleanup_free_ struct pipeline *p = calloc(1, sizeof(*p));
	const char *why[TRIGGER_REASONS + 1] = {};
	char path[PATH_MAX];
	int rc, closed;

	if (!p)
		return -ENOMEM;
	for (u32 n = 0; n < f->n; n++)
		why[n] = f->reasons[n];
	incident_path(path, b->dir, i, INCIDENT_RECORDING);
	rc = pipe_open(p, path, err);
	if (!rc)
		rc = ring_send(b->ring, names, why, &p->sink);
	closed = pipeline_close_log(p, err);
	rc = rc ? rc : closed;
	if (!rc)
		reports_write(b, p, i, f);
	pipeline_destroy(p);
	malloc_trim(0); /* it took more than the service does */
	return rc;
}

void blackbox_write(struct blackbox *b, const struct stream *names, struct written *ret)
{
	u64 expected = ring_state(b->ring).bytes + NAMES_BYTES;
	struct err err = {};
	int rc;

	*ret = (struct written){.dir = b->dir};
	triggers_take(b->triggers, &ret->fired);
	b->next_ns = clock_mono_ns() + GAP_NS;
	rc = incident_begin(b->dir, &b->cfg.limits, ret->fired.kind, expected, &ret->incident);
	ret->skipped = rc == -ENOSPC;
	if (!rc) {
		rc = incident_write(b, names, &ret->incident, &ret->fired, &err);
		if (rc)
			incident_remove(b->dir, &ret->incident);
		else
			incident_sync(b->dir, &ret->incident);
	}
	ret->failed = rc;
	if (rc && !err.code)
		err_errno(&err, rc, "%s", b->dir);
	snprintf(ret->why, sizeof(ret->why), "%.250s",
		ret->skipped ? "the disk would have less than --min-free left" : err.msg);
	b->written += !rc;
	b->skipped += ret->skipped;
	b->failed += rc && !ret->skipped;
	kept_look(b);
}

void blackbox_counts(const struct blackbox *b, struct serve_counts *ret)
{
	struct ring_state ring = ring_state(b->ring);
	u64 now = clock_mono_ns();

	ret->keeps = true;
	ret->incidents = b->written;
	ret->incidents_failed = b->failed;
	ret->incidents_skipped = b->skipped;
	ret->incidents_kept = b->kept.v.n;
	ret->incident_bytes = b->kept.bytes;
	ret->ring_bytes = ring.bytes;
	ret->ring_records = ring.records;
	ret->ring_span_ns = ring.begin_ns ? now - MIN(now, ring.begin_ns) : 0;
}
