/* See numa_groups.h. How nodes share an object is in numa_sharing.c. */
#include "probes/numa/judge/numa_groups.h"

#include <errno.h>
#include <string.h>

#include "probes/numa/judge/numa_hint_stats.h"
#include "probes/numa/judge/numa_patterns.h"
#include "probes/numa/judge/numa_sharing.h"

void numa_sums_add(struct numa_sums *s, const struct numa_access *a)
{
	u64 n = numa_access_weight(a), latency = numa_access_latency(a);
	int remote = numa_access_remote(a);

	s->samples++;
	s->accesses += n;
	s->loads += a->op == NUMA_LOAD || a->op == NUMA_LOAD_STORE ? n : 0;
	s->stores += a->op == NUMA_STORE || a->op == NUMA_LOAD_STORE ? n : 0;
	s->hitm += a->flags & NUMA_HITM ? n : 0;
	if (a->cpu_node >= 0)
		s->from[a->cpu_node] += n;
	if (a->page_node >= 0)
		s->to[a->page_node] += n;
	if (remote < 0)
		return;
	s->judged_samples++;
	s->hint_samples += a->source == NUMA_HINT_FAULT;
	s->remote_samples += remote > 0;
	*(remote ? &s->remote : &s->local) += n;
	if (remote && a->cpu_node >= 0)
		s->remote_from[a->cpu_node] += n;
	if (latency) {
		s->cycles = a->flags & NUMA_CYCLES;
		s->latency_n[remote]++;
		s->latency_sum[remote] += latency;
	}
}

double numa_remote_ratio(const struct numa_sums *s)
{
	u64 n = s->local + s->remote;

	return n ? (double)s->remote / (double)n : -1;
}

static u64 mask_of(const u64 v[NUMA_NODES])
{
	u64 mask = 0;

	for (u32 i = 0; i < NUMA_NODES; i++)
		mask |= v[i] ? 1ULL << i : 0;
	return mask;
}

u64 numa_from_mask(const struct numa_sums *s)
{
	return mask_of(s->from);
}

u64 numa_to_mask(const struct numa_sums *s)
{
	return mask_of(s->to);
}

struct numa_site numa_site_of(const struct object *o, u32 object, bool by_object)
{
	struct numa_site s;

	memset(&s, 0, sizeof(s));
	s.kind = o->kind;
	s.stack = o->stack;
	s.name = o->name;
	s.file = o->file;
	if (o->kind == OBJECT_STACK) {
		s.tgid = o->tgid;
		s.thread = o->thread + 1;
		s.stack = 0;
	} else if (o->kind == OBJECT_VARIABLE && o->section == NUMA_TLS) {
		s.tgid = o->tgid;
		s.thread = o->thread + 1;
	} else if (!o->stack && !o->name && !o->file && o->kind != OBJECT_KERNEL) {
		s.tgid = o->tgid;
		s.start = o->kind == OBJECT_BLOCK || o->kind == OBJECT_HEAP ? 0 : o->start;
	}
	if (by_object) {
		s.tgid = o->tgid;
		s.start = o->start;
		s.object = object + 1;
	}
	return s;
}

/* Who touched an object: its allocator, others, and when the second thread came. */
static int object_threads(struct numa_feed *f, u32 object, const struct object *o,
	struct numa_group *g, struct groups *threads)
{
	struct numa_flow flow = numa_flow_object(f, object);
	const struct numa_access *a;
	u32 first = NUMA_NONE;
	bool shared = false;

	while ((a = numa_flow_next(&flow))) {
		u64 n = numa_access_weight(a);

		if (!groups_get(threads, &a->thread))
			return -ENOMEM;
		first = first == NUMA_NONE ? a->thread : first;
		shared = shared || a->thread != first;
		g->before_sharing += shared ? 0 : n;
		if (o->thread != NUMA_NONE && o->kind != OBJECT_VARIABLE) {
			g->by_known += n;
			g->by_allocator += a->thread == o->thread ? n : 0;
		}
		g->huge += a->page >= 2;
		if (a->source == NUMA_FIRST_TOUCH) {
			g->first_touches++;
			g->first_touch_other +=
				o->node >= 0 && a->page_node >= 0 && a->page_node != o->node;
		}
		numa_sums_add(&g->sums, a);
	}
	g->shared_objects += shared;
	return 0;
}

/* Most of its accesses are hint faults. */
static bool has_hints(const struct numa_group *g)
{
	return 2 * g->sums.hint_samples > g->sums.judged_samples;
}

static int hint_stats_fill(struct numa_feed *f, const u32 *objects, struct numa_group *g)
{
	_cleanup_(hint_stats_free) struct hint_stats_work work;
	int rc = 0;

	hint_stats_begin(&work);
	for (u32 i = g->first; i < g->first + g->n && !rc; i++)
		rc = hint_stats_object(f, objects[i], &work);
	return rc ? rc : hint_stats_finish(f, &work, g);
}

