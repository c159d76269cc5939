/* See limit_tables.h. The tables. */
#include "probes/limit/limit_tables.h"

#include <errno.h>

#include "analysis/cells.h"

static const char *const verdicts[] = {
	[LIMIT_UNKNOWN] = "unknown",
	[LIMIT_SHORT] = "short",
	[LIMIT_FITS] = "fits",
	[LIMIT_ROOMY] = "roomy",
	[LIMIT_UNLIMITED] = "unlimited",
};

/* Of the group as it was last; the view is the facts. LIMIT_NONE: empty. */
static CELL_GET(group_cell)
{
	const struct limit_facts *f = row->view;
	u64 v = *(const u64 *)((const char *)&f->last + offset);

	return v == LIMIT_NONE ? (struct cell){} : cell_u64(v);
}

CELL_EXPR(path_cell, struct limit_need,
	cell_text(stream_cgroup(r->stream, ((const struct limit_facts *)row->view)->last.cgroup)))
CELL_EXPR(advised_cell, struct limit_need, e->thin ? (struct cell){} : cell_u64(e->advised_bytes))
CELL_EXPR(stall_cell, struct limit_need, e->pressed ? cell_f64(e->stall_ratio) : (struct cell){})
CELL_EXPR(stall_of_cell, struct limit_need,
	cell_text(!e->pressed ? NULL
		  : e->whole  ? "machine"
			      : "group"))
CELL_EXPR(expected_cell, struct limit_need,
	e->has_cost && !e->thin ? cell_f64(e->expected_ratio) : (struct cell){})
CELL_EXPR(seconds_cell, struct limit_need, cell_f64((double)e->elapsed_ns / 1e9))
CELL_EXPR(verdict_cell, struct limit_need, cell_text(verdicts[e->verdict]))

static const struct cell_column group_columns[] = {
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_MAIN, "the control group",
		path_cell),
	CELL_FROM(0, struct limit_group, usage_bytes, "usage_bytes", "USAGE", CELL_U64, UNIT_BYTES,
		COL_LEVEL, "what is charged to it and to those below", group_cell),
	CELL_FROM(0, struct limit_group, limit_bytes, "limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES,
		COL_LEVEL, "memory.max, of version 1 memory.limit_in_bytes; empty: none",
		group_cell),
	CELL_FROM(0, struct limit_group, high_bytes, "high_bytes", "HIGH", CELL_U64, UNIT_BYTES,
		COL_LEVEL | COL_RARE, "memory.high; empty: none", group_cell),
	CELL_NUMBER(struct limit_need, needed_bytes, "needed_bytes", "NEEDS", UNIT_BYTES,
		COL_LEVEL | COL_MAIN,
		"what it needs: memory that cannot be reclaimed, and what it used more than once"),
	CELL_NUMBER(struct limit_need, low_bytes, "needed_low_bytes", "AT LEAST", UNIT_BYTES,
		COL_LEVEL | COL_LESSER,
		"the lower end of that: less the error of sampling, and each page that is both "
		"read "
		"and mapped only once"),
	CELL_NUMBER(struct limit_need, high_bytes, "needed_high_bytes", "AT MOST", UNIT_BYTES,
		COL_LEVEL | COL_LESSER,
		"the upper end: with the error of sampling, pages that were used once, and "
		"files_cold where not all uses could be seen"),
	CELL_BY(0, "advised_bytes", "ADVISED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"the limit to set; empty where there is not enough evidence for one", advised_cell),
	CELL_BY(0, "stall_ratio", "STALLED", CELL_F64, UNIT_RATIO, COL_LEVEL,
		"time in which some task waited for memory (PSI), at the present limit",
		stall_cell),
	CELL_BY(0, "stall_of", "OF", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"whose time that is: of the group, or of the whole machine where only that is "
		"known",
		stall_of_cell),
	CELL_BY(0, "expected_stall_ratio", "EXPECTED", CELL_F64, UNIT_RATIO, COL_LEVEL,
		"the same at the advised limit, at most: what was first used in the last quarter "
		"of "
		"the time, each page at what disks have taken for one since boot (estimated); no "
		"less than 0.5 %, as reclaim is not exact",
		expected_cell),
	CELL_BY(0, "seconds", "SECONDS", CELL_F64, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"how long it was looked at", seconds_cell),
	CELL_BY(0, "verdict", "VERDICT", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_MAIN,
		"short, fits, roomy or unlimited: the present limit beside the advised one; "
		"unknown: "
		"not enough evidence",
		verdict_cell),
};

static int group_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	struct table *t = cells_table(
		r, "limit", "What the group needs", group_columns, ARRAY_SIZE(group_columns));

	if (!t)
		return -ENOMEM;
	t->empty = "Nothing is known of the group.";
	return f->last.h.kind ? cells_one(t, r, group_columns, n, f) : 0;
}

#define NEED_UNKNOWN (~0ULL)

struct part {
	const char *name, *number, *why;
	u64 bytes, needed;
};

CELL_EXPR(
	needed_cell, struct part, e->needed == NEED_UNKNOWN ? (struct cell){} : cell_u64(e->needed))

