/*
 * System calls: counted by call, or sent each, or kept in rings that overwrite themselves (flight).
 * When a call begins nothing is done but taking the time: at its end its arguments are still there
 * (bpf/syscall.bpf.h). Those of execve are copied when it begins.
 */
#include "probes/syscalls/syscalls_count.bpf.h"
#include "probes/syscalls/syscalls_each.bpf.h"
#include "probes/syscalls/syscalls_flight.bpf.h"
#include "probes/syscalls/syscalls_memory.bpf.h"

/* A call is over; those that never end are told as they begin. */
static __always_inline void call_tell(struct syscall_call *call, struct thread *t, u16 flags)
{
	if (config.flight)
		flight_keep(call, t, flags);
	else if (scope.each)
		each_send(call, t, flags);
	else
		count_add_call(call, t, flags);
}

static __always_inline bool call_began(struct syscall_call *call, struct thread *t)
{
	bool exec = call_is_exec(call);

	if (command_waits(call) ? !exec : exec && exec_is_silent(call))
		return false;
	if (config.memory) {
		__builtin_memset(t->part_start, 0, sizeof(t->part_start));
		__builtin_memset(t->part_ns, 0, sizeof(t->part_ns));
		__builtin_memset(t->part_n, 0, sizeof(t->part_n));
	}
	if (config.copies && exec)
		exec_copy(call);
	if (config.copies)
		begin_keep(call, t);
	if (!syscall_is_last(call->abi, call->nr))
		return true;
	call->now_ns = config.flight ? bpf_ktime_get_ns() : 0;
	call_tell(call, t, SYSCALLS_NO_END);
	return false;
}

static __always_inline void call_ended(struct syscall_call *call, struct thread *t)
{
	if (command_waits(call)) {
		if (call->ret || !call_is_exec(call))
			return;
		command_runs = 1;
		if (exec_is_silent(call))
			return;
	}
	call_tell(call, t,
		(call->refused ? SYSCALLS_REFUSED : 0) | (call->start_ns ? SYSCALLS_TIMED : 0));
}

SYSCALL_PROGRAMS(call_began, call_ended)

/*
 * Classic tracepoints are used where raw ones are preemptible. The kernel skips their programs on a
 * CPU on which somebody who reads or changes a map was preempted, as memwhy may be
 * (bpf_prog_active). Raw tracepoints do not look at that.
 */
static __always_inline bool tp_is_skipped(void)
{
	const int *active;

	asm volatile("%0 = %1 ll" : "=r"(active) : "i"(SYSCALL_PROG_ACTIVE));
	active = bpf_this_cpu_ptr(active);
	if (!*active)
		return false;
	count_add(rescued);
	return true;
}

SEC("raw_tp/sys_enter")
int sys_enter_spare(struct bpf_raw_tracepoint_args *ctx)
{
	return tp_is_skipped() ? syscall_begin(ctx, ctx->args[1], true) : 0;
}

SEC("raw_tp/sys_exit")
int sys_exit_spare(struct bpf_raw_tracepoint_args *ctx)
{
	return tp_is_skipped() ? syscall_end(ctx, ctx->args[1], true) : 0;
}
