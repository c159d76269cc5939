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

	return w ? (int)bpf_get_stack(ctx, w->stack.ips, sizeof(w->stack.ips), BPF_F_USER_STACK)
		 : -1;
}

/* The stack is then in user_stacks; what is returned is its key. */
SEC("raw_tp")
int unwind_self(void *ctx)
{
	long id = 0;

	return user_stack_take(&id) ? (int)id : 0;
}
