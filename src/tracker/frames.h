/*
 * From a frame to its caller's, by call-frame information, which is looked up once for each place
 * in the code. Where code has none, by frame pointers.
 *
 * No read of a stack may fault, wherever a wrong rule, a wild frame pointer or the frame of a
 * signal leads. So a word is read where it lies only if it is
 * - on the thread's own stack (thread.h), if the function that is running is there, from its frame
 *   on: where it is going to return to is mapped, or
 * - in the page that holds the frame of the function that is running.
 * All else the kernel copies, which fails where there is nothing: other stacks may be gone by now,
 * or go while they are read. So may the own one, once the thread runs on another for good.
 */
#ifndef MEMWHY_TRACKER_FRAMES_H
#define MEMWHY_TRACKER_FRAMES_H

#include "tracker/thread.h"

/* What the kernel copied last. */
#define FRAME_COPY 2048 /* words */
struct frame_copy {
	u64 from, end;
	u64 reach; /* end of the last page that was needed, in this walk or the one before */
	u64 word[FRAME_COPY];
};

struct frame_regs {
	u64 ip, sp, bp;
	u64 bp_at; /* where bp was found; 0: it was still in the register */
	u64 high;  /* from sp up to here all may be read where it lies; 0: nothing is known */
	struct frame_copy *copy; /* NULL: each word is copied alone */
	u64 page;    /* of the function that is running, if not on the thread's own stack; else 0 */
	u64 own;     /* from here on the thread's own stack is read where it lies; ~0: none of it */
	u32 changes; /* see own_stack.h */
	u32 rule;    /* of the step that led here, or that could not be made */
	u8 exact;    /* ip is no return address: a signal came there */
	u8 bp_lost;
	u8 strayed; /* not all that was read is on the thread's own stack */
	u8 parted;  /* it may have come to another stack than it began on */
};

/*
 * A rule in 32 bits: kind (2), and for FRAME_SP and FRAME_BP: whether bp is saved (1), CFA (17)
 * and bp's place (12) in units of 8 bytes; for FRAME_OTHER a number.
 */
#define FRAME_BP_UNKNOWN 1 /* found by a rare rule: who compares has to walk */

enum frame_kind { FRAME_EMPTY, FRAME_SP, FRAME_BP, FRAME_OTHER };

#define FRAME_SAVED 4
#define FRAME_END FRAME_OTHER /* the first number: the outermost frame */
#define FRAME_CFA(rule) ((s64)(s32)((rule) << 12) >> 15 << 3)
#define FRAME_BP_AT(rule) ((s64)(s32)(rule) >> 20 << 3)

#define FRAME_CACHE_BITS 15
#define FRAME_CACHE (1U << FRAME_CACHE_BITS)

/* High half: what of the place its index does not tell; low half: its rule. */
extern OURS u64 frame_cache[FRAME_CACHE];

/* Looks the rule up and keeps it. */
u32 frame_rule_find(u64 place);
/* By the rules that are rare. 0: there is no caller. */
int frame_step_other(struct thread *t, struct frame_regs *r, u32 rule);
/* Where a walk begins that is not on the thread's own stack, or not on its known part. */
void frame_begin(struct frame_regs *r);
/* The step of a rule of the usual kinds to where it is not known what may be read. */
int frame_step_far(struct thread *t, struct frame_regs *r, u64 cfa);
/* Where a walk ended and the thread's own stack is not known yet: finds out. */
void frame_end(struct thread *t, const struct frame_regs *r);
void frame_forget(void);

static inline u32 frame_rule(u64 place)
{
	u64 tag = place >> FRAME_CACHE_BITS, e;

	e = __atomic_load_n(
		&frame_cache[(place ^ tag ^ tag >> 9) & (FRAME_CACHE - 1)], __ATOMIC_RELAXED);
	return likely(e >> 32 == (u32)tag && (u32)e) ? (u32)e : frame_rule_find(place);
}

static inline int frame_is_own(const struct thread *t, u64 at)
{
	return at >= t->stack_low && at < t->stack_high;
}

static inline void frame_start(
	struct thread *t, struct frame_copy *copy, const u64 *frame, struct frame_regs *r)
{
	*r = (struct frame_regs){
		.bp = frame[0],
		.ip = frame[1],
		.sp = (u64)(frame + 2),
		.high = t->stack_high,
		.own = (u64)(frame + 2),
		.copy = copy,
	};
	if (unlikely(r->sp <= t->stack_low || r->sp > t->stack_high))
		frame_begin(r);
}

/* 0: that was the outermost one, or all that can be told. */
static inline int frame_step(struct thread *t, struct frame_regs *r)
{
	u32 rule = frame_rule(r->ip - !r->exact), kind = rule & 3;
	u64 cfa;

	r->rule = rule;
	if (unlikely(kind == FRAME_OTHER))
		return frame_step_other(t, r, rule);
	cfa = (kind == FRAME_SP ? r->sp : r->bp) + (u64)FRAME_CFA(rule);
	if (unlikely(cfa <= r->sp || cfa & 7 || (kind == FRAME_BP && r->bp_lost)))
		return 0;
	if (unlikely(cfa > r->high))
		return frame_step_far(t, r, cfa);
	r->bp_at = 0;
	if (rule & FRAME_SAVED) {
		r->bp_at = cfa + (u64)FRAME_BP_AT(rule);
		if (unlikely(r->bp_at < r->sp || r->bp_at > cfa - 8))
			return 0;
		r->bp = *(const u64 *)r->bp_at;
		r->bp_lost = 0;
	}
	r->sp = cfa;
	r->ip = *(const u64 *)(cfa - 8);
	r->exact = 0;
	return r->ip != 0;
}

#endif
