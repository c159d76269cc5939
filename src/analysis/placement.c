/* See placement.h. */
#include "analysis/placement.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

#define LARGE_PAGES 16384 /* 64 MiB: below, only what a policy or a cpuset puts there counts */
#define SMALL_PAGES 256   /* 1 MiB */
#define SMALL_RAN_NS (100 * NSEC_PER_MSEC) /* and then it must have run for so long */
#define USED_PART 10                       /* of the CPU time: a node with less is not used */
#define FAR_SHARE 0.6                      /* of its memory */
#define FAR_SHARE_BOUND 0.5

static u64 sum_of(const u64 *v, u32 n, u32 mask)
{
	u64 sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += mask & 1U << i ? v[i] : 0;
	return sum;
}

static u32 largest_of(const u64 *v, u32 n, u32 mask)
{
	u32 best = 0;

	for (u32 i = 0; i < n; i++)
		if (mask & 1U << i && (!(mask & 1U << best) || v[i] > v[best]))
			best = i;
	return best;
}

static u32 users_of(const struct placement *p)
{
	u64 all = sum_of(p->ran_ns, p->nodes, ~0U);
	u32 users = 0;

	for (u32 i = 0; i < p->nodes; i++)
		if (all ? p->ran_ns[i] * USED_PART >= all && p->ran_ns[i] : p->threads[i])
			users |= 1U << i;
	return users;
}

static bool has_policy(const struct placement *p)
{
	return p->policy && *p->policy;
}

static u32 placement_why_of(const struct placement *p, const struct placement_verdict *v)
{
	u64 ran = sum_of(p->ran_ns, p->nodes, ~0U);
	double share = (double)v->far_pages / (double)MAX(v->all_pages, 1ULL);
	bool large = v->far_pages >= LARGE_PAGES;
	bool counts = large || (v->far_pages >= SMALL_PAGES && ran >= SMALL_RAN_NS);

	if (!v->users || !v->far_pages)
		return PLACEMENT_FINE;
	if (counts && share >= FAR_SHARE_BOUND && has_policy(p) &&
		2 * sum_of(p->policy_pages, p->nodes, v->far_on) >= v->far_pages)
		return PLACEMENT_POLICY;
	if (counts && share >= FAR_SHARE_BOUND && p->allowed_memory &&
		!(p->allowed_memory & v->users))
		return PLACEMENT_CPUSET;
	return large && share >= FAR_SHARE ? PLACEMENT_TOUCHED : PLACEMENT_FINE;
}

struct placement_verdict placement_judge(const struct placement *p)
{
	struct placement_verdict v = {.users = users_of(p)};

	for (u32 i = 0; i < p->nodes; i++)
		v.far_on |= p->pages[i] && !(v.users & 1U << i) ? 1U << i : 0;
	v.far_pages = sum_of(p->pages, p->nodes, v.far_on);
	v.all_pages = sum_of(p->pages, p->nodes, ~0U);
	v.user = largest_of(p->ran_ns, p->nodes, v.users);
	v.why = placement_why_of(p, &v);
	if (v.why == PLACEMENT_POLICY) { /* on other nodes are pages of files, as they were read */
		for (u32 i = 0; i < p->nodes; i++)
			v.far_on &= p->policy_pages[i] ? ~0U : ~(1U << i);
		v.far_pages = sum_of(p->pages, p->nodes, v.far_on);
	}
	v.home = largest_of(p->pages, p->nodes, v.far_on);
	return v;
}

/* "0-1,3", as the tools for nodes take them. */
static const char *nodes_text(struct report *r, u32 mask)
{
	_cleanup_str_ struct str s = {};

	for (u32 i = 0; i < 32; i++) {
		u32 to = i;

		if (!(mask & 1U << i))
			continue;
		while (to + 1 < 32 && mask & 1U << (to + 1))
			to++;
		str_addf(&s, "%s%u", s.len ? "," : "", i);
		if (to > i)
			str_addf(&s, "-%u", to);
		i = to;
	}
	return report_text(r, "%s", str_get(&s));
}

