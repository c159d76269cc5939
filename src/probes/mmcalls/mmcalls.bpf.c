/*
 * Calls that change an address space, as they begin. sys_enter fires for every call of every
 * program: so only in bursts. Which of the numbers is meant is told by the native table; calls of
 * 32-bit programs are taken for other ones of theirs, and told wrongly.
 */
#include "bpf/common.bpf.h"
#include "probes/mmcalls/mmcalls.h"

AGG_TABLE(table, struct mmcalls_key);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct burst_now);
} burst SEC(".maps");

static __always_inline bool burst_is_on(void)
{
	u32 zero = 0;
	struct burst_now *b = bpf_map_lookup_elem(&burst, &zero);

	return b && b->number && bpf_ktime_get_ns() < b->until_ns;
}

static __always_inline bool is_wanted(u64 nr)
{
	return nr < 64 &&
	       (1ULL << MMCALLS_MMAP | 1ULL << MMCALLS_MPROTECT | 1ULL << MMCALLS_MUNMAP |
		       1ULL << MMCALLS_BRK | 1ULL << MMCALLS_MREMAP | 1ULL << MMCALLS_MADVISE) >>
			       nr &
		       1;
}

/* (struct pt_regs *, long id) */
SEC("raw_tp/sys_enter")
int call_begins(struct bpf_raw_tracepoint_args *ctx)
{
	u64 nr = ctx->args[1], pid_tgid;
	struct mmcalls_key key = {.call = (u16)nr};
	struct probe_counts *c;
	struct agg_value *v;
	struct pt_regs regs;

	if (!is_wanted(nr) || !burst_is_on())
		return 0;
	pid_tgid = bpf_get_current_pid_tgid();
	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]);
	key.tgid = pid_tgid >> 32;
	if (nr == MMCALLS_MADVISE)
		key.advice = (u16)regs.rdx;
	if (stack_due(c))
		key.ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&table, &key, 1);
	if (!v)
		return 0;
	v->count++;
	if (nr != MMCALLS_BRK)
		v->sum[MMCALLS_BYTES] += regs.rsi;
	return 0;
}
