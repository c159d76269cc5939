/* The view of `top`: what records are kept of, and for how long. See top.h. */
#include "top/top_view.h"

#include <string.h>

#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/stalls/stalls.h"

/* Records further apart than this are of two samples: one is sent in less. */
#define SAMPLE_GAP_NS (150 * NSEC_PER_MSEC)

static int top_init(void *state, const struct view_options *o, struct err *err)
{
	struct top_view *v = state;

	facts_init(&v->facts);
	groups_init(&v->processes, sizeof(u32), sizeof(struct top_process));
	groups_init(&v->usage, sizeof(u64), sizeof(struct cgroup_usage));
	groups_init(&v->zones, sizeof(struct top_zone_key), sizeof(struct frag_zone));
	groups_init(&v->paths, sizeof(struct top_path_key), sizeof(struct top_path_sum));
	return held_init(&v->held, o, err);
}

static void sample_add(struct top_sample *s, u64 time_ns)
{
	if (time_ns > s->end_ns + SAMPLE_GAP_NS)
		s->begin_ns = time_ns;
	s->end_ns = MAX(s->end_ns, time_ns);
}

static int top_view_memory_feed(struct top_view *v, const struct process_memory *r)
{
	struct top_process *p = groups_get(&v->processes, &r->tgid);

	if (!p)
		return -ENOMEM;
	if (p->now.h.size && p->now.start_ns && p->now.start_ns != r->start_ns)
		*p = (struct top_process){}; /* another one has the number now */
	if (!p->was.h.size && p->now.h.size)
		p->was = p->now; /* two samples within its first interval */
	p->now = *r;
	memcpy(p->comm, r->comm, sizeof(p->comm) - 1);
	sample_add(&v->sample, r->h.time_ns);
	return 0;
}

/* A closer look at a process that is known. */
static void detail_feed(struct top_view *v, const struct process_detail *r)
{
	struct top_process *p = groups_find(&v->processes, &r->tgid);

	if (!p || !(r->h.flags & PROCESS_ROLLUP))
		return;
	p->looked_ns = r->h.time_ns;
	p->pss_bytes = r->pss_bytes;
	p->thp_ratio = r->rss_anon_bytes
			       ? MIN(1.0, (double)r->anon_huge_bytes / (double)r->rss_anon_bytes)
			       : 0;
}

static void numa_feed(struct top_view *v, const struct process_numa *r)
{
	struct top_process *p = groups_find(&v->processes, &r->tgid);
	u64 all = 0, near = 0;

	for (u32 i = 0; i < PROCESS_NODES; i++) {
		all += r->resident_pages[i];
		near += r->threads[i] ? r->resident_pages[i] : 0;
	}
	if (!p || !all)
		return;
	p->near_ns = r->h.time_ns;
	p->local_ratio = (double)near / (double)all;
}

static int path_add(struct top_view *v, struct top_path_key k, const char *comm, u64 count, u64 ns)
{
	struct top_path_sum *sum = groups_get(&v->paths, &k);

	if (!sum)
		return -ENOMEM;
	sum->count += count;
	sum->ns += ns;
	memcpy(sum->comm, comm, sizeof(sum->comm) - 1);
	return 0;
}

static struct top_process *top_view_process_get(
	struct top_view *v, u32 tgid, u64 cgroup, const char *comm)
{
	struct top_process *p = groups_get(&v->processes, &tgid);

	if (!p)
		return NULL;
	if (cgroup)
		p->cgroup = cgroup;
	if (!p->comm[0])
		memcpy(p->comm, comm, sizeof(p->comm) - 1);
	return p;
}

