/*
 * Swapping that costs time, and swap that is full. Who waits is known from major faults on
 * anonymous and shared memory, which are swap-ins; who causes it, from the processes that hold most
 * of the swap or grow. Memory that lies in swap and is not needed is no trouble.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/faults/faults.h"
#include "rules/anon_growth.h"
#include "rules/facts.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define MIN_BACK 200 /* pages; fewer come back when any old window is opened */
#define FULL 0.95
#define FULL_OUT 256 /* pages swapped out: it is still filling */
#define TOP 3

struct process {
	u64 waits, ns; /* major faults on memory that goes to swap */
	struct anon_growth anon;
	u64 cgroup;
};

static int swap_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct process));
	return 0;
}

static int swap_rule_feed(void *v, const struct rec *rec)
{
	struct rule_sums *s = v;
	const struct faults_agg *fault = (const void *)rec;
	const struct process_memory *m = (const void *)rec;
	struct process *p;

	if (rec->kind == REC_FAULTS_AGG) {
		p = fault_is_swap_in(fault) ? groups_get(&s->by, &fault->tgid) : NULL;
		if (!p)
			return fault_is_swap_in(fault) ? -ENOMEM : 0;
		p->waits += fault->count;
		p->ns += fault->total_ns;
		p->cgroup = fault->cgroup;
		return 0;
	}
	if (rec->kind != REC_PROCESS_MEMORY)
		return facts_feed(&s->facts, rec);
	p = groups_get(&s->by, &m->tgid);
	if (!p)
		return -ENOMEM;
	anon_growth_feed(&p->anon, m);
	p->cgroup = m->cgroup ? m->cgroup : p->cgroup;
	return 0;
}

static u64 waited_ns(const struct process *p)
{
	return p->ns;
}

static u64 swapped_bytes(const struct process *p)
{
	return p->anon.swap_bytes;
}

static u64 grown_bytes(const struct process *p)
{
	return anon_growth_bytes(&p->anon);
}

/* Of whom: of the processes of one group and the groups below it, or of all where group is 0. */
struct whose {
	const struct report *r;
	u64 group;
};

/* The entry with the largest value below `below`; NULL when there is none above 0. */
static const struct process *next_below(const struct rule_sums *s, const struct whose *w,
	u64 (*value)(const struct process *), u64 below, u32 *ret_tgid)
{
	const struct process *best = NULL;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct process *p = groups_value(&s->by, i);

		if (!value(p) || value(p) >= below || (best && value(p) <= value(best)) ||
			(w->group && !report_cgroup_within(w->r, p->cgroup, w->group)))
			continue;
		best = p;
		*ret_tgid = *(const u32 *)groups_key(&s->by, i);
	}
	return best;
}

/* "a (pid 1) 3.00 s, b (pid 2) 1.00 s" */
static const char *top_text(struct report *r, const struct rule_sums *s, u64 group,
	u64 (*value)(const struct process *), char *(*fmt)(char *, u64))
{
	_cleanup_str_ struct str text = {};
	struct whose w = {r, group};
	u64 below = ~0ULL;
	char buf[UNIT_BUF];

	for (int i = 0; i < TOP; i++) {
		u32 tgid = 0;
		const struct process *p = next_below(s, &w, value, below, &tgid);

		if (!p)
			break;
		below = value(p);
		str_addf(&text, "%s%s (pid %u) %s", text.len ? ", " : "", report_program(r, tgid),
			tgid, fmt(buf, below));
	}
	return report_text(r, "%s", str_get(&text));
}

/* What came back from swap, and from where. */
struct back {
	u64 disk, zswap, zero, all, refaults;
	u64 pushed; /* out, in the same time; of those whose copy in swap was still good, too */
	u64 waits, ns;
};

static struct back back_of(const struct rule_sums *s)
{
	struct back b = {
		.disk = facts_delta(&s->facts, "pswpin"),
		.zswap = facts_delta(&s->facts, "zswpin"),
		.zero = facts_delta(&s->facts, "swpin_zero"),
		.refaults = facts_delta(&s->facts, "workingset_refault_anon"),
		.pushed = facts_known(&s->facts, "pgsteal_anon")
				  ? facts_delta(&s->facts, "pgsteal_anon")
				  : ~0ULL,
	};

