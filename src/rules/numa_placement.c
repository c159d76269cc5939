/* Memory of a process on other NUMA nodes than its threads. */
#include "base/units.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_PAGES 16384 /* 64 MiB: less does not matter */
#define FAR_SHARE 0.6

struct state {
	u32 nodes;
	struct groups by; /* tgid -> last struct process_numa */
};

static int init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	groups_init(&s->by, sizeof(u32), sizeof(struct process_numa));
	return 0;
}

static int feed(void *v, const struct rec *r)
{
	struct state *s = v;
	const struct process_numa *n = (const void *)r;
	struct process_numa *last;

	if (r->kind == REC_HOST)
		s->nodes = ((const struct rec_host *)r)->nodes;
	if (r->kind != REC_PROCESS_NUMA)
		return 0;
	last = groups_get(&s->by, &n->tgid);
	if (last)
		*last = *n;
	return 0;
}

/* Pages on nodes where none of its threads last ran, and all its pages. */
static u64 far_pages(const struct process_numa *n, u64 *ret_all)
{
	u64 far = 0, all = 0;

	for (int i = 0; i < PROCESS_NODES; i++) {
		all += n->resident_pages[i];
		far += n->threads[i] ? 0 : n->resident_pages[i];
	}
	*ret_all = all;
	return far;
}

static int report(void *v, struct report *r)
{
	struct state *s = v;

	if (s->nodes == 1)
		report_not_checked(r, "NUMA placement: this host has one node");
	for (size_t i = 0; i < s->by.n; i++) {
		const struct process_numa *n = groups_value(&s->by, i);
		u64 all, far = far_pages(n, &all);
		struct finding *f;

		if (far < MIN_PAGES || (double)far < FAR_SHARE * (double)all)
			continue;
		f = report_finding(r, LEVEL_RISK, "numa-placement");
		if (!f)
			return 0;
		f->tgid = n->tgid;
		f->title = report_text(r,
			"%.16s (pid %u) has %.0f %% of its memory on nodes where none of "
			"its threads runs",
			n->comm, n->tgid, 100.0 * (double)far / (double)all);
		f->confidence =
			"medium: placement is exact, but where threads ran is one look at the end";
		for (u32 k = 0; k < MIN(n->nodes, (u32)PROCESS_NODES); k++)
			finding_line(r, f->evidence, "node %u: %llu pages, %u threads", k,
				n->resident_pages[k], n->threads[k]);
		f->why = "Pages stay on the node where they were first touched. Threads that "
			 "moved, or an initialisation by another thread, leave them far away: each "
			 "miss of the caches then crosses the link between the nodes.";
		finding_line(r, f->try_,
			"Move its pages to its threads (a copy, once): "
			"`migratepages %u all NODE`",
			n->tgid);
		finding_line(r, f->undo, "`migratepages %u NODE all`", n->tgid);
		finding_line(r, f->verify, "`numastat -p %u`", n->tgid);
	}
	return 0;
}

static void reset(void *v)
{
	groups_clear(&((struct state *)v)->by);
}

static void destroy(void *v)
{
	groups_free(&((struct state *)v)->by);
}

const struct view rule_numa_placement = {
	.size = sizeof(struct state),
	.init = init,
	.feed = feed,
	.report = report,
	.reset = reset,
	.destroy = destroy,
};
