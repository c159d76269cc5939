/* Names the stacks that programs under the preload library report, with the files that the same
 * threads announced before; and passes their events into the recording. */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_NAMES_H
#define MEMWHY_PROBES_HEAP_COLLECT_NAMES_H

#include "base/groups.h"
#include "base/vec.h"

struct capture;
struct collector;

struct heap_names {
	struct groups files; /* struct teller -> struct process_map */
	VEC(u32 *) stacks;   /* by id of the program - 1, then by number */
	VEC(u32) n_stacks;
	bool tell;     /* what numbers stand for is to be recorded (--events) */
	VEC(u32) told; /* since the last record: pairs, of one program */
	u32 told_image;
};

/* s: zeroed. */
void heap_names_init(struct heap_names *s);
/* Takes what arrived since the last call. 0 or -errno */
int heap_names_take(struct heap_names *s, struct capture *c, struct collector *collector);
/* The id of its REC_STACK; 0: it was not sent. */
u32 heap_names_stack(const struct heap_names *s, u32 program, u32 number);
void heap_names_free(struct heap_names *s);

#endif
