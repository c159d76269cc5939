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
/* Did the kernel merge these caches? False where it does not tell. */
bool slabsys_merged(const char *cache, const char *other);

#endif
