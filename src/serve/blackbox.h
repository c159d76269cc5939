/*
 * The black box: the ring of the last minutes, what makes it a recording on disk, and the report
 * that is made of each. It belongs to the session's thread.
 */
#ifndef MEMWHY_SERVE_BLACKBOX_H
#define MEMWHY_SERVE_BLACKBOX_H

#include "serve/incidents.h"
#include "serve/metrics.h"
#include "serve/record_ring.h"
#include "serve/triggers.h"

struct blackbox_config {
	const char *dir; /* NULL: nothing is kept */
	u64 keep_ns, ring_bytes;
	struct incident_limits limits;
	struct trigger_config triggers;
};

struct blackbox;

/* *ret is NULL where nothing is to be kept. */
int blackbox_new(const struct blackbox_config *cfg, struct blackbox **ret, struct err *err);
void blackbox_free(struct blackbox *b);
void blackbox_config(struct blackbox *b, const struct blackbox_config *cfg);
void blackbox_put(struct blackbox *b, const struct stream *names, const struct rec *r);
void blackbox_findings(struct blackbox *b, const struct report *r);
void blackbox_ask(struct blackbox *b);
/* Has something fired, long enough ago that what followed is in the ring too? */
bool blackbox_is_due(const struct blackbox *b);
bool blackbox_is_pending(const struct blackbox *b);

struct written {
	const char *dir; /* as long as the box */
	struct incident incident;
	struct fired fired;
	int failed;    /* -errno; -ENOSPC also where min_free would not be left */
	bool skipped;  /* for min_free */
	char why[256]; /* of a failure */
};

/* Writes what is due. */
void blackbox_write(struct blackbox *b, const struct stream *names, struct written *ret);
/* How the box stands, for the metrics. */
void blackbox_counts(const struct blackbox *b, struct serve_counts *ret);

#endif
