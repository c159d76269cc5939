/*
 * Address spaces, by process: how large they were when first seen and after the last call, and what
 * each call did to them.
 *
 * That is the difference of mm->total_vm, which is VmSize, if no other call of the process was
 * under way meanwhile; otherwise the differences of several calls would mix, and what each did
 * follows from its arguments and result.
 */
#ifndef MEMWHY_PROBES_MAPS_SPACE_BPF_H
#define MEMWHY_PROBES_MAPS_SPACE_BPF_H

#include "probes/maps/maps_call.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct maps_space);
} spaces SEC(".maps");

static const struct maps_space space_zero = {};

static __always_inline struct maps_space *space_of(u32 tgid, bool make)
{
	struct maps_space *s = bpf_map_lookup_elem(&spaces, &tgid);

	if (s || !make)
		return s;
	bpf_map_update_elem(&spaces, &tgid, &space_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&spaces, &tgid);
}

/* The address space as it is before a call. */
static __always_inline void space_enter(
	struct maps_space *s, struct maps_thread *t, const struct mm_struct___maps *mm)
{
	u64 data = bpf_core_field_exists(mm->data_vm) ? BPF_CORE_READ(mm, data_vm) : 0;

	if (s->mm == (u64)mm)
		return;
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	s->cgroup = current_cgroup_id();
	if (!s->mm) {
		s->first_pages = t->pages;
		s->first_data = data;
	} else {
		s->execs++;
	}
	s->mm = (u64)mm;
	s->recent_length = 0;
	s->brk = 0;
}

/*
 * Other threads of the process may be in such a call too. First this one is counted, then it looks
 * who else is: of two that begin at once at least one sees the other, and the other sees by `begun`
 * at its end that it was not alone.
 */
static __always_inline void space_begin(struct maps_space *s, struct maps_thread *t)
{
	if (t->running && s->running) /* the end of the last one was not seen */
		__sync_fetch_and_add(&s->running, -1);
	t->running = 1;
	__sync_fetch_and_add(&s->running, 1);
	__sync_fetch_and_add(&s->begun, 1);
	t->begun = *(volatile u64 *)&s->begun;
	t->alone = *(volatile u64 *)&s->running == 1;
}

static __always_inline s64 growth_by_arguments(
	const struct maps_thread *t, const struct maps_space *s)
{
	u64 brk = t->brk ? t->brk : s ? s->brk : 0;

	if (t->error)
		return 0;
	switch (t->call) {
	case MAPS_MMAP:
		return t->length;
	case MAPS_MUNMAP:
		return -t->length;
	case MAPS_MREMAP:
		return t->args[3] & MREMAP_DONTUNMAP ? t->length
						     : t->length - page_align(t->args[1]);
	case MAPS_BRK:
		return brk ? page_align(t->ret) - page_align(brk) : 0;
	}
	return 0;
}

static __always_inline void space_read(struct maps_space *s, const struct mm_struct___maps *mm)
{
	s->last_pages = BPF_CORE_READ(mm, total_vm);
	s->last_data = BPF_CORE_READ(mm, data_vm);
	s->mappings = BPF_CORE_READ(mm, map_count);
}

/* The address space as it is after a call, and what the call did to it. */
static __always_inline void space_leave(struct maps_space *s, struct maps_thread *t)
{
	const struct mm_struct___maps *mm = current_mm();

	t->flags = 0;
	t->growth = growth_by_arguments(t, s);
	if (!s)
		return;
	__sync_fetch_and_add(&s->calls, 1);
	if (t->call == MAPS_BRK)
		s->brk = t->ret;
	if (!bpf_core_field_exists(mm->total_vm))
		return;
	space_read(s, mm);
	t->flags = MAPS_SPACE_KNOWN;
	if (!t->alone || *(volatile u64 *)&s->begun != t->begun) {
		t->flags |= t->error ? 0 : MAPS_MIXED;
		space_read(s, mm); /* a slower thread may have written what it read before */
		return;
	}
	t->flags |= MAPS_BY_VMSIZE;
	t->growth = (s64)(s->last_pages - t->pages) << PAGE_SHIFT;
}

#endif
