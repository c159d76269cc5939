/*
 * What the maps of BPF objects take, before they are made, and making them smaller (--max-memory).
 * The numbers are at least the kernel's own (fdinfo `memlock`), which are what is shown as cost.
 */
#ifndef MEMWHY_CAPTURE_MAP_MEMORY_H
#define MEMWHY_CAPTURE_MAP_MEMORY_H

#include "capture/capture.h"

struct attach_spec;
struct bpf_object;

#define BUDGET_LEVELS 13 /* of capture.shrink: each is about half of the one before */

/* Bytes of the maps of some objects at each level. */
struct budget {
	u64 bytes[BUDGET_LEVELS];
	u64 shared[BUDGET_LEVELS][SHARED_MAPS]; /* in bytes too: the largest of all objects */
};

/* Adds the maps of an object, which is opened for that but not loaded. */
int budget_add(struct budget *b, struct capture *c, const struct attach_spec *spec);
/* Adds other memory of the kernel, the same at each level. */
void budget_add_bytes(struct budget *b, u64 bytes);
/* Adds what takes so much at each level. */
void budget_add_levels(struct budget *b, u64 (*bytes)(u32 level));
/* Makes the maps of an object smaller by c->shrink whose entries have no fixed place (hashes,
 * stacks, the ring); what they then cannot hold is counted as lost, as ever. */
int budget_shrink(struct bpf_object *obj, const struct capture *c);
/* The ring of this size at this level. */
u32 budget_ring(u32 bytes, u32 level);

#endif
