/*
 * The events of a perf.data file: their attributes, names and ids, and which one a record is of.
 * Private to this room.
 */
#ifndef MEMWHY_PERFDATA_EVENTS_H
#define MEMWHY_PERFDATA_EVENTS_H

#include "base/arena.h"
#include "base/groups.h"
#include "base/vec.h"
#include "perfdata/cursor.h"
#include "perfdata/perfdata.h"

#define EVENTS_MAX 65536

struct perf_events {
	VEC(struct perfdata_event *) list; /* each in the arena */
	struct groups by_id;               /* u64 id to struct perfdata_event * */
	u64 any;                           /* sample types */
	bool told;                         /* more than one, and records say of which */
	u64 last_id;                       /* what was found last */
	const struct perfdata_event *last;
	struct arena arena;
};

void perf_events_init(struct perf_events *e);
void perf_events_free(struct perf_events *e);
/* Attributes, at most `size` of them there; the cursor then stands behind. -EBADMSG; -ENOTSUP: an
 * event has its id, or time, elsewhere than the others; -E2BIG; -ENOMEM. */
int perf_events_add(
	struct perf_events *e, struct cursor *c, size_t size, struct perfdata_event **ret);
int perf_events_add_id(struct perf_events *e, u64 id, struct perfdata_event *event);
/* Record EVENT_UPDATE: may be the name of an event. Feature EVENT_DESC: names of all. */
int perf_events_update(struct perf_events *e, struct cursor *c);
int perf_events_describe(struct perf_events *e, struct cursor *c);
/* What an error of the above, or of reading, means for the file. Returns what perfdata_open() does.
 */
int perf_events_error(int rc, const char *name, struct err *err);
/* The event of an id; of id 0 (perf's own records) and in files with one event, the first. */
const struct perfdata_event *perf_events_find(struct perf_events *e, u64 id);

#endif
