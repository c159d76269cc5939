/*
 * What is counted by control group: a bounded number of groups have sums of their own, all others
 * are one, "other". Groups that are gone are dropped. Not safe for threads: its owner locks.
 */
#ifndef MEMWHY_SERVE_TALLY_H
#define MEMWHY_SERVE_TALLY_H

#include <pthread.h>

#include "event/meta.h"
#include "probes/cgroups/cgroups.h"
#include "serve/exposition.h"

enum group_stall { GROUP_ALLOCATION, GROUP_CHARGE, GROUP_STALLS };
enum group_fault { GROUP_MINOR, GROUP_MAJOR, GROUP_FAULTS };

struct group_sums {
	u64 stalls[GROUP_STALLS], stall_ns[GROUP_STALLS];
	u64 faults[GROUP_FAULTS], fault_ns[GROUP_FAULTS];
	u64 oom_kills;
};

/* Series that one group has at most. */
#define GROUP_SERIES 15

struct tally;

int tally_new(struct tally **ret);
void tally_free(struct tally *g);
/* How many groups may have series from now on; those that have stay. */
void tally_limit(struct tally *g, u64 most);
/* Where to add what is of this group. Never NULL. */
struct group_sums *tally_sums(struct tally *g, u64 id);
/* The same, of a group that lost a process to the OOM killer: room is reserved for those. */
struct group_sums *tally_sums_of_killed(struct tally *g, u64 id);
void tally_name(struct tally *g, const struct rec_cgroup *r);
/*
 * Looks for the name of this group's container and pod, once per interval for groups without one.
 * Only this caller changes the tally. It does not hold the readers' lock while it asks the disk,
 * only to store the answer.
 */
void tally_look(struct tally *g, u64 id, pthread_mutex_t *lock);
void tally_look_again(struct tally *g, pthread_mutex_t *lock);
/* "container_name", "pod", "namespace", in this order; each may be NULL: not known. */
#define GROUP_NAMES 3
extern const char *const group_name_words[GROUP_NAMES];
/* The names of a group that lost a process: kills are few, so no bound on looks keeps them back. */
const char *const *tally_killed(struct tally *g, u64 id, pthread_mutex_t *lock);
void tally_usage(struct tally *g, const struct cgroup_usage *u);
/* Drops those whose directory is gone. */
void tally_sweep(struct tally *g);
void tally_expose(const struct tally *g, struct exposition *e);

#endif
