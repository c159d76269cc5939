/*
 * Mappings as they come, go and move: system calls, at their end, when the arguments are still in
 * the registers. What a mapping is of, the loader reads from /proc, if the process still lives; the
 * kernel's word for it is here: its arguments, and the name of the file.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_SPACE_BPF_H
#define MEMWHY_PROBES_NUMA_CAPTURE_SPACE_BPF_H

#include "probes/numa/capture/numa_ring.bpf.h"
#include "sys/calls/mempolicy_abi.h"

/* Numbers of x86-64. */
enum {
	CALL_MMAP = 9,
	CALL_MUNMAP = 11,
	CALL_BRK = 12,
	CALL_MREMAP = 25,
	CALL_SHMAT = 30,
	CALL_SHMDT = 67,
};

#define CALLS                                                                               \
	(1ULL << CALL_MMAP | 1ULL << CALL_MUNMAP | 1ULL << CALL_BRK | 1ULL << CALL_MREMAP | \
		1ULL << CALL_SHMAT)

static __always_inline bool is_policy(u64 nr)
{
	return nr == CALL_MBIND || nr == CALL_SET_MEMPOLICY;
}

static __always_inline bool is_wanted(u64 nr)
{
	return (nr < 64 && CALLS >> nr & 1) || nr == CALL_SHMDT || is_policy(nr);
}

#define PAGE_MASK (~((1ULL << PAGE_SHIFT) - 1))
#define PAGE_UP(v_) (((v_) + ~PAGE_MASK) & PAGE_MASK)

#define MAP_SHARED_BITS 3 /* MAP_SHARED, MAP_SHARED_VALIDATE; MAP_PRIVATE is 2 */
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_GROWSDOWN 0x100
#define MAP_STACK 0x20000
#define MAP_HUGETLB 0x40000
#define MREMAP_DONTUNMAP 4

/* The heap as brk left it last, by process. One that starts elsewhere is that of an exec. */
struct heap_extent {
	u64 start, end;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct heap_extent);
} breaks SEC(".maps");

static __always_inline u8 kind_of(u64 flags)
{
	if (flags & MAP_HUGETLB)
		return MAPPING_HUGETLB;
	if (!(flags & MAP_ANONYMOUS))
		return MAPPING_FILE;
	if ((flags & MAP_SHARED_BITS) != MAP_PRIVATE)
		return MAPPING_SHMEM;
	return flags & (MAP_STACK | MAP_GROWSDOWN) ? MAPPING_STACK : MAPPING_ANON;
}

static __always_inline void mmap_fill(struct numa_mapping *m, const struct pt_regs *r, u64 ret)
{
	m->what = NUMA_MAP_MADE;
	m->start = ret;
	m->bytes = PAGE_UP(r->rsi);
	m->prot = r->rdx & 7;
	m->kind = kind_of(r->r10);
	m->shared = (r->r10 & MAP_SHARED_BITS) != MAP_PRIVATE;
	m->offset = r->r10 & MAP_ANONYMOUS ? 0 : r->r9;
}

/* False: the heap stayed as it was. */
static __always_inline bool brk_fill(struct numa_mapping *m, u32 tgid, u64 ret)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct heap_extent *last = bpf_map_lookup_elem(&breaks, &tgid), now;
	u64 from, to = PAGE_UP(ret);

	now.start = PAGE_UP(BPF_CORE_READ(task, mm, start_brk));
	now.end = to;
	from = last && last->start == now.start ? last->end : now.start;
	bpf_map_update_elem(&breaks, &tgid, &now, BPF_ANY);
	m->what = to > from ? NUMA_MAP_MADE : NUMA_MAP_GONE;
	m->kind = MAPPING_HEAP;
	m->prot = 3;
	m->start = to > from ? from : to;
	m->bytes = to > from ? to - from : from - to;
	return to != from;
}

static __always_inline void mremap_fill(struct numa_mapping *m, const struct pt_regs *r, u64 ret)
{
	m->what = NUMA_MAP_MOVED;
	m->start = ret;
	m->bytes = PAGE_UP(r->rdx);
	m->old_start = r->rdi;
	m->old_bytes = r->r10 & MREMAP_DONTUNMAP ? 0 : PAGE_UP(r->rsi);
}

