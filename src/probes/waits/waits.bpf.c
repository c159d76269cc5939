/*
 * Waits for the lock of an address space, by lock:contention_begin and _end (5.19), which fire for
 * every kind of lock, and only where there is something to wait for; spinlocks are told by their
 * flag and done with at once. And sleeps of writers, by writeback:balance_dirty_pages.
 */
#include "bpf/common.bpf.h"
#include "bpf/path.bpf.h"
#include "probes/waits/waits.h"

AGG_TABLE(locks, struct waits_lock_key);
AGG_TABLE(dirty, struct waits_dirty_key);
AGG_TABLE(made, struct waits_made_key);

struct atomic_word {
	s64 counter;
};

struct rw_semaphore {
	struct atomic_word owner; /* a struct in the kernel, too; only its place is taken */
} __attribute__((preserve_access_index));

struct mm_struct___waits {
	struct rw_semaphore mmap_lock;
	struct task_struct___waits *owner;
} __attribute__((preserve_access_index));

struct task_struct___waits {
	struct mm_struct___waits *mm;
	void *stack;
	int tgid;
	struct task_struct___waits *real_parent;
	char comm[COMM_LEN];
} __attribute__((preserve_access_index));

/* A wait. Direct-mapped by thread id: a collision loses a wait. */
struct slot {
	u32 tid; /* 0: none */
	u32 reserved;
	u64 lock, start_ns;
	struct waits_lock_key key;
	char holder_comm[COMM_LEN];
};

TASK_SLOTS(4096)

#define LCB_SPIN 1 /* linux/include/trace/events/lock.h, 5.19 to 7.3 */
#define LCB_WRITE 4

#define OWNER_FLAGS 7 /* linux/kernel/locking/rwsem.c */
#define OWNER_READS 1

#define STACK_BYTES                                                                  \
	16384 /* THREAD_SIZE on x86-64; under KASAN it is more, and no call is known \
	       */
#define USER_CS 0x33
/* Of struct pt_regs, in words from its end: cs and orig_ax. */
#define CS_FROM_END 4
#define CALL_FROM_END 6
#define FRED_WORDS 2 /* above it where the processor has FRED */

/* The call that a task is in, by what its entry left at the top of its stack. */
static __always_inline bool call_of(const struct task_struct___waits *task, u16 *ret)
{
	u64 top = (u64)BPF_CORE_READ(task, stack) + STACK_BYTES, cs = 0;
	s64 nr = 0;

	for (int i = 0; i < 2; i++, top -= FRED_WORDS * 8) {
		bpf_probe_read_kernel(&cs, sizeof(cs), (void *)(top - CS_FROM_END * 8));
		if ((cs & 0xffff) != USER_CS)
			continue;
		bpf_probe_read_kernel(&nr, sizeof(nr), (void *)(top - CALL_FROM_END * 8));
		*ret = nr >= 0 && nr < WAITS_NO_CALL ? (u16)nr : WAITS_NO_CALL;
		return true;
	}
	return false;
}

/* The address space whose lock this is, by the process that owns it; 0: it is another lock. */
static __always_inline u32 space_of(u64 lock, const struct task_struct___waits *task)
{
	u64 at = bpf_core_field_offset(struct mm_struct___waits, mmap_lock);
	struct mm_struct___waits *own = BPF_CORE_READ(task, mm), *mm = (void *)(lock - at);
	struct task_struct___waits *owner;

	if (own == mm)
		return BPF_CORE_READ(task, tgid);
	/* Another one's, or not an address space at all: then what lies there names no task whose
	 * address space it is. */
	if (!bpf_core_field_exists(mm->owner))
		return 0;
	owner = BPF_CORE_READ(mm, owner);
	return owner && BPF_CORE_READ(owner, mm) == mm ? (u32)BPF_CORE_READ(owner, tgid) : 0;
}

static __always_inline void holder_take(struct slot *s, u64 lock)
{
	struct task_struct___waits *holder;
	u64 owner = 0;

	bpf_probe_read_kernel(&owner, sizeof(owner),
		(void *)(lock + bpf_core_field_offset(struct rw_semaphore, owner)));
	holder = (void *)(owner & ~(u64)OWNER_FLAGS);
	if (!holder)
		return;
	if (owner & OWNER_READS)
		s->key.flags |= WAITS_READ_HELD;
	s->key.holder = (u32)BPF_CORE_READ(holder, tgid);
	if (bpf_probe_read_kernel(s->holder_comm, sizeof(s->holder_comm),
		    __builtin_preserve_access_index(&holder->comm)) ||
		!s->key.holder)
		return;
	s->key.flags |= WAITS_HOLDER_KNOWN;
	if (call_of(holder, &s->key.holder_call))
		s->key.flags |= WAITS_HOLDER_IN_CALL;
}

/* (void *lock, unsigned int flags) */
SEC("raw_tp/contention_begin")
int wait_begins(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___waits *task;
	u64 lock = ctx->args[0], pid_tgid;
	struct slot *s;
	u32 space;

	if (ctx->args[1] & LCB_SPIN)
		return 0;
	pid_tgid = bpf_get_current_pid_tgid();
	task = (void *)bpf_get_current_task();
	if (!scope_match(pid_tgid))
		return 0;
	space = space_of(lock, task);
	s = space ? slot_of((u32)pid_tgid) : 0;
	if (!s)
		return 0;
	__builtin_memset(&s->key, 0, sizeof(s->key));
	s->holder_comm[0] = 0;
	s->tid = (u32)pid_tgid;
	s->lock = lock;
	s->key.tgid = pid_tgid >> 32;
	s->key.space = space;
	s->key.flags = ctx->args[1] & LCB_WRITE ? WAITS_WRITE : 0;
	if (call_of(task, &s->key.call))
		s->key.flags |= WAITS_CALL_KNOWN;
	holder_take(s, lock);
	s->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* (void *lock, int ret) */
SEC("raw_tp/contention_end")
int wait_ends(struct bpf_raw_tracepoint_args *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct slot *s = slot_of(tid);
	struct probe_counts *c;
	struct agg_value *v;

	if (!s || s->tid != tid || s->lock != ctx->args[0])
		return 0;
	s->tid = 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	if (stack_due(c))
		s->key.ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&locks, &s->key, 1);
	if (!v)
		return 0;
	if (!v->count)
		__builtin_memcpy(v->name, s->holder_comm, sizeof(s->holder_comm));
	v->count++;
	agg_time(v, bpf_ktime_get_ns() - s->start_ns);
	return 0;
}

