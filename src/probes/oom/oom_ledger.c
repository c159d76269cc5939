/* See oom_detail.h. */
#include "probes/oom/oom_detail.h"

#include "sys/memory/oomlog_memory.h"

static const u8 rows[OOMLOG_ROWS] = {
	[OOMLOG_FREE] = WHERE_FREE,
	[OOMLOG_FREE_CPU] = WHERE_FREE_CPU,
	[OOMLOG_ANON] = WHERE_ANON,
	[OOMLOG_CACHE] = WHERE_CACHE,
	[OOMLOG_SHMEM] = WHERE_SHARED,
	[OOMLOG_HUGETLB] = WHERE_HUGETLB,
	[OOMLOG_SLAB] = WHERE_SLAB,
	[OOMLOG_MISC] = WHERE_KERNEL_MISC,
	[OOMLOG_PAGE_TABLES] = WHERE_PAGE_TABLES,
	[OOMLOG_SECONDARY] = WHERE_SECONDARY,
	[OOMLOG_STACKS] = WHERE_STACKS,
	[OOMLOG_BOUNCE] = WHERE_BOUNCE,
	[OOMLOG_PERCPU] = WHERE_PERCPU,
	[OOMLOG_VMALLOC] = WHERE_VMALLOC,
	[OOMLOG_SOCKETS] = WHERE_SOCKETS,
	[OOMLOG_COMPRESSED] = WHERE_COMPRESSED,
	[OOMLOG_KERNEL] = WHERE_KERNEL,
};

/* The view of its rows. */
struct ledger {
	const struct kill *x;
	struct table *t;
	struct report *r;
	const struct where_ledger *l;
	const char *of, *source;
	u64 time_ns; /* 0: at the kill */
};

struct ledger_row {
	u32 row;
	s64 bytes;
};

#define LEDGER ((const struct ledger *)row->view)

static CELL_GET(age_cell)
{
	u64 at_ns = LEDGER->time_ns, kill_ns = LEDGER->x->time_ns;

	return at_ns <= kill_ns ? cell_u64(at_ns ? kill_ns - at_ns : 0) : (struct cell){};
}

CELL_EXPR(of_cell, struct ledger_row, cell_text(LEDGER->of))
CELL_EXPR(source_cell, struct ledger_row, cell_text(LEDGER->source))
CELL_EXPR(row_cell, struct ledger_row, cell_text(where_row_name(LEDGER->l->scope, e->row)))
CELL_EXPR(share_cell, struct ledger_row,
	LEDGER->l->total_bytes ? cell_f64((double)e->bytes / (double)LEDGER->l->total_bytes)
			       : (struct cell){})

static const struct cell_column columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_BY(0, "of", "OF", CELL_TEXT, UNIT_NONE, 0,
		"the machine, or the control group at its limit", of_cell),
	CELL_BY(0, "source", "BY", CELL_TEXT, UNIT_NONE, 0,
		"kernel's report: at the kill; last look: of the ledger of `memwhy where`, every "
		"5 s at most; look after: there was none before",
		source_cell),
	CELL_BY(0, "age_ns", "BEFORE", CELL_U64, UNIT_NS, 0, "how long before the kill that was",
		age_cell),
	CELL_BY(0, "row", "ROW", CELL_TEXT, UNIT_NONE, 0,
		"as in `memwhy where`; no page is in two rows. The kernel's report has no vmalloc, "
		"percpu and sockets of the machine: these are in its rest; what is in the swap "
		"cache it counts as anonymous, tmpfs as shared memory",
		row_cell),
	CELL_NUMBER(struct ledger_row, bytes, "bytes", "BYTES", UNIT_BYTES, COL_WEIGHT,
		"memory in this row; all rows add up to MemTotal, of a group to its use"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of that sum", share_cell),
};

const struct view_table oom_ledger_tables[] = {
	CELLS_VIEW("ledger", columns),
	{},
};

struct table *oom_ledger_open(struct report *r)
{
	return cells_table(r, "ledger", "Where memory was", columns, ARRAY_SIZE(columns));
}

static int oom_ledger_row_add(const struct ledger *g, u32 row, s64 bytes)
{
	return cells_one(g->t, g->r, columns, (&(const struct ledger_row){row, bytes}), g);
}

static int ledger_add(const struct ledger *g)
{
	int rc = 0;

	for (u32 i = 0; i < WHERE_ROWS && !rc; i++)
		if (where_knows(g->l, i) && g->l->bytes[i])
			rc = oom_ledger_row_add(g, i, (s64)g->l->bytes[i]);
	return rc ? rc : oom_ledger_row_add(g, WHERE_REST, where_rest(g->l));
}

int oom_ledger_rows(struct table *t, struct report *r, const struct kill *x,
	const struct kill_detail *d, const char *oom_cgroup)
{
	struct where_ledger l = {.total_bytes = d->logged.total_bytes};
	struct ledger g = {
		.t = t, .r = r, .x = x, .l = &l, .of = "machine", .source = "kernel's report"};
	int rc = 0;

	if (d->logged.h.size) {
		l.scope = d->logged.of_group ? WHERE_GROUP : WHERE_MACHINE;
		for (u32 i = 0; i < OOMLOG_ROWS; i++) {
			l.bytes[rows[i]] = d->logged.bytes[i];
			l.known |= (u64)(d->logged.known >> i & 1) << rows[i];
		}
		if (d->logged.of_group)
			g.of = oom_cgroup ? oom_cgroup : "group";
		rc = ledger_add(&g);
	}
	if (rc || !d->machine.h.size)
		return rc;
	g.l = &d->machine;
	g.of = "machine";
	g.time_ns = d->machine.h.time_ns;
	g.source = g.time_ns <= x->time_ns ? "last look" : "look after";
	return ledger_add(&g);
}
