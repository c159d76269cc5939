/*
 * What the processor says of one access to memory: perf_mem_data_src, of PERF_SAMPLE_DATA_SRC. Pure
 * decoding, in the terms of the field.
 */
#ifndef MEMWHY_PERFDATA_DATA_SRC_H
#define MEMWHY_PERFDATA_DATA_SRC_H

#include <stdbool.h>

#include "base/types.h"

enum data_op { /* a set: a locked instruction may be both */
	DATA_LOAD = 1 << 0,
	DATA_STORE = 1 << 1,
	DATA_PREFETCH = 1 << 2,
	DATA_EXEC = 1 << 3,
};

/* What served the access. */
enum data_level {
	DATA_LEVEL_UNKNOWN,
	DATA_L0,
	DATA_L1,
	DATA_LFB, /* a line fill buffer: a miss of L1 that was under way already */
	DATA_L2,
	DATA_L2_MHB, /* the same of L2: a miss handling buffer */
	DATA_L3,
	DATA_L4,
	DATA_MSC,   /* memory-side cache */
	DATA_CACHE, /* some cache: of another core, mostly */
	DATA_RAM,
	DATA_PMEM,
	DATA_CXL,
	DATA_IO,
	DATA_UNCACHED,
	DATA_LEVELS,
};

enum data_place {
	DATA_PLACE_UNKNOWN,
	DATA_LOCAL,  /* of the node of the CPU */
	DATA_REMOTE, /* of another node */
};

enum data_snoop {
	DATA_SNOOP_UNKNOWN,
	DATA_SNOOP_NONE,
	DATA_SNOOP_HIT,
	DATA_SNOOP_MISS,
	DATA_SNOOP_HITM, /* the line was modified in another cache */
};

enum data_tlb { /* a set */
	DATA_TLB_HIT = 1 << 0,
	DATA_TLB_MISS = 1 << 1,
	DATA_TLB_L1 = 1 << 2,
	DATA_TLB_L2 = 1 << 3,
	DATA_TLB_WALKER = 1 << 4,
	DATA_TLB_FAULT = 1 << 5,
};

struct data_src {
	u8 op; /* of enum data_op; 0: not known, or no access */
	enum data_level level;
	enum data_place place;
	u8 hops;   /* 0: not known; 1: another core of this node; 2: another node of this
		    * socket; 3: another socket; 4: another board */
	bool miss; /* missed the level; where it went is not known */
	enum data_snoop snoop;
	bool forwarded, peer; /* from another cache: a clean line; a line of a peer */
	bool locked, lock_known;
	u8 tlb;                             /* of enum data_tlb; 0: not known */
	bool blocked_data, blocked_address; /* store forwarding failed; addresses conflicted */
	u8 region; /* PERF_MEM_REGION_*, of newest processors; 0: not known */
};

/* Why a sample is none of an access to memory whose place can be told. */
enum data_use {
	DATA_USABLE,
	DATA_NO_ACCESS,  /* not a load or store: IBS takes every 2^n-th operation, whatever it is */
	DATA_NO_ADDRESS, /* the processor did not have the address when it took the sample */
};

void data_src_decode(u64 value, struct data_src *ret);
/*
 * Whether a sample with this address can be used. Where the sampler takes accesses only (PEBS), or
 * the event has no data source (software events), any sample with an address can; has_source: the
 * sample has one.
 */
enum data_use data_src_use(const struct data_src *d, bool has_source, u64 addr);

#endif