EVENT(balance_dirty_pages, char bdi[32]; unsigned int dirtied; long pause; u64 cgroup_ino;);

#define NS_PER_MS 1000000ULL

SEC("tp/writeback/balance_dirty_pages")
int writer_waits(struct trace_event_raw_balance_dirty_pages *e)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct waits_dirty_key key = {.tgid = pid_tgid >> 32};
	long pause = BPF_CORE_READ(e, pause); /* jiffies in the event's assignment, ms in it */
	struct probe_counts *c;
	struct agg_value *v;

	if (pause <= 0 || !scope_match(pid_tgid))
		return 1;
	c = counts();
	if (!c)
		return 1;
	c->seen++;
	bpf_probe_read_kernel_str(key.device, sizeof(key.device), &e->bdi);
	if (bpf_core_field_exists(e->cgroup_ino))
		key.owner = BPF_CORE_READ(e, cgroup_ino);
	if (stack_due(c))
		key.ustack = stack_take(e, BPF_F_USER_STACK);
	v = agg_get(&dirty, &key, 1);
	if (!v)
		return 1;
	v->count++;
	v->sum[WAITS_DIRTIED] += BPF_CORE_READ(e, dirtied);
	agg_time(v, (u64)pause * NS_PER_MS);
	return 1;
}

#define PERCPU_STACK_EVERY 61

/* NULL: out of scope, or no room. */
static __always_inline struct agg_value *made_get(void *ctx, u32 kind)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct waits_made_key key = {.tgid = pid_tgid >> 32, .kind = kind};
	const struct task_struct___waits *task = (void *)bpf_get_current_task();
	struct probe_counts *c;
	struct agg_value *v;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	/* A BPF map has thousands of such allocations. */
	if (kind == WAITS_FORKED || (kind == WAITS_PERCPU && c->seen % PERCPU_STACK_EVERY == 0))
		key.ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&made, &key, 1);
	if (v && !v->count++)
		v->sum[WAITS_MADE_PARENT] = (u32)BPF_CORE_READ(task, real_parent, tgid);
	return v;
}

/* The path without its last part, or its end. */
static __always_inline void parent_take(struct agg_value *v, u64 path)
{
	u32 last = path_last(path, false);

	if (last < AGG_NAME_LEN) {
		bpf_probe_read_kernel(v->name, last & (AGG_NAME_LEN - 1), (void *)path);
		return;
	}
	v->sum[WAITS_MADE_CUT] = 1;
	bpf_probe_read_kernel(
		v->name, AGG_NAME_LEN - 1, (void *)(path + last - (AGG_NAME_LEN - 1)));
}

/* (struct cgroup *, const char *path) */
SEC("raw_tp/cgroup_mkdir")
int group_made(struct bpf_raw_tracepoint_args *ctx)
{
	struct agg_value *v = made_get(ctx, WAITS_GROUP_MADE);

	if (v && v->count == 1)
		parent_take(v, ctx->args[1]);
	return 0;
}

SEC("raw_tp/cgroup_rmdir")
int group_removed(struct bpf_raw_tracepoint_args *ctx)
{
	struct agg_value *v = made_get(ctx, WAITS_GROUP_REMOVED);

	if (v && v->count == 1)
		parent_take(v, ctx->args[1]);
	return 0;
}

/*
 * To 5.18 (bool reserved, bool is_atomic, size_t size, …), since then with the call site before
 * (commit f67bed134a05), which is an address.
 */
SEC("raw_tp/percpu_alloc_percpu")
int percpu_made(struct bpf_raw_tracepoint_args *ctx)
{
	u64 first = ctx->args[0], third = ctx->args[2], fourth = ctx->args[3];
	struct agg_value *v = made_get(ctx, WAITS_PERCPU);

	if (v)
		v->sum[WAITS_MADE_BYTES] += first > 1 ? fourth : third;
	return 0;
}

#define FORK_PAGES (256UL << 20 >> 12)

/* linux/sched.h, linux/mm_types.h */
struct mm_struct___fork {
	unsigned long total_vm;
} __attribute__((preserve_access_index));

struct task_struct___fork {
	struct mm_struct___fork *mm;
} __attribute__((preserve_access_index));

/* (struct task_struct *parent, struct task_struct *child): threads and vfork share theirs. */
SEC("raw_tp/sched_process_fork")
int forked(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___fork *parent = (void *)ctx->args[0],
					*child = (void *)ctx->args[1];
	const struct mm_struct___fork *mm = 0;

	if (bpf_core_field_exists(parent->mm))
		mm = BPF_CORE_READ(parent, mm);
	if (!mm || mm == BPF_CORE_READ(child, mm) || BPF_CORE_READ(mm, total_vm) < FORK_PAGES)
		return 0;
	made_get(ctx, WAITS_FORKED);
	return 0;
}
