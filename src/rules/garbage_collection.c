/*
 * A runtime that does little but collect garbage, as its heap may not be as large as it would need.
 * Nothing grows and nothing fails; the CPU time of its collector's threads tells.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define PART 0.5 /* of its CPU time; a collector is to take a tenth */
#define CPUS_RISK 0.2
#define CPUS_WARNING 0.5
#define LEAST_NS (4 * NSEC_PER_SEC)
#define NEW_HEAP_NS (20 * NSEC_PER_SEC)
#define FULL 0.7    /* of what its heap may have: the rest is kept for the next objects */
#define SWAPPED 0.1 /* of its memory: a collector that walks it waits for swap */

struct point {
	u64 time_ns, collector_ns, cpu_ns;
};

struct heap {
	struct point first, last;
	u64 start_ns, anon_bytes, limit_bytes, swap_bytes;
	u64 cgroup;
};

static int garbage_collection_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct heap));
	return 0;
}

static int garbage_collection_rule_feed(void *v, const struct rec *r)
{
	const struct process_memory *m = (const void *)r;
	struct rule_sums *s = v;
	struct heap *h;
	struct point now;

	if (r->kind != REC_PROCESS_MEMORY)
		return facts_feed(&s->facts, r);
	if (!m->collector_ns)
		return 0;
	h = groups_get(&s->by, &m->tgid);
	if (!h)
		return -ENOMEM;
	now = (struct point){r->time_ns, m->collector_ns, m->utime_ns + m->stime_ns};
	if (!h->first.time_ns || h->start_ns != m->start_ns)
		*h = (struct heap){.first = now, .last = now, .start_ns = m->start_ns};
	h->anon_bytes = m->anon_bytes;
	h->limit_bytes = m->heap_limit_bytes;
	h->cgroup = m->cgroup;
	if (m->h.flags & PROCESS_EXACT)
		h->swap_bytes = m->swap_bytes;
	if (m->collector_ns != h->last.collector_ns) /* else it was not read again */
		h->last = now;
	return 0;
}

/* It lies partly in swap: it is not the heap that is too small, but the memory for it. */
static bool is_swapped(const struct heap *h)
{
	return (double)h->swap_bytes >= SWAPPED * (double)(h->anon_bytes + h->swap_bytes);
}

/* 0: its group has no limit, or that is not known. */
static u64 group_limit(const struct facts *facts, const struct heap *h)
{
	const struct cgroup_usage *cg = facts_cgroup(facts, h->cgroup);

	return cg && cg->limit_bytes != CGROUP_USAGE_NONE ? cg->limit_bytes : 0;
}

static void swapped_tell(
	struct report *r, struct finding *x, const struct facts *facts, const struct heap *h)
{
	u64 limit = group_limit(facts, h);
	char a[UNIT_BUF], b[UNIT_BUF];

	x->symptom = x->advises = true;
	x->losses = LOSS_SWAP;
	x->cgroup = limit ? h->cgroup : 0;
	x->why = "A collector scans the whole heap again and again. What is in swap comes back "
		 "page by page, evicting other pages of the heap: only a heap that fits into "
		 "memory can be collected.";
	finding_line(r, x->try_,
		"A larger heap makes it worse. Give its cgroup, or the machine, more memory; or "
		"start it with a heap that fits%s%s",
		limit ? report_text(r, " below the limit of its cgroup (%s): -Xmx%llum",
				fmt_bytes(a, limit), limit / 4 * 3 >> 20)
		      : " (-Xmx)",
		h->limit_bytes ? report_text(r, ", instead of %s", fmt_bytes(b, h->limit_bytes))
			       : "");
}

static void larger_try(
	struct report *r, struct finding *x, const struct facts *facts, const struct heap *h)
{
	u64 limit = group_limit(facts, h);
	char a[UNIT_BUF];

	if (!h->limit_bytes)
		finding_line(r, x->try_,
			"If it needs that much, start it with a larger heap, if memory and its "
			"cgroup's limit allow: -Xmx (without it Java takes a quarter of memory, or "
			"of the cgroup's limit), DOTNET_GCHeapHardLimit.");
	else if (limit && h->limit_bytes * 2 > limit)
		finding_line(r, x->try_,
			"If it needs that much, start it with a larger heap, -Xmx%llum, but first "
			"raise the limit of its cgroup (%s) to fit it.",
			h->limit_bytes * 2 >> 20, fmt_bytes(a, limit));
	else
		finding_line(r, x->try_,
			"If it needs that much, start it with a larger heap, if memory and its "
			"cgroup's limit allow: -Xmx%llum",
			h->limit_bytes * 2 >> 20);
}

