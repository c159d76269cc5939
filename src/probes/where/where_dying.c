/* See where_dying.h. */
#include "probes/where/where_dying.h"

#include <errno.h>

enum { D_GROUPS, D_BEFORE, D_ALIVE, D_PLACE, D_THERE, D_BYTES, D_FREE, D_N };

static const struct column columns[D_N] = {
	[D_GROUPS] = {"dying_groups", "KEPT", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_MAIN,
		"control groups that were removed and that the kernel keeps, as a page or an "
		"object "
		"charged to them is left. Fewer than 100 are not shown"},
	[D_BEFORE] = {"change_groups", "CHANGE", CELL_S64, UNIT_COUNT, COL_CHANGE,
		"by how much they grew in the interval"},
	[D_ALIVE] = {"groups", "IN USE", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"control groups that were not removed"},
	[D_PLACE] = {"cgroup", "MOST WERE IN", CELL_TEXT, UNIT_CGROUP, COL_ASIDE | COL_RARE,
		"the group below which most of them were (version 2)"},
	[D_THERE] = {"there_groups", "OF THESE", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_RARE,
		"how many were there"},
	[D_BYTES] = {"kernel_bytes", "TAKE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what the kernel keeps of the groups themselves, in slab and percpu (estimated). "
		"Pages charged to them are in the rows of the ledger, and in memory.stat of the "
		"groups above them"},
	[D_FREE] = {"free", "TO EMPTY THEM", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"what makes the kernel let go of them; files in tmpfs have to be removed"},
};

const struct view_table where_dying_tables[] = {
	{"dying", columns, D_N, sizeof(struct column)},
	{},
};

int where_dying_report(const struct cgroup_dying *d, struct report *r)
{
	struct table *t = report_table(
		r, "dying", "Control groups that were removed and are kept", columns, D_N);
	const char *path;
	struct cell *c;

	if (!t)
		return -ENOMEM;
	c = d->h.kind && d->dying ? table_row(t) : NULL;
	if (!c)
		return t->failed ? -ENOMEM : 0;
	path = d->below ? stream_cgroup(r->stream, d->below) : NULL;
	c[D_GROUPS] = cell_u64(d->dying);
	c[D_BEFORE] = cell_s64((s64)(d->dying - d->first_dying));
	c[D_ALIVE] = cell_u64(d->alive);
	c[D_PLACE] = cell_text(path);
	if (path)
		c[D_THERE] = cell_u64(d->below_dying);
	c[D_BYTES] = cell_u64(
		d->dying * (CGROUP_DYING_BYTES + CGROUP_DYING_CPU_BYTES * r->stream->host.cpus));
	c[D_FREE] = cell_text("echo 3 > /proc/sys/vm/drop_caches");
	return 0;
}
