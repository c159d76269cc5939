/*
 * TLB shootdowns: threads of one process on several CPUs, one of which changes mappings all the
 * time. Each change interrupts the other CPUs, and waits for them. Who makes the calls is sampled.
 */
#include <errno.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "rules/facts.h"
#include "rules/rules.h"

/* Interrupts a second and CPU: some 0.4, 2 and 10 % of their time. */
#define NOTE_RATE 1000.0
#define RISK_RATE 5000.0
#define WARNING_RATE 25000.0
/* For the interrupted, and for who waits: what is usual outside of virtual machines. */
#define SHOOTDOWN_NS 4000
#define MOST_PART 0.5 /* of the calls that can cause them: it is the one */
#define CALLS_PART 5  /* and there is no less than one in so many interrupts */

struct calls {
	u64 count[3]; /* munmap and mremap, mprotect, madvise */
	u64 all;
	u32 stack;
	u64 stack_count;
};

struct state {
	struct rule_sums sums; /* tgid -> struct calls */
	u64 shootdowns;
	u64 on_ns;
};

static int shootdowns_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct calls));
	return 0;
}

static int shootdowns_kind_of(u16 call)
{
	return call == MMCALLS_MUNMAP || call == MMCALLS_MREMAP ? 0
	       : call == MMCALLS_MPROTECT                       ? 1
	       : call == MMCALLS_MADVISE                        ? 2
								: -1;
}

static int shootdowns_call_feed(struct state *s, const struct mmcalls_agg *r)
{
	int kind = shootdowns_kind_of(r->call);
	struct calls *c;

	if (kind < 0)
		return 0;
	c = groups_get(&s->sums.by, &r->tgid);
	if (!c)
		return -ENOMEM;
	c->count[kind] += r->count;
	c->all += r->count;
	if (r->stack && r->count > c->stack_count) {
		c->stack = r->stack;
		c->stack_count = r->count;
	}
	return 0;
}

static int shootdowns_rule_feed(void *v, const struct rec *r)
{
	const struct mmcalls_sampled *sampled = (const void *)r;
	struct state *s = v;

	switch (r->kind) {
	case REC_MMCALLS_AGG:
		return shootdowns_call_feed(s, (const void *)r);
	case REC_MMCALLS_SAMPLED:
		s->shootdowns += sampled->shootdowns;
		s->on_ns += sampled->on_ns;
		return 0;
	default:
		return facts_feed(&s->sums.facts, r);
	}
}

static const struct calls *shootdowns_most_find(const struct state *s, u32 *ret_tgid)
{
	const struct calls *most = NULL;
	u64 all = 0;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct calls *c = groups_value(&s->sums.by, i);

		all += c->all;
		if (most && c->all <= most->all)
			continue;
		most = c;
		*ret_tgid = *(const u32 *)groups_key(&s->sums.by, i);
	}
	return most && (double)most->all >= MOST_PART * (double)all ? most : NULL;
}

static double calls_second(const struct state *s, u64 calls)
{
	return (double)calls * 1e9 / (double)MAX(s->on_ns, 1ULL);
}

static const char *call_name(const struct calls *c)
{
	if (c->count[1] >= c->count[0] && c->count[1] >= c->count[2])
		return "mprotect()";
	return c->count[0] >= c->count[2] ? "munmap()" : "madvise()";
}

static void shootdowns_tell_try(struct report *r, struct finding *x, u32 tgid)
{
	finding_line(r, x->try_,
		"Change larger ranges at once, or less often; keep memory instead of releasing it. "
		"For glibc malloc(), before it is started: `export "
		"GLIBC_TUNABLES=glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold="
		"1073741824`");
	finding_line(r, x->try_,
		"Keep its threads on fewer CPUs if they do not need many (taskset): a CPU that "
		"runs none of them is not interrupted.");
	finding_line(r, x->undo, "Start it again as before.");
	finding_line(r, x->verify,
		"`grep TLB: /proc/interrupts; sleep 5; grep TLB: "
		"/proc/interrupts`");
	finding_line(r, x->verify, "`memwhy maps --by stack -p %u --for 10s`", tgid);
}

static void shootdowns_tell(struct report *r, const struct state *s, const struct calls *c,
	u32 tgid, double rate, int level)
{
	struct finding *x = report_finding(r, level, "tlb-shootdowns");

	if (!x)
		return;
	x->tgid = tgid;
	x->folds = 2; /* below what the same calls cost more in: waits for the lock, faults */
	x->losses = LOSS_FLUSH;
	x->cost_ns = s->shootdowns * SHOOTDOWN_NS;
	x->title = report_text(r,
		"%s changes its mappings %.0f times a second (%s): CPUs are interrupted %.0f times "
		"a second to flush their TLBs (TLB shootdowns)",
		report_process(r, tgid), calls_second(s, c->all), call_name(c), rate);
	x->confidence = "high for the number of interrupts; the caller is sampled, and the cost is "
			"estimated at 4 us each";
	finding_line(r, x->evidence, "%llu interrupts for shootdowns in %.1f s (/proc/interrupts)",
		s->shootdowns, report_seconds(r));
	finding_line(r, x->evidence,
		"its calls a second: munmap and mremap %.0f, mprotect %.0f, madvise %.0f",
		calls_second(s, c->count[0]), calls_second(s, c->count[1]),
		calls_second(s, c->count[2]));
	if (c->stack)
		finding_stack(r, x, c->stack, 4);
	x->why = "A CPU may still have the old translation in its TLB. So each munmap, mprotect or "
		 "madvise of memory in use interrupts every CPU that runs a thread of the process, "
		 "and returns only when all have answered.";
	shootdowns_tell_try(r, x, tgid);
}

static int shootdowns_rule_report(void *v, struct report *r)
{
	const struct state *s = v;
	double rate = (double)s->shootdowns / report_seconds(r);
	double each = rate / MAX(r->stream->host.cpus, 1U);
	u32 tgid = 0;
	const struct calls *c = shootdowns_most_find(s, &tgid);
	int level = each >= WARNING_RATE ? LEVEL_WARNING
		    : each >= RISK_RATE  ? LEVEL_RISK
		    : each >= NOTE_RATE  ? LEVEL_NOTE
					 : -1;

	/* Reclaim, compaction and NUMA balancing flush TLBs too: without calls nobody is blamed. */
	if (level >= 0 && c && calls_second(s, c->all) * CALLS_PART >= rate)
		shootdowns_tell(r, s, c, tgid, rate, level);
	return 0;
}

static void shootdowns_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	s->shootdowns = s->on_ns = 0;
}

static void shootdowns_rule_destroy(void *v)
{
	rule_sums_destroy(&((struct state *)v)->sums);
}

const struct view rule_shootdowns = {
	.size = sizeof(struct state),
	.init = shootdowns_rule_init,
	.feed = shootdowns_rule_feed,
	.report = shootdowns_rule_report,
	.reset = shootdowns_rule_reset,
	.destroy = shootdowns_rule_destroy,
};
