/*
 * The allocator of another process, as far as it can be read from outside while the process runs:
 * glibc's arenas (glibc.h). Owns where glibc is looked for, and the reading of the memory.
 */
#ifndef MEMWHY_SYS_PROCESS_HEAP_H
#define MEMWHY_SYS_PROCESS_HEAP_H

#include "sys/glibc.h"
#include "sys/maps.h"

struct process_heap {
	struct glibc_arenas arenas;
	bool refused;      /* its memory may not be read */
	bool found;        /* the arenas are glibc's */
	const char *other; /* the allocator is another one: its name; NULL: not known to be */
	u64 read_ns;       /* how long reading took */
};

void process_heap_free(struct process_heap *h);
/* Replaces what ret held. most_bytes: of heap memory that is read; where there is more, arenas are
 * partial. Nothing that is not resident is read. 0 or -ENOMEM. */
int process_heap_read(u32 pid, const struct maps *maps, u64 most_bytes, struct process_heap *ret);

#endif
