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
#include "bpf/user_regs.bpf.h"

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

/* A function starts this far below code of its own: those that make system calls are shorter, what
 * sets and copies memory is not. */
#define RECENT_FUNCTION_MAX 1024
#define RECENT_CODE 96 /* bytes before an instruction in which its function makes its frame */
#define RECENT_SAVED 6 /* registers that it has saved on the stack before that */

_Static_assert(RECENT_CODE <= RECENT_DEPTH * sizeof(u64), "code is read to where frames will be");

/* An instruction in a function that begins at `from` at the latest. */
struct recent_at {
	u64 ip, from;
};

static __always_inline bool recent_is_in(const struct recent_at *at, u64 function)
{
	return at->ip - function < RECENT_FUNCTION_MAX && function <= at->from;
}

static __always_inline u64 recent_word(u64 at)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)at);
	return word;
}

/* Where code that begins so jumps by a table, as in a procedure linkage table; 0: it does not. */
static __always_inline u64 recent_jump(u64 at)
{
	u64 code = recent_word(at);

	if ((u32)code == 0xfa1e0ff3) { /* endbr64 */
		at += 4;
		code = recent_word(at);
		if ((u8)code == 0xf2) { /* bnd */
			at++;
			code >>= 8;
		}
	}
	return (u16)code == 0x25ff ? recent_word(at + 6 + (u64)(s64)(s32)(code >> 16)) : 0;
}

/* Did the instruction that ends at `back` call the function that this one is in? by_register: one
 * that calls what is in a register may have. */
static __always_inline bool recent_called(u64 back, const struct recent_at *at, bool by_register)
{
	u64 code = recent_word(back - sizeof(code)), target = back + (u64)((s64)code >> 32);

	if ((u8)(code >> 24) == 0xe8)
		return recent_is_in(at, target) || recent_is_in(at, recent_jump(target));
	if ((u16)(code >> 16) == 0x15ff)
		return recent_is_in(at, recent_word(target));
	return by_register && ((code >> 48 & 0xf8ff) == 0xd0ff || (code >> 40 & 0xf8ff) == 0x50ff);
}

static __always_inline u64 recent_equals(u64 a, u64 b)
{
	u64 is = ((a ^ b) - 1) >> 63; /* of numbers below 2^63 */

	barrier_var(is); /* or the compiler makes branches of what is multiplied by it */
	return is;
}

/* The last instruction before ip that makes room on the stack, sub $imm8, %rsp, and how much; 0:
 * there is none. No branch in the loop: the verifier would follow each. */
static __always_inline u64 recent_makes_room(const u8 *code, u64 ip, u64 *ret_bytes)
{
	u64 at = 0;

	for (u32 i = 0; i < RECENT_CODE - 3; i++) {
		at += recent_equals(*(u32 *)(code + i) & 0xffffff, 0xec8348) * (i + 1 - at);
	}
	if (!at)
		return 0;
	at += ip - RECENT_CODE - 1;
	*ret_bytes = (u8)(recent_word(at) >> 24);
	return at;
}

/* The lowest of so many words of the stack that is an address behind an instruction that calls;
 * below it are registers that the function has saved. 0: none is. Without branches, too. */
static __always_inline u64 recent_back(u64 sp)
{
	u64 back = 0;

	for (u32 i = RECENT_SAVED + 1; i > 0; i--) {
		u64 word = recent_word(sp + 8 * (i - 1)), code = recent_word(word - 8);
		u64 is = recent_equals((u8)(code >> 24), 0xe8) |
			 recent_equals((u16)(code >> 16), 0x15ff);

		back += is * (word - back);
	}
	return back;
}

/* Whence the innermost function was called, where it keeps no frame pointer, as those of libc for
 * system calls and for setting memory. 0: no place on the stack is sure to be that. A global
 * function without a pointer: the verifier looks at it once an object, not once a program. */
__noinline u64 recent_caller(void)
{
	const struct pt_regs *user = task_user_regs();
	u32 zero = 0;
	struct recent_walk *w = bpf_map_lookup_elem(&recent_walks, &zero);
	struct {
		u64 orig_ax, ip, cs, flags, sp; /* as they lie in struct pt_regs */
	} regs;
	struct recent_at at = {};
	u64 back, room = 0;

	if (!w || !user || bpf_probe_read_kernel(&regs, sizeof(regs), &user->orig_rax) ||
		(u16)regs.cs != USER_CS)
		return 0;
	at.ip = regs.ip;
	if (!bpf_probe_read_user(w->stack.frames, RECENT_CODE, (void *)(regs.ip - RECENT_CODE)))
		at.from = recent_makes_room((void *)w->stack.frames, regs.ip, &room);
	back = at.from ? recent_back(regs.sp + room) : 0;
	if (recent_called(back, &at, false))
		return back;
	/* orig_ax is -1 after a fault or an interrupt. */
	at.from = regs.ip;
	back = recent_word(regs.sp);
	return recent_called(back, &at, (s64)regs.orig_ax >= 0) ? back : 0;
}

/* The user stack of the current task; 0: it has none. -1: it was not kept. */
static __noinline long recent_take(void *ctx)
{
	u32 zero = 0, key;
	struct recent_walk *w = bpf_map_lookup_elem(&recent_walks, &zero);
	u64 hash = 0, caller;
	long bytes;

	if (!w || w->busy)
		return -1;
	w->busy = 1;
	caller = recent_caller();
	bytes = bpf_get_stack(ctx, w->stack.frames, sizeof(w->stack.frames), BPF_F_USER_STACK);
	if (bytes > 0 && caller && caller != w->stack.frames[1]) {
		bytes = bpf_get_stack(ctx, w->stack.frames + 1,
			sizeof(w->stack.frames) - sizeof(u64), BPF_F_USER_STACK);
		w->stack.frames[0] = w->stack.frames[1];
		w->stack.frames[1] = caller;
		bytes = bytes > 0 ? bytes + (long)sizeof(u64) : 0;
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
