/*
 * One call on memory policy, from its begin to its end: its node masks, what its range maps, where
 * the pages are, what move_pages says of each.
 */
#ifndef MEMWHY_PROBES_POLICY_CALL_BPF_H
#define MEMWHY_PROBES_POLICY_CALL_BPF_H

#include "bpf/syscall.bpf.h"
#include "bpf/vma.bpf.h"
#include "probes/policy/policy_range_nodes.bpf.h"
#include "probes/policy/policy_judge.h"
#include "sys/calls/mempolicy_abi.h"

#define CALLS 512 /* at the same time */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS);
	__type(key, u32);
	__type(value, struct policy_call);
} calls SEC(".maps");

static const struct policy_call call_zero = {};

/* If a word is mapped only in part, the bytes of it that are. */
__noinline u64 bytes_read(u64 user)
{
	u64 word = 0;

	for (u32 i = 0; i < 8; i++) {
		u8 byte = 0;

		if (bpf_probe_read_user(&byte, 1, (void *)(user + i)))
			break;
		word |= (u64)byte << (8 * i);
	}
	return word;
}

/* A word of which `left` bits are taken, to m->bits[i]. False: it is not mapped to its end. */
static __always_inline bool word_take(struct policy_mask *m, u64 user, u32 i, u64 left)
{
	u64 word = 0, take = left < 64 ? (1ULL << (left & 63)) - 1 : ~0ULL;
	bool mapped = !bpf_probe_read_user(&word, sizeof(word), (void *)user);

	if (!mapped)
		word = bytes_read(user);
	m->bits[i & (MASK_WORDS - 1)] = word & take;
	m->cut |= word & ~take;
	return mapped;
}

/*
 * The first mask of a call, or the second. As get_nodes() of mm/mempolicy.c: maxnode is one more
 * than the bits that are taken. A maxnode of 0, and one of more than a page of bits, is refused by
 * it: such masks are not looked at.
 *
 * This, and what else is a function of its own here, is so for the verifier, which would otherwise
 * look at its loops once for each way that leads to them. Such a function takes numbers only
 * (5.10), so it finds the call by its thread.
 */
__noinline int mask_read(u32 tid, u32 second, u64 user, u64 maxnode)
{
	struct policy_call *e = bpf_map_lookup_elem(&calls, &tid);
	u64 bits = maxnode - 1, any = 0;
	struct policy_mask *m;

	if (!e)
		return 0;
	m = second ? &e->masks[1] : &e->masks[0];
	__builtin_memset(m, 0, sizeof(*m));
	if (!user)
		m->state = MASK_NULL;
	if (!user || bits > MASK_BITS_MAX)
		return 0;
	if (!bits)
		bpf_probe_read_user(&m->cut, sizeof(m->cut), (void *)user);
	for (u32 i = 0; i < MASK_WORDS && i * 64 < bits; i++) {
		if (word_take(m, user + i * 8, i, bits - i * 64))
			continue;
		m->state = MASK_UNREADABLE;
		break;
	}
	for (u32 i = 0; i < MASK_WORDS; i++)
		any |= m->bits[i];
	if (!any)
		m->state |= MASK_EMPTY;
	if (bits > MASK_NODES)
		m->state |= MASK_BEYOND;
	return 0;
}

/* For get_mempolicy: what the kernel wrote, with a maxnode of the same meaning. */
static __always_inline void masks_read(const struct policy_call *e)
{
	const u64 *a = e->args;

	if (e->call == CALL_MBIND)
		mask_read(e->tid, 0, a[3], a[4]);
	if (e->call == CALL_SET_MEMPOLICY || e->call == CALL_GET_MEMPOLICY)
		mask_read(e->tid, 0, a[1], a[2]);
	if (e->call == CALL_MIGRATE_PAGES) {
		mask_read(e->tid, 0, a[2], a[1]);
		mask_read(e->tid, 1, a[3], a[1]);
	}
}

struct nodemask {
};

