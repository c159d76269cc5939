/* See where_evictions.h. */
#include "probes/where/where_evictions.h"

#include <errno.h>

#include "analysis/cells.h"
#include "base/units.h"

#define READERS_MOST (1U << 16)
#define FILES_MOST (1U << 16)

struct reader {
	u64 count; /* pages that were looked at */
	u64 cgroup;
};

struct pair {
	u32 victim, evictor; /* 0: the kernel in the background */
};

struct file {
	u32 victim, evictor;
	u32 name; /* a string of the stream's; 0: none */
};

struct lost {
	u64 count, total_ns;
};

void where_evictions_init(struct where_evictions *e)
{
	groups_init(&e->readers, sizeof(u32), sizeof(struct reader));
	groups_init(&e->pairs, sizeof(struct pair), sizeof(struct lost));
	groups_init(&e->files, sizeof(struct file), sizeof(struct lost));
}

void where_evictions_free(struct where_evictions *e)
{
	groups_free(&e->readers);
	groups_free(&e->pairs);
	groups_free(&e->files);
}

void where_evictions_reset(struct where_evictions *e)
{
	groups_clear(&e->readers);
	groups_clear(&e->pairs);
	groups_clear(&e->files);
	e->on_ns = e->covered_ns = 0;
	e->pair_lost = e->file_lost = 0;
	e->seen = false;
}

static int where_evictions_agg_feed(struct where_evictions *e, const struct cache_agg *r)
{
	struct pair key = {r->tgid, r->flags & CACHE_BY_KSWAPD ? 0 : r->evictor};
	struct reader *p;
	struct lost *l;

	e->seen = true;
	if (e->readers.n >= READERS_MOST && !groups_find(&e->readers, &r->tgid)) {
		e->pair_lost += r->flags & CACHE_REFAULT ? r->count : 0;
		return 0;
	}
	p = groups_get(&e->readers, &r->tgid);
	if (!p)
		return -ENOMEM;
	p->count += r->count;
	p->cgroup = r->cgroup;
	if (!(r->flags & CACHE_REFAULT))
		return 0;
	l = groups_get(&e->pairs, &key);
	if (!l)
		return -ENOMEM;
	l->count += r->count;
	l->total_ns += r->total_ns;
	e->file_lost += r->file_lost;
	return 0;
}

static int file_feed(struct where_evictions *e, const struct cache_file *r)
{
	struct file key = {r->tgid, r->evictor, r->name};
	struct lost *l;

	if (e->files.n >= FILES_MOST && !groups_find(&e->files, &key)) {
		e->file_lost += r->count;
		return 0;
	}
	l = groups_get(&e->files, &key);
	if (!l)
		return -ENOMEM;
	l->count += r->count;
	return 0;
}

bool where_evictions_feed(struct where_evictions *e, const struct rec *r, int *ret_rc)
{
	const struct cache_sampled *s = (const void *)r;

	if (r->kind == REC_CACHE_AGG) {
		*ret_rc = where_evictions_agg_feed(e, (const void *)r);
		return true;
	}
	if (r->kind == REC_CACHE_FILE) {
		*ret_rc = file_feed(e, (const void *)r);
		return true;
	}
	if (r->kind != REC_CACHE_SAMPLED)
		return false;
	e->on_ns += s->on_ns;
	e->covered_ns += s->covered_ns;
	return true;
}

/* What so many pages that were looked at stand for. */
static u64 where_evictions_bytes_of(
	const struct where_evictions *e, const struct report *r, u64 count)
{
	double times = e->on_ns ? MAX(1.0, (double)e->covered_ns / (double)e->on_ns) : 1.0;

	return (u64)((double)count * CACHE_STRIDE * times * (double)r->stream->host.page_bytes);
}

#define PAIR(row_) ((const struct pair *)(row_)->key)

/* What is known of one of the two, by its process id; the row's view is the whole. */
static const struct reader *reader_of(const struct row_of *row, const u32 *tgid)
{
	return groups_find(&((const struct where_evictions *)row->view)->readers, tgid);
}

static struct cell where_evictions_group_of(struct report *r, const struct reader *of)
{
	return cell_text(of && of->cgroup ? stream_cgroup(r->stream, of->cgroup) : NULL);
}

static CELL_GET(victim_cell)
{
	return cell_text(report_program(r, PAIR(row)->victim));
}

static CELL_GET(group_cell)
{
	return where_evictions_group_of(r, reader_of(row, &PAIR(row)->victim));
}

static CELL_GET(evictor_cell)
{
	return cell_text(PAIR(row)->evictor ? report_program(r, PAIR(row)->evictor) : "kswapd");
}

static CELL_GET(by_cell)
{
	return PAIR(row)->evictor ? cell_u64(PAIR(row)->evictor) : (struct cell){};
}