static const char *nodes_word(u32 mask)
{
	return mask & (mask - 1) ? "nodes" : "node";
}

static const char *title_of(
	struct report *r, const struct placement *p, const struct placement_verdict *v)
{
	const char *runs = nodes_text(r, v->users), *on = nodes_text(r, v->far_on);
	double share = 100.0 * (double)v->far_pages / (double)v->all_pages;

	if (v->why == PLACEMENT_POLICY)
		return report_text(r,
			"%.16s (pid %u) runs on %s %s, but its policy %s puts its memory "
			"elsewhere: %.0f %% is on %s %s",
			p->comm, p->tgid, nodes_word(v->users), runs, p->policy, share,
			nodes_word(v->far_on), on);
	if (v->why == PLACEMENT_CPUSET)
		return report_text(r,
			"%.16s (pid %u) runs on %s %s, but its cpuset allows no memory there: %.0f "
			"%% is on %s %s",
			p->comm, p->tgid, nodes_word(v->users), runs, share, nodes_word(v->far_on),
			on);
	return report_text(r,
		"%.16s (pid %u) has %.0f %% of its memory on nodes where none of its threads runs",
		p->comm, p->tgid, share);
}

static void evidence_nodes(struct report *r, const struct placement *p, struct finding *f)
{
	u64 ran = sum_of(p->ran_ns, p->nodes, ~0U);
	char bytes[UNIT_BUF];

	for (u32 i = 0; i < p->nodes; i++) {
		const char *time = "";

		if (!p->pages[i] && !p->threads[i] && !p->ran_ns[i])
			continue;
		if (ran)
			time = report_text(r, ", %.0f %% of its CPU time",
				100.0 * (double)p->ran_ns[i] / (double)ran);
		finding_line(r, f->evidence, "node %u: %s of its memory, %u thread%s%s", i,
			fmt_bytes(bytes, p->pages[i] * p->page_bytes), p->threads[i],
			plural(p->threads[i]), time);
	}
}

static void evidence_policy(struct report *r, const struct placement *p, struct finding *f)
{
	if (p->own)
		finding_line(r, f->evidence,
			"Policy %s is set on its mappings (mbind), as numa_maps shows", p->policy);
	else
		finding_line(r, f->evidence,
			"Policy %s is set for the process (set_mempolicy, called by the program or "
			"by numactl), as numa_maps shows",
			p->policy);
	if (p->call)
		finding_line(r, f->evidence, "It was set by %s", p->call);
	else if (p->looked)
		finding_line(r, f->evidence,
			"The call that set it was not seen: it came before this run, or was lost");
}

static void evidence_allowed(struct report *r, const struct placement *p,
	const struct placement_verdict *v, struct finding *f)
{
	if (p->allowed_nodes && !(p->allowed_nodes & v->far_on))
		finding_line(r, f->evidence, "Its affinity restricts it to CPUs of %s %s",
			nodes_word(p->allowed_nodes), nodes_text(r, p->allowed_nodes));
	if (p->allowed_memory && !(p->allowed_memory & v->users))
		finding_line(r, f->evidence,
			"Its cpuset (cpuset.mems of its control group) allows memory only on %s %s",
			nodes_word(p->allowed_memory), nodes_text(r, p->allowed_memory));
}

/* The CPUs of the node are asked of the machine that runs the command. */
static void try_threads(struct report *r, const struct placement *p,
	const struct placement_verdict *v, struct finding *f)
{
	if (p->ended || (p->cpu_nodes && !(p->cpu_nodes & 1U << v->home)))
		return;
	finding_line(r, f->try_,
		"Let it run where its memory is: "
		"`taskset -acp $(cat /sys/devices/system/node/node%u/cpulist) %u`",
		v->home, p->tgid);
	if (p->cpus)
		finding_line(
			r, f->undo, "Restore its affinity: `taskset -acp %s %u`", p->cpus, p->tgid);
	else
		finding_line(r, f->undo,
			"Let it run everywhere: "
			"`taskset -acp $(cat /sys/devices/system/cpu/online) %u`",
			p->tgid);
}

