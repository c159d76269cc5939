/*
 * Where an instruction is mapped, read out of the kernel's tree of mappings without its lock: a
 * tree of red and black nodes to 6.0, a maple tree since. For kernels without an iterator over
 * mappings, and where that cannot have the lock. Whoever changes the tree meanwhile makes it find
 * nothing, or what is no mapping of that instruction, which is looked at. See unwind_vma.bpf.h.
 */
#if defined(USER_WALK) && !defined(MEMWHY_BPF_UNWIND_TREE_BPF_H)
#define MEMWHY_BPF_UNWIND_TREE_BPF_H

#include "bpf/unwind.h"

struct rb_node___tree {
	struct rb_node___tree *rb_right, *rb_left;
} __attribute__((preserve_access_index));

struct rb_root___tree {
	struct rb_node___tree *rb_node;
} __attribute__((preserve_access_index));

struct mm_struct___rb {
	struct rb_root___tree mm_rb;
} __attribute__((preserve_access_index));

struct vm_area_struct___rb {
	struct rb_node___tree vm_rb;
	unsigned long vm_start, vm_end;
} __attribute__((preserve_access_index));

struct maple_tree {
	void *ma_root;
} __attribute__((preserve_access_index));

struct mm_struct___maple {
	struct maple_tree mm_mt;
} __attribute__((preserve_access_index));

#define UNWIND_RB_LEVELS 34 /* of 65,530 mappings */

static __always_inline u64 unwind_rb_find(const struct mm_struct___rb *mm, u64 ip)
{
	struct rb_node___tree *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	struct vm_area_struct___rb *vma = 0;

	for (u32 level = 0; level < UNWIND_RB_LEVELS && node; level++) {
		vma = (void *)node - bpf_core_field_offset(vma->vm_rb);
		if (BPF_CORE_READ(vma, vm_end) <= ip)
			node = BPF_CORE_READ(node, rb_right);
		else if (BPF_CORE_READ(vma, vm_start) <= ip)
			return (u64)vma;
		else
			node = BPF_CORE_READ(node, rb_left);
	}
	return 0;
}

/* linux/maple_tree.h, 6.1 to 7.3: a pointer to a node has its type in bits 3 to 6; a node is its
 * parent, pivots, slots (and gaps). The number of its last slot is in a byte behind them, which in
 * full nodes is a slot. */
#define UNWIND_MAPLE_LEVELS 8
#define UNWIND_MAPLE_POINTER(entry_) ((entry_) > 4096 && !((entry_)&1))
#define UNWIND_MAPLE_TYPE(entry_) ((entry_) >> 3 & 15)
#define UNWIND_MAPLE_LEAF_LAST 1
#define UNWIND_MAPLE_ARANGE 3

/* What w->node has for ip, where pivots are the last addresses of slots. For w->zero see
 * unwind_find.bpf.h. */
static __always_inline u64 unwind_maple_slot(const struct unwind_walk *w, u64 ip, bool arange)
{
	u64 zero = w->zero, slot = zero, last;

	if (arange)
		last = w->node[30] & 0xff;
	else
		last = w->node[15] ? 15 : w->node[31] & 0xff;
	for (u32 step = 0; step < 15 && slot < last; step++) {
		if (w->node[(1 + slot) & (UNWIND_NODE_WORDS - 1)] >= ip)
			break;
		slot += 1 + zero;
	}
	slot += arange ? 10 : 16;
	return w->node[slot & (UNWIND_NODE_WORDS - 1)];
}

/* Makes w->vma what the node that it is has for ip, a node or a mapping. A function of its own,
 * that the verifier looks at once. Not 0: it is no node. */
__noinline int unwind_maple_step(u64 ip)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	u64 entry;

	if (!w || !UNWIND_MAPLE_POINTER(w->vma))
		return 1;
	entry = w->vma;
	if (bpf_probe_read_kernel(w->node, sizeof(w->node), (void *)(entry & ~0xffULL)))
		return 1;
	w->vma = unwind_maple_slot(w, ip, UNWIND_MAPLE_TYPE(entry) == UNWIND_MAPLE_ARANGE);
	return UNWIND_MAPLE_TYPE(entry) <= UNWIND_MAPLE_LEAF_LAST;
}

static __always_inline void unwind_maple_find(
	struct unwind_walk *w, const struct mm_struct___maple *mm, u64 ip)
{
	w->vma = (u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	for (u32 level = 0; level < UNWIND_MAPLE_LEVELS; level++)
		if (unwind_maple_step(ip))
			return;
}

static __always_inline bool unwind_tree_usable(void)
{
	struct mm_struct___rb *rb = 0;
	struct mm_struct___maple *maple = 0;

	return bpf_core_field_exists(rb->mm_rb) || bpf_core_field_exists(maple->mm_mt);
}

/* Makes w->vma the mapping that ip is in. Not 0: there is none. */
static __always_inline int unwind_tree_find(struct unwind_walk *w, u64 ip)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct___rb *rb;
	struct mm_struct___maple *maple;
	struct vm_area_struct *vma;

	w->vma = 0;
	rb = (void *)BPF_CORE_READ(task, mm);
	maple = (void *)rb;
	if (bpf_core_field_exists(rb->mm_rb))
		w->vma = unwind_rb_find(rb, ip);
	else if (bpf_core_field_exists(maple->mm_mt))
		unwind_maple_find(w, maple, ip);
	vma = (void *)w->vma;
	if (!vma || BPF_CORE_READ(vma, vm_start) > ip || BPF_CORE_READ(vma, vm_end) <= ip)
		return CFI_STOP_NO_CODE;
	return 0;
}

#endif
