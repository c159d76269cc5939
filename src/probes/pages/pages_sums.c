/* Allocations and frees by the keys of --by. See pages_tables.h. */
#include <errno.h>
#include <string.h>

#include "analysis/gfp_text.h"
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

u64 pages_page_bytes(const struct report *r)
{
	return r->stream->host.page_bytes ? r->stream->host.page_bytes : 4096;
}

static bool pages_sums_is_named(const struct row_of *row)
{
	return ((const struct pages_view_key *)row->key)->named;
}

/* A row that is named only has no ids (PAGES_WHO_NAMED). */
CELL_GET(pages_pid_cell)
{
	return pages_sums_is_named(row) ? (struct cell){} : by_pid_cell(r, row, offset);
}

CELL_GET(pages_tid_cell)
{
	return pages_sums_is_named(row) ? (struct cell){} : by_tid_cell(r, row, offset);
}

CELL_GET(pages_comm_cell)
{
	const struct pages_view_key *k = row->key;

	return k->named ? cell_text(report_textn(r, k->task.comm, COMM_LEN))
			: by_comm_cell(r, row, offset);
}

CELL_GET(pages_cgroup_cell)
{
	return pages_sums_is_named(row) ? (struct cell){} : by_cgroup_cell(r, row, offset);
}

CELL_GET(pages_order_cell)
{
	u8 order = ((const struct pages_view_key *)row->key)->order;

	return order != PAGES_ORDER_UNKNOWN ? cell_u64(order) : (struct cell){};
}

CELL_GET(pages_type_cell)
{
	return cell_text(report_enum(r, "migratetype", *((const u8 *)row->key + offset)));
}

CELL_GET(pages_bytes_cell)
{
	return cell_u64(*(const u64 *)((const char *)row->sums + offset) * pages_page_bytes(r));
}

/* 2^order blocks each; 0 for an order no kernel has. */
static u64 pages_sums_pages_of(u64 count, u8 order)
{
	return order < PAGES_ORDERS ? count << order : 0;
}

static struct cell rate_cell(const struct row_of *row, u64 count)
{
	double seconds = *(const double *)row->view;

	return seconds > 0 ? cell_f64((double)count / seconds) : (struct cell){};
}

struct alloc_sums {
	u64 count, pages, failures, direct, refilled, refill_pages;
};

static CELL_GET(alloc_rate_cell)
{
	return rate_cell(row, ((const struct alloc_sums *)row->sums)->count);
}

static CELL_GET(locked_cell)
{
	const struct alloc_sums *s = row->sums;

	return cell_u64(s->direct + s->refilled);
}

static CELL_GET(locked_ratio_cell)
{
	const struct alloc_sums *s = row->sums;

	return cell_ratio(s->direct + s->refilled, s->count);
}

#define ALLOC(member_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct alloc_sums, member_, #member_, title_, unit_, flags_, help_)

static const struct cell_column alloc_columns[] = {
	PAGES_KEY_CELLS,
	CELL_COUNT(struct alloc_sums, count, "ALLOCS", "allocations that got a page (exact)"),
	CELL_BY(0, "per_second", "/s", CELL_F64, UNIT_COUNT, 0, "the same, a second",
		alloc_rate_cell),
	ALLOC(pages, "PAGES", UNIT_PAGES, COL_WIDE, "their pages"),
	CELL_FROM(0, struct alloc_sums, pages, "bytes", "BYTES", CELL_U64, UNIT_BYTES, 0,
		"and bytes", pages_bytes_cell),
	CELL_BY(0, "locked", "LOCKED", CELL_U64, UNIT_COUNT, 0,
		"of these, allocations that took zone->lock: from the buddy lists, or after a "
		"refill of the CPU's list",
		locked_cell),
	CELL_BY(0, "locked_ratio", "%", CELL_F64, UNIT_RATIO, 0, "the share of these in all",
		locked_ratio_cell),
	ALLOC(direct, "DIRECT", UNIT_COUNT, COL_WIDE, "of the locked, those from the buddy lists"),
	ALLOC(refilled, "REFILLED", UNIT_COUNT, COL_WIDE,
		"of the locked, those that refilled the CPU's list"),
	ALLOC(refill_pages, "BY", UNIT_PAGES, COL_WIDE, "pages these refills moved to the list"),
	ALLOC(failures, "FAILED", UNIT_COUNT, 0,
		"allocations that got no page, beside the others; many are tries with a fallback, "
		"see --by gfp"),
	BY_STACK_CELLS("code path that asked for the page"),
};

const struct by_spec pages_alloc_spec =
	CELLS_SPEC(alloc_columns, struct pages_view_key, struct alloc_sums);