static void try_pages(struct report *r, const struct placement *p,
	const struct placement_verdict *v, struct finding *f)
{
	const char *far = nodes_text(r, v->far_on), *users = nodes_text(r, v->users);
	const char *rest = v->why == PLACEMENT_POLICY
				   ? " (what it allocates later follows the policy again)"
				   : "";

	if (p->ended)
		return;
	if (p->allowed_memory && !(p->allowed_memory & v->users)) {
		finding_line(r, f->try_,
			"Allow memory where it runs: add %s %s to cpuset.mems of its control group",
			nodes_word(v->users), users);
		finding_line(
			r, f->undo, "Restore cpuset.mems: %s", nodes_text(r, p->allowed_memory));
		return;
	}
	finding_line(r, f->try_, "Move its pages to its threads, once%s: `migratepages %u %s %s`",
		rest, p->tgid, far, users);
	finding_line(r, f->undo, "Move them back: `migratepages %u %s %s`", p->tgid, users, far);
}

static void try_again(struct report *r, const struct placement *p,
	const struct placement_verdict *v, struct finding *f)
{
	if (v->why != PLACEMENT_POLICY)
		return;
	if (p->own) {
		finding_line(r, f->try_,
			"In the program: bind the memory to the node of the threads that use it, "
			"or remove the call");
		return;
	}
	if (!p->command) {
		finding_line(r, f->try_,
			"Start it with its memory where it runs: numactl --cpunodebind=%u "
			"--preferred=%u "
			"and its command",
			v->user, v->user);
		return;
	}
	finding_command(r, f->try_, p->command,
		"Start it with its memory where it runs: `numactl --cpunodebind=%u --preferred=%u",
		v->user, v->user);
	finding_line(r, f->undo, "Start it as before");
}

static const char *why_text(const struct placement *p, const struct placement_verdict *v)
{
	if (v->why == PLACEMENT_POLICY && strstr(p->policy, "balancing"))
		return "Memory goes where its policy says, whichever thread uses it, and automatic "
		       "NUMA balancing moves it only among the policy's nodes. Each cache miss "
		       "then crosses the link between nodes.";
	if (v->why == PLACEMENT_POLICY)
		return "Memory goes where its policy says, whichever thread uses it, and automatic "
		       "NUMA balancing leaves it there: it handles only memory without a policy. "
		       "Each cache miss then crosses the link between nodes.";
	if (v->why == PLACEMENT_CPUSET)
		return "A cpuset that allows CPUs of one node and memory of another makes all of "
		       "its memory remote: each cache miss crosses the link between nodes.";
	return "Pages stay on the node where they were first touched. Threads that moved, or "
	       "initialisation by another thread, leave them far away: each cache miss then "
	       "crosses the link between nodes.";
}

int placement_tell(struct report *r, const struct placement *p, const struct placement_verdict *v)
{
	struct finding *f;

	if (v->why == PLACEMENT_FINE)
		return 0;
	f = report_finding(r, v->far_pages >= LARGE_PAGES ? LEVEL_RISK : LEVEL_NOTE,
		v->why == PLACEMENT_TOUCHED ? "numa-placement" : "numa-policy");
	if (!f)
		return -ENOMEM;
	f->tgid = p->tgid;
	f->title = title_of(r, p, v);
	f->confidence = v->why == PLACEMENT_TOUCHED
				? "medium: where its pages are is exact, where it ran is estimated "
				  "(CPU time, by each thread's last CPU)"
				: "high: its pages and their policy are exact; where it ran is "
				  "estimated (CPU time, by each thread's last CPU)";
	evidence_nodes(r, p, f);
	if (v->why == PLACEMENT_POLICY)
		evidence_policy(r, p, f);
	evidence_allowed(r, p, v, f);
	f->why = why_text(p, v);
	if (v->why != PLACEMENT_TOUCHED)
		try_threads(r, p, v, f);
	try_pages(r, p, v, f);
	try_again(r, p, v, f);
	if (!p->ended)
		finding_line(r, f->verify, "`numastat -p %u`", p->tgid);
	else if (p->command)
		finding_command(r, f->verify, p->command, "`memwhy numa --");
	return 0;
}
