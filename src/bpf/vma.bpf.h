/*
 * What a mapping is, decided in the kernel as fs/proc/task_mmu.c does for /proc: heap, stack, or by
 * the file system of its file.
 */
#ifndef MEMWHY_BPF_VMA_BPF_H
#define MEMWHY_BPF_VMA_BPF_H

#include "base/mapping_kind.h"
#include "bpf/common.bpf.h"

#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6

/* vma_is_initial_heap, vma_is_initial_stack */
static __always_inline u8 vma_kind_anon(const struct vm_area_struct *vma)
{
	const struct mm_struct *mm = BPF_CORE_READ(vma, vm_mm);
	u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	u64 stack = BPF_CORE_READ(mm, start_stack);

	if (start < BPF_CORE_READ(mm, brk) && end > BPF_CORE_READ(mm, start_brk))
		return MAPPING_HEAP;
	return start <= stack && end >= stack ? MAPPING_STACK : MAPPING_ANON;
}

static __always_inline u8 vma_kind_file(const struct file *file)
{
	u64 magic = BPF_CORE_READ(file, f_inode, i_sb, s_magic);

	if (magic == TMPFS_MAGIC)
		return MAPPING_SHMEM;
	return magic == HUGETLBFS_MAGIC ? MAPPING_HUGETLB : MAPPING_FILE;
}

#endif
