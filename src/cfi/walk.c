/* See walk.h. */
#include "cfi/walk.h"

#include <errno.h>
#include <string.h>

int cfi_stack_read(void *ctx, u64 address, u64 *ret)
{
	const struct cfi_stack *stack = ctx;
	u64 at = address - stack->start;

	if (address < stack->start || stack->n < sizeof(*ret) || at > stack->n - sizeof(*ret))
		return -EFAULT;
	memcpy(ret, stack->bytes + at, sizeof(*ret));
	return 0;
}

/* Code that no rule is for. What a frame pointer says is believed only if it leads to memory that
 * can be read; and what looks like the end of a stack is none in code made at run time, which some
 * other code has called. */
static int step_guess(const struct cfi_thread *thread, bool made, struct cfi_regs *regs)
{
	int stop = cfi_step_frame_pointer(regs, thread->read, thread->ctx);

	return stop == CFI_STOP_MEMORY || (stop == CFI_STOP_END && made) ? CFI_STOP_NO_RULE : stop;
}

/* Where code was interrupted, all registers are known, by the thread or by the signal's frame. */
static bool register_get(
	const struct cfi_thread *thread, const struct cfi_regs *regs, u8 reg, u64 *ret)
{
	if (!regs->exact)
		return false;
	if (regs->context)
		return !thread->read(
			thread->ctx, regs->context + (u64)(s64)cfi_context_offset(reg), ret);
	if (thread->registers)
		*ret = thread->registers[reg];
	return thread->registers;
}

static void other_get(
	const struct cfi_thread *thread, const struct cfi_rule *rule, struct cfi_regs *regs)
{
	bool wanted = rule->kind == CFI_OTHER || rule->kind == CFI_RETURN_IN;

	if (wanted && register_get(thread, regs, rule->arg & 15, &regs->other))
		regs->lost &= (u8)~CFI_LOST_OTHER;
}

/* The next instruction is then the one behind setjmp's call, a return address like any other. */
static int step_jump(
	const struct cfi_thread *thread, const struct cfi_rule *rule, struct cfi_regs *regs)
{
	u32 in = (u32)rule->cfa;
	struct cfi_regs to = {.lost = CFI_LOST_BX | CFI_LOST_OTHER};

	if (!register_get(thread, regs, in & 15, &to.ip) ||
		!register_get(thread, regs, in >> 4 & 15, &to.sp) ||
		!register_get(thread, regs, in >> 8 & 15, &to.bp))
		return CFI_STOP_UNSUPPORTED;
	if (to.sp & 7)
		return CFI_STOP_ASTRAY;
	*regs = to;
	return CFI_STEPPED;
}

static int step(const struct cfi_thread *thread, const struct cfi_place *at, struct cfi_regs *regs,
	bool *ret_guessed)
{
	const struct cfi_rule *rule = at->rule;
	bool guess = !rule || rule->kind == CFI_NONE;
	int stop;

	if (guess) {
		stop = step_guess(thread, at->made, regs);
	} else if (rule->kind == CFI_UNSUPPORTED && rule->cfa) {
		stop = step_jump(thread, rule, regs);
	} else {
		other_get(thread, rule, regs);
		stop = cfi_step(rule, regs, thread->read, thread->ctx);
	}
	*ret_guessed = guess && !stop;
	return stop;
}

int cfi_walk(const struct cfi_code *code, const struct cfi_thread *thread, struct cfi_frame *frames,
	size_t max, struct cfi_walk *ret)
{
	struct cfi_regs regs = thread->regs;
	struct cfi_walk walk = {};
	bool guessed = false;
	int stop = CFI_STEPPED;

	regs.lost |= CFI_LOST_OTHER;
	regs.context = 0;
	while (!stop) {
		struct cfi_frame *frame = &frames[walk.n];

		stop = walk.n == max ? CFI_STOP_DEPTH : CFI_STEPPED;
		if (stop)
			break;
		*frame = (struct cfi_frame){.ip = regs.ip, .exact = regs.exact, .guessed = guessed};
		stop = code->find(code->ctx, cfi_lookup_ip(&regs), &frame->at);
		if (stop)
			break;
		walk.n++;
		walk.guessed += guessed;
		stop = step(thread, &frame->at, &regs, &guessed);
		frame->at.rule = NULL;
	}
	walk.stop = stop < 0 ? CFI_STEPPED : (enum cfi_stop)stop;
	*ret = walk;
	return MIN(stop, 0);
}

int cfi_walk_copy(const struct cfi_code *code, const u64 registers[16], u64 ip, const u8 *bytes,
	size_t n, struct cfi_frame *frames, size_t max, struct cfi_walk *ret)
{
	struct cfi_stack stack = {.start = registers[CFI_REG_SP], .bytes = bytes, .n = n};
	const struct cfi_thread thread = {
		.regs = {.ip = ip,
			.sp = registers[CFI_REG_SP],
			.bp = registers[CFI_REG_BP],
			.bx = registers[CFI_REG_BX],
			.exact = 1},
		.registers = registers,
		.read = cfi_stack_read,
		.ctx = &stack,
	};

	return cfi_walk(code, &thread, frames, max, ret);
}
