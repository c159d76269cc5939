/* See where_taken.h. */
#include "probes/where/where_taken.h"

#include <errno.h>
#include <string.h>

#include "base/groups.h"
#include "base/str.h"
#include "analysis/cells.h"
#include "analysis/frame_text.h"
#include "analysis/kernel_code.h"
#include "probes/where/where.h"

#define LOOK_MOST (1U << 18)
#define CALLERS 4 /* told of a stack */
#define NAME_MOST 48

void where_taken_free(struct where_taken *t)
{
	vec_free(&t->list);
}

/* The records of a look follow that of the counts. */
bool where_taken_feed(struct where_taken *t, const struct rec *r, int *ret_rc)
{
	if (r->kind == REC_PAGES_FOLLOW) {
		t->follow = *(const struct pages_follow *)r;
		t->list.n = 0;
		return true;
	}
	if (r->kind != REC_PAGES_HELD)
		return false;
	if (t->list.n < LOOK_MOST)
		*ret_rc = vec_push(&t->list, *(const struct pages_held *)r);
	return true;
}

/* Which row pages are in, by the beginning of a function's name, 5.10 to 7.3; the first that is in
 * the stack counts. */
static const struct {
	const char *begin;
	u32 row;
} known[] = {
	{"dup_task_struct", WHERE_STACKS},
	{"pte_alloc", WHERE_PAGE_TABLES},
	{"__pte_alloc", WHERE_PAGE_TABLES},
	{"__pmd_alloc", WHERE_PAGE_TABLES},
	{"__pud_alloc", WHERE_PAGE_TABLES},
	{"pgd_alloc", WHERE_PAGE_TABLES},
	{"pcpu_", WHERE_PERCPU},
	{"vm_area_alloc_pages", WHERE_VMALLOC},
	{"__vmalloc", WHERE_VMALLOC},
	{"zs_malloc", WHERE_COMPRESSED},
	{"alloc_zspage", WHERE_COMPRESSED},
	{"pipe_write", WHERE_PIPES},
	{"anon_pipe", WHERE_PIPES},
	{"skb_page_frag_refill", WHERE_SOCKETS},
	{"alloc_skb_with_frags", WHERE_SOCKETS},
	{"sk_page_frag_refill", WHERE_SOCKETS},
	{"alloc_fresh_hugetlb", WHERE_HUGETLB},
	{"alloc_buddy_hugetlb", WHERE_HUGETLB},
	{"filemap_", WHERE_CACHE},
	{"__filemap_", WHERE_CACHE},
	{"pagecache_", WHERE_CACHE},
	{"page_cache_", WHERE_CACHE},
	{"grow_buffers", WHERE_CACHE},
	{"shmem_", WHERE_SHARED},
	{"handle_mm_fault", WHERE_ANON},
	{"__handle_mm_fault", WHERE_ANON},
};

struct taken {
	u32 row; /* WHERE_REST: not found yet */
	u32 n;
	bool code; /* behind the allocator */
	char text[CALLERS * NAME_MOST];
};

static u32 row_of(const char *function)
{
	if (code_is_slab_allocator(function))
		return WHERE_SLAB;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (begins_with(function, known[i].begin))
			return known[i].row;
	return WHERE_REST;
}

static void where_taken_line_take(void *arg, const struct stack_line *l)
{
	struct taken *t = arg;
	size_t len = strlen(t->text);

	if (!l->function)
		return;
	if (!t->code && code_is_page_allocator(l->function))
		return;
	t->code = true;
	if (t->row == WHERE_REST)
		t->row = row_of(l->function);
	if (t->n < CALLERS)
		snprintf(t->text + len, sizeof(t->text) - len, "%s%.40s", t->n++ ? " < " : "",
			l->function);
}

struct key {
	u32 row;
	char text[CALLERS * NAME_MOST];
};

struct sum {
	u64 bytes, count, oldest_ns;
};

static int sums_make(const struct where_taken *t, struct report *r, struct groups *sums)
{
	u64 page = r->stream->host.page_bytes;

	vec_each (h, &t->list) {
		struct taken at = {.row = WHERE_REST};
		struct key key = {};
		struct sum *s;

		stack_each(r->stream, h->who.stack, where_taken_line_take, &at);
		key.row = at.row;
		memcpy(key.text, at.text, sizeof(key.text));
		s = groups_get(sums, &key);
		if (!s)
			return -ENOMEM;
		s->bytes += h->count * (page << MIN(h->who.order, 31));
		s->count += h->count;
		s->oldest_ns = MAX(s->oldest_ns, h->oldest_ns);
	}
	return 0;
}

static CELL_GET(row_cell)
{
	return cell_text(where_row_name(WHERE_MACHINE, ((const struct key *)row->key)->row));
}

static CELL_GET(code_cell)
{
	const struct key *k = row->key;

	return cell_text(k->text[0] ? report_text(r, "%s", k->text) : "not known");
}

static const struct cell_column columns[] = {
	CELL_BY(0, "row", "ROW", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"row of the ledger that these pages are in, by the functions that took them; rest: "
		"none of the kernel's counters has them",
		row_cell),
	CELL_BY(0, "code", "TAKEN BY", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"function that asked for the pages, and those that called it", code_cell),
	CELL_NUMBER(struct sum, bytes, "bytes", "BYTES", UNIT_BYTES, COL_MAIN,
		"allocated in the interval and not freed at its end"),
	CELL_NUMBER(struct sum, count, "count", "ALLOCATIONS", UNIT_COUNT, 0, "how many these are"),
	CELL_NUMBER(struct sum, oldest_ns, "oldest_ns", "OLDEST", UNIT_NS, COL_LESSER,
		"age of the oldest"),
};

const struct view_table where_taken_tables[] = {
	CELLS_VIEW("taken", columns),
	{},
};

int where_taken_report(const struct where_taken *t, struct report *r)
{
	static const struct cell_table table = {CELL_TABLE("taken",
		"Pages that the kernel allocated during the look and still holds", "bytes", NULL,
		columns)};
	struct groups sums;
	int rc;

	groups_init(&sums, sizeof(struct key), sizeof(struct sum));
	rc = sums_make(t, r, &sums);
	if (!rc)
		rc = cells_report(r, &table, &sums, NULL);
	groups_free(&sums);
	return rc;
}