	b.all = b.disk + b.zswap + b.zero;
	for (size_t i = 0; i < s->by.n; i++) {
		const struct process *p = groups_value(&s->by, i);

		b.waits += p->waits;
		b.ns += p->ns;
	}
	return b;
}

/* Pages that were out for long and come back once are none, though the kernel counts them as needed
 * again. */
static bool is_thrashing(const struct back *b)
{
	return b->refaults * 2 >= b->all && b->pushed >= b->all / 4;
}

static void evidence(
	struct report *r, struct finding *f, const struct rule_sums *s, const struct back *b)
{
	u64 group = f->cgroup; /* whoever is outside of it has nothing to do with it */
	double seconds = report_seconds(r);
	char buf[UNIT_BUF];
	const char *top;

	finding_line(r, f->evidence,
		"%llu pages came back from swap, %.0f a second (%llu from swap devices, %llu from "
		"zswap); %llu went out to devices, %llu to zswap",
		b->all, (double)b->all / seconds, b->disk, b->zswap,
		facts_delta(&s->facts, "pswpout"), facts_delta(&s->facts, "zswpout"));
	if (b->pushed < b->all / 4)
		finding_line(r, f->evidence,
			"hardly any goes out: it was swapped out before this run, and comes back "
			"once");
	else
		finding_line(r, f->evidence,
			"%.0f %% of them were refaults: needed again soon after they had been "
			"swapped out",
			100.0 * (double)MIN(b->refaults, b->all) / (double)b->all);
	finding_line(r, f->evidence, "%llu major faults on anonymous or shared memory, mean %s",
		b->waits, fmt_ns(buf, b->ns / MAX(b->waits, 1ULL)));
	top = top_text(r, s, group, waited_ns, fmt_ns);
	if (top[0])
		finding_line(r, f->evidence, "who pays: %s", top);
	top = top_text(r, s, group, grown_bytes, fmt_bytes);
	if (top[0])
		finding_line(r, f->evidence, "who grows: %s", top);
	top = top_text(r, s, group, swapped_bytes, fmt_bytes);
	if (top[0])
		finding_line(r, f->evidence, "who has the most in swap: %s", top);
}

static void try_setting(struct report *r, struct finding *f, const struct rule_sums *s,
	const char *name, u64 value, const char *why)
{
	if (!facts_known(&s->facts, name) || facts_last(&s->facts, name) == value)
		return;
	finding_line(r, f->try_, "%s (now %llu): `sysctl -w %s=%llu`", why,
		facts_last(&s->facts, name), name, value);
	finding_line(r, f->undo, "`sysctl -w %s=%llu`", name, facts_last(&s->facts, name));
}

/* A group at its limit swaps whatever the machine has free. */
#define VERIFY "`memwhy swap --for 30s`"

static void try_zswap(struct report *r, struct finding *f, const struct rule_sums *s)
{
	if (strcmp(facts_text(&s->facts, "zswap/enabled"), "N") != 0)
		return;
	finding_line(r, f->try_,
		"If the swap device is a disk, keep a compressed copy in memory in front of it: "
		"`echo Y > /sys/module/zswap/parameters/enabled`");
	finding_line(r, f->undo, "`echo N > /sys/module/zswap/parameters/enabled`");
}

/* What is in swap would fit into huge pages that nobody uses, or into what one group is kept, which
 * take so much that they are told as the reason. */
static bool is_set_aside(const struct report *r, const struct facts *f)
{
	u64 most = (u64)(HELD_MOST_PART * (double)r->stream->host.memory_bytes), kept,
	    out = MAX(counter_rise(facts_last(f, "SwapFree"), facts_last(f, "SwapTotal")), most);

	facts_protected(f, &kept);
	return facts_idle_pools(f) >= out || kept >= out;
}

