/*
 * Why a call failed for lack of memory: the limits of the process and of the machine, and the
 * kernel's numbers as the call ended.
 */
#ifndef MEMWHY_PROBES_MAPS_WHY_BPF_H
#define MEMWHY_PROBES_MAPS_WHY_BPF_H

#include "probes/maps/maps_call.bpf.h"

/* linux/resource.h, linux/sched/signal.h */
struct rlimit {
	unsigned long rlim_cur;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct rlimit rlim[16];
} __attribute__((preserve_access_index));

/* linux/cred.h, linux/capability.h: 64 bits, as two words until 6.2 */
typedef struct {
	u64 val;
} kernel_cap_t;

/* linux/user_namespace.h: how many tasks a user has, in 5.10 (user), 5.14 (ucount) and 5.18 */
struct atomic_count {
	s64 counter;
};

struct ucounts {
	struct atomic_count ucount[1], rlimit[1];
} __attribute__((preserve_access_index));

enum ucount_type {
	UCOUNT_RLIMIT_NPROC,
};

struct kuid {
	u32 val;
};

struct user_struct {
	struct {
		s32 counter;
	} processes;
	struct kuid uid;
} __attribute__((preserve_access_index));

struct user_namespace {
	s32 level;
} __attribute__((preserve_access_index));

struct cred {
	kernel_cap_t cap_effective;
	struct user_struct *user;
	struct user_namespace *user_ns;
	struct ucounts *ucounts;
} __attribute__((preserve_access_index));

struct task_struct___cred {
	struct cred *cred, *real_cred;
} __attribute__((preserve_access_index));

#define CAP_IPC_LOCK 14

/* It may lock what it likes. */
static __always_inline bool current_may_lock(void)
{
	struct task_struct___cred *task = (void *)bpf_get_current_task();
	struct cred *cred = BPF_CORE_READ(task, cred);
	u64 caps = 0;

	bpf_probe_read_kernel(
		&caps, sizeof(caps), __builtin_preserve_access_index(&cred->cap_effective));
	return caps >> CAP_IPC_LOCK & 1;
}

/* include/uapi/asm-generic/resource.h */
#define RLIMIT_DATA 2
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS 9

static __always_inline u64 rlimit_of(u32 resource)
{
	struct task_struct___maps *task = (void *)bpf_get_current_task();
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	u64 limit = ~0ULL;

	bpf_probe_read_kernel(&limit, sizeof(limit),
		(void *)__builtin_preserve_access_index(&signal->rlim) +
			resource * bpf_core_type_size(struct rlimit));
	return limit;
}

static __always_inline bool what_exceeds(struct what *w, u8 why, u64 limit, u64 bytes)
{
	if (bytes <= limit)
		return false;
	w->why = why;
	w->limit = limit;
	return true;
}

/* By how much the call would have made the address space grow. */
static __always_inline u64 wanted_bytes(const struct maps_thread *t)
{
	u64 old = page_align(t->args[1]);

	if (t->call == MAPS_MMAP)
		return t->length;
	if (t->call == MAPS_MREMAP)
		return t->length > old ? t->length - old : 0;
	if (t->call == MAPS_BRK && t->args[0] > t->brk)
		return page_align(t->args[0]) - page_align(t->brk);
	return 0;
}

static __always_inline bool why_locked(struct maps_thread *t, const struct mm_struct___maps *mm)
{
	u64 locked = BPF_CORE_READ(mm, locked_vm) << PAGE_SHIFT;

	if (t->call != MAPS_MLOCK && t->call != MAPS_MLOCK2 && t->call != MAPS_MLOCKALL &&
		t->error != EAGAIN)
		return false;
	if (current_may_lock())
		return false;
	if (t->call == MAPS_MLOCKALL)
		locked = BPF_CORE_READ(mm, total_vm) << PAGE_SHIFT;
	else
		locked += t->length;
	return what_exceeds(&t->what, MAPS_WHY_MEMLOCK, rlimit_of(RLIMIT_MEMLOCK), locked);
}

/* As may_expand_vm() in mm/mmap.c (mm/vma.c since 6.13) and check_data_rlimit() see it. */
static __always_inline bool why_rlimit(
	struct maps_thread *t, const struct mm_struct___maps *mm, u64 bytes)
{
	u64 total = BPF_CORE_READ(mm, total_vm) << PAGE_SHIFT;
	u64 data = BPF_CORE_READ(mm, data_vm) << PAGE_SHIFT;

