/*
 * Compaction that costs more than it brings: kernel threads that burn CPU time compacting, and
 * zones whose compaction for an order fails again and again. The time that tasks lose to their own
 * compaction is not told here.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/compaction/compaction.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_RUNS 20        /* for an order, before its failing is called persistent */
#define FAILING 0.9        /* of them */
#define MIN_FAILED_NS 1e-3 /* share of the time that they take */
#define COSTLY_ORDER 3     /* PAGE_ALLOC_COSTLY_ORDER: vm.extfrag_threshold is for those above */
#define STATUSES 16

#define KHUGEPAGED_DEFRAG "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"
#define THP_DEFRAG "/sys/kernel/mm/transparent_hugepage/defrag"

/* Runs, and for those for an order how they ended. */
struct runs {
	u64 count, ns, cpu_ns;
	u64 ordered, results[STATUSES], results_ns[STATUSES];
	u32 tgid;   /* of the longest record */
	s32 order;  /* and its order */
	u64 top_ns; /* and its time */
};

struct zone_key {
	s32 node, order;
	u32 zone;
};

struct zone {
	struct runs runs;
	u64 known, above_high, free_sum, high_sum;
	u64 deferred;
};

struct state {
	struct facts facts;
	struct runs kinds[COMPACTION_KIND_N];
	struct groups zones; /* zone_key -> struct zone */
};

static int compaction_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	facts_init(&s->facts);
	groups_init(&s->zones, sizeof(struct zone_key), sizeof(struct zone));
	return 0;
}

static void runs_add(struct runs *r, const struct compaction_agg *a)
{
	r->count += a->count;
	r->ns += a->total_ns;
	r->cpu_ns += a->cpu_ns;
	if (a->total_ns >= r->top_ns) {
		r->top_ns = a->total_ns;
		r->tgid = a->tgid;
		r->order = a->order;
	}
	if (a->order < 0)
		return;
	r->ordered += a->count;
	r->results[MIN(a->status, STATUSES - 1)] += a->count;
	r->results_ns[MIN(a->status, STATUSES - 1)] += a->total_ns;
}

static struct zone *zone_of(struct state *s, s32 node, u32 zone, s32 order)
{
	struct zone_key key = {node, order, zone};

	return groups_get(&s->zones, &key);
}

static int feed_zone(struct state *s, const struct compaction_zone *r)
{
	struct zone *z = zone_of(s, r->node, r->zone, r->order);

	if (!z)
		return -ENOMEM;
	z->known += r->known;
	z->above_high += r->above_high;
	z->free_sum += r->free_sum;
	z->high_sum += r->high_sum;
	return 0;
}

static int compaction_rule_feed(void *v, const struct rec *rec)
{
	struct state *s = v;
	const struct compaction_agg *a = (const void *)rec;
	const struct compaction_deferrals *d = (const void *)rec;
	struct zone *z;

	if (rec->kind == REC_COMPACTION_ZONE)
		return feed_zone(s, (const void *)rec);
	if (rec->kind == REC_COMPACTION_AGG) {
		runs_add(&s->kinds[a->kind < COMPACTION_KIND_N ? a->kind : COMPACTION_OTHER], a);
		z = zone_of(s, a->node, a->zone, a->order);
		if (z)
			runs_add(&z->runs, a);
		return z ? 0 : -ENOMEM;
	}
	if (rec->kind != REC_COMPACTION_DEFERRALS)
		return facts_feed(&s->facts, rec);
	z = zone_of(s, d->node, d->zone, d->order);
	if (z)
		z->deferred += d->skipped;
	return z ? 0 : -ENOMEM;
}

/* The number of the result named success; -1: the recording does not name results. */
static int success(const struct report *r)
{
	for (int i = 0; i < STATUSES; i++) {
		const char *name = stream_enum(r->stream, "compact_result", (u64)i);

		if (name && !strcmp(name, "success"))
			return i;
	}
	return -1;
}

static void tell_extfrag(struct report *r, struct finding *f, const struct facts *facts)
{
	u64 now = facts_last(facts, "vm.extfrag_threshold");

	if (!facts_known(facts, "vm.extfrag_threshold") || now >= 1000)
		return;
	finding_line(r, f->try_,
		"Never compact for orders above %d (the threshold is now %llu of 1000):",
		COSTLY_ORDER, now);
	finding_line(r, f->try_, "`sysctl -w vm.extfrag_threshold=1000`");
	finding_line(r, f->undo, "`sysctl -w vm.extfrag_threshold=%llu`", now);
}

