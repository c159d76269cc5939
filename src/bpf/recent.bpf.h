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

/* Of a function that makes a system call and has no frame of its own, as libc's: whence it was
 * called, which no frame pointer tells; 0: what is on top of the stack is no such place. */
static __always_inline u64 recent_caller(u64 stack_pointer)
{
	u64 address = 0;
	u8 code[6] = {}; /* ends where the caller goes on: behind an instruction that calls */

	bpf_probe_read_user(&address, sizeof(address), (void *)stack_pointer);
	if (bpf_probe_read_user(code, sizeof(code), (void *)(address - sizeof(code))))
		return 0;
	return code[1] == 0xe8 || (code[0] == 0xff && code[1] == 0x15) ||
			       (code[4] == 0xff && (code[5] & 0xf8) == 0xd0) ||
			       (code[3] == 0xff && (code[4] & 0xf8) == 0x50)
		       ? address
		       : 0;
}

/* The user stack of the current task, with this caller of its innermost function (0: not known); 0:
 * it has none. -1: it was not kept. */
static __noinline long recent_take(void *ctx, u64 caller)
{
	u32 zero = 0, key;
	struct recent_walk *w = bpf_map_lookup_elem(&recent_walks, &zero);
	u64 hash = 0;
	long bytes;

	if (!w || w->busy)
		return -1;
	w->busy = 1;
	if (caller) {
		bytes = bpf_get_stack(ctx, w->stack.frames + 1,
			sizeof(w->stack.frames) - sizeof(u64), BPF_F_USER_STACK);
		w->stack.frames[0] = w->stack.frames[1];
		w->stack.frames[1] = caller;
		bytes = bytes > 0 ? bytes + (long)sizeof(u64) : 0;
	} else {
		bytes = bpf_get_stack(
			ctx, w->stack.frames, sizeof(w->stack.frames), BPF_F_USER_STACK);
	}
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
