/* See oom_detail.h. */
#include "probes/oom/oom_detail.h"

#include <errno.h>
#include <string.h>

#define LEAST_NS 400000000ULL /* one sample tells no growth */

const char *oom_text(struct report *r, const char *s, int max)
{
	return *s ? report_text(r, "%.*s", max, s) : NULL;
}

CELL_GET(oom_kill_cell)
{
	return cell_u64((*(const struct kill *const *)row->view)->number);
}

static const struct growth *growth_of(const struct row_of *row, size_t offset)
{
	const struct growth *g = (const void *)((const char *)row->sums + offset);

	return g->known && g->span_ns >= LEAST_NS ? g : NULL;
}

CELL_GET(oom_grown_cell)
{
	const struct growth *g = growth_of(row, offset);

	return g ? cell_s64((s64)(g->bytes - g->first_bytes)) : (struct cell){};
}

CELL_GET(oom_span_cell)
{
	const struct growth *g = growth_of(row, offset);

	return g ? cell_u64(g->span_ns) : (struct cell){};
}

CELL_GET(oom_pace_cell)
{
	const struct growth *g = growth_of(row, offset);

	return g ? cell_s64(g->per_second) : (struct cell){};
}

/* The view of all rows. */
struct detail {
	const struct kill *x;
	const struct kills *k;
	const struct kill_detail *d;
};

#define DETAIL ((const struct detail *)row->view)

/* What is known of the victim best. */
static struct kill_sizes victim_sizes(const struct row_of *row, const struct kill_process *p)
{
	struct kill_sizes s = {};

	if (p->victim)
		s = kill_sizes(DETAIL->k, DETAIL->x);
	s.known = s.known && s.swap_known;
	return s;
}

static CELL_GET(process_bytes)
{
	const struct kill_process *p = row->sums;
	const struct kill_sizes s = victim_sizes(row, p);

	return cell_u64(s.known        ? s.anon + s.file + s.shmem + s.swap
			: p->candidate ? (p->rss_pages + p->swap_pages) * kills_page(DETAIL->k)
				       : p->growth.bytes);
}

static CELL_GET(process_swap)
{
	const struct kill_process *p = row->sums;
	const struct kill_sizes s = victim_sizes(row, p);

	return cell_u64(s.known        ? s.swap
			: p->candidate ? p->swap_pages * kills_page(DETAIL->k)
				       : p->growth.swap_bytes);
}

static CELL_GET(process_score)
{
	const struct kill *x = DETAIL->x;
	const struct kill_process *p = row->sums;
	u64 total = x->seen && x->mark.flags & OOM_CONTROL_KNOWN ? x->mark.total_pages : 0;
	s64 pages =
		(s64)(p->rss_pages + p->swap_pages + p->page_table_bytes / kills_page(DETAIL->k));

	return p->candidate && (!p->adj || total) ? cell_s64(pages + (s64)(total / 1000) * p->adj)
						  : (struct cell){};
}

CELL_EXPR(process_comm, struct kill_process, cell_text(oom_text(r, e->comm, COMM_LEN)))
CELL_EXPR(process_victim, struct kill_process, cell_bool(e->victim))
CELL_EXPR(process_adj, struct kill_process, e->candidate ? cell_s64(e->adj) : (struct cell){})
CELL_EXPR(process_uid, struct kill_process, e->candidate ? cell_u64(e->uid) : (struct cell){})
CELL_EXPR(process_cgroup, struct kill_process,
	cell_text(e->sampled ? stream_cgroup(r->stream, e->cgroup) : NULL))