static void heap_try(struct report *r, struct finding *x, const struct facts *facts, u32 tgid,
	const struct heap *h)
{
	if (is_swapped(h))
		swapped_tell(r, x, facts, h);
	finding_line(r, x->try_,
		"See what it holds, and whether that grows (Java): `jcmd %u GC.heap_info`, `jcmd "
		"%u GC.class_histogram -all | head -30`",
		tgid, tgid);
	if (!is_swapped(h))
		larger_try(r, x, facts, h);
	finding_line(r, x->try_, "Or keep less: bound its caches and queues.");
	finding_line(r, x->undo, "Start it as before.");
	finding_line(r, x->verify, "`memwhy check --for 30s -p %u`", tgid);
}

static const char *reason_text(struct report *r, const struct heap *h)
{
	char a[UNIT_BUF];

	if (is_swapped(h))
		return report_text(r,
			"%s of its memory is in swap, which each collection reads back",
			fmt_bytes(a, h->swap_bytes));
	return report_text(r, "its heap%s is too small for what it keeps and allocates",
		h->limit_bytes ? report_text(r, " of %s", fmt_bytes(a, h->limit_bytes)) : "");
}

static void garbage_collection_tell(
	struct report *r, const struct facts *facts, u32 tgid, const struct heap *h, int level)
{
	struct finding *x = report_finding(r, level, "garbage-collection");
	u64 spent = h->last.collector_ns - h->first.collector_ns;
	double seconds = (double)(h->last.time_ns - h->first.time_ns) / 1e9;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->tgid = tgid;
	x->cost_ns = spent;
	x->title = report_text(r, "%s spends %.0f %% of its CPU time collecting garbage: %s",
		report_process(r, tgid),
		100.0 * (double)spent / (double)MAX(h->last.cpu_ns - h->first.cpu_ns, spent),
		reason_text(r, h));
	x->confidence = "high: the CPU time of the collector's threads, known by name; how full "
			"its heap is was not seen";
	finding_line(r, x->evidence, "its collector's threads ran for %s in %.1f s: %.1f CPUs",
		fmt_ns(a, spent), seconds, (double)spent / 1e9 / seconds);
	if (h->limit_bytes)
		finding_line(r, x->evidence,
			"it has %s of anonymous memory, and its start options allow its heap %s%s",
			fmt_bytes(a, h->anon_bytes), fmt_bytes(b, h->limit_bytes),
			(double)h->anon_bytes >= FULL * (double)h->limit_bytes
				? ": all of it is taken"
				: "");
	else
		finding_line(r, x->evidence, "it has %s of anonymous memory",
			fmt_bytes(a, h->anon_bytes));
	x->why = "A collector has to scan everything in use to find what is not. The less of the "
		 "heap that leaves free, the sooner it has to scan again, until the program hardly "
		 "runs; an OutOfMemoryError may be next.";
	heap_try(r, x, facts, tgid, h);
}

/* -1: it is as it should be. */
static int heap_level(const struct heap *h)
{
	double collector = (double)(h->last.collector_ns - h->first.collector_ns),
	       cpu = (double)(h->last.cpu_ns - h->first.cpu_ns),
	       cpus = collector / (double)MAX(h->last.time_ns - h->first.time_ns, 1ULL);

	if (h->last.time_ns - h->first.time_ns < LEAST_NS || collector < PART * cpu ||
		cpus < CPUS_RISK)
		return -1;
	/* One that starts fills its heap. */
	return h->start_ns + NEW_HEAP_NS > h->last.time_ns ? LEVEL_NOTE
	       : cpus < CPUS_WARNING                       ? LEVEL_RISK
							   : LEVEL_WARNING;
}

static int garbage_collection_rule_report(void *v, struct report *r)
{
	const struct rule_sums *s = v;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct heap *h = groups_value(&s->by, i);
		int level = heap_level(h);

		if (level >= 0)
			garbage_collection_tell(
				r, &s->facts, *(const u32 *)groups_key(&s->by, i), h, level);
	}
	return 0;
}

const struct view rule_garbage_collection = SUMS_RULE(
	garbage_collection_rule_init, garbage_collection_rule_feed, garbage_collection_rule_report);
