/* Records as a Perfetto trace: single events as slices on the tracks of threads, state as counters.
 */
#ifndef MEMWHY_EXPORT_PERFETTO_H
#define MEMWHY_EXPORT_PERFETTO_H

#include "event/sink.h"
#include "export/trace.h"

struct perfetto {
	struct sink sink; /* put records here */
	struct trace trace;
	u64 slices;
	/* Takes packets that are complete, and clears them. */
	int (*take)(void *arg, struct str *packets);
	void *arg;
};

/* names: all that the recording has. */
void perfetto_init(struct perfetto *p, const struct stream *names);
/* The rest. 0, -ENOMEM, or what take() said. */
int perfetto_end(struct perfetto *p);
void perfetto_free(struct perfetto *p);

#endif
