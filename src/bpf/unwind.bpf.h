/*
 * Walks user stacks of programs without frame pointers, with DWARF unwind tables in maps that
 * capture/unwind/unwind.h fills. Each frame is a call of a global function that the verifier checks
 * once, so the number of frames costs nothing there. Its state is in a map, because kernels up to
 * 5.11 pass no pointers to such functions. Uses no helper younger than 5.8.
 *
 * Until the tables of a process are ready, its mappings are looked up in the kernel where possible,
 * and frame pointers are followed in files that have no tables yet. Those of libc are not frame
 * pointers: the register may hold anything, so a walk that leads nowhere ends, without a page fault
 * where that can be detected.
 *
 * Objects are built with and without this (USER_WALK): it is loaded only if user stacks are
 * requested. Included by common.bpf.h.
 */
#if defined(USER_WALK) && !defined(MEMWHY_BPF_UNWIND_BPF_H)
#define MEMWHY_BPF_UNWIND_BPF_H

#include "bpf/unwind_find.bpf.h"
#include "bpf/unwind_vma.bpf.h"
#include "bpf/user_regs.bpf.h"

/* Words from the start of struct pt_regs to a register, by its number in DWARF. */
static __always_inline u32 unwind_regs_word(u32 reg)
{
	const u64 low = 0x13040e0d050b0c0a; /* ax, dx, cx, bx, si, di, bp, sp */

	if (reg < 8)
		return low >> 8 * reg & 0xff;
	return (reg < 12 ? 17 : 15) - reg;
}

/* Where code was interrupted, all registers are known: of the thread, or in a signal's frame. */
static __always_inline void unwind_other_get(struct unwind_walk *w, const struct cfi_rule *rule)
{
	u64 at = w->user_regs + 8 * unwind_regs_word((u32)rule->arg & 15);

	if (rule->kind != CFI_OTHER && rule->kind != CFI_RETURN_IN)
		return;
	if (w->regs.context)
		cfi_other_from_context(rule, &w->regs, unwind_read, w);
	else if (w->regs.exact && !bpf_probe_read_kernel(&w->regs.other, 8, (void *)at))
		w->regs.lost &= (u8)~CFI_LOST_OTHER;
}

#define UNWIND_CODE_MIN 65536          /* vm.mmap_min_addr */
#define UNWIND_CODE_MAX 0x7fffffffeff0 /* the end of the address space */
static __always_inline void unwind_hash(struct unwind_walk *w, u64 value)
{
	w->stack.hash = stack_hash(w->stack.hash, value);
}

/* The caller of code that has no rule, by its frame pointer. What looks like the end of a stack is
 * none in code made at run time, which some other code has called: there the register was put to
 * another use (Java, unless told otherwise). */
static __always_inline int unwind_guess(struct unwind_walk *w)
{
	int stop = cfi_step_frame_pointer(&w->regs, unwind_read, w);
	bool made = !w->mapping.blocks && w->mapping.rows == UNWIND_NO_FILE;

	w->guessed += !stop;
	return stop == CFI_STOP_MEMORY || (stop == CFI_STOP_END && made) ? CFI_STOP_NO_RULE : stop;
}

/* Makes w->mapping the one that ip is in, if any is known. 0: it may be code. What the process has
 * mapped since it was looked at is found by its file, as are those that nobody has looked at. */
static __always_inline int unwind_code_find(struct unwind_walk *w, u64 ip)
{
	if (ip >= w->mapping.start && ip < w->mapping.end)
		return 0;
	if (w->n_mappings) {
		if (!unwind_mapping_find(ip))
			return 0;
		if (!unwind_tree_usable() || unwind_vma_look(ip))
			return CFI_STOP_NO_CODE;
		w->later = 1;
		return w->mapping.rows == UNWIND_NO_FILE ? CFI_STOP_NO_CODE : 0;
	}
	if (w->by_file == UNWIND_BY_NOTE)
		return unwind_vma_find(ip);
	return w->by_file ? unwind_vma_look(ip) : 0;
}