static const struct cell_column process_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_NUMBER(struct kill_process, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name", process_comm),
	CELL_BY(0, "victim", "VICTIM", CELL_BOOL, UNIT_NONE, 0, "it is the one that was killed",
		process_victim),
	CELL_BY(0, "bytes", "MEMORY", CELL_U64, UNIT_BYTES, 0,
		"resident and in swap: by the kernel's table of candidates, else by the last "
		"sample",
		process_bytes),
	CELL_BY(0, "swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, 0, "of this, in swap", process_swap),
	CELL_FROM(0, struct kill_process, growth, "grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"growth in the minute before (from samples every half second)", oom_grown_cell),
	CELL_FROM(0, struct kill_process, growth, "span_ns", "OVER", CELL_U64, UNIT_NS, 0,
		"part of that minute in which it was seen", oom_span_cell),
	CELL_FROM(0, struct kill_process, growth, "bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"growth a second in the last five seconds (from samples)", oom_pace_cell),
	CELL_BY(0, "oom_score_adj", "ADJ", CELL_S64, UNIT_NONE, 0,
		"oom_score_adj; known of candidates", process_adj),
	CELL_BY(0, "score_pages", "SCORE", CELL_S64, UNIT_PAGES, 0,
		"what the kernel compares: pages resident, in swap and of page tables, and "
		"oom_score_adj; where that needs what is not known, empty",
		process_score),
	CELL_BY(0, "uid", "UID", CELL_U64, UNIT_ID, COL_WIDE, "user; known of candidates",
		process_uid),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group",
		process_cgroup),
};

struct group_row {
	const struct oom_level *l;
	u64 page;
	bool at_limit;
	struct growth growth;
};

CELL_EXPR(group_cgroup, struct group_row, cell_text(stream_cgroup(r->stream, e->l->cgroup)))
CELL_EXPR(group_at_limit, struct group_row, cell_bool(e->at_limit))
CELL_EXPR(group_bytes, struct group_row, cell_u64(e->l->usage_pages * e->page))
CELL_EXPR(group_limit, struct group_row,
	e->l->limit_pages == OOM_NO_LIMIT ? (struct cell){} : cell_u64(e->l->limit_pages * e->page))
CELL_EXPR(group_hits, struct group_row, cell_u64(e->l->failcnt))

static const struct cell_column group_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0,
		"the victim's control group, and those above it", group_cgroup),
	CELL_BY(0, "at_limit", "AT LIMIT", CELL_BOOL, UNIT_NONE, 0,
		"it was its limit that the allocation met", group_at_limit),
	CELL_BY(0, "bytes", "MEMORY", CELL_U64, UNIT_BYTES, 0,
		"its memory at the kill, that of groups below included", group_bytes),
	CELL_BY(0, "limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, 0, "its own limit", group_limit),
	CELL_BY(0, "limit_hit_total", "LIMIT HIT", CELL_U64, UNIT_COUNT, 0,
		"times the limit was met, since the group was made (failcnt)", group_hits),
	CELL_FROM(0, struct group_row, growth, "grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"growth in the minute before (from samples)", oom_grown_cell),
	CELL_FROM(0, struct group_row, growth, "bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"growth a second in the last five seconds (from samples)", oom_pace_cell),
};

static const char *zone_state(const struct oom_zone *z)
{
	return z->free_bytes < z->min_bytes    ? "below min"
	       : z->free_bytes < z->low_bytes  ? "below low"
	       : z->free_bytes < z->high_bytes ? "below high"
					       : "above";
}

static CELL_GET(zone_order)
{
	const struct oom_zone *z = row->sums;

	for (u32 o = MIN(z->orders, (u32)OOM_ORDERS); o-- > 0;)
		if (z->flags & OOM_ZONE_BLOCKS && z->free_blocks[o])
			return cell_u64(o);
	return (struct cell){};
}

CELL_EXPR(zone_name, struct oom_zone, cell_text(oom_text(r, e->zone, OOM_ZONE_NAME)))
CELL_EXPR(zone_state_cell, struct oom_zone, cell_text(zone_state(e)))
CELL_EXPR(zone_when, struct oom_zone, cell_text(e->flags &OOM_ZONE_SAMPLED ? "before" : "kill"))

static const struct cell_column zone_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_NUMBER(struct oom_zone, node, "node", "NODE", UNIT_ID, 0, "NUMA node"),
	CELL_BY(0, "zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone", zone_name),
	CELL_NUMBER(struct oom_zone, free_bytes, "free_bytes", "FREE", UNIT_BYTES, 0, "free"),
	CELL_NUMBER(struct oom_zone, min_bytes, "min_bytes", "MIN", UNIT_BYTES, 0, "min watermark"),
	CELL_NUMBER(struct oom_zone, low_bytes, "low_bytes", "LOW", UNIT_BYTES, 0, "low watermark"),
	CELL_NUMBER(
		struct oom_zone, high_bytes, "high_bytes", "HIGH", UNIT_BYTES, 0, "high watermark"),
	CELL_NUMBER(struct oom_zone, managed_bytes, "managed_bytes", "SIZE", UNIT_BYTES, 0,
		"managed by the page allocator"),
	CELL_BY(0, "state", "STATE", CELL_TEXT, UNIT_NONE, 0,
		"free memory is below min, below low, below high, or above", zone_state_cell),
	CELL_BY(0, "largest_order", "LARGEST", CELL_U64, UNIT_ID, 0,
		"order of the largest free block", zone_order),
	CELL_BY(0, "when", "WHEN", CELL_TEXT, UNIT_NONE, 0,
		"kill: in the kernel's report; before: the last sample, up to a second old",
		zone_when),
};

CELL_EXPR(memory_name, struct growth, cell_text(history_value_name((u32)(e - DETAIL->d->values))))
CELL_EXPR(memory_change, struct growth, cell_s64((s64)(e->bytes - e->first_bytes)))

static const struct cell_column memory_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_BY(0, "name", "MEMINFO", CELL_TEXT, UNIT_NONE, 0, "as in /proc/meminfo", memory_name),
	CELL_NUMBER(struct growth, bytes, "bytes", "BEFORE THE KILL", UNIT_BYTES, 0,
		"at the last sample before, up to 250 ms old"),
	CELL_NUMBER(struct growth, first_bytes, "first_bytes", "A MINUTE AGO", UNIT_BYTES, 0,
		"a minute before, or at the start"),
	CELL_BY(0, "change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, 0, "the difference",
		memory_change),
};

CELL_EXPR(slab_name, struct history_slab, cell_text(oom_text(r, e->name, HISTORY_NAME)))
CELL_EXPR(slab_grown, struct history_slab, cell_s64((s64)(e->bytes - e->first_bytes)))

static const struct cell_column slab_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_BY(0, "cache", "SLAB CACHE", CELL_TEXT, UNIT_NONE, 0, "one of the biggest caches",
		slab_name),
	CELL_NUMBER(struct history_slab, bytes, "bytes", "SIZE", UNIT_BYTES, 0,
		"pages of its slabs at the last sample, up to 5 s old"),
	CELL_BY(0, "grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0, "since the start", slab_grown),
};

static CELL_GET(pressure_name)
{
	static const char *const names[HISTORY_RESOURCES] = {NULL, "memory", "io", "cpu"};

	return cell_text(names[(const struct history_pressure *)row->sums - DETAIL->d->pressure]);
}

CELL_EXPR(pressure_some, struct history_pressure, cell_f64(e->some / 10000.0))
CELL_EXPR(pressure_full, struct history_pressure, cell_f64(e->full / 10000.0))

static const struct cell_column pressure_columns[] = {
	OOM_KILL_CELL(oom_kill_cell),
	CELL_BY(0, "resource", "PRESSURE", CELL_TEXT, UNIT_NONE, 0, "memory, io or cpu",
		pressure_name),
	CELL_BY(0, "some_ratio", "SOME", CELL_F64, UNIT_RATIO, 0,
		"share of the ten seconds before in which a task waited", pressure_some),
	CELL_BY(0, "full_ratio", "FULL", CELL_F64, UNIT_RATIO, 0,
		"share in which all that were not idle waited", pressure_full),
};

const struct view_table oom_detail_tables[] = {
	CELLS_VIEW("processes", process_columns),
	CELLS_VIEW("cgroups", group_columns),
	CELLS_VIEW("zones", zone_columns),
	CELLS_VIEW("memory", memory_columns),
	CELLS_VIEW("slabs", slab_columns),
	CELLS_VIEW("pressure", pressure_columns),
	{},
};

#define OPEN(r_, name_, title_, cols_) cells_table(r_, name_, title_, cols_, ARRAY_SIZE(cols_))

int oom_details_open(struct report *r, struct oom_details *ret)
{
	struct oom_details t;

	t.processes = OPEN(
		r, "processes", "Processes at the kill, and their last minute", process_columns);
	t.groups = OPEN(r, "cgroups", "The victim's control groups", group_columns);
	t.memory = OPEN(r, "memory", "The machine's memory", memory_columns);
	t.zones = OPEN(r, "zones", "Zones against their watermarks", zone_columns);
	t.ledger = oom_ledger_open(r);
	t.pressure = OPEN(r, "pressure", "Pressure in the ten seconds before", pressure_columns);
	t.slabs = OPEN(r, "slabs", "The biggest slab caches", slab_columns);
	if (!t.processes || !t.groups || !t.memory || !t.zones || !t.pressure || !t.slabs ||
		!t.ledger)
		return -ENOMEM;
	*ret = t;
	return 0;
}

bool oom_concerns(struct report *r, const struct kill_process *p, const char *oom_cgroup)
{
	const char *path = stream_cgroup(r->stream, p->cgroup);
	size_t n = oom_cgroup ? strlen(oom_cgroup) : 0;

	if (p->victim || p->candidate || n <= 1) /* "/" */
		return true;
	return path && !strncmp(path, oom_cgroup, n) && (!path[n] || path[n] == '/');
}

static int process_rows(
	struct table *t, struct report *r, const struct detail *v, const char *oom_cgroup)
{
	int rc = 0;

	for (u32 i = 0; i < v->d->n_processes && !rc; i++)
		if (oom_concerns(r, &v->d->processes[i], oom_cgroup))
			rc = cells_one(t, r, process_columns, &v->d->processes[i], v);
	t->sort = "bytes";
	return rc;
}

static int group_rows(struct table *t, struct report *r, const struct detail *v)
{
	int at_limit = kill_level(v->x), rc = 0;

	for (u32 i = 0; i < v->x->mark.levels && !rc; i++) {
		const struct group_row row = {&v->x->mark.chain[i], kills_page(v->k),
			at_limit == (int)i, v->d->groups[i]};

		rc = cells_one(t, r, group_columns, &row, v);
	}
	return rc;
}

/* The tables of which all that is known is shown. */
static int known_rows(struct oom_details *t, struct report *r, const struct detail *v)
{
	const struct kill_detail *d = v->d;
	int rc = 0;

	for (u32 i = 0; i < d->n_zones && !rc; i++)
		rc = cells_one(t->zones, r, zone_columns, &d->zones[i], v);
	for (u32 i = 0; i < VALUE_N && !rc; i++)
		if (d->values[i].known)
			rc = cells_one(t->memory, r, memory_columns, &d->values[i], v);
	for (u32 i = 0; i < HISTORY_SLABS && d->slabs[i].bytes && !rc; i++)
		rc = cells_one(t->slabs, r, slab_columns, &d->slabs[i], v);
	for (u32 i = 1; i < HISTORY_RESOURCES && !rc; i++)
		if (d->pressure[i].known)
			rc = cells_one(t->pressure, r, pressure_columns, &d->pressure[i], v);
	return rc;
}

int oom_detail_rows(struct oom_details *t, struct report *r, const struct kills *k,
	const struct kill *x, const char *oom_cgroup)
{
	const struct detail v = {x, k, kill_detail(k, x)};
	int rc = v.d ? process_rows(t->processes, r, &v, oom_cgroup) : 0;

	if (!v.d)
		return 0;
	rc = rc ? rc : group_rows(t->groups, r, &v);
	rc = rc ? rc : known_rows(t, r, &v);
	return rc ? rc : oom_ledger_rows(t->ledger, r, x, v.d, oom_cgroup);
}