static int group_fill(struct numa_feed *f, const u32 *objects, struct numa_group *g)
{
	_cleanup_(numa_sharing_free) struct numa_sharing_work work = {};
	struct groups threads;
	u64 most = 0;
	int rc = 0;

	groups_init(&threads, sizeof(u32), 0);
	for (u32 i = g->first; i < g->first + g->n && !rc; i++) {
		u64 before = g->sums.samples;
		struct object o;

		if (!numa_object(f, objects[i], &o))
			continue;
		rc = object_threads(f, objects[i], &o, g, &threads);
		rc = rc ? rc : numa_sharing_object(f, objects[i], &o, &work);
		if (g->sums.samples - before > most) {
			most = g->sums.samples - before;
			g->largest = objects[i];
			g->bytes = o.bytes;
		}
		g->shared_maps += o.shared;
		g->frees += o.freer != NUMA_NONE;
		g->remote_frees += o.freer != NUMA_NONE && o.node >= 0 && o.free_node >= 0 &&
				   o.node != o.free_node;
	}
	g->threads = (u32)threads.n;
	groups_free(&threads);
	numa_sharing_finish(&work, g);
	/* With fewer there is no verdict, whatever they tell. */
	if (!rc && has_hints(g) && g->sums.remote_samples >= NUMA_MIN_REMOTE)
		rc = hint_stats_fill(f, objects, g);
	return rc;
}

/* Which group each object is in; counts them. */
static int objects_group(struct numa_feed *f, bool by_object, struct numa_groups *g, u32 *group_of,
	struct groups *sites)
{
	u32 n = numa_objects(f);

	for (u32 i = 0; i < n; i++) {
		struct numa_site site;
		struct object o;
		size_t before = sites->n;
		u32 *at;

		group_of[i] = NUMA_NONE;
		if (!numa_object(f, i, &o))
			continue;
		site = numa_site_of(&o, i, by_object);
		at = groups_get(sites, &site);
		if (!at)
			return -ENOMEM;
		if (sites->n != before) {
			*at = (u32)g->list.n;
			if (vec_push(&g->list, ((struct numa_group){.site = site})))
				return -ENOMEM;
		}
		group_of[i] = *at;
		g->list.v[*at].n++;
		g->n_objects++;
	}
	return 0;
}

static int objects_sort(struct numa_groups *g, const u32 *group_of, u32 n)
{
	u32 at = 0;

	g->objects = malloc(MAX(g->n_objects, 1U) * sizeof(u32));
	if (!g->objects)
		return -ENOMEM;
	vec_each (group, &g->list) {
		group->first = at;
		at += group->n;
		group->n = 0;
	}
	for (u32 i = 0; i < n; i++)
		if (group_of[i] != NUMA_NONE) {
			struct numa_group *group = &g->list.v[group_of[i]];

			g->objects[group->first + group->n++] = i;
		}
	return 0;
}

struct process {
	u64 hints;
	u32 threads;
};

/* hints: by thread. */
static int lone_sum(const struct numa_feed *f, const u64 *hints, struct numa_groups *g)
{
	struct groups processes;
	int rc = 0;

	groups_init(&processes, sizeof(u32), sizeof(struct process));
	for (u32 i = 0; i < numa_threads(f) && !rc; i++) {
		struct process *p = groups_get(&processes, &numa_thread(f, i)->tgid);

		rc = p ? 0 : -ENOMEM;
		if (p) {
			p->threads++;
			p->hints += hints[i];
		}
	}
	for (size_t i = 0; i < processes.n; i++) {
		const struct process *p = groups_value(&processes, i);

		g->lone_hints += p->threads == 1 ? p->hints : 0;
	}
	groups_free(&processes);
	return rc;
}

static int all_sum(struct numa_feed *f, struct numa_groups *g)
{
	_cleanup_free_ u64 *hints = calloc(numa_threads(f) + 1UL, sizeof(*hints));
	struct numa_flow flow = numa_flow_all(f);
	const struct numa_access *a;

	g->matrix = calloc((size_t)NUMA_NODES * NUMA_NODES, sizeof(u64));
	if (!g->matrix || !hints)
		return -ENOMEM;
	while ((a = numa_flow_next(&flow))) {
		numa_sums_add(&g->all, a);
		hints[a->thread] += a->source == NUMA_HINT_FAULT;
		if (a->cpu_node >= 0 && a->page_node >= 0)
			g->matrix[a->cpu_node * NUMA_NODES + a->page_node] += numa_access_weight(a);
	}
	return lone_sum(f, hints, g);
}

static void moves_add(struct numa_feed *f, struct numa_groups *g, const u32 *group_of)
{
	size_t n;
	const struct numa_moved *moves = numa_page_moves(f, &n);

	for (size_t i = 0; i < n; i++) {
		struct numa_group *group;

		if (moves[i].object >= numa_objects(f) || group_of[moves[i].object] == NUMA_NONE)
			continue;
		group = &g->list.v[group_of[moves[i].object]];
		group->moved_pages += moves[i].pages;
		group->balanced_pages += moves[i].why == NUMA_MOVE_BALANCING ? moves[i].pages : 0;
	}
}

int numa_groups_make(struct numa_feed *f, bool by_object, struct numa_groups *ret)
{
	u32 n = numa_objects(f), *group_of = malloc(MAX(n, 1U) * sizeof(*group_of));
	struct numa_groups g = {};
	struct groups sites;
	int rc = group_of ? 0 : -ENOMEM;

	groups_init(&sites, sizeof(struct numa_site), sizeof(u32));
	rc = rc ? rc : objects_group(f, by_object, &g, group_of, &sites);
	groups_free(&sites);
	rc = rc ? rc : objects_sort(&g, group_of, n);
	rc = rc ? rc : all_sum(f, &g);
	vec_each (group, &g.list)
		rc = rc ? rc : group_fill(f, g.objects, group);
	if (!rc)
		moves_add(f, &g, group_of);
	free(group_of);
	if (rc) {
		numa_groups_free(&g);
		return rc;
	}
	*ret = g;
	return 0;
}

void numa_groups_free(struct numa_groups *g)
{
	vec_free(&g->list);
	free(g->objects);
	free(g->matrix);
	*g = (struct numa_groups){};
}
