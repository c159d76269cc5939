/* See frames.h. */
#include "tracker/frames.h"

#include "cfi/mapped.h"
#include "cfi/step.h"
#include "tracker/forbid.h"
#include "tracker/modules.h"
#include "tracker/own_stack.h"
#include "tracker/real.h"

u64 frame_cache[FRAME_CACHE];

/* Numbers of FRAME_OTHER; the first is FRAME_END. */
enum { OTHER_END, OTHER_NO_RULE, OTHER_STOP, OTHER_RULE };

#define RULES_MAX 1024
static struct cfi_rule rules[RULES_MAX];
static u32 rules_n;
static u32 rules_lock;

#define PAGE 4096ULL
#define FRAME_MAX (16ULL << 20) /* a frame larger than that is none */
#define MAIN_NEAR PAGE          /* so near to where its stack begins the first frame is */
#define TLS_NEAR (64ULL << 10)  /* and of other threads, to their thread-local memory */

struct at {
	struct thread *t;
	struct frame_regs *r;
};

/* EFAULT comes before anything is done: there is no such `how`. */
static int readable(u64 at)
{
	long rc = may_call(SYS_rt_sigprocmask, ~0, at & ~7ULL, 0, 8);

	return rc != NOT_CALLED && rc != -14 /* EFAULT */;
}

/* All pages from that of `from` up to that of the byte before `to`. */
static int all_readable(u64 from, u64 to)
{
	if (to < from || to - from > FRAME_MAX)
		return 0;
	for (u64 at = from & ~(PAGE - 1); at < to; at += PAGE)
		if (!readable(at))
			return 0;
	return 1;
}

/* How many bytes there are, up to so many. */
static u64 copy(u64 from, u64 *to, u64 bytes)
{
	struct {
		void *at;
		u64 n;
	} here = {to, bytes}, there = {(void *)from, bytes};
	long n = may_call(SYS_process_vm_readv, self->pid, &here, 1, &there, 1, 0);

	return n > 0 ? (u64)n : 0;
}

/* With a place to keep what is copied, as much as the last walk needed: a page more costs little.
 */
