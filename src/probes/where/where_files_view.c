/* See where_files_view.h. */
#include "probes/where/where_files_view.h"

#include <errno.h>

#include "analysis/cells.h"
#include "bpf/inodes.h"
#include "probes/where/where_ledger.h"
#include "probes/where/where_words.h"

#define RECORDS_MOST 4096

void where_files_free(struct where_files *f)
{
	vec_free(&f->files);
	vec_free(&f->mounts);
	vec_free(&f->removed);
}

/* Those of the latest look stay. */
static void sample_begin(struct where_files *f, u32 sample)
{
	if (f->sample == sample)
		return;
	f->files.n = f->mounts.n = f->removed.n = 0;
	f->sample = sample;
}

bool where_files_feed(struct where_files *f, const struct rec *r, int *ret_rc)
{
	const struct where_file *file = (const void *)r;
	const struct where_mount *mount = (const void *)r;
	const struct where_removed *removed = (const void *)r;

	switch (r->kind) {
	case REC_WHERE_FILE:
		sample_begin(f, file->sample);
		if (file->row < WHERE_ROWS && f->files.n < RECORDS_MOST)
			*ret_rc = vec_push(&f->files, *file);
		return true;
	case REC_WHERE_MOUNT:
		sample_begin(f, mount->sample);
		if (mount->row < WHERE_ROWS && f->mounts.n < RECORDS_MOST)
			*ret_rc = vec_push(&f->mounts, *mount);
		return true;
	case REC_WHERE_REMOVED:
		sample_begin(f, removed->sample);
		if (f->removed.n < RECORDS_MOST)
			*ret_rc = vec_push(&f->removed, *removed);
		return true;
	default:
		return false;
	}
}

static const char *row_name(u32 row)
{
	return where_words(WHERE_MACHINE, row)->name;
}

/* A memfd and the like never has a name in a directory. */
static const char *state(u32 row, u32 flags)
{
	if (flags & INODES_REMOVED && row != WHERE_SHARED)
		return flags & INODES_NAMELESS ? "removed" : "removed, open";
	return flags & INODES_OPEN ? "open" : NULL;
}

static const char *group_name(struct report *r, const struct where_file *f)
{
	const char *name = stream_string(r->stream, f->cgroup_name);
	const char *path = f->cgroup ? stream_cgroup(r->stream, f->cgroup) : NULL;

	if (f->cgroup_name && name)
		return report_text(r, "%s (removed)", name);
	return path ? report_cgroup(r, path) : NULL;
}

static CELL_GET(row_cell)
{
	return cell_text(row_name(*(const u32 *)((const char *)row->sums + offset)));
}

CELL_EXPR(state_cell, struct where_file, cell_text(state(e->row, e->flags)))
CELL_EXPR(group_cell, struct where_file, cell_text(group_name(r, e)))

#define ROW_OF(type_)                                                                        \
	CELL_FROM(0, type_, row, "row", "ROW", CELL_TEXT, UNIT_NONE, 0, "row of the ledger", \
		row_cell)

static const struct cell_column file_columns[] = {
	ROW_OF(struct where_file),
	CELL_FROM(0, struct where_file, path, "file", "FILE", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"where it is; a System V segment is SYSV and its key, a memfd memfd: and its name, "
		"shared anonymous memory dev/zero",
		cell_of_string),
	CELL_NUMBER(struct where_file, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"its pages in memory (exact); files with less than 256 KiB are not listed"),
	CELL_BY(0, "state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_RARE,
		"open: some process has it open or mapped; removed: it no longer has a name",
		state_cell),
	CELL_BY(0, "cgroup", "CHARGED TO", CELL_TEXT, UNIT_CGROUP, COL_ASIDE | COL_RARE,
		"control group that its first page is charged to; others may have other pages",
		group_cell),
};

static int files_add(const struct where_files *f, struct report *r)
{
	struct table *t =
		cells_table(r, "files", "Files in memory", file_columns, ARRAY_SIZE(file_columns));

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	cells_each(t, r, file_columns, &f->files, NULL);
	return t->failed ? -ENOMEM : 0;
}

/* A file system; or what of a row is in none that was looked at, which may be less than nothing. */
struct mount_row {
	u32 row;
	s64 bytes;
	const struct where_mount *mount; /* NULL: the rest of the row */
};

