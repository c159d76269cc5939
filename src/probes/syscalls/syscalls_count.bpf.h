/* The tables of sums: by call, and by error. */
#ifndef MEMWHY_PROBES_SYSCALLS_COUNT_BPF_H
#define MEMWHY_PROBES_SYSCALLS_COUNT_BPF_H

#include "probes/syscalls/syscalls_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct syscalls_key);
	__type(value, struct syscalls_value);
} calls SEC(".maps");

SUM_TABLE(errors, struct syscalls_error_key);

static const struct syscalls_value value_zero = {};

static __always_inline struct syscalls_value *value_get(const struct syscalls_key *key)
{
	struct syscalls_value *v = bpf_map_lookup_elem(&calls, key);

	if (!v) {
		if (!bpf_map_update_elem(&calls, key, &value_zero, BPF_NOEXIST))
			table_key_made();
		v = bpf_map_lookup_elem(&calls, key);
	}
	if (v && !v->count) {
		bpf_get_current_comm(v->comm, sizeof(v->comm));
		v->cgroup = current_cgroup_id();
	}
	return v;
}

static __always_inline void value_time(struct syscalls_value *v, u64 ns)
{
	v->timed++;
	v->total_ns += ns;
	if (ns > v->max_ns)
		v->max_ns = ns;
	if (ns < v->min_ns || v->timed == 1)
		v->min_ns = ns;
	v->hist[log2_slot(ns, AGG_SLOTS - 1) & (AGG_SLOTS - 1)]++;
}

static __always_inline void error_count(
	const struct syscall_call *call, const struct syscalls_key *key)
{
	struct syscalls_error_key k = {
		.tgid = call->pid_tgid >> 32,
		.tid = key->tid,
		.nr = key->nr,
		.abi = call->abi,
		.error = -call->ret,
	};
	struct sum_value *v;

	__builtin_memcpy(k.comm, key->comm, sizeof(k.comm));
	v = sum_get(&errors, &k);
	if (v)
		v->count++;
}

static __always_inline void count_add_call(
	const struct syscall_call *call, const struct thread *t, u16 flags)
{
	struct syscalls_key key = {
		.tgid_abi = call->pid_tgid >> 32 | (u32)call->abi << SYSCALLS_KEY_ABI,
		.nr = call->nr,
		.tid = scope.by_thread ? (u32)call->pid_tgid : 0,
	};
	struct probe_counts *c = counts();
	struct syscalls_value *v;

	if (!c)
		return;
	c->seen++;
	if (config.comms)
		bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (scope.user_stacks && stack_due(c))
		key.ustack = stack_take(call->ctx, BPF_F_USER_STACK);
	v = value_get(&key);
	if (!v) {
		c->lost_map++;
		return;
	}
	v->count++;
	if (flags & SYSCALLS_REFUSED)
		v->refused++;
	if (flags & SYSCALLS_TIMED)
		value_time(v, call_ns(call));
	if (!(flags & SYSCALLS_NO_END) && call_failed(call)) {
		v->errors++;
		error_count(call, &key);
	}
	if (!config.memory)
		return;
	for (int i = 0; i < SYSCALLS_PARTS; i++) {
		v->part_ns[i] += t->part_ns[i];
		v->part_n[i] += t->part_n[i];
	}
}

#endif
