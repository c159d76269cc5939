/*
 * Objects of one kind and origin together (an allocation site, a variable, a thread's stack), and
 * what their accesses say: how many, how remote, and how nodes share them. Pure, over a finished
 * feed. Judges nothing.
 */
#ifndef MEMWHY_PROBES_NUMA_JUDGE_GROUPS_H
#define MEMWHY_PROBES_NUMA_JUDGE_GROUPS_H

#include "base/groups.h"
#include "base/vec.h"
#include "probes/numa/feed/numa_feed.h"

/* Sums over accesses. All but samples are weighted: estimates of accesses. */
struct numa_sums {
	u64 samples;
	u64 judged_samples; /* of them, with known locality */
	u64 hint_samples;   /* of these, hint faults */
	u64 remote_samples;
	u64 accesses, local, remote;
	u64 loads, stores, hitm;
	u64 from[NUMA_NODES], to[NUMA_NODES]; /* by node of the CPU; of the page */
	u64 remote_from[NUMA_NODES];
	u64 latency_n[2], latency_sum[2]; /* of local and of remote ones; unweighted */
	bool cycles;                      /* latency is in cycles */
};

void numa_sums_add(struct numa_sums *s, const struct numa_access *a);
/* 0 to 1; -1: not known. */
double numa_remote_ratio(const struct numa_sums *s);
/* A bit a node with at least one access from it; of a page on it. */
u64 numa_from_mask(const struct numa_sums *s);
u64 numa_to_mask(const struct numa_sums *s);

/* Pieces of memory that nodes can share. */
enum numa_unit { NUMA_UNIT_LINE, NUMA_UNIT_PAGE, NUMA_UNIT_HUGE, NUMA_UNIT_OBJECT, NUMA_UNITS };

/*
 * How nodes share pieces: of two accesses to the same piece, the chance that they are from
 * different nodes. 0: each piece belongs to one node. samples: in pieces with at least two.
 */
struct numa_sharing {
	double mixed;
	u64 samples;
};

/* A share of what comes in bursts: how sure it is goes by how much these differ. */
struct numa_clusters {
	u64 n;           /* bursts */
	double hits, of; /* sums over them */
	double hits_hits, hits_of, of_of;
};

/* What hint faults tell (numa_hint_stats.h); of a group that has mostly these, else all 0. */
struct numa_hint_stats {
	u64 samples;
	u64 pages;                     /* that had one: each was seen samples / pages times */
	u64 laid_samples, laid_remote; /* by where the page was when it was first seen; remote */
	double window_mixed; /* of two accesses to an object within 50 ms: from two nodes */
	u64 window_samples;
	struct numa_clusters crossings; /* faults while several nodes use it: of another's pages */
	u64 crossed, crossed_back;      /* at any time; of these, as many one way as the other */
	u32 changes;     /* of the node that an object was used from, window to window */
	double together; /* share of time in which threads of two nodes ran, at least; -1: unknown
			  */
};

struct numa_site {
	u64 start; /* where nothing else distinguishes objects */
	u32 kind;  /* enum object_kind */
	u32 stack, name, file;
	u32 tgid;   /* 0: of several processes, it may be */
	u32 thread; /* + 1; of a stack, or a thread-local variable */
	u32 object; /* + 1; 0: all of them */
	u32 reserved;
};

struct numa_group {
	struct numa_site site;
	u32 first, n; /* its objects, in numa_groups.objects */
	u32 largest;  /* object with most samples */
	u64 bytes;    /* of the largest one */
	struct numa_sums sums;
	/* Blocks and mappings whose maker is known: */
	u64 by_known, by_allocator; /* accesses; of them, by the thread that made the object */
	u64 before_sharing;         /* … until a second thread came, of each object */
	u32 shared_objects;         /* that several threads touched */
	u32 threads;                /* that touched them */
	u32 shared_maps;            /* objects that are shared mappings: one of each process */
	u32 frees,
		remote_frees; /* freed; by a thread on another node than the one it was made on */
	u64 first_touches, first_touch_other; /* of pages; on another node than it was made on */
	struct numa_sharing sharing[NUMA_UNITS];
	double switches; /* of two accesses to an object one after another, from two nodes */
	u64 switch_pairs;
	u64 turns;         /* changes of node that lasted: the access after was from the same one */
	u64 huge;          /* samples of huge pages */
	u64 placed_remote; /* samples that would be remote, were each part where it is used most */
	u64 moved_pages;   /* by the kernel */
	u64 balanced_pages; /* of them, by NUMA balancing */
	struct numa_hint_stats hints;
};

struct numa_groups {
	VEC(struct numa_group) list;
	u32 *objects; /* by group */
	u32 n_objects;
	struct numa_sums all;
	u64 lone_hints; /* hint faults of processes that were seen with one thread */
	u64 *matrix;    /* NUMA_NODES * NUMA_NODES: accesses, by node of CPU, then of page */
};

/* What distinguishes this object's origin from others'; by_object: the object itself. */
struct numa_site numa_site_of(const struct object *o, u32 object, bool by_object);
/* by_object: each object a group of its own. 0 or -ENOMEM. */
int numa_groups_make(struct numa_feed *f, bool by_object, struct numa_groups *ret);
void numa_groups_free(struct numa_groups *g);

#endif
