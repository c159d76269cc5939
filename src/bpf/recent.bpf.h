/*
 * User stacks by frame pointers for sessions that last (check, top, serve): the most recent ones.
 *
 * A map of bpf_get_stackid() forgets nothing. Stacks are addresses, so each new process brings its
 * own, and on a host where processes come and go the map is full within a minute: from then on no
 * event has a code path. Here the key is of the frames' hash, so that an id means the same stack
 * for ever or none, and the kernel evicts what was not used for longest.
 */
#ifndef MEMWHY_BPF_RECENT_BPF_H
#define MEMWHY_BPF_RECENT_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct recent_stack);
} recent_stacks SEC(".maps");

struct recent_walk {
	u64 busy; /* a program that interrupts another one has no room */
	struct recent_stack stack;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct recent_walk);
} recent_walks SEC(".maps");

/* The user stack of the current task; 0: it has none. -1: it was not kept. */
static __noinline long recent_take(void *ctx)
{
	u32 zero = 0, key;
	struct recent_walk *w = bpf_map_lookup_elem(&recent_walks, &zero);
	u64 hash = 0;
	long bytes;

	if (!w || w->busy)
		return -1;
	w->busy = 1;
	bytes = bpf_get_stack(ctx, w->stack.frames, sizeof(w->stack.frames), BPF_F_USER_STACK);
	/* What is behind the last frame is 0 (__bpf_get_stack() in kernel/bpf/stackmap.c): to hash
	 * it with the rest is a loop without a branch, which the verifier walks once. */
	for (u32 i = 0; i < RECENT_DEPTH; i++)
		hash = stack_hash(hash, w->stack.frames[i]);
	w->stack.hash = hash;
	w->stack.n = bytes > 0 ? (u32)bytes / sizeof(u64) : 0;
	w->stack.method = STACK_BY_FRAME_POINTERS;
	w->stack.detail = STACK_KERNEL;
	key = w->stack.n ? stack_keep(&recent_stacks, &w->stack) : 0;
	key = w->stack.n && !key ? -1U : key;
	w->busy = 0;
	return key == -1U ? -1 : key;
}

#endif
