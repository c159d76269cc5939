/* See oom_ledger.h. */
#include "probes/oom/oom_ledger.h"

#include <errno.h>

#include "probes/oom/oom_detail.h"
#include "sys/oomlog_memory.h"

enum { L_KILL, L_OF, L_SOURCE, L_AGE, L_ROW, L_BYTES, L_SHARE, L_N };

static const struct column columns[L_N] = {
	[L_KILL] = KILL_COLUMN,
	[L_OF] = {"of", "OF", CELL_TEXT, UNIT_NONE, 0,
		"the machine, or the control group at its limit"},
	[L_SOURCE] = {"source", "BY", CELL_TEXT, UNIT_NONE, 0,
		"kernel's report: at the kill; last look: of the ledger of `memwhy where`, every "
		"5 s at most; look after: there was none before"},
	[L_AGE] = {"age_ns", "BEFORE", CELL_U64, UNIT_NS, 0, "how long before the kill that was"},
	[L_ROW] = {"row", "ROW", CELL_TEXT, UNIT_NONE, 0,
		"as in `memwhy where`; no page is in two rows. The kernel's report has no vmalloc, "
		"percpu and sockets of the machine: these are in its rest; what is in the swap "
		"cache it counts as anonymous, tmpfs as shared memory"},
	[L_BYTES] = {"bytes", "BYTES", CELL_S64, UNIT_BYTES, 0,
		"memory in this row; all rows add up to MemTotal, of a group to its use"},
	[L_SHARE] = {"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of that sum"},
};

const struct view_table oom_ledger_tables[] = {
	{"ledger", columns, L_N, sizeof(struct column)},
	{},
};

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

struct table *oom_ledger_open(struct report *r)
{
	return report_table(r, "ledger", "Where memory was", columns, L_N);
}

struct ledger {
	struct table *t;
	const struct kill *x;
	const struct where_ledger *l;
	const char *of, *source;
	u64 time_ns; /* 0: at the kill */
};

static int row_add(const struct ledger *g, u32 row, s64 bytes)
{
	struct cell *c = table_row(g->t);

	if (!c)
		return -ENOMEM;
	c[L_KILL] = cell_u64(g->x->number);
	c[L_OF] = cell_text(g->of);
	c[L_SOURCE] = cell_text(g->source);
	if (g->time_ns <= g->x->time_ns)
		c[L_AGE] = cell_u64(g->time_ns ? g->x->time_ns - g->time_ns : 0);
	c[L_ROW] = cell_text(where_row_name(g->l->scope, row));
	c[L_BYTES] = cell_s64(bytes);
	if (g->l->total_bytes)
		c[L_SHARE] = cell_f64((double)bytes / (double)g->l->total_bytes);
	return 0;
}

static int ledger_add(const struct ledger *g)
{
	int rc = 0;

	for (u32 i = 0; i < WHERE_ROWS && !rc; i++)
		if (where_knows(g->l, i) && g->l->bytes[i])
			rc = row_add(g, i, (s64)g->l->bytes[i]);
	return rc ? rc : row_add(g, WHERE_REST, where_rest(g->l));
}

int oom_ledger_rows(
	struct table *t, const struct kill *x, const struct kill_detail *d, const char *oom_cgroup)
{
	struct where_ledger l = {.total_bytes = d->logged.total_bytes};
	struct ledger g = {.t = t, .x = x, .l = &l, .of = "machine", .source = "kernel's report"};
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
