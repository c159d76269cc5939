/*
 * From records of accesses, mappings, blocks and tasks to objects with lifetimes, and the flows of
 * accesses over them: which objects a thread touched, in order, and which threads touched an
 * object. Pure: knows no source of records and no view; the same for a live session, a recording
 * and a perf.data file. tests/unit/probes/numa/feed/numa_flow_test.c is an analysis of its own made
 * with it.
 *
 *	numa_feed_new(&f);
 *	while (there is a record)
 *		numa_feed_take(f, rec);
 *	numa_feed_finish(f);
 *	for (u32 i = 0; i < numa_objects(f); i++) {
 *		struct numa_flow flow = numa_flow_object(f, i);
 *
 *		while ((a = numa_flow_next(&flow)))
 *			...
 *	}
 *
 * Every access ends in exactly one object, or is counted under one reason for which it has none
 * (enum numa_why). An object is one thing with one life: memory that is freed and allocated again
 * is another object, and so is the copy that a fork makes (objects/objects.h).
 */
#ifndef MEMWHY_PROBES_NUMA_FEED_H
#define MEMWHY_PROBES_NUMA_FEED_H

#include "objects/objects.h"
#include "probes/numa/numa.h"

#define NUMA_NONE OBJECT_NONE /* no object, no thread */

/* Why an access has no object. */
enum numa_why {
	NUMA_HAS_OBJECT,
	NUMA_WHY_NO_ADDRESS, /* the sample has none */
	NUMA_WHY_NO_MAPS,    /* no mapping of that process is known at all */
	NUMA_WHY_NOT_MAPPED, /* nothing was mapped there at that time */
	NUMA_WHY_LATE,       /* it came after its time was settled (NUMA_WINDOW_NS) */
	NUMA_WHYS,
};

struct numa_thread {
	u32 tgid, tid;
	u64 begin_ns, end_ns; /* 0: not known */
	u64 ran_at_ns;        /* of its last numa_ran */
};

/* An access as it is kept; there may be ten million. */
struct numa_access {
	u64 time_ns;
	u64 address;
	u32 object; /* NUMA_NONE: see why */
	u32 thread;
	u32 stack;     /* REC_STACK */
	u16 weight_c;  /* numa_access_weight() */
	u16 latency_c; /* numa_access_latency() */
	s16 cpu;
	s8 cpu_node, page_node;  /* -1: not known */
	u8 flags;                /* enum numa_sample_flags */
	u8 op : 4, level : 4;    /* enum numa_op, enum numa_level */
	u8 source : 4, from : 4; /* enum numa_source, enum numa_page_from */
	u8 why : 4, page : 4;    /* enum numa_why; page_shift: 0 not known, 1 12, 2 21, 3 30 */
};

/* Numbers in two bytes: exact below 2048, within 0.05 % above. */
static inline u64 numa_expand(u16 c)
{
	return (u64)(c & 2047) << (c >> 11);
}

/* Accesses it stands for: at least 1. */
static inline u64 numa_access_weight(const struct numa_access *a)
{
	return numa_expand(a->weight_c);
}

/* In cycles with NUMA_CYCLES, else in ns; 0: not known. */
static inline u64 numa_access_latency(const struct numa_access *a)
{
	return numa_expand(a->latency_c);
}

/* 1: remote, 0: local, -1: not known. By the two nodes where both are known, else as the hardware
 * says. */
static inline int numa_access_remote(const struct numa_access *a)
{
	if (a->cpu_node >= 0 && a->page_node >= 0)
		return a->cpu_node != a->page_node;
	return a->flags & NUMA_REMOTE ? 1 : a->flags & NUMA_LOCAL ? 0 : -1;
}

/* Pages were migrated; a thread was moved. */
struct numa_moved {
	u64 time_ns;
	u32 object, thread; /* NUMA_NONE: not known */
	u32 pages, failed;  /* saturated; of a thread: 0 */
	s8 from, to;
	u8 why; /* enum numa_move_why */
};

