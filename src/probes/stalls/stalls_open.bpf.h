/* How a stall begins: what it is for, and whether a step belongs to the one before. */
#ifndef MEMWHY_PROBES_STALLS_OPEN_BPF_H
#define MEMWHY_PROBES_STALLS_OPEN_BPF_H

#include "probes/stalls/stalls_state.bpf.h"

/* A step that begins: the arguments of the tracepoint. */
struct begin {
	void *ctx;
	u32 order, gfp;
	u8 kind; /* enum stalls_step_kind */
	u8 mode;
	u8 skip; /* frames of the kernel's stack */
};

#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD 0x00200000

struct pt_regs___stalls {
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

enum bpf_func_id___stalls {
	BPF_FUNC_task_pt_regs___stalls = 175, /* since 5.15; CO-RE asks whether it is there */
};

static __always_inline struct pt_regs *user_regs(void)
{
	struct task_struct___stalls *t = (void *)bpf_get_current_task();

	if (bpf_core_enum_value_exists(enum bpf_func_id___stalls, BPF_FUNC_task_pt_regs___stalls))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (void *)BPF_CORE_READ(t, stack) + config.thread_bytes - sizeof(struct pt_regs);
}

/*
 * The registers that user code entered the kernel with: orig_ax is the number of the system call,
 * -1 after an exception (arch/x86/entry/entry_64.S), which here is a page fault: no other one
 * allocates.
 */
static __always_inline void trigger_find(struct stalls_key *key)
{
	struct task_struct___stalls *t = (void *)bpf_get_current_task();
	struct task_struct *task = (void *)t;
	char comm[COMM_LEN] = {};
	s64 number = -1;

	key->syscall = STALLS_NO_SYSCALL;
	if (!bpf_core_field_exists(t->flags))
		return;
	if (BPF_CORE_READ(t, flags) & (PF_KTHREAD | PF_IO_WORKER) || !BPF_CORE_READ(task, mm)) {
		bpf_get_current_comm(comm, sizeof(comm));
		key->trigger = STALLS_FOR_KTHREAD;
		if (comm[0] == 'k' && comm[1] == 'h' && comm[2] == 'u' && comm[3] == 'g')
			key->trigger = STALLS_FOR_KHUGEPAGED;
		return;
	}
	if (bpf_probe_read_kernel(&number, sizeof(number), &user_regs()->orig_rax))
		return;
	key->trigger = number < 0 ? STALLS_FOR_FAULT : STALLS_FOR_SYSCALL;
	if (number >= 0)
		key->syscall = (s16)number;
}

/* --each: the address of the last page fault of each thread. A collision loses an address. */
struct fault {
	u32 tid;
	u32 reserved;
	u64 address;
};

#define FAULTS 8192

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FAULTS);
	__type(key, u32);
	__type(value, struct fault);
} faults SEC(".maps");

static __always_inline struct fault *fault_of(u32 tid)
{
	u32 i = tid & (FAULTS - 1);

	return bpf_map_lookup_elem(&faults, &i);
}

static __always_inline u64 fault_address(u32 tid)
{
	struct fault *f = scope.each ? fault_of(tid) : 0;

	return f && f->tid == tid ? f->address : 0;
}

/* A wake of kswapd by the same allocation comes right before; by another, mostly long before. */
#define WAKE_NS 1000000

static __noinline int stall_open(struct stalls_state *s, struct begin *b, u64 now)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	bool woke = s->wake_ns && s->wake_order == b->order && s->wake_gfp == b->gfp &&
		    now - s->wake_ns < WAKE_NS && b->kind != STALLS_MEMCG;
	u64 wake_ns = s->wake_ns;
	struct token token;
	u8 one = 1;

	__builtin_memcpy(s, &state_zero, sizeof(*s));
	s->tid = (u32)pid_tgid;
	s->token = (u32)now;
	s->start_ns = woke ? wake_ns : now;
	s->key.tgid = pid_tgid >> 32;
	s->key.tid = scope.by_thread ? s->tid : 0;
	s->key.kind = b->kind == STALLS_MEMCG ? STALLS_CHARGE : STALLS_ALLOCATION;
	s->key.order = b->order;
	s->key.gfp = b->gfp;
	s->key.node = (s16)bpf_get_numa_node_id();
	trigger_find(&s->key);
	if (s->key.trigger == STALLS_FOR_FAULT)
		s->address = fault_address(s->tid);
	s->cgroup = current_cgroup_id();
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	token = token_of(s);
	if (bpf_map_update_elem(&tokens, &token, &one, BPF_ANY) ||
		(scope.each && bpf_map_update_elem(&story, &s->tid, &story_zero, BPF_ANY))) {
		s->start_ns = 0;
		return -1;
	}
	if (woke) {
		struct stalls_step wake = {
			.kind = STALLS_WAKE, .start_ns = wake_ns, .end_ns = wake_ns};

		step_tell(s, &wake);
	}
	return 0;
}

/* Is the step the next one of the stall? See the top of stalls_state.bpf.h. */
static __always_inline bool stall_goes_on(const struct stalls_state *s, const struct begin *b)
{
	bool same = s->key.order == b->order && s->key.gfp == b->gfp;

	if (!s->start_ns || !s->last || s->faults != task_faults())
		return false;
	if (b->kind == STALLS_MEMCG)
		return s->last == STALLS_MEMCG && !s->returned;
	if (s->key.kind != STALLS_ALLOCATION)
		return false;
	if (s->last == STALLS_NODE) /* in the fast path, whose flags may differ */
		return s->key.order == b->order && s->returned < 1UL << (b->order & 63);
	if (!same)
		return false;
	if (s->retry_ns)
		return b->kind == STALLS_DIRECT && (!s->retry || s->switches == task_switches());
	if (b->kind == STALLS_DIRECT)
		return s->last == STALLS_COMPACT && s->first && !s->page;
	if (b->kind == STALLS_COMPACT)
		return s->last == STALLS_DIRECT &&
		       (b->mode != STALLS_PRIO_ASYNC ||
			       (b->gfp & config.gfp_noretry && b->order > STALLS_COSTLY));
	return false;
}

#endif
