/*
 * System calls that fail since a name does not exist, as they end. sys_exit fires for every call of
 * every program: so only in bursts. Which of the numbers is meant is told by the native table;
 * calls of 32-bit programs are taken for other ones of theirs, and told wrongly.
 */
#include "bpf/common.bpf.h"
#include "bpf/path.bpf.h"
#include "probes/lookups/lookups.h"

#define ENOENT 2

AGG_TABLE(table, struct lookups_key);

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

enum takes { TAKES_NO_PATH, TAKES_FIRST, TAKES_SECOND };

static __always_inline enum takes path_of(u64 nr)
{
	switch (nr) {
	case 2:  /* open */
	case 4:  /* stat */
	case 6:  /* lstat */
	case 21: /* access */
	case 59: /* execve */
	case 87: /* unlink */
	case 89: /* readlink */
		return TAKES_FIRST;
	case 257: /* openat */
	case 262: /* newfstatat */
	case 263: /* unlinkat */
	case 267: /* readlinkat */
	case 269: /* faccessat */
	case 332: /* statx */
	case 437: /* openat2 */
	case 439: /* faccessat2 */
		return TAKES_SECOND;
	}
	return TAKES_NO_PATH;
}

static __always_inline bool removes(u64 nr)
{
	return nr == 87 || nr == 263; /* unlink, unlinkat */
}

/* The directory of the path, or its end. The kernel has just read it, so it is in memory. */
static __always_inline void directory_take(struct agg_value *v, u64 path)
{
	u32 last = path_last(path, true);

	if (!last)
		return;
	if (last < AGG_NAME_LEN) {
		bpf_probe_read_user(v->name, last & (AGG_NAME_LEN - 1), (void *)path);
		return;
	}
	v->sum[LOOKUPS_CUT] = 1;
	bpf_probe_read_user(v->name, AGG_NAME_LEN - 1, (void *)(path + last - (AGG_NAME_LEN - 1)));
}

/* (struct pt_regs *, long ret) */
SEC("raw_tp/sys_exit")
int call_ends(struct bpf_raw_tracepoint_args *ctx)
{
	struct lookups_key key = {};
	struct probe_counts *c;
	struct agg_value *v;
	struct pt_regs regs;
	enum takes takes;
	u64 pid_tgid;

	s64 ret = (s64)ctx->args[1];

	if ((ret != -ENOENT && ret) || !burst_is_on())
		return 0;
	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]);
	takes = path_of(regs.orig_rax);
	pid_tgid = bpf_get_current_pid_tgid();
	/* A name that is removed leaves the same as one that never was. */
	if (takes == TAKES_NO_PATH || (!ret && !removes(regs.orig_rax)) || !scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	key.tgid = pid_tgid >> 32;
	if (stack_due(c))
		key.ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&table, &key, 1);
	if (!v)
		return 0;
	if (!ret)
		v->sum[LOOKUPS_REMOVED]++;
	if (!v->count++)
		directory_take(v, takes == TAKES_FIRST ? regs.rdi : regs.rsi);
	return 0;
}
