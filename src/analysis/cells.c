/* See cells.h. */
#include "analysis/cells.h"

#include <errno.h>

#define OF_SUMS(type_)                                                               \
	CELL_GET(cell_of_##type_)                                                    \
	{                                                                            \
		return cell_u64(*(const type_ *)((const char *)row->sums + offset)); \
	}
OF_SUMS(u8)
OF_SUMS(u16)
OF_SUMS(u32)
OF_SUMS(u64)

CELL_GET(cell_of_comm)
{
	return cell_text(report_textn(r, (const char *)row->sums + offset, COMM_LEN));
}

CELL_GET(cell_of_cgroup)
{
	return cell_text(
		stream_cgroup(r->stream, *(const u64 *)((const char *)row->sums + offset)));
}

CELL_GET(cell_of_time)
{
	return cell_since(r, *(const u64 *)((const char *)row->sums + offset));
}

CELL_GET(cell_of_stack)
{
	return cell_stack(*(const u32 *)((const char *)row->sums + offset));
}

struct table *cells_table(struct report *r, const char *name, const char *title,
	const struct cell_column *cols, size_t n)
{
	struct column *all = arena_alloc(&r->arena, n * sizeof(*all));

	for (size_t i = 0; i < n && all; i++)
		all[i] = cols[i].col;
	return all ? report_table(r, name, title, all, n) : NULL;
}

int cells_row(struct table *t, struct report *r, const struct cell_column *cols, size_t n,
	const struct row_of *row)
{
	struct cell *cells = t ? table_row(t) : NULL;

	if (!cells)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		cells[i] = cols[i].get(r, row, cols[i].offset);
	return 0;
}
