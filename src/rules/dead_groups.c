/*
 * Control groups that were removed and that the kernel keeps, as something charged to them is left:
 * how many, what they take, what keeps them, who makes and removes groups, and where.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/cgroups/cgroups.h"
#include "probes/waits/waits.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define MANY 1000
#define KEPT_LEAST 2048 /* bytes a group, on average: half a page */
#define KEPT_PART 5     /* of all that they hold */
#define MOST_PART 0.8
#define MADE_LEAST 10 /* in the interval: fewer make nobody the one who does it */

struct maker {
	u64 made, removed;
	u32 parent_tgid, parent;
	char where[AGG_NAME_LEN];
	u32 cut;
};

struct state {
	struct rule_sums sums; /* tgid -> struct maker */
	struct cgroup_dying dying;
};

static int dead_groups_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct maker));
	return 0;
}

static int dead_groups_made_feed(struct state *s, const struct waits_made *r)
{
	struct maker *m;

	if (r->kind != WAITS_GROUP_MADE && r->kind != WAITS_GROUP_REMOVED)
		return 0;
	m = groups_get(&s->sums.by, &r->tgid);
	if (!m)
		return -ENOMEM;
	*(r->kind == WAITS_GROUP_MADE ? &m->made : &m->removed) += r->count;
	m->parent_tgid = r->parent_tgid;
	m->parent = r->parent ? r->parent : m->parent;
	if (r->where[0]) {
		memcpy(m->where, r->where, sizeof(m->where));
		m->cut = r->cut;
	}
	return 0;
}

static int dead_groups_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_WAITS_MADE)
		return dead_groups_made_feed(s, (const void *)r);
	if (r->kind == REC_CGROUP_DYING) {
		s->dying = *(const struct cgroup_dying *)r;
		return 0;
	}
	return facts_feed(&s->sums.facts, r);
}

/* Who makes most of them: a process, or the parent of many short ones. */
struct who {
	const struct maker *maker;
	u32 tgid, parent_tgid, parent;
	u64 own, of_parent, parent_made, all;
};

static void parent_sum(const struct state *s, struct who *w)
{
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct maker *m = groups_value(&s->sums.by, i);

		if (m->parent_tgid != w->parent_tgid)
			continue;
		w->parent_made += m->made;
		w->of_parent += m->made + m->removed;
	}
}

static struct who who_find(const struct state *s)
{
	struct who w = {};

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct maker *m = groups_value(&s->sums.by, i);

		w.all += m->made + m->removed;
		if (m->made + m->removed <= w.own)
			continue;
		w.own = m->made + m->removed;
		w.maker = m;
		w.tgid = *(const u32 *)groups_key(&s->sums.by, i);
		w.parent_tgid = m->parent_tgid;
		w.parent = m->parent;
	}
	if (w.maker && w.parent)
		parent_sum(s, &w);
	if (w.all < MADE_LEAST || MAX(w.own, w.of_parent) * 2 < w.all)
		w.maker = NULL;
	return w;
}

static const char *who_text(struct report *r, const struct who *w)
{
	if (w->own * 2 >= w->all)
		return report_process(r, w->tgid);
	return report_text(r, "%s (pid %u), whose children are %s,", held_text(r, w->parent),
		w->parent_tgid, report_program(r, w->tgid));
}

static void tell_who(struct report *r, struct finding *x, const struct who *w)
{
	bool own = w->own * 2 >= w->all;

	x->tgid = own ? w->tgid : w->parent_tgid;
	finding_line(r, x->evidence, "%s made %llu and removed %llu control groups in that time",
		own ? report_process(r, w->tgid)
		    : report_text(r, "children of %s (pid %u)", held_text(r, w->parent),
			      w->parent_tgid),
		own ? w->maker->made : w->parent_made,
		own ? w->maker->removed : w->of_parent - w->parent_made);
	if (w->maker->where[0])
		finding_line(r, x->evidence, "one of them in %s%s", w->maker->cut ? "..." : "",
			report_text(r, "%.*s", AGG_NAME_LEN, w->maker->where));
	if (w->parent && own)
		finding_line(r, x->evidence, "its parent is %s (pid %u)", held_text(r, w->parent),
			w->parent_tgid);
}