	if (what_exceeds(&t->what, MAPS_WHY_AS, rlimit_of(RLIMIT_AS), total + bytes))
		return true;
	if (t->call == MAPS_BRK &&
		what_exceeds(&t->what, MAPS_WHY_DATA, rlimit_of(RLIMIT_DATA),
			t->args[0] - BPF_CORE_READ(mm, start_brk) + BPF_CORE_READ(mm, end_data) -
				BPF_CORE_READ(mm, start_data)))
		return true;
	return (t->what.kind == MAPS_ANON || t->what.kind == MAPS_HEAP) &&
	       what_exceeds(&t->what, MAPS_WHY_DATA, rlimit_of(RLIMIT_DATA), data + bytes);
}

#define RLIMIT_NPROC 6
#define CAP_SYS_ADMIN 21
#define CAP_SYS_RESOURCE 24

/* -1: not known */
static __always_inline s64 tasks_of_user(const struct cred *cred)
{
	const struct user_struct *user;
	const struct ucounts *u;
	s64 n = -1;

	if (bpf_core_field_exists(cred->ucounts)) {
		u = BPF_CORE_READ(cred, ucounts);
		if (bpf_core_field_exists(u->rlimit))
			bpf_probe_read_kernel(
				&n, sizeof(n), __builtin_preserve_access_index(&u->rlimit));
		else if (bpf_core_enum_value_exists(enum ucount_type, UCOUNT_RLIMIT_NPROC))
			bpf_probe_read_kernel(&n, sizeof(n),
				(void *)__builtin_preserve_access_index(&u->ucount) +
					sizeof(n) * bpf_core_enum_value(
							    enum ucount_type, UCOUNT_RLIMIT_NPROC));
	} else {
		user = BPF_CORE_READ(cred, user);
		if (bpf_core_field_exists(user->processes))
			n = BPF_CORE_READ(user, processes.counter);
	}
	return n;
}

/* RLIMIT_NPROC holds for all but root and those with these rights (copy_process() in
 * kernel/fork.c). The call that failed is not in the count any more. */
static __always_inline bool why_tasks_of_user(struct what *w)
{
	const struct task_struct___cred *task = (void *)bpf_get_current_task();
	const struct cred *cred;
	u64 caps = 0;

	if (!bpf_core_field_exists(task->real_cred))
		return false;
	cred = BPF_CORE_READ(task, real_cred);
	bpf_probe_read_kernel(
		&caps, sizeof(caps), __builtin_preserve_access_index(&cred->cap_effective));
	if (!BPF_CORE_READ(cred, user, uid.val) ||
		(!BPF_CORE_READ(cred, user_ns, level) &&
			caps & (1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_RESOURCE)))
		return false;
	return what_exceeds(
		w, MAPS_WHY_NPROC, rlimit_of(RLIMIT_NPROC), (u64)(tasks_of_user(cred) + 1));
}

#define ADDRESSES (1ULL << 47)

/* A function of its own: what it needs of the stack is not the walk's, for which 5.10 has little.
 */
static __noinline void why_take(struct maps_thread *t)
{
	const struct mm_struct___maps *mm = current_mm();
	u64 bytes = wanted_bytes(t);
	struct what *w = &t->what;

	if (t->call == MAPS_FORK) {
		w->why = t->error == EAGAIN ? MAPS_WHY_TASKS : MAPS_WHY_UNKNOWN;
		if (w->why)
			why_tasks_of_user(w);
		return;
	}
	if (!bpf_core_field_exists(mm->total_vm) || why_locked(t, mm) || t->error != ENOMEM)
		return;
	if (t->call == MAPS_BRK && t->args[0] < BPF_CORE_READ(mm, start_brk)) {
		w->why = MAPS_WHY_BELOW;
		return;
	}
	if (config.max_map_count && what_exceeds(w, MAPS_WHY_MAP_COUNT, config.max_map_count - 1,
					    (u64)BPF_CORE_READ(mm, map_count))) {
		w->limit = config.max_map_count;
		return;
	}
	if (!bytes)
		return;
	if (what_exceeds(w, MAPS_WHY_SIZE, ADDRESSES, bytes) || why_rlimit(t, mm, bytes))
		return;
	if (w->kind == MAPS_HUGETLB)
		w->why = MAPS_WHY_HUGETLB;
	else if (config.overcommit == 2)
		w->why = MAPS_WHY_STRICT;
	else if (!config.overcommit)
		what_exceeds(w, MAPS_WHY_OBVIOUS, config.commit_pages << PAGE_SHIFT, bytes);
}

#endif
