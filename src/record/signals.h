/*
 * Signals that end a session: blocked while it runs, and read when it is ready for them. Owns what
 * a second one does while the report is being made; the session knows what the first one means.
 */
#ifndef MEMWHY_RECORD_SIGNALS_H
#define MEMWHY_RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/types.h"

struct signals {
	int fd; /* signalfd; -1: not open */
	sigset_t old_mask;
	u64 came_ns; /* the last signal to end that was obeyed; 0: none came */
	int again;   /* the one that came while that was being done; 0: none */
};

int signals_open(struct signals *s);
/* Nothing counts any more: what came until now, as programs were detached, is one signal. A first
 * one only decides how the session ended. hup_is_other: SIGHUP means something else. */
void signals_settle(struct signals *s, bool hup_is_other);
/* While the report is being made: one that comes 300 ms after another, or later, ends it at once.
 */
bool signals_end_at_once(struct signals *s, bool hup_is_other);
/* Where it was to end at once, it does so here. */
void signals_close(struct signals *s);

#endif
