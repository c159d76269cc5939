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
#define FRAG_EVENT_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, tid, ID, "thread")                                                            \
	F(R, u32, ustack, STACK, "where the page was asked for")                                \
	F(R, u32, kstack, HIDDEN, "")                                                           \
	F(R, u64, pfn, HEX, "frame number of the page; with flag 1")                            \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                  \
	F(R, u8, order, ID, "order of the allocation")                                          \
	F(R, u8, fallback_order, ID, "order of the free block that was cut")                    \
	F(R, u8, migratetype, ID, "migratetype asked for")                                      \
	F(R, u8, fallback_migratetype, ID, "migratetype of that free block")                    \
	F(R, u8, flags, HEX,                                                                    \
		"1 the page is known, and with it: 2 its pageblock now has the type asked for") \
	F(R, u8[3], reserved, HIDDEN, "")                                                       \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(frag_event, FRAG_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define FRAG_AGG_FIELDS(F, R)                                                                   \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, stack, STACK, "where the page was asked for")                                 \
	F(R, u8, order, ID, "order of the allocation")                                          \
	F(R, u8, fallback_order, ID, "order of the free block that was cut")                    \
	F(R, u8, migratetype, ID, "migratetype asked for")                                      \
	F(R, u8, fallback_migratetype, ID, "migratetype of that free block")                    \
	F(R, u8, flags, HEX,                                                                    \
		"1 the page is known, and with it: 2 its pageblock now has the type asked for") \
	F(R, u8[3], reserved, HIDDEN, "")                                                       \
	F(R, u64, count, COUNT, "such allocations")                                             \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                  \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                         \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                  \
	F(R, u32, reserved2, HIDDEN, "")
RECORD(frag_agg, FRAG_AGG_FIELDS);

enum frag_zone_flags {
	FRAG_MARKS = 1,      /* all that zoneinfo says is known */
	FRAG_COMPACTION = 2, /* the kernel can compact; threshold is known */
};

/* One zone at one time. Sizes are in pages. */
#define FRAG_ZONE_FIELDS(F, R)                                                                   \
	F(R, u32, node, ID, "NUMA node")                                                         \
	F(R, u32, flags, HEX, "1 sizes and watermarks are known, 2 the kernel can compact")      \
	F(R, char[FRAG_ZONE_NAME], zone, NONE, "zone")                                           \
	F(R, u32, orders, COUNT, "orders the zone has")                                          \
	F(R, u32, index, ID, "number of the zone in its node")                                   \
	F(R, u32, kernel_index, ID, "number of the highest zone that holds kernel memory")       \
	F(R, u32, threshold, PERMILLE, "vm.extfrag_threshold")                                   \
	F(R, u64, free_pages, PAGES, "free (NR_FREE_PAGES)")                                     \
	F(R, u64, cma_pages, PAGES, "of these, in CMA pageblocks")                               \
	F(R, u64, min_pages, PAGES, "min watermark")                                             \
	F(R, u64, low_pages, PAGES, "low watermark")                                             \
	F(R, u64, high_pages, PAGES, "high watermark")                                           \
	F(R, u64, boost_pages, PAGES, "part of each watermark that is a boost after fallbacks")  \
	F(R, u64, present_pages, PAGES, "present")                                               \
	F(R, u64, managed_pages, PAGES, "managed by the page allocator")                         \
	F(R, u64, start_pfn, HEX, "first page frame")                                            \
	F(R, u64, spanned_pages, PAGES, "from the first page frame to the last, holes included") \
	F(R, u64[FRAG_ZONES], reserve_pages, PAGES,                                              \
		"lowmem_reserve: kept from allocations whose highest zone has this number")      \
	F(R, u64[FRAG_ORDERS], free_blocks, COUNT, "free blocks of 2^order pages")
RECORD(frag_zone, FRAG_ZONE_FIELDS);

enum frag_pagetype_flags { FRAG_MIXED = 1 /* mixed_pageblocks is known */ };

/* What one migratetype has in one zone. */
#define FRAG_PAGETYPE_FIELDS(F, R)                                                          \
	F(R, u32, node, ID, "NUMA node")                                                    \
	F(R, u32, migratetype, ID, "migratetype")                                           \
	F(R, char[FRAG_ZONE_NAME], zone, NONE, "zone")                                      \
	F(R, u32, orders, COUNT, "orders the zone has")                                     \
	F(R, u32, clamped, HEX,                                                             \
		"bit o: free_blocks of order o is where the kernel stopped counting")       \
	F(R, u32, flags, HEX, "1 mixed_pageblocks is known") /* enum frag_pagetype_flags */ \
	F(R, u32, reserved, HIDDEN, "")                                                     \
	F(R, u64, pageblocks, COUNT, "pageblocks of this type")                             \
	F(R, u64, mixed_pageblocks, COUNT, "of these, with pages of another type in them")  \
	F(R, u64[FRAG_ORDERS], free_blocks, COUNT, "free blocks of 2^order pages")
RECORD(frag_pagetype, FRAG_PAGETYPE_FIELDS);

#endif
