/* Page allocations and frees: what the BPF programs, the probe and its view agree on; records. */
#ifndef MEMWHY_PROBES_PAGES_H
#define MEMWHY_PROBES_PAGES_H

#include "bpf/shared.h"

#define PAGES_ORDER_UNKNOWN 255
#define PAGES_HELD_SLOTS 40 /* of a log2 histogram of ages: slot i is 2^(i-1) to 2^i ns */
#define PAGES_WAITS "waits for zone->lock" /* REC_METHOD */
#define PAGES_ORDERS 20                    /* the highest that is believed in a recording */

struct pages_config {
	u8 gfp;           /* count by allocation flags too */
	u8 any_task;      /* no key asks for the task */
	u8 held;          /* remember each page until it is freed */
	u8 bursts;        /* count only while `burst` says so, by process, without stacks */
	u8 kernel;        /* for leak: nothing else, and only of pages that cannot be moved */
	u32 drained_mask; /* entries of `drained` less one; 0: not asked for */
};

enum pages_what {
	PAGES_ALLOC,  /* mm_page_alloc */
	PAGES_FAILED, /* the same, and there was no page */
	PAGES_FREE,   /* mm_page_free; with order PAGES_ORDER_UNKNOWN: mm_page_free_batched */
};

struct pages_task {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* see stack_take */
};

/* Key of the tables `sums`, `names` and `lifetimes`. */
struct pages_key {
	union {
		struct pages_task task;
		char comm[COMM_LEN]; /* in `names`, which takes what `sums` has no room for */
	};
	u32 gfp; /* 0 unless config.gfp */
	u8 order;
	u8 migratetype;
	u8 what; /* enum pages_what */
	u8 more; /* 1: counted by a program that stepped in, see `turn` */
};

/* sum_value.sum[] of an allocation. */
enum pages_sum {
	PAGES_DIRECT,       /* taken from the buddy lists */
	PAGES_REFILLED,     /* found the per-CPU list empty, and filled it */
	PAGES_REFILL_PAGES, /* by so many pages */
	PAGES_UNTRACKED,    /* could not be followed: the table of held pages was full */
};

/* What is counted on a CPU; no two programs add to the same member. */
struct pages_cpu_sums {
	u64 count;  /* events of the zone's lock: all but allocations and frees */
	u64 direct; /* blocks taken from the buddy lists for an allocation */
	u64 refill_runs, refill_pages;
	u64 drain_runs, drain_pages;
	u64 waits, wait_ns;               /* for zone->lock */
	u64 more_allocations, more_frees; /* by second programs */
	u64 allocations, frees;
};

/* Key of the table `pairs`: sum[0] is pages. */
struct pages_pair {
	u32 from; /* the CPU that drained */
	u32 to;   /* the CPU that refilled; from == to is the good case */
};

/* The tracepoints that interrupts fire while a program runs. */
enum pages_tracepoint { PAGES_TP_ALLOC, PAGES_TP_FREE, PAGES_TP_BATCHED, PAGES_TRACEPOINTS };

#define PAGES_TURNS 3

/* The events that the first program of a tracepoint has counted, and the second not yet seen. */
struct pages_turns {
	u64 n;
	u64 page[PAGES_TURNS];
};

/* An element of the array `cpus`: what is counted on a CPU, and what it did last. */
struct pages_cpu {
	struct pages_cpu_sums n; /* in its second cache line is what every event needs */
	u64 direct_page;         /* the last page taken from the buddy lists for an allocation */
	u64 refill_page;         /* the first page of the last refill, */
	u32 run;                 /* enum pages_run: the last event */
	u32 free_tid;            /* whose the last freed page was, and from where */
	u32 free_ustack, free_kstack;
	u64 refill_pages; /* how many pages the last refill had */
	u32 tid;          /* whose that and direct_page are */
	u32 run_tid;
	u64 lock, lock_ns; /* the zone's lock that is waited for, since when */
	struct pages_turns turns[PAGES_TRACEPOINTS];
};

_Static_assert(sizeof(struct pages_cpu) % 64 == 0, "pages_cpu fills cache lines");

enum pages_run { PAGES_RUN_NONE, PAGES_RUN_REFILL, PAGES_RUN_DRAIN };

/* What is known of a page that is held; the key is its number. */
struct pages_held_value {
	u64 time_ns;
	struct pages_key key;
};

/* An element of the array `held_counts`, per CPU: what became of pages while they were followed. */
struct pages_held_counts {
	u64 untracked;      /* allocations for which the table of held pages had no room */
	u64 unknown;        /* frees of pages that were allocated before, or untracked */
	u64 parts;          /* allocations freed in parts: counted as freed with the first */
	u64 lifetimes_full; /* frees of held pages whose lifetime had no room */
};

/* In the ring (--each) and on disk: an allocation that failed. */
#define PAGES_FAILURE_FIELDS(F, R)                             \
	F(R, u32, tgid, ID, "process")                         \
	F(R, u32, tid, ID, "thread")                           \
	F(R, u32, ustack, STACK, "where it happened")          \
	F(R, u32, kstack, HIDDEN, "")                          \
	F(R, u64, cgroup, CGROUP, "control group of the task") \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")     \
	F(R, u8, order, ID, "2^order pages were asked for")    \
	F(R, u8, migratetype, ID, "enum migratetype")          \
	F(R, u8[2], reserved, HIDDEN, "")                      \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(pages_failure, PAGES_FAILURE_FIELDS);

enum pages_who_flags {
	PAGES_WHO_NAMED = 1, /* one of several processes of this name: only the name is known */
};