int pages_alloc_feed(struct by_sums *s, const struct pages_alloc *r)
{
	struct pages_view_key k = pages_view_key(s->by, &r->who);
	struct alloc_sums *v = groups_get(&s->groups, &k);

	if (!v)
		return -ENOMEM;
	v->count += r->count;
	v->pages += pages_sums_pages_of(r->count, r->who.order);
	v->failures += r->failures;
	v->direct += r->direct;
	v->refilled += r->refilled;
	v->refill_pages += r->refill_pages;
	return 0;
}

int pages_alloc_report(struct by_sums *s, double seconds, struct report *r)
{
	struct table *t = by_sums_show_with(s, r, "allocations", "Page allocations", &seconds);

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	t->empty = "No page was allocated in scope.";
	return 0;
}

struct free_sums {
	u64 count, pages, batched;
};

/* With --by order the batched frees have a row of their own. */
static bool is_apart(const struct row_of *row)
{
	return row->by & BY_ORDER;
}

static bool has_frees(const struct row_of *row)
{
	return ((const struct free_sums *)row->sums)->count || !is_apart(row);
}

static CELL_GET(frees_cell)
{
	return has_frees(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(free_rate_cell)
{
	return has_frees(row) ? rate_cell(row, ((const struct free_sums *)row->sums)->count)
			      : (struct cell){};
}

static CELL_GET(free_bytes_cell)
{
	return has_frees(row) ? pages_bytes_cell(r, row, offset) : (struct cell){};
}

static CELL_GET(batched_cell)
{
	u64 batched = ((const struct free_sums *)row->sums)->batched;

	return batched || !is_apart(row) ? cell_u64(batched) : (struct cell){};
}

static u64 single_of(const struct free_sums *s)
{
	return s->count > s->batched ? s->count - s->batched : 0;
}

static CELL_GET(single_cell)
{
	return is_apart(row) ? (struct cell){} : cell_u64(single_of(row->sums));
}

static CELL_GET(single_ratio_cell)
{
	const struct free_sums *s = row->sums;

	return is_apart(row) ? (struct cell){} : cell_ratio(single_of(s), s->count);
}

static const struct cell_column free_columns[] = {
	PAGES_TASK_CELLS,
	CELL_BY(BY_ORDER, "order", "ORDER", CELL_U64, UNIT_ID, 0,
		"2^order pages in one block; empty for batches, whose order is unknown",
		pages_order_cell),
	CELL_FROM(0, struct free_sums, count, "count", "FREES", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"frees (exact)", frees_cell),
	CELL_BY(0, "per_second", "/s", CELL_F64, UNIT_COUNT, 0, "the same, a second",
		free_rate_cell),
	CELL_FROM(0, struct free_sums, pages, "pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE,
		"their pages", frees_cell),
	CELL_FROM(0, struct free_sums, pages, "bytes", "BYTES", CELL_U64, UNIT_BYTES, 0,
		"and bytes", free_bytes_cell),
	CELL_BY(0, "batched", "BATCHED", CELL_U64, UNIT_COUNT, 0,
		"of these, frees of many pages at once", batched_cell),
	CELL_BY(0, "single", "SINGLE", CELL_U64, UNIT_COUNT, 0,
		"of these, frees of one page or block: who has many could batch them", single_cell),
	CELL_BY(0, "single_ratio", "%", CELL_F64, UNIT_RATIO, 0, "the share of single ones in all",
		single_ratio_cell),
	BY_STACK_CELLS("code path that freed the page"),
};

const struct by_spec pages_free_spec =
	CELLS_SPEC(free_columns, struct pages_view_key, struct free_sums);

int pages_free_feed(struct by_sums *s, const struct pages_free *r)
{
	u32 by = s->by & ~(u32)(BY_MIGRATETYPE | BY_GFP);
	struct pages_view_key k = pages_view_key(by, &r->who);
	struct free_sums *v = groups_get(&s->groups, &k);

	if (!v)
		return -ENOMEM;
	v->count += r->count;
	v->pages += pages_sums_pages_of(r->count, r->who.order);
	v->batched += r->batched;
	return 0;
}

int pages_free_report(struct by_sums *s, double seconds, struct report *r)
{
	struct table *t = by_sums_show_with(s, r, "frees", "Page frees", &seconds);

	if (!t)
		return -ENOMEM;
	t->sort = s->by & BY_ORDER ? "count" : "single";
	t->empty = "No page was freed in scope.";
	return 0;
}

const struct view_table pages_sum_tables[] = {
	CELLS_VIEW("allocations", alloc_columns),
	CELLS_VIEW("frees", free_columns),
	{},
};