/* False: there is nothing to tell. */
static __always_inline bool mapping_fill(
	struct numa_mapping *m, u64 nr, const struct pt_regs *r, u64 ret, u32 tgid)
{
	switch (nr) {
	case CALL_MMAP:
		mmap_fill(m, r, ret);
		return true;
	case CALL_BRK:
		return brk_fill(m, tgid, ret);
	case CALL_MREMAP:
		mremap_fill(m, r, ret);
		return true;
	case CALL_SHMAT: /* its size is for the loader to find out */
		m->what = NUMA_MAP_MADE;
		m->kind = MAPPING_SHMEM;
		m->shared = 1;
		m->prot = 3;
		m->start = ret;
		return true;
	default: /* munmap; of shmdt, whose size the loader knows */
		m->what = NUMA_MAP_GONE;
		m->start = r->rdi;
		m->bytes = nr == CALL_MUNMAP ? PAGE_UP(r->rsi) : 0;
		return true;
	}
}

/* linux/thread_info.h of x86; the task begins with it. */
struct thread_info {
	u32 status;
} __attribute__((preserve_access_index));

struct task_struct___status {
	struct thread_info thread_info;
} __attribute__((preserve_access_index));

#define TS_COMPAT 2

/* As get_nodes() of mm/mempolicy.c: maxnode is one more than the bits that are taken. */
static __always_inline u64 nodes_read(u64 user, u64 maxnode)
{
	u64 bits = maxnode - 1, word = 0;

	if (!user || !bits || bpf_probe_read_user(&word, sizeof(word), (void *)user))
		return 0;
	return bits < 64 ? word & ((1ULL << (bits & 63)) - 1) : word;
}

static __always_inline int policy_ended(
	void *ctx, void *here, struct probe_counts *c, u64 pid_tgid, const struct pt_regs *r)
{
	struct numa_event *e = event_new(here, pid_tgid, REC_NUMA_POLICY);
	struct numa_policy *p;

	if (!e)
		return 0;
	p = &e->policy;
	p->call = (u32)r->orig_rax;
	if (p->call == CALL_MBIND) {
		p->start = r->rdi;
		p->bytes = r->rsi;
		p->mode = (u32)r->rdx;
		p->nodes = nodes_read(r->r10, r->r8);
	} else {
		p->mode = (u32)r->rdi;
		p->nodes = nodes_read(r->rsi, r->rdx);
	}
	if (stack_due(c))
		p->ustack = stack_take(ctx, BPF_F_USER_STACK);
	event_send(here, e);
	return 0;
}

static __always_inline int call_ended(void *ctx, u64 regs, u64 ret)
{
	struct task_struct___status *task = (void *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	void *here = ring_here();
	struct probe_counts *c;
	struct numa_event *e;
	struct pt_regs r;

	if (!here || ret >= (u64)-4095 || !scope_match(pid_tgid) ||
		bpf_probe_read_kernel(&r, sizeof(r), (void *)regs) || !is_wanted(r.orig_rax) ||
		BPF_CORE_READ(task, thread_info.status) & TS_COMPAT)
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	if (is_policy(r.orig_rax))
		return policy_ended(ctx, here, c, pid_tgid, &r);
	e = event_new(here, pid_tgid, REC_NUMA_MAP);
	if (!e)
		return 0;
	if (!mapping_fill(&e->mapping, r.orig_rax, &r, ret, pid_tgid >> 32)) {
		c->seen--;
		bpf_ringbuf_discard(e, 0);
		return 0;
	}
	if (stack_due(c) && e->mapping.what == NUMA_MAP_MADE)
		e->mapping.ustack = stack_take(ctx, BPF_F_USER_STACK);
	event_send(here, e);
	return 0;
}

/* orig_rax: before anything else is read, as most calls are others. */
static __always_inline bool call_is_wanted(u64 regs)
{
	u64 nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &((struct pt_regs *)regs)->orig_rax);
	return is_wanted(nr);
}

/* TP_PROTO(struct pt_regs *regs, long ret) */
SEC("raw_tp/sys_exit")
int raw_call_end(struct bpf_raw_tracepoint_args *ctx)
{
	return call_is_wanted(ctx->args[0]) ? call_ended(ctx, ctx->args[0], ctx->args[1]) : 0;
}

/* Where raw tracepoints are preemptible. */
struct trace_event_raw_sys_exit {
	long id, ret;
} __attribute__((preserve_access_index));

SEC("tp/raw_syscalls/sys_exit")
int tp_call_end(struct trace_event_raw_sys_exit *e)
{
	u64 regs;

	if (!is_wanted((u64)e->id) ||
		!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 1;
	regs = (u64)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	return PASS(call_ended(e, regs, (u64)e->ret));
}

#endif