/* NULL: not known, or all of the machine. */
static const char *dead_groups_place_of(const struct report *r, const struct cgroup_dying *d)
{
	const char *path = d->below ? stream_cgroup(r->stream, d->below) : NULL;

	return path && strcmp(path, "/") ? path : NULL;
}

static u64 held_of(const struct cgroup_dying *d)
{
	return d->file_bytes + d->shmem_bytes + d->anon_bytes;
}

/* Are nearly all of them of that place? Of version 1 what they hold stands for their number. */
static bool is_mostly_there(const struct cgroup_dying *d)
{
	return d->version == 1 ? (double)d->below_bytes >= MOST_PART * (double)held_of(d)
			       : d->below_dying > 0;
}

static void dead_groups_tell_place(
	struct report *r, struct finding *x, const struct cgroup_dying *d)
{
	const char *path = dead_groups_place_of(r, d);
	char a[UNIT_BUF];

	if (!path)
		return;
	x->cgroup = d->below;
	if (d->below_dying)
		finding_line(r, x->evidence, "%llu of them were in cgroup %s", d->below_dying,
			report_cgroup(r, path));
	else if (d->below_bytes >= d->dying * KEPT_LEAST)
		finding_line(r, x->evidence, "%s of it belongs to those that were in cgroup %s",
			fmt_bytes(a, d->below_bytes), report_cgroup(r, path));
}

/* Less is an error of the sums, which the kernel brings up to date now and then. */
static bool keeps(const struct cgroup_dying *d, u64 bytes)
{
	return bytes >= d->dying * KEPT_LEAST && bytes >= held_of(d) / KEPT_PART;
}

/* A page of tmpfs keeps a group however much cache there is beside it, which goes by itself. */
static bool keeps_in_tmpfs(const struct cgroup_dying *d)
{
	return d->shmem_bytes && d->shmem_bytes >= d->dying * KEPT_LEAST;
}

static const char *keeper_text(struct report *r, const struct cgroup_dying *d)
{
	const struct {
		u64 bytes;
		const char *what;
	} parts[] = {{d->file_bytes, "page cache"}, {d->shmem_bytes, "files in tmpfs"},
		{d->anon_bytes, "anonymous memory"}};
	const char *text = "";
	char a[UNIT_BUF];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (keeps(d, parts[i].bytes) ||
			(parts[i].bytes == d->shmem_bytes && keeps_in_tmpfs(d)))
			text = report_text(r, "%s%s%s of %s", text, text[0] ? " and " : "",
				fmt_bytes(a, parts[i].bytes), parts[i].what);
	return text;
}

static void tell_cache(struct report *r, struct finding *x, const struct cgroup_dying *d)
{
	const char *path = dead_groups_place_of(r, d);
	const char *dir = path ? cgroup_directory(r, d->version, path) : NULL;

	finding_line(r, x->try_, "Have the kernel free what they keep, as far as it is cache%s:",
		dir && d->version == 1 ? ", there only (including groups in use below it)" : "");
	if (dir && d->version == 1)
		finding_line(r, x->try_, "`sync; echo 0 > %s/memory.force_empty`", dir);
	if (!dir || d->version == 2 || !is_mostly_there(d))
		finding_line(r, x->try_, "%s`sync; echo 3 > /proc/sys/vm/drop_caches`",
			dir && d->version == 1 ? "Or on the whole machine: " : "");
	if (dir && d->version == 2 && d->file_bytes)
		finding_line(r, x->try_,
			"Or only what is below that group (5.19 and later): `sync; echo %llu > "
			"%s/memory.reclaim`",
			d->file_bytes, dir);
	finding_line(r, x->undo, "Nothing to undo: caches fill again as they are used.");
}

