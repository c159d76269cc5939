/*
 * Transparent huge pages: the three known ways in which they hurt, as `memwhy thp` tests them, and
 * faults that ask for huge pages and do not get them.
 */
#include <errno.h>
#include <string.h>

#include "analysis/thp_symptoms.h"
#include "probes/system/system.h"
#include "probes/thp/thp.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_FALLBACKS 200

static const struct {
	const char *rule; /* as in rules.def and in findings */
	const char *data; /* the hook of the probe that tells */
	const char *untested;
} symptoms[THP_SYMPTOMS] = {
	[THP_COMPACTION] = {"thp-compaction", "direct compaction for huge pages",
		"time in compaction within huge faults: needs the compaction tracepoints"},
	[THP_RECLAIMING] = {"thp-reclaim", "direct reclaim for huge pages",
		"reclaim for huge pages while memory is free: free memory is not known well "
		"enough"},
	[THP_BLOAT] = {"thp-bloat", "huge pages of processes",
		"waste in huge pages: no memory of processes with huge pages could be read"},
};

static int thp_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	thp_facts_init(v);
	return 0;
}

static int thp_rule_value_feed(struct thp_facts *f, const struct thp_value *v)
{
	if (v->source != THP_MEMORY)
		return thp_facts_value(f, v->source, v->name, v->value, v->text);
	thp_facts_memory(f, v->name, v->value);
	return 0;
}

static int work_feed(struct thp_facts *f, const struct thp_agg *r)
{
	return thp_facts_work(f, &(struct thp_work){
					 .what = r->kind == THP_COMPACT   ? THP_WORK_COMPACT
						 : r->kind == THP_RECLAIM ? THP_WORK_RECLAIM
						 : r->kind == THP_KSWAPD  ? THP_WORK_KSWAPD
									  : THP_WORK_NONE,
					 .waits = !(r->flags & THP_KERNEL),
					 .compared = r->flags & THP_FREE_KNOWN,
					 .tgid = r->tgid,
					 .count = r->count,
					 .ns = r->total_ns,
					 .max_ns = r->max_ns,
					 .above = r->sum[RECLAIM_ABOVE],
					 .above_ns = r->sum[RECLAIM_ABOVE_NS],
				 });
}

static int thp_rule_usage_feed(struct thp_facts *f, const struct thp_process *p)
{
	struct thp_usage u = {
		.rss_bytes = p->rss_bytes,
		.anon_huge_bytes = p->anon_huge_bytes,
		.waste_bytes = p->waste_bytes,
		.error_bytes = p->error_bytes,
		.sampled = p->sampled,
		.candidates = p->candidates,
		.untouched = p->untouched,
	};

	memcpy(u.comm, p->comm, sizeof(u.comm));
	return thp_facts_usage(f, p->tgid, &u);
}

/* How much was reclaimed, for whatever. */
static int thp_rule_system_feed(struct thp_facts *f, const struct system_value *v)
{
	if (v->source != SYSTEM_VMSTAT || strncmp(v->name, "pgsteal_", 8))
		return 0;
	return thp_facts_value(f, THP_VMSTAT, v->name, v->value, "");
}

static int thp_rule_feed(void *v, const struct rec *r)
{
	switch (r->kind) {
	case REC_THP_VALUE:
		return thp_rule_value_feed(v, (const struct thp_value *)r);
	case REC_THP_AGG:
		return work_feed(v, (const struct thp_agg *)r);
	case REC_THP_PROCESS:
		return thp_rule_usage_feed(v, (const struct thp_process *)r);
	case REC_SYSTEM_VALUE:
		return thp_rule_system_feed(v, (const struct system_value *)r);
	case REC_TASK:
		thp_facts_task(v, r);
		return 0;
	default:
		return 0;
	}
}

static void tell_fallback(struct report *r, u64 alloc, u64 fallback)
{
	struct finding *x = report_finding(r, LEVEL_NOTE, "thp-fallback");

	if (!x)
		return;
	x->title =
		report_text(r, "Huge pages are requested but rarely available: %.0f %% fall back",
			100.0 * (double)fallback / (double)(alloc + fallback));
	x->confidence = "high: the kernel's own counters";
	finding_line(
		r, x->evidence, "thp_fault_alloc %llu, thp_fault_fallback %llu", alloc, fallback);
	x->why = "No free block of that size was left, or the cgroup's limit did not allow it; "
		 "small pages were used instead, with more page faults and TLB misses.";
	finding_line(r, x->try_, "See whether memory is fragmented: `memwhy frag`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy thp --table counters --for 10s`");
}

static int thp_rule_report(void *v, struct report *r)
{
	const struct thp_facts *f = v;
	u64 alloc = thp_facts_delta(f, THP_VMSTAT, "thp_fault_alloc");
	u64 fallback = thp_facts_delta(f, THP_VMSTAT, "thp_fault_fallback");
	const struct thp_fact *enabled = thp_facts_find(f, THP_SETTING, "enabled");

	if (!enabled)
		return 0; /* the kernel has none, or they were not looked at: the probe says so */
	for (int i = 0; i < THP_SYMPTOMS; i++) {
		struct thp_test test = {f, THP_SETTING, THP_VMSTAT,
			stream_knows(r->stream, "thp", symptoms[i].data)};
		struct thp_symptom s;

		thp_symptom_test(r, &test, (enum thp_symptom_name)i, &s);
		if (s.seen == THP_UNTESTED)
			report_not_checked(r, "%s", symptoms[i].untested);
		thp_symptom_tell(r, symptoms[i].rule, &s);
	}
	if (fallback >= MIN_FALLBACKS && fallback > alloc)
		tell_fallback(r, alloc, fallback);
	return 0;
}

static void thp_rule_reset(void *v)
{
	thp_facts_reset(v);
}

static void thp_rule_destroy(void *v)
{
	thp_facts_free(v);
}

const struct view rule_thp = {
	.size = sizeof(struct thp_facts),
	.init = thp_rule_init,
	.feed = thp_rule_feed,
	.report = thp_rule_report,
	.reset = thp_rule_reset,
	.destroy = thp_rule_destroy,
};
