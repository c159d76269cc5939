/*
 * Which system calls a probe wants of bpf/syscall.bpf.h, and how they are had here: the methods of
 * its hook, its constants, the map of its threads.
 */
#ifndef MEMWHY_CAPTURE_SYSCALL_HOOK_H
#define MEMWHY_CAPTURE_SYSCALL_HOOK_H

#include "bpf/syscall.h"
#include "capture/attach.h"

struct bpf_object;

/* Option bits of SYSCALL_METHODS; a probe adds syscalls_options() to its own. */
enum syscalls_option {
	SYSCALLS_BY_TASK =
		1 << 30, /* the kernel keeps state by task, and BTF says what a task is */
	SYSCALLS_PREEMPTIBLE = 1 << 29, /* raw tracepoints are, which skips programs */
};

#define SYSCALL_METHODS                                                                        \
	{                                                                                      \
		{"tracepoints raw_syscalls:*", {"sys_enter_tp", "sys_exit_tp"}, {},            \
			SYSCALLS_PREEMPTIBLE},                                                 \
			{"raw tracepoints sys_enter, sys_exit", {"sys_enter", "sys_exit"}, {}, \
				SYSCALLS_BY_TASK},                                             \
			{"raw tracepoints sys_enter, sys_exit (by thread id)",                 \
				{"sys_enter_hash", "sys_exit_hash"}, {}, 0},                   \
	}

/* For an object that has the programs sys_*_spare. */
#define SYSCALL_SPARE_HOOK                                                                \
	{                                                                                 \
		.data = "system calls while maps are read", .only = SYSCALLS_PREEMPTIBLE, \
		.needs = "bpf_prog_active in BTF",                                        \
		.methods = {                                                              \
			{"raw tracepoints sys_enter, sys_exit",                           \
				{"sys_enter_spare", "sys_exit_spare"}, {}, 0},            \
		},                                                                        \
	}

u32 syscalls_options(void);

/* Wants a number of an ABI (x32: that of the native ones). */
void syscalls_want(struct syscalls_config *s, u32 abi, u32 nr);
/* Wants the call of this name in all ABIs that have it. -ENOENT: none has. */
int syscalls_want_name(struct syscalls_config *s, const char *name);
void syscalls_want_all(struct syscalls_config *s);

/* Sets the constants, and leaves out the map that is not used here. For probe_bpf.prepare. */
int syscalls_prepare(struct bpf_object *obj, const struct syscalls_config *s);

/* "read"; NULL: not known. */
const char *syscalls_name(u32 abi, u32 nr);

#endif
