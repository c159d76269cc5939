/* What is copied of the memory that arguments point to: bounded, and only what the tables of user
 * space say (syscalls_probe_config.copy). Pointers may be anything. */
#ifndef MEMWHY_PROBES_SYSCALLS_COPY_BPF_H
#define MEMWHY_PROBES_SYSCALLS_COPY_BPF_H

#include "probes/syscalls/state.bpf.h"

/* The arguments of an execve, from its begin. By process: its id survives. */
struct exec_begun {
	u64 args[SYSCALLS_ARGS];
	u16 size[SYSCALLS_COPIES];
	u8 flags;
	u8 reserved[3];
	char text[SYSCALLS_TEXT];
	char argv[2 * SYSCALLS_TEXT]; /* half of it is for what the verifier thinks */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct exec_begun);
} execs SEC(".maps");

static const struct exec_begun exec_zero = {};

/* Bytes to copy; 0: nothing, or a text. */
static __always_inline u64 copy_size(u8 how, const u64 *args, u32 i, s64 ret)
{
	switch (how & SYSCALLS_COPY_HOW) {
	case SYSCALLS_COPY_BYTES:
		return i < SYSCALLS_ARGS - 1 ? args[i + 1] : 0;
	case SYSCALLS_COPY_RESULT:
		return ret > 0 ? ret : 0;
	case SYSCALLS_COPY_8:
		return 8;
	case SYSCALLS_COPY_12:
		return 12;
	case SYSCALLS_COPY_16:
		return 16;
	case SYSCALLS_COPY_64:
		return 64;
	}
	return 0;
}

/* Copies one argument to `to`, which has `room` bytes. args must not be on the stack. Returns the
 * bytes; flags get what SYSCALLS_CUT_0 and SYSCALLS_FAULTED_0 say, shifted by `which`. */
static __always_inline u32 copy_one(
	u8 how, const u64 *args, s64 ret, char *to, u32 room, u8 *flags, u32 which)
{
	u32 i = (how & SYSCALLS_COPY_ARG) - 1;
	u64 size;
	long n;

	if (i >= SYSCALLS_ARGS || !args[i])
		return 0;
	if ((how & SYSCALLS_COPY_HOW) == SYSCALLS_COPY_TEXT) {
		n = bpf_probe_read_user_str(to, room, (void *)args[i]);
		if (n > 0) {
			*flags |= (n == room ? SYSCALLS_CUT_0 : 0) << which;
			return n - 1;
		}
		*flags |= SYSCALLS_FAULTED_0 << which;
		return 0;
	}
	size = copy_size(how, args, i, ret);
	if (!size)
		return 0;
	if ((how & SYSCALLS_COPY_HOW) < SYSCALLS_COPY_8 && size > SYSCALLS_DATA) {
		*flags |= SYSCALLS_CUT_0 << which;
		size = SYSCALLS_DATA;
	}
	/* for the verifier, which has lost the bound */
	asm volatile("%0 &= 127" : "+r"(size));
	if (size > room || bpf_probe_read_user(to, size, (void *)args[i])) {
		*flags |= SYSCALLS_FAULTED_0 << which;
		return 0;
	}
	return size;
}

static __always_inline u8 copy_how(const struct syscall_call *call, u32 which)
{
	u64 nr = call->nr;

	if (!config.copies || nr >= SYSCALLS_COPIED)
		return 0;
	asm volatile("%0 &= %1" : "+r"(nr) : "i"(SYSCALLS_COPIED - 1));
	return config.copy[call->abi == SYSCALL_COMPAT][nr][which];
}

#define EXEC_ARGV 8 /* texts that are copied at most */

/* The texts of argv, one behind the other, as many as have room. */
static __always_inline u32 argv_copy(struct exec_begun *e, u64 argv, u8 *flags)
{
	u64 p = 0;
	u32 at = 0;
	long n;

	for (int i = 0; i < EXEC_ARGV; i++) {
		if (bpf_probe_read_user(&p, sizeof(p), (void *)(argv + i * sizeof(p))) || !p)
			return at;
		if (at >= SYSCALLS_TEXT - 1)
			break;
		at &= SYSCALLS_TEXT - 1;
		n = bpf_probe_read_user_str(e->argv + at, SYSCALLS_TEXT, (void *)p);
		if (n <= 0)
			return at;
		at += n;
	}
	*flags |= SYSCALLS_CUT_1;
	return at < SYSCALLS_TEXT ? at : SYSCALLS_TEXT;
}

static __always_inline void exec_copy(struct syscall_call *call)
{
	u32 tgid = call->pid_tgid >> 32;
	struct exec_begun *e;
	u64 args[SYSCALLS_ARGS];
	u8 flags = 0, second;

	bpf_map_update_elem(&execs, &tgid, &exec_zero, BPF_ANY);
	e = bpf_map_lookup_elem(&execs, &tgid);
	if (!e)
		return;
	syscall_args(call, args);
	__builtin_memcpy(e->args, args, sizeof(args));
	e->size[0] = copy_one(copy_how(call, 0), e->args, 0, e->text, sizeof(e->text), &flags, 0);
	second = copy_how(call, 1);
	if (second)
		e->size[1] =
			argv_copy(e, (second & SYSCALLS_COPY_ARG) == 2 ? args[1] : args[2], &flags);
	e->flags = flags;
}

/* Copies `n` bytes that are at most `most`, and as many as there is room for. */
static __always_inline u32 exec_text(char *to, u32 room, const char *from, u32 n, u8 cut, u8 *flags)
{
	if (n > room) {
		n = room;
		*flags |= cut;
	}
	asm volatile("%0 &= 255" : "+r"(n));
	if (n > room)
		return 0;
	bpf_probe_read_kernel(to, n, from);
	return n;
}

static __always_inline struct exec_begun *exec_of(const struct syscall_call *call)
{
	u32 tgid = call->pid_tgid >> 32;

	return call_is_exec(call) ? bpf_map_lookup_elem(&execs, &tgid) : 0;
}

#endif
