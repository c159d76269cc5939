/*
 * Marks processes of tracked programs that install a seccomp filter, before the filter is in force:
 * a filter is made of a BPF program, whose counters the kernel allocates (bpf_prog_alloc() in
 * kernel/bpf/core.c, from 5.10 to 7.3). So system calls cost nothing, as with a hook on them they
 * would. Owns no policy: what a mark means is the preload library's matter.
 */
#include "bpf/kernel.bpf.h"
#include "bpf/user_regs.bpf.h"

#include "base/filter_marks.h"

/* By where the stack of a program begins, which its forks share and which an exec changes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct filter_at);
} programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_ROWS);
	__type(key, u32);
	__type(value, struct filter_row);
} marks SEC(".maps");

/* Marks of processes that are over, as memwhy says: their places are free. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_ROWS);
	__type(key, u32);
	__type(value, struct filter_row);
} over SEC(".maps");

struct upid {
	int nr;
	void *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1];
} __attribute__((preserve_access_index));

struct task_struct___filters {
	struct task_struct___filters *real_parent, *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

#define CALL_X32 0x40000000
#define CALL_PRCTL 157
#define CALL_SECCOMP 317
#define CALL32_PRCTL 172
#define CALL32_SECCOMP 354

static __always_inline bool installs(void)
{
	const struct pt_regs *regs = task_user_regs();
	u64 nr = 0;

	if (!regs || bpf_probe_read_kernel(&nr, sizeof(nr), &regs->orig_rax))
		return false;
	nr &= ~(u64)CALL_X32;
	return nr == CALL_PRCTL || nr == CALL_SECCOMP || nr == CALL32_PRCTL || nr == CALL32_SECCOMP;
}

/* As the process itself sees it. */
static __always_inline u32 own_id(struct task_struct___filters *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid *at = __builtin_preserve_access_index(&pid->numbers[0]);
	int nr = 0;

	bpf_probe_read_kernel(
		&nr, sizeof(nr), (void *)at + level * bpf_core_type_size(struct upid));
	return (u32)nr;
}

static __always_inline void mark(
	struct filter_row *row, struct filter_row *over, u16 generation, u32 pid)
{
	volatile u32 *at = &row->mark[filter_place(pid)];
	volatile u32 *ended = &over->mark[filter_place(pid)];
	u32 own = filter_mark(generation, pid), was = *at;

	if (filter_counts(was, generation) && was != own && was != *ended)
		*at = filter_mark_any(generation);
	else
		*at = own;
	if (*ended == own)
		*ended = 0;
}

SEC("raw_tp/percpu_alloc_percpu")
int filters_note(void *ctx)
{
	struct task_struct___filters *task, *parent;
	struct mm_struct *mm;
	struct filter_row *row, *ended;
	struct filter_at *where;
	u64 key;

	if (!installs())
		return 0;
	task = (void *)bpf_get_current_task();
	mm = BPF_CORE_READ(task, mm);
	key = mm ? BPF_CORE_READ(mm, start_stack) : 0;
	where = key ? bpf_map_lookup_elem(&programs, &key) : 0;
	if (!where)
		return 0;
	row = bpf_map_lookup_elem(&marks, &where->row);
	ended = bpf_map_lookup_elem(&over, &where->row);
	if (!row || !ended)
		return 0;
	mark(row, ended, where->generation, own_id(task));
	parent = BPF_CORE_READ(task, real_parent);
	if (BPF_CORE_READ(parent, mm) == mm) /* the child of a vfork() knows of no id but this */
		mark(row, ended, where->generation, own_id(parent));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
