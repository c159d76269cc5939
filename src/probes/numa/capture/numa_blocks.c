/* See numa_blocks.h. */
#include "probes/numa/capture/numa_blocks.h"

#include <stdint.h>

#include "base/clock.h"
#include "capture/block_access.h"
#include "probes/numa/numa_opts.h"

int numa_block_ask(struct capture *c, const struct numa_sample *s)
{
	if (!c->blocks || !s->address || s->address >> 63)
		return 0;
	return c->blocks->touched(c->blocks->arg, s->tgid, s->tid, s->address, s->h.time_ns);
}

int numa_blocks_task(struct capture *c, const struct numa_task *t)
{
	if (!c->blocks || !c->blocks->forked ||
		(t->what != NUMA_TASK_FORK && t->what != NUMA_TASK_EXEC &&
			t->what != NUMA_TASK_EXIT))
		return 0;
	return c->blocks->forked(
		c->blocks->arg, t->tgid, t->what == NUMA_TASK_FORK ? t->parent : 0, t->h.time_ns);
}

int numa_blocks_missing(struct capture *c)
{
	char why[160];

	if (!OPTS_OF(struct numa_opts, c->opts)->untracked_why)
		return 0;
	snprintf(why, sizeof(why),
		"nothing can be preloaded into the command: %s; its heap is one object",
		OPTS_OF(struct numa_opts, c->opts)->untracked_why);
	return capture_method(c, "heap blocks", NULL, why);
}

/* Accesses from before the end of the last drain have all come by the end of this one. Where that
 * was long ago, this is done again, for what came since. */
int numa_blocks_settle(struct capture *c, u64 *drained_ns)
{
	u64 until = c->ending ? UINT64_MAX : *drained_ns;
	int rc;

	if (!c->blocks)
		return 0;
	*drained_ns = clock_mono_ns();
	rc = until ? c->blocks->settle(c, c->blocks->arg, until) : 0;
	return rc ? rc : !c->ending && *drained_ns - until > NSEC_PER_MSEC;
}
