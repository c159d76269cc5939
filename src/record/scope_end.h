/* The end of the processes that were asked for (-p): when the last of them is over, so is the
 * session. */
#ifndef MEMWHY_RECORD_SCOPE_END_H
#define MEMWHY_RECORD_SCOPE_END_H

#include "base/util.h"

#define SCOPE_END_WATCHED 64 /* processes; the end of others is seen when it is asked for */

struct scope_end {
	const u32 *pids; /* borrowed */
	size_t n;
	int epoll; /* readable when one has ended; -1: nothing is watched */
	int pidfds[SCOPE_END_WATCHED];
	size_t n_pidfds;
};

/* Threads and what cannot be watched are asked for all the same. */
void scope_end_open(struct scope_end *e, const u32 *pids, size_t n);
/* Have all of them ended? Without any: no. */
bool scope_end_is(struct scope_end *e);
void scope_end_close(struct scope_end *e);

#endif
