/*
 * Tasks that had to find memory themselves before they got any: the time they lost to it, and
 * whether memory was short (reclaim) or in pieces too small (compaction).
 */
#include <errno.h>
#include <string.h>

#include "analysis/hist.h"
#include "base/units.h"
#include "probes/stalls/stalls.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_STALLS 5 /* fewer are no pattern */
#define FINDINGS 3   /* processes named; the rest is summed up */
#define FUTILE 10    /* pages scanned for each one reclaimed: they are in use */

#define DEFRAG "/sys/kernel/mm/transparent_hugepage/defrag"

struct key {
	u32 tgid;
	u32 kind;
	u64 cgroup;
};

struct sums {
	u64 count, total_ns, max_ns, failed;
	u64 reclaim_ns, scanned, reclaimed;
	u64 compact_ns, migrated;
	u64 high_ns; /* of orders that are costly */
	u64 thp_ns;  /* of huge pages at page faults */
	u32 order;   /* the highest */
	struct hist hist;
};

struct state {
	struct facts facts;
	struct groups by;
	u32 pageblock_order;
};

static int stalls_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	s->pageblock_order = 9;
	facts_init(&s->facts);
	groups_init(&s->by, sizeof(struct key), sizeof(struct sums));
	return 0;
}

static int stalls_rule_stall_feed(struct state *s, const struct stalls_agg *r)
{
	struct key key = {r->tgid, r->kind, r->cgroup};
	struct sums *t = groups_get(&s->by, &key);

	if (!t)
		return -ENOMEM;
	t->count += r->count;
	t->total_ns += r->total_ns;
	t->max_ns = MAX(t->max_ns, r->max_ns);
	t->failed += r->outcome == STALLS_FAILED ? r->count : 0;
	t->reclaim_ns += r->reclaim_ns;
	t->scanned += r->scanned;
	t->reclaimed += r->reclaimed;
	t->compact_ns += r->compact_ns;
	t->migrated += r->migrated;
	t->order = MAX(t->order, r->order);
	if (r->order > STALLS_COSTLY)
		t->high_ns += r->total_ns;
	if (r->trigger == STALLS_FOR_FAULT && r->order >= s->pageblock_order)
		t->thp_ns += r->total_ns;
	hist_merge32(&t->hist, r->hist, AGG_SLOTS);
	return 0;
}

static int stalls_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_STALLS_AGG)
		return stalls_rule_stall_feed(s, (const void *)r);
	if (r->kind == REC_HOST && ((const struct rec_host *)r)->pageblock_order)
		s->pageblock_order = ((const struct rec_host *)r)->pageblock_order;
	return facts_feed(&s->facts, r);
}

static void tell_memcg(
	struct report *r, struct finding *f, const struct state *s, const struct key *key)
{
	struct cgroup_usage cg = {};
	bool found = facts_cgroup_at_limit(&s->facts, r, key->cgroup, &cg);
	const char *path = found ? stream_cgroup(r->stream, cg.cgroup) : NULL;
	char usage[UNIT_BUF], limit[UNIT_BUF];

	f->why = "The cgroup is at its memory limit: each new page first has to evict another one. "
		 "The allocating task pays, even for the page cache of a read.";
	if (!path) {
		finding_line(r, f->try_,
			"Find the cgroup, and what fills it: `memwhy stalls --by cgroup --for "
			"10s`");
		finding_line(r, f->verify, "`memwhy stalls --for 30s -c %.15s`",
			stream_comm(r->stream, key->tgid, 0));
		return;
	}
	finding_line(r, f->evidence, "cgroup %s uses %s of its limit of %s", report_cgroup(r, path),
		fmt_bytes(usage, cg.usage_bytes), fmt_bytes(limit, cg.limit_bytes));
	cgroup_tell_raise(r, f, &cg, cgroup_directory(r, cg.version, path), "stalls");
}

static void tell_free(struct report *r, struct finding *f, const struct state *s)
{
	char free[UNIT_BUF], total[UNIT_BUF];

	if (facts_known(&s->facts, "MemFree"))
		finding_line(r, f->evidence, "%s of %s was free at the end",
			fmt_bytes(free, facts_last(&s->facts, "MemFree")),
			fmt_bytes(total, facts_last(&s->facts, "MemTotal")));
}

