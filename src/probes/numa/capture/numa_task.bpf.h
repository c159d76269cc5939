/* Threads and processes as they come and go, and threads that go to another node. */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_TASK_BPF_H
#define MEMWHY_PROBES_NUMA_CAPTURE_TASK_BPF_H

#include "probes/numa/capture/numa_ring.bpf.h"

/* By CPU: its node plus one; 0: not known. */
const volatile u8 cpu_nodes[NUMA_CPUS_TOLD] = {};

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct___thread {
	struct thread_struct thread;
} __attribute__((preserve_access_index));

static __always_inline u64 tls_of(const void *task)
{
	const struct task_struct___thread *t = task;

	return BPF_CORE_READ(t, thread.fsbase);
}

struct sched_entity {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct task_struct___ran {
	struct sched_entity se;
} __attribute__((preserve_access_index));

/* CPU time of a task, as of the last tick or switch. */
static __always_inline u64 ran_of(const void *task)
{
	const struct task_struct___ran *t = task;

	return BPF_CORE_READ(t, se.sum_exec_runtime);
}

static __always_inline struct numa_event *task_event(void *here, u64 pid_tgid, u16 kind)
{
	struct probe_counts *c = counts();

	if (!c)
		return 0;
	c->seen++;
	return event_new(here, pid_tgid, kind);
}

static __always_inline int task_tell(u64 pid_tgid, u8 what, u32 parent, u64 tls)
{
	void *here = ring_here();
	struct numa_event *e;

	if (!here)
		return 0;
	e = task_event(here, pid_tgid, REC_NUMA_TASK);
	if (!e)
		return 0;
	e->task.what = what;
	e->task.parent = parent;
	e->task.tls = tls;
	/* What a program maps is read from /proc, and it may end soon. */
	if (what == NUMA_TASK_EXEC)
		bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	else
		event_send(here, e);
	return 0;
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child) */
SEC("raw_tp/sched_process_fork")
int task_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tgid = BPF_CORE_READ(child, tgid), tid = BPF_CORE_READ(child, pid);
	bool thread = tgid == pid_tgid >> 32;

	if (!scope_match(pid_tgid) || (!thread && scope.by_task && !scope.follow))
		return 0;
	return task_tell((u64)tgid << 32 | tid, thread ? NUMA_TASK_THREAD : NUMA_TASK_FORK,
		thread ? 0 : pid_tgid >> 32, tls_of(child));
}

SEC("raw_tp/sched_process_exec")
int task_exec(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();

	return scope_match(pid_tgid) ? task_tell(pid_tgid, NUMA_TASK_EXEC, 0, 0) : 0;
}

struct signal_struct {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct task_struct___signal {
	struct signal_struct *signal;
} __attribute__((preserve_access_index));

/* The thread that ends the process finds signal->live at 0 (do_exit). */
SEC("raw_tp/sched_process_exit")
int task_exit(void *ctx)
{
	struct task_struct___signal *task = (void *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	bool last = !BPF_CORE_READ(task, signal, live.counter);

	if (!scope_match(pid_tgid))
		return 0;
	return task_tell(pid_tgid, last ? NUMA_TASK_EXIT : NUMA_TASK_THREAD_EXIT, 0, 0);
}

/* task_struct.cpu until 5.15, then thread_info.cpu (bcf9033e5449) */
struct thread_info___cpu {
	u32 cpu;
} __attribute__((preserve_access_index));

struct task_struct___info_cpu {
	struct thread_info___cpu thread_info;
} __attribute__((preserve_access_index));

struct task_struct___cpu {
	u32 cpu;
} __attribute__((preserve_access_index));

static __always_inline u32 cpu_of(const void *task)
{
	const struct task_struct___info_cpu *t = task;
	const struct task_struct___cpu *old = task;

	if (bpf_core_field_exists(t->thread_info.cpu))
		return BPF_CORE_READ(t, thread_info.cpu);
	return bpf_core_field_exists(old->cpu) ? BPF_CORE_READ(old, cpu) : NUMA_CPUS_TOLD;
}

static __always_inline s32 node_of_cpu(u32 cpu)
{
	return cpu < NUMA_CPUS_TOLD ? (s32)cpu_nodes[cpu] - 1 : -1;
}

/* TP_PROTO(struct task_struct *p, unsigned int dest_cpu). It fires in another task: of the scope
 * only -p and the command can be asked for. */
SEC("raw_tp/sched_migrate_task")
int thread_move(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *p = (void *)ctx->args[0];
	u32 from = cpu_of(p), to = (u32)ctx->args[1];
	s32 from_node = node_of_cpu(from), to_node = node_of_cpu(to);
	void *here = ring_here();
	struct numa_event *e;
	u64 pid_tgid;

	if (!here || from_node == to_node || from_node < 0 || to_node < 0)
		return 0;
	pid_tgid = (u64)BPF_CORE_READ(p, tgid) << 32 | (u32)BPF_CORE_READ(p, pid);
	if (!(pid_tgid >> 32) || (scope.by_task && !scope_task_match(pid_tgid)))
		return 0;
	e = task_event(here, pid_tgid, REC_NUMA_THREAD_MOVE);
	if (!e)
		return 0;
	e->comm[0] = '\0'; /* that of the task at work here */
	e->thread.from_cpu = (s32)from;
	e->thread.to_cpu = (s32)to;
	e->thread.from_node = from_node;
	e->thread.to_node = to_node;
	event_send(here, e);
	return 0;
}

#endif
