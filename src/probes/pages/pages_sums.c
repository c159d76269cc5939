/* Allocations and frees by the keys of --by. See pages_tables.h. */
#include <errno.h>
#include <string.h>

#include "analysis/gfp.h"
#include "probes/pages/pages_tables.h"

const char *const pages_by_keys[] = {BY_TASK_KEYS, "order", "migratetype", "gfp", NULL};

struct pages_view_key pages_view_key(u32 by, const struct pages_who *w)
{
	bool named = w->flags & PAGES_WHO_NAMED && by & (BY_TASKS | BY_COMM);
	struct pages_view_key k = {
		.task = by_task_key(by, w->tgid, w->tid, w->cgroup, w->stack, w->comm)};

	if (named)
		memcpy(k.task.comm, w->comm, sizeof(k.task.comm));
	k.named = named && !(by & BY_COMM && !(by & BY_TASKS));
	if (by & BY_ORDER)
		k.order = w->order;
	if (by & BY_MIGRATETYPE)
		k.migratetype = w->migratetype;
	if (by & BY_GFP)
		k.gfp = w->gfp;
	return k;
}

struct cell pages_type_cell(struct report *r, u8 migratetype)
{
	return cell_text(report_enum(r, "migratetype", migratetype));
}

u64 pages_page_bytes(const struct report *r)
{
	return r->stream->host.page_bytes ? r->stream->host.page_bytes : 4096;
}

void pages_free_key_cells(
	struct report *r, u32 by, const struct pages_view_key *k, struct cell *cells)
{
	by_task_cells(r, by, &k->task, cells);
	if (k->named) {
		cells[BY_C_PID] = cells[BY_C_TID] = (struct cell){};
		cells[BY_C_COMM] = cell_text(report_text(r, "%.16s", k->task.comm));
		cells[BY_C_CGROUP] = (struct cell){};
	}
	if (k->order != PAGES_ORDER_UNKNOWN)
		cells[K_ORDER] = cell_u64(k->order);
}

void pages_key_cells(struct report *r, u32 by, const struct pages_view_key *k, struct cell *cells)
{
	pages_free_key_cells(r, by, k, cells);
	cells[K_MIGRATETYPE] = pages_type_cell(r, k->migratetype);
	if (by & BY_GFP)
		cells[K_GFP] = cell_text(gfp_text(r, k->gfp));
}

/* 2^order blocks each; 0 for an order no kernel has. */
static u64 pages_of(u64 count, u8 order)
{
	return order < PAGES_ORDERS ? count << order : 0;
}

static struct cell ratio_cell(u64 part, u64 all)
{
	return all ? cell_f64((double)part / (double)all) : (struct cell){};
}

static struct cell rate_cell(double seconds, u64 count)
{
	return seconds > 0 ? cell_f64((double)count / seconds) : (struct cell){};
}

struct alloc_sums {
	u64 count, pages, failures, direct, refilled, refill_pages;
};

enum {
	A_COUNT = K_OWN,
	A_RATE,
	A_PAGES,
	A_BYTES,
	A_LOCKED,
	A_RATIO,
	A_DIRECT,
	A_REFILLED,
	A_REFILL_PAGES,
	A_FAILURES,
	A_STACK,
	A_N,
};