/* vm.NAME: what it is, what to try, and back. */
static void try_sysctl(
	struct report *r, struct finding *f, const char *what, const char *name, u64 now, u64 next)
{
	finding_line(r, f->try_, "%s (now %llu):", what, now);
	finding_line(r, f->try_, "`sysctl -w vm.%s=%llu`", name, next);
	finding_line(r, f->undo, "`sysctl -w vm.%s=%llu`", name, now);
}

static void tell_shortage(
	struct report *r, struct finding *f, const struct state *s, const struct sums *t)
{
	u64 now = facts_last(&s->facts, "vm.watermark_scale_factor");
	u64 threshold = facts_last(&s->facts, "vm.extfrag_threshold");

	finding_line(r, f->evidence,
		"the kernel counts %llu direct reclaims (allocstall_* in /proc/vmstat)",
		facts_delta_all(&s->facts, "allocstall_"));
	if (t->high_ns * 2 > t->total_ns && threshold > 100) {
		f->why = "Most of it was for blocks of more than 8 pages. Reclaim frees single "
			 "pages; only by luck are they contiguous. With a lower threshold the "
			 "kernel compacts sooner instead.";
		try_sysctl(r, f, "Compact sooner than reclaim", "extfrag_threshold", threshold,
			threshold / 2);
		return;
	}
	if (t->scanned > t->reclaimed * FUTILE) {
		f->why = "Reclaim scans much and frees little: the memory is in use. No setting "
			 "helps with that.";
		finding_line(r, f->try_,
			"Use less memory, or add some. Who holds it: `ps -eo pid,rss,comm --sort "
			"-rss | head`");
		return;
	}
	f->why =
		"Memory ran out faster than kswapd freed it in the background, so allocating tasks "
		"freed it themselves, and waited.";
	if (now && now < 300)
		try_sysctl(r, f, "Let kswapd start earlier, in 1/10000 of memory",
			"watermark_scale_factor", now, MIN(now * 5, 300ULL));
	else
		finding_line(
			r, f->try_, "Use less memory, or add some: kswapd already starts early.");
}

static void tell_fragmentation(
	struct report *r, struct finding *f, const struct state *s, const struct sums *t)
{
	const char *defrag = facts_text(&s->facts, "thp/defrag");
	u64 now = facts_last(&s->facts, "vm.min_free_kbytes");
	u64 next = now ? min_free_next(r, now, s->pageblock_order) : 0;

	f->why = "Memory was free, but not in blocks of the requested size: pages had to be moved "
		 "first. That is fragmentation, not a lack of memory.";
	tell_free(r, f, s);
	if (t->thp_ns * 2 > t->total_ns &&
		(!strcmp(defrag, "always") || !strcmp(defrag, "madvise"))) {
		finding_line(r, f->evidence,
			"most of it at page faults for huge pages; " DEFRAG " is '%s'", defrag);
		finding_line(
			r, f->try_, "Let faults take small pages, and khugepaged do the rest:");
		finding_line(r, f->try_, "`echo %s > " DEFRAG "`",
			strcmp(defrag, "always") ? "defer" : "defer+madvise");
		finding_line(r, f->undo, "`echo %s > " DEFRAG "`", defrag);
	} else if (next) {
		try_sysctl(r, f, "Keep three more pageblocks per node free", "min_free_kbytes", now,
			next);
	} else {
		try_compact(r, f, &s->facts);
	}
	finding_line(r, f->try_, "Who fragments it: `memwhy frag --by process --for 60s`");
}