static CELL_GET(by_group_cell)
{
	return where_evictions_group_of(
		r, PAIR(row)->evictor ? reader_of(row, &PAIR(row)->evictor) : NULL);
}

static CELL_GET(part_cell)
{
	const struct reader *victim = reader_of(row, &PAIR(row)->victim);

	return cell_ratio(((const struct lost *)row->sums)->count, victim ? victim->count : 0);
}

CELL_EXPR(bytes_cell, struct lost, cell_u64(where_evictions_bytes_of(row->view, r, e->count)))
CELL_EXPR(after_cell, struct lost, e->count ? cell_u64(e->total_ns / e->count) : (struct cell){})

static const struct cell_column columns[] = {
	CELL_BY(0, "victim", "VICTIM", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"who read pages of files back", victim_cell),
	CELL_KEY(0, struct pair, victim, "pid", "PID", UNIT_ID, 0, "its process id"),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0, "its control group", group_cell),
	CELL_BY(0, "evictor", "PUSHED OUT BY", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"who needed memory when they went; kswapd: the kernel, in the background, for all "
		"who do",
		evictor_cell),
	CELL_BY(0, "evictor_pid", "BY PID", CELL_U64, UNIT_ID, COL_LESSER, "its process id",
		by_cell),
	CELL_BY(0, "evictor_cgroup", "BY CGROUP", CELL_TEXT, UNIT_CGROUP, COL_LESSER,
		"its control group, where it has read, too", by_group_cell),
	CELL_BY(0, "read_back_bytes", "READ BACK", CELL_U64, UNIT_BYTES, COL_MAIN,
		"read again after it was pushed out, both in the interval, so that a short one "
		"shows less of it (estimated, from one page in 64 of each file)",
		bytes_cell),
	CELL_BY(0, "share_ratio", "OF ITS READING", CELL_F64, UNIT_RATIO, 0,
		"share of all that the victim has read into the page cache", part_cell),
	CELL_BY(0, "after_ns", "AFTER", CELL_U64, UNIT_NS, 0,
		"from pushed out to read back, on average", after_cell),
};

#define FILE_OF(row_) ((const struct file *)(row_)->key)

static CELL_GET(file_cell)
{
	u32 name = FILE_OF(row)->name;

	return cell_text(name ? stream_string(r->stream, name) : NULL);
}

static CELL_GET(file_victim_cell)
{
	return cell_text(report_program(r, FILE_OF(row)->victim));
}

static CELL_GET(file_evictor_cell)
{
	u32 by = FILE_OF(row)->evictor;

	return cell_text(by ? report_program(r, by) : "kswapd");
}

static const struct cell_column file_columns[] = {
	CELL_BY(0, "file", "FILE", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"its directory and its name, without what is above", file_cell),
	CELL_BY(0, "victim", "VICTIM", CELL_TEXT, UNIT_NONE, COL_MAIN, "who read it back",
		file_victim_cell),
	CELL_KEY(0, struct file, victim, "pid", "PID", UNIT_ID, 0, "its process id"),
	CELL_BY(0, "evictor", "PUSHED OUT BY", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"who needed memory when it went; kswapd: the kernel, in the background, for all "
		"who do",
		file_evictor_cell),
	CELL_BY(0, "read_back_bytes", "READ BACK", CELL_U64, UNIT_BYTES, COL_MAIN,
		"of it, read again after it was pushed out, both in the interval (estimated, from "
		"one page in 64 of the file)",
		bytes_cell),
};

const struct view_table where_evictions_tables[] = {
	CELLS_VIEW("evictions", columns),
	CELLS_VIEW("evicted_files", file_columns),
	{},
};

/* What found no room is missing from a table, and is told. */
static void lost_tell(const struct where_evictions *e, struct report *r)
{
	char buf[UNIT_BUF];

	if (e->pair_lost)
		report_note(r,
			"Both tables of evictions leave out %s that was read back: memwhy keeps "
			"apart %u processes, and there were more",
			fmt_bytes(buf, where_evictions_bytes_of(e, r, e->pair_lost)), READERS_MOST);
	if (e->file_lost)
		report_note(r,
			"evicted_files leaves out %s that was read back, as there were more files "
			"than it has room for; evictions includes it",
			fmt_bytes(buf, where_evictions_bytes_of(e, r, e->file_lost)));
}

int where_evictions_report(const struct where_evictions *e, struct report *r)
{
	static const struct cell_table table = {
		CELL_TABLE("evictions", "Who pushes whose files out of the page cache",
			"read_back_bytes", "Nothing that was pushed out was read back.", columns)};

	static const struct cell_table files = {CELL_TABLE("evicted_files", "Which files these are",
		"read_back_bytes", "Nothing that was pushed out was read back.", file_columns)};
	int rc = cells_report(r, &table, &e->pairs, e);

	lost_tell(e, r);
	return rc ? rc : cells_report(r, &files, &e->files, e);
}
