/*
 * What all programs of numa's capture share: its constants, and room in the ring of a CPU. The
 * program of a watchpoint runs as in an NMI: in a ring for all CPUs it would find the lock taken,
 * and lose the event (in a guest whose CPUs take turns, hundreds in a row).
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_RING_BPF_H
#define MEMWHY_PROBES_NUMA_CAPTURE_RING_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/page_node.bpf.h"
#include "probes/numa/capture/numa_config.h"

const volatile struct numa_config numa_config = {};

RINGS(rings);

/* The ring of this CPU; NULL: not there yet, nothing counts. */
static __always_inline void *ring_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* Room for an event, with its header and whose it is; NULL, counted as lost. */
static __always_inline struct numa_event *event_new(void *here, u64 pid_tgid, u16 kind)
{
	struct numa_event *e = bpf_ringbuf_reserve(here, sizeof(*e), 0);

	if (!e) {
		count_add(lost_ring);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	rec_fill(&e->h, kind, sizeof(*e));
	/* All kinds have them in the same place. */
	e->sample.tgid = pid_tgid >> 32;
	e->sample.tid = (u32)pid_tgid;
	e->cgroup = current_cgroup_id();
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	return e;
}

/* As ring_submit. */
static __always_inline void event_send(void *here, struct numa_event *e)
{
	u64 over = bpf_ringbuf_query(here, BPF_RB_AVAIL_DATA) - numa_config.wake_bytes;

	bpf_ringbuf_submit(e, over < 4 * (sizeof(*e) + 8) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