struct task_struct___policy {
	struct nodemask mems_allowed;
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

/* Nodes with memory that the cpuset of the task allows. */
static __always_inline void usable_read(struct policy_call *e)
{
	struct task_struct___policy *task = (void *)bpf_get_current_task();
	u32 size;

	if (!bpf_core_field_exists(task->mems_allowed) || !config.nodes)
		return;
	size = bpf_core_field_size(task->mems_allowed);
	if (size > sizeof(e->usable))
		size = sizeof(e->usable);
	if (bpf_probe_read_kernel(
		    e->usable, size, __builtin_preserve_access_index(&task->mems_allowed)))
		return;
	for (u32 i = 0; i < MASK_WORDS; i++)
		e->usable[i] &= config.memory[i];
	e->flags |= POLICY_USABLE;
}

/* For each kind of page: a counter until 6.1 (in struct mm_rss_stat), one by CPU since 6.2
 * (f1a7941243c1). */
struct long_counter {
	s64 counter;
};

struct mm_rss_stat {
	struct long_counter count[4];
} __attribute__((preserve_access_index));

struct percpu_counter {
	s64 count;
} __attribute__((preserve_access_index));

struct mm_struct___one {
	struct mm_rss_stat rss_stat;
} __attribute__((preserve_access_index));

struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
} __attribute__((preserve_access_index));

#define MM_ANONPAGES 1

static __always_inline u64 anon_pages(void)
{
	struct task_struct___policy *task = (void *)bpf_get_current_task();
	void *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___one *one = mm;
	struct mm_struct___percpu *percpu = mm;
	s64 n = 0;

	if (!mm)
		return 0;
	if (bpf_core_type_exists(struct mm_rss_stat))
		n = BPF_CORE_READ(one, rss_stat.count[MM_ANONPAGES].counter);
	else if (bpf_core_field_exists(percpu->rss_stat[MM_ANONPAGES].count))
		n = BPF_CORE_READ(percpu, rss_stat[MM_ANONPAGES].count);
	return n > 0 ? (u64)n : 0;
}

#define VM_SHARED 8

static __always_inline void vma_tell(struct policy_call *e, const struct vm_area_struct *vma)
{
	const struct file *file = BPF_CORE_READ(vma, vm_file);

	e->map_start = BPF_CORE_READ(vma, vm_start);
	e->map_end = BPF_CORE_READ(vma, vm_end);
	if (BPF_CORE_READ(vma, vm_flags) & VM_SHARED)
		e->flags |= POLICY_SHARED;
	if (!file) {
		e->map = vma_kind_anon(vma);
		return;
	}
	e->map = vma_kind_file(file);
	bpf_probe_read_kernel_str(
		e->file, sizeof(e->file), BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

static long vma_found(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct policy_call **e = arg;

	vma_tell(*e, vma);
	return 0;
}

/* Mappings are in a tree until 6.0. */
struct rb_node {
	struct rb_node *rb_right, *rb_left;
} __attribute__((preserve_access_index));

struct rb_root {
	struct rb_node *rb_node;
} __attribute__((preserve_access_index));

struct mm_struct___tree {
	struct rb_root mm_rb;
} __attribute__((preserve_access_index));

struct vm_area_struct___tree {
	struct rb_node vm_rb;
} __attribute__((preserve_access_index));

#define TREE_DEPTH 40 /* of 2^20 mappings */

/* Without the lock that keeps the tree from changing: it may miss one, it cannot run astray. */
static __always_inline void vma_find_in_tree(struct policy_call *e, u64 address)
{
	struct task_struct___policy *task = (void *)bpf_get_current_task();
	struct mm_struct___tree *mm = (void *)BPF_CORE_READ(task, mm);
	struct vm_area_struct___tree *in = 0;
	struct rb_node *node;

	if (!bpf_core_field_exists(mm->mm_rb) || !mm)
		return;
	node = BPF_CORE_READ(mm, mm_rb.rb_node);
	for (u32 i = 0; i < TREE_DEPTH && node; i++) {
		struct vm_area_struct *vma = (void *)node - bpf_core_field_offset(in->vm_rb);

		if (BPF_CORE_READ(vma, vm_end) <= address) {
			node = BPF_CORE_READ(node, rb_right);
		} else if (BPF_CORE_READ(vma, vm_start) > address) {
			node = BPF_CORE_READ(node, rb_left);
		} else {
			vma_tell(e, vma);
			return;
		}
	}
}

static __always_inline void map_find(struct policy_call *e, u64 address, bool direct)
{
	if (direct && config.find_vma)
		bpf_find_vma((void *)bpf_get_current_task_btf(), address, vma_found, &e, 0);
	else
		vma_find_in_tree(e, address);
}

#endif
