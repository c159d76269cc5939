/*
 * What BPF programs need of the kernel: map and helper interfaces, and the few kernel structures
 * that are read, each with only the members used (CO-RE finds their offsets where the kernel has
 * BTF). Nothing here comes from the machine that builds.
 */
#ifndef MEMWHY_BPF_KERNEL_BPF_H
#define MEMWHY_BPF_KERNEL_BPF_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "base/types.h"

typedef _Bool bool;
#define true 1
#define false 0

#define ENOENT 2
#define EFAULT 14
#define EEXIST 17

/* linux/kernfs.h, linux/cgroup-defs.h */
struct kernfs_node {
	u64 id; /* since 5.5; on 64-bit hosts the inode number of the directory */
} __attribute__((preserve_access_index));

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} __attribute__((preserve_access_index));

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

enum cgroup_subsys_id {
	memory_cgrp_id = 4, /* CO-RE: the value in the running kernel is used */
};

/* linux/sched.h, linux/mm_types.h */
struct mm_struct {
	unsigned long start_brk, brk, start_stack;
} __attribute__((preserve_access_index));

/* Counts the times the address space was locked for change: since 6.4, as a seqcount since 6.13. */
struct mm_struct___int {
	int mm_lock_seq;
} __attribute__((preserve_access_index));

struct seqcount {
	unsigned int sequence;
} __attribute__((preserve_access_index));

struct mm_struct___seqcount {
	struct seqcount mm_lock_seq;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct css_set *cgroups;
} __attribute__((preserve_access_index));

/* linux/fs.h, linux/dcache.h */
struct super_block {
	unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
	unsigned long i_ino;
	unsigned int i_generation;
	struct super_block *i_sb;
} __attribute__((preserve_access_index));

struct qstr {
	const unsigned char *name;
} __attribute__((preserve_access_index));

struct dentry {
	struct qstr d_name;
} __attribute__((preserve_access_index));

struct path {
	struct dentry *dentry;
} __attribute__((preserve_access_index));

struct file {
	struct path f_path;
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags;
	struct mm_struct *vm_mm;
	struct file *vm_file;
} __attribute__((preserve_access_index));

#endif
