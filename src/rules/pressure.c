/* Pressure stall information: the share of time in which tasks waited for memory. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

static int report(void *v, struct report *r)
{
	const struct facts *f = v;
	u64 some_us = f->pressure.some_total_us - f->pressure_first.some_total_us;
	u64 full_us = f->pressure.full_total_us - f->pressure_first.full_total_us;
	double some = report_share(r, some_us * 1000), full = report_share(r, full_us * 1000);
	int level = MAX(share_level(some, 0.02, 0.1, 0.4), share_level(full, 0.01, 0.05, 0.2));
	struct finding *x;

	if (!f->pressure.h.size) {
		report_not_checked(r,
			"memory pressure: /proc/pressure/memory is not there (CONFIG_PSI, or "
			"boot with psi=1)");
		return 0;
	}
	if (level < LEVEL_RISK)
		return 0;
	x = report_finding(r, level, "pressure");
	if (!x)
		return 0;
	x->symptom = x->wall = true;
	x->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP | LOSS_COMPACTION;
	x->cost_ns = some_us * 1000;
	x->title = report_text(r,
		"Tasks waited for memory in %.1f %% of the time, all of them at once in %.1f %% "
		"(PSI of the machine)",
		some * 100, full * 100);
	x->confidence =
		"high: the kernel accounts every wait (PSI); no rule of check found out why";
	finding_line(r, x->evidence, "/proc/pressure/memory: some %.3f s, full %.3f s of %.1f s",
		(double)some_us / 1e6, (double)full_us / 1e6, report_seconds(r));
	x->why = "Reclaim, refaults of pages that were just pushed out, swap-ins and writers held "
		 "back in a group above memory.high count as waits for memory.";
	finding_line(r, x->try_,
		"Ask who waits, and where: `memwhy stalls --by process,cgroup --for 30s`");
	finding_line(r, x->try_,
		"Who reads pages back: `memwhy faults --by process,mapping --sort major --for "
		"30s`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`cat /proc/pressure/memory`");
	return 0;
}

const struct view rule_pressure = FACTS_RULE(report);