/* The frame as it is kept: w->mapping holds it, if its file is known. */
static __always_inline u64 unwind_place(const struct unwind_walk *w)
{
	u64 offset = w->regs.ip - w->mapping.file;

	if (!w->mapping.module || offset >> STACK_PLACE_SHIFT)
		return w->regs.ip;
	return STACK_PLACE | (u64)w->mapping.module << STACK_PLACE_SHIFT | offset;
}

/* The next frame: notes it, and finds its rule. What stopped the walk, or 0. */
__noinline int unwind_enter(u32 i)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	bool known;
	u64 ip, frame;

	if (!w || i >= STACK_DEPTH_MAX)
		return CFI_STOP_DEPTH;
	ip = cfi_lookup_ip(&w->regs);
	if (ip < UNWIND_CODE_MIN || ip > UNWIND_CODE_MAX)
		return CFI_STOP_NO_CODE;
	known = !unwind_code_find(w, ip);
	if (!known && i)
		return CFI_STOP_NO_CODE;
	frame = known ? unwind_place(w) : w->regs.ip;
	w->stack.frames[i] = frame;
	w->stack.n = i + 1;
	unwind_hash(w, frame);
	if (!known)
		return CFI_STOP_NO_CODE;
	w->rule = w->mapping.end ? (u32)unwind_rule_find(ip) : UNWIND_NO_RULE;
	return 0;
}

/* From the frame to its caller's. What stopped the walk, or 0. */
__noinline int unwind_step(u32 i)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct cfi_rule *rule;

	if (!w || i >= STACK_DEPTH_MAX)
		return CFI_STOP_DEPTH;
	rule = w->rule ? bpf_map_lookup_elem(&unwind_rules, &w->rule) : 0;
	if (!rule || rule->kind == CFI_NONE)
		return unwind_guess(w);
	unwind_other_get(w, rule);
	return cfi_step(rule, &w->regs, unwind_read, w);
}

struct mm_struct___code {
	unsigned long end_code;
} __attribute__((preserve_access_index));

/* 0: a kernel thread; or an exec, whose address space is the new one already (fs/binfmt_elf.c sets
 * end_code last), and whose registers are still those of the old one. */
static __always_inline u64 unwind_identity_now(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___code *code = (void *)mm;
	u64 end_code = mm ? BPF_CORE_READ(code, end_code) : 0;

	return end_code ? unwind_identity(end_code, BPF_CORE_READ(mm, start_stack),
				  BPF_CORE_READ(mm, start_brk))
			: 0;
}

/* Asks for the tables of a process; why there are none for now. */
static __always_inline u8 unwind_ask(u32 tgid, u64 identity)
{
	struct unwind_process waiting = {.identity = identity};
	struct unwind_ask ask = {.identity = identity, .tgid = tgid};
	u64 key = tgid;

	if (bpf_map_update_elem(&unwind_procs, &key, &waiting, BPF_ANY))
		return STACK_NO_ROOM;
	if (bpf_ringbuf_output(&unwind_asks, &ask, sizeof(ask), 0))
		bpf_map_delete_elem(&unwind_procs, &key); /* the next stack asks again */
	return STACK_NOT_READY;
}

/* Takes the tables of the process; why there are none, or 0. */
static __noinline u8 unwind_tables_find(struct unwind_walk *w, u32 tgid, u64 identity)
{
	u64 key = tgid;
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_procs, &key);
	u8 why = STACK_NOT_READY;

	w->n_mappings = 0;
	if (!p || p->identity != identity)
		why = unwind_ask(tgid, identity);
	else if (p->state == UNWIND_READY)
		goto ready;
	else if (p->state == UNWIND_NO_ROOM)
		return STACK_NO_ROOM;
	key = identity;
	p = bpf_map_lookup_elem(&unwind_procs, &key);
	if (!p || p->state != UNWIND_READY)
		return why;
