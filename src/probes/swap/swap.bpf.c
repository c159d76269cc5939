/*
 * Swap I/O. Pages go to and come from swap as bios, and block:block_bio_queue fires for each in
 * the task that asked, on every kernel, and on no path that is taken while memory is plentiful but
 * other block I/O, which is told apart by the bio's first page and flags. The kernel adds to
 * pswpin and pswpout right before it submits such a bio (mm/page_io.c: swap_readpage and
 * __swap_writepage in 5.10, swap_read_folio_bdev_* and swap_writepage_bdev_* in 6.18).
 *
 * zram of kernels before 6.3 took single pages without a bio (block_device_operations.rw_page):
 * bdev_read_page and bdev_write_page, by kprobes.
 *
 * How long a task waited is from its first read to the end of the page fault, where the kernel
 * fires the software event of major faults (mm_account_fault in mm/memory.c).
 */
#include "bpf/common.bpf.h"
#include "probes/swap/swap.h"

const volatile struct swap_config config = {};

AGG_TABLE(table, struct swap_key);

/* linux/blk_types.h, linux/bvec.h, linux/blkdev.h */
struct bvec_iter {
	unsigned int bi_size;
	unsigned int bi_idx;
} __attribute__((preserve_access_index));

struct bio_vec {
	struct page *bv_page;
} __attribute__((preserve_access_index));

struct bio {
	struct block_device *bi_bdev; /* since 5.12 */
	unsigned int bi_opf;
	unsigned short bi_flags;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
} __attribute__((preserve_access_index));

struct block_device_operations {
	void *rw_page; /* until 6.2 */
} __attribute__((preserve_access_index));

struct gendisk {
	const struct block_device_operations *fops;
} __attribute__((preserve_access_index));

struct block_device {
	struct gendisk *bd_disk;
} __attribute__((preserve_access_index));

enum req_flag_bits {
	__REQ_SWAP = 25, /* CO-RE: the value in the running kernel is used */
};

#define OP_MASK 0xff /* REQ_OP_MASK; 5.10 to 7.3 */
#define OP_READ 0
#define OP_WRITE 1
#define CLONED (1 << 1) /* BIO_CLONED, of an unnamed enum; 1 from 5.10 to 7.3 */
#define PAGE_SHIFT 12

/* linux/mm_types.h, linux/page-flags.h. The flags are the first word from 5.10 to 7.3; since 6.18
 * they are a struct of that one word. */
struct page {
	void *mapping;
} __attribute__((preserve_access_index));

enum pageflags {
	PG_swapbacked = 19,
	PG_head = 16,
};

#define LOCKED 1 /* PG_locked is bit 0 */

static __always_inline u64 page_flags(const struct page *page)
{
	u64 flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), page);
	return flags;
}

static __always_inline bool page_is_swapbacked(u64 flags)
{
	return flags >> bpf_core_enum_value(enum pageflags, PG_swapbacked) & 1;
}

/*
 * A page on its way in: new, locked, of anonymous memory or shmem, and not mapped anywhere yet.
 * Direct I/O into the same kinds of memory has pages that are in use.
 */
static __always_inline bool page_comes_in(const struct page *page)
{
	u64 flags = page_flags(page);

	return flags & LOCKED && page_is_swapbacked(flags) && !BPF_CORE_READ(page, mapping);
}

/*
 * Where a task is: which fault it handles. The faults it has finished, and the end of the registers
 * that user space left at the top of its stack (instruction and stack pointer are among them). In
 * one fault all of this stays the same; a task that read from swap in a system call (tmpfs,
 * MADV_WILLNEED) and then faults for something else differs.
 */
#define STACK_BYTES                                                                  \
	16384 /* THREAD_SIZE on x86-64; under KASAN it is more, and no wait is timed \
	       */
#define REGS 7

struct place {
	u64 faults;
	u64 regs[REGS];
};

struct task_struct___swap {
	void *stack;
	unsigned long min_flt, maj_flt;
	unsigned int flags;
} __attribute__((preserve_access_index));

static __always_inline void place_take(struct place *p)
{
	struct task_struct___swap *task = (void *)bpf_get_current_task();
	u64 stack = (u64)BPF_CORE_READ(task, stack);

	p->faults = BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
	bpf_probe_read_kernel(
		p->regs, sizeof(p->regs), (void *)(stack + STACK_BYTES - sizeof(p->regs)));
}

