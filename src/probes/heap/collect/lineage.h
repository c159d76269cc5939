/*
 * The processes of a command, from the kernel's events: forks, execs, files mapped as code, network
 * namespaces, ends. So it knows programs that live for a moment, and processes that have left their
 * parents. Decides whether the preload library was in a program, not why it was not.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_LINEAGE_H
#define MEMWHY_PROBES_HEAP_COLLECT_LINEAGE_H

#include "base/vec.h"
#include "event/wire.h"

#define LINEAGE_PATH 256

/* What a process became by an exec; of one that has not, it is what its parent is. */
struct lineage_program {
	u32 pid;
	char comm[COMM_LEN];
	u64 exec_ns;             /* CLOCK_MONOTONIC; 0: it has done none */
	char file[LINEAGE_PATH]; /* its own; "": no code of it was seen to be mapped */
	u64 inode;               /* the same */
	bool dynamic;            /* of another file too: it has a loader */
	bool loaded;             /* the preload library */
	bool apart;              /* it began in another network namespace than ours */
};

struct lineage;

/* root: has not yet done its exec. -errno: the kernel does not tell. */
int lineage_open(pid_t root, struct lineage **ret);
/* Readable while half of a ring is full; -1: there are no more. */
int lineage_fd(const struct lineage *l, size_t i);
/* Takes the events; all: up to now, when what is asked about has ended. -ENOMEM */
int lineage_take(struct lineage *l, bool all);
/* Programs that ended, or became others, without the library. False: no more. */
bool lineage_over(struct lineage *l, struct lineage_program *ret);
/* Processes that have not ended: up to max of them. Returns how many there are. */
size_t lineage_alive(const struct lineage *l, struct lineage_program *ret, size_t max);
/* Records that the kernel had no room for, and programs that were more than are kept. */
u64 lineage_lost(const struct lineage *l);
void lineage_close(struct lineage *l);

#endif
