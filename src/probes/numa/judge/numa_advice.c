/* See numa_advice.h. */
#include "probes/numa/judge/numa_advice.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/numa/judge/numa_fixes.h"
#include "probes/numa/judge/numa_move_advice.h"
#include "probes/numa/judge/numa_words.h"

#define FINDINGS_MAX 8    /* the worst; the rest is in the tables */
#define WARNING_SHARE 0.2 /* of all accesses, remote ones to one group: a warning, else a risk */

static double percent(double ratio)
{
	return ratio < 0 ? 0 : 100 * ratio;
}

static const char *const estimates[NUMA_PATTERNS] = {
	[NUMA_PRODUCER] = "each part placed where its other samples come from",
	[NUMA_ALTERNATING] = "one remote access for each observed change of node",
	[NUMA_CONCURRENT] = "none if it is replicated; else an even spread over the nodes",
	[NUMA_PARTITIONED] = "each part placed where its other samples come from",
	[NUMA_FALSE_PAGE] = "lines that several nodes use remain remote",
	[NUMA_FALSE_HUGE] = "base pages that several nodes use remain remote",
	[NUMA_PAGE_CACHE] = "each part placed where its other samples come from",
	[NUMA_MOVED_AWAY] = "each part placed where its other samples come from",
	[NUMA_SLOW_TIER] = "all of it on nodes with CPUs",
	[NUMA_UNCLEAR] = "no fix is proposed",
};

static void evidence_latency(struct advice *a)
{
	const struct numa_sums *s = &a->g->sums;
	const char *unit = s->cycles ? "cycles" : "ns";

	if (s->latency_n[0] && s->latency_n[1])
		finding_line(a->r, a->to->evidence, "Latency: remote %llu %s, local %llu %s (mean)",
			s->latency_sum[1] / s->latency_n[1], unit,
			s->latency_sum[0] / s->latency_n[0], unit);
}

/* What the verdict of hint faults was made of. */
static void evidence_hints(struct advice *a)
{
	const struct numa_hint_stats *c = &a->g->hints;
	const struct numa_sharing *sharing = a->g->sharing;
	double low, high;

	finding_line(a->r, a->to->evidence,
		"Each of its %llu pages was seen %.1f times (hint faults, one a scan)", c->pages,
		(double)c->samples / (double)MAX(c->pages, 1UL));
	if (a->g->threads > 1)
		finding_line(a->r, a->to->evidence,
			"Two faults came from different nodes in %.0f %% of the pairs on one "
			"object, %.0f %% on one page, %.0f %% within 50 ms",
			percent(sharing[NUMA_UNIT_OBJECT].mixed),
			percent(sharing[NUMA_UNIT_PAGE].mixed), percent(c->window_mixed));
	if (a->g->threads > 1 && numa_share_bounds(&c->crossings, &low, &high))
		finding_line(a->r, a->to->evidence,
			"While several nodes used it, %.0f %% of %.0f faults were on a page that "
			"another node had before (%.0f to %.0f %%, each bound at 95 %% confidence, "
			"from %llu windows of 50 ms)",
			percent(c->crossings.hits / c->crossings.of), c->crossings.of, percent(low),
			percent(high), c->crossings.n);
	if (a->g->threads > 1 && c->together >= 0)
		finding_line(a->r, a->to->evidence,
			"Threads of two nodes ran at the same time for at least %.0f %% of the "
			"time (by their CPU time)",
			percent(c->together));
	if (a->v->used)
		finding_line(a->r, a->to->evidence,
			"Judged by each node's share of its accesses and pages, %.0f %% are "
			"remote; %.0f %% of the faults were, as balancing moves a page to its "
			"first user",
			percent(a->v->used_ratio), percent(a->v->remote_ratio));
	if (a->v->balanced)
		finding_line(a->r, a->to->evidence,
			"As the program placed it, %.0f %% would be remote; NUMA balancing moved "
			"%llu of its pages, and %.0f %% were",
			percent(a->v->laid_ratio), a->g->balanced_pages,
			percent(a->v->remote_ratio));
}