/* Pages of an object were seen on a node. */
struct numa_placed {
	u64 time_ns;
	u64 start, bytes;
	u64 pages;
	u32 tgid;
	u32 object;
	u32 page_bytes;
	s8 node;  /* -1: not present */
	bool sum; /* NUMA_PLACE_SUM */
};

/* CPU time of a thread at a time: of its samples, one in some milliseconds. */
struct numa_ran {
	u64 time_ns, ran_ns;
	u32 thread;
};

struct numa_machine {
	u64 nodes;  /* a bit each */
	u64 cpus;   /* nodes with CPUs */
	u64 memory; /* nodes with memory */
	u64 bytes[NUMA_NODES], free_bytes[NUMA_NODES];
	s32 tier[NUMA_NODES];
	u8 distances[NUMA_NODES][NUMA_NODES]; /* 0: not known */
};

struct numa_feed;

int numa_feed_new(struct numa_feed **ret);
/* 0 also for records of other kinds, and for damaged ones, which are counted; or -ENOMEM. */
int numa_feed_take(struct numa_feed *f, const struct rec *r);
/* All records before time_ns have been given: their objects may be settled, and memory freed. */
int numa_feed_settle(struct numa_feed *f, u64 time_ns);
/* Settles all, and makes what the functions below need. More may be given afterwards. */
int numa_feed_finish(struct numa_feed *f);
/* Forgets the accesses: the next interval begins. Objects live on, and keep their numbers. */
void numa_feed_forget(struct numa_feed *f);
void numa_feed_free(struct numa_feed *f);

/* What follows is for a feed that is finished; pointers live until the next call that changes it.
 */

u32 numa_objects(const struct numa_feed *f); /* numbers of objects are below */
/* false: there is none of this number, or none that was ever touched. */
bool numa_object(const struct numa_feed *f, u32 object, struct object *ret);
/* Includes objects that no access touched but that have other data (numa_places()). */
bool numa_object_any(const struct numa_feed *f, u32 object, struct object *ret);
u32 numa_threads(const struct numa_feed *f);
const struct numa_thread *numa_thread(const struct numa_feed *f, u32 thread);
/* NUMA_NONE: there is none. If the tid was reused, the last one. */
u32 numa_thread_find(const struct numa_feed *f, u32 tgid, u32 tid);

/* A walk over accesses in the order of time. */
struct numa_flow {
	const struct numa_access *accesses;
	const u32 *numbers; /* NULL: all of them */
	u64 at, end;
};

struct numa_flow numa_flow_all(const struct numa_feed *f);
/* Makes its index when it is first asked for; without memory for that there is nothing in it. */
struct numa_flow numa_flow_thread(struct numa_feed *f, u32 thread);
struct numa_flow numa_flow_object(const struct numa_feed *f, u32 object);
/* NULL: that was the last. */
const struct numa_access *numa_flow_next(struct numa_flow *flow);

u64 numa_unattributed(const struct numa_feed *f, enum numa_why why);
u64 numa_damaged(const struct numa_feed *f); /* records with impossible contents */
u64 numa_late(const struct numa_feed *f);    /* events, not accesses, that came too late */
const struct numa_machine *numa_machine(const struct numa_feed *f);
#define NUMA_CPUS 8192                                 /* numbers of CPUs are below */
s32 numa_cpu_node(const struct numa_feed *f, u32 cpu); /* -1: not known */
/* In the order of time. */
const struct numa_moved *numa_page_moves(const struct numa_feed *f, size_t *ret_n);
const struct numa_moved *numa_thread_moves(const struct numa_feed *f, size_t *ret_n);
const struct numa_ran *numa_thread_runs(const struct numa_feed *f, size_t *ret_n);
const struct numa_placed *numa_places(const struct numa_feed *f, size_t *ret_n);

#endif
