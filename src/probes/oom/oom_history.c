/* See oom_history.h. */
#include "probes/oom/oom_history.h"

#include <string.h>

#include "base/util.h"
#include "probes/cgroups/cgroups.h"
#include "probes/processes/processes.h"
#include "probes/slab/slab.h"
#include "probes/system/system.h"

#define POINT_NS 1000000000ULL
#define RECENT_NS (5 * POINT_NS)
/* What changes is sampled more often than this: older values did not change until `begin`. */
#define STALE_NS (3 * POINT_NS)

static const char *const value_names[VALUE_N] = {
	[VALUE_TOTAL] = "MemTotal",
	[VALUE_FREE] = "MemFree",
	[VALUE_AVAILABLE] = "MemAvailable",
	[VALUE_ANON] = "AnonPages",
	[VALUE_CACHED] = "Cached",
	[VALUE_SHMEM] = "Shmem",
	[VALUE_SLAB] = "Slab",
	[VALUE_SLAB_FIXED] = "SUnreclaim",
	[VALUE_PAGE_TABLES] = "PageTables",
	[VALUE_KERNEL_STACK] = "KernelStack",
	[VALUE_MLOCKED] = "Mlocked",
	[VALUE_SWAP_TOTAL] = "SwapTotal",
	[VALUE_SWAP_FREE] = "SwapFree",
};

const char *history_value_name(u32 value)
{
	return value < VALUE_N ? value_names[value] : "";
}

/* The i-th point from the newest, which is 0. */
static const struct history_point *point(const struct history_series *s, u32 i)
{
	return &s->points[(s->last + HISTORY_POINTS - i) % HISTORY_POINTS];
}

/* The newest point moves until it is a second away from the one before. */
static void point_add(struct history_series *s, u64 time_ns, u64 bytes, u64 swap_bytes)
{
	if (s->n && time_ns < point(s, 0)->time_ns)
		return; /* out of order: a damaged recording */
	if (s->n < 2 || point(s, 0)->time_ns - point(s, 1)->time_ns >= POINT_NS) {
		s->last = s->n ? (s->last + 1) % HISTORY_POINTS : 0;
		s->n = MIN(s->n + 1, (u32)HISTORY_POINTS);
	}
	s->points[s->last] = (struct history_point){time_ns, bytes, swap_bytes};
}

/* Its series; else an unused one; else that of what was not heard of for longest. */
static struct history_series *series_get(
	struct history_series *all, u32 n, u64 id, u64 start_ns, bool *ret_new)
{
	struct history_series *oldest = &all[0];

	*ret_new = false;
	for (u32 i = 0; i < n; i++) {
		struct history_series *s = &all[i];

		if (s->n && s->id == id && s->start_ns == start_ns)
			return s;
		if (!s->n || (oldest->n && point(s, 0)->time_ns < point(oldest, 0)->time_ns))
			oldest = s;
		if (!s->n)
			break; /* they are used from the front */
	}
	*oldest = (struct history_series){.id = id, .start_ns = start_ns};
	*ret_new = true;
	return oldest;
}

static void oom_history_process_feed(struct history *h, const struct process_memory *r)
{
	bool added;
	struct history_series *s =
		series_get(h->processes, HISTORY_PROCESSES, r->tgid, r->start_ns, &added);
	u64 swap = r->h.flags & PROCESS_EXACT ? r->swap_bytes : s->n ? point(s, 0)->swap_bytes : 0;
	u64 other = r->rss_bytes > r->anon_bytes ? r->rss_bytes - r->anon_bytes : 0;

	/* It is sent from when it stands out: the sampler knows what it was before. */
	if (added && r->first_ns && r->first_ns < r->h.time_ns)
		point_add(s, r->first_ns, r->first_anon_bytes + other, 0);
	s->cgroup = r->cgroup;
	memcpy(s->comm, r->comm, sizeof(s->comm));
	point_add(s, r->h.time_ns, r->rss_bytes + swap, swap);
}

static void oom_history_cgroup_feed(struct history *h, const struct cgroup_usage *r)
{
	bool added;
	struct history_series *s = series_get(h->cgroups, HISTORY_CGROUPS, r->cgroup, 0, &added);

	point_add(s, r->h.time_ns, r->usage_bytes, r->swap_bytes);
}

static void oom_history_value_feed(struct history *h, const struct system_value *r)
{
	if (r->source != SYSTEM_MEMINFO)
		return;
	for (u32 i = 0; i < VALUE_N; i++)
		if (!strncmp(r->name, value_names[i], sizeof(r->name))) {
			h->values[i].id = i + 1;
			point_add(&h->values[i], r->h.time_ns, r->value, 0);
		}
}

