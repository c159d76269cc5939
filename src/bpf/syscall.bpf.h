/*
 * System calls, for every probe that looks at them: which calls are wanted, their kind (native,
 * compat, x32), and pairing entry and exit by thread. What a call means is up to the probe.
 *
 * A probe includes this after common.bpf.h and defines, in this order:
 *
 * 	struct map_thread {                  // what it keeps per thread; the first member is ours
 * 		struct syscall_thread sys;
 * 		u64 args[6];
 * 	};
 * 	SYSCALL_THREADS(struct map_thread);
 *
 * 	// A call starts. false: do not follow it; map_ended is not called.
 * 	static __always_inline bool map_began(struct syscall_call *call, struct map_thread *t);
 * 	// A call ended.
 * 	static __always_inline void map_ended(struct syscall_call *call, struct map_thread *t);
 * 	SYSCALL_PROGRAMS(map_began, map_ended)
 *
 * This defines the programs of SYSCALL_METHODS in capture/syscall_hook.h, which keep their state in
 * task storage (needs BTF and Linux 5.15) or in a hash by thread id. That header also sets the
 * constants `syscalls`: the wanted numbers as bits, and whether calls are timed. scope_match is
 * called here, once per call, at its start. Handlers count `seen` themselves, once per call, where
 * they deliver or lose it.
 *
 * Kernel behaviour that is handled here (x86-64, the same from 5.10 to 7.3):
 * - A probe that needs no times can do without the entries (syscalls.ends_only), and so without
 *   per-thread state: handlers then get no thread (NULL), except for calls that lose their
 *   registers. Refused calls and calls from before the start cannot be told apart from others
 *   there.
 * - Ptrace and seccomp run before sys_enter. A call they refuse has an exit but no entry: it is
 *   delivered with `refused`, without a duration. The exit of a call that started before we did
 *   looks the same; if no call of its thread was seen before, it is taken for that and only counted
 *   in `unpaired`.
 * - A new thread exits from a clone() it did not enter, with 0. That is no call and is not
 *   delivered.
 * - exit and exit_group have no exit event (syscall_is_last). rt_sigreturn exits with the registers
 *   it returns to and -1 for a number; execve with those of the new program, and with the number
 *   that execve has in the new program's ABI. So the number is taken at the entry.
 * - At the exit of every other call its arguments are still in the registers: a handler may read
 *   them there (syscall_args), with the strings they point to, which the kernel has paged in by
 *   then. Read those of execve at its entry.
 * - An interrupted call exits with -ERESTARTSYS (512) to -ERESTART_RESTARTBLOCK (516) and starts
 *   again, the last kind as restart_syscall. Each counts as a call, as in strace.
 * - execve in a thread that is not the first takes over the first one's id. Task storage stays with
 *   the task; in the hash the entry is not found: such a call is delivered without times.
 * - Where raw tracepoints are preemptible (7.3) these two are as well, and programs get skipped:
 *   2,400 of 160,000 calls of 8 threads. There we use the classic tracepoints raw_syscalls:*, which
 *   run with preemption off. But the kernel skips those on a CPU on which a task that reads or
 *   changes a map was preempted, as memwhy may be (bpf_prog_active): 6 to 30 of 6,049 calls of a
 *   shell that forks. Then, and only then, raw tracepoints take over: SYSCALL_SPARE_HOOK.
 *
 * thread_info.status (TS_COMPAT) says which way into the kernel a call took, not the code segment:
 * 64-bit code may use int 0x80. Without BTF we look at what `syscall` does to two registers: rcx
 * becomes rip, and r11 the flags. int 0x80 does neither, but a program can fake it. With FRED
 * `syscall` does neither, which user space detects: there only the code segment is left.
 */
#ifndef MEMWHY_BPF_SYSCALL_BPF_H
#define MEMWHY_BPF_SYSCALL_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/syscall.h"

