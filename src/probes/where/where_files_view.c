/* See where_files_view.h. */
#include "probes/where/where_files_view.h"

#include <errno.h>

#include "bpf/inodes.h"
#include "probes/where/where_ledger.h"
#include "probes/where/where_words.h"

#define RECORDS_MOST 4096

enum { F_ROW, F_FILE, F_BYTES, F_STATE, F_GROUP, F_N };

static const struct column file_columns[F_N] = {
	[F_ROW] = {"row", "ROW", CELL_TEXT, UNIT_NONE, 0, "row of the ledger"},
	[F_FILE] = {"file", "FILE", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"where it is; a System V segment is SYSV and its key, a memfd memfd: and its name, "
		"shared anonymous memory dev/zero"},
	[F_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"its pages in memory (exact); files of less than 256 KiB are not told"},
	[F_STATE] = {"state", "STATE", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_RARE,
		"open: somebody has it open or mapped; removed: it has no name any more"},
	[F_GROUP] = {"cgroup", "CHARGED TO", CELL_TEXT, UNIT_CGROUP, COL_ASIDE | COL_RARE,
		"control group that its first page is charged to; others may have other pages"},
};

enum { M_ROW, M_MOUNT, M_TYPE, M_FILES, M_BYTES, M_LOOK, M_N };

static const struct column mount_columns[M_N] = {
	[M_ROW] = {"row", "ROW", CELL_TEXT, UNIT_NONE, 0, "row of the ledger"},
	[M_MOUNT] = {"mount", "MOUNT", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"where the file system is mounted; -: the rest of the row, in file systems that "
		"were not looked at"},
	[M_TYPE] = {"type", "TYPE", CELL_TEXT, UNIT_NONE, COL_RARE, "of the file system"},
	[M_FILES] = {"files", "FILES", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_RARE,
		"files with pages in memory"},
	[M_BYTES] = {"bytes", "BYTES", CELL_S64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"these pages (exact)"},
	[M_LOOK] = {"looked", "LOOKED AT", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_RARE,
		"in part: the file system changed too fast, or it would have taken too long"},
};

enum { R_NAME, R_FILES, R_BYTES, R_FILE, R_N };

static const struct column removed_columns[R_N] = {
	[R_NAME] = {"removed_group", "REMOVED GROUP", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"name that its directory had"},
	[R_FILES] = {"files", "FILES", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"files whose first page is charged to it: they keep it"},
	[R_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"pages of these (estimated: others of their pages may be charged to others)"},
	[R_FILE] = {"file", "LARGEST FILE", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"the largest of them. The group goes when these files are dropped from memory; of "
		"tmpfs and shared memory when they are removed"},
};

const struct view_table where_files_tables[] = {
	{"files", file_columns, F_N, sizeof(struct column)},
	{"mounts", mount_columns, M_N, sizeof(struct column)},
	{"removed_groups", removed_columns, R_N, sizeof(struct column)},
	{},
};

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

static int files_add(const struct where_files *f, struct report *r)
{
	struct table *t = report_table(r, "files", "Files in memory", file_columns, F_N);

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	table_each (c, t, e, &f->files) {
		c[F_ROW] = cell_text(row_name(e->row));
		c[F_FILE] = cell_text(stream_string(r->stream, e->path));
		c[F_BYTES] = cell_u64(e->bytes);
		c[F_STATE] = cell_text(state(e->row, e->flags));
		c[F_GROUP] = cell_text(group_name(r, e));
	}
	return t->failed ? -ENOMEM : 0;
}

/* What of a row is in no file system that was looked at. */
static void left_add(
	struct table *t, const struct where_files *f, const struct where_ledger *l, u32 row)
{
	s64 left = (s64)l->bytes[row];
	struct cell *c;

	vec_each (m, &f->mounts)
		left -= m->row == row ? (s64)m->bytes : 0;
	c = where_knows(l, row) ? table_row(t) : NULL;
	if (!c)
		return;
	c[M_ROW] = cell_text(row_name(row));
	c[M_BYTES] = cell_s64(left);
}

static int mounts_add(const struct where_files *f, const struct where_ledger *l, struct report *r)
{
	static const u32 rows[] = {WHERE_CACHE, WHERE_TMPFS, WHERE_SHARED};
	struct table *t =
		report_table(r, "mounts", "Files in memory, by file system", mount_columns, M_N);

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	table_each (c, t, e, &f->mounts) {
		const char *name = stream_string(r->stream, e->mount);

		c[M_ROW] = cell_text(row_name(e->row));
		c[M_MOUNT] = cell_text(
			e->tgid && name ? report_text(r, "%s of pid %u", name, e->tgid) : name);
		c[M_TYPE] = cell_text(stream_string(r->stream, e->type));
		c[M_FILES] = cell_u64(e->files);
		c[M_BYTES] = cell_s64((s64)e->bytes);
		c[M_LOOK] = cell_text(e->partial ? "in part" : NULL);
	}
	for (size_t i = 0; l && f->mounts.n && i < ARRAY_SIZE(rows); i++)
		left_add(t, f, l, rows[i]);
	return t->failed ? -ENOMEM : 0;
}

static int removed_add(const struct where_files *f, struct report *r)
{
	struct table *t = report_table(r, "removed_groups",
		"Files that keep control groups that were removed", removed_columns, R_N);

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	table_each (c, t, e, &f->removed) {
		c[R_NAME] = cell_text(stream_string(r->stream, e->name));
		c[R_FILES] = cell_u64(e->files);
		c[R_BYTES] = cell_u64(e->bytes);
		c[R_FILE] = cell_text(stream_string(r->stream, e->path));
	}
	return t->failed ? -ENOMEM : 0;
}

int where_files_report(const struct where_files *f, const struct where_ledger *l, struct report *r)
{
	int rc = files_add(f, r);

	if (!rc)
		rc = mounts_add(f, l, r);
	return rc ? rc : removed_add(f, r);
}
