/* Where something was allocated, in words. See leak_tables.h. */
#include "probes/leak/leak_tables.h"

#include "analysis/frame_text.h"
#include "analysis/kernel_code.h"

const char *leak_cache_text(struct report *r, const struct leak_cache_key *k)
{
	if (k->kind == LEAK_PAGES)
		return "(pages)";
	if (k->name[0])
		return report_text(r, "%.31s", k->name);
	return k->kind == LEAK_LARGE ? "(large)" : "(not known)";
}

/* The code behind the page allocator. */
struct behind {
	const char *function;
	u64 offset;
};

static void behind_look(void *arg, const struct stack_line *l)
{
	struct behind *b = arg;

	if (b->function || !l->function || code_is_page_allocator(l->function))
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
	return b.function && code_is_slab_allocator(b.function);
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
