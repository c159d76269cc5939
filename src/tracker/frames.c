/* See frames.h. */
#include "tracker/frames.h"

#include "cfi/mapped.h"
#include "cfi/step.h"
#include "tracker/modules.h"

u64 frame_cache[FRAME_CACHE];

/* Numbers of FRAME_OTHER; the first is FRAME_END. */
enum { OTHER_END, OTHER_NO_RULE, OTHER_STOP, OTHER_RULE };

#define RULES_MAX 1024
static struct cfi_rule rules[RULES_MAX];
static u32 rules_n;
static u32 rules_lock;

#define PAGE 4096ULL
#define STACK_MAX (64ULL << 20) /* a frame larger than that is none */

/* EFAULT comes before anything is done: there is no such `how`. */
static int readable(u64 at)
{
	return call(SYS_rt_sigprocmask, ~0, at & ~7ULL, 0, 8) != -14 /* EFAULT */;
}

void frame_begin(struct thread *t, u64 sp)
{
	t->stack_low = sp & ~(PAGE - 1);
	t->stack_high = t->stack_low + PAGE;
}

int frame_reaches(struct thread *t, u64 to)
{
	if (to < t->stack_low || to - t->stack_high > STACK_MAX)
		return 0;
	for (u64 high = t->stack_high; high < to; high += PAGE) {
		if (!readable(high))
			return 0;
		t->stack_high = high + PAGE;
	}
	return 1;
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

static int stack_read(void *ctx, u64 address, u64 *ret)
{
	struct thread *t = ctx;

	if (address & 7)
		return -1;
	if ((address < t->stack_low || address + 8 > t->stack_high) && !readable(address))
		return -1;
	*ret = *(const u64 *)address;
	return 0;
}

int frame_step_other(struct thread *t, struct frame_regs *r, u32 rule)
{
	u32 number = rule >> 2;
	struct cfi_regs regs = {
		.ip = r->ip,
		.sp = r->sp,
		.bp = r->bp,
		.exact = r->exact,
		.lost = CFI_LOST_BX | (r->bp_lost ? CFI_LOST_BP : 0),
	};
	int stop = CFI_STOP_UNSUPPORTED;

	if (number == OTHER_NO_RULE)
		stop = cfi_step_frame_pointer(&regs, stack_read, t);
	else if (number >= OTHER_RULE && number - OTHER_RULE < rules_n)
		stop = cfi_step(&rules[number - OTHER_RULE], &regs, stack_read, t);
	if (stop != CFI_STEPPED)
		return 0;
	*r = (struct frame_regs){
		.ip = regs.ip,
		.sp = regs.sp,
		.bp = regs.bp,
		.bp_at = FRAME_BP_UNKNOWN,
		.rule = rule,
		.exact = regs.exact,
		.bp_lost = !!(regs.lost & CFI_LOST_BP),
	};
	/* On another stack: of a signal handler, for one. */
	if (r->sp < t->stack_low || r->sp > t->stack_high)
		frame_begin(t, r->sp);
	return 1;
}

void frame_forget(void)
{
	loaded_forget();
	for (u32 i = 0; i < FRAME_CACHE; i++)
		__atomic_store_n(&frame_cache[i], 0, __ATOMIC_RELAXED);
}