/* What the records of sums begin with. */
struct pages_who {
	u64 cgroup;
	u32 tgid;
	u32 tid; /* 0: not counted by thread */
	u32 stack;
	u32 gfp; /* 0: not counted by flags */
	u8 order;
	u8 migratetype;
	u8 flags; /* enum pages_who_flags */
	u8 reserved[5];
	char comm[COMM_LEN];
};

/* Allocations of one kind since the last such record. */
struct pages_alloc {
	struct rec h;
	struct pages_who who;
	u64 count;    /* with a page */
	u64 failures; /* without */
	u64 direct, refilled, refill_pages;
	u64 untracked; /* of the count, not followed for want of room */
};

/* Frees of one kind since the last such record. */
struct pages_free {
	struct rec h;
	struct pages_who who; /* order PAGES_ORDER_UNKNOWN: `batched` alone */
	u64 count;
	u64 batched;
};

/* What one CPU did with its lists since the last such record. */
#define PAGES_PCP_FIELDS(F, R)                                                                 \
	F(R, u32, cpu, ID, "CPU")                                                              \
	F(R, u32, reserved, HIDDEN, "")                                                        \
	F(R, u64, direct, COUNT, "blocks taken from the buddy lists past the list of the CPU") \
	F(R, u64, refill_runs, COUNT, "refills of its lists")                                  \
	F(R, u64, refill_pages, PAGES, "pages refilled")                                       \
	F(R, u64, drain_runs, COUNT, "drains of its lists")                                    \
	F(R, u64, drain_pages, PAGES, "pages drained")                                         \
	F(R, u64, allocations, COUNT, "allocations on this CPU")                               \
	F(R, u64, frees, COUNT, "frees on this CPU")                                           \
	F(R, u64, waits, COUNT, "waits for zone->lock; 0 also where it was not looked at")     \
	F(R, u64, wait_ns, NS, "how long these took")
RECORD(pages_pcp, PAGES_PCP_FIELDS);

/* Pages refilled on `to` that were last drained on `from`, since the last such record. */
#define PAGES_IMBALANCE_FIELDS(F, R)                 \
	F(R, u32, from, ID, "CPU that drained last") \
	F(R, u32, to, ID, "CPU that refilled")       \
	F(R, u64, pages, PAGES, "such pages")
RECORD(pages_imbalance, PAGES_IMBALANCE_FIELDS);

/* Pages of one kind that were allocated since the start and are held now. All records of one
 * look have one time, and replace those before. */
struct pages_held {
	struct rec h;
	struct pages_who who;
	u64 count; /* allocations */
	u64 oldest_ns;
	u32 hist[PAGES_HELD_SLOTS];
	u64 old; /* of these, older than pages_follow.old_ns */
};

/* How long freed pages had been held, since the last such record. */
struct pages_lifetime {
	struct rec h;
	struct pages_who who;
	u64 count;
	u64 total_ns;
	u64 max_ns; /* since the start */
	u32 hist[AGG_SLOTS + 8];
};

/* Since the start; see struct pages_held_counts. */
#define PAGES_FOLLOW_FIELDS(F, R)                                                               \
	F(R, u64, held, COUNT, "allocations followed now")                                      \
	F(R, u64, room, COUNT, "that can be, at most")                                          \
	F(R, u64, untracked, COUNT, "allocations that found no room, since the start")          \
	F(R, u64, unknown, COUNT, "frees of pages that were not followed, since the start")     \
	F(R, u64, parts, COUNT, "allocations freed in parts, since the start")                  \
	F(R, u64, lifetimes_full, COUNT, "frees whose lifetime found no room, since the start") \
	F(R, u64, old_ns, NS, "two thirds of the time so far")
RECORD(pages_follow, PAGES_FOLLOW_FIELDS);

enum pages_lists_flags {
	PAGES_HIGH_FRACTION = 1, /* vm.percpu_pagelist_high_fraction, since 5.14 */
	PAGES_OLD_FRACTION = 2,  /* vm.percpu_pagelist_fraction, until 5.13 */
	PAGES_LIMITS = 4,        /* high_pages and what follows are known */
};

/* The per-CPU lists of this machine at this time. */
#define PAGES_LISTS_FIELDS(F, R)                                                                  \
	F(R, u32, flags, HEX,                                                                     \
		"fraction is 1 vm.percpu_pagelist_high_fraction, 2 vm.percpu_pagelist_fraction; " \
		"4 what follows it is known") /* enum pages_lists_flags */                        \
	F(R, u32, lists, COUNT, "lists: CPUs times zones")                                        \
	F(R, u64, fraction, COUNT, "0: the kernel sizes the lists by itself")                     \
	F(R, u64, high_pages, PAGES, "their limits together")                                     \
	F(R, u64, count_pages, PAGES, "pages on them")                                            \
	F(R, u64, batch_pages, PAGES, "the largest batch")
RECORD(pages_lists, PAGES_LISTS_FIELDS);

/* Where these are, the other records count bursts, not all of the time. Since the last one: */
#define PAGES_SAMPLED_FIELDS(F, R)                    \
	F(R, u64, bursts, COUNT, "bursts")            \
	F(R, u64, on_ns, NS, "how long they counted") \
	F(R, u64, covered_ns, NS, "the time they stand for; in the rest there was little to count")
RECORD(pages_sampled, PAGES_SAMPLED_FIELDS);

static inline void pages_sampled_add(struct pages_sampled *sum, const struct pages_sampled *r)
{
	sum->bursts += r->bursts;
	sum->on_ns += r->on_ns;
	sum->covered_ns += r->covered_ns;
}

#endif
