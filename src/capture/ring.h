/* The ring of single events (common.bpf.h), read as records. */
#ifndef MEMWHY_CAPTURE_RING_H
#define MEMWHY_CAPTURE_RING_H

#include "base/util.h"
#include "event/wire.h"

struct attached; /* capture/attach.h */
struct bpf_object;
struct ring;

#define RING_BATCH 1024 /* bounds what their reader holds at once */

/* record is called for each; what it returns other than 0 ends the drain. NULL: there are none but
 * those of no kind. */
int ring_open(int map, int (*record)(void *arg, const struct rec *r), void *arg, struct ring **ret);
/*
 * Gives each CPU its own ring, in a map of rings by CPU (common.bpf.h: RINGS), which is read along
 * with the first one. For programs that run in NMI-like context, where the kernel does not wait for
 * a ring's lock. bytes: of all of them together; rounded up.
 */
int ring_each_cpu(struct ring *r, struct attached *a, const char *map, u64 bytes);
/* Before the object is loaded: what a map of rings by CPU needs to be made. */
int ring_prepare(struct bpf_object *obj, const char *map);
int ring_fd(const struct ring *r); /* readable when records wait */
/* Hands on at most RING_BATCH records. 1: there may be more; 0: that was all. */
int ring_drain(struct ring *r);
/* Was the reader woken since it was last asked, by a record of no kind? Tables fill up then. */
bool ring_woken(struct ring *r);
u64 ring_delivered(const struct ring *r);
void ring_close(struct ring *r);

#endif
