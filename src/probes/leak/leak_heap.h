/*
 * The heaps of programs in `leak`: records of heap into series, and these into tables. Each process
 * is judged over its own time, since many live only for a part of the session's.
 */
#ifndef MEMWHY_PROBES_LEAK_HEAP_H
#define MEMWHY_PROBES_LEAK_HEAP_H

#include "base/groups.h"
#include "probes/heap/heap.h"
#include "probes/leak/leak_cells.h"
#include "report/view.h"

struct leak_heap {
	struct groups processes; /* number of it -> struct leak_process */
	struct groups sites;     /* struct leak_heap_key -> struct leak_heap_site */
	struct groups mappings;  /* see leak_heap_mappings.c */
};

struct leak_process {
	struct heap_total now, base; /* base: when the interval began */
	struct leak_clock clock;
	struct leak_series series;
	u64 drain_ns; /* of the records since the last drain; 0: there were none */
};

/* Two numbers of one stack are summed when it is reported. */
struct leak_heap_key {
	u32 process, stack, site;
};

struct leak_heap_site {
	struct heap_site now, base;
	struct leak_series series;
};

extern const struct view_table leak_heap_tables[];
extern const struct view_table leak_mapping_tables[];

/* What the tables of processes, stacks and mappings begin with. */
#define LEAK_CELLS_PROCESS(pid_, comm_)                                     \
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", pid_), \
		CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process", comm_)
/* A record whose first member is its process. */
cell_get leak_pid_cell, leak_comm_cell;

void leak_heap_init(struct leak_heap *h);
int leak_heap_feed(struct leak_heap *h, const struct rec *r);
/* by_stack: the stacks' sums were sent throughout, not only at the end. */
int leak_heap_report(const struct leak_heap *h, bool by_stack, struct report *r);
void leak_heap_reset(struct leak_heap *h);
void leak_heap_free(struct leak_heap *h);

/* What one stack of a process holds. */
struct leak_heap_row {
	const struct leak_process *process;
	u32 stack;
	u64 live, bytes, allocations, frees; /* the latter two: since the process began */
	u64 now_allocations, now_frees;      /* in the interval */
	u64 old_blocks, old_bytes, oldest_ns;
	struct leak_series series;
	struct hist ages;
	struct durations lives;
	struct leak_judgement judged;
	double stayed; /* below 0: not known */
};

/* The mappings of programs: what they map by themselves, past the allocator. */
void leak_mappings_init(struct groups *sites);
/* p: its process; NULL: not known, and so it is left out. -ENOMEM */
int leak_mapping_feed(
	struct groups *sites, const struct leak_process *p, const struct heap_mapping *r);
/* The spans of the process's clock were joined. */
void leak_mappings_join(struct groups *sites, u32 process);
void leak_mappings_reset(struct groups *sites);
/* The table, and findings for those that grow most. */
int leak_mappings_report(const struct groups *sites, const struct groups *processes, bool by_stack,
	struct report *r);

/* Adds findings for the worst of the rows that grow. */
void leak_heap_suspects(struct report *r, const struct leak_heap_row *rows, size_t n);

#endif