static bool tell_unevictable(struct report *r, struct finding *f, const struct facts *facts)
{
	if (!facts_known(facts, "vm.compact_unevictable_allowed") ||
		facts_last(facts, "vm.compact_unevictable_allowed"))
		return false;
	finding_line(
		r, f->try_, "Let it move locked pages (mlock) too; their owners may then fault:");
	finding_line(r, f->try_, "`sysctl -w vm.compact_unevictable_allowed=1`");
	finding_line(r, f->undo, "`sysctl -w vm.compact_unevictable_allowed=0`");
	return true;
}

static void tell_find(struct report *r, struct finding *f)
{
	finding_line(r, f->try_,
		"Find what fills pageblocks with unmovable pages: `memwhy frag --for 60s "
		"--stacks=kernel`");
	finding_line(r, f->undo, "Nothing to undo.");
}

static void tell_kcompactd(
	struct report *r, struct finding *f, const struct facts *facts, const struct runs *k)
{
	const char *defrag = facts_text(facts, "thp/defrag");

	f->why = "kcompactd moves pages until a block of the order is free. kswapd wakes it when "
		 "such blocks run out; a run that ends without one was wasted.";
	if (!strcmp(defrag, "defer") || !strcmp(defrag, "defer+madvise")) {
		finding_line(
			r, f->try_, "Ask less of it: huge pages only for programs that want them:");
		finding_line(r, f->try_, "`echo madvise > " THP_DEFRAG "`");
		finding_line(r, f->undo, "`echo %s > " THP_DEFRAG "`", defrag);
	} else if (!tell_unevictable(r, f, facts)) {
		if (k->order > COSTLY_ORDER)
			tell_extfrag(r, f, facts);
		else
			tell_find(r, f);
	}
}

static void tell_proactive(struct report *r, struct finding *f, const struct facts *facts)
{
	u64 now = facts_last(facts, "vm.compaction_proactiveness");

	f->why = "kcompactd compacts by itself, with no task waiting for a block, until "
		 "fragmentation is as low as vm.compaction_proactiveness asks for.";
	if (!now)
		return;
	finding_line(r, f->try_, "Ask for less (it is now %llu of 100):", now);
	finding_line(
		r, f->try_, "`sysctl -w vm.compaction_proactiveness=%llu`", now > 10 ? now / 2 : 0);
	finding_line(r, f->undo, "`sysctl -w vm.compaction_proactiveness=%llu`", now);
}

static void tell_khugepaged(struct report *r, struct finding *f, const struct facts *facts)
{
	f->why = "khugepaged compacts memory to replace small pages by huge ones.";
	if (!facts_last(facts, "thp/khugepaged/defrag"))
		return;
	finding_line(r, f->try_, "Let it take only huge pages that are already free:");
	finding_line(r, f->try_, "`echo 0 > " KHUGEPAGED_DEFRAG "`");
	finding_line(r, f->undo, "`echo 1 > " KHUGEPAGED_DEFRAG "`");
}

static void tell_requested(struct report *r, struct finding *f, const struct runs *k)
{
	f->why = "Writing to vm.compact_memory, or to the file compact of a node, compacts all of "
		 "its memory, whether that is needed or not.";
	finding_line(r, f->try_,
		"Stop the job that does so: %s (pid %u) spent the most time in it.",
		stream_comm(r->stream, k->tgid, 0), k->tgid);
	finding_line(r, f->undo, "Nothing to undo.");
}

static const char *const who[COMPACTION_KIND_N] = {
	[COMPACTION_KHUGEPAGED] = "khugepaged",
	[COMPACTION_KCOMPACTD] = "kcompactd",
	[COMPACTION_PROACTIVE] = "kcompactd (proactively)",
	[COMPACTION_REQUESTED] = "A write to vm.compact_memory",
};

/* CPU time where it is known, else the whole time. */
static u64 cost_of(const struct runs *k)
{
	return k->cpu_ns ? k->cpu_ns : k->ns;
}

static int tell_background(struct report *r, const struct state *s, u32 kind, int level)
{
	const struct runs *k = &s->kinds[kind];
	struct finding *f = report_finding(r, level, "compaction-background");
	char cost[UNIT_BUF], time[UNIT_BUF];
	int good = success(r);

	if (!f)
		return -ENOMEM;
	f->title = report_text(r, "%s compacts memory: %.0f %% of a CPU", who[kind],
		report_share(r, cost_of(k)) * 100);
	f->confidence = k->cpu_ns ? "high: every run was timed, with its CPU time"
				  : "medium: every run was timed, but its CPU time is not known";
	f->cost_ns = cost_of(k);
	finding_line(r, f->evidence, "%llu runs took %s, %s of it on a CPU", k->count,
		fmt_ns(time, k->ns), k->cpu_ns ? fmt_ns(cost, k->cpu_ns) : "an unknown part");
	if (k->ordered && good >= 0)
		finding_line(r, f->evidence, "%llu of %llu runs for an order made a free block",
			k->results[good], k->ordered);
	if (kind == COMPACTION_PROACTIVE)
		tell_proactive(r, f, &s->facts);
	else if (kind == COMPACTION_KHUGEPAGED)
		tell_khugepaged(r, f, &s->facts);
	else if (kind == COMPACTION_REQUESTED)
		tell_requested(r, f, k);
	else
		tell_kcompactd(r, f, &s->facts, k);
	finding_line(r, f->verify, "`memwhy compaction --for 60s --by kind,zone,order,status`");
	return 0;
}

