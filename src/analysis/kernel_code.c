/* See kernel_code.h. */
#include "analysis/kernel_code.h"

#include <string.h>

#include "base/str.h"

static bool begins_with_one(const char *name, const char *const *with)
{
	for (; *with; with++)
		if (begins_with(name, *with))
			return true;
	return false;
}

/* bpf_prog_ and a tag, as kallsyms has them: bpf_prog_alloc is the kernel's. */
static bool is_bpf_program(const char *name)
{
	return begins_with(name, "bpf_prog_") && strspn(name + 9, "0123456789abcdef") == 16;
}

bool code_is_page_allocator(const char *function)
{
	/* mm/page_alloc.c, mm/mempolicy.c */
	static const char *const names[] = {
		"__traceiter_",
		"__bpf_trace_",
		"bpf_trace_run",
		"bpf_trampoline_",
		"__alloc_pages",
		"alloc_pages",
		"__alloc_frozen_pages",
		"alloc_frozen_pages",
		"__folio_alloc",
		"folio_alloc",
		"__get_free_page",
		"get_free_page",
		"get_zeroed_page",
		NULL,
	};

	return begins_with_one(function, names) || is_bpf_program(function);
}

bool code_is_slab_allocator(const char *function)
{
	/* mm/slub.c, mm/slab_common.c */
	static const char *const names[] = {
		"alloc_slab_page",
		"allocate_slab",
		"new_slab",
		"___slab_alloc",
		"__slab_alloc",
		"refill_objects",
		"__refill_objects",
		"kmalloc_order",
		"kmalloc_large",
		"__kmalloc_large",
		"___kmalloc_large",
		NULL,
	};

	return begins_with_one(function, names);
}
