/* See blackbox.h. */
#include "serve/blackbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

#define AFTER_NS NSEC_PER_SEC /* what follows at once belongs to it */
/* Between two; what fires meanwhile is in the next one. Many groups may have the same trouble: but
 * for kills, one at a time is enough, within a part of what the ring reaches back to. */
#define GAP_NS (10 * NSEC_PER_SEC)
#define GAP_MOST_NS (60 * NSEC_PER_SEC)
#define GAP_PART 10

struct blackbox {
	struct blackbox_config cfg;
	char *dir;
	struct ring *ring;
	struct triggers *triggers;
	u64 last_ns; /* when one was written; 0: none was */
	u64 written, failed, skipped;
	u64 kept, kept_bytes; /* incidents on disk */
	const struct writer *writer;
	bool writing; /* it has the order, and has not answered */
	struct dump_order *order;
};

static void kept_look(struct blackbox *b)
{
	struct incident_list l;

	if (incidents_list(b->dir, &l))
		return;
	b->kept = l.v.n;
	b->kept_bytes = l.bytes;
	incident_list_free(&l);
}

int blackbox_new(const struct blackbox_config *cfg, const struct writer *writer,
	struct blackbox **ret, struct err *err)
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
	b->order = calloc(1, sizeof(*b->order));
	rc = b->dir && b->order ? 0 : -ENOMEM;
	if (!rc)
		rc = ring_new(cfg->keep_ns, cfg->ring_bytes, &b->ring);
	if (!rc)
		rc = triggers_new(&cfg->triggers, &b->triggers);
	if (rc) {
		blackbox_free(b);
		return rc;
	}
	b->writer = writer;
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
	free(b->order);
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

void blackbox_daemon_kill(
	struct blackbox *b, const struct stream *names, const struct daemon_kill *k)
{
	triggers_daemon_kill(b->triggers, names, k);
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
	u64 gap = MIN(MAX(b->cfg.keep_ns / GAP_PART, GAP_NS), GAP_MOST_NS);

	if (triggers_urgent(b->triggers))
		gap = GAP_NS;
	return !b->writing && since && now >= since + AFTER_NS &&
	       (!b->last_ns || now >= b->last_ns + gap);
}

/* The ring as a file in memory: its descriptor, or -errno. */
static int ring_file(struct blackbox *b, const struct stream *names, const struct fired *f)
{
	_cleanup_close_ int fd = memfd_create("incident", MFD_CLOEXEC);
	const char *why[TRIGGER_REASONS + 1] = {};
	int rc = fd < 0 ? -errno : 0;

	for (u32 n = 0; n < f->n; n++)
		why[n] = f->reasons[n];
	if (!rc)
		rc = ring_save(b->ring, names, why, fd);
	return rc ? rc : take_fd(fd);
}

static void written_set(struct blackbox *b, const struct dump_result *r, struct written *ret)
{
	*ret = (struct written){.dir = b->dir, .fired = b->order->fired, .result = *r};
	b->writing = false;
	b->written += !r->failed;
	b->skipped += r->skipped;
	b->failed += r->failed && !r->skipped;
}

static void kept_set(struct blackbox *b, const struct dump_result *r)
{
	b->kept = r->kept;
	b->kept_bytes = r->kept_bytes;
}

bool blackbox_write(struct blackbox *b, const struct stream *names, struct written *ret)
{
	struct dump_result r = {};
	_cleanup_close_ int fd = -1;

	triggers_take(b->triggers, &b->order->fired);
	b->last_ns = clock_mono_ns();
	b->order->limits = b->cfg.limits;
	snprintf(b->order->dir, sizeof(b->order->dir), "%s", b->dir);
	fd = ring_file(b, names, &b->order->fired);
	if (fd < 0) {
		r.failed = fd;
		snprintf(r.why, sizeof(r.why), "no memory for it: %s", strerror(-fd));
	} else if (!writer_ask(b->writer, b->order, fd)) {
		b->writing = true;
		return false;
	} else {
		dump_write(b->order, fd, &r);
		kept_set(b, &r);
	}
	written_set(b, &r, ret);
	return true;
}

bool blackbox_take(struct blackbox *b, int wait_ms, struct written *ret)
{
	struct dump_result r = {};
	int rc = b->writing ? writer_take(b->writer, wait_ms, &r) : 0;

	if (!rc)
		return false;
	if (rc < 0) {
		r = (struct dump_result){.failed = rc};
		snprintf(r.why, sizeof(r.why), "%s",
			"the process that wrote it was ended; what it had written is there");
		kept_look(b);
	} else {
		kept_set(b, &r);
	}
	written_set(b, &r, ret);
	return true;
}

void blackbox_counts(const struct blackbox *b, struct serve_counts *ret)
{
	struct ring_state ring = ring_state(b->ring);
	u64 now = clock_mono_ns();

	ret->keeps = true;
	ret->incidents = b->written;
	ret->incidents_failed = b->failed;
	ret->incidents_skipped = b->skipped;
	ret->incidents_kept = b->kept;
	ret->incident_bytes = b->kept_bytes;
	ret->ring_bytes = ring.bytes;
	ret->ring_records = ring.records;
	ret->ring_span_ns = ring.begin_ns ? now - MIN(now, ring.begin_ns) : 0;
}
