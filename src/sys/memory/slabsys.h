/* One cache of /sys/kernel/slab (SLUB with CONFIG_SYSFS): what /proc/slabinfo does not say of it.
 */
#ifndef MEMWHY_SYS_SLABSYS_H
#define MEMWHY_SYS_SLABSYS_H

#include "base/util.h"

struct slabsys {
	u64 object_size; /* without the allocator's padding */
	u64 cpu_slabs;   /* slabs that CPUs hold; 0 where the kernel does not tell */
	u64 aliases;     /* caches that were merged into this one */
	u64 reclaim_account;
};

/* The number a file of the directory begins with ("12 N0=12"). -EINVAL: there is none. */
int slabsys_parse(const char *text, u64 *ret);
/* -ENOENT: no such cache, or no such directory; -EACCES: not for us; -EINVAL: no cache's name. */
int slabsys_read(const char *cache, struct slabsys *ret);
/* Once that was read: the numbers that change, aliases and cpu_slabs, again. -errno: it is gone. */
int slabsys_read_held(const char *cache, struct slabsys *s);
/* The directory that a cache has in common with those the kernel merged it with, as each of them has
 * a link to it (sysfs_slab_alias(), mm/slub.c); false: it has none of these. */
#define SLABSYS_LINK_MAX 64
bool slabsys_link(const char *cache, char ret[SLABSYS_LINK_MAX]);

#endif
