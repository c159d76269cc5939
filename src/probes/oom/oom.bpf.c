/*
 * Processes that end since memory gave out: by the OOM killer, by a daemon that watches memory, or
 * by a signal of their own (SIGABRT, SIGBUS, SIGSEGV). Each counts as an event.
 *
 * oom:mark_victim fires for each victim in the context of the task whose allocation
 * failed, within out_of_memory(), for the whole machine and for a control group alike. So the task
 * that asked, its stack, the victim and the groups are all there, as they were at the kill.
 */
#include "bpf/common.bpf.h"
#include "probes/oom/oom.h"

#define TASK_ADDRESS (1ULL << 32) /* no thread id is as large, no kernel address as small */
#define ORDERS 64                 /* see reclaim_raw.bpf.h */
#define PAGE_SHIFT 12

typedef struct {
	long counter;
} atomic_long_t;

struct percpu_counter {
	s64 count;
} __attribute__((preserve_access_index));

/* Since 6.2; before, struct mm_rss_stat rss_stat. The kernel's own numbers of a kill are these,
 * without what CPUs have not yet added. */
struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
} __attribute__((preserve_access_index));

struct mm_rss_stat {
	atomic_long_t count[4];
} __attribute__((preserve_access_index));

struct mm_struct___counts {
	struct mm_rss_stat rss_stat;
} __attribute__((preserve_access_index));

struct mm_struct___oom {
	atomic_long_t pgtables_bytes;
	unsigned long total_vm;
	unsigned long start_stack;
} __attribute__((preserve_access_index));

/* linux/mm_types_task.h, the same from 5.10 to 7.3 */
enum { RSS_FILE, RSS_ANON, RSS_SWAP, RSS_SHMEM };

struct rlimit {
	unsigned long rlim_cur;
} __attribute__((preserve_access_index));

#define RLIMIT_STACK 3 /* asm-generic/resource.h */

struct signal_struct {
	struct mm_struct *oom_mm;
	short oom_score_adj;
	struct rlimit rlim[RLIMIT_STACK + 1];
} __attribute__((preserve_access_index));

struct sigaction {
	void *sa_handler;
} __attribute__((preserve_access_index));

struct k_sigaction {
	struct sigaction sa; /* the first member */
} __attribute__((preserve_access_index));

struct sighand_struct {
	struct k_sigaction action[1];
} __attribute__((preserve_access_index));

typedef struct {
	unsigned int val;
} kuid_t;

/* linux/capability.h: 64 bits, as two words until 6.2 */
typedef struct {
	u64 val;
} kernel_cap_t;

struct user_namespace {
	s32 level;
} __attribute__((preserve_access_index));

struct cred {
	kuid_t uid;
	kernel_cap_t cap_effective;
	struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

struct task_struct___oom {
	int pid, tgid;
	u64 start_boottime;
	struct task_struct___oom *group_leader;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	void *stack;
	struct mm_struct *mm;
	const struct cred *cred;
	struct css_set *cgroups;
	char comm[COMM_LEN];
} __attribute__((preserve_access_index));

struct page_counter {
	atomic_long_t usage;
	unsigned long max, failcnt;
} __attribute__((preserve_access_index));

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
} __attribute__((preserve_access_index));

struct oom_control {
	struct mem_cgroup *memcg;
	u32 gfp_mask;
	int order;
	unsigned long totalpages;
	long chosen_points;
	int constraint;
} __attribute__((preserve_access_index));

/* What a task that is about to ask the OOM killer wants. */
struct asked {
	u64 control; /* its struct oom_control, 0: not known */
	u32 gfp;
	s32 order;
	u32 flags; /* enum oom_kill_flags */
	u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct asked);
} asking SEC(".maps");

static __always_inline void asks(const struct asked *a)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	bpf_map_update_elem(&asking, &tid, a, BPF_ANY);
}

/* bool out_of_memory(struct oom_control *oc). Its caller's frame holds it until it returns, and
 * victims are marked nowhere else. */
SEC("kprobe/out_of_memory")
int oom_control_kprobe(struct pt_regs *ctx)
{
	asks(&(struct asked){.control = PT_REGS_PARM1(ctx)});
	return 1;
}