static void tell_waits(struct report *r, const struct rule_sums *s, const struct back *b, int level)
{
	struct finding *f = report_finding(r, level, "swap");
	struct cgroup_usage cg = {};
	const struct process *most;
	char lost[UNIT_BUF];
	u32 tgid = 0;
	bool limited;
	const char *path;

	if (!f)
		return;
	most = next_below(s, &(struct whose){}, waited_ns, ~0ULL, &tgid);
	limited = most && facts_cgroup_at_limit(&s->facts, r, most->cgroup, &cg);
	path = limited ? stream_cgroup(r->stream, cg.cgroup) : NULL;
	f->cost_ns = b->ns;
	f->losses = LOSS_SWAP | LOSS_RECLAIM | LOSS_REFAULT;
	f->cgroup = cg.cgroup;
	f->symptom = !limited && is_set_aside(r, &s->facts);
	f->here = true;
	f->title = report_text(r, "%sasks waited %s for pages to come back from swap: %s%s",
		is_thrashing(b) ? "Thrashing: t" : "T", fmt_ns(lost, b->ns),
		report_share_text(r, b->ns),
		most ? report_text(r, ", most of it in %s", report_process(r, tgid)) : "");
	f->confidence =
		"high: every major fault was counted and timed; the reclaim that made room for "
		"its page is in its time";
	evidence(r, f, s, b);
	if (path) {
		f->title = report_text(r, "%s, at the limit of cgroup %s (%s)", f->title,
			report_cgroup(r, path), fmt_bytes(lost, cg.limit_bytes));
		f->why = "The control group is at its limit: for each page that comes back another "
			 "goes out to swap, even when the machine has free memory.";
		cgroup_tell_raise(r, f, &cg, cgroup_directory(r, cg.version, path), "swap");
		return;
	}
	f->why = "The memory in use does not fit: pages go to swap and are needed again soon "
		 "after. The tasks that wait are not always those that use the memory.";
	finding_line(
		r, f->try_, "Add memory, or limit or stop what grows or has the most in swap.");
	if (facts_last(&s->facts, "vm.swappiness") > 100)
		swappiness_tell(r, f, &s->facts, true);
	else
		try_setting(r, f, s, "vm.swappiness", 10,
			"If the page cache is large and files are read once, swap less of the "
			"rest");
	try_zswap(r, f, s);
	try_setting(r, f, s, "vm.page-cluster", 0,
		"On zram, zswap or a fast SSD, read only the page that is needed");
	if (!f->undo[0])
		finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, VERIFY);
}

static void waits(struct report *r, const struct rule_sums *s)
{
	struct back b = back_of(s);
	int level = share_level(report_share(r, b.ns), 0.05, 0.2, 0.6);

	if (b.all >= MIN_BACK && level > LEVEL_NOTE)
		tell_waits(r, s, &b, is_thrashing(&b) ? level : LEVEL_RISK);
}

static void full(struct report *r, const struct rule_sums *s)
{
	const struct facts *facts = &s->facts;
	u64 total = facts_last(facts, "SwapTotal"), left = facts_last(facts, "SwapFree");
	u64 out = facts_delta(facts, "pswpout") + facts_delta(facts, "zswpout");
	char a[UNIT_BUF], b[UNIT_BUF];
	const char *top;
	struct finding *f;

	if (!total || left > total || (double)(total - left) < FULL * (double)total)
		return;
	f = report_finding(r, out >= FULL_OUT ? LEVEL_WARNING : LEVEL_RISK, "swap-full");
	if (!f)
		return;
	f->title = report_text(
		r, "Swap is full: %s of %s left", fmt_bytes(a, left), fmt_bytes(b, total));
	f->confidence = "high: the kernel's own counters";
	finding_line(r, f->evidence, "%llu pages were swapped out in that time", out);
	finding_line(r, f->evidence, "%s of memory is available",
		fmt_bytes(a, facts_last(facts, "MemAvailable")));
	top = top_text(r, s, 0, swapped_bytes, fmt_bytes);
	if (top[0])
		finding_line(r, f->evidence, "who has the most in swap: %s", top);
	f->why = "Memory that does not fit has nowhere to go: the next shortage evicts file pages "
		 "in use, and then the OOM killer acts.";
	finding_line(r, f->try_,
		"Restart or limit what has the most in swap, if that is more than it needs; "
		"`memwhy swap --table owners` lists all.");
	finding_line(r, f->try_,
		"Add a swap file: `fallocate -l 2G /swapfile && chmod 600 /swapfile && mkswap "
		"/swapfile && swapon /swapfile`");
	finding_line(r, f->undo, "`swapoff /swapfile && rm /swapfile`");
	finding_line(r, f->verify, "`swapon --show`");
}

static int swap_rule_report(void *v, struct report *r)
{
	waits(r, v);
	full(r, v);
	return 0;
}

const struct view rule_swap = SUMS_RULE(swap_rule_init, swap_rule_feed, swap_rule_report);
