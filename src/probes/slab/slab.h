/* Slab caches: the records. */
#ifndef MEMWHY_PROBES_SLAB_H
#define MEMWHY_PROBES_SLAB_H

#include "event/wire.h"

#define SLAB_CACHE_NAME_LEN 64

/*
 * One cache of kernel objects: sent at the start, every five seconds and at the end, for the
 * biggest caches and those that grew. Caches that the kernel merged have one name for all.
 */
struct slab_usage {
	struct rec h;
	/* Upper bound: the kernel counts every object of a slab that a cpu holds as in use. */
	u64 active_objects;
	u64 objects;      /* in use or free */
	u64 object_bytes; /* of one, padding included */
	u64 slabs;
	u64 bytes;       /* pages of all slabs */
	u64 first_bytes; /* at the start; 0 for a cache made since */
	u64 first_active_objects;
	char name[SLAB_CACHE_NAME_LEN];
};

#endif
