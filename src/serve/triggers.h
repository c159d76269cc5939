/*
 * When the last minutes are worth keeping: OOM kills, long stalls, pressure, groups at their limit,
 * findings, somebody who asks. Sees records and reports; writes nothing.
 */
#ifndef MEMWHY_SERVE_TRIGGERS_H
#define MEMWHY_SERVE_TRIGGERS_H

#include "probes/oom/oom.h"
#include "report/report.h"

struct trigger_config {
	int on_level;    /* a finding at this level or above; LEVEL_CRITICAL + 1: none */
	u64 on_stall_ns; /* one stall that took so long; 0: none */
	u32 on_pressure; /* share of 10 s in which somebody waited for memory, in 1/100 %; 0: none
			  */
	bool on_limit;   /* a group was at its limit */
	u64 again_ns;    /* the same reason, of the same group, does not fire again within this time
			    (but for kills) */
};

#define TRIGGER_REASONS 16
#define TRIGGER_TEXT 200

/* What has fired since triggers_take(). */
struct fired {
	char kind[32]; /* of the first reason: "oom-kill" */
	char reasons[TRIGGER_REASONS][TRIGGER_TEXT];
	u32 n;    /* of these */
	u32 more; /* that found no room */
	u64 first_ns;
	bool urgent; /* of these one is a kill, or somebody asked */
};

struct triggers;

int triggers_new(const struct trigger_config *cfg, struct triggers **ret);
void triggers_free(struct triggers *t);
void triggers_config(struct triggers *t, const struct trigger_config *cfg);
void triggers_feed(struct triggers *t, const struct stream *names, const struct rec *r);
/* A kill by a daemon, of which this is the first signal (daemon_kills.h). */
void triggers_daemon_kill(
	struct triggers *t, const struct stream *names, const struct daemon_kill *k);
void triggers_findings(struct triggers *t, const struct report *r);
void triggers_ask(struct triggers *t);
bool triggers_urgent(const struct triggers *t);
/* When the first fired; 0: none has. */
u64 triggers_pending(const struct triggers *t);
void triggers_take(struct triggers *t, struct fired *ret);

#endif
