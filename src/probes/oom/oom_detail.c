/* See oom_detail.h. */
#include "probes/oom/oom_detail.h"

#include <errno.h>
#include <string.h>

#include "probes/oom/oom_ledger.h"

#define LEAST_NS 400000000ULL /* one sample tells no growth */

enum {
	P_KILL,
	P_PID,
	P_COMM,
	P_VICTIM,
	P_BYTES,
	P_SWAP,
	P_GROWN,
	P_SPAN,
	P_PACE,
	P_ADJ,
	P_SCORE,
	P_UID,
	P_CGROUP,
	P_N
};

static const struct column process_columns[P_N] = {
	[P_KILL] = KILL_COLUMN,
	[P_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[P_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	[P_VICTIM] = {"victim", "VICTIM", CELL_BOOL, UNIT_NONE, 0, "it is the one that was killed"},
	[P_BYTES] = {"bytes", "MEMORY", CELL_U64, UNIT_BYTES, 0,
		"resident and in swap: by the kernel's table of candidates, else by the last "
		"sample"},
	[P_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, 0, "of this, in swap"},
	[P_GROWN] = {"grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"growth in the minute before (from samples every half second)"},
	[P_SPAN] = {"span_ns", "OVER", CELL_U64, UNIT_NS, 0,
		"part of that minute in which it was seen"},
	[P_PACE] = {"bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"growth a second in the last five seconds (from samples)"},
	[P_ADJ] = {"oom_score_adj", "ADJ", CELL_S64, UNIT_NONE, 0,
		"oom_score_adj; known of candidates"},
	[P_SCORE] = {"score_pages", "SCORE", CELL_S64, UNIT_PAGES, 0,
		"what the kernel compares: pages resident, in swap and of page tables, and "
		"oom_score_adj; where that needs what is not known, empty"},
	[P_UID] = {"uid", "UID", CELL_U64, UNIT_ID, COL_WIDE, "user; known of candidates"},
	[P_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group"},
};

enum { G_KILL, G_CGROUP, G_LIMITING, G_BYTES, G_LIMIT, G_HITS, G_GROWN, G_PACE, G_N };

static const struct column group_columns[G_N] = {
	[G_KILL] = KILL_COLUMN,
	[G_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0,
		"the victim's control group, and those above it"},
	[G_LIMITING] = {"at_limit", "AT LIMIT", CELL_BOOL, UNIT_NONE, 0,
		"it was its limit that the allocation met"},
	[G_BYTES] = {"bytes", "MEMORY", CELL_U64, UNIT_BYTES, 0,
		"its memory at the kill, that of groups below included"},
	[G_LIMIT] = {"limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, 0, "its own limit"},
	[G_HITS] = {"limit_hit_total", "LIMIT HIT", CELL_U64, UNIT_COUNT, 0,
		"times the limit was met, since the group was made (failcnt)"},
	[G_GROWN] = {"grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"growth in the minute before (from samples)"},
	[G_PACE] = {"bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"growth a second in the last five seconds (from samples)"},
};

enum {
	Z_KILL,
	Z_NODE,
	Z_ZONE,
	Z_FREE,
	Z_MIN,
	Z_LOW,
	Z_HIGH,
	Z_MANAGED,
	Z_STATE,
	Z_ORDER,
	Z_WHEN,
	Z_N
};

static const struct column zone_columns[Z_N] = {
	[Z_KILL] = KILL_COLUMN,
	[Z_NODE] = {"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node"},
	[Z_ZONE] = {"zone", "ZONE", CELL_TEXT, UNIT_NONE, 0, "zone"},
	[Z_FREE] = {"free_bytes", "FREE", CELL_U64, UNIT_BYTES, 0, "free"},
	[Z_MIN] = {"min_bytes", "MIN", CELL_U64, UNIT_BYTES, 0, "min watermark"},
	[Z_LOW] = {"low_bytes", "LOW", CELL_U64, UNIT_BYTES, 0, "low watermark"},
	[Z_HIGH] = {"high_bytes", "HIGH", CELL_U64, UNIT_BYTES, 0, "high watermark"},
	[Z_MANAGED] = {"managed_bytes", "SIZE", CELL_U64, UNIT_BYTES, 0,
		"managed by the page allocator"},
	[Z_STATE] = {"state", "STATE", CELL_TEXT, UNIT_NONE, 0,
		"free memory is below min, below low, below high, or above"},
	[Z_ORDER] = {"largest_order", "LARGEST", CELL_U64, UNIT_ID, 0,
		"order of the largest free block"},
	[Z_WHEN] = {"when", "WHEN", CELL_TEXT, UNIT_NONE, 0,
		"kill: in the kernel's report; before: the last sample, up to a second old"},
};

enum { M_KILL, M_NAME, M_BYTES, M_BEFORE, M_CHANGE, M_N };

static const struct column memory_columns[M_N] = {
	[M_KILL] = KILL_COLUMN,
	[M_NAME] = {"name", "MEMINFO", CELL_TEXT, UNIT_NONE, 0, "as in /proc/meminfo"},
	[M_BYTES] = {"bytes", "BEFORE THE KILL", CELL_U64, UNIT_BYTES, 0,
		"at the last sample before, up to 250 ms old"},
	[M_BEFORE] = {"first_bytes", "A MINUTE AGO", CELL_U64, UNIT_BYTES, 0,
		"a minute before, or at the start"},
	[M_CHANGE] = {"change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, 0, "the difference"},
};

enum { S_KILL, S_NAME, S_BYTES, S_GROWN, S_N };

static const struct column slab_columns[S_N] = {
	[S_KILL] = KILL_COLUMN,
	[S_NAME] = {"cache", "SLAB CACHE", CELL_TEXT, UNIT_NONE, 0, "one of the biggest caches"},
	[S_BYTES] = {"bytes", "SIZE", CELL_U64, UNIT_BYTES, 0,
		"pages of its slabs at the last sample, up to 5 s old"},
	[S_GROWN] = {"grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0, "since the start"},
};

enum { R_KILL, R_RESOURCE, R_SOME, R_FULL, R_N };

static const struct column pressure_columns[R_N] = {
	[R_KILL] = KILL_COLUMN,
	[R_RESOURCE] = {"resource", "PRESSURE", CELL_TEXT, UNIT_NONE, 0, "memory, io or cpu"},
	[R_SOME] = {"some_ratio", "SOME", CELL_F64, UNIT_RATIO, 0,
		"share of the ten seconds before in which a task waited"},
	[R_FULL] = {"full_ratio", "FULL", CELL_F64, UNIT_RATIO, 0,
		"share in which all that were not idle waited"},
};

#define TABLE(name_, cols_)                                         \
	{                                                           \
		name_, cols_, ARRAY_SIZE(cols_), sizeof((cols_)[0]) \
	}

const struct view_table oom_detail_tables[] = {
	TABLE("processes", process_columns),
	TABLE("cgroups", group_columns),
	TABLE("zones", zone_columns),
	TABLE("memory", memory_columns),
	TABLE("slabs", slab_columns),
	TABLE("pressure", pressure_columns),
	{},
};

#define OPEN(r_, name_, title_, cols_) report_table(r_, name_, title_, cols_, ARRAY_SIZE(cols_))

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

const char *oom_text(struct report *r, const char *s, int max)
{
	return *s ? report_text(r, "%.*s", max, s) : NULL;
}

void oom_growth_cells(const struct growth *g, struct cell *ret_grown, struct cell *ret_span,
	struct cell *ret_pace)
{
	if (!g->known || g->span_ns < LEAST_NS)
		return;
	*ret_grown = cell_s64((s64)(g->bytes - g->first_bytes));
	*ret_pace = cell_s64(g->per_second);
	if (ret_span)
		*ret_span = cell_u64(g->span_ns);
}

static void process_cells(struct cell *row, struct report *r, const struct kills *k,
	const struct kill *x, const struct kill_process *p)
{
	u64 page = kills_page(k);
	struct kill_sizes s = kill_sizes(k, x);
	u64 total = x->seen && x->mark.flags & OOM_CONTROL_KNOWN ? x->mark.total_pages : 0;
	s64 score = (s64)(p->rss_pages + p->swap_pages + p->page_table_bytes / page);

	row[P_KILL] = cell_u64(x->number);
	row[P_PID] = cell_u64(p->tgid);
	row[P_COMM] = cell_text(oom_text(r, p->comm, COMM_LEN));
	row[P_VICTIM] = (struct cell){.type = CELL_BOOL, .b = p->victim};
	row[P_BYTES] =
		cell_u64(p->candidate ? (p->rss_pages + p->swap_pages) * page : p->growth.bytes);
	row[P_SWAP] = cell_u64(p->candidate ? p->swap_pages * page : p->growth.swap_bytes);
	if (p->victim && s.known && s.swap_known) {
		row[P_BYTES] = cell_u64(s.anon + s.file + s.shmem + s.swap);
		row[P_SWAP] = cell_u64(s.swap);
	}
	oom_growth_cells(&p->growth, &row[P_GROWN], &row[P_SPAN], &row[P_PACE]);
	if (p->sampled)
		row[P_CGROUP] = cell_text(stream_cgroup(r->stream, p->cgroup));
	if (!p->candidate)
		return;
	row[P_ADJ] = cell_s64(p->adj);
	row[P_UID] = cell_u64(p->uid);
	if (!p->adj || total)
		row[P_SCORE] = cell_s64(score + (s64)(total / 1000) * p->adj);
}

bool oom_concerns(struct report *r, const struct kill_process *p, const char *oom_cgroup)
{
	const char *path = stream_cgroup(r->stream, p->cgroup);
	size_t n = oom_cgroup ? strlen(oom_cgroup) : 0;

	if (p->victim || p->candidate || n <= 1) /* "/" */
		return true;
	return path && !strncmp(path, oom_cgroup, n) && (!path[n] || path[n] == '/');
}

static int process_rows(struct table *t, struct report *r, const struct kills *k,
	const struct kill *x, const struct kill_detail *d, const char *oom_cgroup)
{
	for (u32 i = 0; i < d->n_processes; i++) {
		struct cell *row;

		if (!oom_concerns(r, &d->processes[i], oom_cgroup))
			continue;
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		process_cells(row, r, k, x, &d->processes[i]);
	}
	t->sort = "bytes";
	return 0;
}

static int group_rows(struct table *t, struct report *r, const struct kills *k,
	const struct kill *x, const struct kill_detail *d)
{
	int at_limit = kill_level(x);

	for (u32 i = 0; i < x->mark.levels; i++) {
		const struct oom_level *l = &x->mark.chain[i];
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[G_KILL] = cell_u64(x->number);
		row[G_CGROUP] = cell_text(stream_cgroup(r->stream, l->cgroup));
		row[G_LIMITING] = (struct cell){.type = CELL_BOOL, .b = at_limit == (int)i};
		row[G_BYTES] = cell_u64(l->usage_pages * kills_page(k));
		if (l->limit_pages != OOM_NO_LIMIT)
			row[G_LIMIT] = cell_u64(l->limit_pages * kills_page(k));
		row[G_HITS] = cell_u64(l->failcnt);
		oom_growth_cells(&d->groups[i], &row[G_GROWN], NULL, &row[G_PACE]);
	}
	return 0;
}

static const char *zone_state(const struct oom_zone *z)
{
	return z->free_bytes < z->min_bytes    ? "below min"
	       : z->free_bytes < z->low_bytes  ? "below low"
	       : z->free_bytes < z->high_bytes ? "below high"
					       : "above";
}

static int zone_rows(
	struct table *t, struct report *r, const struct kill *x, const struct kill_detail *d)
{
	for (u32 i = 0; i < d->n_zones; i++) {
		const struct oom_zone *z = &d->zones[i];
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[Z_KILL] = cell_u64(x->number);
		row[Z_NODE] = cell_u64(z->node);
		row[Z_ZONE] = cell_text(oom_text(r, z->zone, OOM_ZONE_NAME));
		row[Z_FREE] = cell_u64(z->free_bytes);
		row[Z_MIN] = cell_u64(z->min_bytes);
		row[Z_LOW] = cell_u64(z->low_bytes);
		row[Z_HIGH] = cell_u64(z->high_bytes);
		row[Z_MANAGED] = cell_u64(z->managed_bytes);
		row[Z_STATE] = cell_text(zone_state(z));
		row[Z_WHEN] = cell_text(z->flags & OOM_ZONE_SAMPLED ? "before" : "kill");
		for (u32 o = MIN(z->orders, (u32)OOM_ORDERS); o-- > 0;)
			if (z->flags & OOM_ZONE_BLOCKS && z->free_blocks[o]) {
				row[Z_ORDER] = cell_u64(o);
				break;
			}
	}
	return 0;
}

static int memory_rows(struct table *t, const struct kill *x, const struct kill_detail *d)
{
	for (u32 i = 0; i < VALUE_N; i++) {
		const struct growth *g = &d->values[i];
		struct cell *row = g->known ? table_row(t) : NULL;

		if (!g->known)
			continue;
		if (!row)
			return -ENOMEM;
		row[M_KILL] = cell_u64(x->number);
		row[M_NAME] = cell_text(history_value_name(i));
		row[M_BYTES] = cell_u64(g->bytes);
		row[M_BEFORE] = cell_u64(g->first_bytes);
		row[M_CHANGE] = cell_s64((s64)(g->bytes - g->first_bytes));
	}
	return 0;
}

static int slab_rows(
	struct table *t, struct report *r, const struct kill *x, const struct kill_detail *d)
{
	for (u32 i = 0; i < HISTORY_SLABS && d->slabs[i].bytes; i++) {
		const struct history_slab *s = &d->slabs[i];
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[S_KILL] = cell_u64(x->number);
		row[S_NAME] = cell_text(oom_text(r, s->name, HISTORY_NAME));
		row[S_BYTES] = cell_u64(s->bytes);
		row[S_GROWN] = cell_s64((s64)(s->bytes - s->first_bytes));
	}
	return 0;
}

static int pressure_rows(struct table *t, const struct kill *x, const struct kill_detail *d)
{
	static const char *const names[HISTORY_RESOURCES] = {NULL, "memory", "io", "cpu"};

	for (u32 i = 1; i < HISTORY_RESOURCES; i++) {
		const struct history_pressure *p = &d->pressure[i];
		struct cell *row = p->known ? table_row(t) : NULL;

		if (!p->known)
			continue;
		if (!row)
			return -ENOMEM;
		row[R_KILL] = cell_u64(x->number);
		row[R_RESOURCE] = cell_text(names[i]);
		row[R_SOME] = cell_f64(p->some / 10000.0);
		row[R_FULL] = cell_f64(p->full / 10000.0);
	}
	return 0;
}

int oom_detail_rows(struct oom_details *t, struct report *r, const struct kills *k,
	const struct kill *x, const char *oom_cgroup)
{
	const struct kill_detail *d = kill_detail(k, x);
	int rc = d ? process_rows(t->processes, r, k, x, d, oom_cgroup) : 0;

	if (!rc && d)
		rc = group_rows(t->groups, r, k, x, d);
	if (!rc && d)
		rc = zone_rows(t->zones, r, x, d);
	if (!rc && d)
		rc = memory_rows(t->memory, x, d);
	if (!rc && d)
		rc = slab_rows(t->slabs, r, x, d);
	if (!rc && d)
		rc = oom_ledger_rows(t->ledger, x, d, oom_cgroup);
	return rc || !d ? rc : pressure_rows(t->pressure, x, d);
}