static void oom_history_pressure_feed(struct history *h, const struct system_pressure *r)
{
	if (r->resource < HISTORY_RESOURCES)
		h->pressure[r->resource] =
			(struct history_pressure){true, r->some_avg10, r->full_avg10};
}

static void oom_history_slab_feed(struct history *h, const struct slab_usage *r)
{
	struct history_slab s = {.bytes = r->bytes, .first_bytes = r->first_bytes};
	u32 at = 0;

	memcpy(s.name, r->name, sizeof(s.name) - 1);
	while (at < HISTORY_SLABS - 1 && strcmp(h->slabs[at].name, s.name) != 0)
		at++;
	/* At its own place, or at the last, which is the smallest. */
	if (strcmp(h->slabs[at].name, s.name) != 0 && h->slabs[at].bytes >= s.bytes)
		return;
	h->slabs[at] = s;
	for (; at > 0 && h->slabs[at - 1].bytes < s.bytes; at--) {
		h->slabs[at] = h->slabs[at - 1];
		h->slabs[at - 1] = s;
	}
	for (; at < HISTORY_SLABS - 1 && h->slabs[at + 1].bytes > s.bytes; at++) {
		h->slabs[at] = h->slabs[at + 1];
		h->slabs[at + 1] = s;
	}
}

void history_feed(struct history *h, const struct rec *r)
{
	switch (r->kind) {
	case REC_PROCESS_MEMORY:
		oom_history_process_feed(h, (const void *)r);
		break;
	case REC_CGROUP_MEMORY:
		oom_history_cgroup_feed(h, (const void *)r);
		break;
	case REC_SYSTEM_VALUE:
		oom_history_value_feed(h, (const void *)r);
		break;
	case REC_SYSTEM_PRESSURE:
		oom_history_pressure_feed(h, (const void *)r);
		break;
	case REC_SLAB_CACHE:
		oom_history_slab_feed(h, (const void *)r);
		break;
	default:
		break;
	}
}

/* What it was at `begin`, or at the first point after. */
static struct history_point at_or_after(
	const struct history_series *s, u64 begin, u64 at_ns, struct history_point newest)
{
	struct history_point p = newest;

	for (u32 i = 0; i < s->n; i++) {
		const struct history_point *q = point(s, i);

		if (q->time_ns > at_ns)
			continue;
		p = *q;
		if (p.time_ns <= begin) {
			if (begin - p.time_ns > STALE_NS)
				p.time_ns = begin;
			break;
		}
	}
	return p;
}

static s64 pace(struct history_point from, struct history_point to)
{
	double seconds = (double)(to.time_ns - from.time_ns) / 1e9;

	return seconds > 0 ? (s64)(((double)to.bytes - (double)from.bytes) / seconds) : 0;
}

struct growth history_growth(const struct history_series *s, u64 at_ns, u64 bytes_now)
{
	struct history_point newest = {}, first, recent;
	struct growth g = {};

	for (u32 i = 0; s && i < s->n && !g.known; i++) {
		newest = *point(s, i);
		g.known = newest.time_ns <= at_ns;
	}
	if (!g.known)
		return g;
	g.swap_bytes = newest.swap_bytes;
	if (bytes_now)
		newest = (struct history_point){at_ns, bytes_now, newest.swap_bytes};
	first = at_or_after(s, at_ns > HISTORY_NS ? at_ns - HISTORY_NS : 0, at_ns, newest);
	recent = at_or_after(s, at_ns > RECENT_NS ? at_ns - RECENT_NS : 0, at_ns, newest);
	g.first_bytes = first.bytes;
	g.bytes = newest.bytes;
	g.span_ns = newest.time_ns > first.time_ns ? newest.time_ns - first.time_ns : 0;
	if (newest.time_ns > recent.time_ns)
		g.per_second = pace(recent, newest);
	else if (g.span_ns)
		g.per_second = pace(first, newest);
	return g;
}

const struct history_series *history_process(const struct history *h, u32 tgid, u64 start_ns)
{
	/* The sampler's start is in clock ticks. After a suspend the same start looks earlier;
	 * another process of this number began later. */
	for (u32 i = 0; i < HISTORY_PROCESSES && h->processes[i].n; i++) {
		const struct history_series *s = &h->processes[i];

		if (s->id == tgid && (!start_ns || start_ns < s->start_ns + POINT_NS))
			return s;
	}
	return NULL;
}

const struct history_series *history_cgroup(const struct history *h, u64 id)
{
	for (u32 i = 0; i < HISTORY_CGROUPS && h->cgroups[i].n; i++)
		if (h->cgroups[i].id == id)
			return &h->cgroups[i];
	return NULL;
}
