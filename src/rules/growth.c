/* A process whose anonymous memory grows steadily. Never called a leak: a cache that warms up or
 * a working set that builds looks the same for a while. */
#include <errno.h>
#include <string.h>

#include "analysis/trend.h"
#include "base/units.h"
#include "probes/faults/faults.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_SAMPLES 8
#define MIN_SECONDS 4.0
#define MIN_RATE (256.0 * 1024) /* bytes a second */
#define MIN_GROWTH (4.0 * 1024 * 1024)
#define STEADY 0.9 /* R squared */

struct grown {
	struct trend anon;
	u64 start_ns; /* of the process: an id that is used again begins anew */
	u32 stack;
	u64 stack_faults; /* of the code path with the most faults on anonymous memory */
	u64 faults;       /* sampled with a stack */
};

struct path {
	u32 tgid, stack;
};

struct state {
	struct rule_sums sums; /* by process */
	struct groups paths;   /* struct path to its faults */
};

static int init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct grown));
	groups_init(&s->paths, sizeof(struct path), sizeof(u64));
	return 0;
}

static int memory_feed(struct rule_sums *s, const struct process_memory *m)
{
	struct grown *g = groups_get(&s->by, &m->tgid);

	if (!g)
		return -ENOMEM;
	if (g->start_ns != m->start_ns)
		*g = (struct grown){.start_ns = m->start_ns};
	if (m->h.time_ns > g->anon.last_ns)
		trend_add(&g->anon, m->h.time_ns, (double)m->anon_bytes);
	return 0;
}

static int fault_feed(struct state *s, const struct faults_agg *r)
{
	struct path path = {r->tgid, r->stack};
	struct grown *g;
	u64 *faults;

	if (!r->stack || r->map == FAULT_MAP_FILE || !(r->flags & FAULT_WRITE))
		return 0;
	g = groups_get(&s->sums.by, &r->tgid);
	faults = groups_get(&s->paths, &path);
	if (!g || !faults)
		return -ENOMEM;
	g->faults += r->count;
	*faults += r->count;
	if (*faults > g->stack_faults) {
		g->stack = r->stack;
		g->stack_faults = *faults;
	}
	return 0;
}

static int feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_PROCESS_MEMORY)
		return memory_feed(&s->sums, (const void *)r);
	if (r->kind == REC_FAULTS_AGG)
		return fault_feed(s, (const void *)r);
	return facts_feed(&s->sums.facts, r);
}

/* Seconds until what is available is used up at this rate. */
static double seconds_left(const struct rule_sums *s, double rate)
{
	return (double)facts_last(&s->facts, "MemAvailable") / rate;
}

static void tell(struct report *r, const struct rule_sums *s, u32 tgid, const struct grown *g)
{
	double rate = trend_slope(&g->anon), left = seconds_left(s, rate);
	double seconds = (double)(g->anon.last_ns - g->anon.first_ns) / 1e9;
	struct finding *f = report_finding(r,
		facts_known(&s->facts, "MemAvailable") && left < 600 ? LEVEL_WARNING : LEVEL_RISK,
		"growth");
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "%s (pid %u) grows steadily: %s of anonymous memory a second",
		stream_comm(r->stream, tgid, 0), tgid, fmt_bytes(c, (u64)rate));
	f->confidence = report_text(r,
		"medium: a straight line fits (R² %.2f, %llu samples), but %.0f s "
		"cannot tell a leak from a cache that fills",
		trend_fit(&g->anon), g->anon.n, seconds);
	finding_line(r, f->evidence, "from %s to %s in %.0f s", fmt_bytes(a, (u64)g->anon.first),
		fmt_bytes(b, (u64)g->anon.last), seconds);
	if (facts_known(&s->facts, "MemAvailable") && left < 86400)
		finding_line(r, f->evidence,
			"at this rate available memory (%s) lasts %.0f minutes",
			fmt_bytes(a, facts_last(&s->facts, "MemAvailable")), left / 60);
	if (g->stack) {
		finding_line(r, f->evidence,
			"the code path that touches most new pages (%.0f %% of those "
			"sampled):",
			100.0 * (double)g->stack_faults / (double)g->faults);
		finding_stack(r, f, g->stack, 3);
	}
	f->why = "It touches new anonymous pages (heap, mmap) all the time and gives none back.";
	finding_line(r, f->try_,
		"What it allocates and does not free: `memwhy leak -p %u --for 60s`", tgid);
	finding_line(r, f->try_,
		"What it maps past malloc, as the objects of Python, Java and Go are: "
		"`memwhy maps --stacks=user --for 60s -p %u`",
		tgid);
	finding_line(r, f->try_,
		"Who touches new pages: `memwhy faults --stacks=user --for 30s -p %u`", tgid);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify,
		"`memwhy check --for 10m -p %u` (longer tells a leak from a cache)", tgid);
}

static int report(void *v, struct report *r)
{
	struct rule_sums *s = &((struct state *)v)->sums;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct grown *g = groups_value(&s->by, i);
		double seconds = (double)(g->anon.last_ns - g->anon.first_ns) / 1e9;

		if (g->anon.n < MIN_SAMPLES || seconds < MIN_SECONDS ||
			trend_fit(&g->anon) < STEADY)
			continue;
		if (trend_slope(&g->anon) < MIN_RATE || g->anon.last - g->anon.first < MIN_GROWTH)
			continue;
		tell(r, s, *(const u32 *)groups_key(&s->by, i), g);
	}
	return 0;
}

static void reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->paths);
}

static void destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->paths);
}

const struct view rule_growth = {
	.size = sizeof(struct state),
	.init = init,
	.feed = feed,
	.report = report,
	.reset = reset,
	.destroy = destroy,
};
