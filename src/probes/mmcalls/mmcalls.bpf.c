/*
 * Calls that change an address space or wait until something is on disk, from begin to end, and
 * signals for memory that may not be touched. sys_enter fires for every call of every program: so
 * only in bursts. Which of the numbers is meant is told by the native table; calls of 32-bit
 * programs are taken for other ones of theirs, and told wrongly.
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

/* NULL: none is on. */
static __always_inline struct burst_now *burst_find(void)
{
	u32 zero = 0;
	struct burst_now *b = bpf_map_lookup_elem(&burst, &zero);

	return b && b->number && bpf_ktime_get_ns() < b->until_ns ? b : 0;
}

#define THREADS 4096
#define SIGNAL_BUS 7
#define SIGNAL_SEGV 11

/* A call that a thread is in. One that no end was seen of is that of an earlier burst. */
struct call_begun {
	u64 ns, burst;
	struct mmcalls_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct call_begun);
} begun SEC(".maps");

static __always_inline bool is_wanted(u64 nr)
{
	if (nr == MMCALLS_PKEY_MPROTECT || mmcalls_syncs(nr))
		return true;
	return nr < 64 &&
	       (1ULL << MMCALLS_MMAP | 1ULL << MMCALLS_MPROTECT | 1ULL << MMCALLS_MUNMAP |
		       1ULL << MMCALLS_BRK | 1ULL << MMCALLS_MREMAP | 1ULL << MMCALLS_MADVISE) >>
			       nr &
		       1;
}

/* Counts one: key.call. NULL: it does not count. */
static __always_inline struct agg_value *call_count(void *ctx, struct mmcalls_key *key)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct probe_counts *c;
	struct agg_value *v;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	key->tgid = pid_tgid >> 32;
	if (stack_due(c))
		key->ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&table, key, 1);
	if (v)
		v->count++;
	return v;
}

/* (struct pt_regs *, long id) */
SEC("raw_tp/sys_enter")
int call_begins(struct bpf_raw_tracepoint_args *ctx)
{
	u64 nr = ctx->args[1];
	struct call_begun call = {};
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct burst_now *b;
	struct agg_value *v;
	struct pt_regs regs;

	if (!is_wanted(nr))
		return 0;
	b = burst_find();
	if (!b)
		return 0;
	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]);
	call.key.call = nr == MMCALLS_PKEY_MPROTECT ? MMCALLS_MPROTECT : (u16)nr;
	if (nr == MMCALLS_MADVISE)
		call.key.advice = (u16)regs.rdx;
	v = call_count(ctx, &call.key);
	if (!v)
		return 0;
	if (nr != MMCALLS_BRK && (!mmcalls_syncs(nr) || nr == MMCALLS_MSYNC))
		v->sum[MMCALLS_BYTES] += regs.rsi;
	call.burst = b->number;
	call.ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&begun, &tid, &call, BPF_ANY);
	return 0;
}

/* A call that began before the burst. A disk may take longer for one than a burst lasts. */
static __always_inline void sync_ends(void *ctx, const struct burst_now *b, u64 nr)
{
	struct mmcalls_key key = {.call = (u16)nr};
	struct agg_value *v = call_count(ctx, &key);

	if (v)
		agg_time(v, bpf_ktime_get_ns() - b->since_ns);
}

/* (struct pt_regs *, long ret) */
SEC("raw_tp/sys_exit")
int call_ends(struct bpf_raw_tracepoint_args *ctx)
{
	const struct pt_regs *regs = (void *)ctx->args[0];
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct call_begun *call;
	struct burst_now *b;
	struct agg_value *v;
	u64 nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &regs->orig_rax);
	if (!is_wanted(nr))
		return 0;
	call = bpf_map_lookup_elem(&begun, &tid);
	b = burst_find();
	if (b && mmcalls_syncs(nr) && (!call || call->burst != b->number))
		sync_ends(ctx, b, nr);
	if (!call)
		return 0;
	v = b && call->burst == b->number ? bpf_map_lookup_elem(&table, &call->key) : 0;
	if (v && v->count) /* on this CPU it has a name then */
		agg_time(v, bpf_ktime_get_ns() - call->ns);
	bpf_map_delete_elem(&begun, &tid);
	return 0;
}

/* (int sig, struct kernel_siginfo *, struct k_sigaction *): without a handler it would end. */
SEC("raw_tp/signal_deliver")
int signal_comes(struct bpf_raw_tracepoint_args *ctx)
{
	struct mmcalls_key key = {.call = MMCALLS_SIGNAL};
	u32 signal = (u32)ctx->args[0];

	if ((signal == SIGNAL_SEGV || signal == SIGNAL_BUS) && burst_find())
		call_count(ctx, &key);
	return 0;
}