static void evidence(struct advice *a)
{
	const struct numa_group *g = a->g;
	const struct numa_sums *s = &g->sums;

	finding_line(a->r, a->to->evidence,
		"%llu of %llu sampled accesses to it were remote, from nodes %s; %.0f %% of all "
		"accesses that were seen",
		s->remote_samples, s->judged_samples, numa_mask_text(a->r, numa_from_mask(s)),
		percent(a->v->share));
	if (a->v->home >= 0)
		finding_line(a->r, a->to->evidence,
			"%.0f %% of its accesses went to pages on node %d; %u thread%s, %u "
			"object%s%s %s",
			percent(a->v->home_ratio), a->v->home, g->threads, plural(g->threads), g->n,
			plural(g->n), g->n == 1 ? " of" : ", the largest has", a->bytes);
	if (g->by_known)
		finding_line(a->r, a->to->evidence,
			"%.0f %% of the accesses were by the thread that allocated it",
			percent((double)g->by_allocator / (double)g->by_known));
	if (g->hints.samples)
		evidence_hints(a);
	else if (g->sharing[NUMA_UNIT_OBJECT].samples)
		finding_line(a->r, a->to->evidence,
			"Two accesses to one object came from different nodes in %.0f %% of all "
			"pairs, and in %.0f %% of consecutive ones",
			percent(g->sharing[NUMA_UNIT_OBJECT].mixed), percent(g->switches));
	if (a->v->pattern != NUMA_UNCLEAR)
		finding_line(a->r, a->to->evidence,
			"It would save about %.0f %% of them (estimated: %s)",
			percent(a->v->saved_ratio), estimates[a->v->pattern]);
	evidence_latency(a);
}

static const char *numa_advice_confidence(const struct numa_group *g)
{
	if (g->hints.samples)
		return "high that it is remote, medium for the pattern: there is one hint fault "
		       "per page and scan";
	return g->sums.judged_samples >= 10 * NUMA_MIN_SAMPLES
		       ? "high: more than a thousand samples"
		       : "medium: hundreds of samples, not all accesses";
}

/* What it would be otherwise, beside what it was, which the tables have. */
static const char *ratio_beside(struct report *r, const struct numa_verdict *v)
{
	if (v->used)
		return report_text(r, ", %.0f %% by how nodes share it", percent(v->used_ratio));
	if (v->balanced)
		return report_text(
			r, ", %.0f %% before balancing moved its pages", percent(v->laid_ratio));
	return "";
}

static void verify_fill(struct advice *a)
{
	double now = percent(a->v->remote_ratio);

	if (numa_runs(a))
		finding_line(a->r, a->to->verify,
			"Its remote share, now %.0f %%, falls: `memwhy numa -p %u`", now,
			a->largest.tgid);
	else
		NUMA_RUN(a, a->to->verify, "Its remote share, now %.0f %%, falls", "memwhy numa --",
			now);
}

static void finding_fill(struct advice *a)
{
	const char *kind = numa_kind_name(a->g->site.kind);
	const struct numa_verdict *v = a->v;
	size_t len = strlen(kind);
	/* "stack of …", "mapping" */
	bool named = !strncmp(a->name, kind, len) && (!a->name[len] || a->name[len] == ' ');

	a->to->title = report_text(a->r, "%s%s%s: %s, %.0f %% of its accesses are remote%s",
		named ? "" : kind, named ? "" : " ", a->name, numa_pattern_name(v->pattern),
		percent(v->remote_ratio), ratio_beside(a->r, v));
	a->to->confidence = numa_advice_confidence(a->g);
	evidence(a);
	numa_fix(a);
	verify_fill(a);
}

static int advise(const struct advice *base, const struct numa_verdict *v)
{
	const struct numa_groups *groups = base->groups;
	const struct numa_feed *f = base->f;
	struct report *r = base->r;
	struct advice a = *base;

	a.v = v;
	a.g = &groups->list.v[v->group];
	a.to = report_finding(r, v->share >= WARNING_SHARE ? LEVEL_WARNING : LEVEL_RISK, "numa");
	if (!a.to)
		return -ENOMEM;
	a.name = numa_site_name(r, f, &a.g->site);
	numa_object(f, a.g->largest, &a.largest);
	fmt_bytes(a.bytes, a.g->bytes);
	finding_fill(&a);
	return 0;
}

static int by_share(const void *a, const void *b)
{
	const struct numa_verdict *x = a, *y = b;

	return x->share > y->share ? -1 : x->share < y->share;
}

static u32 most_used(const struct numa_groups *g)
{
	u32 most = 0;

	for (u32 i = 0; i < g->list.n; i++)
		if (g->list.v[i].sums.samples > g->list.v[most].sums.samples)
			most = i;
	return most;
}

