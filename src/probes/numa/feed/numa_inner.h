/* Private to numa_feed.c and its parts: what a feed is made of. */
#ifndef MEMWHY_PROBES_NUMA_FEED_INNER_H
#define MEMWHY_PROBES_NUMA_FEED_INNER_H

#include "base/big.h"
#include "base/groups.h"
#include "base/vec.h"
#include "probes/numa/feed/numa_feed.h"

/* A record that waits for its time to be settled. */
struct due {
	u64 time_ns;
	u64 at; /* in `waiting`, in words */
};

struct variable {
	u64 start, end;
	u64 time_ns;
	u32 tgid, tid;
	u32 name, file;
	u32 object; /* NUMA_NONE: not touched yet */
	u8 section;
};

struct parent {
	u32 tgid;
	u64 time_ns;  /* of the fork */
	u64 until_ns; /* it was another program from then on */
};

#define RECENT_THREADS 256

/* A thread that was asked for a short while ago. */
struct recent_thread {
	u32 tgid, tid, number;
	bool known;
};

struct numa_feed {
	struct objects *objects;
	/* The others are room to put them in another order. */
	VEC(u64) waiting, waiting_other; /* records, one after another */
	VEC(struct due) due, due_other;
	u64 newest_ns, settled_ns;
	VEC(struct numa_access) accesses; /* big_*() */
	size_t refined;                   /* of them, the first so many have their variables */
	u32 *by_object, *object_at;
	u32 *by_thread, *thread_at;
	u32 n_objects, n_threads; /* that the indexes have */
	VEC(struct numa_thread) threads;
	VEC(u32) thread_stacks;       /* object of the stack it was last seen on */
	struct groups thread_numbers; /* numa_thread_name() -> number */
	struct recent_thread recent[RECENT_THREADS];
	VEC(struct variable) variables;
	bool variables_sorted;
	struct groups variable_copies; /* of forked children */
	struct groups parents;         /* child -> struct parent */
	VEC(struct numa_moved) page_moves, thread_moves;
	VEC(struct numa_ran) runs;
	VEC(struct numa_placed) places;
	struct numa_machine machine;
	struct groups cpus; /* cpu -> node */
	u64 unattributed[NUMA_WHYS];
	u64 damaged, late;
};

static inline u64 numa_thread_name(u32 tgid, u32 tid)
{
	return (u64)tgid << 32 | tid;
}

/* numa_apply.c: a record whose time has come. late: after it was settled. */
int numa_apply(struct numa_feed *f, const struct rec *r, bool late);
/* Is what a record says possible, wherever it comes from? */
bool numa_record_good(const struct rec *r);
/* numa_refine.c: accesses to variables get those as objects. */
int numa_variable_add(struct numa_feed *f, const struct numa_variable *r);
int numa_refine(struct numa_feed *f);
/* numa_flow.c */
int numa_index(struct numa_feed *f);
void numa_index_free(struct numa_feed *f);

#endif