const volatile struct syscalls_config syscalls = {};

/* A probe that counts some calls only from a moment on has its own word here. */
#ifndef SYSCALL_IS_UNPAIRED
#define SYSCALL_IS_UNPAIRED(call_) true
#endif

/* The call at hand. */
struct syscall_call {
	void *ctx;
	u64 pid_tgid;
	s64 ret;      /* at the end */
	u64 start_ns; /* at the end; 0: not known, or not asked for (syscalls.timed) */
	u64 now_ns;   /* at the end; 0: not asked for */
	u32 nr;       /* in the table of its ABI; of x32 without its bit */
	u8 abi;       /* enum syscall_abi */
	bool refused; /* at the end: it never began */
	bool direct;  /* the registers may be read without a helper */
};

enum syscall_within { SYSCALL_NOT_WITHIN, SYSCALL_FOLLOWED, SYSCALL_PASSED_OVER };

/* What is kept of a thread between begin and end. */
struct syscall_thread {
	u64 start_ns;
	u32 nr;
	u8 abi;
	u8 within; /* a call has begun and not ended: enum syscall_within */
	u8 reserved[2];
};

#define SYSCALL_THREADS_MAX 16384

#define SYSCALL_THREADS(type_)                            \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);  \
		__uint(map_flags, BPF_F_NO_PREALLOC);     \
		__type(key, int);                         \
		__type(value, type_);                     \
	} syscall_threads SEC(".maps");                   \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);      \
		__uint(max_entries, SYSCALL_THREADS_MAX); \
		__type(key, u32);                         \
		__type(value, type_);                     \
	} syscall_threads_hash SEC(".maps");              \
	static const type_ syscall_thread_zero = {}

#define SYSCALL_THREAD_GET(direct_, tid_, make_)                                      \
	({                                                                            \
		void *t_;                                                             \
		if (direct_) {                                                        \
			t_ = bpf_task_storage_get(&syscall_threads,                   \
				(void *)bpf_get_current_task_btf(), 0,                \
				(make_) ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);        \
		} else {                                                              \
			u32 k_ = (tid_);                                              \
			t_ = bpf_map_lookup_elem(&syscall_threads_hash, &k_);         \
			if (!t_ && (make_)) {                                         \
				bpf_map_update_elem(&syscall_threads_hash, &k_,       \
					&syscall_thread_zero, BPF_ANY);               \
				t_ = bpf_map_lookup_elem(&syscall_threads_hash, &k_); \
			}                                                             \
		}                                                                     \
		t_;                                                                   \
	})

/* linux/thread_info.h of x86; the task begins with it (CONFIG_THREAD_INFO_IN_TASK). */
struct thread_info {
	u32 status;
} __attribute__((preserve_access_index));

struct task_struct___status {
	struct thread_info thread_info;
} __attribute__((preserve_access_index));

#define TS_COMPAT 2
#define USER32_CS 0x23 /* __USER32_CS */
#define X32_SYSCALL_BIT 0x40000000

/* As user space was left, and will be returned to. */
static __always_inline const struct pt_regs *syscall_regs(const struct syscall_call *call)
{
	return call->direct ? (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf())
			    : (void *)((struct bpf_raw_tracepoint_args *)call->ctx)->args[0];
}

/* Without BTF. The registers of a new program are zero as its execve ends. As for syscall_args, not
 * all are copied. */
static __always_inline bool syscall_looks_compat(const struct syscall_call *call)
{
	const struct pt_regs *regs = syscall_regs(call);
	u64 rcx = 0, r11 = 0, nr;
	struct {
		u64 orig_rax, rip, cs, eflags; /* in a row in struct pt_regs */
	} r = {};

	bpf_probe_read_kernel(&r, sizeof(r), &regs->orig_rax);
	if ((u16)r.cs == USER32_CS || !syscalls.clobbers)
		return (u16)r.cs == USER32_CS;
	bpf_probe_read_kernel(&rcx, sizeof(rcx), &regs->rcx);
	bpf_probe_read_kernel(&r11, sizeof(r11), &regs->r11);
	nr = r.orig_rax & ~(u64)X32_SYSCALL_BIT;
	if (!rcx && !r11 && (nr == 59 || nr == 520))
		return false;
	return rcx != r.rip || r11 != r.eflags;
}

