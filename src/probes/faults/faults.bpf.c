/*
 * Page faults. The exceptions tracepoints fire when a fault begins and tell the kind of access;
 * the kernel's own software events fire where it adds to maj_flt and min_flt (mm_account_fault in
 * mm/memory.c), so their count is getrusage's. The two are paired by thread, which gives the
 * duration without a hook on the fault handler itself.
 */
#include "bpf/common.bpf.h"
#include "bpf/mm_seq.bpf.h"
#include "bpf/unwind_early.bpf.h"
#include "bpf/vma.bpf.h"
#include "probes/faults/faults.h"

const volatile struct faults_config config = {};

AGG_TABLE(table, struct fault_key);
AGG_TABLE(spill, struct fault_key);  /* keys without stacks, which the table had no room for */
AGG_TABLE(named, struct fault_key);  /* names of tasks, which neither had room for */
AGG_TABLE(others, struct fault_key); /* by kind of fault alone: even names were too many */

#define SLOTS 8192

/* A fault being handled. Direct-mapped by thread id: a collision loses a duration, which shows
 * as `timed` below `count`, never a count. */
struct slot {
	u32 tid; /* 0: none */
	u32 error_code;
	u64 address;
	u64 start_ns;
	u32 huge;
	u8 looked;    /* the mapping was looked up while the fault was handled */
	u8 prepared;  /* … and all of them, for its user stack */
	u8 allocated; /* a page was allocated while it was handled */
	u8 reserved;
};

TASK_SLOTS(SLOTS)

static __always_inline int fault_begin(struct bpf_raw_tracepoint_args *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct slot *s = slot_of(tid);

	if (!s)
		return 0;
	s->tid = tid;
	s->huge = 0;
	s->looked = s->prepared = s->allocated = 0;
	s->address = ctx->args[0];
	s->error_code = (u32)ctx->args[2];
	s->start_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/page_fault_user")
int fault_begin_user(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begin(ctx);
}

SEC("raw_tp/page_fault_kernel")
int fault_begin_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begin(ctx);
}

/* x86 page fault error code, arch/x86/include/asm/trap_pf.h */
#define X86_PF_PROT 1
#define X86_PF_WRITE 2
#define X86_PF_USER 4
#define X86_PF_INSTR 16

/* flag_ where bit_ is set, without a branch: to the verifier each branch doubles what follows. */
#define FLAG_OF(word_, bit_, flag_) (((word_) / (bit_)&1) * (flag_))

static __always_inline u16 access_flags(const struct slot *s)
{
	u32 code = s->error_code;

	return FAULT_ACCESS_KNOWN | FLAG_OF(code, X86_PF_PROT, FAULT_PRESENT) |
	       FLAG_OF(code, X86_PF_WRITE, FAULT_WRITE) | FLAG_OF(code, X86_PF_INSTR, FAULT_EXEC) |
	       FLAG_OF(~code, X86_PF_USER, FAULT_KERNEL) | FLAG_OF(s->huge, 1, FAULT_HUGE) |
	       FLAG_OF(s->allocated, 1, FAULT_ALLOCATED);
}

/* What one fault is about, gathered before it is counted. */
struct fault {
	u64 pid_tgid;
	u64 address;
	u64 ns;
	u64 object;
	u64 start, end; /* of the mapping, where it was looked up */
	u16 flags;
	u8 map;
	char name[AGG_NAME_LEN];
};

/*
 * The last mapping a thread faulted in. bpf_find_vma costs microseconds where it has to hand the
 * lock back from an interrupt, so what it found is used until the address space is changed, which
 * the kernel counts. Kernels that do not count look up every time.
 */
struct vma_seen {
	u64 mm; /* struct mm_struct *; 0: nothing is remembered */
	u64 start, end;
	u64 object;
	u32 seq;
	u8 map;
	u8 reserved[3];
	char name[AGG_NAME_LEN];
};

#define VMAS_SEEN 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMAS_SEEN);
	__type(key, u32);
	__type(value, struct vma_seen);
} vmas_seen SEC(".maps");

