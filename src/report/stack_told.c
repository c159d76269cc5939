/*
 * Stacks as evidence of a finding, which has room for a few lines: without the functions that say
 * nothing of who is asked after, since all stacks of their kind go through them. See report.h.
 */
#include <string.h>

#include "report/report.h"

#define NAME_MAX_LOOKED 64
#define LINES_MIN 2
#define CODE_LEAST 0x1000
#define CODE_END (1ULL << 56) /* with page tables of five levels */

/* How the kernel is entered, and its allocators: mm/page_alloc.c, mm/mempolicy.c, mm/slub.c, 5.10
 * to 7.3. A name that ends in * stands for all that begin so. */
static const char *const in_kernel[] = {
	/* clang-format off */
	"entry_SYSCALL_64*", "do_syscall_64", "x64_sys_call", "asm_exc_page_fault",
	"exc_page_fault", "ret_from_fork*",
	"__alloc_pages*", "alloc_pages*", "__alloc_frozen_pages", "alloc_frozen_pages*",
	"__folio_alloc*", "folio_alloc*", "get_page_from_freelist", "__get_free_pages",
	"get_free_pages", "get_zeroed_page", "rmqueue*", "__rmqueue*", "prep_new_page",
	"post_alloc_hook",
	"alloc_slab_page", "allocate_slab", "new_slab", "___slab_alloc", "__slab_alloc*",
	"slab_alloc*", "kmem_cache_alloc*", "__kmem_cache_alloc*", "kmalloc*", "__kmalloc*",
	"___kmalloc*", "__do_kmalloc*", "kvmalloc*", "__kvmalloc*", "refill_objects",
	"__refill_objects",
	/* clang-format on */
};

/* The C library's allocator, and what C++ puts before it; Go's allocator, and how its stacks grow.
 */
static const char *const in_programs[] = {
	/* clang-format off */
	"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "__libc_malloc", "__libc_calloc",
	"__libc_realloc", "__libc_memalign", "_int_malloc", "_int_realloc", "_int_memalign",
	"sysmalloc*", "operator new*", "__gnu_cxx::new_allocator<*", "std::__new_allocator<*",
	"std::allocator_traits<*",
	"runtime.mallocgc*", "runtime.newobject", "runtime.makeslice*", "runtime.growslice",
	"runtime.memclr*", "runtime.(*mcache)*", "runtime.(*mcentral)*", "runtime.(*mheap)*",
	"runtime.systemstack*", "runtime.stackpoolalloc", "runtime.stackcacherefill",
	"runtime.stackalloc", "runtime.copystack", "runtime.newstack", "runtime.morestack*",
	/* clang-format on */
};

static bool is_among(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(list[i]);

		if (list[i][len - 1] == '*' ? !strncmp(name, list[i], len - 1)
					    : !strcmp(name, list[i]))
			return true;
	}
	return false;
}

/* The kernel's names without what builds add: "…_noprof", ".isra.0". */
static bool is_kernel_plumbing(const char *function)
{
	char name[NAME_MAX_LOOKED];
	char *end;

	snprintf(name, sizeof(name), "%s", function);
	end = strchr(name, '.');
	if (end)
		*end = '\0';
	end = strstr(name, "_noprof");
	if (end)
		*end = '\0';
	return is_among(in_kernel, ARRAY_SIZE(in_kernel), name);
}

static bool says_nothing(const struct stack_line *l)
{
	if (!l->function)
		return !l->module && !l->address && !l->kernel;
	return l->kernel ? is_kernel_plumbing(l->function)
			 : is_among(in_programs, ARRAY_SIZE(in_programs), l->function);
}

/* An address in user space at which no code can be. */
static bool is_no_code(const struct stack_line *l)
{
	return !l->kernel && !l->function && l->address &&
	       (l->address < CODE_LEAST || l->address >= CODE_END);
}

struct told {
	struct str text;
	size_t n;   /* lines that say something */
	bool ended; /* what follows is no code: a register that is used for something else */
	bool all;   /* too few do */
	void (*line)(void *arg, const char *text);
	void *arg;
};

static void line_count(void *arg, const struct stack_line *l)
{
	struct told *t = arg;

	t->ended |= is_no_code(l);
	t->n += !t->ended && !says_nothing(l);
}

static void line_tell(void *arg, const struct stack_line *l)
{
	struct told *t = arg;

	t->ended |= is_no_code(l);
	if (t->ended || (!t->all && says_nothing(l)))
		return;
	str_clear(&t->text);
	stack_line_add(&t->text, l, false);
	t->line(t->arg, str_get(&t->text));
}

void stack_told_lines(
	const struct stream *s, u32 stack, void (*line)(void *arg, const char *text), void *arg)
{
	struct told t = {.line = line, .arg = arg};

	stack_each(s, stack, line_count, &t);
	t.all = t.n < LINES_MIN;
	t.ended = false;
	stack_each(s, stack, line_tell, &t);
	str_free(&t.text);
}
