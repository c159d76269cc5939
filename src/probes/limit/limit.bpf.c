/*
 * Which pages of files the group uses, and when. Pages are chosen by a hash of where they are, all
 * that happens to a chosen one is seen, so what holds of them holds of all (Waldspurger et al.,
 * "Efficient MRC Construction with SHARDS"). Use through page tables is not seen here.
 */
#include "bpf/common.bpf.h"
#include "bpf/folio.bpf.h"
#include "probes/limit/limit.h"

#define AT_ONCE 256 /* pages of one event; what is left of a large read comes with the next */
#define PAGE_SHIFT 12
#define PAGE_MAPPING_ANON 1

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct limit_page);
	__type(value, struct limit_use);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct limit_counts);
} limit_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct limit_share);
} share SEC(".maps");

/* The read that a thread is at: the kernel tells each batch with all that is still to come. */
struct reading {
	u64 ino;
	u64 index, last;
	u64 done; /* pages below it are accounted for */
	u32 dev;
	u32 tick;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct reading);
} readings SEC(".maps");

struct super_block___limit {
	u32 s_dev;
} __attribute__((preserve_access_index));

struct inode___limit {
	unsigned long i_ino;
	s64 i_size;
	struct super_block___limit *i_sb;
} __attribute__((preserve_access_index));

struct address_space {
	struct inode___limit *host;
} __attribute__((preserve_access_index));

struct file_at {
	u64 ino, hash;
	s64 size;
	u32 dev;
};

static __always_inline bool file_of(u64 mapping, struct file_at *ret)
{
	struct inode___limit *inode;

	if (!mapping || mapping & PAGE_MAPPING_ANON)
		return false;
	inode = BPF_CORE_READ((struct address_space *)mapping, host);
	if (!inode)
		return false;
	ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->hash = limit_file_hash(ret->ino, ret->dev);
	return true;
}

static __always_inline u32 tick_now(void)
{
	return (u32)(bpf_ktime_get_ns() >> LIMIT_TICK_SHIFT);
}

/* Where the room goes to an end, follow half as many; twice at once does no harm. */
static __always_inline void share_grows(struct limit_share *s)
{
	__sync_fetch_and_add(&s->made, 1);
	if (!s->next)
		s->next = LIMIT_ROOM / 4 * 3;
	if (s->made < s->next)
		return;
	s->next += (LIMIT_ROOM - s->next) / 2;
	s->mask = s->mask << 1 | 1;
}

static __always_inline void use_first(const struct limit_page *p, u32 now, bool added,
	struct limit_share *s, struct limit_counts *n)
{
	struct limit_use u = {
		.first = added ? 0 : now,
		.last = now,
		.seconds = !added,
		.added = added,
		.found = !added,
	};
	struct probe_counts *c;

	if (!bpf_map_update_elem(&pages, p, &u, BPF_NOEXIST)) {
		n->uses++;
		share_grows(s);
		return;
	}
	if (bpf_map_lookup_elem(&pages, p)) /* another CPU was faster, just now */
		return;
	c = counts();
	if (c) {
		c->seen++;
		c->lost_map++;
	}
}

/* A function of its own, of numbers only, so that the verifier looks at it once and not at every
 * turn of the loop: 400,000 instructions else, of the million that it may. */
__noinline int page_used(u64 ino, u32 dev, u32 index, u32 now, u32 added)
{
	struct limit_page p = {ino, dev, index};
	struct limit_use *u = bpf_map_lookup_elem(&pages, &p);
	u32 zero = 0;
	struct limit_counts *n = bpf_map_lookup_elem(&limit_counts, &zero);
	struct limit_share *s = bpf_map_lookup_elem(&share, &zero);

	if (!n || !s)
		return 0;
	if (!u) {
		use_first(&p, now, added, s, n);
		return 0;
	}
	n->uses++;
	if (added) {
		if (u->added < 0xffff)
			u->added++;
		return 0;
	}
	if (!u->first) {
		u->first = now;
		u->seconds = 1;
	} else if (u->last >> LIMIT_SECOND_SHIFT != now >> LIMIT_SECOND_SHIFT) {
		u->seconds++;
	}
	u->last = now;
	return 0;
}

/* From first to last, AT_ONCE at most. Returns what comes after those that were looked at. */
static __always_inline u64 range_used(const struct file_at *f, u64 first, u64 last, bool added)
{
	u32 zero = 0, now = tick_now();
	struct limit_share *s = bpf_map_lookup_elem(&share, &zero);

	if (!s)
		return first;
	for (u32 i = 0; i < AT_ONCE; i++) {
		if (first > last)
			break;
		if (!(limit_page_hash(f->hash, first) & s->mask))
			page_used(f->ino, f->dev, (u32)first, now, added);
		first++;
	}
	return first;
}

static __always_inline bool is_ours(void)
{
	return scope_match(bpf_get_current_pid_tgid());
}

/* (struct address_space *mapping, pgoff_t index, pgoff_t last_index): a read has so many pages
 * before it, from index on; the last one is still a part of it. */
SEC("raw_tp/mm_filemap_get_pages")
int file_read(struct bpf_raw_tracepoint_args *ctx)
{
	u64 index = ctx->args[1], last = ctx->args[2], end, from = index;
	u32 tid = (u32)bpf_get_current_pid_tgid(), now = tick_now();
	struct reading *before, r = {};
	struct file_at f = {};

	if (!is_ours() || !file_of(ctx->args[0], &f) || f.size <= 0)
		return 0;
	end = (u64)(f.size - 1) >> PAGE_SHIFT;
	if (last > end)
		last = end;
	before = bpf_map_lookup_elem(&readings, &tid);
	if (before && before->ino == f.ino && before->dev == f.dev && before->last == last &&
		now - before->tick < 1U << LIMIT_SECOND_SHIFT && index > before->index &&
		index < before->done)
		from = before->done;
	r.done = range_used(&f, from, last, false);
	r.ino = f.ino;
	r.dev = f.dev;
	r.index = index;
	r.last = last;
	r.tick = now;
	bpf_map_update_elem(&readings, &tid, &r, BPF_ANY);
	return 0;
}

static __always_inline int folio_used(u64 folio, bool added)
{
	struct file_at f = {};
	u64 first;

	if (!is_ours() || !file_of(folio_mapping(folio), &f))
		return 0;
	first = folio_index(folio);
	range_used(&f, first, first + folio_pages(folio) - 1, added);
	return 0;
}

/* (struct folio *); to 5.15 mark_page_accessed(struct page *) */
SEC("kprobe/folio_mark_accessed")
int folio_accessed(struct pt_regs *ctx)
{
	return PASS(folio_used(PT_REGS_PARM1(ctx), false));
}

SEC("kprobe/mark_page_accessed")
int page_accessed(struct pt_regs *ctx)
{
	return PASS(folio_used(PT_REGS_PARM1(ctx), false));
}

/* (struct folio *folio, struct address_space *mapping) */
SEC("raw_tp/writeback_dirty_folio")
int folio_written(struct bpf_raw_tracepoint_args *ctx)
{
	return folio_used(ctx->args[0], false);
}

/* The same, to 5.15. */
SEC("raw_tp/writeback_dirty_page")
int page_written(struct bpf_raw_tracepoint_args *ctx)
{
	return folio_used(ctx->args[0], false);
}

/* (struct folio *), to 5.15 (struct page *) */
SEC("raw_tp/mm_filemap_add_to_page_cache")
int page_comes(struct bpf_raw_tracepoint_args *ctx)
{
	return folio_used(ctx->args[0], true);
}
