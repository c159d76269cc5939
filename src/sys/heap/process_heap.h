/*
 * The allocator of another process, as far as it can be read from outside while the process runs:
 * glibc's arenas (glibc.h). Owns where glibc is looked for.
 */
#ifndef MEMWHY_SYS_PROCESS_HEAP_H
#define MEMWHY_SYS_PROCESS_HEAP_H

#include "sys/heap/glibc.h"
#include "sys/process/outside.h"

struct process_heap {
	struct glibc_arenas arenas;
	bool found; /* the arenas are glibc's */
	const char *
		other; /* the allocator is one that nobody reads: its name; NULL: not known to be */
};

void process_heap_free(struct process_heap *h);
/* Replaces what ret held. Where there is more than may be read, arenas are partial. 0 or -ENOMEM.
 */
int process_heap_read(struct outside *o, const struct maps *maps, struct process_heap *ret);

#endif
