/*
 * Accesses to memory, looked up in the accounts as they were at their time (touched.h). So rings
 * are read only up to the time before which all accesses were told of; a program that would have to
 * wait for that is read on, and what is asked of its past is answered from what it is by now, if
 * that was there.
 *
 * Where page faults are counted (residence.h) all of them are asked about. Those of a process that
 * has not yet told of itself wait until it does, or becomes another program.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_ANSWERS_H
#define MEMWHY_PROBES_HEAP_COLLECT_ANSWERS_H

#include "base/groups.h"
#include "probes/heap/collect/image.h"
#include "probes/heap/collect/ticks.h"
#include "probes/heap/collect/touched.h"

struct question {
	u32 tgid, tid;
	struct touch touch;
	bool fork; /* no access: its account is to be seen as it was when it forked */
};

#define ANSWERS_RECENT 64

struct answers {
	bool on;
	bool counts; /* faults are counted, nothing is told */
	u64 held_ns; /* all accesses before were told of */
	u64 until;   /* the same, by the tracker's clock */
	struct ticks clock;
	VEC(struct question) questions;
	struct groups forks;  /* tgid -> struct fork_of */
	struct groups copies; /* of forks that told nothing of themselves: see touched_ask_copy() */
	touched_buffer told;
	VEC(struct question) early; /* of processes that are not known yet */
	u32 newest;         /* id of the last one that was known when it was looked through */
	size_t kept;        /* of forks and copies, when they were last looked through */
	u64 asked, guessed; /* accesses; after the account had gone on */
	u64 strangers;      /* faults of processes that never told of themselves */
	u64 woken_ms;
	struct heap_process *recent[ANSWERS_RECENT]; /* by pid: who was found last */
};

void answers_begin(struct answers *a);
void answers_free(struct answers *a);

/* As of struct blocks (capture/blocks.h). */
int answers_ask(struct answers *a, const struct question *q);
/* A process begins as a copy of another; from_tgid 0: it is another program from now on, or gone.
 */
int answers_forked(struct answers *a, u32 tgid, u32 from_tgid, u64 time_ns);
/* Before each settle, and after its time: rings that are new by now; those used before are among
 * them. Finds processes. */
int answers_find(struct answers *a, struct image *const *images, size_t n);
/*
 * All accesses before time_ns were asked about (UINT64_MAX: there will be no more): reads the rings
 * up to each of them in turn, and answers. processes: those of the collector that have not ended,
 * by id.
 */
int answers_settle(struct answers *a, u64 time_ns, struct heap_process *const *processes, size_t n,
	news_buffer *news);
/* Nobody asks any more: what still waits is of strangers. */
void answers_end(struct answers *a);
/* Is it time to ask for more accesses, as rings wait for them? */
bool answers_wake(struct answers *a, struct image *const *images, size_t n_images, u64 now_ms);
/* May the account of a process that ended be closed? */
bool answers_done(const struct answers *a, const struct heap_process *p);

#endif
