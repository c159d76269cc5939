/* See heap_mappings.h. */
#include "probes/heap/view/heap_mappings.h"

#include <errno.h>

enum {
	M_KIND = BY_C_OWN,
	M_PEAK,
	M_LIVE,
	M_CALLS,
	M_MAPPED,
	M_UNMAPPED,
	M_FAILED,
	M_STACK,
	M_N,
};

_Static_assert(M_N == HEAP_MAPPING_COLUMNS, "columns of mappings");

const struct by_column heap_mapping_columns[HEAP_MAPPING_COLUMNS] = {
	BY_TASK_COLUMNS,
	[M_KIND] = {0, {"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
			       "anonymous or file (private), shared, shared file, or break (brk, "
			       "sbrk); empty: not known"}},
	[M_PEAK] = {0, {"peak_bytes", "PEAK", CELL_U64, UNIT_BYTES, COL_LEVEL,
			       "live when its process had most mapped by itself (exact; of several "
			       "processes: summed, each at its own peak)"}},
	[M_LIVE] = {0, {"live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
			       "mapped and not unmapped by the end of the interval, or of the "
			       "process (exact)"}},
	[M_CALLS] = {0, {"calls", "CALLS", CELL_U64, UNIT_COUNT, 0,
				"mmap, mremap, brk and sbrk that mapped or moved, in the interval "
				"(exact)"}},
	[M_MAPPED] = {0, {"mapped_bytes", "MAPPED", CELL_U64, UNIT_BYTES, 0,
				 "by these, in whole pages; of an mremap, what it grew by"}},
	[M_UNMAPPED] = {0, {"unmapped_bytes", "UNMAPPED", CELL_U64, UNIT_BYTES, 0,
				   "of what this stack mapped: unmapped in the interval, by any "
				   "code, or replaced (MAP_FIXED)"}},
	[M_FAILED] = {0, {"failed", "FAILED", CELL_U64, UNIT_COUNT, 0,
				 "calls of this stack that failed, munmap's too"}},
	[M_STACK] = {BY_STACK, {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "who mapped"}},
};

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

static const struct by_spec spec = BY_SPEC(heap_mapping_columns, struct key, struct sums);

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
static int site_add(
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

static int row_add(struct heap_mappings *m, struct table *t, struct report *r, const struct key *k,
	const struct sums *s)
{
	struct cell all[M_N] = {};

	by_task_cells(r, m->sums.by, &k->task, all);
	all[BY_C_TID] = (struct cell){};
	if (heap_mapped_name(k->kind))
		all[M_KIND] = cell_text(heap_mapped_name(k->kind));
	all[M_PEAK] = cell_u64(s->peak);
	all[M_LIVE] = cell_u64(s->live);
	all[M_CALLS] = cell_u64(s->calls);
	all[M_MAPPED] = cell_u64(s->mapped);
	all[M_UNMAPPED] = cell_u64(s->unmapped);
	all[M_FAILED] = cell_u64(s->failed);
	all[M_STACK] = cell_stack(k->task.stack);
	return by_sums_row(&m->sums, t, all);
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

		rc = site_add(m, at, total_of(arg, at->now.process));
	}
	for (size_t i = 0; i < m->sums.groups.n && !rc; i++) {
		const struct sums *s = groups_value(&m->sums.groups, i);

		if (s->calls || s->failed || s->unmapped || s->live || s->peak)
			rc = row_add(m, t, r, groups_key(&m->sums.groups, i), s);
	}
	return rc;
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