/* The reclaim that came before, of the same allocation. For the arguments see reclaim_raw.bpf.h. */
static __always_inline int reclaims(struct bpf_raw_tracepoint_args *ctx, u32 flags)
{
	u64 a = ctx->args[0], b = ctx->args[1];
	bool swapped = a >= ORDERS;

	asks(&(struct asked){.order = swapped ? b : a, .gfp = swapped ? a : b, .flags = flags});
	return 0;
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int oom_reclaim(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaims(ctx, OOM_ORDER_KNOWN | OOM_GFP_KNOWN);
}

/* It says order 0 whatever the charge (try_to_free_mem_cgroup_pages, mm/vmscan.c). */
SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int oom_memcg_reclaim(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaims(ctx, OOM_GFP_OF_RECLAIM);
}

static __always_inline u64 css_id(struct cgroup_subsys_state *css)
{
	return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

static __always_inline void control_read(struct oom_kill *e)
{
	u32 tid = e->tid;
	struct asked *a = bpf_map_lookup_elem(&asking, &tid);
	struct oom_control *oc;
	struct mem_cgroup *memcg;

	if (!a)
		return;
	e->gfp = a->gfp;
	e->order = a->order;
	e->flags |= a->flags;
	oc = (void *)a->control;
	if (!oc || !bpf_core_field_exists(oc->constraint))
		return;
	e->gfp = BPF_CORE_READ(oc, gfp_mask);
	e->order = BPF_CORE_READ(oc, order);
	e->why = BPF_CORE_READ(oc, constraint);
	e->points = BPF_CORE_READ(oc, chosen_points);
	e->total_pages = BPF_CORE_READ(oc, totalpages);
	memcg = BPF_CORE_READ(oc, memcg);
	if (memcg && bpf_core_field_exists(memcg->css))
		e->oom_cgroup = css_id(__builtin_preserve_access_index(&memcg->css));
	e->flags |= OOM_ORDER_KNOWN | OOM_GFP_KNOWN | OOM_CONTROL_KNOWN;
}

/* The memory controller's state of a task, of both versions; its struct begins with it. */
static __always_inline struct cgroup_subsys_state *memory_css(struct task_struct___oom *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;
	u64 id;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	bpf_probe_read_kernel(&css, sizeof(css),
		(void *)__builtin_preserve_access_index(&set->subsys) + id * sizeof(css));
	return css;
}

/* PAGE_COUNTER_MAX of linux/page_counter.h: no limit. */
#define COUNTER_MAX ((u64)(~0UL >> 1) >> PAGE_SHIFT)

static __always_inline void chain_read(struct oom_kill *e, struct cgroup_subsys_state *css)
{
	struct mem_cgroup *m;

	if (!bpf_core_field_exists(((struct mem_cgroup *)0)->memory))
		return;
	for (u32 i = 0; i < OOM_LEVELS && css; i++) {
		struct oom_level *l = &e->chain[i];

		m = (void *)css; /* css is its first member */
		l->cgroup = css_id(css);
		l->usage_pages = BPF_CORE_READ(m, memory.usage.counter);
		l->limit_pages = BPF_CORE_READ(m, memory.max);
		if (l->limit_pages >= COUNTER_MAX)
			l->limit_pages = OOM_NO_LIMIT;
		if (bpf_core_field_exists(m->memory.failcnt))
			l->failcnt = BPF_CORE_READ(m, memory.failcnt);
		e->levels = i + 1;
		css = BPF_CORE_READ(css, parent);
	}
}

#define RSS(mm_, kind_)                                                     \
	(bpf_core_type_exists(struct mm_rss_stat)                           \
			? BPF_CORE_READ((struct mm_struct___counts *)(mm_), \
				  rss_stat.count[kind_].counter)            \
			: BPF_CORE_READ(                                    \
				  (struct mm_struct___percpu *)(mm_), rss_stat[kind_].count))

static __always_inline u64 not_negative(s64 v)
{
	return v < 0 ? 0 : v;
}

static __always_inline void sizes_read(struct oom_kill *e, struct signal_struct *signal)
{
	struct mm_struct *mm = BPF_CORE_READ(signal, oom_mm); /* set just before */

	if (!mm)
		return;
	e->anon_pages = not_negative(RSS(mm, RSS_ANON));
	e->file_pages = not_negative(RSS(mm, RSS_FILE));
	e->shmem_pages = not_negative(RSS(mm, RSS_SHMEM));
	e->swap_pages = not_negative(RSS(mm, RSS_SWAP));
	e->page_table_bytes = BPF_CORE_READ((struct mm_struct___oom *)mm, pgtables_bytes.counter);
	e->total_vm_pages = BPF_CORE_READ((struct mm_struct___oom *)mm, total_vm);
	e->flags |= OOM_VICTIM_KNOWN;
}

static __always_inline void victim_read(struct oom_kill *e, struct task_struct___oom *task)
{
	struct signal_struct *signal;
	struct cgroup_subsys_state *css;
	u64 now;

	if (!bpf_core_field_exists(((struct signal_struct *)0)->oom_mm))
		return; /* no kernel BTF: its log tells the rest */
	signal = BPF_CORE_READ(task, signal);
	e->victim_tid = BPF_CORE_READ(task, pid);
	e->victim_tgid = BPF_CORE_READ(task, tgid);
	e->victim_uid = BPF_CORE_READ(task, cred, uid.val);
	e->victim_adj = BPF_CORE_READ(signal, oom_score_adj);
	e->victim_age_ns =
		bpf_ktime_get_boot_ns() - BPF_CORE_READ(task, group_leader, start_boottime);
	/* As clock_mono_of_boot() has it: suspended time counts. */
	now = bpf_ktime_get_ns();
	e->victim_start_ns = now > e->victim_age_ns ? now - e->victim_age_ns : 1;
	BPF_CORE_READ_INTO(&e->victim_comm, task, comm);
	css = memory_css(task);
	e->victim_cgroup = css_id(css);
	chain_read(e, css);
	sizes_read(e, signal);
}

static __always_inline void asker_read(struct oom_kill *e)
{
	struct task_struct___oom *task = (void *)bpf_get_current_task();

	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->cgroup = current_cgroup_id();
	if (bpf_core_field_exists(task->signal))
		e->adj = BPF_CORE_READ(task, signal, oom_score_adj);
}

/* Whose task it is: asked for by the one or done to the other, where that is cheap to tell. */
static __always_inline bool kill_in_scope(u64 pid_tgid, u64 victim)
{
	struct task_struct___oom *task = (void *)victim;
	u32 tgid;

	if (scope_selects(pid_tgid)) /* a kill that memwhy asked for is somebody's all the same */
		return true;
	if (!scope.by_task || scope.by_comm || scope.by_cgroup || victim < TASK_ADDRESS ||
		!bpf_core_field_exists(task->tgid))
		return false;
	tgid = BPF_CORE_READ(task, tgid);
	return scope_task_match((u64)tgid << 32 | tgid);
}

/* A record that is zeroed but for its head, of an event that counts as seen. NULL: it is lost. */
static __always_inline void *event_begin(u16 kind, u64 size)
{
	struct probe_counts *c = counts();
	void *e;

	if (!c)
		return NULL;
	c->seen++;
	e = ring_reserve(size);
	if (!e)
		return NULL;
	__builtin_memset(e, 0, size);
	rec_fill(e, kind, size);
	return e;
}

/* (struct task_struct *task, uid_t uid) since 6.8, and in 5.10 and 6.1 as Debian has them;
 * (int pid) before. */
SEC("raw_tp/mark_victim")
int oom_victim(struct bpf_raw_tracepoint_args *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), victim = ctx->args[0];
	struct oom_kill *e;

	if (!kill_in_scope(pid_tgid, victim))
		return 0;
	e = event_begin(REC_OOM_KILL, sizeof(*e));
	if (!e)
		return 0;
	e->tgid = pid_tgid >> 32;
	e->tid = (u32)pid_tgid;
	e->why = OOM_WHY_UNKNOWN;
	e->ustack = stack_take(ctx, BPF_F_USER_STACK);
	e->kstack = stack_take(ctx, 0);
	asker_read(e);
	control_read(e);
	if (victim < TASK_ADDRESS)
		e->victim_tid = victim;
	else
		victim_read(e, (void *)victim);
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP); /* now, not when there are more */
	return 0;
}

