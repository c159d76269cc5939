/*
 * A part of a run out of its recorded events: as if memwhy had begun to look at one time and
 * stopped at another. The accounts are those of a live run (account.h), with the numbers of blocks
 * for addresses. What is read comes from a file.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_EVENT_REPLAY_H
#define MEMWHY_PROBES_HEAP_EVENTS_EVENT_REPLAY_H

#include "base/util.h"
#include "event/wire.h"
#include "probes/heap/events/event_steps.h"
#include "probes/heap/heap.h"

struct event_replay;

/* What a part of a run came to, as records of heap.h: 0 or -errno. */
typedef int (*event_replay_put)(void *arg, const struct rec *r);

/* From and to: since the session began. most_bytes: of memory for what is live, as a few bytes of a
 * file may stand for a million blocks. put gets records from event_replay_feed(), of how things
 * stood in between, and from event_replay_report(). */
int event_replay_open(u64 from_ns, u64 to_ns, u64 most_bytes, event_replay_put put, void *arg,
	struct event_replay **ret);
/* Records that it does not know are ignored. 0 or -errno. */
int event_replay_feed(struct event_replay *r, const struct rec *rec);
int event_replay_report(struct event_replay *r);
/* All of the run in steps of time instead: what comes to put has no peaks then. To be called first.
 */
void event_replay_in_steps(struct event_replay *r);

/* What a stack of a process came to; stack: NULL: all of them together. */
typedef int (*event_replay_points)(
	void *arg, const struct heap_total *of, const u32 *stack, const event_points *points);
/* When all was fed. *ret_step_ms is known before the first call. */
int event_replay_steps(
	struct event_replay *r, u64 *ret_step_ms, event_replay_points take, void *arg);
/* Were there any events? */
bool event_replay_has(const struct event_replay *r);
/* Processes whose sums end early: some of their events are damaged or missing; there was no more
 * memory for what is live. */
u32 event_replay_damaged(const struct event_replay *r);
u32 event_replay_full(const struct event_replay *r);
void event_replay_close(struct event_replay *r);

#endif
