/* See syscalls.h. */
#include "capture/syscall_hook.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "sys/calls/syscalls.h"

static bool helper_works(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, id, NULL) == 1;
}

/* Task storage for tracing programs is from 5.13, bpf_task_pt_regs from 5.15. */
static bool by_task(void)
{
	static int known = -1;

	if (known < 0)
		known = kbtf_available() && helper_works(BPF_FUNC_task_storage_get) &&
			helper_works(BPF_FUNC_task_pt_regs);
	return known;
}

u32 syscalls_options(void)
{
	if (!by_task())
		return 0;
	return SYSCALLS_BY_TASK | (kbtf_raw_is_preemptible() ? SYSCALLS_PREEMPTIBLE : 0);
}

static void bit_set(u64 *bits, u32 nr)
{
	bits[nr / 64] |= 1ULL << nr % 64;
}

/* execve of the native and compat tables and of x32: what an execve, or execveat, ends with. */
static const u32 exec_numbers[] = {59, 11, 520};

void syscalls_want(struct syscalls_config *s, u32 abi, u32 nr)
{
	if (nr >= SYSCALL_NUMBERS)
		return;
	bit_set(abi == SYSCALL_COMPAT ? s->compat : s->native, nr);
	bit_set(s->any, nr);
	bit_set(s->ends, nr);
	for (size_t i = 0; i < ARRAY_SIZE(exec_numbers); i++)
		bit_set(s->ends, exec_numbers[i]);
}

int syscalls_want_name(struct syscalls_config *s, const char *name)
{
	int rc = -ENOENT;

	for (u32 abi = SYSCALL_NATIVE; abi <= SYSCALL_COMPAT; abi++) {
		for (u32 nr = 0; nr < SYSCALL_NUMBERS; nr++) {
			const char *n = syscalls_name(abi, nr);

			if (!n || strcmp(n, name))
				continue;
			syscalls_want(s, abi, nr);
			rc = 0;
		}
	}
	return rc;
}

void syscalls_want_all(struct syscalls_config *s)
{
	s->all = 1;
}

/* Of all ABIs: the programs look at the number first, and then at what it is. */
static void begins_set(struct syscalls_config *s)
{
	for (u32 abi = SYSCALL_NATIVE; abi < SYSCALL_ABIS; abi++)
		for (u32 nr = 0; nr < SYSCALL_NUMBERS; nr++)
			if (syscall_is_last(abi, nr) || syscall_loses_registers(abi, nr))
				bit_set(s->begins, nr);
}

/* Does `syscall` put the address behind it into rcx, as it does without FRED? */
static bool instruction_clobbers(void)
{
	long rax = 39; /* getpid */
	unsigned long rcx = 0;

	asm volatile("xor %%ecx, %%ecx\n\tsyscall" : "+a"(rax), "=&c"(rcx) : : "r11", "memory");
	return rcx != 0;
}

/* The instruction that loads SYSCALL_PROG_ACTIVE loads the variable. Where there is none in BTF the
 * program does not load, and its method is not used. */
static void spare_prepare(struct bpf_program *prog, u32 variable)
{
	struct bpf_insn *insn = (struct bpf_insn *)(uintptr_t)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++) {
		if (insn[i].code != (BPF_LD | BPF_DW | BPF_IMM) || insn[i].src_reg ||
			insn[i].imm != SYSCALL_PROG_ACTIVE)
			continue;
		insn[i].src_reg = BPF_PSEUDO_BTF_ID;
		insn[i].imm = (s32)variable;
	}
}

static void spares_prepare(struct bpf_object *obj)
{
	static const char *const names[] = {"sys_enter_spare", "sys_exit_spare"};
	u32 variable = kbtf_raw_is_preemptible() ? kbtf_percpu_id("bpf_prog_active") : 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct bpf_program *prog = bpf_object__find_program_by_name(obj, names[i]);

		if (prog)
			spare_prepare(prog, variable);
	}
}

int syscalls_prepare(struct bpf_object *obj, const struct syscalls_config *s)
{
	struct syscalls_config config = *s;
	const char *unused = by_task() ? "syscall_threads_hash" : "syscall_threads";
	struct bpf_map *map = bpf_object__find_map_by_name(obj, unused);
	int rc = map ? bpf_map__set_autocreate(map, false) : -ENOENT;

	begins_set(&config);
	config.clobbers = instruction_clobbers();
	spares_prepare(obj);
	return rc ? rc : attach_set_const(obj, "syscalls", &config, sizeof(config));
}

const char *syscalls_name(u32 abi, u32 nr)
{
	return abi == SYSCALL_COMPAT ? syscall_compat_name(nr) : syscall_name(nr);
}
