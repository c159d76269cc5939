/*
 * What /metrics shows: sums of all records since the service began, and the latest of what has a
 * state. Fed by the session's thread, read by the server's. Never by process: the number of series
 * is bounded.
 */
#ifndef MEMWHY_SERVE_METRICS_H
#define MEMWHY_SERVE_METRICS_H

#include "report/report.h"
#include "serve/exposition.h"
#include "serve/push.h"

/* Counts of the service itself, from its parts. */
struct serve_counts {
	bool keeps;            /* records are kept for incidents */
	u64 incidents;         /* written */
	u64 incidents_failed;  /* could not be written */
	u64 incidents_skipped; /* not written, to keep --min-free */
	u64 incidents_kept;    /* in the directory now */
	u64 incident_bytes;    /* of these */
	u64 ring_bytes, ring_records;
	u64 ring_span_ns; /* from its oldest record to now */
	u64 requests, refused, dropped;
	u64 rss_bytes; /* now */
	bool pushes;   /* profiles */
	struct push_counts push;
};

struct metrics;

int metrics_new(u64 max_series, struct metrics **ret);
void metrics_free(struct metrics *m);
void metrics_limit(struct metrics *m, u64 max_series);
/* Everything that is not about groups was emitted once: the room for groups is known now. Before,
 * all groups are in "other". */
void metrics_settle(struct metrics *m);
void metrics_feed(struct metrics *m, const struct rec *r);
/* A kill by a daemon; what ends its processes one by one is one (daemon_kills.h). */
void metrics_daemon_kill(struct metrics *m);
/* The findings of the interval that has just ended, in place of those before. */
void metrics_findings(struct metrics *m, const struct report *r);
/* What is known of a group's container and pod: see tally_killed(). By the thread that feeds. */
const char *const *metrics_names(struct metrics *m, u64 cgroup);
/* All series. Counts are added to what metrics themselves know. */
void metrics_expose(struct metrics *m, enum exposition_format format,
	const struct serve_counts *counts, struct str *out);

#endif