static const struct by_column alloc_columns[A_N] = {
	PAGES_KEY_COLUMNS,
	[A_COUNT] = {0, {"count", "ALLOCS", CELL_U64, UNIT_COUNT, COL_WEIGHT,
				"allocations that got a page (exact)"}},
	[A_RATE] = {0, {"per_second", "/s", CELL_F64, UNIT_COUNT, 0, "the same, a second"}},
	[A_PAGES] = {0, {"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE, "their pages"}},
	[A_BYTES] = {0, {"bytes", "BYTES", CELL_U64, UNIT_BYTES, 0, "and bytes"}},
	[A_LOCKED] = {0, {"locked", "LOCKED", CELL_U64, UNIT_COUNT, 0,
				 "of these, allocations that took zone->lock: from the buddy "
				 "lists, or after a refill of the CPU's list"}},
	[A_RATIO] = {0,
		{"locked_ratio", "%", CELL_F64, UNIT_RATIO, 0, "the share of these in all"}},
	[A_DIRECT] = {0, {"direct", "DIRECT", CELL_U64, UNIT_COUNT, COL_WIDE,
				 "of the locked, those from the buddy lists"}},
	[A_REFILLED] = {0, {"refilled", "REFILLED", CELL_U64, UNIT_COUNT, COL_WIDE,
				   "of the locked, those that refilled the CPU's list"}},
	[A_REFILL_PAGES] = {0, {"refill_pages", "BY", CELL_U64, UNIT_PAGES, COL_WIDE,
				       "pages these refills moved to the list"}},
	[A_FAILURES] = {0, {"failures", "FAILED", CELL_U64, UNIT_COUNT, 0,
				   "allocations that got no page, beside the others; many are "
				   "tries with a fallback, see --by gfp"}},
	[A_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that asked for the page"}},
};

const struct by_spec pages_alloc_spec = {
	.columns = alloc_columns,
	.n_columns = A_N,
	.key_size = sizeof(struct pages_view_key),
	.value_size = sizeof(struct alloc_sums),
};

int pages_alloc_feed(struct by_sums *s, const struct pages_alloc *r)
{
	struct pages_view_key k = pages_view_key(s->by, &r->who);
	struct alloc_sums *v = groups_get(&s->groups, &k);

	if (!v)
		return -ENOMEM;
	v->count += r->count;
	v->pages += pages_of(r->count, r->who.order);
	v->failures += r->failures;
	v->direct += r->direct;
	v->refilled += r->refilled;
	v->refill_pages += r->refill_pages;
	return 0;
}

int pages_alloc_report(struct by_sums *s, double seconds, struct report *r)
{
	struct table *t = by_sums_table(s, r, "allocations", "Page allocations");
	int rc = t ? 0 : -ENOMEM;

	if (!rc) {
		t->sort = "count";
		t->empty = "No page was allocated in scope.";
	}
	for (size_t i = 0; i < s->groups.n && !rc; i++) {
		const struct pages_view_key *k = groups_key(&s->groups, i);
		const struct alloc_sums *v = groups_value(&s->groups, i);
		struct cell all[A_N] = {};

		pages_key_cells(r, s->by, k, all);
		all[A_COUNT] = cell_u64(v->count);
		all[A_RATE] = rate_cell(seconds, v->count);
		all[A_PAGES] = cell_u64(v->pages);
		all[A_BYTES] = cell_u64(v->pages * pages_page_bytes(r));
		all[A_LOCKED] = cell_u64(v->direct + v->refilled);
		all[A_RATIO] = ratio_cell(v->direct + v->refilled, v->count);
		all[A_DIRECT] = cell_u64(v->direct);
		all[A_REFILLED] = cell_u64(v->refilled);
		all[A_REFILL_PAGES] = cell_u64(v->refill_pages);
		all[A_FAILURES] = cell_u64(v->failures);
		all[A_STACK] = cell_stack(k->task.stack);
		rc = by_sums_row(s, t, all);
	}
	return rc;
}

struct free_sums {
	u64 count, pages, batched;
};

enum {
	F_COUNT = K_FREE_OWN,
	F_RATE,
	F_PAGES,
	F_BYTES,
	F_BATCHED,
	F_SINGLE,
	F_RATIO,
	F_STACK,
	F_N,
};

static const struct by_column free_columns[F_N] = {
	BY_TASK_COLUMNS,
	[K_ORDER] = {BY_ORDER, {"order", "ORDER", CELL_U64, UNIT_ID, 0,
				       "2^order pages in one block; empty for batches, whose order "
				       "is unknown"}},
	[F_COUNT] = {0, {"count", "FREES", CELL_U64, UNIT_COUNT, COL_WEIGHT, "frees (exact)"}},
	[F_RATE] = {0, {"per_second", "/s", CELL_F64, UNIT_COUNT, 0, "the same, a second"}},
	[F_PAGES] = {0, {"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE, "their pages"}},
	[F_BYTES] = {0, {"bytes", "BYTES", CELL_U64, UNIT_BYTES, 0, "and bytes"}},
	[F_BATCHED] = {0, {"batched", "BATCHED", CELL_U64, UNIT_COUNT, 0,
				  "of these, frees of many pages at once"}},
	[F_SINGLE] = {0, {"single", "SINGLE", CELL_U64, UNIT_COUNT, 0,
				 "of these, frees of one page or block: who has many could "
				 "batch them"}},
	[F_RATIO] = {0,
		{"single_ratio", "%", CELL_F64, UNIT_RATIO, 0, "the share of single ones in all"}},
	[F_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that freed the page"}},
};

const struct by_spec pages_free_spec = {
	.columns = free_columns,
	.n_columns = F_N,
	.key_size = sizeof(struct pages_view_key),
	.value_size = sizeof(struct free_sums),
};

int pages_free_feed(struct by_sums *s, const struct pages_free *r)
{
	u32 by = s->by & ~(u32)(BY_MIGRATETYPE | BY_GFP);
	struct pages_view_key k = pages_view_key(by, &r->who);
	struct free_sums *v = groups_get(&s->groups, &k);

	if (!v)
		return -ENOMEM;
	v->count += r->count;
	v->pages += pages_of(r->count, r->who.order);
	v->batched += r->batched;
	return 0;
}

static void free_fill(
	struct cell *all, struct report *r, double seconds, u32 by, const struct free_sums *v)
{
	/* With --by order the batched frees have a row of their own. */
	bool apart = by & BY_ORDER;
	u64 single = v->count > v->batched ? v->count - v->batched : 0;

	if (v->count || !apart) {
		all[F_COUNT] = cell_u64(v->count);
		all[F_RATE] = rate_cell(seconds, v->count);
		all[F_PAGES] = cell_u64(v->pages);
		all[F_BYTES] = cell_u64(v->pages * pages_page_bytes(r));
	}
	if (v->batched || !apart)
		all[F_BATCHED] = cell_u64(v->batched);
	if (apart)
		return;
	all[F_SINGLE] = cell_u64(single);
	all[F_RATIO] = ratio_cell(single, v->count);
}

int pages_free_report(struct by_sums *s, double seconds, struct report *r)
{
	struct table *t = by_sums_table(s, r, "frees", "Page frees");
	int rc = t ? 0 : -ENOMEM;

	if (!rc) {
		t->sort = s->by & BY_ORDER ? "count" : "single";
		t->empty = "No page was freed in scope.";
	}
	for (size_t i = 0; i < s->groups.n && !rc; i++) {
		const struct pages_view_key *k = groups_key(&s->groups, i);
		struct cell all[F_N] = {};

		pages_free_key_cells(r, s->by, k, all);
		free_fill(all, r, seconds, s->by, groups_value(&s->groups, i));
		all[F_STACK] = cell_stack(k->task.stack);
		rc = by_sums_row(s, t, all);
	}
	return rc;
}

const struct view_table pages_sum_tables[] = {
	{"allocations", &alloc_columns[0].col, A_N, sizeof(alloc_columns[0])},
	{"frees", &free_columns[0].col, F_N, sizeof(free_columns[0])},
	{},
};