static long fault_vma(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct fault *f = arg;
	const struct file *file = BPF_CORE_READ(vma, vm_file);

	f->flags |= FAULT_MAP_KNOWN;
	f->start = BPF_CORE_READ(vma, vm_start);
	f->end = BPF_CORE_READ(vma, vm_end);
	if (!file) {
		f->map = vma_kind_anon(vma);
		return 0;
	}
	f->map = vma_kind_file(file);
	f->object = BPF_CORE_READ(file, f_inode, i_ino);
	bpf_probe_read_kernel_str(
		f->name, sizeof(f->name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return 0;
}

static __always_inline void vma_remember(struct vma_seen *v, const struct fault *f, u64 mm, u32 seq)
{
	v->mm = mm;
	v->seq = seq;
	v->start = f->start;
	v->end = f->end;
	v->object = f->object;
	v->map = f->map;
	__builtin_memcpy(v->name, f->name, sizeof(v->name));
}

/* looked: it was remembered during this very fault, so nothing has changed since. */
static __always_inline bool vma_recall(
	const struct vma_seen *v, struct fault *f, u64 mm, u32 seq, bool looked)
{
	if (v->mm != mm || (!looked && (!seq || v->seq != seq)) || f->address < v->start ||
		f->address >= v->end)
		return false;
	f->flags |= FAULT_MAP_KNOWN;
	f->object = v->object;
	f->map = v->map;
	__builtin_memcpy(f->name, v->name, sizeof(f->name));
	return true;
}

static __always_inline void fault_find(struct fault *f, bool looked)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 mm = (u64)BPF_CORE_READ(task, mm);
	u32 at = (u32)f->pid_tgid & (VMAS_SEEN - 1), seq = mm_seq((void *)mm);
	struct vma_seen *v = bpf_map_lookup_elem(&vmas_seen, &at);

	if (!v || vma_recall(v, f, mm, seq, looked))
		return;
	bpf_find_vma((void *)bpf_get_current_task_btf(), f->address, fault_vma, f, 0);
	if (f->flags & FAULT_MAP_KNOWN)
		vma_remember(v, f, mm, seq);
}

static __always_inline void fault_map(struct fault *f, bool find_vma, bool looked)
{
	if (find_vma) {
		fault_find(f, looked);
		return;
	}
	f->flags |= FAULT_REGION;
	f->object = f->address >> FAULT_REGION_SHIFT;
}

/*
 * A page was allocated while the thread handles a fault. Of huge order: the fault maps it. And
 * where the mapping is asked for, this is the moment to look it up: the fault is counted with
 * interrupts off, where bpf_find_vma can only unlock the address space through an interrupt to
 * itself.
 */
static __always_inline int fault_alloc(struct bpf_raw_tracepoint_args *ctx, bool find_vma)
{
	struct fault f = {};
	struct slot *s;

	f.pid_tgid = bpf_get_current_pid_tgid();
	s = slot_of((u32)f.pid_tgid);
	if (!s || s->tid != (u32)f.pid_tgid || !ctx->args[0])
		return 0;
	s->allocated = 1;
	if (USER_STACKS_WALKED && !s->prepared && scope_match(f.pid_tgid)) {
		s->prepared = 1;
		user_stack_prepare();
	}
	if (ctx->args[1] >= 9) /* HPAGE_PMD_ORDER on x86-64 */
		s->huge = 1;
	if (!find_vma || s->looked || config.mapping != FAULTS_MAPPING_ALL ||
		!scope_match(f.pid_tgid))
		return 0;
	f.address = s->address;
	fault_find(&f, false);
	s->looked = !!(f.flags & FAULT_MAP_KNOWN);
	return 0;
}

SEC("raw_tp/mm_page_alloc")
int fault_huge(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_alloc(ctx, false);
}

SEC("raw_tp/mm_page_alloc")
int fault_huge_vma(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_alloc(ctx, true);
}

static __always_inline void fault_each(const struct fault *f, u32 ustack, u32 kstack)
{
	struct fault_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_FAULT, sizeof(*e));
	e->tgid = f->pid_tgid >> 32;
	e->tid = (u32)f->pid_tgid;
	e->ustack = ustack;
	e->kstack = kstack;
	e->address = f->address;
	e->ns = f->ns;
	e->cgroup = current_cgroup_id();
	e->flags = f->flags;
	e->map = f->map;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	__builtin_memcpy(e->file, f->name, sizeof(e->file));
	ring_submit(e, sizeof(*e));
}

