/* Objects that are followed: a look at those that are there, and how long the others lived. */
#ifndef MEMWHY_PROBES_SLAB_HELD_H
#define MEMWHY_PROBES_SLAB_HELD_H

#include "base/groups.h"
#include "probes/probe.h"
#include "probes/slab/slab.h"

/* capture.state of the probe. */
struct slab_state {
	struct groups known; /* struct slab_key -> struct slab_who, with config.ages */
};

int slab_held_open(struct capture *c, struct err *err);
void slab_held_close(struct capture *c);
/* Room for objects that are followed, on this machine. */
u32 slab_objects_room(void);
/* Remembers what a record says of a key. */
int slab_held_learn(struct capture *c, const struct slab_key *k, const struct slab_agg *r);
int slab_lifetime_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value);
/* Sends REC_SLAB_FOLLOW and REC_SLAB_HELD, for leak. */
int slab_held_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks);

#endif