/* Where no object stands out, but nearly all is on one node. */
static int advise_one_node(const struct advice *base)
{
	const struct numa_groups *g = base->groups;
	struct advice a = *base;
	struct report *r = a.r;
	struct finding *to;
	double ratio;
	s32 node;

	if (!numa_all_on_one(g, &node, &ratio))
		return 0;
	to = report_finding(r, LEVEL_RISK, "numa-one-node");
	if (!to)
		return -ENOMEM;
	to->title = report_text(r, "All memory is on node %d, but nodes %s use it", node,
		numa_mask_text(r, numa_from_mask(&g->all)));
	to->confidence = "high: of all samples";
	finding_line(r, to->evidence,
		"%.0f %% of the accesses went to node %d, %.0f %% were remote", percent(ratio),
		node, percent(numa_remote_ratio(&g->all)));
	to->why = "A page lies on the node where it was first touched. A main thread that "
		  "initialises everything puts it all on its own node, whose memory controller "
		  "then serves every thread.";
	finding_line(r, to->try_, "Let each thread initialise what it will use");
	a.g = &g->list.v[most_used(g)];
	numa_object(a.f, a.g->largest, &a.largest);
	NUMA_RUN(&a, to->try_, "Or spread it, without changing the program", "numactl -i all");
	finding_line(r, to->undo, "Run it without numactl, as before");
	NUMA_RUN(&a, to->verify, "The nodes in the table share the load", "memwhy numa --");
	return 0;
}

/* What a verdict takes, and what there is: of the object with most samples. */
static void say_thin(struct report *r, const struct numa_feed *f, const struct numa_groups *groups,
	u32 n, u32 largest)
{
	const struct numa_group *g = &groups->list.v[largest];
	const char *looks = "", *often = "";

	if (g->hints.pages)
		looks = report_text(
			r, ", %.1f a page", (double)g->hints.samples / (double)g->hints.pages);
	if (groups->all.hint_samples)
		often = ", or sample more often (--scan 200ms)";
	report_not_checked(r,
		"%u object%s to be used remotely, but a verdict takes %u samples, %u of them "
		"remote, and with hint faults three per page, at several times (%s has %llu, %llu "
		"remote%s): run longer%s",
		n, n == 1 ? " seems" : "s seem", NUMA_MIN_SAMPLES, NUMA_MIN_REMOTE,
		numa_site_name(r, f, &g->site), g->sums.judged_samples, g->sums.remote_samples,
		looks, often);
}

/*
 * The headline where there is no finding. What looks remote on few samples is no problem yet, and
 * not none either; and without nodes nothing was looked at.
 */
static void headline(
	struct report *r, const struct numa_feed *f, const struct numa_groups *groups, u32 thin)
{
	u64 nodes = numa_machine(f)->nodes;

	if (r->findings.n)
		return;
	if (nodes && !(nodes & (nodes - 1))) {
		r->verdict = "This machine has one NUMA node: no access can be remote.";
		return;
	}
	if (!groups->all.samples)
		return;
	if (!numa_from_mask(&groups->all)) {
		r->verdict = numa_machine(f)->nodes
				     ? "It cannot be judged: the samples lack the CPU."
				     : "It cannot be judged: which CPUs are on which node is not "
				       "known. --topology FILE provides it.";
		return;
	}
	if (thin && r->has_findings)
		r->verdict = report_text(r,
			"Nothing is sure yet: %u object%s to be used remotely, on too few samples.",
			thin, thin == 1 ? " seems" : "s seem");
}

int numa_advise(struct report *r, const struct numa_feed *f, const struct numa_groups *groups,
	const struct numa_bound *bound)
{
	struct advice base = {.r = r, .f = f, .groups = groups, .bound = bound};
	VEC(struct numa_verdict) found = {};
	u32 thin = 0, thinnest = 0;
	int rc = 0;

	r->has_findings = r->findings.n || groups->all.judged_samples >= NUMA_MIN_SAMPLES;
	if (!r->has_findings && groups->all.samples)
		report_not_checked(r,
			"patterns of use: %llu samples whose place is known are too few (%u)",
			(unsigned long long)groups->all.judged_samples, NUMA_MIN_SAMPLES);
	for (u32 i = 0; i < groups->list.n && !rc; i++) {
		struct numa_verdict v = numa_judge(f, groups, i);

		if (v.pattern == NUMA_THIN &&
			(!thin++ || groups->list.v[i].sums.samples >
					    groups->list.v[thinnest].sums.samples))
			thinnest = i;
		if (v.pattern > NUMA_THIN)
			rc = vec_push(&found, v);
	}
	if (found.n)
		qsort(found.v, found.n, sizeof(found.v[0]), by_share);
	for (size_t i = 0; i < found.n && i < FINDINGS_MAX && !rc; i++)
		rc = advise(&base, &found.v[i]);
	if (!rc && found.n != 1)
		rc = advise_one_node(&base);
	if (thin)
		say_thin(r, f, groups, thin, thinnest);
	headline(r, f, groups, thin);
	report_rank(r);
	vec_free(&found);
	return rc;
}
