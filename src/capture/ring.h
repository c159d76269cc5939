/* The ring of single events (common.bpf.h), read as records. */
#ifndef MEMWHY_CAPTURE_RING_H
#define MEMWHY_CAPTURE_RING_H

#include "event/wire.h"

struct ring;

#define RING_BATCH 4096 /* bounds what their reader holds at once */

/* record is called for each; what it returns other than 0 ends the drain. */
int ring_open(int map, int (*record)(void *arg, const struct rec *r), void *arg, struct ring **ret);
int ring_fd(const struct ring *r); /* readable when records wait */
/* Hands on at most RING_BATCH records. 1: there may be more; 0: that was all. */
int ring_drain(struct ring *r);
u64 ring_delivered(const struct ring *r);
void ring_close(struct ring *r);

#endif
