/* The heap of running processes: probes at their allocators, and the sums of these as records. */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_HEAP_ATTACH_H
#define MEMWHY_PROBES_HEAP_ATTACH_HEAP_ATTACH_H

#include "base/groups.h"
#include "probes/heap/attach/allocator.h"
#include "probes/heap/attach/attach_blocks.h"
#include "probes/heap/attach/attached.h"
#include "probes/probe.h"

#define HEAP_PLACE "allocations of a running process" /* as REC_METHOD says it */

struct heap_site_sum {
	struct heap_site r;
	u64 gone, gone_bytes, freed_bytes;
	u64 peak;
	u64 variance, freed_variance, peak_variance;
	bool changed;
};

struct heap_thread_sum {
	struct heap_thread r;
	u64 own_blocks, own_bytes; /* as in heap_thread_sums */
	bool ended;                /* what it did is known to its end */
	bool settled;              /* and nothing it allocated is left */
	bool sent;                 /* as it was then */
};

struct heap_attached {
	u32 pid;
	u32 number; /* in the maps */
	struct allocator allocator;
	u64 start_ns;
	u64 cgroup;
	u64 unknown_frees;
	/* of all sites: */
	u64 allocations, bytes, frees, overwritten, temporary, moved, live_blocks, live_bytes;
	double variance, live_variance, peak_variance; /* of all sites */
	u32 threads;
	u64 old_ms;  /* see heap_total */
	bool awaits; /* its exec, with which it begins */
	char comm[COMM_LEN];
};

/* capture.state */
struct heap_attach {
	VEC(struct heap_attached) processes;
	struct groups sites;   /* struct heap_site_key -> struct heap_site_sum */
	struct groups threads; /* u64, id -> struct heap_thread_sum */
	u32 live_room;
	u32 error_shift;
	struct attached_blocks blocks;
};

extern const struct probe_bpf heap_bpf;

/* attach_sums.c */
extern const struct table_values heap_site_values;

int heap_site_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value);
/* The stack of a site, as a REC_STACK; 0: not known. */
u32 heap_site_stack(struct capture *c, const struct stack_maps *stacks,
	const struct heap_site_key *k, u32 tgid);
/* Sends how things stand: at intervals, and where growth is judged at each drain. */
int heap_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events);
int heap_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks);
/* attach_threads.c: takes what threads that ended did; to be called at each drain. */
int heap_threads_take(struct capture *c, struct attached *a);
/* Sends how threads stand. */
int heap_threads_send(struct capture *c, struct attached *a);
/* attach_ages.c: looks at all live blocks. */
int heap_ages_look(struct capture *c, struct attached *a);
void heap_attach_init(struct heap_attach *h);
void heap_attach_free(struct heap_attach *h);

#endif