static int top_view_fault_feed(struct top_view *v, const struct faults_agg *r)
{
	struct top_process *p = top_view_process_get(v, r->tgid, r->cgroup, r->comm);
	bool major = r->flags & FAULT_MAJOR;
	struct top_path_key k = {.tgid = r->tgid, .stack = r->stack, .map = r->map};

	if (!p)
		return -ENOMEM;
	p->fault_ns += r->total_ns;
	p->swap_in_ns += fault_is_swap_in(r) ? r->total_ns : 0;
	if (major)
		p->major += r->count;
	else
		p->minor += r->count;
	k.what = major ? TOP_PATH_MAJOR : TOP_PATH_MINOR;
	memcpy(k.file, r->file, sizeof(k.file) - 1);
	return path_add(v, k, r->comm, r->count, r->total_ns);
}

static int top_view_stall_feed(struct top_view *v, const struct stalls_agg *r)
{
	struct top_process *p = top_view_process_get(v, r->tgid, r->cgroup, r->comm);
	struct top_path_key k = {.tgid = r->tgid, .stack = r->stack};

	if (!p)
		return -ENOMEM;
	p->stalls += r->count;
	p->stall_ns += r->total_ns;
	p->fault_stall_ns += r->trigger == STALLS_FOR_FAULT ? r->total_ns : 0;
	k.what = r->kind == STALLS_CHARGE ? TOP_PATH_CHARGE : TOP_PATH_ALLOCATION;
	return path_add(v, k, r->comm, r->count, r->total_ns);
}

static int top_view_zone_feed(struct top_view *v, const struct frag_zone *r)
{
	struct top_zone_key k = {.node = r->node};
	struct frag_zone *z;

	memcpy(k.zone, r->zone, sizeof(k.zone) - 1);
	z = groups_get(&v->zones, &k);
	if (!z)
		return -ENOMEM;
	*z = *r;
	z->orders = MIN(z->orders, (u32)FRAG_ORDERS);
	return 0;
}

static void top_view_pressure_feed(struct top_view *v, const struct system_pressure *r)
{
	struct system_pressure *now, *first;

	if (r->resource >= TOP_RESOURCES)
		return;
	now = &v->pressure[r->resource];
	first = &v->pressure_first[r->resource];
	if (!first->h.size)
		*first = *r;
	else if (v->pressure_due[r->resource])
		*first = *now;
	v->pressure_due[r->resource] = false;
	*now = *r;
}

/* The first usage of a group is what its growth is counted from. */
static int top_view_usage_feed(struct top_view *v, const struct cgroup_usage *r)
{
	struct cgroup_usage *first = groups_get(&v->usage, &r->cgroup);

	if (first && !first->h.size)
		*first = *r;
	sample_add(&v->usage_sample, r->h.time_ns);
	return first ? 0 : -ENOMEM;
}

bool top_process_is_there(const struct top_view *v, const struct top_process *p)
{
	bool sampled = p->now.h.size && (!(p->now.h.flags & PROCESS_EVERY) ||
						p->now.h.time_ns >= v->sample.begin_ns);

	return sampled || p->minor || p->major || p->stalls;
}

static bool process_keep(void *arg, const void *key, const void *value)
{
	(void)key;
	return top_process_is_there(arg, value);
}

static void processes_reset(struct top_view *v)
{
	groups_filter(&v->processes, process_keep, v);
	for (size_t i = 0; i < v->processes.n; i++) {
		struct top_process *p = groups_value(&v->processes, i);

		if (!(p->now.h.flags & PROCESS_EVERY)) /* it is sampled when it has changed */
			p->was = p->now;
		p->minor = p->major = p->fault_ns = p->swap_in_ns = 0;
		p->stalls = p->stall_ns = p->fault_stall_ns = 0;
	}
}

static void processes_step(struct top_view *v)
{
	for (size_t i = 0; i < v->processes.n; i++) {
		struct top_process *p = groups_value(&v->processes, i);

		p->was = p->now;
	}
}