static __always_inline bool place_is(const struct place *a, const struct place *b)
{
	for (int i = 0; i < REGS; i++)
		if (a->regs[i] != b->regs[i])
			return false;
	return a->faults == b->faults;
}

#define SLOTS 4096

/* A task that reads from swap. Direct-mapped by thread id: a collision loses a duration, which
 * shows as fewer waits, never a count. */
struct slot {
	u32 tid; /* 0: none */
	u32 reads, pages;
	u32 reserved;
	u64 start_ns;
	struct place place;
	struct swap_key key;
};

TASK_SLOTS(SLOTS)

#define PF_KTHREAD 0x00200000 /* linux/sched.h, 5.10 to 7.3 */

static __always_inline u8 who_is(void)
{
	struct task_struct___swap *task = (void *)bpf_get_current_task();
	char comm[COMM_LEN] = {};

	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return SWAP_BY_TASK;
	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == 'k' && comm[1] == 's' && comm[2] == 'w' && comm[3] == 'a' &&
			       comm[4] == 'p' && comm[5] == 'd'
		       ? SWAP_BY_KSWAPD
		       : SWAP_BY_KERNEL;
}

struct io {
	u32 pages;
	u8 type; /* all but SWAP_WAIT */
	u8 skip; /* frames of the kernel's stack that are ours */
};

static __always_inline void event_send(
	const struct swap_key *key, u32 tid, u8 type, u32 reads, u32 pages, u64 ns)
{
	struct swap_event *e = ring_reserve(sizeof(*e));

	if (!e)
		return;
	rec_fill(&e->h, REC_SWAP_EVENT, sizeof(*e));
	e->tgid = key->tgid;
	e->tid = tid;
	e->ustack = key->ustack;
	e->kstack = key->kstack;
	e->ns = ns;
	e->cgroup = current_cgroup_id();
	e->pages = pages;
	e->reads = reads;
	e->type = type;
	e->who = key->who;
	__builtin_memset(e->reserved, 0, sizeof(e->reserved));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	ring_submit(e, sizeof(*e));
}

/* A read that a page fault may be waiting for. */
static __always_inline void slot_add(u32 tid, const struct swap_key *key, u32 pages)
{
	struct slot *s = slot_of(tid);
	struct place here;

	if (!s)
		return;
	place_take(&here);
	if (s->tid != tid || !place_is(&s->place, &here)) {
		s->tid = tid;
		s->reads = 0;
		s->pages = 0;
		s->place = here;
		s->key = *key;
		s->start_ns = bpf_ktime_get_ns();
	}
	s->reads++;
	s->pages += pages;
}

static __always_inline void io_count(const struct swap_key *key, const struct io *io)
{
	struct agg_value *v = agg_get(&table, key, 1);

	if (!v)
		return;
	v->count++;
	v->sum[SWAP_PAGES] += io->pages;
}

static __always_inline int io_seen(void *ctx, const struct io *io)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;
	struct swap_key key = {.tgid = pid_tgid >> 32, .type = io->type};
	struct probe_counts *c;

	if (!scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	key.tid = scope.by_thread ? tid : 0;
	key.who = who_is();
	if (config.comms)
		bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (stack_due(c)) {
		key.ustack = stack_take(ctx, BPF_F_USER_STACK);
		key.kstack = stack_kernel(ctx, io->skip);
	}
	if (!config.min_ns)
		c->seen++;
	if (!scope.each)
		io_count(&key, io);
	else if (!config.min_ns)
		event_send(&key, tid, io->type, 1, io->pages, 0);
	if (io->type != SWAP_OUT)
		slot_add(tid, &key, io->pages);
	return 0;
}

/*
 * Clones are what device mapper and md make of a bio that was already seen. What they make a write
 * of instead (dm-crypt) has REQ_SWAP too, but pages of its own.
 */
static __always_inline int bio_seen(void *ctx, const struct bio *bio)
{
	struct io io = {.skip = RAW_FRAMES};
	u32 op = BPF_CORE_READ(bio, bi_opf);
	const struct page *page;

	if ((op & OP_MASK) == OP_WRITE) {
		if (!(op >> bpf_core_enum_value(enum req_flag_bits, __REQ_SWAP) & 1))
			return 0;
		io.type = SWAP_OUT;
	} else if ((op & OP_MASK) != OP_READ) {
		return 0;
	}
	if (BPF_CORE_READ(bio, bi_flags) & CLONED)
		return 0;
	page = BPF_CORE_READ(bio, bi_io_vec, bv_page);
	if (io.type == SWAP_OUT ? !page_is_swapbacked(page_flags(page)) : !page_comes_in(page))
		return 0;
	io.pages = BPF_CORE_READ(bio, bi_iter.bi_size) >> PAGE_SHIFT;
	return io_seen(ctx, &io);
}

