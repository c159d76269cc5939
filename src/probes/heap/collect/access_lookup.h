/*
 * Looks accesses up in the accounts as they were at the time of the access (block_lookup.h). Rings
 * are therefore read only up to the time before which all accesses have been delivered. A program
 * that would have to wait for that is read on; queries about its past are answered from its present
 * state, if the block existed.
 *
 * If page faults are counted (residence.h), all of them are looked up. Those of a process that has
 * not registered yet wait until it does, or until it becomes another program.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_ACCESS_LOOKUP_H
#define MEMWHY_PROBES_HEAP_COLLECT_ACCESS_LOOKUP_H

#include "base/groups.h"
#include "probes/heap/collect/tracked_program.h"
#include "probes/heap/collect/ticks.h"
#include "probes/heap/collect/block_lookup.h"

struct question {
	u32 tgid, tid;
	struct touch touch;
	bool fork; /* no access: its account is to be seen as it was when it forked */
};

#define ANSWERS_RECENT 64

struct access_lookup {
	bool on;
	bool counts; /* faults are counted, nothing is reported */
	u64 held_ns; /* all earlier accesses were reported */
	u64 until;   /* the same, by the tracker's clock */
	struct ticks clock;
	VEC(struct question) questions;
	struct groups forks;  /* tgid -> struct fork_of */
	struct groups copies; /* of forks that told nothing of themselves: see touched_ask_copy() */
	block_lookup_buffer told;
	VEC(struct question) early; /* of processes that are not known yet */
	u32 newest;         /* id of the last one that was known when it was looked through */
	size_t kept;        /* of forks and copies, when they were last looked through */
	u64 asked, guessed; /* accesses; after the account had gone on */
	u64 strangers;      /* faults of processes that never reported in */
	u64 woken_ms;
	struct heap_process *recent[ANSWERS_RECENT]; /* by pid: who was found last */
};

void access_lookup_begin(struct access_lookup *a);
void access_lookup_free(struct access_lookup *a);

/* As of struct blocks (capture/block_access.h). */
int access_lookup_ask(struct access_lookup *a, const struct question *q);
/* A process begins as a copy of another; from_tgid 0: it is another program from now on, or gone.
 */
int access_lookup_forked(struct access_lookup *a, u32 tgid, u32 from_tgid, u64 time_ns);
/* Before each settle, and after its time: rings that are new by now; those used before are among
 * them. Finds processes. */
int access_lookup_find(struct access_lookup *a, struct tracked_program *const *tracked, size_t n);
/*
 * All accesses before time_ns were asked about (UINT64_MAX: there will be no more): reads the rings
 * up to each of them in turn, and answers. processes: those of the collector that have not ended,
 * by id.
 */
int access_lookup_settle(struct access_lookup *a, u64 time_ns,
	struct heap_process *const *processes, size_t n, news_buffer *news);
/* Nobody asks any more: what still waits is of strangers. */
void access_lookup_end(struct access_lookup *a);
/* Is it time to ask for more accesses, as rings wait for them? */
bool access_lookup_wake(struct access_lookup *a, struct tracked_program *const *tracked,
	size_t n_images, u64 now_ms);
/* May the account of a process that ended be closed? */
bool access_lookup_done(const struct access_lookup *a, const struct heap_process *p);

#endif
