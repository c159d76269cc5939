/*
 * What is counted by control group: a bounded number of groups have sums of their own, all others
 * are one, "other". Groups that are gone are dropped. Not safe for threads: its owner locks.
 */
#ifndef MEMWHY_SERVE_TALLY_H
#define MEMWHY_SERVE_TALLY_H

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
void tally_name(struct tally *g, const struct rec_cgroup *r);
/* Once an interval: looks for names of containers and pods that were not there yet. */
void tally_names(struct tally *g);
void tally_usage(struct tally *g, const struct cgroup_usage *u);
/* Drops those whose directory is gone. */
void tally_sweep(struct tally *g);
void tally_expose(const struct tally *g, struct exposition *e);

#endif