/* (struct request_queue *, struct bio *) until 5.10; (struct bio *) since 5.11, when bi_bdev was
 * about to come. Two calls, as the compiler would make one load from a variable place out of one.
 */
SEC("raw_tp/block_bio_queue")
int bio_queued(struct bpf_raw_tracepoint_args *ctx)
{
	const struct bio *bio = 0;

	if (bpf_core_field_exists(bio->bi_bdev))
		return bio_seen(ctx, (void *)ctx->args[0]);
	return bio_seen(ctx, (void *)ctx->args[1]);
}

/* Until 6.2, and only of devices that have rw_page: the others come back as bios. */
static __always_inline bool takes_pages(const struct block_device *bdev)
{
	const struct block_device_operations *ops = BPF_CORE_READ(bdev, bd_disk, fops);

	return bpf_core_field_exists(ops->rw_page) && BPF_CORE_READ(ops, rw_page);
}

SEC("kprobe/bdev_read_page")
int page_read(struct pt_regs *ctx)
{
	const struct page *page = (void *)PT_REGS_PARM3(ctx);
	struct io io = {.pages = 1};

	if (!takes_pages((void *)PT_REGS_PARM1(ctx)) || !page_comes_in(page))
		return 1;
	return PASS(io_seen(ctx, &io));
}

/* A huge page is refused, and comes back as a bio. */
SEC("kprobe/bdev_write_page")
int page_written(struct pt_regs *ctx)
{
	u64 flags = page_flags((void *)PT_REGS_PARM3(ctx));
	struct io io = {.pages = 1, .type = SWAP_OUT};

	if (!takes_pages((void *)PT_REGS_PARM1(ctx)) || !page_is_swapbacked(flags) ||
		flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1)
		return 1;
	return PASS(io_seen(ctx, &io));
}

/* linux/vm_event_item.h */
enum vm_event_item {
	ZSWPIN = 112,
};

/* (struct mem_cgroup *, int item, unsigned long count). It fires in every page fault, so it is
 * attached only where zswap is in use. */
SEC("raw_tp/count_memcg_events")
int zswap_counted(struct bpf_raw_tracepoint_args *ctx)
{
	struct io io = {.type = SWAP_ZSWAP, .skip = RAW_FRAMES};

	if ((int)ctx->args[1] != (int)bpf_core_enum_value(enum vm_event_item, ZSWPIN))
		return 0;
	io.pages = ctx->args[2];
	return io_seen(ctx, &io);
}

static __always_inline int zswap_gave_page(void *ctx)
{
	struct io io = {.pages = 1, .type = SWAP_ZSWAP};

	return io_seen(ctx, &io);
}

/* int __frontswap_load(struct page *), until 6.5: 0 when zswap had the page. */
SEC("kretprobe/__frontswap_load")
int zswap_loaded_int(struct pt_regs *ctx)
{
	return PASS((int)PT_REGS_RC(ctx) ? 0 : zswap_gave_page(ctx));
}

/* bool zswap_load(struct folio *), and int later, when there is the tracepoint above. */
SEC("kretprobe/zswap_load")
int zswap_loaded_bool(struct pt_regs *ctx)
{
	return PASS((u8)PT_REGS_RC(ctx) ? zswap_gave_page(ctx) : 0);
}

/* The event fires once the task's own number of faults includes this one. */
SEC("perf_event")
int fault_over(struct bpf_perf_event_data *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct slot *s = slot_of(tid);
	struct agg_value *v;
	struct place here;
	u64 ns;

	(void)ctx;
	if (!s || s->tid != tid)
		return 0;
	s->tid = 0;
	place_take(&here);
	here.faults--;
	if (!place_is(&s->place, &here))
		return 0;
	ns = bpf_ktime_get_ns() - s->start_ns;
	if (!scope.each) {
		v = agg_get(&table, &s->key, 0);
		if (v)
			agg_time(v, ns);
	} else if (ns >= config.min_ns) {
		count_add(seen);
		event_send(&s->key, tid, SWAP_WAIT, s->reads, s->pages, ns);
	}
	return 0;
}