ready:
	w->first = p->first;
	w->n_mappings = p->n;
	return w->n_mappings ? 0 : why;
}

/* Code was met that is in no known mapping: a library may have been loaded meanwhile. */
static __noinline void unwind_ask_again(u32 tgid, u64 identity)
{
	u64 key = tgid;
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_procs, &key);
	struct unwind_ask ask = {.identity = identity, .tgid = tgid, .again = 1};

	if (!p || p->asked)
		return;
	p->asked = 1;
	bpf_ringbuf_output(&unwind_asks, &ask, sizeof(ask), 0);
}

static __always_inline void unwind_count(u32 method, u32 detail)
{
	u32 zero = 0;
	struct unwind_counts *c = bpf_map_lookup_elem(&unwind_counts, &zero);

	if (c)
		c->stacks[method & (UNWIND_METHODS - 1)][detail & (UNWIND_DETAILS - 1)]++;
}

/* Begins at regs. false: it is not for this walk. */
static __noinline bool unwind_begin(struct unwind_walk *w, const struct pt_regs *user)
{
	u64 ip_cs[2] = {}, sp = 0, bp = 0, bx = 0;

	bpf_probe_read_kernel(ip_cs, sizeof(ip_cs), &user->rip);
	bpf_probe_read_kernel(&sp, sizeof(sp), &user->rsp);
	bpf_probe_read_kernel(&bp, sizeof(bp), &user->rbp);
	bpf_probe_read_kernel(&bx, sizeof(bx), &user->rbx);
	w->regs = (struct cfi_regs){
		.ip = ip_cs[0], .sp = sp, .bp = bp, .bx = bx, .exact = 1, .lost = CFI_LOST_OTHER};
	w->user_regs = (u64)user;
	w->mapping.start = w->mapping.end = 0;
	w->mapping.module = w->mapping.blocks = w->mapping.rows = 0;
	w->window_start = ~0ULL;
	w->guessed = 0;
	w->by_file = w->unknown = w->later = 0;
	w->stack.n = 0;
	w->stack.hash = 0;
	return (u16)ip_cs[1] == USER_CS;
}

/* Walks on from frame i; what stopped it. Two functions a frame, one after the other, need less of
 * the 512 bytes of stack than one within the other. */
__noinline int unwind_walk(u32 i)
{
	for (u32 n = 0; n < STACK_DEPTH_MAX; n++) {
		int stop = unwind_enter(i + n);

		if (!stop)
			stop = unwind_step(i + n);
		if (stop)
			return stop;
	}
	return CFI_STOP_DEPTH;
}

static __always_inline void unwind_judge(
	struct unwind_walk *w, u8 fallback, u32 stop, u32 tgid, u64 identity)
{
	u8 method = STACK_EXACT, detail = 0;

	if (fallback) {
		method = STACK_BY_FRAME_POINTERS;
		detail = fallback;
	} else if (stop != CFI_STOP_END) {
		method = STACK_CUT;
		detail = (u8)stop;
	} else if (w->guessed) {
		method = STACK_GUESSED;
	}
	if (w->later || (detail == CFI_STOP_NO_CODE && !fallback))
		unwind_ask_again(tgid, identity);
	w->stack.method = method;
	w->stack.detail = detail;
	unwind_hash(w, (u64)method << 8 | detail);
	unwind_count(method, detail);
}

/* The stack's bytes, up to where the first thread's arguments are, or what can be read. How many is
 * in the map and nowhere else, so that to the verifier all ends of a loop are one. */
