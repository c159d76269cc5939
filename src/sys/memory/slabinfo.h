/*
 * Slab caches and what they take, from /proc/slabinfo (format 2.1). Owns the format.
 */
#ifndef MEMWHY_SYS_SLABINFO_H
#define MEMWHY_SYS_SLABINFO_H

#include "base/vec.h"

#define SLAB_NAME_MAX 64
#define SLABS_MAX 65536

/*
 * With SLUB the kernel counts objects on per-cpu slabs as active, so active_objs is an upper
 * bound (get_slabinfo(), mm/slub.c, 5.10 to 6.18). Caches that were merged show under one name.
 */
struct slab_cache {
	char name[SLAB_NAME_MAX]; /* cut when longer */
	u64 active_objs;
	u64 num_objs;
	u64 object_bytes; /* with the allocator's own padding */
	u64 objs_per_slab;
	u64 pages_per_slab;
	u64 active_slabs;
	u64 num_slabs;
	u64 total_bytes; /* num_slabs * pages_per_slab * page_bytes; U64 maximum if that overflows
			  */
};

/* To be zeroed before its first use. */
struct slabinfo {
	VEC(struct slab_cache) caches; /* in the order of the file */
};

#define _cleanup_slabinfo_ _cleanup_(slabinfo_free)

void slabinfo_free(struct slabinfo *info);
/* Replaces what ret held. Lines of another form are skipped; -EINVAL when all are, -ENOMEM. */
int slabinfo_parse(const char *text, u64 page_bytes, struct slabinfo *ret);
/* -EACCES unless root (0400), -ENOENT where the kernel has no slabinfo. */
int slabinfo_read(struct slabinfo *ret);

#endif
