/* The lines of `top`: one a process, from its samples and from what it did in the interval. */
#include <string.h>

#include "base/clock.h"
#include "top/top_view.h"

#define LOOK_STANDS_NS (15 * NSEC_PER_SEC)

static u64 cpu_ns(const struct process_memory *m)
{
	return m->utime_ns + m->stime_ns;
}

static void memory_cells(struct cell *row, const struct top_process *p)
{
	const struct process_memory *m = &p->now;

	row[TOP_RSS] = cell_u64(m->rss_bytes);
	row[TOP_ANON] = cell_u64(m->h.flags & PROCESS_EXACT ? m->exact_anon_bytes : m->anon_bytes);
	if (m->h.flags & PROCESS_EXACT) {
		row[TOP_FILE] = cell_u64(m->rss_file_bytes);
		row[TOP_SHMEM] = cell_u64(m->rss_shmem_bytes);
		row[TOP_SWAP] = cell_u64(m->swap_bytes);
		row[TOP_TABLE_BYTES] = cell_u64(m->page_table_bytes);
		row[TOP_THREADS] = cell_u64(m->threads);
	}
	if (m->h.flags & PROCESS_OOM) {
		row[TOP_OOM] = cell_u64(m->oom_score);
		row[TOP_OOM_ADJ] = cell_s64(m->oom_score_adj);
	}
}

/* What page tables said, not long ago. */
static void look_cells(const struct top_view *v, struct cell *row, const struct top_process *p)
{
	u64 now = v->sample.end_ns;

	if (p->looked_ns && now < p->looked_ns + LOOK_STANDS_NS) {
		row[TOP_PSS] = cell_u64(p->pss_bytes);
		row[TOP_THP] = cell_f64(p->thp_ratio);
	}
	if (p->near_ns && now < p->near_ns + LOOK_STANDS_NS)
		row[TOP_LOCAL] = cell_f64(p->local_ratio);
}

/* What changed needs two samples, and is by their distance; of recordings that have no sample where
 * nothing changed, by the interval. */
static void change_cells(struct report *r, struct cell *row, const struct top_process *p)
{
	const struct process_memory *m = &p->now, *was = &p->was;
	double seconds = m->h.flags & PROCESS_EVERY ? top_seconds(r, was->h.time_ns, m->h.time_ns)
						    : report_seconds(r);

	if (!m->h.size || !was->h.size)
		return;
	row[TOP_GROWTH] =
		cell_s64((s64)(((double)m->rss_bytes - (double)was->rss_bytes) / seconds));
	row[TOP_CPU] = cell_f64((double)counter_rise(cpu_ns(was), cpu_ns(m)) / 1e9 / seconds);
	row[TOP_MINOR] =
		cell_f64((double)counter_rise(was->minflt_total, m->minflt_total) / seconds);
	row[TOP_MAJOR] =
		cell_f64((double)counter_rise(was->majflt_total, m->majflt_total) / seconds);
}

static void event_cells(struct report *r, struct cell *row, const struct top_process *p)
{
	if (stream_probe_active(r->stream, "faults")) {
		row[TOP_MINOR] = cell_per_s(r, p->minor);
		row[TOP_MAJOR] = cell_per_s(r, p->major);
		row[TOP_FAULT] = cell_share(r, top_waited_ns(r, p, p->fault_ns));
	}
	if (stream_probe_active(r->stream, "stalls"))
		row[TOP_STALL] = cell_share(r, top_waited_ns(r, p, top_stall_ns(p)));
}

static u64 limit_of(const struct cgroup_usage *u)
{
	return MIN(u->limit_bytes, u->high_bytes);
}

/* The limits of the group and of those above it. */
static void limit_cells(const struct top_view *v, struct report *r, struct cell *row, u64 cgroup)
{
	u64 lowest = CGROUP_USAGE_NONE, room = CGROUP_USAGE_NONE;

	for (size_t i = 0; i < v->facts.cgroups.n; i++) {
		const struct cgroup_usage *u = groups_value(&v->facts.cgroups, i);
		u64 limit = limit_of(u), left;

		if (limit == CGROUP_USAGE_NONE || !report_cgroup_within(r, cgroup, u->cgroup))
			continue;
		lowest = MIN(lowest, limit);
		left = limit > u->usage_bytes ? limit - u->usage_bytes : 0;
		room = MIN(room, left);
	}
	if (lowest == CGROUP_USAGE_NONE)
		return;
	row[TOP_LIMIT] = cell_u64(lowest);
	row[TOP_ROOM] = cell_u64(room);
}

static void process_row(const struct top_view *v, struct report *r, struct table *t, u32 tgid,
	const struct top_process *p)
{
	struct cell *row = table_row(t);
	u64 cgroup = p->now.cgroup ? p->now.cgroup : p->cgroup;
	const char *path = cgroup ? stream_cgroup(r->stream, cgroup) : NULL;
	const char *name = report_program(r, tgid);
	const char *user =
		p->now.h.flags & PROCESS_USER ? stream_string(r->stream, p->now.user) : NULL;

	if (!row)
		return;
	row[TOP_PID] = cell_u64(tgid);
	row[TOP_COMM] = cell_text(!strcmp(name, "?") && p->comm[0]
					  ? report_textn(r, p->comm, sizeof(p->comm))
					  : name);
	if (p->now.h.size)
		memory_cells(row, p);
	if (user)
		row[TOP_USER] = cell_text(user);
	look_cells(v, row, p);
	change_cells(r, row, p);
	event_cells(r, row, p);
	if (!path)
		return;
	row[TOP_CGROUP] = cell_text(path);
	limit_cells(v, r, row, cgroup);
}

const struct table *top_processes_report(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_PROCESSES, "Processes");

	if (!t)
		return NULL;
	t->sort = "rss_bytes";
	t->empty = "No process was seen.";
	for (size_t i = 0; i < v->processes.n; i++) {
		const struct top_process *p = groups_value(&v->processes, i);
		u32 tgid = *(const u32 *)groups_key(&v->processes, i);

		if (tgid && top_process_is_there(v, p))
			process_row(v, r, t, tgid, p);
	}
	return t;
}