static int read_copy(struct frame_copy *c, u64 at, u64 *ret)
{
	u64 most = at + sizeof(c->word), end = (at & ~(PAGE - 1)) + PAGE;

	if (!c)
		return copy(at, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -1;
	if (at < c->from || at >= c->end) {
		if (c->reach < end || c->reach - end > FRAME_MAX)
			c->reach = end;
		c->from = at;
		c->end = at + copy(at, c->word, (c->reach < most ? c->reach : most) - at);
	}
	if (at + sizeof(*ret) > c->end)
		return -1;
	*ret = c->word[(at - c->from) / sizeof(*ret)];
	return 0;
}

/* From here on it is more than the thread's own stack. What was copied in another walk is old. */
static void stray(struct frame_regs *r)
{
	if (!r->strayed && r->copy)
		r->copy->from = r->copy->end = 0;
	r->strayed = 1;
}

static int stack_read(void *ctx, u64 address, u64 *ret)
{
	const struct at *at = ctx;

	if (address & 7)
		return -1;
	if (address < at->r->own || address >= at->t->stack_high) {
		stray(at->r);
		if (!at->r->page || (address & ~(PAGE - 1)) != at->r->page)
			return read_copy(at->r->copy, address, ret);
	}
	*ret = *(const u64 *)address;
	return 0;
}

/* The return address that was just read is in the page. */
void frame_begin(struct frame_regs *r)
{
	stray(r);
	r->changes = own_stack_changes();
	r->page = (r->sp - 8) & ~(PAGE - 1);
	r->high = r->page + PAGE;
	r->own = ~0ULL;
}

/*
 * The frame from `from` to `to` is sound: its last word was read. Is it on one stack? One of fixed
 * size is, as its code says so; one found by a frame pointer if there is no gap in it, since stacks
 * do not join each other.
 */
static int is_on_one_stack(u64 from, u64 to, int fixed)
{
	return to > from && (fixed || to - from <= PAGE || all_readable(from, to));
}

/* The walk has come to r->sp, from `from`. All that it came by is on the thread's own stack if that
 * is, and if it did not leave the stack that it began on. */
static void frame_moved(struct thread *t, struct frame_regs *r, u64 from)
{
	if (!frame_is_own(t, r->sp - 8) || r->sp < from)
		stray(r);
	if (r->page && !r->parted && frame_is_own(t, r->sp)) {
		r->own = r->sp;
		if (r->page < t->stack_low)
			own_stack_learn(t, r->page, t->stack_high, r->changes);
	}
	r->high = r->sp >= r->own && r->sp < t->stack_high ? t->stack_high : 0;
}

int frame_step_far(struct thread *t, struct frame_regs *r, u64 cfa)
{
	u64 bp_at = r->rule & FRAME_SAVED ? cfa + (u64)FRAME_BP_AT(r->rule) : 0, bp = r->bp, ip;
	u64 from = r->sp;
	struct at at = {t, r};

	if (cfa - r->sp > FRAME_MAX || (bp_at && (bp_at < r->sp || bp_at > cfa - 8)) ||
		(bp_at && stack_read(&at, bp_at, &bp)) || stack_read(&at, cfa - 8, &ip))
		return 0;
	r->parted |= !r->parted && !is_on_one_stack(r->sp, cfa, (r->rule & 3) == FRAME_SP);
	r->bp_lost &= !bp_at;
	r->bp_at = bp_at;
	r->bp = bp;
	r->sp = cfa;
	r->ip = ip;
	r->exact = 0;
	frame_moved(t, r, from);
	return ip != 0;
}

static int is_near(u64 sp, u64 end, u64 near)
{
	return sp <= end && end - sp <= near && all_readable(sp, end);
}

/* It ended where stacks begin: that of the first thread where the kernel put it, that of any other
 * one below its thread-local memory. */
void frame_end(struct thread *t, const struct frame_regs *r)
{
	u64 main_stack = real_stack(), high = 0;

	if (is_near(r->sp, main_stack, MAIN_NEAR))
		high = main_stack;
	else if (is_near(r->sp, (u64)t, TLS_NEAR))
		high = (u64)t;
	if (r->parted || !high)
		return;
	own_stack_learn(t, r->page, high, r->changes);
}

static void rule_of(const struct loaded *o, u64 place, struct cfi_rule *ret)
{
	const struct cfi_section file = {
		.data = (const u8 *)o->start, .size = o->end - o->start, .address = o->start};
	u64 header = (u64)o->eh_frame_header;
	struct cfi_mapped m;
	struct cfi_row row;

	if (!header || cfi_mapped_init(&m, &file, header, o->end - header))
		return;
	/* Of code that the file says nothing of: where a coroutine ends, for one. */
	if (cfi_mapped_find(&m, place, &row))
		*ret = row.rule;
	else
		ret->kind = CFI_END;
}

static u32 other(u32 number)
{
	return number << 2 | FRAME_OTHER;
}

/* A number for a rule that is rare. */
static u32 rule_keep(const struct cfi_rule *rule)
{
	u32 number = OTHER_STOP;

	if (__atomic_exchange_n(&rules_lock, 1, __ATOMIC_ACQUIRE))
		return other(OTHER_STOP); /* a signal handler, or another thread: not kept */
	for (u32 i = 0; i < rules_n && number == OTHER_STOP; i++)
		if (!__builtin_memcmp(&rules[i], rule, sizeof(*rule)))
			number = OTHER_RULE + i;
	if (number == OTHER_STOP && rules_n < RULES_MAX) {
		rules[rules_n] = *rule;
		number = OTHER_RULE + rules_n;
		__atomic_store_n(&rules_n, rules_n + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&rules_lock, 0, __ATOMIC_RELEASE);
	return other(number);
}

static int fits(s32 value, u32 bits)
{
	s32 high = 1 << (bits + 2);

	return !(value & 7) && value >= -high && value < high;
}

static u32 rule_pack(const struct cfi_rule *r)
{
	u32 packed;

	if (r->kind == CFI_END)
		return other(OTHER_END);
	if (r->kind == CFI_NONE)
		return other(OTHER_NO_RULE);
	if ((r->kind != CFI_SP && r->kind != CFI_BP) || !fits(r->cfa, 17) ||
		(r->bp != CFI_SAME && (r->bp != CFI_AT_CFA || !fits(r->bp_at, 12))))
		return rule_keep(r);
	packed = r->kind == CFI_SP ? FRAME_SP : FRAME_BP;
	packed |= ((u32)(r->cfa >> 3) & 0x1ffff) << 3;
	if (r->bp == CFI_AT_CFA)
		packed |= FRAME_SAVED | (u32)(r->bp_at >> 3) << 20;
	return packed;
}

u32 frame_rule_find(u64 place)
{
	struct cfi_rule rule = {.kind = CFI_NONE};
	u64 tag = place >> FRAME_CACHE_BITS;
	struct loaded o;
	u32 packed;

	if (!loaded_find(place, &o))
		return other(OTHER_NO_RULE); /* made at run time: it may be other code soon */
	loaded_note(&o);
	rule_of(&o, place, &rule);
	packed = rule_pack(&rule);
	if (packed != other(OTHER_STOP))
		__atomic_store_n(&frame_cache[(place ^ tag ^ tag >> 9) & (FRAME_CACHE - 1)],
			tag << 32 | packed, __ATOMIC_RELAXED);
	return packed;
}

int frame_step_other(struct thread *t, struct frame_regs *r, u32 rule)
{
	u32 number = rule >> 2;
	struct at at = {t, r};
	struct cfi_regs regs = {
		.ip = r->ip,
		.sp = r->sp,
		.bp = r->bp,
		.exact = r->exact,
		.lost = CFI_LOST_BX | (r->bp_lost ? CFI_LOST_BP : 0),
	};
	int stop = CFI_STOP_UNSUPPORTED, signal = 0;
	u64 from = r->sp;

	if (number == OTHER_NO_RULE) {
		stop = cfi_step_frame_pointer(&regs, stack_read, &at);
	} else if (number >= OTHER_RULE && number - OTHER_RULE < rules_n) {
		signal = rules[number - OTHER_RULE].kind == CFI_SIGNAL;
		stop = cfi_step(&rules[number - OTHER_RULE], &regs, stack_read, &at);
	}
	if (stop != CFI_STEPPED)
		return 0;
	r->parted |= signal || (!r->parted && !is_on_one_stack(r->sp, regs.sp, 0));
	r->ip = regs.ip;
	r->sp = regs.sp;
	r->bp = regs.bp;
	r->bp_at = FRAME_BP_UNKNOWN;
	r->exact = regs.exact;
	r->bp_lost = !!(regs.lost & CFI_LOST_BP);
	frame_moved(t, r, from);
	return 1;
}

void frame_forget(void)
{
	loaded_forget();
	for (u32 i = 0; i < FRAME_CACHE; i++)
		__atomic_store_n(&frame_cache[i], 0, __ATOMIC_RELAXED);
}
