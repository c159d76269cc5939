/* A number that changes with the mappings of an address space. */
#if defined(__bpf__) && !defined(MEMWHY_BPF_MM_SEQ_BPF_H)
#define MEMWHY_BPF_MM_SEQ_BPF_H

/* 0: it cannot be known whether the address space has changed. */
static __always_inline u32 mm_seq(const struct mm_struct *mm)
{
	const struct mm_struct___int *i = (void *)mm;
	const struct mm_struct___seqcount *s = (void *)mm;

	if (bpf_core_field_exists(i->mm_lock_seq))
		return (u32)BPF_CORE_READ(i, mm_lock_seq) + 1;
	if (bpf_core_field_exists(s->mm_lock_seq))
		return BPF_CORE_READ(s, mm_lock_seq.sequence) + 1;
	return 0;
}

#endif
