/*
 * Pages that come into the page cache and go from it. Of each file one page in CACHE_STRIDE is
 * followed; that it came back tells that pushing it out was a mistake. Which ones differs by file:
 * most files are small, and were it the first page of each, a page of these would count as 64.
 */
#include "bpf/common.bpf.h"
#include "bpf/dentry.bpf.h"
#include "bpf/files.bpf.h"
#include "bpf/folio.bpf.h"
#include "probes/cache/cache.h"

AGG_TABLE(table, struct cache_key);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct cache_file_key);
	__type(value, struct cache_file_value);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct burst_now);
} burst SEC(".maps");

struct place {
	u64 mapping; /* a number: of one file */
	u64 index;
};

struct gone {
	u64 time_ns;
	u32 tgid;
	u8 kswapd;
	u8 times; /* by hand: from the second time on it was not meant to stay away */
	u16 call;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct place);
	__type(value, struct gone);
} evicted SEC(".maps");

struct task_struct___cache {
	unsigned int flags;
	void *reclaim_state; /* while it reclaims */
	void *stack;
} __attribute__((preserve_access_index));

#define FOLIO_PLACES 16 /* the greatest folio has 1024 pages, of 512 where there are huge pages */
#define PF_KSWAPD 0x00020000 /* linux/sched.h, 5.10 to 7.3 */
#define MADV_PAGEOUT 21
#define POSIX_FADV_DONTNEED 4
#define CGROUP_MAGIC 0x27e0eb /* linux/magic.h, of versions 1 and 2 */
#define CGROUP2_MAGIC 0x63677270
#define PROC_MAGIC 0x9fa0

struct address_space {
	struct inode *host;
} __attribute__((preserve_access_index));

struct super_block___cache {
	u32 s_dev;
} __attribute__((preserve_access_index));

/* The same for one file only: a new one gets the memory and the number of one that was removed. */
static __always_inline u64 file_of(u64 of)
{
	u64 mapping = folio_mapping(of);
	struct inode *inode = BPF_CORE_READ((struct address_space *)mapping, host);

	return mapping ^ (u64)BPF_CORE_READ(inode, i_generation) << 32 ^
	       BPF_CORE_READ(inode, i_ino);
}

/* How far the first page that is followed is from this one. */
static __always_inline u64 followed_after(u64 mapping, u64 index)
{
	u64 phase = mapping * 0x9e3779b97f4a7c15ULL >> 32;

	return -(index + phase) % CACHE_STRIDE;
}

/* Returns how many pages that are followed are in it, and where the first one is. Folios are
 * aligned to their size: most are known to be too small for that without a look at it. */
static __always_inline u64 place_of(u64 of, struct place *ret)
{
	u64 index = folio_index(of), skip = followed_after(folio_mapping(of), index), n;

	if (index && skip >= (index & -index))
		return 0;
	n = folio_pages(of);
	if (skip >= n)
		return 0;
	ret->index = index + skip;
	ret->mapping = file_of(of);
	return (n - skip + CACHE_STRIDE - 1) / CACHE_STRIDE;
}

static __always_inline u32 device_of(u64 of)
{
	struct address_space *mapping = (void *)folio_mapping(of);
	struct super_block___cache *sb = (void *)BPF_CORE_READ(mapping, host, i_sb);

	return BPF_CORE_READ(sb, s_dev);
}

static __always_inline bool burst_is_on(void)
{
	u32 zero = 0;
	struct burst_now *b = bpf_map_lookup_elem(&burst, &zero);

	return b && b->number && bpf_ktime_get_ns() < b->until_ns;
}

static __always_inline struct task_struct___cache *me(void)
{
	return (void *)bpf_get_current_task();
}

/* Of the call that it is in. What user space left is at the end of the kernel's stack (16 KiB,
 * asm/page_64_types.h). */
static __always_inline const struct pt_regs *regs_now(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (struct pt_regs *)((void *)BPF_CORE_READ(me(), stack) + (16 << 10)) - 1;
}

static __always_inline u64 word(const void *of)
{
	u64 w = 0;

	bpf_probe_read_kernel(&w, sizeof(w), of);
	return w;
}

static const char drop_name[] = "drop_caches";

/* What its file does to pages, of a call of write. */
static __always_inline u16 write_now(u64 fd)
{
	const struct file *file = current_file(fd);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : 0;
	u64 magic = inode ? BPF_CORE_READ(inode, i_sb, s_magic) : 0;
	struct dentry___walk *d = magic == PROC_MAGIC ? inode_dentry((u64)inode) : 0;
	char name[sizeof(drop_name)] = {};

	if (magic == CGROUP_MAGIC || magic == CGROUP2_MAGIC)
		return CACHE_CALL_GROUP;
	if (!d)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(d, d_name.name));
	for (u32 i = 0; i < sizeof(name); i++)
		if (name[i] != drop_name[i])
			return 0;
	return CACHE_CALL_DROP;
}

/* enum cache_call, or 0: what goes in it goes because somebody wanted room. The advice of
 * three of them tells which. */
