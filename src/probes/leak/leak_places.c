/* Where something was allocated, in words. See leak_tables.h. */
#include <string.h>

#include "probes/leak/leak_tables.h"

#include "analysis/frame.h"

const char *leak_cache_text(struct report *r, const struct leak_cache_key *k)
{
	if (k->kind == LEAK_PAGES)
		return "(pages)";
	if (k->name[0])
		return report_text(r, "%.31s", k->name);
	return k->kind == LEAK_LARGE ? "(large)" : "(not known)";
}

static bool begins(const char *name, const char *const *with)
{
	for (; *with; with++)
		if (!strncmp(name, *with, strlen(*with)))
			return true;
	return false;
}

/* The page allocator itself (mm/page_alloc.c, mm/mempolicy.c), 5.10 to 7.3, and its tracepoint. */
static const char *const page_allocator[] = {
	"__traceiter_",
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

/* The slab allocator where it takes pages (mm/slub.c, mm/slab_common.c), 5.10 to 7.3. */
static const char *const slab_allocator[] = {
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

/* The code behind the page allocator. */
struct behind {
	const char *function;
	u64 offset;
};

static void behind_look(void *arg, const struct stack_line *l)
{
	struct behind *b = arg;

	if (b->function || !l->function || begins(l->function, page_allocator))
		return;
	b->function = l->function;
	b->offset = l->offset;
}

static struct behind behind_of(const struct report *r, u32 stack)
{
	struct behind b = {};

	stack_each(r->stream, stack, behind_look, &b);
	return b;
}

bool leak_is_slab_pages(const struct report *r, const struct leak_key *k)
{
	struct behind b = {};

	if (k->cache.kind != LEAK_PAGES || !k->task.stack)
		return false;
	b = behind_of(r, k->task.stack);
	return b.function && begins(b.function, slab_allocator);
}

const char *leak_site_text(struct report *r, const struct leak_key *k)
{
	const char *name = frame_text(r, k->site);
	struct behind b = {};

	if (name)
		return name;
	if (k->cache.kind == LEAK_PAGES)
		b = behind_of(r, k->task.stack);
	return b.function ? report_text(r, "%s+0x%llx", b.function, b.offset) : NULL;
}
