/*
 * Private to the processes probe: the closer look at a few processes. Owns the reading of
 * smaps_rollup, numa_maps and of where threads run, and the bound on what that costs.
 */
#ifndef MEMWHY_PROBES_PROCESSES_LOOK_H
#define MEMWHY_PROBES_PROCESSES_LOOK_H

#include "probes/processes/processes_table.h"
#include "sys/host.h"
#include "sys/process/numa_maps.h"

/*
 * Resident memory whose page tables are walked in one round of looks, by each of smaps_rollup
 * and numa_maps: the kernel does some 20 to 100 million pages a second, and holds the process's
 * mmap lock for reading meanwhile. In pages, because that is what takes the time.
 */
#define LOOK_PAGES (16ULL << 20)
#define LOOK_NUMA 5 /* processes */
/* For the others, only the first lines of numa_maps: some 20 us each. */
#define LOOK_PEEKS 512
#define LOOK_PEEK_BYTES (2ULL << 20)

/* To be zeroed before its first use. */
struct processes_look {
	struct host *host; /* NULL: one node */
	struct numa_maps numa;
	struct str text;
	u64 rollup_pages, numa_pages; /* left to walk in this round */
	u32 left_out;                 /* processes too big for what was left */
};

int processes_look_open(struct processes_look *l);
void processes_look_free(struct processes_look *l);
/* A round begins. */
void processes_look_begin(struct processes_look *l);
/* rollup: smaps_rollup too. */
int processes_look_detail(struct capture *c, struct processes_look *l,
	const struct process_entry *e, const struct proc_status *status, const char *comm,
	bool rollup);
/* Nothing on machines with one node. */
int processes_look_numa(struct capture *c, struct processes_look *l, const struct process_entry *e);
/* Does its main thread have a policy that names nodes? */
bool processes_look_is_bound(const struct process_entry *e);
int processes_look_survey(struct capture *c);

#endif