static __always_inline void unwind_copy_bytes(struct unwind_copy *copy)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 sp = copy->regs[UNWIND_REGS_SP], to = BPF_CORE_READ(task, mm, start_stack);

	to = sp < to ? to + UNWIND_COPY_REST : ~0ULL;
	copy->n = 0;
	for (u32 at = 0; at < UNWIND_COPY_BYTES && sp + at < to; at += UNWIND_COPY_CHUNK) {
		if (bpf_probe_read_user(copy->bytes + at, UNWIND_COPY_CHUNK, (void *)(sp + at)))
			break;
		copy->n = at + UNWIND_COPY_CHUNK;
	}
	for (u32 i = 0; i < UNWIND_COPY_CHUNK / UNWIND_COPY_REST; i++) {
		u32 n = copy->n;

		barrier_var(n); /* the register that is compared is the one that is used */
		if (n > UNWIND_COPY_BYTES - UNWIND_COPY_REST || sp + n >= to ||
			bpf_probe_read_user(copy->bytes + n, UNWIND_COPY_REST, (void *)(sp + n)))
			break;
		copy->n = n + UNWIND_COPY_REST;
	}
}

/* Keeps a stack that came before its tables as it is, and sends what it takes to walk it later. 0:
 * it is not kept. */
static __noinline u32 unwind_keep_copy(struct unwind_walk *w, u64 identity)
{
	u32 zero = 0, n;
	struct unwind_copy *copy = bpf_map_lookup_elem(&unwind_copy, &zero);
	u64 hash = w->stack.hash;

	if (!copy || bpf_probe_read_kernel(copy->regs, sizeof(copy->regs), (void *)w->user_regs))
		return 0;
	unwind_hash(w, (u64)bpf_get_smp_processor_id() << 32 | w->copies++);
	copy->stack = stack_keep(&user_stacks, &w->stack);
	if (copy->stack) {
		copy->identity = identity;
		copy->had = w->stack.n;
		unwind_copy_bytes(copy);
		n = copy->n;
		barrier_var(n);
		if (n <= UNWIND_COPY_BYTES)
			bpf_ringbuf_output(
				&unwind_copies, copy, offsetof(struct unwind_copy, bytes) + n, 0);
	}
	w->stack.hash = hash;
	return copy->stack;
}

/* The key by which the stack is kept, or 0. */
static __always_inline u32 unwind_keep(struct unwind_walk *w, u64 identity)
{
	u32 id = 0;

	if (w->stack.method == STACK_BY_FRAME_POINTERS && w->stack.detail == STACK_NOT_READY)
		id = unwind_keep_copy(w, identity);
	return id ? id : stack_keep(&user_stacks, &w->stack);
}

/*
 * Takes the user stack of the current task. false: the kernel has to, by frame pointers (32-bit
 * code; a walk that this program interrupted). *ret_id: 0: there is no stack, or it was not kept,
 * which is counted.
 */
static __noinline bool user_stack_take(long *ret_id)
{
	u32 zero = 0, tgid = bpf_get_current_pid_tgid() >> 32;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	u64 identity = unwind_identity_now();
	u8 fallback;
	u32 stop;

	*ret_id = 0;
	if (!w || !identity)
		return true;
	if (w->busy) {
		unwind_count(STACK_BY_FRAME_POINTERS, STACK_BUSY);
		return false;
	}
	w->busy = 1;
	if (!unwind_begin(w, task_user_regs())) {
		w->busy = 0;
		unwind_count(STACK_BY_FRAME_POINTERS, STACK_OTHER_CODE);
		return false;
	}
	fallback = unwind_tables_find(w, tgid, identity);
	w->by_file = fallback ? unwind_by_file(identity) : UNWIND_NOT_BY_FILE;
	stop = (u32)unwind_walk(0);
	if (w->unknown)
		fallback = fallback ? fallback : STACK_NOT_READY;
	else if (w->by_file)
		fallback = 0;
	if (w->stack.n) { /* a thread of the kernel that works for a process has none */
		unwind_judge(w, fallback, stop, tgid, identity);
		*ret_id = unwind_keep(w, identity);
		if (!*ret_id)
			count_add(lost_stack);
	}
	w->busy = 0;
	return true;
}

#endif