#define SIGNAL_KILL 9
#define SIGNAL_TERM 15
#define SIGNAL_DELIVERED 0 /* TRACE_SIGNAL_DELIVERED of trace/events/signal.h */

/* Daemons that kill when memory is short: the names of their threads. */
static const char daemons[][COMM_LEN] __attribute__((aligned(8))) = {
	"systemd-oomd",
	"earlyoom",
	"nohang",
	"oomd",
	"bustd",
};

static __always_inline bool is_daemon(const char comm[COMM_LEN])
{
	const u64 *is = (const void *)comm;

	for (u32 i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
		const u64 *known = (const void *)daemons[i];

		if (is[0] == known[0] && is[1] == known[1])
			return true;
	}
	return false;
}

#define CAP_KILL 5

/* Anybody can take such a name, but not have the right to end whatever runs here. */
static __always_inline bool may_kill_all(void)
{
	struct task_struct___oom *task = (void *)bpf_get_current_task();
	const struct cred *cred = BPF_CORE_READ(task, cred);
	u64 caps = 0;

	bpf_probe_read_kernel(
		&caps, sizeof(caps), __builtin_preserve_access_index(&cred->cap_effective));
	return caps >> CAP_KILL & 1 && !BPF_CORE_READ(cred, user_ns, level);
}

