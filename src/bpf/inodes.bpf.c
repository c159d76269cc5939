/*
 * Which files have pages in memory: a walk over the inodes of a file system, as the kernel lists
 * them. Takes no lock and changes nothing: every step is a read that may fail. Inodes are freed
 * after an RCU grace period, and a run is within one; where the list changed so that a walk stands
 * still, it says so. Run by the loader, some inodes at a time; owns nothing else.
 */
#include "bpf/kernel.bpf.h"
#include "bpf/dentry.bpf.h"
#include "bpf/files.bpf.h"
#include "bpf/inodes.h"

#define PARENTS 16
#define XA_LEVELS 5
#define XA_SLOTS 64
#define CSS_DYING 16 /* linux/cgroup-defs.h, 4.0 to 7.3 */
#define MEMCG_FLAGS 7ULL

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct xarray {
	void *xa_head;
} __attribute__((preserve_access_index));

struct xa_node {
	void *slots[XA_SLOTS];
} __attribute__((preserve_access_index));

struct address_space {
	struct inode *host;
	struct xarray i_pages;
	unsigned long nrpages;
} __attribute__((preserve_access_index));

struct block_device___mapping {
	struct address_space *bd_mapping; /* since 6.10 */
} __attribute__((preserve_access_index));

struct block_device {
	struct inode *bd_inode;
} __attribute__((preserve_access_index));

struct super_block___walk {
	struct list_head s_inodes;
	struct block_device *s_bdev;
} __attribute__((preserve_access_index));

struct inode___walk {
	struct super_block *i_sb;
	struct address_space *i_mapping, i_data;
	unsigned long i_ino;
	unsigned int i_nlink;
	u32 i_rdev;
	struct list_head i_sb_list;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state___walk {
	struct cgroup *cgroup;
	void *ss;
	unsigned int flags;
} __attribute__((preserve_access_index));

struct mem_cgroup {
	struct cgroup_subsys_state___walk css;
} __attribute__((preserve_access_index));

struct obj_cgroup {
	struct mem_cgroup *memcg;
} __attribute__((preserve_access_index));

struct folio___charged {
	unsigned long memcg_data;
} __attribute__((preserve_access_index));

struct page___charged {
	unsigned long memcg_data; /* since 5.11 */
} __attribute__((preserve_access_index));

struct page___old {
	struct mem_cgroup *mem_cgroup;
} __attribute__((preserve_access_index));

struct kernfs_node___name {
	const char *name;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct inodes_walk);
} walk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, INODES_RUN);
	__type(key, u32);
	__type(value, struct inodes_file);
} found SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, INODES_GROUPS);
	__type(key, u64);
	__type(value, struct inodes_group);
} groups SEC(".maps");

/* The first page of the file; 0: none was found. Values and marks of what was evicted are left out.
 */
__noinline u64 page_first(u64 mapping)
{
	u64 entry = (u64)BPF_CORE_READ((struct address_space *)mapping, i_pages.xa_head);

	for (int level = 0; level < XA_LEVELS; level++) {
		u64 below = 0, slots;

		if ((entry & 3) != 2)
			break;
		slots = (entry & ~3ULL) + bpf_core_field_offset(struct xa_node, slots);
		for (int i = 0; i < XA_SLOTS; i++) {
			if (bpf_probe_read_kernel(&below, sizeof(below), (void *)(slots + 8 * i)))
				return 0;
			if (below && !(below & 1))
				break;
			below = 0;
		}
		entry = below;
	}
	return entry & 3 ? 0 : entry;
}

/* Is this a memory control group? It is of the same controller as our own; of one that was removed
 * nothing else says so. */
static __always_inline bool is_memcg(u64 memcg)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 own = 0, at = bpf_core_field_offset(struct css_set, subsys);
	void *set = BPF_CORE_READ(task, cgroups);

	at += 8ULL * bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	return !bpf_probe_read_kernel(&own, sizeof(own), set + at) && own &&
	       BPF_CORE_READ((struct cgroup_subsys_state___walk *)own, ss) ==
		       BPF_CORE_READ((struct mem_cgroup *)memcg, css.ss);
}

/* The memory control group that a page is charged to; of newer kernels by way of what its objects
 * are charged to. 0: none. */
__noinline u64 page_memcg(u64 page)
{
	u64 p = 0;

	if (!page)
		return 0;
	if (bpf_core_field_exists(struct folio___charged, memcg_data))
		p = BPF_CORE_READ((struct folio___charged *)page, memcg_data);
	else if (bpf_core_field_exists(struct page___charged, memcg_data))
		p = BPF_CORE_READ((struct page___charged *)page, memcg_data);
	else if (bpf_core_field_exists(struct page___old, mem_cgroup))
		p = (u64)BPF_CORE_READ((struct page___old *)page, mem_cgroup);
	p &= ~MEMCG_FLAGS;
	if (!p || is_memcg(p))
		return p;
	if (bpf_core_field_exists(struct obj_cgroup, memcg))
		p = (u64)BPF_CORE_READ((struct obj_cgroup *)p, memcg);
	return p && is_memcg(p) ? p : 0;
}

/* Adds the file to the group of its first page, and returns the group's id; with INODES_TELL where
 * the group was removed and none of its files was as large. */