static __always_inline bool syscall_is_compat(const struct syscall_call *call)
{
	struct task_struct___status *task;

	if (call->direct) {
		task = (void *)bpf_get_current_task_btf();
		return task->thread_info.status & TS_COMPAT;
	}
	task = (void *)bpf_get_current_task();
	if (bpf_core_field_exists(task->thread_info.status))
		return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
	return syscall_looks_compat(call);
}

static __always_inline bool syscall_bit(const volatile u64 *bits, u32 nr)
{
	u64 word = nr / 64;

	/* The compiler knows that this changes nothing, the verifier does not. */
	asm volatile("%0 &= %1" : "+r"(word) : "i"(SYSCALL_WORDS - 1));
	return bits[word] >> (nr & 63) & 1;
}

/* Is the call of this number, as the kernel has it, wanted? Says what it is. */
static __always_inline bool syscall_wanted(struct syscall_call *call, u64 nr)
{
	bool x32 = (nr & ~(SYSCALL_NUMBERS - 1ULL)) == X32_SYSCALL_BIT;

	call->nr = x32 ? nr & (SYSCALL_NUMBERS - 1) : nr;
	if (!syscalls.all && (call->nr >= SYSCALL_NUMBERS || !syscall_bit(syscalls.any, call->nr)))
		return false;
	call->abi = syscall_is_compat(call) ? SYSCALL_COMPAT : x32 ? SYSCALL_X32 : SYSCALL_NATIVE;
	if (syscalls.all)
		return true;
	return call->abi == SYSCALL_COMPAT ? syscall_bit(syscalls.compat, call->nr)
					   : syscall_bit(syscalls.native, call->nr);
}

/* Is all that there is to know of a call of this number known as it ends? */
static __always_inline bool syscall_ends_alone(struct syscall_call *call, u64 nr)
{
	return (nr & ~(u64)X32_SYSCALL_BIT) < SYSCALL_NUMBERS && syscall_wanted(call, nr) &&
	       !syscall_loses_registers(call->abi, call->nr);
}

static __always_inline bool syscall_begin_matters(u64 nr)
{
	u32 number = nr & ~(u64)X32_SYSCALL_BIT;

	return !syscalls.ends_only || number >= SYSCALL_NUMBERS ||
	       syscall_bit(syscalls.begins, number);
}

/* At the end: may it be that of a call that is wanted? Returns from signal handlers have no number
 * any more. */
static __always_inline bool syscall_may_end(u64 nr)
{
	u32 number = nr & ~(u64)X32_SYSCALL_BIT;

	return syscalls.all || number >= SYSCALL_NUMBERS || syscall_bit(syscalls.ends, number);
}

/* The six arguments; those of compat calls have 32 bits. */
static __always_inline void syscall_args(const struct syscall_call *call, u64 *ret)
{
	/* From rbp on in struct pt_regs. Not all of it is copied: a walk over a user stack comes on
	 * top of what is on the stack here, and 512 bytes are all there is. */
	enum { BP, BX, R11, R10, R9, R8, AX, CX, DX, SI, DI, WORDS };
	const u64 *r = (const u64 *)&syscall_regs(call)->rbp;
	u64 copy[WORDS];

	if (!call->direct) {
		bpf_probe_read_kernel(copy, sizeof(copy), r);
		r = copy;
	}
	if (call->abi == SYSCALL_COMPAT) {
		ret[0] = (u32)r[BX];
		ret[1] = (u32)r[CX];
		ret[2] = (u32)r[DX];
		ret[3] = (u32)r[SI];
		ret[4] = (u32)r[DI];
		ret[5] = (u32)r[BP];
		return;
	}
	ret[0] = r[DI];
	ret[1] = r[SI];
	ret[2] = r[DX];
	ret[3] = r[R10];
	ret[4] = r[R8];
	ret[5] = r[R9];
}

