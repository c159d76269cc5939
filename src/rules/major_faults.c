/* Page faults that had to read from a disk: who waits, and for which file. Where the process's
 * group or the machine pushes out what it needs, this is only a symptom of that. Those that are
 * known to be swap-ins are the rule swap's. Processes of one program are told together: each may be
 * short. */
#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "probes/faults/faults.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_MAJOR 50 /* of a process: fewer happen when any program starts */
#define ONE_PART 0.7 /* one process that has this part is told alone */

struct sums {
	u64 major, timed, total_ns, max_ns;
	u64 cgroup;  /* of the task, as last seen */
	u64 top_ns;  /* of the mapping with the most time */
	u64 file_ns; /* on mappings known to be of files */
	u32 stack;
	u32 tgid, processes; /* of a program: the one that waited most */
	u64 tgid_ns;
	char file[AGG_NAME_LEN];
};

struct program_key {
	char comm[COMM_LEN];
	u64 cgroup;
};

static int major_faults_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct sums));
	return 0;
}

static int major_faults_rule_feed(void *v, const struct rec *rec)
{
	struct rule_sums *s = v;
	const struct faults_agg *r = (const void *)rec;
	struct sums *t;

	if (rec->kind != REC_FAULTS_AGG)
		return facts_feed(&s->facts, rec);
	if (!(r->flags & FAULT_MAJOR) || r->flags & FAULT_NAMED || fault_is_swap_in(r))
		return 0;
	t = groups_get(&s->by, &r->tgid);
	if (!t)
		return -ENOMEM;
	t->major += r->count;
	t->timed += r->timed;
	t->total_ns += r->total_ns;
	t->max_ns = MAX(t->max_ns, r->max_ns);
	t->cgroup = r->cgroup;
	if (r->map == MAPPING_FILE)
		t->file_ns += r->total_ns;
	if (r->total_ns > t->top_ns) {
		t->top_ns = r->total_ns;
		__builtin_memcpy(t->file, r->file, sizeof(t->file));
		t->stack = r->stack;
	}
	return 0;
}

static u64 file_refaults(const struct cgroup_usage *cg)
{
	return counter_rise(cg->first_refault_file_total, cg->refault_file_total);
}

/* The kernel counts a page as read back however long ago it went: only where pages still go is the
 * cache too small. Else it is a start after somebody else had the memory. */
static bool pages_go(const struct facts *facts, const struct sums *t)
{
	return !facts_known(facts, "pgsteal_file") ||
	       facts_delta(facts, "pgsteal_file") * 2 > t->major;
}

/*
 * Were most of its pages read before, and pushed out? As its group counts, or one above it; else as
 * the machine does, without what is known to be of other groups (of nested ones more than once: the
 * rest is the least that it can be). A group that reads back as much as the process faults in is
 * taken to be why.
 */
static bool read_again(const struct report *r, const struct facts *facts, const struct sums *t)
{
	u64 all = facts_delta(facts, "workingset_refault_file"), elsewhere = 0;

	for (size_t i = 0; i < facts->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&facts->cgroups, i);

		if (!report_cgroup_within(r, t->cgroup, cg->cgroup))
			elsewhere += file_refaults(cg);
		else if (file_refaults(cg) * 2 > t->major)
			return pages_go(facts, t);
	}
	return all > elsewhere && (all - elsewhere) * 2 > t->major && pages_go(facts, t);
}

static void tell_swap(struct report *r, struct finding *f, const struct rule_sums *s)
{
	u64 in = facts_delta(&s->facts, "pswpin"), out = facts_delta(&s->facts, "pswpout");

	finding_line(
		r, f->evidence, "%llu pages were swapped in and %llu out in that time", in, out);
	f->why = "The working set does not fit: pages are swapped out and needed again soon after.";
	finding_line(r, f->try_,
		"Give it more memory, or run less next to it. Lowering vm.swappiness (now %llu) "
		"only moves the pressure to the page cache.",
		facts_last(&s->facts, "vm.swappiness"));
	finding_line(r, f->undo, "Nothing to undo.");
	f->symptom = true;
	f->losses = LOSS_SWAP;
}

static void tell_again(struct report *r, struct finding *f)
{
	f->why = "Pages of mapped files were evicted from the page cache and touched again soon "
		 "after, and each touch waited for the disk: the cache is too small for what it "
		 "needs.";
	finding_line(r, f->try_,
		"Give the page cache more room: a higher limit for its cgroup, or fewer neighbours "
		"on the machine. Who evicts it, and what the cgroup's limit does: `memwhy check "
		"--for 60s`");
	finding_line(r, f->undo, "Nothing to undo.");
	f->symptom = true;
	f->losses = LOSS_REFAULT;
}

static void tell_first(struct report *r, struct finding *f, bool again)
{
	f->level = LEVEL_NOTE; /* a start, as such */
	finding_line(r, f->evidence,
		again ? "its pages had been in memory before, and hardly any are evicted now: they "
			"are read back once (a cold start)"
		      : "hardly any page had been in memory before: they are read for the first "
			"time (a cold start)");
	f->why = "Pages of mapped files were not in memory when they were touched, and each touch "
		 "waited for the disk. That ends once all of it is read.";
	finding_line(r, f->try_,
		"madvise(MADV_WILLNEED), or read() instead of mmap(), lets the kernel read ahead.");
	finding_line(r, f->undo, "Nothing to undo.");
}

