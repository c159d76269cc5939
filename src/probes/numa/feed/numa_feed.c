/* See numa_feed.h: records wait until their time is settled, and are then applied in its order. */
#include "probes/numa/feed/numa_feed.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "event/meta.h"
#include "probes/numa/feed/numa_inner.h"

#define SETTLE_SLACK_NS 1000000000ULL /* a probe's drain may take so long */
#define WAITING_MAX (1U << 16)        /* records that may wait before time is looked at */

int numa_feed_new(struct numa_feed **ret)
{
	struct numa_feed *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	rc = objects_new(&f->objects);
	if (rc) {
		free(f);
		return rc;
	}
	groups_init(&f->thread_numbers, sizeof(u64), sizeof(u32));
	groups_init(&f->variable_copies, 2 * sizeof(u32), sizeof(u32));
	groups_init(&f->parents, sizeof(u32), sizeof(struct parent));
	groups_init(&f->cpus, sizeof(u32), sizeof(s32));
	for (u32 i = 0; i < NUMA_NODES; i++)
		f->machine.tier[i] = -1;
	*ret = f;
	return 0;
}

static void waiting_free(struct numa_feed *f)
{
	vec_free(&f->waiting);
	vec_free(&f->waiting_other);
	vec_free(&f->due);
	vec_free(&f->due_other);
}

void numa_feed_free(struct numa_feed *f)
{
	if (!f)
		return;
	objects_free(f->objects);
	waiting_free(f);
	big_free(&f->accesses);
	numa_index_free(f);
	vec_free(&f->threads);
	vec_free(&f->thread_stacks);
	groups_free(&f->thread_numbers);
	vec_free(&f->variables);
	groups_free(&f->variable_copies);
	groups_free(&f->parents);
	vec_free(&f->page_moves);
	vec_free(&f->thread_moves);
	vec_free(&f->runs);
	vec_free(&f->places);
	groups_free(&f->cpus);
	free(f);
}

#define RADIX_BITS 11
#define RADIX (1U << RADIX_BITS)

/* One pass of a stable sort, by some bits of the time since `base`. */
static void radix_pass(
	const struct due *from, struct due *to, size_t n, u64 base, u32 shift, u32 counts[RADIX])
{
	u32 sum = 0;

	memset(counts, 0, RADIX * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[(from[i].time_ns - base) >> shift & (RADIX - 1)]++;
	for (u32 i = 0; i < RADIX; i++) {
		u32 here = counts[i];

		counts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[(from[i].time_ns - base) >> shift & (RADIX - 1)]++] = from[i];
}

/* Stable: records of one time stay in the order in which they came. */
static int due_sort(struct numa_feed *f)
{
	size_t n = f->due.n;
	u64 base = UINT64_MAX, top = 0;
	u32 counts[RADIX];
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		u64 time = f->due.v[i].time_ns;

		base = MIN(base, time);
		top = MAX(top, time);
		sorted = sorted && (!i || f->due.v[i - 1].time_ns <= time);
	}
	if (sorted)
		return 0;
	f->due_other.n = 0;
	if (vec_reserve(&f->due_other, n))
		return -ENOMEM;
	for (u32 shift = 0; shift < 64 && (top - base) >> shift; shift += RADIX_BITS) {
		radix_pass(f->due.v, f->due_other.v, n, base, shift, counts);
		f->due_other.n = n;
		vec_swap(&f->due, &f->due_other);
	}
	return 0;
}

/* What was applied makes room: the rest, which is in order now, is moved together. */
static int waiting_compact(struct numa_feed *f, size_t done)
{
	u64 words = 0;

	if (done == f->due.n) {
		f->due.n = f->waiting.n = 0;
		return 0;
	}
	for (size_t i = done; i < f->due.n; i++)
		words += ((const struct rec *)&f->waiting.v[f->due.v[i].at])->size / sizeof(u64);
	f->waiting_other.n = 0;
	if (vec_reserve(&f->waiting_other, words))
		return -ENOMEM;
	for (size_t i = done; i < f->due.n; i++) {
		const struct rec *r = (const void *)&f->waiting.v[f->due.v[i].at];
		u64 at = f->waiting_other.n;

		memcpy(&f->waiting_other.v[at], r, r->size);
		f->due.v[i - done] = (struct due){f->due.v[i].time_ns, at};
		f->waiting_other.n += r->size / sizeof(u64);
	}
	vec_swap(&f->waiting, &f->waiting_other);
	f->due.n -= done;
	return 0;
}

/* What the records that come next are about, as far as they are about one process. */
static void expect(struct numa_feed *f, size_t from)
{
	u64 addresses[OBJECTS_BATCH];
	u32 n = 0, tgid = 0;

	for (size_t i = from; i < f->due.n && i < from + OBJECTS_BATCH; i++) {
		const struct rec *r = (const void *)&f->waiting.v[f->due.v[i].at];
		u64 address = r->kind == REC_NUMA_SAMPLE  ? ((const struct numa_sample *)r)->address
			      : r->kind == REC_NUMA_BLOCK ? ((const struct numa_block *)r)->address
							  : 0;
		/* The same place in all records. */
		u32 of = ((const struct numa_sample *)r)->tgid;

		if (!address || (n && of != tgid))
			continue;
		tgid = of;
		addresses[n++] = address;
	}
	if (n)
		objects_expect(f->objects, tgid, addresses, n);
}

