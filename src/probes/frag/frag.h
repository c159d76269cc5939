/* Fragmentation: what the BPF programs, the probe and its view agree on, and the records. */
#ifndef MEMWHY_PROBES_FRAG_H
#define MEMWHY_PROBES_FRAG_H

#include "bpf/shared.h"

#define FRAG_ORDERS 20 /* PAGE_ORDERS_MAX */
#define FRAG_ZONES 8   /* ZONE_PROTECTION_MAX */
#define FRAG_ZONE_NAME 16
#define FRAG_TYPE_UNKNOWN 255

enum frag_event_flags {
	FRAG_DETAIL = 1,  /* the page and FRAG_CLAIMED are known */
	FRAG_CLAIMED = 2, /* the pageblock now belongs to the migratetype that was asked for */
};

/* Key of the table of aggregates. */
struct frag_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u8 order;
	u8 fallback_order; /* of the free block that was taken */
	u8 migratetype;
	u8 fallback_migratetype; /* of the list the block was taken from */
	u8 flags;                /* enum frag_event_flags */
	u8 reserved[3];
};

/* In the ring, one an event (--each); the same on disk but for the stacks, which become one. */
struct frag_event {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 pfn;            /* only with FRAG_DETAIL */
	u64 cgroup;
	u8 order;
	u8 fallback_order;
	u8 migratetype;
	u8 fallback_migratetype;
	u8 flags;
	u8 reserved[3];
	char comm[COMM_LEN];
};

/* On disk: what was counted for one key since the last record of it. */
struct frag_agg {
	struct rec h;
	u32 tgid;
	u32 stack; /* REC_STACK */
	u8 order;
	u8 fallback_order;
	u8 migratetype;
	u8 fallback_migratetype;
	u8 flags;
	u8 reserved[3];
	u64 count;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 tid; /* 0: not counted by thread */
	u32 reserved2;
};

enum frag_zone_flags {
	FRAG_MARKS = 1,      /* all that zoneinfo says is known */
	FRAG_COMPACTION = 2, /* the kernel can compact; threshold is known */
};

/* One zone at one time. Sizes are in pages. */
struct frag_zone {
	struct rec h;
	u32 node;
	u32 flags; /* enum frag_zone_flags */
	char zone[FRAG_ZONE_NAME];
	u32 orders;       /* in use of free_blocks */
	u32 index;        /* of the zone in its node, unpopulated ones counted: 0 is the lowest */
	u32 kernel_index; /* of the highest zone that holds kernel memory (Normal) */
	u32 threshold;    /* vm.extfrag_threshold, in 1/1000 */
	u64 free_pages;   /* NR_FREE_PAGES */
	u64 cma_pages;    /* of these, in CMA pageblocks */
	u64 min_pages;    /* watermarks, with the boost that is in force */
	u64 low_pages;
	u64 high_pages;
	u64 boost_pages;
	u64 present_pages;
	u64 managed_pages;
	u64 start_pfn;
	u64 spanned_pages;
	u64 reserve_pages[FRAG_ZONES]; /* lowmem_reserve, by index of the highest zone allowed */
	u64 free_blocks[FRAG_ORDERS];
};

enum frag_pagetype_flags { FRAG_MIXED = 1 /* mixed_pageblocks is known */ };

/* What one migratetype has in one zone. */
struct frag_pagetype {
	struct rec h;
	u32 node;
	u32 migratetype; /* REC_ENUM "migratetype" */
	char zone[FRAG_ZONE_NAME];
	u32 orders;  /* in use of free_blocks */
	u32 clamped; /* bit o: free_blocks[o] is a lower bound */
	u32 flags;   /* enum frag_pagetype_flags */
	u32 reserved;
	u64 pageblocks;
	u64 mixed_pageblocks; /* of these, with pages of another type */
	u64 free_blocks[FRAG_ORDERS];
};

#endif
