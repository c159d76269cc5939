/*
 * From records of accesses, mappings, blocks and tasks to objects with lifetimes, and the flows of
 * accesses over them: which objects a thread touched, in order, and which threads touched an
 * object. Pure: knows no source of records and no view; the same for a live session, a recording
 * and a perf.data file. numa_flow_example.c shows it at work.
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
 *is another object, and so is the copy that a fork makes.
 */
#ifndef MEMWHY_PROBES_NUMA_FEED_H
#define MEMWHY_PROBES_NUMA_FEED_H

#include "probes/numa/numa.h"

#define NUMA_NONE 0xffffffffU /* no object, no thread */

enum numa_object_kind {
	NUMA_OBJECT_NONE,
	NUMA_OBJECT_BLOCK,    /* a heap block that was told of */
	NUMA_OBJECT_HEAP,     /* the brk area, outside of such blocks */
	NUMA_OBJECT_ANON,     /* an anonymous mapping */
	NUMA_OBJECT_STACK,    /* of a thread */
	NUMA_OBJECT_VARIABLE, /* of an ELF file */
	NUMA_OBJECT_DATA,     /* a writable mapping of an ELF file, where no variable is known */
	NUMA_OBJECT_CODE,     /* an executable mapping of a file */
	NUMA_OBJECT_FILE, /* another mapping of a file: page cache, unless private and written */
	NUMA_OBJECT_SHMEM,
	NUMA_OBJECT_HUGETLB,
	NUMA_OBJECT_VDSO,
	NUMA_OBJECT_KERNEL, /* a kernel variable, or all other memory of the kernel */
	NUMA_OBJECT_KINDS,
};

/* Why an access has no object. */
enum numa_why {
	NUMA_HAS_OBJECT,
	NUMA_WHY_NO_ADDRESS, /* the sample has none */
	NUMA_WHY_NO_MAPS,    /* no mapping of that process is known at all */
	NUMA_WHY_NOT_MAPPED, /* nothing was mapped there at that time */
	NUMA_WHY_LATE,       /* it came after its time was over (NUMA_WINDOW_NS) */
	NUMA_WHYS,
};

struct numa_object {
	u64 start, bytes; /* where it was last */
	u64 begin_ns;     /* 0: it was there before */
	u64 end_ns;       /* 0: it lives */
	u32 tgid;         /* 0: of the kernel */
	u32 thread;       /* that made it; of a stack: whose it is; NUMA_NONE: not known */
	u32 freer;        /* thread that freed it; NUMA_NONE: nobody, or not known */
	u32 stack;        /* REC_STACK where it was made; 0: not known */
	u32 name, file;   /* REC_STRING: of a variable, of the file; 0: none */
	u32 from;         /* object it is a fork's copy of; NUMA_NONE */
	s16 node;         /* where the thread that made it ran; -1: not known */
	s16 free_node;    /* where the thread that freed it ran */
	u8 kind;          /* enum numa_object_kind */
	u8 prot, shared;
	u8 section; /* enum numa_section, of a variable */
};

struct numa_thread {
	u32 tgid, tid;
	u64 begin_ns, end_ns; /* 0: not known */
};

/* An access as it is kept. */
struct numa_access {
	u64 time_ns;
	u64 address;
	u32 object; /* NUMA_NONE: see why */
	u32 thread;
	u32 stack;
	u32 weight; /* at least 1, saturated */
	u32 latency;
	s16 cpu;
	s8 cpu_node, page_node;
	u8 flags; /* enum numa_sample_flags */
	u8 op : 4, level : 4;
	u8 source : 4, from : 4; /* enum numa_page_from */
	u8 why : 4, page : 4;    /* page_shift: 0 not known, 1 12, 2 21, 3 30 */
};

struct numa_feed;

int numa_feed_new(struct numa_feed **ret);
/* 0 also for records of other kinds, and for damaged ones, which are counted; or -ENOMEM. */
int numa_feed_take(struct numa_feed *f, const struct rec *r);
/* All records before time_ns have been given: their objects may be settled, and memory freed. */
int numa_feed_settle(struct numa_feed *f, u64 time_ns);
/* Settles all, and makes what the functions below need. More may be given afterwards. */
int numa_feed_finish(struct numa_feed *f);
/* Forgets the accesses, and the objects that are no more: the next interval begins. */
int numa_feed_forget(struct numa_feed *f);
void numa_feed_free(struct numa_feed *f);

/* What follows is for a feed that is finished; pointers live until the next call that changes it.
 */

u32 numa_objects(const struct numa_feed *f); /* those with at least one access */
const struct numa_object *numa_object(const struct numa_feed *f, u32 object);
u32 numa_threads(const struct numa_feed *f);
const struct numa_thread *numa_thread(const struct numa_feed *f, u32 thread);
/* NUMA_NONE: there is none. A tid that was given again: the last one. */
u32 numa_thread_find(const struct numa_feed *f, u32 tgid, u32 tid);

/* A walk over accesses in the order of time. */
struct numa_flow {
	const struct numa_feed *feed;
	const u32 *at, *end; /* numbers of accesses */
};

struct numa_flow numa_flow_all(const struct numa_feed *f);
struct numa_flow numa_flow_thread(const struct numa_feed *f, u32 thread);
struct numa_flow numa_flow_object(const struct numa_feed *f, u32 object);
/* Those without an object. */
struct numa_flow numa_flow_unattributed(const struct numa_feed *f);
/* NULL: that was the last. */
const struct numa_access *numa_flow_next(struct numa_flow *flow);

u64 numa_unattributed(const struct numa_feed *f, enum numa_why why);
/* Records with impossible contents. */
u64 numa_damaged(const struct numa_feed *f);

/* Is it remote: 1, local: 0, or not known: -1. */
int numa_access_remote(const struct numa_access *a);

#endif