__noinline u64 group_add(u64 memcg, u64 pages)
{
	static const struct inodes_group none;
	struct cgroup *cgroup = BPF_CORE_READ((struct mem_cgroup *)memcg, css.cgroup);
	struct kernfs_node *kn = BPF_CORE_READ(cgroup, kn);
	u64 id = BPF_CORE_READ(kn, id);
	struct inodes_group *g = bpf_map_lookup_elem(&groups, &id);

	if (!g) {
		bpf_map_update_elem(&groups, &id, &none, BPF_NOEXIST);
		g = bpf_map_lookup_elem(&groups, &id);
	}
	if (!g)
		return id;
	if (!g->files && BPF_CORE_READ((struct mem_cgroup *)memcg, css.flags) & CSS_DYING) {
		g->dying = 1;
		bpf_probe_read_kernel_str(g->name, sizeof(g->name),
			BPF_CORE_READ((struct kernfs_node___name *)kn, name));
	}
	g->files++;
	g->pages += pages;
	if (pages <= g->largest)
		return id;
	g->largest = pages;
	return g->dying ? id | INODES_TELL : id;
}

/* Its names up to the root of the file system. */
__noinline u32 path_tell(u64 inode, u32 at, u32 pinned)
{
	struct inodes_file *f = bpf_map_lookup_elem(&found, &at);
	struct dentry___walk *d = inode_dentry(inode);
	u32 n = 0;

	if (!f)
		return 0;
	f->n = 0;
	if (!d) {
		f->flags |= INODES_NAMELESS;
		return 0;
	}
	if (BPF_CORE_READ(d, d_lockref.count) > (int)pinned)
		f->flags |= INODES_OPEN;
	for (int i = 0; i < PARENTS; i++) {
		struct dentry___walk *parent = BPF_CORE_READ(d, d_parent);
		long got;

		if (i && parent == d)
			break;
		if (n > INODES_PATH - INODES_NAME)
			break;
		got = bpf_probe_read_kernel_str(
			f->path + n, INODES_NAME, BPF_CORE_READ(d, d_name.name));
		if (got <= 0 || got > INODES_NAME)
			break;
		n += (u32)got;
		if (!parent || parent == d)
			break;
		d = parent;
	}
	f->n = (u16)n;
	return n;
}

/* Adds one inode; 1: it is told at this place. */
__noinline u32 inode_look(u64 address, u32 at, u64 least)
{
	struct inode___walk *inode = (void *)address;
	struct address_space *mapping = BPF_CORE_READ(inode, i_mapping);
	u64 pages = BPF_CORE_READ(mapping, nrpages), memcg, id = 0;
	u32 zero = 0;
	struct inodes_walk *w = bpf_map_lookup_elem(&walk, &zero);
	struct inodes_file *f;

	/* of a device node the mapping is the device's */
	if (!w || !pages ||
		(u64)mapping != address + bpf_core_field_offset(struct inode___walk, i_data))
		return 0;
	w->files++;
	w->pages += pages;
	memcg = page_memcg(page_first((u64)mapping));
	if (memcg)
		id = group_add(memcg, pages);
	f = pages < least && !(id & INODES_TELL) ? NULL : bpf_map_lookup_elem(&found, &at);
	if (!f)
		return 0;
	f->ino = BPF_CORE_READ(inode, i_ino);
	f->pages = pages;
	f->group = id & ~INODES_TELL;
	f->rdev = BPF_CORE_READ(inode, i_rdev);
	f->flags = BPF_CORE_READ(inode, i_nlink) ? 0 : INODES_REMOVED;
	path_tell(address, at, w->pinned);
	return 1;
}

static __always_inline u64 sb_find(const struct inodes_walk *w)
{
	struct file *file = current_file(w->fd);
	struct super_block___walk *sb;
	struct block_device *device;
	struct inode *host;

	sb = (void *)BPF_CORE_READ(file, f_inode, i_sb);
	if (w->of == INODES_OF_FILE)
		return (u64)sb;
	device = BPF_CORE_READ(sb, s_bdev);
	if (!device)
		return 0;
	if (bpf_core_field_exists(struct block_device___mapping, bd_mapping))
		host = BPF_CORE_READ((struct block_device___mapping *)device, bd_mapping, host);
	else
		host = BPF_CORE_READ(device, bd_inode);
	return (u64)BPF_CORE_READ(host, i_sb);
}

SEC("raw_tp")
int inodes_run(void *ctx)
{
	struct inodes_walk *w;
	u64 head, next, prev, after = 0, inode;
	u32 zero = 0, n = 0;

	w = bpf_map_lookup_elem(&walk, &zero);
	if (!w)
		return 0;
	if (!w->next)
		w->sb = sb_find(w);
	head = w->sb + bpf_core_field_offset(struct super_block___walk, s_inodes);
	next = w->next;
	prev = next ? w->prev : 0;
	if (!next && w->sb)
		bpf_probe_read_kernel(&next, sizeof(next), (void *)head);
	w->found = 0;
	w->ended = 0;
	if (w->peek)
		return 0;
	for (u32 i = 0; i < INODES_RUN; i++) {
		if (!next || next == head) {
			w->ended = next == head ? 1 : 2;
			break;
		}
		inode = next - bpf_core_field_offset(struct inode___walk, i_sb_list);
		/* it was taken off the list, or is that of another file system by now */
		if (bpf_probe_read_kernel(&after, sizeof(after), (void *)next) || after == next ||
			(u64)BPF_CORE_READ((struct inode___walk *)inode, i_sb) != w->sb) {
			next = 0;
			if (prev)
				bpf_probe_read_kernel(&next, sizeof(next), (void *)prev);
			prev = 0;
			continue;
		}
		w->looked++;
		n += inode_look(inode, n, w->least);
		prev = next;
		next = after;
	}
	w->next = next;
	w->prev = prev;
	w->found = n;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
