/* --flight in user space: the maps of the rings, and their calls read and sent. */
#ifndef MEMWHY_PROBES_SYSCALLS_FLIGHT_H
#define MEMWHY_PROBES_SYSCALLS_FLIGHT_H

#include "capture/attach.h"
#include "probes/syscalls/syscalls.h"
#include "probes/syscalls/syscalls_words.h"

/* capture.state of the probe. */
struct syscalls_state {
	u64 args_sent[SYSCALL_WORDS]; /* numbers of calls, as bits */
	/* flight; slots NULL: not flying */
	const struct syscalls_slot *slots;
	size_t slots_bytes;
	int rings_map, kept_map, state_map;
	u32 rings, ring_calls, cpus;
	bool at_end; /* dump at the end */
	bool by_process;
	u64 *kept;    /* by CPU */
	u64 *dumped;  /* by ring: calls kept at its last dump */
	u64 homeless; /* told so far */
};

struct bpf_object;

/* Sizes the maps, and completes the programs' constants. */
int flight_prepare(struct bpf_object *obj, const struct syscalls_wish *w,
	struct syscalls_probe_config *config);
int flight_attach(struct capture *c, struct attached *a, struct err *err);
void flight_close(struct capture *c);
/* All rings, at the end of an interval. */
int flight_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks);
/* The ring of which a program said so. */
int flight_dump_send(struct capture *c, const struct syscalls_dump *d);

/* Sends a call, and before it what a reader needs for its arguments (syscalls.c). */
int syscalls_call_send(struct capture *c, const struct syscalls_call *e);

#endif
