/* Memory of a process on other NUMA nodes than its threads: see analysis/placement.h. */
#include "analysis/placement.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/rules.h"

struct state {
	u64 page_bytes;
	struct groups by; /* tgid -> last struct process_numa */
};

static int numa_placement_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	s->page_bytes = 4096;
	groups_init(&s->by, sizeof(u32), sizeof(struct process_numa));
	return 0;
}

static int numa_placement_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;
	const struct process_numa *n = (const void *)r;
	struct process_numa *last;

	if (r->kind == REC_HOST) {
		const struct rec_host *host = (const void *)r;

		s->page_bytes = host->page_bytes ? host->page_bytes : s->page_bytes;
	}
	if (r->kind != REC_PROCESS_NUMA)
		return 0;
	last = groups_get(&s->by, &n->tgid);
	if (last)
		*last = *n;
	return 0;
}

static int numa_placement_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	int rc = 0;

	for (size_t i = 0; i < s->by.n && !rc; i++) {
		const struct process_numa *n = groups_value(&s->by, i);
		struct placement p = {
			.tgid = n->tgid,
			.comm = report_text(r, "%.16s", n->comm),
			.nodes = MIN(n->nodes, (u32)PROCESS_NODES),
			.pages = n->resident_pages,
			.policy_pages = n->policy_pages,
			.ran_ns = n->ran_ns,
			.threads = n->threads,
			.page_bytes = s->page_bytes,
			.cpu_nodes = n->cpu_nodes,
			.allowed_nodes = n->allowed_nodes,
			.allowed_memory = n->allowed_memory,
			.cpus = stream_string(r->stream, n->allowed_cpus),
			.policy = stream_string(r->stream, n->policy),
			.own = n->h.flags & PROCESS_NUMA_OWN,
			.command = stream_string(r->stream, n->command),
		};
		struct placement_verdict verdict = placement_judge(&p);

		rc = placement_tell(r, &p, &verdict);
	}
	return rc;
}

static void numa_placement_rule_reset(void *v)
{
	groups_clear(&((struct state *)v)->by);
}

static void numa_placement_rule_destroy(void *v)
{
	groups_free(&((struct state *)v)->by);
}

const struct view rule_numa_placement = {
	.size = sizeof(struct state),
	.init = numa_placement_rule_init,
	.feed = numa_placement_rule_feed,
	.report = numa_placement_rule_report,
	.reset = numa_placement_rule_reset,
	.destroy = numa_placement_rule_destroy,
};
