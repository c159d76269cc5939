/* See where_arenas.h. */
#include "probes/where/where_arenas.h"

#include <errno.h>

#include "analysis/cells.h"
#include "analysis/give_back.h"
#include "base/units.h"

#define KEPT_LEAST (16ULL << 20)
#define KEPT_PART 10 /* of the resident memory, 1 in this */
#define ARENAS_FEW 2
#define ARENAS_MOST (1U << 20)

void where_arenas_free(struct where_arenas *a)
{
	vec_free(&a->list);
}

static void forget(struct where_arenas *a, u32 tgid)
{
	size_t n = 0;

	for (size_t i = 0; i < a->list.n; i++)
		if (a->list.v[i].tgid != tgid)
			a->list.v[n++] = a->list.v[i];
	a->list.n = n;
}

int where_arenas_feed(struct where_arenas *a, const struct where_arena *r)
{
	if (!r->index)
		forget(a, r->tgid);
	return a->list.n < ARENAS_MOST ? vec_push(&a->list, *r) : 0;
}

/* Blocks in fastbins and caches of threads look as if they were in use. A cache may hold blocks of
 * other arenas. */
static u64 live(u64 used, u64 fast, u64 cache)
{
	return used > fast + cache ? used - fast - cache : 0;
}

CELL_EXPR(arena_cell, struct where_arena,
	cell_text(e->index ? report_text(r, "%u", e->index) : "main"))
CELL_EXPR(
	live_cell, struct where_arena, cell_u64(live(e->used_bytes, e->fast_bytes, e->cache_bytes)))
CELL_EXPR(blocks_cell, struct where_arena,
	cell_u64(live(e->used_blocks, e->fast_blocks, e->cache_blocks)))
CELL_EXPR(read_cell, struct where_arena, cell_text(e->partial ? "in part" : NULL))

