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

/* Code that no table is for. What a frame pointer says is believed only if it leads to memory that
 * can be read. */
static int step_guess(struct cfi_regs *regs, cfi_read_fn read, void *ctx, bool *ret_guessed)
{
	int stop = cfi_step_frame_pointer(regs, read, ctx);

	*ret_guessed = stop == CFI_STEPPED;
	return stop == CFI_STOP_MEMORY ? CFI_STOP_NO_RULE : stop;
}

/* Where code was interrupted, all registers are known, by the thread or by the signal's frame. */
static void other_get(
	const struct cfi_thread *thread, const struct cfi_rule *rule, struct cfi_regs *regs)
{
	bool wanted = rule->kind == CFI_OTHER || rule->kind == CFI_RETURN_IN;

	if (!wanted || !regs->exact)
		return;
	if (regs->context) {
		cfi_other_from_context(rule, regs, thread->read, thread->ctx);
	} else if (thread->registers) {
		regs->other = thread->registers[rule->arg & 15];
		regs->lost &= (u8)~CFI_LOST_OTHER;
	}
}

static int step(struct cfi_tables *tables, const struct cfi_thread *thread,
	const struct map_hit *at, struct cfi_regs *regs, bool *ret_guessed)
{
	const struct cfi_rule *rule;
	int rc = cfi_tables_find(tables, at->module, at->offset, &rule);

	*ret_guessed = false;
	if (rc == -ENOMEM)
		return rc;
	if (rc == -ENOEXEC)
		return CFI_STOP_UNSUPPORTED;
	if (rc || rule->kind == CFI_NONE)
		return step_guess(regs, thread->read, thread->ctx, ret_guessed);
	other_get(thread, rule, regs);
	return cfi_step(rule, regs, thread->read, thread->ctx);
}

int cfi_walk(struct cfi_tables *tables, const struct process_map *map,
	const struct cfi_thread *thread, struct cfi_frame *frames, size_t max, struct cfi_walk *ret)
{
	struct cfi_regs regs = thread->regs;
	struct cfi_walk walk = {};
	bool guessed = false;
	int stop = CFI_STEPPED;

	regs.lost |= CFI_LOST_OTHER;
	regs.context = 0;
	while (!stop) {
		struct map_hit hit;

		if (walk.n == max) {
			stop = CFI_STOP_DEPTH;
			break;
		}
		if (process_map_find(map, cfi_lookup_ip(&regs), &hit)) {
			stop = CFI_STOP_NO_CODE;
			break;
		}
		frames[walk.n++] = (struct cfi_frame){
			.ip = regs.ip,
			.module = hit.module,
			.offset = hit.offset,
			.exact = regs.exact,
			.guessed = guessed,
		};
		walk.guessed += guessed;
		stop = step(tables, thread, &hit, &regs, &guessed);
		if (stop < 0)
			return stop;
	}
	walk.stop = (enum cfi_stop)stop;
	*ret = walk;
	return 0;
}