static const char *mount_name(struct report *r, const struct where_mount *m)
{
	const char *name = m ? stream_string(r->stream, m->mount) : NULL;

	return name && m->tgid ? report_text(r, "%s of pid %u", name, m->tgid) : name;
}

CELL_EXPR(mount_cell, struct mount_row, cell_text(mount_name(r, e->mount)))
CELL_EXPR(type_cell, struct mount_row,
	cell_text(e->mount ? stream_string(r->stream, e->mount->type) : NULL))
CELL_EXPR(count_cell, struct mount_row, e->mount ? cell_u64(e->mount->files) : (struct cell){})
CELL_EXPR(
	looked_cell, struct mount_row, cell_text(e->mount && e->mount->partial ? "in part" : NULL))

static const struct cell_column mount_columns[] = {
	ROW_OF(struct mount_row),
	CELL_BY(0, "mount", "MOUNT", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"where the file system is mounted; -: the rest of the row, in file systems not "
		"looked at",
		mount_cell),
	CELL_BY(0, "type", "TYPE", CELL_TEXT, UNIT_NONE, COL_RARE, "of the file system", type_cell),
	CELL_BY(0, "files", "FILES", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_RARE,
		"files with pages in memory", count_cell),
	CELL_NUMBER(struct mount_row, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"these pages (exact)"),
	CELL_BY(0, "looked", "LOOKED AT", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_RARE,
		"in part: the file system changed too fast, or the walk would have taken too long",
		looked_cell),
};

/* What of a row is in no file system that was looked at. */
static s64 left_of(const struct where_files *f, const struct where_ledger *l, u32 row)
{
	s64 left = (s64)l->bytes[row];

	vec_each (m, &f->mounts)
		left -= m->row == row ? (s64)m->bytes : 0;
	return left;
}

static int mounts_add(const struct where_files *f, const struct where_ledger *l, struct report *r)
{
	static const u32 rows[] = {WHERE_CACHE, WHERE_TMPFS, WHERE_SHARED};
	struct table *t = cells_table(r, "mounts", "Files in memory, by file system", mount_columns,
		ARRAY_SIZE(mount_columns));

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	vec_each (m, &f->mounts) {
		const struct mount_row row = {m->row, (s64)m->bytes, m};

		cells_one(t, r, mount_columns, &row, NULL);
	}
	for (size_t i = 0; l && f->mounts.n && i < ARRAY_SIZE(rows); i++) {
		const struct mount_row row = {rows[i], left_of(f, l, rows[i]), NULL};

		if (where_knows(l, rows[i]))
			cells_one(t, r, mount_columns, &row, NULL);
	}
	return t->failed ? -ENOMEM : 0;
}

static const struct cell_column removed_columns[] = {
	CELL_FROM(0, struct where_removed, name, "removed_group", "REMOVED GROUP", CELL_TEXT,
		UNIT_NONE, COL_MAIN, "the name of its directory", cell_of_string),
	CELL_NUMBER(struct where_removed, files, "files", "FILES", UNIT_COUNT, COL_LEVEL,
		"files whose first page is charged to it, which keeps it alive"),
	CELL_NUMBER(struct where_removed, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"pages of these (estimated: some of their pages may be charged to other groups)"),
	CELL_FROM(0, struct where_removed, path, "file", "LARGEST FILE", CELL_TEXT, UNIT_NONE,
		COL_ASIDE,
		"the largest of them. The group goes away when these files are dropped from "
		"memory; those of tmpfs and shared memory when they are removed",
		cell_of_string),
};

const struct view_table where_files_tables[] = {
	CELLS_VIEW("files", file_columns),
	CELLS_VIEW("mounts", mount_columns),
	CELLS_VIEW("removed_groups", removed_columns),
	{},
};

static int removed_add(const struct where_files *f, struct report *r)
{
	struct table *t =
		cells_table(r, "removed_groups", "Files that keep control groups that were removed",
			removed_columns, ARRAY_SIZE(removed_columns));

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	cells_each(t, r, removed_columns, &f->removed, NULL);
	return t->failed ? -ENOMEM : 0;
}

int where_files_report(const struct where_files *f, const struct where_ledger *l, struct report *r)
{
	int rc = files_add(f, r);

	if (!rc)
		rc = mounts_add(f, l, r);
	return rc ? rc : removed_add(f, r);
}
