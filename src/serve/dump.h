/*
 * Writes an incident to disk: the recording of what the ring held, and its report. Runs in a helper
 * process (writer.h) or, if that one has died, in the session's thread.
 */
#ifndef MEMWHY_SERVE_DUMP_H
#define MEMWHY_SERVE_DUMP_H

#include <limits.h>

#include "record/pipeline.h"
#include "serve/incidents.h"
#include "serve/triggers.h"

struct dump_order {
	char dir[PATH_MAX];
	struct incident_limits limits;
	struct fired fired;
};

struct dump_result {
	struct incident incident;
	int failed;           /* -errno; -ENOSPC also where min_free would not be left */
	bool skipped;         /* for min_free */
	char why[256];        /* of a failure, also of one of the report alone */
	u64 kept, kept_bytes; /* incidents on disk afterwards */
};

/* All rules of check look at what is put into the pipeline. */
int dump_rules(struct pipeline *p, struct err *err);
/* ring: as ring_save() wrote it. */
void dump_write(const struct dump_order *o, int ring, struct dump_result *ret);

#endif
