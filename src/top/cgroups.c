/* The groups of `top`: what is charged to each, against its limit, and what its processes did. */
#include "top/top_view.h"

/* Of the processes that are listed, by their group. */
struct own {
	u64 processes, major, stall_ns;
};

static int own_sum(const struct top_view *v, const struct report *r, struct groups *ret)
{
	groups_init(ret, sizeof(u64), sizeof(struct own));
	for (size_t i = 0; i < v->processes.n; i++) {
		const struct top_process *p = groups_value(&v->processes, i);
		u64 cgroup = p->now.cgroup ? p->now.cgroup : p->cgroup;
		struct own *own;

		if (!cgroup || !top_process_is_there(v, p))
			continue;
		own = groups_get(ret, &cgroup);
		if (!own)
			return -ENOMEM;
		own->processes += p->now.h.size != 0;
		own->major += p->major;
		own->stall_ns += top_waited_ns(r, p, top_stall_ns(p));
	}
	return 0;
}

static void limit_cells(struct cell *row, const struct cgroup_usage *u)
{
	u64 limit = MIN(u->limit_bytes, u->high_bytes);

	row[TOP_G_USAGE] = cell_u64(u->usage_bytes);
	row[TOP_G_SWAP] = cell_u64(u->swap_bytes);
	row[TOP_G_LEVEL] = cell_u64(u->level);
	if (limit == CGROUP_USAGE_NONE)
		return;
	row[TOP_G_LIMIT] = cell_u64(limit);
	row[TOP_G_ROOM] = cell_u64(limit - MIN(limit, u->usage_bytes));
}

static u64 refaults(const struct cgroup_usage *u)
{
	return u->refault_file_total + u->refault_anon_total;
}

static void part_cells(struct cell *row, const struct cgroup_usage *u)
{
	if (!(u->h.flags & CGROUP_HAS_PARTS))
		return;
	row[TOP_G_ANON] = cell_u64(u->anon_bytes);
	row[TOP_G_FILE] = cell_u64(u->file_bytes);
	row[TOP_G_SHMEM] = cell_u64(u->shmem_bytes);
	row[TOP_G_KERNEL] = cell_u64(u->kernel_bytes);
}

/* What rose since the sample before. How many were killed is told once. */
static void change_cells(const struct top_view *v, struct report *r, struct cell *row,
	const struct cgroup_usage *u, const struct cgroup_usage *was)
{
	double seconds = top_seconds(r, was->h.time_ns, u->h.time_ns);
	u64 waited = counter_rise(was->some_total_us, u->some_total_us);

	row[TOP_G_GROWTH] =
		cell_s64((s64)(((double)u->usage_bytes - (double)was->usage_bytes) / seconds));
	row[TOP_G_HITS] =
		cell_f64((double)counter_since(was->limit_hit_total, u->limit_hit_total) / seconds);
	if (!v->due.usage)
		row[TOP_G_KILLS] = cell_u64(counter_rise(was->oom_kill_total, u->oom_kill_total));
	if (u->h.flags & CGROUP_HAS_PRESSURE)
		row[TOP_G_PRESSURE] = cell_f64((double)waited / 1e6 / seconds);
	if (u->h.flags & CGROUP_HAS_PARTS && was->h.flags & CGROUP_HAS_PARTS)
		row[TOP_G_REFAULTS] =
			cell_f64((double)counter_rise(refaults(was), refaults(u)) / seconds);
}

static void own_cells(struct report *r, struct cell *row, const struct own *own)
{
	static const struct own none;

	own = own ? own : &none;
	row[TOP_G_PROCESSES] = cell_u64(own->processes);
	if (stream_probe_active(r->stream, "faults"))
		row[TOP_G_MAJOR] = cell_per_s(r, own->major);
	if (stream_probe_active(r->stream, "stalls"))
		row[TOP_G_STALL] = cell_share(r, own->stall_ns);
}

void top_groups_report(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_GROUPS, "Control groups");
	struct groups own;

	if (!t)
		return;
	t->sort = "usage_bytes";
	own_sum(v, r, &own);
	for (size_t i = 0; i < v->facts.cgroups.n; i++) {
		const struct cgroup_usage *u = groups_value(&v->facts.cgroups, i), *was;
		const char *path = stream_cgroup(r->stream, u->cgroup);
		bool gone = u->h.flags & CGROUP_WATCHED && u->h.time_ns < v->usage_sample.begin_ns;
		struct cell *row = path && !gone ? table_row(t) : NULL;

		if (!row)
			continue;
		row[TOP_G_CGROUP] = cell_text(path);
		limit_cells(row, u);
		part_cells(row, u);
		was = groups_find(&v->usage, &u->cgroup);
		if (was && was->h.size)
			change_cells(v, r, row, u, was);
		own_cells(r, row, groups_find(&own, &u->cgroup));
	}
	groups_free(&own);
}
