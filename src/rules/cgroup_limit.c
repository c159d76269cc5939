/* Control groups at, or close to, their memory limit. What that killed is told by another rule. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

static int level_of(const struct cgroup_usage *cg)
{
	double full = (double)cg->usage_bytes / (double)MAX(cg->limit_bytes, 1ULL);

	if (cg->limit_hit_total > cg->first_limit_hit_total)
		return LEVEL_WARNING;
	return full >= 0.95 ? LEVEL_RISK : -1;
}

static void tell(struct report *r, const struct cgroup_usage *cg, int level)
{
	struct finding *f = report_finding(r, level, "cgroup-limit");
	const char *path = stream_cgroup(r->stream, cg->cgroup);
	u64 hits = cg->limit_hit_total - cg->first_limit_hit_total;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "cgroup %s %s: %s of %s in use",
		path ? report_cgroup(r, path) : "(removed)",
		hits ? "hits its memory limit" : "is near its memory limit",
		fmt_bytes(a, cg->usage_bytes), fmt_bytes(b, cg->limit_bytes));
	f->confidence = "high: the kernel's own counters";
	finding_line(r, f->evidence, "the limit was hit %llu times meanwhile", hits);
	if (cg->swap_bytes)
		finding_line(r, f->evidence, "%s of it is in swap", fmt_bytes(a, cg->swap_bytes));
	f->why = "At the limit every charge reclaims within the group first, also when the machine "
		 "has free memory; when that does not help, the OOM killer picks a process of the "
		 "group.";
	cgroup_tell_raise(r, f, cg, cgroup_directory(r, cg->version, path ? path : "/"), "check");
}

static int report(void *v, struct report *r)
{
	const struct facts *f = v;

	for (size_t i = 0; i < f->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&f->cgroups, i);
		int level = cg->limit_bytes == CGROUP_USAGE_NONE ? -1 : level_of(cg);

		if (level >= 0)
			tell(r, cg, level);
	}
	return 0;
}

const struct view rule_cgroup_limit = FACTS_RULE(report);
