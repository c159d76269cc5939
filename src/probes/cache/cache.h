/* Who fills the page cache, and whose pages go for it, sampled for `check`. */
#ifndef MEMWHY_PROBES_CACHE_H
#define MEMWHY_PROBES_CACHE_H

#include "bpf/shared.h"

/* Of each file one page in so many is looked at: all that happens to it, always the same one. */
#define CACHE_STRIDE 64

enum cache_flags {
	CACHE_REFAULT = 1,   /* read back: it had been pushed out while we looked */
	CACHE_BY_KSWAPD = 2, /* … by the kernel's own thread, in the background */
};

struct cache_key {
	u32 tgid; /* who had it read */
	u32 tid;  /* 0 */
	u32 ustack, kstack;
	u32 evictor; /* of refaults: who pushed it out before; 0: not a process */
	u16 flags;   /* enum cache_flags */
	u16 reserved;
};

/* On disk: pages put into the page cache since the last such record. */
struct cache_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack;
	u32 evictor;
	u16 flags; /* enum cache_flags */
	u8 reserved[6];
	u64 count;    /* pages looked at: one in CACHE_STRIDE */
	u64 total_ns; /* of refaults: from pushed out to read back, sum */
	u64 cgroup;
	char comm[COMM_LEN];
};

/* The records above count for a part of the time. Since the last one: */
struct cache_sampled {
	struct rec h;
	u64 bursts;
	u64 on_ns;      /* counted */
	u64 covered_ns; /* in the place of this time */
};

#endif
