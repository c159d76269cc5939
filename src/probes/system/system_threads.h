/*
 * Private to the system probe: the CPU time of the kernel's threads that work for memory (kswapd
 * and kcompactd of each node, ksmd). They are found once, at the start.
 */
#ifndef MEMWHY_PROBES_SYSTEM_THREADS_H
#define MEMWHY_PROBES_SYSTEM_THREADS_H

#include "base/vec.h"
#include "capture/capture.h"

struct system_thread {
	int pid;
	u64 sent; /* plus one; 0: nothing yet */
};

/* To be zeroed before its first use. */
struct system_threads {
	VEC(struct system_thread) all;
	u64 tick_ns;
};

int system_threads_find(struct system_threads *t);
/* Sends what has changed, as values of SYSTEM_THREAD. */
int system_threads_send(struct capture *c, struct system_threads *t);
void system_threads_free(struct system_threads *t);

#endif