static const struct cell_column part_columns[] = {
	CELL_FROM(0, struct part, name, "part", "PART", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"anonymous, shared_memory, kernel; of files: files_read (used by reads and writes, "
		"more than once), files_mapped (touched through page tables), files_once (read or "
		"written once), files_cold (not seen to be used)",
		cell_of_text),
	CELL_NUMBER(struct part, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"how much it is"),
	CELL_BY(0, "needed_bytes", "NEEDED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what of it counts as needed; empty where not all uses could be seen", needed_cell),
	CELL_FROM(0, struct part, number, "number", "NUMBER", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"exact: a counter of the kernel's, or every use was seen; sampled: of one page in "
		"so "
		"many; estimated; difference",
		cell_of_text),
	CELL_FROM(0, struct part, why, "why", "WHY", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"why it counts so", cell_of_text),
};

static void limit_tables_part_add(struct table *t, const char *part, u64 bytes, u64 needed,
	const char *number, const char *why)
{
	cells_one(t, NULL, part_columns, (&(const struct part){part, number, why, bytes, needed}),
		NULL);
}

static const char *number_of_files(const struct limit_files *f, struct report *r)
{
	if (f->stride <= 1)
		return "exact";
	return report_text(r, "sampled, 1 in %u", f->stride);
}

static void files_report(
	const struct limit_facts *f, const struct limit_need *n, struct table *t, struct report *r)
{
	const struct limit_files *files = &f->files;

	if (files->h.kind && files->h.flags & LIMIT_READS_KNOWN) {
		limit_tables_part_add(t, "files_read", n->read_bytes, n->read_bytes,
			number_of_files(files, r),
			"used in more than one second, or found in the cache");
		limit_tables_part_add(t, "files_once", n->once_bytes, 0, number_of_files(files, r),
			"read in or written, and not used again");
	}
	limit_tables_part_add(t, "files_mapped", n->mapped_bytes, n->mapped_bytes, "estimated",
		"touched through page tables, shared pages in part");
	limit_tables_part_add(t, "files_cold", n->cold_bytes, n->blind ? NEED_UNKNOWN : 0,
		"difference",
		n->blind ? "no use of it was seen, but not all uses could be"
			 : "not used in this time");
}

static int parts_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	struct table *t = cells_table(
		r, "parts", "What it is made of", part_columns, ARRAY_SIZE(part_columns));
	const struct limit_group *g = &f->last;

	if (!t)
		return -ENOMEM;
	t->story = true;
	if (!g->h.kind)
		return 0;
	limit_tables_part_add(t, "anonymous", g->anon_bytes, n->anon_bytes,
		n->swaps && !n->unseen ? "estimated" : "exact",
		n->unseen  ? "which of it is used is not known"
		: n->swaps ? "touched in this time; the rest could go to swap"
			   : "without swap none of it can be reclaimed");
	limit_tables_part_add(t, "shared_memory", g->shmem_bytes, g->shmem_bytes, "exact",
		"which of it is used is not known");
	limit_tables_part_add(t, "kernel", g->kernel_bytes, g->kernel_bytes, "exact",
		"which of it is used is not known");
	files_report(f, n, t, r);
	return t->failed ? -ENOMEM : 0;
}

struct age {
	u64 below_ns, bytes, within;
};

static const struct cell_column age_columns[] = {
	CELL_NUMBER(struct age, below_ns, "below_ns", "NOT USED FOR", UNIT_NS, COL_KEY | COL_MAIN,
		"pages of files by the time since their last use: less than this, and not less "
		"than "
		"the row above"),
	CELL_NUMBER(struct age, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"pages that the group read or wrote in this time"),
	CELL_NUMBER(struct age, within, "within_bytes", "WITHIN", UNIT_BYTES, COL_LEVEL,
		"the same with all rows above: what was used within that time"),
};

static int ages_report(const struct limit_facts *f, struct report *r)
{
	struct table *t = cells_table(r, "ages", "Pages of files, by when they were last used",
		age_columns, ARRAY_SIZE(age_columns));
	const struct limit_files *files = &f->files;
	struct age age = {};

	if (!t)
		return -ENOMEM;
	t->story = true;
	for (u32 i = 0; files->h.kind && i < LIMIT_AGES; i++) {
		age.below_ns = (1ULL << i) << (LIMIT_TICK_SHIFT + LIMIT_SECOND_SHIFT);
		age.bytes = files->age[i] * files->stride * files->page_bytes;
		age.within += age.bytes;
		if (age.bytes)
			cells_one(t, r, age_columns, &age, NULL);
	}
	return t->failed ? -ENOMEM : 0;
}

const struct view_table limit_tables_all[] = {
	CELLS_VIEW("limit", group_columns),
	CELLS_VIEW("parts", part_columns),
	CELLS_VIEW("ages", age_columns),
	{},
};

int limit_tables_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	int rc = group_report(f, n, r);

	if (!rc)
		rc = parts_report(f, n, r);
	return rc ? rc : ages_report(f, r);
}