static __always_inline u64 syscall_orig_ax(const struct syscall_call *call)
{
	u64 nr = 0;

	if (call->direct)
		return syscall_regs(call)->orig_rax;
	bpf_probe_read_kernel(&nr, sizeof(nr), &syscall_regs(call)->orig_rax);
	return nr;
}

static __always_inline void syscall_state_lost(void)
{
	struct probe_counts *c = counts();

	if (!c)
		return;
	c->seen++;
	c->lost_state++;
}

/*
 * An exit without an entry. Was the call refused? In the hash, the entry of another thread may be
 * in the way, since execve may change a thread's id.
 */
static __always_inline bool syscall_was_refused(
	struct syscall_call *call, struct syscall_thread *t, bool known)
{
	if (!scope_match(call->pid_tgid))
		return false;
	if (!call->ret && syscall_is_fork(call->abi, call->nr)) {
		t->within = SYSCALL_NOT_WITHIN;
		return false;
	}
	if (!known && SYSCALL_IS_UNPAIRED(call))
		count_add(unpaired);
	/* with another thread's id since it began */
	call->refused = call->ret || !syscall_loses_registers(call->abi, call->nr);
	return known;
}

/* In the hash: does what was begun there end here? */
static __always_inline bool syscall_is_same(
	const struct syscall_call *call, const struct syscall_thread *t, u32 nr)
{
	return call->direct || syscall_loses_registers(t->abi, t->nr) ||
	       nr == (t->abi == SYSCALL_X32 ? t->nr | X32_SYSCALL_BIT : t->nr);
}

#define SYSCALL_BEGIN(ctx_, nr_, direct_, began_)                                                 \
	({                                                                                        \
		struct syscall_call call_ = {.ctx = (ctx_), .direct = (direct_)};                 \
		struct syscall_thread *t_;                                                        \
                                                                                                  \
		if (!syscall_begin_matters(nr_) || !syscall_wanted(&call_, nr_))                  \
			return 0;                                                                 \
		if (syscalls.ends_only && !syscall_is_last(call_.abi, call_.nr) &&                \
			!syscall_loses_registers(call_.abi, call_.nr))                            \
			return 0;                                                                 \
		call_.pid_tgid = bpf_get_current_pid_tgid();                                      \
		if (!scope_match(call_.pid_tgid))                                                 \
			return 0;                                                                 \
		t_ = SYSCALL_THREAD_GET(direct_, (u32)call_.pid_tgid, true);                      \
		if (!t_) {                                                                        \
			syscall_state_lost();                                                     \
			return 0;                                                                 \
		}                                                                                 \
		t_->nr = call_.nr;                                                                \
		t_->abi = call_.abi;                                                              \
		t_->within = began_(&call_, (void *)t_) ? SYSCALL_FOLLOWED : SYSCALL_PASSED_OVER; \
		t_->start_ns = syscalls.timed ? bpf_ktime_get_ns() : 0;                           \
	})

