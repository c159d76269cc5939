/* Private to the collector's parts: what it is made of. */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_COLLECTOR_INNER_H
#define MEMWHY_PROBES_HEAP_COLLECT_COLLECTOR_INNER_H

#include <pthread.h>

#include "base/clock.h"
#include "probes/heap/collect/access_lookup.h"
#include "probes/heap/collect/client.h"
#include "probes/heap/collect/collector.h"
#include "probes/heap/collect/combined_peak.h"

struct collector {
	pthread_t thread;
	pthread_mutex_t lock;
	int epoll, news_fd, stop_fd, socket;
	struct track_tokens tokens;
	struct clients clients;
	u32 wait_ms;
	u64 sample_bytes, least_bytes;
	const struct cgroup_mounts *cgroups;
	bool running, stop;
	bool events; /* are to be recorded */
	int error;
	VEC(struct tracked_program *) tracked;
	VEC(struct heap_process *) processes; /* by id - 1 */
	VEC(struct heap_process *) alive; /* of these, without those that ended before this turn */
	u32 n_images;
	struct collector_programs programs;
	u32 n_gone; /* processes that have gone, but not ended */
	news_buffer news;
	u64 swept_ms;
	struct combined_peak together;
	struct access_lookup answers;
	struct lineage *lineage;     /* NULL: there is none */
	struct filters *filters;     /* the same */
	struct fault_events *faults; /* NULL: faults are not counted */
	struct residence_names names;
	bool ended; /* all faults were counted */
};

static inline u64 collector_now_ms(void)
{
	return clock_mono_ns() / NSEC_PER_MSEC;
}

/* Adds fd to what the collector's thread waits for. `what`: the id of a process, or above all ids.
 */
int collector_watch(struct collector *c, int fd, u64 what);
/* As program.found. */
struct heap_process *collector_process_found(struct tracked_program *program, u32 index, void *arg);
/* It ended, or so it seems; at once, whatever may be asked of it; what this pid was before its exec
 * is no more. */
int collector_process_ended(struct collector *c, struct heap_process *p);
int collector_process_over(struct collector *c, struct heap_process *p);
int collector_pid_over(struct collector *c, pid_t pid);
/* Those that have ended are no longer alive. */
void collector_alive_look(struct collector *c);

/* Locked: see access_lookup.h. */
int collector_answers_settle(struct collector *c, u64 time_ns);
/* By the collector's thread, in each turn, locked: counts the faults so far. */
int collector_faults_turn(struct collector *c);
/* … the last time. */
int collector_faults_end(struct collector *c);
/* … and after the rings were read: looks at processes that are due. */
int collector_faults_look(struct collector *c, u64 now_ms);
/* For a program that waits for us. -ENOMEM. */
int collector_faults_image(struct collector *c, struct tracked_program *program);
/* For a new process. */
int collector_faults_process(
	struct collector *c, struct tracked_program *program, struct heap_process *p);
void collector_faults_free(struct collector *c);

#endif
