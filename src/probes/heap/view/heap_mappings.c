/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include <errno.h>

struct key {
	struct by_task_key task;
	u32 kind, reserved;
};

struct sums {
	u64 calls, failed, mapped, unmapped, live, peak;
};

struct site_key {
	u32 process, site, kind;
};

struct site_state {
	struct heap_mapping now, base;
};

/* Of threads nothing is known. */
static CELL_GET(tid_cell)
{
	return (struct cell){};
}

static CELL_GET(kind_cell)
{
	return cell_text(heap_mapped_name(((const struct key *)row->key)->kind));
}

#define SUM(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct sums, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS_BY(by_pid_cell, tid_cell, by_comm_cell, by_cgroup_cell),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"anonymous or file (private), shared, shared file, or break (brk, sbrk); empty: "
		"not known",
		kind_cell),
	SUM(peak, "peak_bytes", "PEAK", UNIT_BYTES, COL_LEVEL,
		"live when its process had most mapped by itself (exact; of several processes: "
		"summed, each at its own peak)"),
	SUM(live, "live_bytes", "LIVE", UNIT_BYTES, COL_LEVEL,
		"mapped and not unmapped by the end of the interval, or of the process (exact)"),
	SUM(calls, "calls", "CALLS", UNIT_COUNT, 0,
		"mmap, mremap, brk and sbrk that mapped or moved, in the interval (exact)"),
	SUM(mapped, "mapped_bytes", "MAPPED", UNIT_BYTES, 0,
		"by these, in whole pages; of an mremap, what it grew by"),
	SUM(unmapped, "unmapped_bytes", "UNMAPPED", UNIT_BYTES, 0,
		"of what this stack mapped: unmapped in the interval, by any code, or replaced "
		"(MAP_FIXED)"),
	SUM(failed, "failed", "FAILED", UNIT_COUNT, 0,
		"calls of this stack that failed, munmap's too"),
	BY_STACK_CELLS("who mapped"),
};

static bool heap_mappings_is_any(const struct row_of *row)
{
	const struct sums *s = row->sums;

	return s->calls || s->failed || s->unmapped || s->live || s->peak;
}

const struct view_table heap_mapping_tables[] = {CELLS_VIEW("mapping", columns), {}};

static const struct by_spec spec =
	CELLS_SPEC(columns, struct key, struct sums, .shows = heap_mappings_is_any);

int heap_mappings_init(struct heap_mappings *m, const struct view *v, const struct view_options *o,
	struct err *err)
{
	int rc = by_sums_init(&m->sums, &spec, v, o, err);

	if (rc)
		return rc;
	groups_init(&m->sites, sizeof(struct site_key), sizeof(struct site_state));
	groups_init(&m->mapped, sizeof(u32), sizeof(struct heap_mapped));
	return 0;
}

int heap_mapping_feed(struct heap_mappings *m, const struct heap_mapping *r)
{
	struct site_key k = {r->process, r->site, r->kind};
	struct site_state *at = groups_get(&m->sites, &k);

	if (!at)
		return -ENOMEM;
	at->now = *r;
	return 0;
}

int heap_mapped_feed(struct heap_mappings *m, const struct heap_mapped *r)
{
	struct heap_mapped *at = groups_get(&m->mapped, &r->process);

	if (!at)
		return -ENOMEM;
	*at = *r;
	return 0;
}

const struct heap_mapped *heap_mapped_find(const struct heap_mappings *m, u32 process)
{
	return groups_find(&m->mapped, &process);
}

/* Of threads nothing is known: they show as their process. */
static int heap_mappings_site_add(
	struct heap_mappings *m, const struct site_state *at, const struct heap_total *total)
{
	const struct heap_mapping *now = &at->now, *base = &at->base;
	struct key k = {
		.task = by_task_key(m->sums.by, now->tgid, 0, total ? total->cgroup : 0, now->stack,
			total ? total->comm : (const char[COMM_LEN]){}),
		.kind = now->kind,
	};
	struct sums *s = groups_get(&m->sums.groups, &k);

	if (!s)
		return -ENOMEM;
	s->calls += now->calls - base->calls;
	s->failed += now->failed - base->failed;
	s->mapped += now->mapped_bytes - base->mapped_bytes;
	/* what a move or a failed munmap took away before the interval is back in it */
	s->unmapped += now->unmapped_bytes - MIN(base->unmapped_bytes, now->unmapped_bytes);
	s->live += now->live_bytes;
	s->peak += now->peak_bytes;
	return 0;
}

const char *heap_mapped_name(u32 kind)
{
	static const char *const names[HEAP_MAPPED_KINDS] = {
		[HEAP_MAPPED_ANONYMOUS] = "anonymous",
		[HEAP_MAPPED_SHARED] = "shared",
		[HEAP_MAPPED_FILE] = "file",
		[HEAP_MAPPED_FILE_SHARED] = "shared file",
		[HEAP_MAPPED_BREAK] = "break",
	};

	return kind < HEAP_MAPPED_KINDS ? names[kind] : NULL;
}

int heap_mappings_report(struct heap_mappings *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg)
{
	struct table *t = by_sums_table(&m->sums, r, "mapping",
		m->sums.by & BY_STACK ? "Mapped by the programs themselves, by stack"
				      : "Mapped by the programs themselves");
	int rc = t ? 0 : -ENOMEM;

	if (!t)
		return rc;
	t->sort = "peak_bytes";
	groups_clear(&m->sums.groups);
	for (size_t i = 0; i < m->sites.n && !rc; i++) {
		const struct site_state *at = groups_value(&m->sites, i);

		rc = heap_mappings_site_add(m, at, total_of(arg, at->now.process));
	}
	return rc ? rc : by_sums_rows(&m->sums, r, t, NULL);
}

void heap_mappings_reset(struct heap_mappings *m)
{
	for (size_t i = 0; i < m->sites.n; i++) {
		struct site_state *at = groups_value(&m->sites, i);

		at->base = at->now;
	}
}

void heap_mappings_free(struct heap_mappings *m)
{
	by_sums_free(&m->sums);
	groups_free(&m->sites);
	groups_free(&m->mapped);
}