#define SYSCALL_END(ctx_, ret_, direct_, ended_)                                             \
	({                                                                                   \
		struct syscall_call call_ = {.ctx = (ctx_), .direct = (direct_)};            \
		u64 nr_ = syscall_orig_ax(&call_);                                           \
		struct syscall_thread *t_;                                                   \
		bool known_;                                                                 \
                                                                                             \
		if (!syscall_may_end(nr_))                                                   \
			return 0;                                                            \
		call_.pid_tgid = bpf_get_current_pid_tgid();                                 \
		call_.ret = (ret_);                                                          \
		if (syscalls.ends_only && syscall_ends_alone(&call_, nr_)) {                 \
			if (!scope_match(call_.pid_tgid) ||                                  \
				(!call_.ret && syscall_is_fork(call_.abi, call_.nr)))        \
				return 0;                                                    \
			t_ = 0;                                                              \
			asm volatile("" : "+r"(t_)); /* or the compiler draws conclusions */ \
			ended_(&call_, (void *)t_);                                          \
			return 0;                                                            \
		}                                                                            \
		t_ = SYSCALL_THREAD_GET(direct_, (u32)call_.pid_tgid, false);                \
		known_ = t_ != 0;                                                            \
		if (t_ && t_->within && syscall_is_same(&call_, t_, nr_)) {                  \
			call_.now_ns = syscalls.timed ? bpf_ktime_get_ns() : 0;              \
			call_.nr = t_->nr;                                                   \
			call_.abi = t_->abi;                                                 \
			call_.start_ns = t_->start_ns;                                       \
			known_ = t_->within == SYSCALL_FOLLOWED;                             \
			t_->within = SYSCALL_NOT_WITHIN;                                     \
			if (!known_)                                                         \
				return 0;                                                    \
		} else {                                                                     \
			if (!syscall_wanted(&call_, nr_))                                    \
				return 0;                                                    \
			if (!t_)                                                             \
				t_ = SYSCALL_THREAD_GET(direct_, (u32)call_.pid_tgid, true); \
			if (!t_ || !syscall_was_refused(&call_, t_, known_))                 \
				return 0;                                                    \
		}                                                                            \
		ended_(&call_, (void *)t_);                                                  \
	})

/* include/trace/events/syscalls.h */
struct syscall_enter_event {
	u64 common;
	s64 nr;
	u64 args[6];
};

struct syscall_exit_event {
	u64 common;
	s64 nr;
	s64 ret;
};

#define SYSCALL_PROGRAMS(began_, ended_)                                                   \
	static __always_inline int syscall_begin(void *ctx, u64 nr, bool direct)           \
	{                                                                                  \
		SYSCALL_BEGIN(ctx, nr, direct, began_);                                    \
		return 0;                                                                  \
	}                                                                                  \
	static __always_inline int syscall_end(void *ctx, s64 ret, bool direct)            \
	{                                                                                  \
		SYSCALL_END(ctx, ret, direct, ended_);                                     \
		return 0;                                                                  \
	}                                                                                  \
	SEC("raw_tp/sys_enter") int sys_enter(struct bpf_raw_tracepoint_args *ctx)         \
	{                                                                                  \
		return syscall_begin(ctx, ctx->args[1], true);                             \
	}                                                                                  \
	SEC("raw_tp/sys_exit") int sys_exit(struct bpf_raw_tracepoint_args *ctx)           \
	{                                                                                  \
		return syscall_end(ctx, ctx->args[1], true);                               \
	}                                                                                  \
	SEC("tp/raw_syscalls/sys_enter") int sys_enter_tp(struct syscall_enter_event *ctx) \
	{                                                                                  \
		return PASS(syscall_begin(ctx, ctx->nr, true));                            \
	}                                                                                  \
	SEC("tp/raw_syscalls/sys_exit") int sys_exit_tp(struct syscall_exit_event *ctx)    \
	{                                                                                  \
		return PASS(syscall_end(ctx, ctx->ret, true));                             \
	}                                                                                  \
	SEC("raw_tp/sys_enter") int sys_enter_hash(struct bpf_raw_tracepoint_args *ctx)    \
	{                                                                                  \
		return syscall_begin(ctx, ctx->args[1], false);                            \
	}                                                                                  \
	SEC("raw_tp/sys_exit") int sys_exit_hash(struct bpf_raw_tracepoint_args *ctx)      \
	{                                                                                  \
		return syscall_end(ctx, ctx->args[1], false);                              \
	}

#endif
