/*
 * User stacks of programs without frame pointers: a walk by call-frame tables in maps. A frame is
 * a function of its own that the verifier looks at once (its state is in a map, since kernels to
 * 5.11 hand no pointers to such functions), so that the number of frames costs nothing there. No
 * helper that is younger than 5.5.
 */
#ifndef MEMWHY_BPF_UNWIND_BPF_H
#define MEMWHY_BPF_UNWIND_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/unwind.h"

/* Tables: pages of words, made as they are needed. */
struct unwind_page_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unwind_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_PAGES_MAX);
	__type(key, u32);
	__array(values, struct unwind_page_map);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, u32);
	__type(value, struct cfi_rule);
} unwind_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_walk);
} unwind_walks SEC(".maps");

static __always_inline struct unwind_page *unwind_page_of(u32 word)
{
	u32 key = word / UNWIND_PAGE_WORDS, zero = 0;
	void *page = bpf_map_lookup_elem(&unwind_pages, &key);

	return page ? bpf_map_lookup_elem(page, &zero) : 0;
}

/* Takes in the words around too: below the return address are the caller's registers, mostly, and
 * above it is what small frames further up have. */
static __always_inline int unwind_read(void *ctx, u64 address, u64 *ret)
{
	struct unwind_walk *w = ctx;
	u64 at = address - w->window_start;

	if (at < sizeof(w->window) && !(at & 7)) {
		barrier_var(at); /* or the compiler leaves out the mask, which the verifier needs */
		*ret = w->window[(at / 8) & (UNWIND_WINDOW - 1)];
		return 0;
	}
	at = address - UNWIND_BELOW * 8;
	if (bpf_probe_read_user(w->window, sizeof(w->window), (void *)at)) {
		w->window_start = ~0ULL;
		return (int)bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
	}
	w->window_start = at;
	*ret = w->window[UNWIND_BELOW];
	return 0;
}

/*
 * In searches w->zero is added to each new bound: to the verifier, which cannot know that it is 0,
 * all outcomes of a step are one then, any number. Else each would be one more case in which all
 * that follows must be right.
 */

/* Makes w->mapping the one that ip is in. */
static __always_inline int unwind_mapping_find(struct unwind_walk *w, u64 ip)
{
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &w->process);
	u32 lo, hi, zero = w->zero;

	if (!p)
		return CFI_STOP_NO_CODE;
	lo = zero;
	hi = p->n;
	for (u32 step = 0; step < 9 && lo < hi; step++) {
		u32 mid = (lo + hi) / 2;

		if (p->mappings[mid & (UNWIND_MAPPINGS_MAX - 1)].end > ip)
			hi = mid;
		else
			lo = mid + 1;
		lo += zero;
		hi += zero;
	}
	lo += zero;
	if (lo >= p->n)
		return CFI_STOP_NO_CODE;
	w->mapping = p->mappings[lo & (UNWIND_MAPPINGS_MAX - 1)];
	return ip < w->mapping.start ? CFI_STOP_NO_CODE : 0;
}

/* The last of the rows from word `at` on, numbered to `last`, that does not begin behind pc; the
 * first one does not. */
static __always_inline u32 unwind_row_find(
	const struct unwind_page *page, u32 at, u32 last, u32 pc, u32 zero)
{
	u32 lo = zero;

	for (u32 step = 0; step < 8 && lo < last; step++) {
		u32 mid = (lo + last + 1) / 2;

		if (page->words[(at + mid) & (UNWIND_PAGE_WORDS - 1)] >> 16 <= pc)
			lo = mid;
		else
			last = mid - 1;
		lo += zero;
		last += zero;
	}
	lo += zero;
	return page->words[(at + lo) & (UNWIND_PAGE_WORDS - 1)];
}

/* The rule for ip, which w->mapping holds; NULL: there is none. */
static __always_inline struct cfi_rule *unwind_rule_find(struct unwind_walk *w, u64 ip)
{
	u64 pc = ip - w->mapping.bias, block = pc >> 8;
	struct unwind_page *page;
	u32 word, at, last, rule;

	if (block >= w->mapping.blocks)
		return 0;
	word = w->mapping.index + (u32)block;
	page = unwind_page_of(word);
	if (!page)
		return 0;
	word = page->words[word & (UNWIND_PAGE_WORDS - 1)];
	last = word & 0xff;
	at = w->mapping.rows + (word >> 8);
	page = unwind_page_of(at);
	if (!page)
		return 0;
	word = unwind_row_find(page, at, last, pc & 0xff, w->zero);
	rule = word & 0xffff;
	return bpf_map_lookup_elem(&unwind_rules, &rule);
}

/* One frame; what stopped the walk, or 0. */
__noinline int unwind_frame(u32 i)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct cfi_rule *rule;
	u64 ip;
	int stop;

	if (!w || i > UNWIND_DEPTH_MAX)
		return CFI_STOP_DEPTH;
	ip = cfi_lookup_ip(&w->regs);
	if (ip < w->mapping.start || ip >= w->mapping.end) {
		stop = unwind_mapping_find(w, ip);
		if (stop)
			return stop;
	}
	w->ips[i & UNWIND_DEPTH_MAX] = w->regs.ip;
	w->n = i + 1;
	rule = unwind_rule_find(w, ip);
	if (!rule || rule->kind == CFI_NONE) {
		stop = cfi_step_frame_pointer(&w->regs, unwind_read, w);
		w->guessed += !stop;
		return stop == CFI_STOP_MEMORY ? CFI_STOP_NO_RULE : stop;
	}
	if (w->regs.context)
		cfi_other_from_context(rule, &w->regs, unwind_read, w);
	return cfi_step(rule, &w->regs, unwind_read, w);
}

struct task_struct___stack {
	void *stack;
} __attribute__((preserve_access_index));

/* Its layout is ABI (ptrace). Size of a kernel stack: THREAD_SIZE, x86-64 without KASAN. */
#define UNWIND_KERNEL_STACK 16384

/* The registers with which this task came from user space. bpf_task_pt_regs came with 5.15; until
 * then they are at the very end of its stack. */
static __always_inline const struct pt_regs *unwind_user_regs(void)
{
	struct task_struct___stack *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (void *)bpf_get_current_task();
	return (const struct pt_regs *)((char *)BPF_CORE_READ(task, stack) + UNWIND_KERNEL_STACK) -
	       1;
}

/* Walks from regs; the result is in the walk of this CPU, until the caller lets it go again
 * (busy = 0). NULL: a walk is going on on this CPU, interrupted by this program. */
static __always_inline struct unwind_walk *unwind_user(u32 process, const struct pt_regs *user)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct pt_regs regs;

	if (!w || w->busy || bpf_probe_read_kernel(&regs, sizeof(regs), user))
		return 0;
	w->busy = 1;
	w->regs = (struct cfi_regs){.ip = regs.rip,
		.sp = regs.rsp,
		.bp = regs.rbp,
		.bx = regs.rbx,
		.exact = 1,
		.lost = CFI_LOST_OTHER};
	w->process = process;
	w->mapping.start = w->mapping.end = 0;
	w->window_start = ~0ULL;
	w->n = w->guessed = 0;
	w->stop = CFI_STOP_DEPTH;
	for (u32 i = 0; i < UNWIND_DEPTH_MAX; i++) {
		int stop = unwind_frame(i);

		if (stop) {
			w->stop = (u32)stop;
			break;
		}
	}
	return w;
}

#endif
