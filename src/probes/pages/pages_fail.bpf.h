/* Single events (--each): allocations that failed. */
#ifndef MEMWHY_PROBES_PAGES_FAIL_BPF_H
#define MEMWHY_PROBES_PAGES_FAIL_BPF_H

#include "bpf/common.bpf.h"
#include "probes/pages/pages.h"

static __always_inline int page_failed(void *ctx, u32 order, u32 gfp, u32 migratetype)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct probe_counts *c;
	struct pages_failure *e;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	e = ring_reserve(sizeof(*e));
	if (!e)
		return 0;
	rec_fill(&e->h, REC_PAGES_FAILURE, sizeof(*e));
	e->tgid = pid_tgid >> 32;
	e->tid = (u32)pid_tgid;
	e->ustack = e->kstack = 0;
	if (stack_due(c)) {
		e->ustack = stack_take(ctx, BPF_F_USER_STACK);
		e->kstack = stack_kernel(ctx, RAW_FRAMES);
	}
	e->cgroup = current_cgroup_id();
	e->gfp = gfp;
	e->order = order;
	e->migratetype = migratetype;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
	return 0;
}

#endif
