/* Records of heaps into series: see leak_heap.h. */
#include <errno.h>

#include "probes/leak/leak_heap.h"

void leak_heap_init(struct leak_heap *h)
{
	groups_init(&h->processes, sizeof(u32), sizeof(struct leak_process));
	groups_init(&h->sites, sizeof(struct leak_heap_key), sizeof(struct leak_heap_site));
	leak_mappings_init(&h->mappings);
}

static s64 change(u64 now, u64 before)
{
	return (s64)(now - before);
}

/* Its sums, which the sums of its stacks follow. */
static int total_feed(struct leak_heap *h, const struct heap_total *t)
{
	struct leak_process *p = groups_get(&h->processes, &t->process);

	if (!p)
		return -ENOMEM;
	if (!p->now.h.size)
		leak_clock_begin(&p->clock, t->start_ns);
	leak_series_add(&p->series, &p->clock, change(t->live_bytes, p->now.live_bytes));
	p->now = *t;
	p->drain_ns = t->end_ns ? t->end_ns : t->h.time_ns;
	return 0;
}

static int site_feed(struct leak_heap *h, const struct heap_site *r)
{
	const struct leak_process *p = groups_find(&h->processes, &r->process);
	struct leak_heap_key k = {r->process, r->stack, r->site};
	struct leak_heap_site *s = p ? groups_get(&h->sites, &k) : NULL;

	if (!s)
		return p ? -ENOMEM : 0;
	leak_series_add(&s->series, &p->clock, change(r->live_bytes, s->now.live_bytes));
	s->now = *r;
	return 0;
}

static int mapping_feed(struct leak_heap *h, const struct heap_mapping *r)
{
	return leak_mapping_feed(&h->mappings, groups_find(&h->processes, &r->process), r);
}

static void series_join(struct leak_heap *h, u32 process)
{
	leak_mappings_join(&h->mappings, process);
	for (size_t i = 0; i < h->sites.n; i++) {
		const struct leak_heap_key *k = groups_key(&h->sites, i);

		if (k->process == process)
			leak_series_join(
				&((struct leak_heap_site *)groups_value(&h->sites, i))->series);
	}
}

/* All that there was until now has been fed. */
static void drain_ends(struct leak_heap *h)
{
	for (size_t i = 0; i < h->processes.n; i++) {
		struct leak_process *p = groups_value(&h->processes, i);
		u64 time_ns = p->drain_ns;

		p->drain_ns = 0;
		if (!time_ns || !leak_clock_drain(&p->clock, time_ns))
			continue;
		leak_series_join(&p->series);
		series_join(h, p->now.process);
	}
}

static void session_ends(struct leak_heap *h, u64 time_ns)
{
	for (size_t i = 0; i < h->processes.n; i++) {
		struct leak_process *p = groups_value(&h->processes, i);

		if (!p->now.end_ns)
			leak_clock_end(&p->clock, time_ns);
	}
}

int leak_heap_feed(struct leak_heap *h, const struct rec *r)
{
	switch (r->kind) {
	case REC_HEAP_TOTAL:
		return total_feed(h, (const struct heap_total *)r);
	case REC_HEAP_SITE:
		return site_feed(h, (const struct heap_site *)r);
	case REC_HEAP_MAPPING:
		return mapping_feed(h, (const struct heap_mapping *)r);
	case REC_COST: /* sent behind each drain */
		drain_ends(h);
		return 0;
	case REC_END:
		session_ends(h, r->time_ns);
		return 0;
	default:
		return 0;
	}
}

void leak_heap_reset(struct leak_heap *h)
{
	for (size_t i = 0; i < h->processes.n; i++) {
		struct leak_process *p = groups_value(&h->processes, i);

		p->base = p->now;
	}
	for (size_t i = 0; i < h->sites.n; i++) {
		struct leak_heap_site *s = groups_value(&h->sites, i);

		s->base = s->now;
	}
	leak_mappings_reset(&h->mappings);
}

void leak_heap_free(struct leak_heap *h)
{
	groups_free(&h->processes);
	groups_free(&h->sites);
	groups_free(&h->mappings);
}
