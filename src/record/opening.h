/*
 * The probes of a session are opened, which loads and attaches their programs and takes first
 * samples; and the interval begins.
 */
#ifndef MEMWHY_RECORD_OPENING_H
#define MEMWHY_RECORD_OPENING_H

#include "record/cost.h"
#include "record/session.h"

#define SESSION_PROBES 48

struct opening {
	const struct session_config *cfg;
	struct capture *c;
	struct cost *cost;
	struct probe_run **runs; /* room for SESSION_PROBES; the caller's, also after an error */
	size_t *n_runs;
	/* One was opened; n are now. */
	int (*opened)(void *arg, size_t n, struct err *err);
	void *arg;
};

int opening_run(const struct opening *o, struct err *err);

#endif
