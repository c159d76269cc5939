/*
 * Waiting for zone->lock, by lock:contention_begin and _end (5.19). They fire for every kind of
 * lock, and only where there is something to wait for.
 *
 * A spinlock's first waiter fires none, unless the kernel has paravirtual spinlocks: it waits
 * without a queue (pending in kernel/locking/qspinlock.c), and where a hypervisor without them was
 * found nobody queues at all (virt_spin_lock). What is counted is a lower bound.
 */
#ifndef MEMWHY_PROBES_PAGES_WAIT_BPF_H
#define MEMWHY_PROBES_PAGES_WAIT_BPF_H

#include "probes/pages/pages_count.bpf.h"

struct spinlock {
} __attribute__((preserve_access_index));

struct zone {
	struct spinlock lock;
	struct pglist_data *zone_pgdat;
} __attribute__((preserve_access_index));

struct pglist_data {
	struct zone node_zones[1];
} __attribute__((preserve_access_index));

/* Is it the lock of a zone? Then the zone around it is one of the zones of the node that it names;
 * of no other lock will the memory around it say so. No symbol has to be known for that. */
static __always_inline bool is_zone_lock(u64 lock)
{
	u64 zone = lock - bpf_core_field_offset(struct zone, lock);
	struct pglist_data *node = BPF_CORE_READ((struct zone *)zone, zone_pgdat);
	u64 at = zone - (u64)node - bpf_core_field_offset(struct pglist_data, node_zones);

	return at < bpf_core_field_size(struct pglist_data, node_zones) &&
	       at % bpf_core_type_size(struct zone) == 0;
}

/* One CPU waits for one spinlock at a time, and nothing else runs on it meanwhile. */
static __always_inline int lock_wait(u64 lock)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu || !scope_match(bpf_get_current_pid_tgid()) || !is_zone_lock(lock))
		return 0;
	cpu->lock = drained_number(lock);
	cpu->lock_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int lock_waited(u64 lock)
{
	struct pages_cpu *cpu = this_cpu();

	if (!cpu || !cpu->lock || cpu->lock != drained_number(lock))
		return 0;
	cpu->lock = 0;
	cpu->n.waits++;
	cpu->n.wait_ns += bpf_ktime_get_ns() - cpu->lock_ns;
	return 0;
}

#endif
