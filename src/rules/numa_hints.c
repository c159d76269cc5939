/* Hint faults of NUMA balancing on a machine with one node: there is nothing to balance. */
#include <string.h>

#include "rules/facts.h"
#include "rules/rules.h"

#define MANY 100.0 /* a second */
#define RISK 10000.0

static int numa_hints_rule_report(void *v, struct report *r)
{
	const struct facts *f = v;
	double faults = (double)facts_delta(f, "numa_hint_faults") / report_seconds(r);
	u64 mode = facts_last(f, "kernel.numa_balancing");
	struct finding *x;

	if (r->stream->host.nodes != 1 || !mode || faults < MANY)
		return 0;
	x = report_finding(r, faults >= RISK ? LEVEL_RISK : LEVEL_NOTE, "numa-hints");
	if (!x)
		return 0;
	x->title = report_text(r,
		"NUMA balancing is on, though there is only one node: %.0f useless page faults a "
		"second",
		faults);
	x->confidence = "high: the kernel's own counts and setting";
	finding_line(r, x->evidence,
		"kernel.numa_balancing is %llu; numa_hint_faults rose by %llu, "
		"numa_pte_updates by %llu",
		mode, facts_delta(f, "numa_hint_faults"), facts_delta(f, "numa_pte_updates"));
	x->why = "To see which node uses a page, the kernel unmaps it for a while, so that the "
		 "next access faults. With one node every page is already local.";
	finding_line(r, x->try_, "`sysctl -w kernel.numa_balancing=0`");
	finding_line(r, x->undo, "`sysctl -w kernel.numa_balancing=%llu`", mode);
	finding_line(r, x->verify, "`grep numa_hint_faults /proc/vmstat`");
	return 0;
}

const struct view rule_numa_hints = FACTS_RULE(numa_hints_rule_report);
