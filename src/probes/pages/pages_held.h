/* Pages followed from their allocation to their free (`pages held`): records of them. */
#ifndef MEMWHY_PROBES_PAGES_HELD_TABLE_H
#define MEMWHY_PROBES_PAGES_HELD_TABLE_H

#include "probes/pages/pages.h"
#include "probes/probe.h"

#define PAGES_HELD_ROOM 262144 /* some 90 bytes each */

/* Are pages followed? */
bool pages_follows(const struct capture *c);
/* The beginning of a record; comm and cgroup are left to the caller. */
struct pages_who pages_who_of(
	struct capture *c, const struct stack_maps *stacks, const struct pages_key *k);
/* For the table `lifetimes`. */
int pages_lifetime_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value);
/* Sends what is held now, by key. */
int pages_held_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks);

#endif
