/*
 * Hint faults of automatic NUMA balancing. The kernel takes the right to access pages away, and the
 * next access faults: that is a sample. It is seen where the kernel counts it, numa_hint_faults of
 * /proc/vmstat, by a watchpoint on that counter (capture/watch.h): in the thread that faults, with
 * the page table locked and before the page is moved, from 5.10 to 7.3 (mm/memory.c:
 * numa_migrate_prep(), since 6.12 numa_migrate_check(); 5.10 also do_huge_pmd_numa_page()). The
 * address is that of the exception, the node is read from the page tables.
 *
 * numa_pages_migrated is added to after a page was moved and is mapped again, in the same thread
 * (mm/migrate.c: migrate_misplaced_page() and its successors).
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_HINT_BPF_H
#define MEMWHY_PROBES_NUMA_CAPTURE_HINT_BPF_H

#include "probes/numa/capture/numa_task.bpf.h"

#define SLOTS 8192

/* The fault a thread is in. Direct-mapped by thread id: a collision costs an address, never a
 * sample. */
struct slot {
	u32 tid; /* 0: none */
	u32 error_code;
	u64 address;
	u64 regs; /* as the exception left them, on the kernel's stack; 0: not known */
	u64 hint; /* the address if it was a hint fault, and where the page was; 0: not yet */
	s32 from;
	u32 reserved;
};

TASK_SLOTS(SLOTS)

static __always_inline int fault_begin(u64 address, u64 regs, u64 error_code)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct slot *s = slot_of(tid);

	if (!s)
		return 0;
	s->tid = tid;
	s->error_code = (u32)error_code;
	s->address = address;
	s->regs = regs;
	s->hint = 0;
	return 0;
}

/* TP_PROTO(unsigned long address, struct pt_regs *regs, unsigned long error_code), from 5.10 to 7.3
 */
SEC("raw_tp/page_fault_user")
int raw_fault_user(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begin(ctx->args[0], ctx->args[1], ctx->args[2]);
}

SEC("raw_tp/page_fault_kernel")
int raw_fault_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begin(ctx->args[0], ctx->args[1], ctx->args[2]);
}

/* Where raw tracepoints are preemptible (7.3) a program is skipped while another task is within it,
 * and the address before it would be taken for this fault's. */
struct trace_event_raw_exceptions {
	unsigned long address, ip, error_code;
} __attribute__((preserve_access_index));

SEC("tp/exceptions/page_fault_user")
int tp_fault_user(struct trace_event_raw_exceptions *e)
{
	return PASS(fault_begin(e->address, 0, e->error_code));
}

SEC("tp/exceptions/page_fault_kernel")
int tp_fault_kernel(struct trace_event_raw_exceptions *e)
{
	return PASS(fault_begin(e->address, 0, e->error_code));
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct numa_counters);
} counters SEC(".maps");

static __always_inline struct numa_counters *counters_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

/* arch/x86/include/asm/trap_pf.h */
#define X86_PF_WRITE 2
#define X86_PF_USER 4
#define X86_PF_INSTR 16

static __always_inline u8 access_of(u32 error_code)
{
	if (error_code & X86_PF_WRITE)
		return NUMA_STORE;
	return error_code & X86_PF_INSTR ? NUMA_FETCH : NUMA_LOAD;
}

/* The node of the page that the current process has at this address. */
static __always_inline s32 node_now(u64 address, u8 *ret_shift)
{
	struct place p = {.pgd = current_pgd()};
	u32 place;

	*ret_shift = 0;
	if (!place_config.page_offset || !p.pgd)
		return numa_config.only_node;
	place = page_place(&p, address);
	*ret_shift = page_shift(&p);
	return place < PLACE_NODES ? (s32)place : numa_config.only_node;
}

static __always_inline void registers_read(struct numa_sample *s, const struct slot *slot)
{
	const struct pt_regs *regs = (void *)slot->regs;

	if (!regs && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) &&
		slot->error_code & X86_PF_USER)
		regs = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	if (!regs)
		return;
	bpf_probe_read_kernel(&s->ip, sizeof(s->ip), &regs->rip);
	bpf_probe_read_kernel(&s->sp, sizeof(s->sp), &regs->rsp);
}

/* The exception that this hint fault came by. There is none where the kernel looks pages up by
 * itself (get_user_pages). */
static __always_inline void exception_read(struct numa_sample *s, struct slot *slot)
{
	s->address = slot->address;
	s->op = access_of(slot->error_code);
	registers_read(s, slot);
	if (!(slot->error_code & X86_PF_USER)) {
		s->h.flags |= NUMA_IN_KERNEL;
		s->sp = 0;
	}
	s->page_node = node_now(s->address, &s->page_shift);
	if (s->page_node >= 0)
		s->node_from = NUMA_PAGE_SEEN;
	slot->hint = s->address;
	slot->from = s->page_node;
}

