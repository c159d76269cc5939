/* See limit_tables.h. The tables. */
#include "probes/limit/limit_tables.h"

#include <errno.h>

enum {
	G_GROUP,
	G_USAGE,
	G_LIMIT,
	G_HIGH,
	G_NEEDED,
	G_LOW,
	G_UP,
	G_ADVISED,
	G_STALL,
	G_OF,
	G_EXPECTED,
	G_SECONDS,
	G_VERDICT,
	G_N
};

static const struct column group_columns[G_N] = {
	[G_GROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_MAIN, "the control group"},
	[G_USAGE] = {"usage_bytes", "USAGE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what is charged to it and to those below"},
	[G_LIMIT] = {"limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory.max, of version 1 memory.limit_in_bytes; empty: none"},
	[G_HIGH] = {"high_bytes", "HIGH", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_RARE,
		"memory.high; empty: none"},
	[G_NEEDED] = {"needed_bytes", "NEEDS", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what it needs: memory that cannot be reclaimed, and what it used more than once"},
	[G_LOW] = {"needed_low_bytes", "AT LEAST", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"the lower end of that: less the error of sampling, and each page that is both "
		"read "
		"and mapped only once"},
	[G_UP] = {"needed_high_bytes", "AT MOST", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"the upper end: with the error of sampling, pages that were used once, and "
		"files_cold where not all uses could be seen"},
	[G_ADVISED] = {"advised_bytes", "ADVISED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"the limit to set; empty where there is not enough evidence for one"},
	[G_STALL] = {"stall_ratio", "STALLED", CELL_F64, UNIT_RATIO, COL_LEVEL,
		"time in which some task waited for memory (PSI), at the present limit"},
	[G_OF] = {"stall_of", "OF", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"whose time that is: of the group, or of the whole machine where only that is "
		"known"},
	[G_EXPECTED] = {"expected_stall_ratio", "EXPECTED", CELL_F64, UNIT_RATIO, COL_LEVEL,
		"the same at the advised limit, at most: what was first used in the last quarter "
		"of "
		"the time, each page at what disks have taken for one since boot (estimated)"},
	[G_SECONDS] = {"seconds", "SECONDS", CELL_F64, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"how long it was looked at"},
	[G_VERDICT] = {"verdict", "VERDICT", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_MAIN,
		"short, fits, roomy or unlimited: the present limit beside the advised one; "
		"unknown: "
		"not enough evidence"},
};

enum { P_PART, P_BYTES, P_NEEDED, P_NUMBER, P_WHY, P_N };

static const struct column part_columns[P_N] = {
	[P_PART] = {"part", "PART", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"anonymous, shared_memory, kernel; of files: files_read (used by reads and writes, "
		"more than once), files_mapped (touched through page tables), files_once (read or "
		"written once), files_cold (not seen to be used)"},
	[P_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"how much it is"},
	[P_NEEDED] = {"needed_bytes", "NEEDED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what of it counts as needed; empty where not all uses could be seen"},
	[P_NUMBER] = {"number", "NUMBER", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"exact: a counter of the kernel's, or every use was seen; sampled: of one page in "
		"so "
		"many; estimated; difference"},
	[P_WHY] = {"why", "WHY", CELL_TEXT, UNIT_NONE, COL_ASIDE, "why it counts so"},
};

enum { E_AGE, E_BYTES, E_ALL, E_N };

static const struct column age_columns[E_N] = {
	[E_AGE] = {"below_ns", "NOT USED FOR", CELL_U64, UNIT_NS, COL_KEY | COL_MAIN,
		"pages of files by the time since their last use: less than this, and not less "
		"than "
		"the row above"},
	[E_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"pages that the group read or wrote in this time"},
	[E_ALL] = {"within_bytes", "WITHIN", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"the same with all rows above: what was used within that time"},
};

const struct view_table limit_tables_all[] = {
	{"limit", group_columns, G_N, sizeof(struct column)},
	{"parts", part_columns, P_N, sizeof(struct column)},
	{"ages", age_columns, E_N, sizeof(struct column)},
	{},
};

static struct cell cell_limit(u64 v)
{
	return v == LIMIT_NONE ? (struct cell){} : cell_u64(v);
}

static const char *const verdicts[] = {
	[LIMIT_UNKNOWN] = "unknown",
	[LIMIT_SHORT] = "short",
	[LIMIT_FITS] = "fits",
	[LIMIT_ROOMY] = "roomy",
	[LIMIT_UNLIMITED] = "unlimited",
};

static int group_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	struct table *t = report_table(r, "limit", "What the group needs", group_columns, G_N);
	const struct limit_group *g = &f->last;
	struct cell *c = t && g->h.kind ? table_row(t) : NULL;

	if (!t)
		return -ENOMEM;
	t->empty = "Nothing is known of the group.";
	if (!c)
		return t->failed ? -ENOMEM : 0;
	c[G_GROUP] = cell_text(stream_cgroup(r->stream, g->cgroup));
	c[G_USAGE] = cell_u64(g->usage_bytes);
	c[G_LIMIT] = cell_limit(g->limit_bytes);
	c[G_HIGH] = cell_limit(g->high_bytes);
	c[G_NEEDED] = cell_u64(n->needed_bytes);
	c[G_LOW] = cell_u64(n->low_bytes);
	c[G_UP] = cell_u64(n->high_bytes);
	if (!n->thin)
		c[G_ADVISED] = cell_u64(n->advised_bytes);
	if (n->pressed) {
		c[G_STALL] = cell_f64(n->stall_ratio);
		c[G_OF] = cell_text(n->whole ? "machine" : "group");
	}
	if (n->has_cost && !n->thin)
		c[G_EXPECTED] = cell_f64(n->expected_ratio);
	c[G_SECONDS] = cell_f64((double)n->elapsed_ns / 1e9);
	c[G_VERDICT] = cell_text(verdicts[n->verdict]);
	return 0;
}

#define NEED_UNKNOWN (~0ULL)

static void part_add(struct table *t, const char *part, u64 bytes, u64 needed, const char *number,
	const char *why)
{
	struct cell *c = t ? table_row(t) : NULL;

	if (!c)
		return;
	c[P_PART] = cell_text(part);
	c[P_BYTES] = cell_u64(bytes);
	if (needed != NEED_UNKNOWN)
		c[P_NEEDED] = cell_u64(needed);
	c[P_NUMBER] = cell_text(number);
	c[P_WHY] = cell_text(why);
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
		part_add(t, "files_read", n->read_bytes, n->read_bytes, number_of_files(files, r),
			"used in more than one second, or found in the cache");
		part_add(t, "files_once", n->once_bytes, 0, number_of_files(files, r),
			"read in or written, and not used again");
	}
	part_add(t, "files_mapped", n->mapped_bytes, n->mapped_bytes, "estimated",
		"touched through page tables, shared pages in part");
	part_add(t, "files_cold", n->cold_bytes, n->blind ? NEED_UNKNOWN : 0, "difference",
		n->blind ? "no use of it was seen, but not all uses could be"
			 : "not used in this time");
}

