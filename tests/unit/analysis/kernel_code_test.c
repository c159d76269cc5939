/* Functions of the kernel's allocators, by name, as stacks of 5.10 to 7.3 have them; not those that
 * call them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/kernel_code.h"
#include "base/util.h"

static void test_page_allocator(void **unused)
{
	static const char *const own[] = {"__alloc_pages_noprof", "alloc_pages_mpol",
		"__alloc_frozen_pages_noprof", "folio_alloc", "get_zeroed_page_noprof",
		"__traceiter_mm_page_alloc", "bpf_trace_run4", "__bpf_trace_mm_page_alloc",
		"bpf_prog_6deef7357e7b4530_pages_take", "bpf_trampoline_6442536467"};
	static const char *const others[] = {"bpf_prog_alloc", "bpf_map_area_alloc",
		"bpf_prog_pack_alloc", "bpf_ringbuf_alloc", "alloc_slab_page", "vm_area_alloc_pages",
		"packet_set_ring", ""};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		assert_true(code_is_page_allocator(own[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(code_is_page_allocator(others[i]));
}

static void test_slab_allocator(void **unused)
{
	static const char *const own[] = {"alloc_slab_page", "new_slab", "___slab_alloc",
		"__slab_alloc.isra.0", "refill_objects", "__refill_objects_any",
		"___kmalloc_large_node"};
	static const char *const others[] = {"kmalloc_reserve", "__kmalloc", "kmem_cache_alloc",
		"alloc_skb_with_frags", ""};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		assert_true(code_is_slab_allocator(own[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(code_is_slab_allocator(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_allocator),
		cmocka_unit_test(test_slab_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