/* Reading the user's stack may take exceptions of its own, by frame pointers that are none: the
 * slot is as before them when the page is moved. */
static __always_inline void hint_send(
	struct bpf_perf_event_data *ctx, u64 pid_tgid, struct probe_counts *c, void *here)
{
	struct slot *slot = slot_of((u32)pid_tgid);
	struct numa_event *e = event_new(here, pid_tgid, REC_NUMA_SAMPLE);
	struct slot fault = {};

	if (!e)
		return;
	e->sample.source = NUMA_HINT_FAULT;
	e->sample.cpu = (s32)bpf_get_smp_processor_id();
	e->sample.cpu_node = bpf_get_numa_node_id();
	e->sample.page_node = numa_config.only_node;
	if (slot && slot->tid == (u32)pid_tgid) {
		exception_read(&e->sample, slot);
		fault = *slot;
	}
	e->tls = tls_of((void *)bpf_get_current_task());
	e->sample.ran_ns = ran_of((void *)bpf_get_current_task());
	if (stack_due(c))
		e->sample.ustack = stack_take(ctx, BPF_F_USER_STACK);
	if (slot && fault.tid)
		*slot = fault;
	event_send(here, e);
}

enum vm_event_item { NUMA_HINT_FAULTS, NUMA_PAGE_MIGRATE };

#define COUNTERS_APART                                                          \
	(8 * ((s64)bpf_core_enum_value(enum vm_event_item, NUMA_PAGE_MIGRATE) - \
		     (s64)bpf_core_enum_value(enum vm_event_item, NUMA_HINT_FAULTS)))

#define MISSED_MAX (1U << 20) /* a CPU that went offline leaves its counts to another */

/* How many hint faults of this CPU there were since the last that was seen, less this one. */
static __always_inline u64 hints_missed(const struct bpf_perf_event_data *ctx)
{
	struct numa_counters *here = counters_here();
	u64 now = 0, moved = 0, missed;

	if (!here || bpf_probe_read_kernel(&now, sizeof(now), (void *)ctx->addr))
		return 0;
	if (!here->moved &&
		!bpf_probe_read_kernel(&moved, sizeof(moved), (void *)(ctx->addr + COUNTERS_APART)))
		here->moved = moved + 1;
	missed = here->hints ? now - here->hints - 1 : 0;
	here->hints = now;
	missed = missed < MISSED_MAX ? missed : 0;
	here->told += 1 + missed;
	return missed;
}

SEC("perf_event")
int watch_hint(struct bpf_perf_event_data *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), missed;
	struct probe_counts *c = counts();
	void *here = ring_here();

	if (!c || !here)
		return 0;
	/* Whose they were is not known any more: they may have been in the scope. */
	missed = hints_missed(ctx);
	c->seen += missed;
	c->lost_busy += missed;
	if (!scope_match(pid_tgid))
		return 0;
	c->seen++;
	hint_send(ctx, pid_tgid, c, here);
	return 0;
}

/* Pages moved: by what the counter rose. The first time on a CPU, where that is not known, those of
 * one mapping. */
static __always_inline u64 pages_moved(const struct bpf_perf_event_data *ctx, u8 shift)
{
	struct numa_counters *here = counters_here();
	u64 now = 0, pages;

	if (!here || bpf_probe_read_kernel(&now, sizeof(now), (void *)ctx->addr))
		return 1;
	pages = here->moved ? now + 1 - here->moved : 1ULL << (shift ? shift - PAGE_SHIFT : 0);
	here->moved = now + 1;
	here->told_pages += pages;
	return pages;
}

SEC("perf_event")
int watch_moved(struct bpf_perf_event_data *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), address = 0, pages;
	void *here = ring_here();
	struct slot *slot = slot_of((u32)pid_tgid);
	struct probe_counts *c = counts();
	struct numa_event *e;
	s32 to = -1;
	u8 shift = 0;

	if (slot && slot->tid == (u32)pid_tgid && slot->hint == slot->address)
		address = slot->hint;
	if (address)
		to = node_now(address, &shift);
	pages = pages_moved(ctx, shift);
	if (!c || !here || !scope_match(pid_tgid))
		return 0;
	c->seen++;
	e = event_new(here, pid_tgid, REC_NUMA_MOVE);
	if (!e)
		return 0;
	e->move.address = address;
	e->move.pages = pages;
	e->move.from = address ? slot->from : -1;
	e->move.to = to;
	e->move.why = NUMA_MOVE_BALANCING;
	event_send(here, e);
	return 0;
}

#endif
