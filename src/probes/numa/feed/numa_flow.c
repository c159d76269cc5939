/* See numa_feed.h: the indexes of accesses by object and by thread, and walks over them. */
#include <errno.h>

#include "probes/numa/feed/numa_inner.h"

void numa_index_free(struct numa_feed *f)
{
	free(f->by_object);
	free(f->object_at);
	free(f->by_thread);
	free(f->thread_at);
	f->by_object = f->object_at = f->by_thread = f->thread_at = NULL;
	f->n_objects = f->n_threads = 0;
}

static u32 numa_flow_group_of(const struct numa_access *a, bool by_thread, u32 n)
{
	u32 g = by_thread ? a->thread : a->object;

	return g < n ? g : n; /* those without one come last */
}

/* Numbers of accesses, sorted by group and within it by time, and where each group begins: at[n]
 * to at[n + 1] are those without one. */
static int index_make(struct numa_feed *f, bool by_thread, u32 n, u32 **ret_numbers, u32 **ret_at)
{
	u32 *at = calloc((size_t)n + 3, sizeof(*at));
	u32 *numbers = malloc(MAX(f->accesses.n, 1UL) * sizeof(*numbers));

	if (!at || !numbers) {
		free(at);
		free(numbers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->accesses.n; i++)
		at[numa_flow_group_of(&f->accesses.v[i], by_thread, n) + 2]++;
	for (u32 g = 2; g < n + 3; g++)
		at[g] += at[g - 1];
	for (size_t i = 0; i < f->accesses.n; i++)
		numbers[at[numa_flow_group_of(&f->accesses.v[i], by_thread, n) + 1]++] = (u32)i;
	*ret_numbers = numbers;
	*ret_at = at;
	return 0;
}

int numa_index(struct numa_feed *f)
{
	int rc;

	numa_index_free(f);
	f->n_objects = objects_count(f->objects);
	rc = index_make(f, false, f->n_objects, &f->by_object, &f->object_at);
	if (rc)
		f->n_objects = 0;
	return rc;
}

u32 numa_objects(const struct numa_feed *f)
{
	return f->n_objects;
}

bool numa_object(const struct numa_feed *f, u32 object, struct object *ret)
{
	return object < f->n_objects && f->object_at[object] < f->object_at[object + 1] &&
	       objects_get(f->objects, object, ret);
}

bool numa_object_any(const struct numa_feed *f, u32 object, struct object *ret)
{
	return objects_get(f->objects, object, ret);
}

u32 numa_threads(const struct numa_feed *f)
{
	return (u32)f->threads.n;
}

const struct numa_thread *numa_thread(const struct numa_feed *f, u32 thread)
{
	return thread < f->threads.n ? &f->threads.v[thread] : NULL;
}

u32 numa_thread_find(const struct numa_feed *f, u32 tgid, u32 tid)
{
	u64 name = numa_thread_name(tgid, tid);
	const u32 *number = groups_find(&f->thread_numbers, &name);

	return number ? *number : NUMA_NONE;
}

struct numa_flow numa_flow_all(const struct numa_feed *f)
{
	return (struct numa_flow){f->accesses.v, NULL, 0, f->accesses.n};
}

struct numa_flow numa_flow_thread(struct numa_feed *f, u32 thread)
{
	struct numa_flow flow = {.accesses = f->accesses.v};

	if (!f->by_thread && !index_make(f, true, (u32)f->threads.n, &f->by_thread, &f->thread_at))
		f->n_threads = (u32)f->threads.n;
	if (thread >= f->n_threads)
		return flow;
	flow.numbers = f->by_thread;
	flow.at = f->thread_at[thread];
	flow.end = f->thread_at[thread + 1];
	return flow;
}

static struct numa_flow objects_flow(const struct numa_feed *f, u32 object)
{
	return (struct numa_flow){
		f->accesses.v, f->by_object, f->object_at[object], f->object_at[object + 1]};
}

struct numa_flow numa_flow_object(const struct numa_feed *f, u32 object)
{
	return object < f->n_objects ? objects_flow(f, object) : (struct numa_flow){};
}

const struct numa_access *numa_flow_next(struct numa_flow *flow)
{
	u64 i;

	if (flow->at >= flow->end)
		return NULL;
	i = flow->at++;
	return &flow->accesses[flow->numbers ? flow->numbers[i] : i];
}

u64 numa_unattributed(const struct numa_feed *f, enum numa_why why)
{
	return why < NUMA_WHYS ? f->unattributed[why] : 0;
}

u64 numa_damaged(const struct numa_feed *f)
{
	return f->damaged;
}

u64 numa_late(const struct numa_feed *f)
{
	return f->late;
}

const struct numa_machine *numa_machine(const struct numa_feed *f)
{
	return &f->machine;
}

const struct numa_moved *numa_page_moves(const struct numa_feed *f, size_t *ret_n)
{
	*ret_n = f->page_moves.n;
	return f->page_moves.v;
}

const struct numa_moved *numa_thread_moves(const struct numa_feed *f, size_t *ret_n)
{
	*ret_n = f->thread_moves.n;
	return f->thread_moves.v;
}

const struct numa_ran *numa_thread_runs(const struct numa_feed *f, size_t *ret_n)
{
	*ret_n = f->runs.n;
	return f->runs.v;
}

const struct numa_placed *numa_places(const struct numa_feed *f, size_t *ret_n)
{
	*ret_n = f->places.n;
	return f->places.v;
}

s32 numa_cpu_node(const struct numa_feed *f, u32 cpu)
{
	const s32 *node = groups_find(&f->cpus, &cpu);

	return node && *node >= 0 && *node < NUMA_NODES ? *node : -1;
}
