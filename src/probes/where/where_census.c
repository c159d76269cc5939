/* See where_census.h. */
#include "probes/where/where_census.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/clock.h"
#include "base/less.h"
#include "probes/where/where_inner.h"
#include "probes/where/where_ledger.h"
#include "sys/memory/kpage.h"

/* 64 GiB are looked at whole; of more as many pages, which takes some seconds of a CPU. */
#define FRAMES_MOST (16ULL << 20)

#define UNPREPARED_PART 100 /* of the memory: less are allocated and freed between two reads */

#define ROW(row_) (1ULL << (row_))

struct census_kind {
	const char *name;
	u64 rows; /* of the ledger, a bit each */
	const char *words;
};

static const struct census_kind kinds[KPAGE_KINDS] = {
	[KPAGE_FREE] = {"free", ROW(WHERE_FREE), "free"},
	[KPAGE_ANON] = {"anonymous", ROW(WHERE_ANON) | ROW(WHERE_SWAP_CACHE),
		"anonymous, swap_cache"},
	[KPAGE_FILE] = {"files", ROW(WHERE_CACHE), "page_cache"},
	[KPAGE_SHMEM] = {"shared", ROW(WHERE_TMPFS) | ROW(WHERE_SHARED), "tmpfs, shared_memory"},
	[KPAGE_HUGETLB] = {"hugetlb", ROW(WHERE_HUGETLB), "hugetlb"},
	[KPAGE_SLAB] = {"slab", ROW(WHERE_SLAB), "slab; large blocks of kmalloc are in other"},
	[KPAGE_TABLE] = {"page_tables", ROW(WHERE_PAGE_TABLES), "page_tables"},
	[KPAGE_OFFLINE] = {"offline", ROW(WHERE_BALLOON), "balloon, where it is in MemTotal"},
	[KPAGE_RESERVED] = {"reserved", 0, "none"},
	[KPAGE_OTHER] = {"other",
		ROW(WHERE_FREE_CPU) | ROW(WHERE_KERNEL_MISC) | ROW(WHERE_SECONDARY) |
			ROW(WHERE_STACKS) | ROW(WHERE_PERCPU) | ROW(WHERE_VMALLOC) |
			ROW(WHERE_COMPRESSED) | ROW(WHERE_SOCKETS) | ROW(WHERE_PIPES) |
			ROW(WHERE_PAGE_ARRAY) | ROW(WHERE_BOUNCE) | ROW(WHERE_FUSE) |
			ROW(WHERE_CORRUPTED),
		"per_cpu_free, kernel_stacks, percpu, vmalloc, sockets, pipes, rest, ..."},
};

static int refused_tell(struct capture *c, int rc)
{
	if (rc == -ENOENT)
		return capture_note(c, NOTE_NOT_CHECKED,
			"census of pages: this kernel has no /proc/kpageflags "
			"(CONFIG_PROC_PAGE_MONITOR)");
	return capture_note(
		c, NOTE_NOT_CHECKED, "census of pages: /proc/kpageflags: %s", strerror(-rc));
}

/* 0: not known, and then no page of the root counts as charged, as that is number 1. */
static u64 root_of(const struct where *w)
{
	struct cgroup root;

	return cgroup_resolve(&w->mounts, "/", &root) ? 1 : root.id;
}

static u64 present_pages(const struct where *w)
{
	u64 sum = 0;

	vec_each (z, &w->zones.zones)
		sum += z->present_pages;
	return sum;
}

/* Some kernels prepare the page array of free memory only when that is needed
 * (deferred_init=lazy). MemFree has these pages, no zone does, and all their flags are 0. */
static u64 unprepared_pages(struct where *w, u64 page_bytes)
{
	u64 zones = 0, left, all = present_pages(w);

	if (keyvals_read("/proc/meminfo", &w->meminfo))
		return 0;
	vec_each (z, &w->zones.zones)
		zones += z->free_pages;
	left = u64_less(keyvals_get_or(&w->meminfo, "MemFree", 0) / page_bytes, zones);
	return left > all / UNPREPARED_PART ? left : 0;
}

int where_census_send(struct capture *c, struct where *w)
{
	struct where_census r = REC_INIT(struct where_census, REC_WHERE_CENSUS, 0);
	struct kpage_census k;
	u64 began = clock_mono_ns();
	int rc = kpage_census_take(FRAMES_MOST, root_of(w), &k);

	_Static_assert((int)KPAGE_KINDS <= (int)WHERE_CENSUS_KINDS, "they have room");
	if (rc)
		return rc == -ENOMEM ? rc : refused_tell(c, rc);
	r.page_bytes = (u64)sysconf(_SC_PAGESIZE);
	if (!zoneinfo_read(&w->zones))
		kpage_census_close(&k, present_pages(w), unprepared_pages(w, r.page_bytes));
	r.sample = w->sample;
	r.has_charged = k.has_charged;
	r.looked = k.looked;
	r.of = k.of;
	memcpy(r.pages, k.pages, sizeof(k.pages));
	memcpy(r.error, k.error, sizeof(k.error));
	memcpy(r.mapped, k.mapped, sizeof(k.mapped));
	memcpy(r.charged, k.charged, sizeof(k.charged));
	r.took_ns = clock_mono_ns() - began;
	return capture_emit(c, &r.h);
}

