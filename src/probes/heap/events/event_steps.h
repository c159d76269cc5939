/*
 * How the heap of a process went, in steps of equal length: what each stack, and all of them, had
 * at the end of a step, and at the most that all had in it. A step is made of two where there are
 * too many; where nothing changed there is no point. Knows neither times nor records.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_EVENT_STEPS_H
#define MEMWHY_PROBES_HEAP_EVENTS_EVENT_STEPS_H

#include "probes/heap/account/account.h"

struct event_point {
	u32 step;
	u64 live_blocks, live_bytes; /* at the end of the step */
	u64 peak_blocks, peak_bytes; /* when all stacks had most in it */
	u64 allocations, bytes;      /* ever, at its end */
};

typedef VEC(struct event_point) event_points;

struct event_steps {
	u32 step; /* at hand */
	event_points whole;
	VEC(event_points) sites; /* by index in the account */
};

/* The step at hand is over: what changed in it becomes points, and the next peak is that of the
 * next step (so the account's own is not of all of the time). *ret_points: how many came. */
int event_steps_close(struct event_steps *s, struct account *a, u64 *ret_points);
/* Two steps become one. *ret_points: how many are left. */
void event_steps_halve(struct event_steps *s, u64 *ret_points);
void event_steps_free(struct event_steps *s);

#endif
