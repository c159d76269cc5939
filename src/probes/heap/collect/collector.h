/*
 * Collects what programs under the preload library write, in a separate thread, so that no program
 * waits while a report is made. Hands each program its file, reads all rings in turn, and keeps the
 * accounts, which the session reads between two turns.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_COLLECTOR_H
#define MEMWHY_PROBES_HEAP_COLLECT_COLLECTOR_H

#include "base/err.h"
#include "probes/heap/collect/tracked_program.h"
#include "probes/heap/collect/block_lookup.h"

struct collector;
struct combined_peak;
struct filters;

struct cgroup_mounts;
struct preload;

/* p: its socket listens; borrowed. cgroups: may be NULL, borrowed. wait_ms: how long a program
 * waits for us at most. */
int collector_open(const struct preload *p, const struct cgroup_mounts *cgroups, u32 wait_ms,
	u64 sample_bytes, struct collector **ret);
/* Before it starts: somebody will ask which blocks were accessed (capture/block_access.h). */
void collector_answer(struct collector *c, u64 least_bytes);
/* The same: each event is news too (event_writer.h). */
void collector_keep_events(struct collector *c);
/* The same for itself: who faults where, and what is resident (residence.h). Takes the events over.
 */
struct lineage;
/* Before it starts: read when it has much to tell; borrowed, and only for others while locked. */
int collector_lineage(struct collector *c, struct lineage *l);
/* Was this process tracked after that time? Only while locked. */
bool collector_tracked(const struct collector *c, u32 pid, u64 since_ns);

/* Before it starts: these, which outlive it, say who has a seccomp filter. */
void collector_filters(struct collector *c, struct filters *f);

struct fault_events;
void collector_count(struct collector *c, struct fault_events *f);
/* Faults of processes that never told of themselves; lost; in kernel mode there are none. */
struct collector_faults {
	u64 asked, guessed, strangers, lost;
	bool user_only;
};
/* false: faults are not counted. */
bool collector_faults(const struct collector *c, struct collector_faults *ret);
/* The name with this number, see residence_key. */
const char *collector_name(const struct collector *c, u32 number);
/* Begins to collect. */
int collector_start(struct collector *c);
/* Readable when there is news to be named. */
int collector_fd(const struct collector *c);
/* Stops collecting: reads what is there by now, then tells the programs to stop. 0, or why the
 * thread failed. */
int collector_stop(struct collector *c);
/* The same in two steps, for questions to be answered in between. */
int collector_halt(struct collector *c);
int collector_finish(struct collector *c);
void collector_close(struct collector *c);

int collector_ask(struct collector *c, u32 tgid, u32 tid, u64 address, u64 time_ns);
int collector_forked(struct collector *c, u32 tgid, u32 from_tgid, u64 time_ns);
/* All accesses before time_ns were asked about. The blocks to be told of, in no order; to be freed
 * by the caller, after the news that name their stacks were taken. */
int collector_settle(struct collector *c, u64 time_ns, block_lookup_buffer *ret);
/* Accesses asked about; those of them that came after their account had gone on. */
void collector_asked(const struct collector *c, u64 *ret_asked, u64 *ret_guessed);

/* What came since the last call; to be freed by the caller. -errno: also why the thread failed. */
int collector_news(struct collector *c, news_buffer *ret);
/* Between these two the accounts stand still. Nothing slow may happen there. */
void collector_lock(struct collector *c);
void collector_unlock(struct collector *c);
/* All processes there were; only while locked. */
struct heap_process *const *collector_processes(struct collector *c, size_t *ret_n);
struct collector_programs {
	u32 asked;             /* for a file to write to */
	u32 refused, given_up; /* of these: there could be none; did not wait for us any longer */
	u32 unanswered;        /* asked too, and had gone on when we came to it */
	int why;               /* of those refused: -errno of the last one */
	u32 dropped;           /* connections, before it was known what they are, see client.h */
	u32 narrow;            /* limits on their address space leave no room for a file … */
	char narrow_comm[COMM_LEN]; /* … the last of these */
};
void collector_programs(struct collector *c, struct collector_programs *ret);
/* All processes together; only while locked. */
const struct combined_peak *collector_together(struct collector *c);
/* What was read of events so far becomes news; only while locked. */
int collector_flush_events(struct collector *c);
/* Events read so far; only while locked. */
u64 collector_events(struct collector *c);

#endif