static void stalls_rule_tell_numbers(struct report *r, struct finding *f, const struct sums *t)
{
	char p50[UNIT_BUF], p99[UNIT_BUF], max[UNIT_BUF], reclaim[UNIT_BUF], compact[UNIT_BUF];

	finding_line(r, f->evidence, "%llu allocations waited: median %s, p99 %s, worst %s",
		t->count, fmt_ns(p50, hist_quantile(&t->hist, 0.5, t->max_ns)),
		fmt_ns(p99, hist_quantile(&t->hist, 0.99, t->max_ns)), fmt_ns(max, t->max_ns));
	if (t->reclaim_ns)
		finding_line(r, f->evidence, "%s in reclaim: %llu pages scanned, %llu reclaimed%s",
			fmt_ns(reclaim, t->reclaim_ns), t->scanned, t->reclaimed,
			t->scanned && t->reclaimed * 2 < t->scanned ? ": most were still in use"
								    : "");
	if (t->compact_ns)
		finding_line(r, f->evidence,
			"%s in compaction, for blocks of up to 2^%u pages: %llu pages moved",
			fmt_ns(compact, t->compact_ns), t->order, t->migrated);
	if (t->failed)
		finding_line(r, f->evidence, "%llu of them failed", t->failed);
}

static void stalls_rule_tell(struct report *r, const struct state *s, const struct key *key,
	const struct sums *t, int level)
{
	bool charge = key->kind == STALLS_CHARGE, pieces = t->compact_ns > t->reclaim_ns;
	const char *comm = stream_comm(r->stream, key->tgid, 0);
	struct finding *f = report_finding(
		r, level, !charge && pieces ? "compaction-stalls" : "reclaim-stalls");
	char lost[UNIT_BUF];

	if (!f)
		return;
	f->cost_ns = t->total_ns;
	f->tgid = key->tgid;
	f->cgroup = charge ? key->cgroup : 0;
	f->losses = !charge && pieces ? LOSS_COMPACTION : LOSS_RECLAIM;
	f->symptom = charge || !pieces;
	f->title = report_text(r, "%s lost %s to %s: %s", report_process(r, key->tgid),
		fmt_ns(lost, t->total_ns),
		charge   ? "cgroup reclaim"
		: pieces ? "compaction"
			 : "direct reclaim",
		report_share_text(r, t->total_ns));
	f->confidence = "high: every stall was counted and timed";
	stalls_rule_tell_numbers(r, f, t);
	if (charge) {
		tell_memcg(r, f, s, key);
		return;
	}
	if (pieces)
		tell_fragmentation(r, f, s, t);
	else
		tell_shortage(r, f, s, t);
	finding_line(r, f->verify, "`memwhy stalls --for 30s -c %.15s`", comm);
}

/* The group with the most time lost below `below`, or -1. */
static ssize_t stalls_rule_next_worst(const struct groups *g, u64 below, ssize_t after)
{
	ssize_t best = -1;
	u64 best_ns = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct sums *t = groups_value(g, i);

		if (t->total_ns > below || (t->total_ns == below && (ssize_t)i <= after))
			continue;
		if (t->total_ns > best_ns) {
			best = (ssize_t)i;
			best_ns = t->total_ns;
		}
	}
	return best;
}

static int stalls_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	u64 below = ~0ULL;
	ssize_t at = -1;

	for (int i = 0; i < FINDINGS; i++) {
		const struct sums *t;
		int level;

		at = stalls_rule_next_worst(&s->by, below, at);
		if (at < 0)
			break;
		t = groups_value(&s->by, (size_t)at);
		below = t->total_ns;
		level = share_level(report_share(r, t->total_ns), 0.01, 0.05, 0.25);
		if (level >= 0 && t->count >= MIN_STALLS)
			stalls_rule_tell(r, s, groups_key(&s->by, (size_t)at), t, level);
	}
	return 0;
}

static void stalls_rule_reset(void *v)
{
	struct state *s = v;

	groups_clear(&s->by);
	facts_reset(&s->facts);
}

static void stalls_rule_destroy(void *v)
{
	struct state *s = v;

	groups_free(&s->by);
	facts_free(&s->facts);
}

const struct view rule_stalls = {
	.size = sizeof(struct state),
	.init = stalls_rule_init,
	.feed = stalls_rule_feed,
	.report = stalls_rule_report,
	.reset = stalls_rule_reset,
	.destroy = stalls_rule_destroy,
};
