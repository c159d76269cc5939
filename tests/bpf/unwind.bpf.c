/* Takes the user stack of the process that runs it: see unwind.c. */
#define USER_WALK
#include "bpf/common.bpf.h"

SEC("raw_tp")
int nothing(void *ctx)
{
	return 0;
}

/* The kernel's own walk, by frame pointers: how many bytes of addresses it gives. */
SEC("raw_tp")
int kernel_walk(void *ctx)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);

	return w ? (int)bpf_get_stack(
			   ctx, w->stack.frames, sizeof(w->stack.frames), BPF_F_USER_STACK)
		 : -1;
}

/* See mm_seq. */
SEC("raw_tp")
int changes(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return (int)mm_seq(BPF_CORE_READ(task, mm));
}

/* What the kernel's tree of mappings says of an address. */
struct {
	u64 address, start, end;
} asked = {};

SEC("raw_tp")
int tree(void *ctx)
{
	u32 zero = 0;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct vm_area_struct *vma;

	if (!w || unwind_tree_find(w, asked.address))
		return -1;
	vma = (void *)w->vma;
	asked.start = BPF_CORE_READ(vma, vm_start);
	asked.end = BPF_CORE_READ(vma, vm_end);
	return 0;
}

/* The stack is then in user_stacks; what is returned is its key. */
SEC("raw_tp")
int unwind_self(void *ctx)
{
	long id = 0;

	return user_stack_take(&id) ? (int)id : 0;
}