static u64 where_census_rows_sum(const struct where_ledger *l, u32 kind)
{
	u64 sum = 0;
	s64 rest = where_rest(l);

	for (u32 i = 0; i < WHERE_ROWS; i++)
		if (kinds[kind].rows >> i & 1 && where_knows(l, i))
			sum += l->bytes[i];
	return kind == KPAGE_OTHER ? sum + (u64)MAX(rest, (s64)0) : sum;
}

/* A kind of pages; the rows that should be the same are beside it in the ledger, where there is
 * one. */
struct census_row {
	const struct census_kind *kind;
	u64 bytes, ledger;
	u64 error_bytes, mapped_bytes, charged_bytes; /* 0: none, or not known */
	bool has_ledger;
};

CELL_EXPR(kind_cell, struct census_row, cell_text(e->kind->name))
CELL_EXPR(ledger_cell, struct census_row, e->has_ledger ? cell_u64(e->ledger) : (struct cell){})
CELL_EXPR(difference_cell, struct census_row,
	e->has_ledger ? cell_s64((s64)(e->bytes - e->ledger)) : (struct cell){})
CELL_EXPR(rows_cell, struct census_row, cell_text(e->kind->words))

#define KNOWN(member_, name_, title_, flags_, help_)                                  \
	CELL_FROM(0, struct census_row, member_, name_, title_, CELL_U64, UNIT_BYTES, \
		COL_LEVEL | (flags_), help_, cell_of_known)

static const struct cell_column columns[] = {
	CELL_BY(0, "kind", "PAGES", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"what the flags of the pages say they are; other: allocated by the kernel, which "
		"does not say for what; reserved: since boot, mostly outside MemTotal",
		kind_cell),
	CELL_NUMBER(struct census_row, bytes, "bytes", "CENSUS", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"how much these are"),
	KNOWN(error_bytes, "bytes_error_bytes", "+/-", COL_RARE,
		"two standard deviations, if only a sample of the pages was looked at; what lies "
		"in few places may have been missed"),
	CELL_BY(0, "ledger_bytes", "LEDGER", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"the sum of the rows of the ledger that should be the same", ledger_cell),
	CELL_BY(0, "difference_bytes", "DIFFERENCE", CELL_S64, UNIT_BYTES, COL_CHANGE,
		"census minus ledger: counters move while the census is taken", difference_cell),
	KNOWN(mapped_bytes, "mapped_bytes", "MAPPED", COL_RARE, "of these, mapped by processes"),
	KNOWN(charged_bytes, "charged_bytes", "CHARGED", COL_RARE,
		"charged to a control group below the root; what removed groups left behind is "
		"charged to the nearest remaining ancestor"),
	CELL_BY(0, "rows", "ROWS OF THE LEDGER", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"which rows these are", rows_cell),
};

const struct view_table where_census_tables[] = {
	CELLS_VIEW("census", columns),
	{},
};

int where_census_report(
	const struct where_census *s, const struct where_ledger *l, struct report *r)
{
	struct table *t = cells_table(
		r, "census", "What the pages themselves say", columns, ARRAY_SIZE(columns));

	if (!t)
		return -ENOMEM;
	t->story = t->lasts = true;
	for (u32 k = 0; s->h.kind && k < KPAGE_KINDS; k++) {
		const struct census_row row = {
			.kind = &kinds[k],
			.bytes = s->pages[k] * s->page_bytes,
			.error_bytes = s->error[k] * s->page_bytes,
			.mapped_bytes = s->mapped[k] * s->page_bytes,
			.charged_bytes = s->has_charged ? s->charged[k] * s->page_bytes : 0,
			.has_ledger = l && kinds[k].rows,
			.ledger = l && kinds[k].rows ? where_census_rows_sum(l, k) : 0,
		};

		if (s->pages[k] || kinds[k].rows)
			cells_one(t, r, columns, &row, NULL);
	}
	if (s->h.kind && s->looked < s->of)
		report_note(r, "the census looked at %llu of %llu pages, chosen at random",
			s->looked, s->of);
	return t->failed ? -ENOMEM : 0;
}
