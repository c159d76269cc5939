/* Pressure stall information: the share of time in which tasks waited for memory, in the machine,
 * or in the control group that has most of it, where the kernel tells it by group. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MOST 0.5   /* of the machine's: it is the group's own */
#define NEARLY 0.9 /* of its parent's: the child has it */

static u64 waited_us(const struct cgroup_usage *cg)
{
	return cg->h.flags & CGROUP_HAS_PRESSURE && cg->level &&
			       cg->some_total_us > cg->first_some_total_us
		       ? cg->some_total_us - cg->first_some_total_us
		       : 0;
}

/* Of several within each other the innermost that has nearly all of it. */
static const struct cgroup_usage *group_find(const struct facts *f)
{
	const struct cgroup_usage *best = NULL;

	for (size_t i = 0; i < f->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&f->cgroups, i);
		double us = (double)waited_us(cg), most = best ? (double)waited_us(best) : 0;

		if (us && (!best || us * NEARLY > most ||
				  (us >= most * NEARLY && cg->level > best->level)))
			best = cg;
	}
	return best;
}

static struct finding *pressure_rule_begin(struct report *r, int level, u64 some_us)
{
	struct finding *x = report_finding(r, level, "pressure");

	if (!x)
		return NULL;
	x->symptom = x->wall = true;
	x->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP | LOSS_COMPACTION;
	x->cost_ns = some_us * 1000;
	x->confidence =
		"high: the kernel accounts every wait (PSI); no rule of check found the cause";
	x->why = "Reclaim, refaults of recently evicted pages, swap-ins and throttling of a group "
		 "above memory.high count as waits for memory.";
	return x;
}

static void tell_rest(struct report *r, struct finding *x)
{
	finding_line(r, x->try_,
		"See who waits, and where: `memwhy stalls --by process,cgroup --for 30s`");
	finding_line(r, x->try_,
		"See who reads pages back: `memwhy faults --by process,mapping --sort major --for "
		"30s`");
	finding_line(r, x->undo, "Nothing to undo.");
}

/* Returns the time, where there is a finding. */
static u64 tell_group(struct report *r, const struct facts *f)
{
	const struct cgroup_usage *cg = group_find(f);
	u64 us = cg ? waited_us(cg) : 0;
	double share = report_share(r, us * 1000);
	int level = share_level(share, 0.02, 0.1, 0.4);
	const char *path = cg ? stream_cgroup(r->stream, cg->cgroup) : NULL;
	struct finding *x = path && level >= LEVEL_RISK ? pressure_rule_begin(r, level, us) : NULL;

	if (!x)
		return 0;
	x->cgroup = cg->cgroup;
	x->title = report_text(r,
		"Tasks of cgroup %s waited for memory %.1f %% of the time (PSI of the group)",
		report_cgroup(r, path), share * 100);
	finding_line(r, x->evidence, "memory.pressure of the group: some %.3f s of %.1f s",
		(double)us / 1e6, report_seconds(r));
	tell_rest(r, x);
	finding_line(
		r, x->verify, "`cat %s/memory.pressure`", cgroup_directory(r, cg->version, path));
	return us;
}

static int pressure_rule_report(void *v, struct report *r)
{
	const struct facts *f = v;
	u64 some_us = counter_rise(f->pressure_first.some_total_us, f->pressure.some_total_us);
	u64 full_us = counter_rise(f->pressure_first.full_total_us, f->pressure.full_total_us);
	double some = report_share(r, some_us * 1000), full = report_share(r, full_us * 1000);
	int level = MAX(share_level(some, 0.02, 0.1, 0.4), share_level(full, 0.01, 0.05, 0.2));
	struct finding *x;

	if (!f->pressure.h.size) {
		report_not_checked(r, "memory pressure: no /proc/pressure/memory (CONFIG_PSI, or "
				      "boot with psi=1)");
		return 0;
	}
	if ((double)tell_group(r, f) >= MOST * (double)some_us && some_us)
		return 0;
	x = level < LEVEL_RISK ? NULL : pressure_rule_begin(r, level, some_us);
	if (!x)
		return 0;
	x->title = report_text(r,
		"Tasks waited for memory %.1f %% of the time, all of them at once %.1f %% (PSI of "
		"the machine)",
		some * 100, full * 100);
	finding_line(r, x->evidence, "/proc/pressure/memory: some %.3f s, full %.3f s of %.1f s",
		(double)some_us / 1e6, (double)full_us / 1e6, report_seconds(r));
	tell_rest(r, x);
	finding_line(r, x->verify, "`cat /proc/pressure/memory`");
	return 0;
}

const struct view rule_pressure = FACTS_RULE(pressure_rule_report);
