/* What the parts of the syscalls programs share: constants, what is kept of a thread, words for a
 * call. */
#ifndef MEMWHY_PROBES_SYSCALLS_STATE_BPF_H
#define MEMWHY_PROBES_SYSCALLS_STATE_BPF_H

#include "bpf/common.bpf.h"
#include "probes/syscalls/syscalls.h"

const volatile struct syscalls_probe_config config = {};

/* The command of `-- CMD` counts from its execve on: what came before was memwhy's. */
u32 command_runs = 0;

#define command_waits(call_) \
	(config.command && !command_runs && (call_)->pid_tgid >> 32 == config.command)
#define SYSCALL_IS_UNPAIRED(call_) (!command_waits(call_))

#include "bpf/syscall.bpf.h"

/* What is kept of a thread. */
struct thread {
	struct syscall_thread sys;
	u64 side;   /* what shows that the thread has changed sides since: */
	u64 cgroup; /* its control group */
	u32 ring;   /* its ring plus one, 0: none yet */
	u32 reserved;
	u64 kept[SYSCALLS_KEPT]; /* as the call began, of what it changes: enum syscalls_keep */
	u64 part_start[SYSCALLS_PARTS]; /* 0: none is under way */
	u64 part_ns[SYSCALLS_PARTS];
	u64 part_n[SYSCALLS_PARTS];
};

SYSCALL_THREADS(struct thread);

static __always_inline bool call_is_exec(const struct syscall_call *call)
{
	return call->nr != 15 && call->nr != 119 && call->nr != 173 && call->nr != 513 &&
	       syscall_loses_registers(call->abi, call->nr);
}

static __always_inline bool exec_is_silent(const struct syscall_call *call)
{
	bool execve = call->nr == 59 || call->nr == 11 || call->nr == 520;

	return config.silent_exec & (execve ? 1 : 2);
}

static __always_inline bool call_failed(const struct syscall_call *call)
{
	return call->ret < 0 && call->ret >= -4095;
}

/* A cheap test of whether a thread is still in the control group it was in. */
static __always_inline u64 thread_side(const struct syscall_call *call)
{
	struct task_struct *task;

	if (!call->direct)
		return current_cgroup_id() + 1;
	task = (void *)bpf_get_current_task_btf();
	return (u64)task->cgroups;
}

static __always_inline u64 call_ns(const struct syscall_call *call)
{
	return call->start_ns ? call->now_ns - call->start_ns : 0;
}

#endif
