/*
 * One `work` is a thread's reclaim from start to end; events of the scanner, the shrinkers and the
 * throttling in the same thread in between belong to it. kswapd's work has no end.
 */
#ifndef MEMWHY_PROBES_RECLAIM_WORK_BPF_H
#define MEMWHY_PROBES_RECLAIM_WORK_BPF_H

#include "bpf/common.bpf.h"
#include "probes/reclaim/reclaim.h"

const volatile struct reclaim_config config = {};

struct work {
	struct stall_key key;
	u64 start_ns; /* kswapd: when it woke, 0: not known or asleep */
	u64 scanned, reclaimed;
	u64 shrinker_ns, throttled_ns;
	u64 free_pages;
	/* the isolation that waits for the event with its node */
	u64 examined, taken;
	/* the shrinker at work */
	u64 shrinker_start_ns;
	s64 shrinker_to_scan;
	/* kswapd: what was already counted */
	u64 mark_ns, mark_cpu_ns;
	u64 balance_start_ns, balance_ns;
	u8 isolated; /* enum reclaim_lru plus one of the isolation that waits, 0: none */
};

static const struct work work_zero = {};

#define WORKS 8192

/* By thread id. Soft limit reclaim happens within direct reclaim or kswapd: it is NESTED. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WORKS);
	__type(key, u64);
	__type(value, struct work);
} works SEC(".maps");

#define NESTED (1ULL << 32)

static __always_inline struct work *work_add(u64 id, u64 pid_tgid, u8 kind)
{
	struct work *w;

	if (bpf_map_update_elem(&works, &id, &work_zero, BPF_ANY))
		return 0;
	w = bpf_map_lookup_elem(&works, &id);
	if (!w)
		return 0;
	w->key.tgid = pid_tgid >> 32;
	w->key.tid = scope.by_thread ? (u32)pid_tgid : 0;
	w->key.kind = kind;
	w->key.node = RECLAIM_NODE_UNKNOWN;
	return w;
}

/* A kernel thread named kswapd0, kswapd1, ... */
static __always_inline bool current_is_kswapd(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char comm[COMM_LEN] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	if (comm[0] != 'k' || comm[1] != 's' || comm[2] != 'w' || comm[3] != 'a' ||
		comm[4] != 'p' || comm[5] != 'd' || comm[6] < '0' || comm[6] > '9')
		return false;
	return !bpf_core_field_exists(task->mm) || !BPF_CORE_READ(task, mm);
}

/* What the current thread is at; NULL when it does not count, or began before we looked. */
static __always_inline struct work *work_current(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), id = NESTED | (u32)pid_tgid;
	struct work *w = bpf_map_lookup_elem(&works, &id);

	if (w)
		return w;
	id = (u32)pid_tgid;
	w = bpf_map_lookup_elem(&works, &id);
	if (w || !current_is_kswapd() || !scope_match(pid_tgid))
		return w;
	return work_add(id, pid_tgid, RECLAIM_KSWAPD);
}

/* vm_zone_stat[NR_FREE_PAGES]: the first of enum zone_stat_item from 5.10 to 7.3. */
static __always_inline u64 free_pages(void)
{
	s64 pages = 0;

	if (config.free_pages)
		bpf_probe_read_kernel(&pages, sizeof(pages), (void *)config.free_pages);
	return pages > 0 ? pages : 0;
}

#endif
