/*
 * The table of an instruction where nobody has looked at its process yet: by the file that is
 * mapped there, if that file has a table already (the libc of all, a program run before). With the
 * kernel's iterator over mappings (6.7) all are noted at once; without it each is looked up in the
 * kernel's tree. For new files the process waits for user space. See unwind.bpf.h.
 */
#if defined(USER_WALK) && !defined(MEMWHY_BPF_UNWIND_VMA_BPF_H)
#define MEMWHY_BPF_UNWIND_VMA_BPF_H

#include "bpf/mm_seq.bpf.h"
#include "bpf/unwind.h"
#include "bpf/unwind_tree.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_KNOWN_MAX);
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} unwind_known SEC(".maps");

struct bpf_iter_task_vma {
	u64 opaque[1];
} __attribute__((preserve_access_index));

extern int bpf_iter_task_vma_new(
	struct bpf_iter_task_vma *it, struct task_struct *task, u64 address) __ksym __weak;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym __weak;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym __weak;

struct vm_area_struct___file {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
} __attribute__((preserve_access_index));

struct super_block___dev {
	u32 s_dev;
} __attribute__((preserve_access_index));

struct unwind_timespec {
	s64 tv_sec;
	long tv_nsec;
};

struct inode___file {
	s64 i_size;
	struct super_block___dev *i_sb;
	struct unwind_timespec __i_mtime; /* 6.7 to 6.10 */
} __attribute__((preserve_access_index));

struct inode___before { /* to 6.6 */
	struct unwind_timespec i_mtime;
} __attribute__((preserve_access_index));

struct inode___apart { /* from 6.11 on */
	s64 i_mtime_sec;
	u32 i_mtime_nsec;
} __attribute__((preserve_access_index));

struct vfsmount___sb {
	struct super_block *mnt_sb;
} __attribute__((preserve_access_index));

struct dentry___inode {
	struct inode *d_inode;
	struct super_block *d_sb;
} __attribute__((preserve_access_index));

struct path___pair {
	struct vfsmount___sb *mnt;
	struct dentry___inode *dentry;
} __attribute__((preserve_access_index));

struct file___named {
	struct path___pair f_path;
} __attribute__((preserve_access_index));

struct backing_file { /* fs/file_table.c: begins with the file */
	struct path___pair user_path;
} __attribute__((preserve_access_index));

/*
 * What is mapped of a file of a file system that lies upon others (overlayfs, in containers) is the
 * file below it; this is the one that has the name, as in /proc/PID/maps. NULL: there is none. Its
 * path was that of the mapped file itself (fs/open.c open_with_fake_path) to 6.6. The flag that
 * tells such files is not the same in all kernels since: behind others there is no path, which is a
 * mount and an entry of one file system.
 */
static __always_inline struct inode *unwind_inode_above(struct file *mapped)
{
	struct backing_file *backing = (void *)mapped;
	struct dentry___inode *entry;
	struct super_block *sb;

	if (!bpf_core_field_exists(backing->user_path))
		return BPF_CORE_READ((struct file___named *)mapped, f_path.dentry, d_inode);
	entry = BPF_CORE_READ(backing, user_path.dentry);
	sb = BPF_CORE_READ(entry, d_sb);
	if (!sb || sb != BPF_CORE_READ(backing, user_path.mnt, mnt_sb))
		return NULL;
	return BPF_CORE_READ(entry, d_inode);
}

/* Makes w->key that of a file. w->node is room for its time: the stack has none. */
static __always_inline void unwind_file_key_of(struct unwind_walk *w, struct inode *inode)
{
	struct inode___file *file = (void *)inode;
	struct inode___apart *apart = (void *)inode;
	struct inode___before *before = (void *)inode;
	struct unwind_timespec *mtime = (void *)w->node;

	w->key.dev = BPF_CORE_READ(file, i_sb, s_dev);
	w->key.ino = BPF_CORE_READ(inode, i_ino);
	w->key.size = BPF_CORE_READ(file, i_size);
	if (bpf_core_field_exists(apart->i_mtime_sec)) {
		w->key.mtime_ns = BPF_CORE_READ(apart, i_mtime_sec) * 1000000000ULL +
				  BPF_CORE_READ(apart, i_mtime_nsec);
		return;
	}
	if (bpf_core_field_exists(file->__i_mtime))
		bpf_core_read(mtime, sizeof(*mtime), &file->__i_mtime);
	else
		bpf_core_read(mtime, sizeof(*mtime), &before->i_mtime);
	w->key.mtime_ns = mtime->tv_sec * 1000000000ULL + mtime->tv_nsec;
}

/* The table of a mapping, if its file has one. */
static __always_inline void unwind_file_find(
	struct unwind_walk *w, struct vm_area_struct___file *vma, struct unwind_mapping *m)
{
	u64 before = m->start - (BPF_CORE_READ(vma, vm_pgoff) << 12); /* of the file's first byte */
	struct file *mapped = BPF_CORE_READ(vma, vm_file);
	struct unwind_file *f;
	struct inode *above;