static void dead_groups_tell_try(struct report *r, struct finding *x, const struct cgroup_dying *d)
{
	bool known = d->h.flags & CGROUP_DYING_PARTS;

	if (!known || keeps(d, d->file_bytes) || !keeper_text(r, d)[0])
		tell_cache(r, x, d);
	if (!known || keeps_in_tmpfs(d))
		finding_line(r, x->try_,
			"A tmpfs file that outlives its group keeps the group until the file is "
			"removed, whatever caches are dropped. Which files keep which groups: "
			"`memwhy where --files --table removed_groups`");
	if (known && keeps(d, d->anon_bytes))
		finding_line(r, x->try_,
			"Anonymous memory belongs to processes that were moved to other groups, "
			"until they end, or is in swap.");
	finding_line(r, x->try_,
		"To prevent more: reuse one group instead of a new one per job, or write lasting "
		"files from a group that stays.");
	if (!x->undo[0])
		finding_line(r, x->undo, "Nothing to undo.");
}

static void dead_groups_tell(struct report *r, const struct state *s, u64 bytes, int level)
{
	const struct cgroup_dying *d = &s->dying;
	struct finding *x = report_finding(r, level, "dead-groups");
	struct who w = who_find(s);
	char a[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = bytes;
	x->losses = LOSS_KERNEL;
	x->grown_bytes = bytes / MAX(d->dying, 1ULL) * counter_rise(d->first_dying, d->dying);
	x->title = report_text(r,
		"%s%llu removed control groups%s are still kept by the kernel (dead groups)%s, "
		"about %s",
		w.maker ? report_text(r, "%s makes and removes control groups: ", who_text(r, &w))
			: "",
		d->dying,
		dead_groups_place_of(r, d) && !w.maker && is_mostly_there(d)
			? report_text(r, " from %s", report_cgroup(r, dead_groups_place_of(r, d)))
			: "",
		keeper_text(r, d)[0] ? report_text(r, " for %s", keeper_text(r, d)) : "",
		fmt_bytes(a, bytes));
	x->confidence = report_text(r, "high for the number; the memory is estimated, and %s",
		w.maker ? "older ones may be from others" : "what made them was not seen");
	finding_line(r, x->evidence, "%llu at the start, %llu now, in addition to %llu in use",
		d->first_dying, d->dying, d->alive);
	if (w.maker)
		tell_who(r, x, &w);
	if (d->dying > d->first_dying)
		finding_line(r, x->evidence, "that is %.1f more a minute",
			(double)(d->dying - d->first_dying) * 60 / report_seconds(r));
	if (keeper_text(r, d)[0])
		finding_line(r, x->evidence, "still charged to them: %s", keeper_text(r, d));
	dead_groups_tell_place(r, x, d);
	finding_line(r, x->evidence, "Percpu is %s, for all its users",
		fmt_bytes(a, facts_last(&s->sums.facts, "Percpu")));
	x->why = "A removed group stays as long as any page or object charged to it: a file in the "
		 "page cache or tmpfs that its tasks wrote, a dentry. Its per-CPU counters stay "
		 "too, and each walk over groups (reclaim, memory.stat) visits it.";
	dead_groups_tell_try(r, x, d);
	if (d->version == 1)
		finding_line(r, x->verify,
			"`grep memory /proc/cgroups; find /sys/fs/cgroup/memory -type d | wc -l`");
	else
		finding_line(
			r, x->verify, "`grep nr_dying_descendants /sys/fs/cgroup/cgroup.stat`");
}

static int dead_groups_rule_report(void *v, struct report *r)
{
	const struct state *s = v;
	u64 bytes = s->dying.dying *
		    (CGROUP_DYING_BYTES + CGROUP_DYING_CPU_BYTES * r->stream->host.cpus);

	int level = held_level(r, bytes);

	/* Fewer go as memory is needed. */
	if (s->dying.dying >= MANY)
		dead_groups_tell(r, s, bytes, MAX(level, (int)LEVEL_NOTE));
	return 0;
}

static void dead_groups_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	s->dying.first_dying = s->dying.dying;
}

static void dead_groups_rule_destroy(void *v)
{
	rule_sums_destroy(&((struct state *)v)->sums);
}

const struct view rule_dead_groups = {
	.size = sizeof(struct state),
	.init = dead_groups_rule_init,
	.feed = dead_groups_rule_feed,
	.report = dead_groups_rule_report,
	.reset = dead_groups_rule_reset,
	.destroy = dead_groups_rule_destroy,
};
