/*
 * What a call is about: the kind of memory, the file behind a descriptor, the name of a shared
 * memory object.
 */
#ifndef MEMWHY_PROBES_MAPS_WHAT_BPF_H
#define MEMWHY_PROBES_MAPS_WHAT_BPF_H

#include "bpf/files.bpf.h"
#include "probes/maps/maps_held.bpf.h"

/* fs/mount.h, linux/path.h, linux/fs.h */
struct vfsmount {
	int mnt_flags;
} __attribute__((preserve_access_index));

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} __attribute__((preserve_access_index));

struct path___maps {
	struct vfsmount *mnt;
	struct dentry *dentry;
} __attribute__((preserve_access_index));

struct file___maps {
	struct path___maps f_path;
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct inode___maps {
	unsigned short i_mode;
} __attribute__((preserve_access_index));

struct super_block___maps {
	u32 s_dev;
} __attribute__((preserve_access_index));

#define HUGETLBFS_MAGIC 0x958458f6
#define ANON_INODE_FS_MAGIC 0x09041934
#define S_IFMT 0170000
#define S_IFCHR 0020000

/* 1: the directory is called shm; 0: it is the root of a file system; -1: neither. */
static __always_inline int directory_is_shm(const struct dentry *dentry)
{
	char name[4] = {};

	bpf_probe_read_kernel(name, sizeof(name), BPF_CORE_READ(dentry, d_name.name));
	if (name[0] == '/')
		return 0;
	return name[0] == 's' && name[1] == 'h' && name[2] == 'm' && !name[3] ? 1 : -1;
}

#define MOUNTS_STACKED 4

/* Is the file's file system mounted at a directory called shm? In containers too that is
 * /dev/shm. One that is mounted over another has that one's root for a directory. */
static __always_inline bool file_is_in_shm(const struct file___maps *file)
{
	const struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	const struct mount *m = 0;

	if (!bpf_core_field_exists(m->mnt_mountpoint))
		return false;
	m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	for (int i = 0; i < MOUNTS_STACKED; i++) {
		int is_shm = directory_is_shm(BPF_CORE_READ(m, mnt_mountpoint));

		if (is_shm)
			return is_shm > 0;
		m = BPF_CORE_READ(m, mnt_parent);
	}
	return false;
}

static __always_inline bool name_is_memfd(const char *name)
{
	return name[0] == 'm' && name[1] == 'e' && name[2] == 'm' && name[3] == 'f' &&
	       name[4] == 'd' && name[5] == ':';
}

static __always_inline u8 kind_of_file(
	const struct file___maps *file, const struct what *w, u64 flags)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if (magic == HUGETLBFS_MAGIC)
		return MAPS_HUGETLB;
	if (magic == MAPS_TMPFS_MAGIC && name_is_memfd(w->name))
		return MAPS_MEMFD;
	if ((BPF_CORE_READ((const struct inode___maps *)inode, i_mode) & S_IFMT) == S_IFCHR ||
		magic == ANON_INODE_FS_MAGIC)
		return MAPS_DEVICE;
	if (magic == MAPS_TMPFS_MAGIC)
		return file_is_in_shm(file) ? MAPS_POSIX_SHM : MAPS_TMPFS;
	return flags & MAP_SHARED ? MAPS_FILE_SHARED : MAPS_FILE;
}

/* A number for the file: its inode's, mixed with that of its device. */
static __always_inline u64 object_of(const struct file___maps *file)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	const struct super_block___maps *sb = (void *)BPF_CORE_READ(inode, i_sb);

	return BPF_CORE_READ(inode, i_ino) ^ BPF_CORE_READ(sb, s_dev) * 0x9e3779b97f4a7c15;
}

static __always_inline void what_is_file(struct what *w, u64 fd, u64 flags)
{
	const struct file___maps *file = current_file(fd);

	w->kind = flags & MAP_SHARED ? MAPS_FILE_SHARED : MAPS_FILE;
	if (!file)
		return;
	w->named = bpf_probe_read_kernel_str(w->name, sizeof(w->name),
			   BPF_CORE_READ(file, f_path.dentry, d_name.name)) > 0;
	w->object = object_of(file);
	w->kind = kind_of_file(file, w, flags);
}

/* prot, flags and fd of mmap. */
static __always_inline void what_is_mapped(struct what *w, u64 prot, u64 flags, u64 fd)
{
	if (!(flags & MAP_ANONYMOUS)) {
		what_is_file(w, fd, flags);
		return;
	}
	w->kind = flags & MAP_HUGETLB                   ? MAPS_HUGETLB
		  : flags & MAP_SHARED                  ? MAPS_ANON_SHARED
		  : flags & (MAP_STACK | MAP_GROWSDOWN) ? MAPS_STACK
		  : prot == PROT_NONE                   ? MAPS_RESERVED
							: MAPS_ANON;
}

/* What is opened or made by name; fd: the descriptor, where it succeeded. */
static __always_inline void what_is_called(struct what *w, u64 name, s64 fd)
{
	const struct file___maps *file = fd < 0 ? 0 : current_file(fd);

	w->named = bpf_probe_read_user_str(w->name, sizeof(w->name), (void *)name) > 0;
	w->object = file ? object_of(file) : 0;
}

static __always_inline void what_take(struct maps_thread *t, const struct maps_space *s, u32 tgid)
{
	struct what *w = &t->what;
	const struct held *h;

	__builtin_memset(w, 0, sizeof(*w));
	if (t->call == MAPS_MMAP) {
		what_is_mapped(w, t->args[2], t->args[3], t->args[4]);
	} else if (t->call == MAPS_BRK) {
		w->kind = MAPS_HEAP;
	} else if (t->call == MAPS_MEMFD_CREATE) {
		w->kind = MAPS_MEMFD;
		what_is_called(w, t->args[0], t->ret);
	} else if (takes_path(t->call)) {
		w->kind = MAPS_POSIX_SHM;
		what_is_called(w, t->args[1] + SHM_PREFIX, t->call == MAPS_SHM_OPEN ? t->ret : -1);
	} else if (t->call == MAPS_SHMGET || t->call == MAPS_SHMAT || t->call == MAPS_SHMCTL) {
		w->kind = MAPS_SYSV_SHM;
		w->object = (u32)t->args[0];
	} else if (has_address(t->call)) {
		h = s ? held_at(s, tgid, t->args[0]) : 0;
		if (h) {
			w->kind = h->owner.kind;
			w->object = h->owner.object;
		} else if (t->call == MAPS_SHMDT) {
			w->kind = MAPS_SYSV_SHM;
		}
	}
}

#endif