int numa_feed_settle(struct numa_feed *f, u64 time_ns)
{
	size_t done = 0;
	int rc;

	if (!f->due.n || time_ns < f->settled_ns)
		return 0;
	rc = due_sort(f);
	while (!rc && done < f->due.n && f->due.v[done].time_ns < time_ns) {
		const struct due *d = &f->due.v[done];

		if (done % OBJECTS_BATCH == 0)
			expect(f, done);
		done++;
		rc = numa_apply(f, (const struct rec *)&f->waiting.v[d->at],
			d->time_ns && d->time_ns < f->settled_ns);
	}
	f->settled_ns = MAX(f->settled_ns, time_ns == UINT64_MAX ? f->newest_ns : time_ns);
	return rc ? rc : waiting_compact(f, done);
}

static int waiting_add(struct numa_feed *f, const struct rec *r)
{
	u64 words = r->size / sizeof(u64);

	if (vec_reserve(&f->waiting, words) ||
		vec_push(&f->due, ((struct due){r->time_ns, f->waiting.n})))
		return -ENOMEM;
	memcpy(&f->waiting.v[f->waiting.n], r, r->size);
	f->waiting.n += words;
	return 0;
}

/* What has no time in the order of things. */
static int facts_take(struct numa_feed *f, const struct rec *r)
{
	struct numa_machine *m = &f->machine;

	if (r->kind == REC_NUMA_NODE) {
		const struct numa_node *n = (const void *)r;
		u64 bit = 1ULL << n->node;

		m->nodes |= bit;
		m->cpus = r->flags & NUMA_NODE_CPUS ? m->cpus | bit : m->cpus & ~bit;
		m->memory = r->flags & NUMA_NODE_MEMORY ? m->memory | bit : m->memory & ~bit;
		m->bytes[n->node] = n->bytes;
		m->free_bytes[n->node] = n->free_bytes;
		m->tier[n->node] = n->tier;
		memcpy(m->distances[n->node], n->distances, sizeof(n->distances));
		return 0;
	}
	if (r->kind == REC_NUMA_CPU) {
		const struct numa_cpu *c = (const void *)r;
		s32 *node = groups_get(&f->cpus, &c->cpu);

		if (!node)
			return -ENOMEM;
		*node = c->node;
		return 0;
	}
	return numa_variable_add(f, (const void *)r);
}

/* What a probe has told when it was drained, it has told up to then. */
static int loss_take(struct numa_feed *f, const struct rec *r)
{
	const struct rec_loss *l = (const void *)r;

	if (strncmp(l->probe, "numa", sizeof(l->probe)) != 0 || r->time_ns < SETTLE_SLACK_NS)
		return 0;
	return numa_feed_settle(f, r->time_ns - SETTLE_SLACK_NS);
}

int numa_feed_take(struct numa_feed *f, const struct rec *r)
{
	int rc;

	if (r->kind == REC_LOSS && r->size >= sizeof(struct rec_loss))
		return loss_take(f, r);
	if (r->kind < REC_NUMA_SAMPLE || r->kind > REC_NUMA_CPU)
		return 0;
	if (!numa_record_good(r)) {
		f->damaged++;
		return 0;
	}
	if (r->kind == REC_NUMA_NODE || r->kind == REC_NUMA_CPU || r->kind == REC_NUMA_VARIABLE)
		return facts_take(f, r);
	f->newest_ns = MAX(f->newest_ns, r->time_ns);
	rc = waiting_add(f, r);
	if (rc || f->due.n % WAITING_MAX || f->newest_ns < NUMA_WINDOW_NS)
		return rc;
	return numa_feed_settle(f, f->newest_ns - NUMA_WINDOW_NS);
}

/* The node of a CPU, where only the CPU was told. */
static void numa_feed_nodes_fill(struct numa_feed *f)
{
	for (size_t i = 0; f->cpus.n && i < f->accesses.n; i++) {
		struct numa_access *a = &f->accesses.v[i];
		u32 cpu = (u32)a->cpu;
		const s32 *node =
			a->cpu_node < 0 && a->cpu >= 0 ? groups_find(&f->cpus, &cpu) : NULL;

		if (node && *node >= 0 && *node < NUMA_NODES)
			a->cpu_node = (s8)*node;
		if (a->page_node < 0 && a->from == NUMA_PAGE_LEVEL)
			a->page_node = a->cpu_node;
	}
}

static int access_compare(const void *a, const void *b)
{
	const struct numa_access *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Accesses that came late stand behind those that were settled before. */
static void accesses_order(struct numa_feed *f)
{
	size_t i = 1;

	while (i < f->accesses.n && f->accesses.v[i - 1].time_ns <= f->accesses.v[i].time_ns)
		i++;
	if (i < f->accesses.n)
		qsort(f->accesses.v, f->accesses.n, sizeof(f->accesses.v[0]), access_compare);
}

int numa_feed_finish(struct numa_feed *f)
{
	int rc = numa_feed_settle(f, UINT64_MAX);

	waiting_free(f);
	accesses_order(f);
	numa_feed_nodes_fill(f);
	rc = rc ? rc : numa_refine(f);
	return rc ? rc : numa_index(f);
}

void numa_feed_forget(struct numa_feed *f)
{
	numa_index_free(f);
	f->accesses.n = f->page_moves.n = f->thread_moves.n = f->places.n = f->runs.n = 0;
	f->refined = 0;
	f->damaged = f->late = 0;
	memset(f->unattributed, 0, sizeof(f->unattributed));
}
