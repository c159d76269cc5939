/* See attach.h: how old the live blocks are, by a look at all of them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/heap/attach/heap_attach.h"

#define BATCH 4096

static void ages_clear(struct heap_attach *h, u64 now_ns)
{
	for (size_t i = 0; i < h->sites.n; i++) {
		struct heap_site *s = &((struct heap_site_sum *)groups_value(&h->sites, i))->r;

		s->oldest_ms = 0;
		s->old_blocks = s->old_bytes = 0;
		memset(s->ages, 0, sizeof(s->ages));
	}
	vec_each (p, &h->processes)
		/* what lives from the first third of the time on is old, as in program.c */
		p->old_ms = 1 + (now_ns - MIN(now_ns, p->start_ns)) / 3 * 2 / 1000000;
}

static void attach_ages_block_look(struct heap_attach *h, const struct heap_block *b, u64 now_ns)
{
	struct heap_site_sum *sum = groups_find(&h->sites, &b->site);
	u64 ms = (now_ns - MIN(now_ns, b->time_ns)) / 1000000;
	struct heap_site *s = sum ? &sum->r : NULL;

	if (!s || b->site.process >= h->processes.n)
		return;
	s->ages[log2_slot(ms, HEAP_TIMES - 1)] += b->weight;
	if (ms > s->oldest_ms)
		s->oldest_ms = (u32)MIN(ms, 0xffffffffULL);
	if (ms < h->processes.v[b->site.process].old_ms)
		return;
	s->old_blocks += b->weight;
	s->old_bytes += b->weight * b->size;
}

/* Blocks come and go meanwhile: each that is there throughout is seen once. */
int heap_ages_look(struct capture *c, struct attached *a)
{
	_cleanup_free_ struct heap_block *blocks = calloc(BATCH, sizeof(*blocks));
	_cleanup_free_ u64 *keys = calloc(BATCH, sizeof(*keys));
	int map = attach_map(a, "heap_live"), end = 0;
	u64 now_ns = clock_mono_ns(), at = 0, *from = NULL;

	if (!blocks || !keys)
		return -ENOMEM;
	ages_clear(c->state, now_ns);
	while (!end) {
		u32 n = BATCH;

		end = bpf_map_lookup_batch(map, from, &at, keys, blocks, &n, NULL) ? -errno : 0;
		if (end && end != -ENOENT)
			return end;
		for (u32 i = 0; i < n; i++)
			attach_ages_block_look(c->state, &blocks[i], now_ns);
		from = &at;
	}
	return 0;
}
