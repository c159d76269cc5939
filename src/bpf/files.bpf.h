/* The open files of the current task, by their descriptors. Needs the kernel's BTF. */
#ifndef MEMWHY_BPF_FILES_BPF_H
#define MEMWHY_BPF_FILES_BPF_H

#include "bpf/kernel.bpf.h"

/* linux/fdtable.h, linux/sched.h */
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct task_struct___files {
	struct files_struct *files;
} __attribute__((preserve_access_index));

/* (struct file *); NULL: no such descriptor any more, or it cannot be known. */
static __always_inline void *current_file(u64 fd)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct fdtable *fdt;
	void *file = 0;

	if (!bpf_core_field_exists(task->files))
		return 0;
	fdt = BPF_CORE_READ(task, files, fdt);
	if ((u32)fd >= BPF_CORE_READ(fdt, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(fdt, fd) + (u32)fd);
	return file;
}

#endif