static int parts_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	struct table *t = report_table(r, "parts", "What it is made of", part_columns, P_N);
	const struct limit_group *g = &f->last;

	if (!t)
		return -ENOMEM;
	t->story = true;
	if (!g->h.kind)
		return 0;
	part_add(t, "anonymous", g->anon_bytes, n->anon_bytes, n->swaps ? "estimated" : "exact",
		n->swaps ? "touched in this time; the rest could go to swap"
			 : "without swap none of it can be reclaimed");
	part_add(t, "shared_memory", g->shmem_bytes, g->shmem_bytes, "exact",
		"which of it is used is not known");
	part_add(t, "kernel", g->kernel_bytes, g->kernel_bytes, "exact",
		"which of it is used is not known");
	files_report(f, n, t, r);
	return t->failed ? -ENOMEM : 0;
}

static int ages_report(const struct limit_facts *f, struct report *r)
{
	struct table *t = report_table(
		r, "ages", "Pages of files, by when they were last used", age_columns, E_N);
	const struct limit_files *files = &f->files;
	u64 all = 0;

	if (!t)
		return -ENOMEM;
	t->story = true;
	for (u32 i = 0; files->h.kind && i < LIMIT_AGES; i++) {
		u64 bytes = files->age[i] * files->stride * files->page_bytes;
		struct cell *c = bytes ? table_row(t) : NULL;

		all += bytes;
		if (!c)
			continue;
		c[E_AGE] = cell_u64((1ULL << i) << (LIMIT_TICK_SHIFT + LIMIT_SECOND_SHIFT));
		c[E_BYTES] = cell_u64(bytes);
		c[E_ALL] = cell_u64(all);
	}
	return t->failed ? -ENOMEM : 0;
}

int limit_tables_report(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	int rc = group_report(f, n, r);

	if (!rc)
		rc = parts_report(f, n, r);
	return rc ? rc : ages_report(f, r);
}