static __always_inline u16 hand_now(void)
{
	const struct pt_regs *regs = regs_now();
	u64 nr = word(&regs->orig_rax);

	if (nr == 1) /* write */
		return write_now(word(&regs->rdi));
	if (nr == CACHE_CALL_MADVISE)
		return (u32)word(&regs->rdx) == MADV_PAGEOUT ? nr : 0;
	if (nr == CACHE_CALL_FADVISE)
		return (u32)word(&regs->r10) == POSIX_FADV_DONTNEED ? nr : 0;
	return nr == CACHE_CALL_PROCESS_MADVISE && (u32)word(&regs->r10) == MADV_PAGEOUT ? nr : 0;
}

/* A function of its own, for the loops that 5.10 accepts. */
static __noinline int note_gone(const struct place *p, struct gone *g)
{
	struct gone *before = bpf_map_lookup_elem(&evicted, p);

	if (g->times && before && before->times)
		g->times = 2;
	return bpf_map_update_elem(&evicted, p, g, BPF_ANY);
}

/* (struct folio *), to 5.15 (struct page *) */
SEC("raw_tp/mm_filemap_delete_from_page_cache")
int page_goes(struct bpf_raw_tracepoint_args *ctx)
{
	struct place p = {};
	struct gone g = {};
	u64 n = place_of(ctx->args[0], &p);

	if (!n || !burst_is_on())
		return 0;
	g.kswapd = !!(BPF_CORE_READ(me(), flags) & PF_KSWAPD);
	g.call = g.kswapd ? 0 : hand_now();
	g.times = g.call && g.call < CACHE_CALL_GROUP;
	/* What is neither, was truncated or removed. */
	if (!g.times && g.call != CACHE_CALL_DROP && !BPF_CORE_READ(me(), reclaim_state))
		return 0;
	g.time_ns = bpf_ktime_get_ns();
	g.tgid = bpf_get_current_pid_tgid() >> 32;
	for (u32 i = 0; i < FOLIO_PLACES && i < n; i++, p.index += CACHE_STRIDE)
		note_gone(&p, &g);
	return 0;
}

static const struct cache_file_value no_file;

/* A function of its own, as count_page below. Not 0: there was no room for its file. */
__noinline int count_file(u64 of, u64 file, u32 evictor)
{
	struct cache_file_key key = {
		.tgid = bpf_get_current_pid_tgid() >> 32, .evictor = evictor, .file = file};
	struct cache_file_value *v = bpf_map_lookup_elem(&files, &key);
	struct address_space *mapping = (void *)folio_mapping(of);
	struct dentry___walk *d;

	if (!v && !bpf_map_update_elem(&files, &key, &no_file, BPF_NOEXIST))
		table_key_made();
	v = v ?: bpf_map_lookup_elem(&files, &key);
	if (!v)
		return 1;
	if (v->count++)
		return 0;
	d = inode_dentry((u64)BPF_CORE_READ(mapping, host));
	if (!d)
		return 0;
	bpf_probe_read_kernel_str(v->name, sizeof(v->name), BPF_CORE_READ(d, d_name.name));
	bpf_probe_read_kernel_str(
		v->directory, sizeof(v->directory), BPF_CORE_READ(d, d_parent, d_name.name));
	return 0;
}

/* A function of its own, of numbers only, so that the verifier looks at it once and not at every
 * turn of the loop. Not 0: there is no room. */
__noinline int count_page(u64 of, u64 mapping, u64 index)
{
	struct cache_key key = {.tgid = bpf_get_current_pid_tgid() >> 32};
	struct place p = {.mapping = mapping, .index = index};
	struct gone *g = bpf_map_lookup_elem(&evicted, &p);
	struct agg_value *v;
	u64 ns = 0, call = word(&regs_now()->orig_rax);

	/* write, pwrite64, writev, pwritev, pwritev2 */
	if (call == 1 || call == 18 || call == 20 || call == 296 || call == 328)
		key.flags = CACHE_WRITTEN;
	/* Given back once and read: as it is verified. What is written is other content. */
	if (g && g->times && key.flags & CACHE_WRITTEN)
		bpf_map_delete_elem(&evicted, &p);
	else if (g && g->times != 1) {
		ns = bpf_ktime_get_ns() - g->time_ns;
		key.flags |= CACHE_REFAULT | (g->kswapd ? CACHE_BY_KSWAPD : 0);
		key.evictor = g->kswapd ? 0 : g->tgid;
		key.call = g->call;
		if (!g->times) /* the other is to be known when it goes again */
			bpf_map_delete_elem(&evicted, &p);
	}
	key.device = device_of(of);
	v = agg_get(&table, &key, 1);
	if (!v)
		return 1;
	v->count++;
	if (!ns)
		return 0;
	agg_time(v, ns);
	v->sum[CACHE_FILE_LOST] += !!count_file(of, mapping, key.evictor);
	return 0;
}

/* The same argument. */
SEC("raw_tp/mm_filemap_add_to_page_cache")
int page_comes(struct bpf_raw_tracepoint_args *ctx)
{
	struct place p = {};
	struct probe_counts *c;
	u64 n = place_of(ctx->args[0], &p);

	if (!n || !burst_is_on() || !scope_match(bpf_get_current_pid_tgid()))
		return 0;
	c = counts();
	if (!c)
		return 0;
	for (u32 i = 0; i < FOLIO_PLACES && i < n; i++, p.index += CACHE_STRIDE) {
		c->seen++;
		if (count_page(ctx->args[0], p.mapping, p.index))
			return 0;
	}
	return 0;
}