static void usage_step(struct top_view *v)
{
	for (size_t i = 0; i < v->usage.n; i++) {
		const struct cgroup_usage *now =
			facts_cgroup(&v->facts, *(const u64 *)groups_key(&v->usage, i));

		if (now)
			*(struct cgroup_usage *)groups_value(&v->usage, i) = *now;
	}
}

static void interval_begin(struct top_view *v)
{
	processes_reset(v);
	groups_clear(&v->paths);
	memset(v->pressure_due, true, sizeof(v->pressure_due));
	v->due.processes = v->due.usage = v->due.values = true;
	v->cost = v->cost_last;
}

/* The first record of a sample: what was last is first. */
static void sample_step(struct top_view *v, const struct rec *r)
{
	struct top_due *due = &v->due;

	if (r->kind == REC_PROCESS_MEMORY && due->processes) {
		processes_step(v);
		due->processes = false;
	}
	if (r->kind == REC_CGROUP_MEMORY && due->usage) {
		usage_step(v);
		due->usage = false;
	}
	if (r->kind != REC_SYSTEM_VALUE)
		return;
	if (due->values) {
		facts_reset(&v->facts);
		due->values_first_ns = due->values_ns;
		due->values = false;
	}
	due->values_ns = r->time_ns;
	if (!due->values_first_ns)
		due->values_first_ns = r->time_ns;
}

static int kind_feed(struct top_view *v, const struct rec *r)
{
	switch (r->kind) {
	case REC_PROCESS_MEMORY:
		return top_view_memory_feed(v, (const void *)r);
	case REC_PROCESS_DETAIL:
		detail_feed(v, (const void *)r);
		return 0;
	case REC_PROCESS_NUMA:
		numa_feed(v, (const void *)r);
		return 0;
	case REC_FAULTS_AGG:
		return top_view_fault_feed(v, (const void *)r);
	case REC_STALLS_AGG:
		return top_view_stall_feed(v, (const void *)r);
	case REC_FRAG_ZONE:
		return top_view_zone_feed(v, (const void *)r);
	case REC_CGROUP_MEMORY:
		return top_view_usage_feed(v, (const void *)r);
	case REC_SESSION: /* again, when all is attached */
		interval_begin(v);
		return 0;
	case REC_COST:
		if (r->size < sizeof(struct rec_cost))
			return 0;
		v->cost_last = *(const struct rec_cost *)r;
		if (!v->cost.h.size)
			v->cost = v->cost_last;
		return 0;
	case REC_SYSTEM_PRESSURE:
		top_view_pressure_feed(v, (const void *)r);
		return 0;
	default:
		return 0;
	}
}

static int top_feed(void *state, const struct rec *r)
{
	struct top_view *v = state;
	int rc;

	sample_step(v, r);
	rc = facts_feed(&v->facts, r);
	rc = rc ? rc : kind_feed(v, r);
	return rc ? rc : held_feed(&v->held, r);
}

static int top_report(void *state, struct report *r)
{
	struct top_view *v = state;

	const struct table *processes = top_processes_report(v, r);

	top_groups_report(v, r);
	top_users_report(r, processes);
	top_machine_report(v, r);
	top_paths_report(v, r);
	return held_report(&v->held, r);
}

static void top_reset(void *state)
{
	struct top_view *v = state;

	interval_begin(v);
	held_reset(&v->held);
}

static bool top_remembers(const void *state)
{
	return held_remembers(&((const struct top_view *)state)->held);
}

static void top_destroy(void *state)
{
	struct top_view *v = state;

	facts_free(&v->facts);
	groups_free(&v->processes);
	groups_free(&v->usage);
	groups_free(&v->zones);
	groups_free(&v->paths);
	held_destroy(&v->held);
}

const struct view top_view = {
	.size = sizeof(struct top_view),
	.tables = (const struct view_table *const[]){top_tables, NULL},
	.init = top_init,
	.feed = top_feed,
	.report = top_report,
	.reset = top_reset,
	.remembers = top_remembers,
	.destroy = top_destroy,
};
