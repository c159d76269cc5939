/*
 * The registers with which the current task came from user space, whether by a call, a fault, an
 * interrupt or a breakpoint.
 */
#ifndef MEMWHY_BPF_USER_REGS_BPF_H
#define MEMWHY_BPF_USER_REGS_BPF_H

#include "bpf/kernel.bpf.h"

struct task_struct___stack {
	void *stack;
} __attribute__((preserve_access_index));

/* The layout of struct pt_regs is ABI (ptrace). Size of a kernel stack: THREAD_SIZE, x86-64 without
 * KASAN. */
#define USER_REGS_STACK 16384
#define USER_CS 0x33 /* 64-bit code */

/* bpf_task_pt_regs came with 5.15; until then they are at the very end of the task's stack. NULL:
 * they cannot be found, as the kernel has no BTF. */
static __always_inline const struct pt_regs *task_user_regs(void)
{
	struct task_struct___stack *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (void *)bpf_get_current_task();
	if (!bpf_core_field_exists(task->stack))
		return 0;
	return (const struct pt_regs *)((char *)BPF_CORE_READ(task, stack) + USER_REGS_STACK) - 1;
}

#endif
