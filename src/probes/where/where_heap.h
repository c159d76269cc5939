/* Private to the where probe: the allocator of a process, as far as it can be read from outside. */
#ifndef MEMWHY_PROBES_WHERE_HEAP_H
#define MEMWHY_PROBES_WHERE_HEAP_H

#include "probes/where/where_glibc.h"
#include "sys/maps.h"

struct where_heap {
	struct glibc_arenas arenas;
	bool refused;      /* its memory may not be read */
	bool found;        /* the arenas are glibc's */
	const char *other; /* the allocator is another one: its name; NULL: not known to be */
	u64 read_ns;       /* how long reading took */
};

void where_heap_free(struct where_heap *h);
/* Replaces what ret held. 0 or -ENOMEM. */
int where_heap_read(u32 pid, const struct maps *maps, struct where_heap *ret);

#endif
