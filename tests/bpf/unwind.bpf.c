/* Takes the user stack of the process that runs it: see unwind.c. */
#include "bpf/common.bpf.h"
#include "bpf/unwind.bpf.h"

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

	return w ? (int)bpf_get_stack(ctx, w->ips, sizeof(w->ips), BPF_F_USER_STACK) : -1;
}

SEC("raw_tp")
int unwind_self(void *ctx)
{
	struct unwind_walk *w =
		unwind_user((u32)(bpf_get_current_pid_tgid() >> 32), unwind_user_regs());

	if (!w)
		return -1;
	w->busy = 0;
	return (int)w->n;
}
