/*
 * Variables: they may be told of long after they were touched, so accesses to mappings that can
 * hold some get them as objects at the end.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "probes/numa/feed/numa_inner.h"

#define FORKS_MAX 64 /* how far up variables are looked for */
#define LOOK_BACK 16 /* variables of earlier programs of a process may lie over each other */

int numa_variable_add(struct numa_feed *f, const struct numa_variable *r)
{
	struct variable v = {
		.start = r->start,
		.end = r->start + r->bytes,
		.time_ns = r->h.time_ns,
		.tgid = r->tgid,
		.tid = r->tid,
		.name = r->name,
		.file = r->file,
		.object = NUMA_NONE,
		.section = r->section,
	};

	if (v.end <= v.start)
		return 0;
	f->variables_sorted = false;
	return vec_push(&f->variables, v);
}

static int variable_compare(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void variables_sort(struct numa_feed *f)
{
	if (!f->variables_sorted && f->variables.n)
		qsort(f->variables.v, f->variables.n, sizeof(f->variables.v[0]), variable_compare);
	f->variables_sorted = true;
}

/* How many are not behind this one in their order. */
static size_t variables_up_to(const struct numa_feed *f, const struct variable *last)
{
	size_t low = 0, high = f->variables.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (variable_compare(&f->variables.v[mid], last) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The variable of a process at an address: of the program that it was, or the thread whose stack it
 * was, at that time. */
static struct variable *variable_find(struct numa_feed *f, u32 tgid, u64 address, u64 time_ns)
{
	struct variable at = {.tgid = tgid, .start = address, .time_ns = UINT64_MAX}, *best = NULL;
	size_t i = variables_up_to(f, &at);

	at.time_ns = time_ns;
	for (u32 n = 0; i && n < LOOK_BACK; n++) {
		struct variable *v = &f->variables.v[i - 1];

		if (v->tgid != tgid)
			break;
		if (v->time_ns > time_ns) { /* over all later ones at once */
			at.start = v->start;
			i = variables_up_to(f, &at);
			continue;
		}
		if (address < v->end && (!best || v->time_ns > best->time_ns))
			best = v;
		i--;
	}
	return best;
}

/* A child has its parent's, as they were when it was forked. */
static struct variable *variable_of(struct numa_feed *f, u32 tgid, u64 address, u64 time_ns)
{
	for (u32 n = 0; n < FORKS_MAX; n++) {
		struct variable *v = variable_find(f, tgid, address, time_ns);
		const struct parent *p;

		if (v)
			return v;
		p = groups_find(&f->parents, &tgid);
		if (!p || time_ns >= p->until_ns)
			return NULL;
		tgid = p->tgid;
		time_ns = MIN(time_ns, p->time_ns);
	}
	return NULL;
}

static u32 variable_make(
	struct numa_feed *f, const struct variable *v, const struct object *in, u32 tgid)
{
	struct object what = {
		.start = v->start,
		.bytes = v->end - v->start,
		.begin_ns = in->begin_ns,
		.end_ns = in->end_ns,
		.tgid = tgid,
		.thread = v->tid ? numa_thread_find(f, v->tgid, v->tid) : NUMA_NONE,
		.name = v->name,
		.file = v->file,
		.from = NUMA_NONE,
		.node = -1,
		.kind = OBJECT_VARIABLE,
		.prot = in->prot,
		.section = v->section,
	};

	return objects_add(f->objects, &what);
}

/* The number of a variable as an object of a process. NUMA_NONE: no memory. */
static u32 variable_object(
	struct numa_feed *f, struct variable *v, const struct object *in, u32 tgid)
{
	u32 key[2] = {tgid, (u32)(v - f->variables.v)}, *copy;

	if (v->tgid == tgid) {
		if (v->object == NUMA_NONE)
			v->object = variable_make(f, v, in, tgid);
		return v->object;
	}
	copy = groups_get(&f->variable_copies, key);
	if (!copy)
		return NUMA_NONE;
	if (!*copy)
		*copy = variable_make(f, v, in, tgid) + 1;
	return *copy - 1;
}

static bool holds_variables(const struct object *o)
{
	return o->kind == OBJECT_DATA || o->kind == OBJECT_FILE || o->kind == OBJECT_ANON ||
	       o->kind == OBJECT_STACK || o->kind == OBJECT_HEAP || o->kind == OBJECT_CODE ||
	       o->kind == OBJECT_KERNEL;
}

static int refine(struct numa_feed *f, struct numa_access *a)
{
	struct object in;
	struct variable *v;
	u32 tgid, object;

	if (!objects_get(f->objects, a->object, &in) || !holds_variables(&in))
		return 0;
	tgid = in.kind == OBJECT_KERNEL ? 0 : f->threads.v[a->thread].tgid;
	v = variable_of(f, tgid, a->address, a->time_ns);
	if (!v)
		return 0;
	object = variable_object(f, v, &in, tgid);
	if (object == NUMA_NONE)
		return -ENOMEM;
	a->object = object;
	return 0;
}

/* New variables may say more of what was refined before. */
int numa_refine(struct numa_feed *f)
{
	int rc = 0;

	if (f->variables.n && !f->variables_sorted) {
		f->refined = 0;
		groups_clear(&f->variable_copies);
	}
	variables_sort(f);
	for (size_t i = f->variables.n ? f->refined : f->accesses.n; i < f->accesses.n && !rc; i++)
		if (f->accesses.v[i].object != NUMA_NONE)
			rc = refine(f, &f->accesses.v[i]);
	f->refined = f->accesses.n;
	return rc;
}
