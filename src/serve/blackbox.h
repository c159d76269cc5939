/*
 * The black box: the ring of the last minutes, and when it becomes a recording on disk. Belongs to
 * the session's thread; a helper process writes.
 */
#ifndef MEMWHY_SERVE_BLACKBOX_H
#define MEMWHY_SERVE_BLACKBOX_H

#include "serve/metrics.h"
#include "serve/record_ring.h"
#include "serve/writer.h"

struct blackbox_config {
	const char *dir; /* NULL: nothing is kept */
	u64 keep_ns, ring_bytes;
	struct incident_limits limits;
	struct trigger_config triggers;
};

struct blackbox;

/* *ret is NULL where nothing is to be kept. The writer stays the caller's. */
int blackbox_new(const struct blackbox_config *cfg, const struct writer *writer,
	struct blackbox **ret, struct err *err);
void blackbox_free(struct blackbox *b);
void blackbox_config(struct blackbox *b, const struct blackbox_config *cfg);
void blackbox_put(struct blackbox *b, const struct stream *names, const struct rec *r);
void blackbox_daemon_kill(
	struct blackbox *b, const struct stream *names, const struct daemon_kill *k);
void blackbox_findings(struct blackbox *b, const struct report *r);
void blackbox_ask(struct blackbox *b);
/* Has something fired, long enough ago that what followed is in the ring too? */
bool blackbox_is_due(const struct blackbox *b);
bool blackbox_is_pending(const struct blackbox *b);

struct written {
	const char *dir; /* as long as the box */
	struct fired fired;
	struct dump_result result;
};

/* Has what is due written by the writer, or else at once: then true, and `ret` says what came of
 * it. */
bool blackbox_write(struct blackbox *b, const struct stream *names, struct written *ret);
/* Waits so long for what the writer is writing. True: it is done, or the writer has ended. */
bool blackbox_take(struct blackbox *b, int wait_ms, struct written *ret);
/* How the box stands, for the metrics. */
void blackbox_counts(const struct blackbox *b, struct serve_counts *ret);

#endif
