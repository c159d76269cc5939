/* Negative dentries: what the kernel keeps of names that were looked up and do not exist, and who
 * looks them up. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/lookups/lookups.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define DENTRY_BYTES 192 /* x86-64, where the size of the slab cache is not known */
/* Ever more of them are told before they are large: with that many and so many more a second. */
#define MIN_NEGATIVE 50000
#define MANY_A_SECOND 2000.0
/* Less than this part of the misses makes nobody the one who fills the cache. */
#define MOST_SHARE 0.3
/* Nor does who looks now explain what is there, where that hardly grew meanwhile, unless so many
 * lookups went by that reclaim may have taken as many away. */
#define GREW_SHARE 0.01
#define LOOKED_SHARE 0.1

struct seeker {
	u64 count, removed;
	u32 stack, cut;
	u64 stack_count, cgroup;
	char comm[COMM_LEN];
	char directory[AGG_NAME_LEN];
};

struct state {
	struct rule_sums sums; /* tgid -> struct seeker */
	u64 on_ns, covered_ns;
};

static int negative_dentries_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct seeker));
	return 0;
}

static int lookups_feed(struct state *s, const struct lookups_agg *r)
{
	/* Names in /proc leave nothing behind. */
	bool proc = !strncmp(r->directory, "/proc/", 6);
	struct seeker *k = proc ? NULL : groups_get(&s->sums.by, &r->tgid);

	if (proc)
		return 0;
	if (!k)
		return -ENOMEM;
	k->count += r->count;
	k->removed += r->removed;
	k->cgroup = r->cgroup;
	memcpy(k->comm, r->comm, sizeof(k->comm) - 1);
	if (r->stack && r->count > k->stack_count) {
		k->stack = r->stack;
		k->stack_count = r->count;
	}
	if (r->directory[0]) {
		memcpy(k->directory, r->directory, sizeof(k->directory) - 1);
		k->cut = r->cut;
	}
	return 0;
}

static int negative_dentries_rule_feed(void *v, const struct rec *r)
{
	const struct lookups_sampled *sampled = (const void *)r;
	struct state *s = v;

	switch (r->kind) {
	case REC_LOOKUPS_AGG:
		return lookups_feed(s, (const void *)r);
	case REC_LOOKUPS_SAMPLED:
		s->on_ns += sampled->on_ns;
		s->covered_ns += sampled->covered_ns;
		return 0;
	default:
		return facts_feed(&s->sums.facts, r);
	}
}

static u64 dentry_bytes(const struct facts *f)
{
	for (size_t i = 0; i < f->slabs.n; i++) {
		const struct slab_usage *u = groups_value(&f->slabs, i);

		if (!strcmp(u->name, "dentry") && u->object_bytes)
			return u->object_bytes;
	}
	return DENTRY_BYTES;
}

/* What processes of its name did together: short ones come and go. */
static u64 program_count(const struct state *s, const struct seeker *one, u32 *ret_processes)
{
	u64 count = 0;

	*ret_processes = 0;
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct seeker *k = groups_value(&s->sums.by, i);

		if (strcmp(k->comm, one->comm) != 0)
			continue;
		count += k->count;
		(*ret_processes)++;
	}
	return count;
}

/* The one that does most, where it or its program does much of all. */
static const struct seeker *negative_dentries_most_find(
	const struct state *s, u32 *ret_tgid, u64 *ret_all, u32 *ret_processes)
{
	const struct seeker *most = NULL;

	*ret_all = 0;
	*ret_processes = 1;
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct seeker *k = groups_value(&s->sums.by, i);

		*ret_all += k->count;
		if (most && k->count <= most->count)
			continue;
		most = k;
		*ret_tgid = *(const u32 *)groups_key(&s->sums.by, i);
	}
	if (!most || (double)most->count >= MOST_SHARE * (double)*ret_all)
		return most;
	return (double)program_count(s, most, ret_processes) >= MOST_SHARE * (double)*ret_all
		       ? most
		       : NULL;
}

/* Did those who look now make much of what is there? */
static bool made_now(const struct state *s, const struct report *r, u64 all)
{
	double negative = (double)facts_last(&s->sums.facts, "dentry/negative"),
	       grown = (double)facts_delta(&s->sums.facts, "dentry/negative"),
	       seconds = MAX(report_seconds(r), 0.001);

	return grown >= GREW_SHARE * negative || grown >= MANY_A_SECOND * seconds ||
	       (s->on_ns &&
		       (double)all * 1e9 / (double)s->on_ns * seconds >= LOOKED_SHARE * negative);
}

static void rate_tell(struct report *r, struct finding *x, const struct state *s,
	const struct seeker *k, u32 tgid, u64 all)
{
	finding_line(r, x->evidence, "%s: %.0f %s, %.0f %% of all (sampled: %.1f s were watched)",
		report_process(r, tgid), (double)k->count * 1e9 / (double)MAX(s->on_ns, 1ULL),
		k->removed * 2 > k->count ? "names a second removed, or looked up and not found"
					  : "lookups a second that find nothing",
		100.0 * (double)k->count / (double)MAX(all, 1ULL), (double)s->on_ns / 1e9);
}