/* The kernel keeps no trace of what went so: it looks as if it were read for the first time. */
static void tell_dropped(struct report *r, struct finding *f)
{
	f->level = MIN(f->level, (int)LEVEL_WARNING);
	f->why = "Pages of mapped files were not in memory when they were touched, and each touch "
		 "waited for the disk: the page cache is being dropped.";
	finding_line(r, f->try_, "Find who writes to /proc/sys/vm/drop_caches, and stop it.");
	finding_line(r, f->undo, "Nothing to undo.");
	f->symptom = true;
	f->losses = LOSS_DROPPED;
}

static void tell_files(struct report *r, struct finding *f)
{
	f->why = "Pages of mapped files were not in memory when they were touched, and each touch "
		 "waited for the disk. Either it was the first read, or the page cache cannot hold "
		 "them.";
	finding_line(r, f->try_,
		"If it is the same file again and again: more memory (or a higher "
		"cgroup limit) for the page cache.");
	finding_line(r, f->try_,
		"If it is the first read: madvise(MADV_WILLNEED), or read() instead of mmap(), "
		"lets the kernel read ahead.");
	finding_line(r, f->undo, "Nothing to undo.");
}

static const char *major_faults_who_of(struct report *r, const struct sums *t)
{
	return t->processes > 1
		       ? processes_text(r, t->tgid, t->processes, t->tgid)
		       : report_text(r, "%s (pid %u)", stream_comm(r->stream, t->tgid, 0), t->tgid);
}

static void major_faults_tell(
	struct report *r, const struct rule_sums *s, const struct sums *t, int level)
{
	struct finding *f = report_finding(r, level, "major-faults");
	char lost[UNIT_BUF], mean[UNIT_BUF], max[UNIT_BUF];

	if (!f)
		return;
	f->cost_ns = t->total_ns;
	f->tgid = t->tgid;
	f->cgroup = t->cgroup;
	f->title = report_text(r, "%s waited %s for page reads: %s", major_faults_who_of(r, t),
		fmt_ns(lost, t->total_ns), report_share_text(r, t->total_ns));
	f->confidence = "high: every major fault was counted and timed";
	finding_line(r, f->evidence, "%llu major faults, %.0f a second: mean %s, worst %s",
		t->major, (double)t->major / report_seconds(r),
		fmt_ns(mean, t->total_ns / MAX(t->timed, 1ULL)), fmt_ns(max, t->max_ns));
	if (t->file[0])
		finding_line(r, f->evidence, "most of the time for the mapped file %.32s", t->file);
	if (t->file_ns * 2 <= t->total_ns && facts_delta(&s->facts, "pswpin") * 2 > t->major)
		tell_swap(r, f, s);
	else if (read_again(r, &s->facts, t))
		tell_again(r, f);
	else if (facts_delta(&s->facts, "drop_pagecache") >= DROPS_OFTEN)
		tell_dropped(r, f);
	else if (facts_known(&s->facts, "workingset_refault_file"))
		tell_first(r, f, facts_delta(&s->facts, "workingset_refault_file") * 2 > t->major);
	else
		tell_files(r, f);
	finding_line(r, f->verify,
		t->processes > 1 ? "`memwhy faults --by mapping --for 30s -c %s`"
				 : "`memwhy faults --by mapping --for 30s -p %s`",
		t->processes > 1 ? stream_comm(r->stream, t->tgid, 0)
				 : report_text(r, "%u", t->tgid));
}

static void merge(struct sums *g, const struct sums *t)
{
	g->major += t->major;
	g->timed += t->timed;
	g->total_ns += t->total_ns;
	g->max_ns = MAX(g->max_ns, t->max_ns);
	g->file_ns += t->file_ns;
	g->cgroup = t->cgroup;
	g->processes++;
	if (t->top_ns > g->top_ns) {
		g->top_ns = t->top_ns;
		__builtin_memcpy(g->file, t->file, sizeof(g->file));
		g->stack = t->stack;
	}
}

/* One that has most of what its program waited is told alone. */
static int programs_sum(const struct rule_sums *s, const struct report *r, struct groups *programs)
{
	for (size_t i = 0; i < s->by.n; i++) {
		const struct sums *t = groups_value(&s->by, i);
		u32 tgid = *(const u32 *)groups_key(&s->by, i);
		struct program_key k = {.cgroup = t->cgroup};
		struct sums *g;

		if (t->major < MIN_MAJOR)
			continue;
		snprintf(k.comm, sizeof(k.comm), "%s", stream_comm(r->stream, tgid, 0));
		g = groups_get(programs, &k);
		if (!g)
			return -ENOMEM;
		merge(g, t);
		if (t->total_ns >= g->tgid_ns) {
			g->tgid = tgid;
			g->tgid_ns = t->total_ns;
		}
	}
	return 0;
}

static struct sums told_of(const struct rule_sums *s, const struct sums *program)
{
	struct sums one;

	if ((double)program->tgid_ns < ONE_PART * (double)program->total_ns)
		return *program;
	one = *(const struct sums *)groups_find(&s->by, &program->tgid);
	one.tgid = program->tgid;
	return one;
}

static int major_faults_rule_report(void *v, struct report *r)
{
	struct rule_sums *s = v;
	struct groups programs;
	int rc;

	groups_init(&programs, sizeof(struct program_key), sizeof(struct sums));
	rc = programs_sum(s, r, &programs);
	for (size_t i = 0; i < programs.n && !rc; i++) {
		struct sums t = told_of(s, groups_value(&programs, i));
		int level = share_level(report_share(r, t.total_ns), 0.05, 0.2, 0.6);

		if (level > LEVEL_NOTE)
			major_faults_tell(r, s, &t, level);
	}
	groups_free(&programs);
	return rc;
}

const struct view rule_major_faults =
	SUMS_RULE(major_faults_rule_init, major_faults_rule_feed, major_faults_rule_report);
