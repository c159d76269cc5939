/* The mapping an address lies in, from /proc, for what the kernel side could not look up. */
#ifndef MEMWHY_CAPTURE_MAPPING_AT_H
#define MEMWHY_CAPTURE_MAPPING_AT_H

#include "bpf/shared.h"
#include "sys/process/maps.h"

/* To be zeroed before its first use. The maps of one process are kept, for a short while. */
struct mapping_cache {
	u32 tgid;
	u64 read_ns;
	struct maps maps;
};

/* NULL where there is none, or the process is gone. Valid until the next call. */
const struct mapping *mapping_find(struct mapping_cache *c, u32 tgid, u64 address);
/* The name of the file, cut to fit; untouched where none is mapped. */
void mapping_file(const struct mapping *m, char ret[AGG_NAME_LEN]);
void mapping_cache_free(struct mapping_cache *c);

#endif