static void seeker_tell(struct report *r, struct finding *x, const struct state *s,
	const struct seeker *k, u32 tgid, u64 all)
{
	const char *path = stream_cgroup(r->stream, k->cgroup);

	rate_tell(r, x, s, k, tgid, all);
	if (k->directory[0])
		finding_line(r, x->evidence, "one of the names was looked up in %s%s",
			k->cut ? "..." : "", report_text(r, "%s", k->directory));
	if (path && strcmp(path, "/"))
		finding_line(r, x->evidence, "it runs in cgroup %s", report_cgroup(r, path));
	if (k->stack)
		finding_stack(r, x, k->stack, 4);
	finding_line(r, x->try_, "See which names, and where in the program:");
	finding_line(r, x->try_,
		"`memwhy syscalls --each --stacks=user --for 2s -p %u | grep ENOENT`", tgid);
}

static struct held_growth growth_of(const struct state *s, const struct report *r)
{
	return held_growth(&s->sums.facts,
		facts_delta(&s->sums.facts, "dentry/negative") * dentry_bytes(&s->sums.facts),
		report_seconds(r));
}

static void negative_dentries_tell(
	struct report *r, const struct state *s, int level, u64 negative, u64 bytes)
{
	struct finding *x = report_finding(r, level, "negative-dentries");
	u64 grown = facts_delta(&s->sums.facts, "dentry/negative"), all;
	struct held_growth g = growth_of(s, r);
	const struct seeker *k, *bystander = NULL;
	u32 tgid = 0, processes;
	const char *who;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	k = negative_dentries_most_find(s, &tgid, &all, &processes);
	if (k && !made_now(s, r, all)) {
		bystander = k;
		k = NULL;
	}
	who = !k              ? NULL
	      : processes > 1 ? report_text(r, "%u processes of %.15s (pid %u does the most)",
					processes, k->comm, tgid)
			      : report_process(r, tgid);
	/* What is there is given back where memory is wanted: a note ranks by what comes. */
	x->held_bytes = level > LEVEL_NOTE ? bytes : grown * dentry_bytes(&s->sums.facts);
	if (k)
		x->title = report_text(r, "%s %s: the kernel keeps %s negative dentries, %s", who,
			k->removed * 2 > k->count
				? processes > 1 ? "create and remove files with ever new names"
						: "creates and removes files with ever new names"
			: processes > 1 ? "look up names that do not exist"
					: "looks up names that do not exist",
			fmt_count(a, negative), fmt_bytes(b, bytes));
	else
		x->title = report_text(r,
			"Names that were looked up and do not exist: the kernel keeps %s negative "
			"dentries, %s",
			fmt_count(a, negative), fmt_bytes(b, bytes));
	x->confidence = k ? "high for the number; who causes them is sampled, and others may have "
			    "caused the older ones"
			  : "high for the number; who looked them up is not known";
	finding_line(r, x->evidence,
		"%llu negative dentries, %llu more in %.0f s; all dentries: %llu", negative, grown,
		report_seconds(r), facts_last(&s->sums.facts, "dentry/total"));
	finding_line(r, x->evidence, "that is %s", held_share(r, bytes));
	held_tell_left(r, x, &s->sums.facts, &g);
	if (k)
		seeker_tell(r, x, s, k, tgid, all);
	if (bystander) {
		rate_tell(r, x, s, bystander, tgid, all);
		finding_line(r, x->evidence,
			"hardly any of these names are new: what is there was left earlier");
	}
	x->why = "A lookup that finds nothing leaves an entry that says so, to answer the next one "
		 "faster. Names that never recur fill slab memory with such entries, charged to "
		 "the task's control group, until reclaim frees them.";
	if (k && k->removed * 2 > k->count)
		finding_line(r, x->try_,
			"Reuse names, or use files without a name (O_TMPFILE), or a directory per "
			"job that is removed as a whole: its entries go with it.");
	finding_line(r, x->try_,
		"Look up only names that may exist: one readdir, or a list of what is there, "
		"instead of probing. Until then, drop what is unused (this slows lookups that hit, "
		"too):");
	finding_line(r, x->try_, "`echo 2 > /proc/sys/vm/drop_caches`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`cut -f5 /proc/sys/fs/dentry-state`");
}

static int negative_dentries_rule_report(void *v, struct report *r)
{
	const struct state *s = v;
	u64 negative = facts_last(&s->sums.facts, "dentry/negative");
	u64 bytes = negative * dentry_bytes(&s->sums.facts);
	double rate = (double)facts_delta(&s->sums.facts, "dentry/negative") /
		      MAX(report_seconds(r), 0.001);
	struct held_growth g = growth_of(s, r);
	int level = held_level_growing(r, bytes, &g);

	if (level < 0 && negative >= MIN_NEGATIVE && rate >= MANY_A_SECOND)
		level = LEVEL_NOTE;
	/* The kernel gives them back where it must. */
	if (level >= 0)
		negative_dentries_tell(r, s, MIN(level, (int)LEVEL_RISK), negative, bytes);
	return 0;
}

static void negative_dentries_rule_reset(void *v)
{
	struct state *s = v;

	s->on_ns = s->covered_ns = 0;
	rule_sums_reset(&s->sums);
}

static void negative_dentries_rule_destroy(void *v)
{
	rule_sums_destroy(&((struct state *)v)->sums);
}

const struct view rule_negative_dentries = {
	.size = sizeof(struct state),
	.init = negative_dentries_rule_init,
	.feed = negative_dentries_rule_feed,
	.report = negative_dentries_rule_report,
	.reset = negative_dentries_rule_reset,
	.destroy = negative_dentries_rule_destroy,
};
