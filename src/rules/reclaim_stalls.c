/* Tasks that had to free memory themselves before they got any: the time they lost to it. */
#include <errno.h>

#include "analysis/hist.h"
#include "base/units.h"
#include "probes/reclaim/reclaim.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_STALLS 5 /* fewer are no pattern */
#define FINDINGS 3   /* processes named; the rest is summed up */

struct key {
	u32 tgid;
	u32 kind;
	u64 cgroup;
};

struct sums {
	u64 count, total_ns, max_ns, scanned, reclaimed;
	struct hist hist;
	u32 stack;
	u64 stack_ns;
};

static int init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(struct key), sizeof(struct sums));
	return 0;
}

static int feed(void *v, const struct rec *rec)
{
	struct rule_sums *s = v;
	const struct reclaim_agg *r = (const void *)rec;
	struct key key;
	struct sums *t;

	if (rec->kind != REC_RECLAIM_AGG)
		return facts_feed(&s->facts, rec);
	if (r->kind == RECLAIM_KSWAPD || r->kind == RECLAIM_OTHER)
		return 0; /* nobody waits for these */
	key = (struct key){r->tgid, r->kind, r->cgroup};
	t = groups_get(&s->by, &key);
	if (!t)
		return -ENOMEM;
	t->count += r->count;
	t->total_ns += r->total_ns;
	t->max_ns = MAX(t->max_ns, r->max_ns);
	t->scanned += r->scanned;
	t->reclaimed += r->reclaimed;
	hist_merge32(&t->hist, r->hist, AGG_SLOTS);
	if (r->stack && r->total_ns > t->stack_ns) {
		t->stack = r->stack;
		t->stack_ns = r->total_ns;
	}
	return 0;
}

static void tell_memcg(
	struct report *r, struct finding *f, const struct rule_sums *s, const struct key *key)
{
	const struct cgroup_usage *cg = facts_cgroup(&s->facts, key->cgroup);
	const char *path = stream_cgroup(r->stream, key->cgroup);
	char usage[UNIT_BUF], limit[UNIT_BUF];

	f->why = "The cgroup is at its memory limit: each new page first has to push another one "
		 "out. "
		 "Whoever allocates pays, even for the page cache of a read.";
	if (!cg || !path || cg->limit_bytes == CGROUP_USAGE_NONE) {
		finding_line(r, f->try_,
			"Find the cgroup whose limit it is, and what fills it: "
			"`memwhy reclaim --by cgroup --for 10s`");
		return;
	}
	finding_line(r, f->evidence, "cgroup %s uses %s of its limit of %s", path,
		fmt_bytes(usage, cg->usage_bytes), fmt_bytes(limit, cg->limit_bytes));
	cgroup_tell_raise(r, f, cg, cgroup_directory(r, cg->version, path), "reclaim");
}

static void tell_global(
	struct report *r, struct finding *f, const struct rule_sums *s, const char *comm)
{
	u64 now = facts_last(&s->facts, "vm.watermark_scale_factor");

	f->why =
		"Memory ran out faster than kswapd freed it in the background, so allocating tasks "
		"freed it themselves, and waited.";
	finding_line(r, f->evidence,
		"the kernel counts %llu such stalls (allocstall_* in /proc/vmstat)",
		facts_delta_all(&s->facts, "allocstall_"));
	if (now && now < 300) {
		finding_line(r, f->try_,
			"Let kswapd start earlier (watermarks are %llu/10000 apart now):", now);
		finding_line(r, f->try_, "`sysctl -w vm.watermark_scale_factor=%llu`",
			MIN(now * 5, 300ULL));
		finding_line(r, f->undo, "`sysctl -w vm.watermark_scale_factor=%llu`", now);
	} else {
		finding_line(
			r, f->try_, "Use less memory, or add some: kswapd already starts early.");
	}
	finding_line(r, f->verify, "`memwhy reclaim --for 30s -c %.15s`", comm);
}

static void tell(struct report *r, const struct rule_sums *s, const struct key *key,
	const struct sums *t, int level)
{
	struct finding *f = report_finding(r, level, "reclaim-stalls");
	const char *comm = stream_comm(r->stream, key->tgid, 0);
	char lost[UNIT_BUF], p50[UNIT_BUF], p99[UNIT_BUF], max[UNIT_BUF];
	double share = report_share(r, t->total_ns);

	if (!f)
		return;
	f->cost_ns = t->total_ns;
	f->title = report_text(r, "%s (pid %u) lost %s to %s reclaim: %.1f %% of the time", comm,
		key->tgid, fmt_ns(lost, t->total_ns),
		key->kind == RECLAIM_MEMCG ? "cgroup" : "direct", share * 100);
	f->confidence = "high: every stall was counted and timed";
	finding_line(r, f->evidence, "%llu stalls: median %s, p99 %s, worst %s", t->count,
		fmt_ns(p50, hist_quantile(&t->hist, 0.5, t->max_ns)),
		fmt_ns(p99, hist_quantile(&t->hist, 0.99, t->max_ns)), fmt_ns(max, t->max_ns));
	finding_line(r, f->evidence, "%llu pages scanned, %llu reclaimed%s", t->scanned,
		t->reclaimed,
		t->scanned && t->reclaimed * 2 < t->scanned ? ": most were still in use" : "");
	if (key->kind == RECLAIM_MEMCG || key->kind == RECLAIM_SOFTLIMIT)
		tell_memcg(r, f, s, key);
	else
		tell_global(r, f, s, comm);
}

/* The group with the most time lost below `below`, or NULL. */
static ssize_t next_worst(const struct groups *g, u64 below, ssize_t after)
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

static int report(void *v, struct report *r)
{
	struct rule_sums *s = v;
	u64 below = ~0ULL;
	ssize_t at = -1;

	for (int i = 0; i < FINDINGS; i++) {
		const struct sums *t;
		int level;

		at = next_worst(&s->by, below, at);
		if (at < 0)
			break;
		t = groups_value(&s->by, (size_t)at);
		below = t->total_ns;
		level = share_level(report_share(r, t->total_ns), 0.01, 0.05, 0.25);
		if (level >= 0 && t->count >= MIN_STALLS)
			tell(r, s, groups_key(&s->by, (size_t)at), t, level);
	}
	return 0;
}

const struct view rule_reclaim_stalls = SUMS_RULE(init, feed, report);