	if (!mapped)
		return;
	unwind_file_key_of(w, BPF_CORE_READ(mapped, f_inode));
	f = bpf_map_lookup_elem(&unwind_known, &w->key);
	above = f ? NULL : unwind_inode_above(mapped);
	if (above) {
		unwind_file_key_of(w, above);
		f = bpf_map_lookup_elem(&unwind_known, &w->key);
	}
	if (!f)
		return;
#pragma unroll
	for (u32 i = 0; i < UNWIND_SEGMENTS; i++) {
		if (m->end <= before + f->segments[i].offset ||
			m->start >= before + f->segments[i].offset + f->segments[i].size)
			continue;
		m->bias = before - f->segments[i].to;
		m->index = f->index;
		m->blocks = f->blocks;
		m->rows = f->rows;
		m->table = 1; /* there is one */
		m->file = before;
		m->module = f->module;
	}
}

static __always_inline bool unwind_vma_usable(void)
{
	return bpf_core_type_exists(struct bpf_iter_task_vma);
}

#define UNWIND_VM_EXEC 4

static __always_inline void unwind_vma_read(
	struct unwind_walk *w, struct vm_area_struct___file *vma, struct unwind_mapping *m)
{
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	m->blocks = m->table = m->module = 0;
	m->rows = BPF_CORE_READ(vma, vm_file) ? 0 : UNWIND_NO_FILE;
	unwind_file_find(w, vma, m);
}

static __always_inline u32 unwind_known_generation(void)
{
	struct unwind_file_key none = {};
	struct unwind_file *f = bpf_map_lookup_elem(&unwind_known, &none);

	return f ? f->generation : 0;
}

/* Are they noted as they are now? The same address may be another space's by now, and forks are
 * born as their parent is. */
static __always_inline bool unwind_vmas_noted(
	const struct unwind_walk *w, u64 mm, u64 identity, u32 seq)
{
	return seq && w->noted_mm == mm && w->noted_identity == identity && w->noted_seq == seq &&
	       w->noted_known == unwind_known_generation();
}

/*
 * Notes where the process has code, in one go: with interrupts off the kernel lets a CPU look once,
 * until an interrupt to itself has unlocked the mappings. It holds until they change, or the files
 * that have tables do. Not 0: they cannot be looked at now, or there are too many.
 */
__noinline int unwind_vmas_note(u64 identity)
{
	u32 zero = 0, seq, n;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	u64 mm = (u64)BPF_CORE_READ(task, mm);
	struct vm_area_struct___file *vma;
	struct bpf_iter_task_vma it;

	if (!w || !unwind_vma_usable())
		return CFI_STOP_NO_CODE;
	seq = mm_seq((void *)mm);
	if (unwind_vmas_noted(w, mm, identity, seq))
		return 0;
	w->noted_mm = w->n_vmas = 0;
	w->noted_known = unwind_known_generation();
	bpf_iter_task_vma_new(&it, bpf_get_current_task_btf(), 0);
	while ((vma = (void *)bpf_iter_task_vma_next(&it))) {
		if (!(BPF_CORE_READ(vma, vm_flags) & UNWIND_VM_EXEC))
			continue;
		n = w->n_vmas;
		w->n_vmas = n + 1;
		if (n >= UNWIND_VMAS)
			break;
		unwind_vma_read(w, vma, &w->vmas[n & (UNWIND_VMAS - 1)]);
	}
	bpf_iter_task_vma_destroy(&it);
	if (!w->n_vmas || w->n_vmas > UNWIND_VMAS)
		return CFI_STOP_NO_CODE;
	w->noted_mm = mm;
	w->noted_identity = identity;
	w->noted_seq = seq;
	return 0;
}

/* As unwind_mapping_find, in the kernel's tree. */
__noinline int unwind_vma_look(u64 ip)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct vm_area_struct___file *vma;

	if (!w || unwind_tree_find(w, ip))
		return CFI_STOP_NO_CODE;
	vma = (void *)w->vma;
	if (!(BPF_CORE_READ(vma, vm_flags) & UNWIND_VM_EXEC))
		return CFI_STOP_NO_CODE;
	unwind_vma_read(w, vma, &w->mapping);
	if (!w->mapping.table)
		w->unknown = 1;
	return 0;
}

/* How the mappings of a process are found that nobody has looked at: enum unwind_by_file. */
static __always_inline u8 unwind_by_file(u64 identity)
{
	if (unwind_vma_usable() && !unwind_vmas_note(identity))
		return UNWIND_BY_NOTE;
	return unwind_tree_usable() ? UNWIND_BY_TREE : UNWIND_NOT_BY_FILE;
}

/* Makes w->mapping one of those noted. Apart, so that the verifier does not look at it for each. */
__noinline int unwind_vma_take(u32 i)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);

	if (!w || i >= UNWIND_VMAS)
		return CFI_STOP_NO_CODE;
	w->mapping = w->vmas[i];
	if (!w->mapping.table)
		w->unknown = 1;
	return 0;
}

/* As unwind_mapping_find, among those noted; what has no table yet is there, too. */
__noinline int unwind_vma_find(u64 ip)
{
	u32 zero = 0, n;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);

	if (!w)
		return CFI_STOP_NO_CODE;
	n = w->n_vmas;
	for (u32 i = 0; i < UNWIND_VMAS && i < n; i++)
		if (ip >= w->vmas[i].start && ip < w->vmas[i].end)
			return unwind_vma_take(i);
	return CFI_STOP_NO_CODE;
}

#endif