/* More free than the high watermark most times: blocks are missing, not memory. */
static bool is_fragmented(const struct zone *z)
{
	return z->above_high * 2 > z->known;
}

static void tell_state(struct report *r, struct finding *f, const struct zone *z)
{
	if (!z->known)
		return;
	finding_line(r, f->evidence,
		"%llu pages were free on average when it started, the high watermark is %llu: %s",
		z->free_sum / z->known, z->high_sum / z->known,
		is_fragmented(z) ? "memory is free, but fragmented" : "memory is short");
}

static int tell_failing(struct report *r, const struct state *s, const struct zone_key *key,
	const struct zone *z, u64 failed, u64 failed_ns)
{
	struct finding *f = report_finding(r, LEVEL_RISK, "compaction-fails");
	const char *zone = stream_enum(r->stream, "zone", key->zone);
	char lost[UNIT_BUF];

	if (!f)
		return -ENOMEM;
	f->title = report_text(r,
		"Compaction of node %d zone %s for order %d achieves nothing: %llu of %llu runs "
		"failed",
		key->node, zone ? zone : "?", key->order, failed, z->runs.ordered);
	f->confidence = "high: every run and its result was counted";
	f->cost_ns = failed_ns;
	finding_line(r, f->evidence, "the runs that failed took %s", fmt_ns(lost, failed_ns));
	if (z->deferred)
		finding_line(r, f->evidence, "%llu more were deferred because earlier ones failed",
			z->deferred);
	tell_state(r, f, z);
	if (z->known && !is_fragmented(z)) {
		f->why = "Compaction needs free pages to move others to, but memory is short: free "
			 "some first.";
		finding_line(r, f->try_,
			"Find what uses up memory: `memwhy reclaim --for 30s --by process,kind`");
		finding_line(r, f->undo, "Nothing to undo.");
	} else {
		f->why = "Unmovable pages (pinned, locked, or the kernel's) sit in every range "
			 "that would have to become free.";
		if (!tell_unevictable(r, f, &s->facts)) {
			if (key->order > COSTLY_ORDER)
				tell_extfrag(r, f, &s->facts);
			else
				tell_find(r, f);
		}
	}
	finding_line(r, f->verify, "`memwhy compaction --for 60s --by zone,order,status`");
	return 0;
}

static int report_failing(const struct state *s, struct report *r, int good)
{
	int rc = 0;

	for (size_t i = 0; i < s->zones.n && !rc; i++) {
		const struct zone *z = groups_value(&s->zones, i);
		const struct runs *runs = &z->runs;
		u64 failed = runs->ordered - runs->results[good];
		u64 failed_ns = 0;

		for (int k = 0; k < STATUSES; k++)
			failed_ns += k == good ? 0 : runs->results_ns[k];
		if (runs->ordered < MIN_RUNS || (double)failed < FAILING * (double)runs->ordered ||
			report_share(r, failed_ns) < MIN_FAILED_NS)
			continue;
		rc = tell_failing(r, s, groups_key(&s->zones, i), z, failed, failed_ns);
	}
	return rc;
}

static int compaction_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	int good = success(r), rc = 0;

	for (u32 kind = 0; kind < COMPACTION_KIND_N && !rc; kind++) {
		int level = share_level(report_share(r, cost_of(&s->kinds[kind])), 0.05, 0.2, 1e9);

		if (who[kind] && level >= 0)
			rc = tell_background(r, s, kind, level);
	}
	return rc || good < 0 ? rc : report_failing(s, r, good);
}

static void compaction_rule_reset(void *v)
{
	struct state *s = v;

	memset(s->kinds, 0, sizeof(s->kinds));
	groups_clear(&s->zones);
	facts_reset(&s->facts);
}

static void compaction_rule_destroy(void *v)
{
	struct state *s = v;

	groups_free(&s->zones);
	facts_free(&s->facts);
}

const struct view rule_compaction = {
	.size = sizeof(struct state),
	.init = compaction_rule_init,
	.feed = compaction_rule_feed,
	.report = compaction_rule_report,
	.reset = compaction_rule_reset,
	.destroy = compaction_rule_destroy,
};
