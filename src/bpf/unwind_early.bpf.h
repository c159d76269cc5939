/*
 * For events whose programs run with interrupts off, where the mappings of a process can be read
 * only once in a while: reads them earlier, where that is allowed. See unwind_vma.bpf.h.
 */
#if defined(__bpf__) && !defined(MEMWHY_BPF_UNWIND_EARLY_BPF_H)
#define MEMWHY_BPF_UNWIND_EARLY_BPF_H

#ifdef USER_WALK
/* Known when the program is loaded: what asks for it is left out elsewhere. */
#define USER_STACKS_WALKED unwind_vma_usable()
static __always_inline void user_stack_prepare(void)
{
	u32 zero = 0, tgid = bpf_get_current_pid_tgid() >> 32;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	u64 identity = unwind_identity_now();

	if (!w || !identity || w->busy)
		return;
	w->busy = 1;
	if (unwind_tables_find(w, tgid, identity))
		unwind_vmas_note(identity);
	w->busy = 0;
}
#else
#define USER_STACKS_WALKED 0
static __always_inline void user_stack_prepare(void)
{
}
#endif

#endif