/* The tables are full of other tasks: where so many come and go, those of a name are one. */
static __always_inline struct agg_value *fault_named(struct fault_key *key, struct probe_counts *c)
{
	struct agg_value *v;

	key->tgid = key->tid = 0;
	key->ustack = key->kstack = 0;
	key->object = 0;
	key->map = 0;
	key->flags = (key->flags & ~(FAULT_MAP_KNOWN | FAULT_REGION)) | FAULT_NAMED;
	bpf_get_current_comm(key->comm, sizeof(key->comm));
	v = agg_get(&named, key, 0);
	if (!v) {
		__builtin_memset(key->comm, 0, sizeof(key->comm));
		v = agg_get(&others, key, 1);
	}
	c->lost_task += v != 0;
	return v;
}

static __always_inline void fault_count(void *ctx, struct fault *f, struct probe_counts *c)
{
	struct fault_key key = {
		.tgid = f->pid_tgid >> 32,
		.tid = scope.by_thread ? (u32)f->pid_tgid : 0,
		.object = f->object,
		.flags = f->flags,
		.map = f->map,
	};
	struct agg_value *v;
	bool stacked;

	if (config.comms)
		bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (stack_due(c)) {
		key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		key.kstack = stack_take(ctx, 0);
	}
	if (scope.each) {
		fault_each(f, key.ustack, key.kstack);
		return;
	}
	stacked = key.ustack | key.kstack;
	v = agg_get(&table, &key, 0);
	if (!v && stacked) {
		key.ustack = key.kstack = 0;
		c->lost_stack++;
		v = agg_get(&spill, &key, 0);
	}
	if (!v)
		v = fault_named(&key, c);
	if (!v)
		return;
	if (config.mapping && !v->count && !(key.flags & FAULT_NAMED))
		__builtin_memcpy(v->name, f->name, sizeof(v->name));
	v->count++;
	if (f->flags & FAULT_ACCESS_KNOWN)
		agg_time(v, f->ns);
}

static __always_inline int fault_end(struct bpf_perf_event_data *ctx, u16 flags, bool find_vma)
{
	struct fault f = {.pid_tgid = bpf_get_current_pid_tgid(), .flags = flags};
	struct probe_counts *c;
	bool looked = false;
	struct slot *s;

	if (!scope_match(f.pid_tgid))
		return 0;
	f.address = ctx->addr;
	s = slot_of((u32)f.pid_tgid);
	if (s && s->tid == (u32)f.pid_tgid) {
		f.flags |= access_flags(s);
		f.ns = bpf_ktime_get_ns() - s->start_ns;
		looked = s->looked;
		s->tid = 0;
	}
	if (f.ns < config.min_ns)
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	if (config.mapping == FAULTS_MAPPING_ALL ||
		(config.mapping == FAULTS_MAPPING_MAJOR && flags & FAULT_MAJOR))
		fault_map(&f, find_vma, looked);
	fault_count(ctx, &f, c);
	return 0;
}

SEC("perf_event")
int fault_minor(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, 0, false);
}

SEC("perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, FAULT_MAJOR, false);
}

/* The same with the mapping looked up: bpf_find_vma came with 5.17, and a program that names it
 * does not load before. */
SEC("perf_event")
int fault_minor_vma(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, 0, true);
}

SEC("perf_event")
int fault_major_vma(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, FAULT_MAJOR, true);
}
