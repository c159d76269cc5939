/* See where_tables.h. */
#include "probes/where/where_tables.h"

#include <errno.h>

#include "analysis/cells.h"

CELL_EXPR(change_cell, struct cgroup_dying, cell_s64((s64)(e->dying - e->first_dying)))
CELL_EXPR(bytes_cell, struct cgroup_dying,
	cell_u64(e->dying *(CGROUP_DYING_BYTES + CGROUP_DYING_CPU_BYTES * r->stream->host.cpus)))
CELL_EXPR(free_cell, struct cgroup_dying, cell_text("echo 3 > /proc/sys/vm/drop_caches"))

static const char *where_dying_place(struct report *r, const struct cgroup_dying *d)
{
	return d->below ? stream_cgroup(r->stream, d->below) : NULL;
}

CELL_EXPR(place_cell, struct cgroup_dying, cell_text(where_dying_place(r, e)))
CELL_EXPR(there_cell, struct cgroup_dying,
	where_dying_place(r, e) && e->below_dying ? cell_u64(e->below_dying) : (struct cell){})

static const struct cell_column columns[] = {
	CELL_NUMBER(struct cgroup_dying, dying, "dying_groups", "KEPT", UNIT_COUNT,
		COL_LEVEL | COL_MAIN,
		"control groups that were removed and that the kernel keeps, because pages or "
		"objects are still charged to them. Fewer than 100 are not shown"),
	CELL_BY(0, "change_groups", "CHANGE", CELL_S64, UNIT_COUNT, COL_CHANGE,
		"by how much they grew in the interval", change_cell),
	CELL_NUMBER(struct cgroup_dying, alive, "groups", "IN USE", UNIT_COUNT, COL_LEVEL,
		"control groups that were not removed"),
	CELL_BY(0, "cgroup", "MOST WERE IN", CELL_TEXT, UNIT_CGROUP, COL_ASIDE | COL_RARE,
		"the group below which most of them were; of version 1 most by memory", place_cell),
	CELL_BY(0, "there_groups", "OF THESE", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_RARE,
		"how many were there (version 2)", there_cell),
	CELL_BY(0, "kernel_bytes", "TAKE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what the kernel keeps of the groups themselves, in slab and percpu (estimated). "
		"Pages charged to them are in the rows of the ledger, and in memory.stat of the "
		"groups above them",
		bytes_cell),
	CELL_BY(0, "free", "TO EMPTY THEM", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"what makes the kernel release them; files in tmpfs have to be removed", free_cell),
};

const struct view_table where_dying_tables[] = {
	CELLS_VIEW("dying", columns),
	{},
};

int where_dying_report(const struct cgroup_dying *d, struct report *r)
{
	struct table *t = cells_table(r, "dying", "Control groups that were removed and are kept",
		columns, ARRAY_SIZE(columns));

	if (!t)
		return -ENOMEM;
	return d->h.kind && d->dying ? cells_one(t, r, columns, d, NULL) : 0;
}
