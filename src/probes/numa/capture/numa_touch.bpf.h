/*
 * First touch: page faults at their end (PERF_COUNT_SW_PAGE_FAULTS_MIN), one in NUMA_TOUCH_PERIOD.
 * The access has just put a page there, or got a copy of its own, on the node that is read from the
 * page tables; or it mapped a file's page that was in the page cache, or made one writable: these
 * are not distinguished, as that would cost a program at each fault.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_TOUCH_BPF_H
#define MEMWHY_PROBES_NUMA_CAPTURE_TOUCH_BPF_H

#include "probes/numa/capture/numa_hint.bpf.h"

#define X86_USER_MODE 3 /* of the code segment */

static __always_inline void touch_fill(
	struct numa_sample *s, u64 address, const struct pt_regs *regs)
{
	s->source = NUMA_FIRST_TOUCH;
	s->address = address;
	s->weight = NUMA_TOUCH_PERIOD;
	s->ip = regs->rip;
	s->cpu = (s32)bpf_get_smp_processor_id();
	s->cpu_node = bpf_get_numa_node_id();
	s->page_node = node_now(address, &s->page_shift);
	if (s->page_node >= 0)
		s->node_from = NUMA_PAGE_SEEN;
	if (regs->cs & X86_USER_MODE)
		s->sp = regs->rsp;
	else
		s->h.flags |= NUMA_IN_KERNEL;
}

SEC("perf_event")
int page_touch(struct bpf_perf_event_data *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct probe_counts *c = counts();
	void *here = ring_here();
	struct numa_event *e;

	if (!c || !here || !scope_match(pid_tgid))
		return 0;
	c->seen++;
	e = event_new(here, pid_tgid, REC_NUMA_SAMPLE);
	if (!e)
		return 0;
	touch_fill(&e->sample, ctx->addr, (const struct pt_regs *)&ctx->regs);
	e->tls = tls_of((void *)bpf_get_current_task());
	if (stack_due(c))
		e->sample.ustack = stack_take(ctx, BPF_F_USER_STACK);
	event_send(here, e);
	return 0;
}

#endif
