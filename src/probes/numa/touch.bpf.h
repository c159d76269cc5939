/*
 * First touch: page faults at their end (PERF_COUNT_SW_PAGE_FAULTS_MIN), one in NUMA_TOUCH_PERIOD.
 * Where no page was mapped the access has just put one there, on the node that is read from the
 * page tables. (Of a file, the page may have been in the page cache before.)
 */
#ifndef MEMWHY_PROBES_NUMA_TOUCH_BPF_H
#define MEMWHY_PROBES_NUMA_TOUCH_BPF_H

#include "probes/numa/hint.bpf.h"

#define X86_PF_PROT 1 /* a page was mapped: the access was not allowed */

static __always_inline void touch_fill(
	struct numa_sample *s, const struct slot *slot, u64 address, const struct pt_regs *regs)
{
	s->source = slot->error_code & X86_PF_PROT ? NUMA_FAULT : NUMA_FIRST_TOUCH;
	s->address = address;
	s->op = access_of(slot->error_code);
	s->weight = NUMA_TOUCH_PERIOD;
	s->ip = regs->rip;
	s->cpu = (s32)bpf_get_smp_processor_id();
	s->cpu_node = bpf_get_numa_node_id();
	s->page_node = node_now(address, &s->page_shift);
	if (s->page_node >= 0)
		s->node_from = NUMA_PAGE_SEEN;
	if (slot->error_code & X86_PF_USER)
		s->sp = regs->rsp;
	else
		s->h.flags |= NUMA_IN_KERNEL;
}

SEC("perf_event")
int page_touch(struct bpf_perf_event_data *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct slot *slot = slot_of((u32)pid_tgid);
	struct probe_counts *c = counts();
	void *here = ring_here();
	struct numa_event *e;

	if (!c || !here || !scope_match(pid_tgid) || !slot || slot->tid != (u32)pid_tgid ||
		slot->address != ctx->addr || slot->hint)
		return 0;
	c->seen++;
	e = event_new(here, pid_tgid, REC_NUMA_SAMPLE);
	if (!e)
		return 0;
	touch_fill(&e->sample, slot, ctx->addr, (const struct pt_regs *)&ctx->regs);
	e->tls = tls_of((void *)bpf_get_current_task());
	if (stack_due(c))
		e->sample.ustack = stack_take(ctx, BPF_F_USER_STACK);
	event_send(here, e);
	return 0;
}

#endif