static const struct cell_column columns[] = {
	CELL_NUMBER(struct where_arena, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_BY(0, "arena", "ARENA", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"arena of glibc's malloc: main, which grows by brk, or the number of one that "
		"threads use",
		arena_cell),
	CELL_NUMBER(struct where_arena, system_bytes, "system_bytes", "SIZE", UNIT_BYTES, COL_LEVEL,
		"what it has from the kernel, resident or not"),
	CELL_BY(0, "live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"blocks in use, with the 8 bytes glibc adds to each and their rounding", live_cell),
	CELL_BY(0, "count", "BLOCKS", CELL_U64, UNIT_COUNT, COL_LEVEL, "how many these are",
		blocks_cell),
	CELL_NUMBER(struct where_arena, free_bytes, "free_bytes", "IN BINS", UNIT_BYTES, COL_LEVEL,
		"free blocks between those in use"),
	CELL_NUMBER(struct where_arena, free_blocks, "free_blocks", "FREE BLOCKS", UNIT_COUNT,
		COL_LEVEL | COL_LESSER, "how many these are"),
	CELL_NUMBER(struct where_arena, top_bytes, "top_bytes", "TOP", UNIT_BYTES, COL_LEVEL,
		"free memory at the end of the arena"),
	CELL_NUMBER(struct where_arena, fast_bytes, "fastbin_bytes", "FASTBINS", UNIT_BYTES,
		COL_LEVEL | COL_LESSER, "small free blocks that are not merged with others yet"),
	CELL_NUMBER(struct where_arena, cache_bytes, "tcache_bytes", "TCACHE", UNIT_BYTES,
		COL_LEVEL | COL_LESSER,
		"free blocks in the caches of threads, as far as these caches lie in this arena"),
	CELL_NUMBER(struct where_arena, kept_bytes, "kept_bytes", "KEPT", UNIT_BYTES,
		COL_LEVEL | COL_MAIN,
		"resident pages that have nothing but free blocks: memory the process no longer "
		"uses and has not given back"),
	CELL_NUMBER(struct where_arena, trimmable_bytes, "trimmable_bytes", "TRIMMABLE", UNIT_BYTES,
		COL_LEVEL,
		"of these, what malloc_trim(0) gives back: all but the end of arenas of threads"),
	CELL_NUMBER(struct where_arena, heaps, "heaps", "HEAPS", UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"heaps of 64 MiB of address space"),
	CELL_BY(0, "read", "READ", CELL_TEXT, UNIT_NONE, COL_RARE | COL_ASIDE,
		"in part: the arena changed while it was read, part of it is in swap, or it is "
		"larger than what is read; the numbers cover what was read",
		read_cell),
};

const struct view_table where_arenas_tables[] = {
	CELLS_VIEW("arenas", columns),
	{},
};

int where_arenas_report(const struct where_arenas *a, struct report *r)
{
	struct table *t =
		cells_table(r, "arenas", "Arenas of glibc's malloc", columns, ARRAY_SIZE(columns));

	if (!t)
		return -ENOMEM;
	t->sort = "system_bytes";
	cells_each(t, r, columns, &a->list, NULL);
	return t->failed ? -ENOMEM : 0;
}

struct sums {
	u64 kept, trimmable, live, system;
	u64 largest[ARENAS_FEW]; /* of what they keep */
	u32 arenas, partial;
};

static void largest_take(struct sums *s, u64 kept)
{
	for (u32 i = 0; i < ARENAS_FEW; i++) {
		u64 less = MIN(s->largest[i], kept);

		s->largest[i] = MAX(s->largest[i], kept);
		kept = less;
	}
}

static struct sums where_arenas_sums_of(const struct where_arenas *a, u32 tgid)
{
	struct sums s = {};

	vec_each (e, &a->list) {
		if (e->tgid != tgid)
			continue;
		s.arenas++;
		s.partial += e->partial;
		s.kept += e->kept_bytes;
		s.trimmable += e->trimmable_bytes;
		s.live += live(e->used_bytes, e->fast_bytes, e->cache_bytes);
		s.system += e->system_bytes;
		largest_take(&s, e->kept_bytes);
	}
	return s;
}

/* With few arenas the threads use what others have freed: what all keep is then what the few keep
 * that keep most, unless all need their memory at the same time. */
static void arena_max_try(struct report *r, struct finding *f, const struct sums *s)
{
	char buf[UNIT_BUF];
	u64 saved = s->kept;

	if (s->arenas <= ARENAS_FEW)
		return;
	for (u32 i = 0; i < ARENAS_FEW; i++)
		saved -= s->largest[i];
	finding_line(r, f->try_,
		"Use fewer arenas from the next start on, so that threads reuse blocks that others "
		"freed; it should save %s if threads need their memory one after another, and less "
		"if at once (estimate): `MALLOC_ARENA_MAX=%u COMMAND`",
		fmt_bytes(buf, saved), ARENAS_FEW);
	finding_line(r, f->evidence, "%u arenas; all but the %u that keep the most keep %s",
		s->arenas, ARENAS_FEW, fmt_bytes(buf, saved));
	finding_line(r, f->undo, "Start it without MALLOC_ARENA_MAX");
}

void where_arenas_advise(
	const struct where_arenas *a, const struct where_ledger *l, struct report *r)
{
	struct sums s = where_arenas_sums_of(a, l->tgid);
	char kept[UNIT_BUF], trim[UNIT_BUF], used[UNIT_BUF];
	struct finding *f;

	if (s.kept < KEPT_LEAST || s.kept < l->total_bytes / KEPT_PART)
		return;
	f = report_finding(r, LEVEL_NOTE, "allocator-keeps");
	if (!f)
		return;
	r->has_findings = true;
	f->tgid = l->tgid;
	f->held_bytes = s.kept;
	f->title = report_text(r, "%s keeps %s of freed memory: %.0f %% of what is resident",
		report_text(r, "%s (pid %u)", stream_string(r->stream, l->name) ?: "?", l->tgid),
		fmt_bytes(kept, s.kept), 100.0 * (double)s.kept / (double)l->total_bytes);
	f->confidence = s.partial ? "medium: some arenas could only be read in part"
				  : "high: every chunk of its arenas was read";
	finding_line(r, f->evidence, "%s live, %s in resident pages holding only free blocks",
		fmt_bytes(used, s.live), fmt_bytes(kept, s.kept));
	f->why = "glibc returns memory by itself only from the end of an arena; free blocks "
		 "between live ones stay resident until reused or trimmed.";
	finding_line(r, f->try_,
		"Call malloc_trim(0) in the program after it frees much; it should give back %s. "
		"To try it once (" GDB_CALLS "): `gdb -p %u -batch -ex %s`",
		fmt_bytes(trim, s.trimmable), l->tgid, "call (int)malloc_trim(0)");
	arena_max_try(r, f, &s);
	finding_line(r, f->undo, "Trimmed pages are faulted in again as the program allocates");
	finding_line(r, f->verify, "`memwhy where -p %u`", l->tgid);
}
