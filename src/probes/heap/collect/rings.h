/*
 * The memory of one program's rings (tracker/ring.h): which slot is given which chunks, and that
 * pages are there before the program writes to them. A page of a file in memory is charged to the
 * memory cgroup of who first touches it: to memwhy's, so that the program's limit is not used up by
 * being looked at. Where the kernel has no memory for us the program's first write takes the page.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_RINGS_H
#define MEMWHY_PROBES_HEAP_COLLECT_RINGS_H

#include <stdbool.h>

#include "tracker/ring.h"

struct rings {
	struct track_head *head;
	int file;  /* borrowed */
	u32 ready; /* slots whose first ring has its pages */
	u32 main;  /* the ring that slot 0 begins with, as in track_slot.grown; 0: gone */
	u32 free;  /* chunks */
	u32 threads;
	bool taken[TRACK_CHUNKS];
};

/* Gives the first slot a ring for a program that begins; large: as large as there are. */
void rings_begin(struct rings *r, struct track_head *head, int file, bool large);
/* Pages for the threads that may come next, of a program that has so many. */
void rings_prepare(struct rings *r, u32 threads);
/* A larger ring than this one; 0: there is none. */
u32 rings_take(struct rings *r, u32 slot, u32 grown);
/* Nobody writes to it any more: empties it, and gives its memory back. */
void rings_release(struct rings *r, u32 slot, u32 grown);

#endif