static __always_inline void daemon_victim_read(
	struct daemon_kill *e, struct task_struct___oom *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	e->victim_tgid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_INTO(&e->victim_comm, task, comm);
	e->victim_cgroup = css_id(memory_css(task));
	if (!mm)
		return;
	e->rss_pages = not_negative(RSS(mm, RSS_ANON)) + not_negative(RSS(mm, RSS_FILE)) +
		       not_negative(RSS(mm, RSS_SHMEM));
	e->swap_pages = not_negative(RSS(mm, RSS_SWAP));
}

#define SIGNAL_ABORT 6
#define SIGNAL_BUS 7
#define SIGNAL_SEGV 11

/* Has it one, or ignores the signal? Else the signal ends it. */
static __always_inline bool has_handler(struct task_struct___oom *task, u32 signal)
{
	struct sighand_struct *sighand = BPF_CORE_READ(task, sighand);
	struct k_sigaction *first = __builtin_preserve_access_index(&sighand->action[0]);
	u64 handler = 0;

	bpf_probe_read_kernel(&handler, sizeof(handler),
		(void *)first + (signal - 1) * bpf_core_type_size(struct k_sigaction));
	return handler;
}

/* The registers of user space are at the end of the kernel's stack. Without bpf_task_pt_regs() that
 * is taken to have 16 KiB (asm/page_64_types.h): with KASAN it has more, and this is garbage. */
static __always_inline u64 stack_pointer(struct task_struct___oom *task)
{
	const struct pt_regs *regs =
		bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)
			? (void *)bpf_task_pt_regs(bpf_get_current_task_btf())
			: (struct pt_regs *)(BPF_CORE_READ(task, stack) + (16 << 10)) - 1;
	u64 sp = 0;

	bpf_probe_read_kernel(&sp, sizeof(sp), &regs->rsp);
	return sp;
}

/* struct siginfo of the kernel, as user space gets it */
struct info {
	s32 signo, error, code, pad;
	u64 address;
};

static __always_inline void crash_read(
	struct process_crashed *e, struct task_struct___oom *task, u64 info)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct info i = {};

	if (info >= TASK_ADDRESS) /* the kernel's small numbers say who sent it */
		bpf_probe_read_kernel(&i, sizeof(i), (void *)info);
	e->code = i.code;
	e->address = e->signal == SIGNAL_ABORT ? 0 : i.address;
	e->stack_pointer = stack_pointer(task);
	e->stack_limit = BPF_CORE_READ(task, signal, rlim[RLIMIT_STACK].rlim_cur);
	BPF_CORE_READ_INTO(&e->comm, task, group_leader, comm);
	e->cgroup = css_id(memory_css(task));
	if (!mm)
		return;
	e->stack_start = BPF_CORE_READ((struct mm_struct___oom *)mm, start_stack);
	e->anon_pages = not_negative(RSS(mm, RSS_ANON));
	e->swap_pages = not_negative(RSS(mm, RSS_SWAP));
}

static __always_inline int crashes(
	u64 pid_tgid, struct task_struct___oom *task, u32 signal, u64 info)
{
	struct process_crashed *e;

	if (BPF_CORE_READ(task, tgid) != pid_tgid >> 32 || has_handler(task, signal) ||
		!kill_in_scope(pid_tgid, (u64)task))
		return 0;
	e = event_begin(REC_PROCESS_CRASHED, sizeof(*e));
	if (!e)
		return 0;
	e->tgid = pid_tgid >> 32;
	e->tid = (u32)pid_tgid;
	e->signal = signal;
	crash_read(e, task, info);
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* (int sig, struct kernel_siginfo *info, struct task_struct *task, int group, int result), in the
 * thread that sends it: once a process. Without BTF nothing is known of the task, and this does not
 * load. */
SEC("raw_tp/signal_generate")
int oom_signal(u64 *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct task_struct___oom *task = (void *)ctx[2];
	u32 signal = ctx[0];
	char comm[COMM_LEN] __attribute__((aligned(8)));
	struct daemon_kill *e;

	if (signal == SIGNAL_ABORT || signal == SIGNAL_BUS || signal == SIGNAL_SEGV)
		return crashes(pid_tgid, task, signal, ctx[1]);
	if ((signal != SIGNAL_KILL && signal != SIGNAL_TERM) || (u32)ctx[4] != SIGNAL_DELIVERED)
		return 0;
	bpf_get_current_comm(comm, sizeof(comm));
	if (!is_daemon(comm) || !may_kill_all() || !kill_in_scope(pid_tgid, (u64)task))
		return 0;
	e = event_begin(REC_DAEMON_KILL, sizeof(*e));
	if (!e)
		return 0;
	e->tgid = pid_tgid >> 32;
	e->signal = signal;
	__builtin_memcpy(e->comm, comm, sizeof(comm));
	daemon_victim_read(e, task);
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}
