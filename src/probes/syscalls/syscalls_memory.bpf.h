/*
 * --with-memory: how much of a call's time went into page faults, reclaim and compaction. A page
 * fault in the kernel begins with an exception and ends where the kernel counts it, as in the
 * faults probe; pages that a call maps without an exception (MAP_POPULATE, mlock) are no faults
 * here. Reclaim and compaction may lie within a fault.
 */
#ifndef MEMWHY_PROBES_SYSCALLS_MEMORY_BPF_H
#define MEMWHY_PROBES_SYSCALLS_MEMORY_BPF_H

#include "probes/syscalls/syscalls_state.bpf.h"

static __always_inline struct thread *thread_within(bool direct)
{
	struct thread *t = SYSCALL_THREAD_GET(direct, (u32)bpf_get_current_pid_tgid(), false);

	return t && t->sys.within == SYSCALL_FOLLOWED ? t : 0;
}

static __always_inline int part_begin(bool direct, u32 part)
{
	struct thread *t = thread_within(direct);

	if (t)
		t->part_start[part] = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int part_end(bool direct, u32 part)
{
	struct thread *t = thread_within(direct);

	if (!t || !t->part_start[part])
		return 0;
	t->part_ns[part] += bpf_ktime_get_ns() - t->part_start[part];
	t->part_n[part]++;
	t->part_start[part] = 0;
	return 0;
}

#define PART_PROGRAM(name_, at_, category_, end_, part_)                             \
	SEC("raw_tp/" #at_) int name_(void *ctx)                                     \
	{                                                                            \
		(void)ctx;                                                           \
		return end_ ? part_end(true, part_) : part_begin(true, part_);       \
	}                                                                            \
	SEC("raw_tp/" #at_) int name_##_hash(void *ctx)                              \
	{                                                                            \
		(void)ctx;                                                           \
		return end_ ? part_end(false, part_) : part_begin(false, part_);     \
	}                                                                            \
	SEC("tp/" #category_ "/" #at_) int name_##_tp(void *ctx)                     \
	{                                                                            \
		(void)ctx;                                                           \
		return PASS(end_ ? part_end(true, part_) : part_begin(true, part_)); \
	}

PART_PROGRAM(fault_begin, page_fault_kernel, exceptions, 0, SYSCALLS_FAULTS)
PART_PROGRAM(reclaim_begin, mm_vmscan_direct_reclaim_begin, vmscan, 0, SYSCALLS_RECLAIM)
PART_PROGRAM(reclaim_end, mm_vmscan_direct_reclaim_end, vmscan, 1, SYSCALLS_RECLAIM)
PART_PROGRAM(memcg_begin, mm_vmscan_memcg_reclaim_begin, vmscan, 0, SYSCALLS_RECLAIM)
PART_PROGRAM(memcg_end, mm_vmscan_memcg_reclaim_end, vmscan, 1, SYSCALLS_RECLAIM)
PART_PROGRAM(compact_begin, mm_compaction_begin, compaction, 0, SYSCALLS_COMPACTION)
PART_PROGRAM(compact_end, mm_compaction_end, compaction, 1, SYSCALLS_COMPACTION)

/* Software events: the kernel counts a fault when it has handled it. */
SEC("perf_event")
int fault_end(void *ctx)
{
	(void)ctx;
	return part_end(true, SYSCALLS_FAULTS);
}

SEC("perf_event")
int fault_end_hash(void *ctx)
{
	(void)ctx;
	return part_end(false, SYSCALLS_FAULTS);
}

#endif
