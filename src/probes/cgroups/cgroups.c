/* The cgroups probe: which control groups are near their limit, swap, or had OOM kills. */
#include "probes/cgroups/cgroups.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/groups.h"
#include "capture/names/names.h"
#include "probes/cgroups/cgroups_dying.h"
#include "probes/cgroups/cgroups_tree.h"
#include "probes/probe.h"
#include "sys/keyvals.h"
#include "sys/memory/pressure.h"

#define EVERY_NS NSEC_PER_SEC
/* Drains come on top of the sampler's own period: not twice within this time. */
#define GAP_NS (EVERY_NS * 9 / 10)
/* Samples are to take no more than this part of one cpu, those of a service of this; the time
 * between them is stretched. */
#define COST_PART 100
#define SERVICE_COST_PART 400
#define SENT_MAX 64
#define GROWN_PART 64   /* of its limit: a group that took so much meanwhile is looked at, too */
#define LARGE_PART 20   /* of memory: a group that has so much is asked whether it is protected */
#define WATCHED_MAX 192 /* of somebody who watches */
#define LAST_MOST 1024
#define LAST_NS (4 * NSEC_PER_SEC) /* so long what is last known of an idle group stands */

struct chosen {
	u64 score;
	u32 at;    /* in the tree's list */
	u16 flags; /* enum cgroup_usage_flags */
};

/* What was read last of a group, where somebody watches, and what showed then that it was due. */
struct last {
	struct cgroup_usage r;
	u64 usage_bytes, swap_bytes, limit_bytes, hits, high_hits, oom_kills;
	u64 read_ns;
};

struct cgroups {
	struct cgroups_tree tree;
	struct cgroups_dying dying;
	u64 scope_id;
	u64 large_bytes;
	bool watched, service;
	VEC(struct chosen) chosen;
	struct cgroup group;
	struct keyvals stat;
	struct groups last; /* id to struct last */
	u64 next_ns;
	bool told_stretch, told_truncated;
};

static u16 cgroups_flags_of(const struct cgroups *g, const struct cgroup_entry *e)
{
	u16 flags = 0;

	if (e->limit_bytes != CGROUP_NO_LIMIT &&
		(e->usage_bytes >= e->limit_bytes / 2 ||
			e->usage_bytes >= e->first_usage_bytes + e->limit_bytes / GROWN_PART))
		flags |= CGROUP_NEAR_LIMIT;
	if (e->swap_bytes)
		flags |= CGROUP_SWAPS;
	if (e->limit_hits != e->first_limit_hits || e->oom_kills != e->first_oom_kills ||
		e->high_hits != e->first_high_hits)
		flags |= CGROUP_EVENTS;
	if (g->scope_id && e->id == g->scope_id)
		flags |= CGROUP_SCOPE;
	if (g->watched && e->usage_bytes)
		flags |= CGROUP_WATCHED;
	if (g->tree.hierarchy.version == 2 && e->level && e->usage_bytes >= g->large_bytes)
		flags |= CGROUP_PROTECTED; /* if it is, which one read tells */
	return flags;
}

/* Asked for, then events, then nearness to the limit in 1/1000, then swap: which come first where
 * there are too many. */
static u64 score_of(const struct cgroup_entry *e, u16 flags)
{
	const u64 most = (1ULL << 40) - 1;
	u64 near = 0, swap = MIN(e->swap_bytes >> 12, most);

	if (flags & CGROUP_NEAR_LIMIT)
		near = MIN((u64)((double)e->usage_bytes * 1000 / (double)MAX(e->limit_bytes, 1ULL)),
			(1ULL << 16) - 1);
	if (flags & CGROUP_WATCHED)
		swap = MIN(MAX(swap, e->usage_bytes >> 12), most);
	return (u64) !!(flags & CGROUP_SCOPE) << 63 | (u64) !!(flags & CGROUP_EVENTS) << 62 |
	       near << 40 | swap;
}

static int by_score(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

static int groups_choose(struct cgroups *g)
{
	int rc = 0;

	g->chosen.n = 0;
	for (size_t i = 0; i < g->tree.list.n && !rc; i++) {
		const struct cgroup_entry *e = &g->tree.list.v[i];
		u16 flags = cgroups_flags_of(g, e);

		if (flags)
			rc = vec_push(
				&g->chosen, ((struct chosen){score_of(e, flags), (u32)i, flags}));
	}
	if (g->chosen.n)
		qsort(g->chosen.v, g->chosen.n, sizeof(g->chosen.v[0]), by_score);
	return rc;
}

static struct cgroup_usage usage_record(
	const struct cgroup_entry *e, const struct cgroup_memory *m, u16 flags)
{
	struct cgroup_usage r = REC_INIT(struct cgroup_usage, REC_CGROUP_MEMORY, 0);

	r.h.flags = flags | (m->hangs ? CGROUP_HANGS : 0);
	r.cgroup = e->id;
	r.version = (u32)m->version;
	r.level = e->level;
	r.usage_bytes = m->usage_bytes;
	r.peak_bytes = m->peak_bytes;
	r.limit_bytes = m->limit_bytes;
	r.high_bytes = m->high_bytes;
	r.swap_bytes = m->swap_bytes;
	r.swap_limit_bytes = m->version == 1 ? m->memsw_limit_bytes : m->swap_limit_bytes;
	r.limit_hit_total = m->limit_hit_total;
	r.high_hit_total = m->high_hit_total;
	r.oom_total = m->oom_total;
	r.oom_kill_total = m->oom_kill_total;
	r.first_limit_hit_total = e->first_limit_hits;
	r.first_oom_kill_total = e->first_oom_kills;
	r.first_high_hit_total = e->first_high_hits;
	r.min_bytes = m->min_bytes;
	r.low_bytes = m->low_bytes;
	if (!r.min_bytes && !r.low_bytes)
		r.h.flags &= (u16)~CGROUP_PROTECTED;
	return r;
}

static void pressure_add(const struct cgroups *g, struct cgroup_usage *r)
{
	struct pressure p;

	if (g->tree.hierarchy.version != 2 || pressure_read_cgroup(g->group.dir, "memory", &p))
		return;
	r->h.flags |= CGROUP_HAS_PRESSURE;
	r->some_total_us = p.some.total_us;
	r->full_total_us = p.full.total_us;
}

/* Version 1 has sums over the levels below under names of their own. */
static u64 stat_get(const struct cgroups *g, const char *v1, const char *v2)
{
	return keyvals_get_or(&g->stat, g->group.version == 1 ? v1 : v2, 0);
}

static u64 kernel_bytes(const struct cgroups *g)
{
	static const char *const before_5_18[] = {
		"slab", "kernel_stack", "pagetables", "percpu", "sock", "vmalloc"};
	u64 sum = 0;

	if (g->group.version == 1)
		return 0;
	if (keyvals_get(&g->stat, "kernel", &sum))
		return sum;
	for (size_t i = 0; i < ARRAY_SIZE(before_5_18); i++)
		sum += keyvals_get_or(&g->stat, before_5_18[i], 0);
	return sum;
}

static void cgroups_parts_add(struct cgroups *g, struct cgroup_entry *e, struct cgroup_usage *r)
{
	u64 file;

	if (cgroup_stat_read(&g->group, &g->stat))
		return;
	r->h.flags |= CGROUP_HAS_PARTS;
	r->anon_bytes = stat_get(g, "total_rss", "anon");
	r->shmem_bytes = stat_get(g, "total_shmem", "shmem");
	file = stat_get(g, "total_cache", "file");
	r->file_bytes = file > r->shmem_bytes ? file - r->shmem_bytes : 0;
	r->kernel_bytes = kernel_bytes(g);
	if (g->group.version == 1) /* it charges nothing else */
		r->kernel_bytes = r->usage_bytes > r->anon_bytes + file
					  ? r->usage_bytes - r->anon_bytes - file
					  : 0;
	r->locked_bytes = stat_get(g, "total_unevictable", "unevictable");
	r->dirty_bytes = stat_get(g, "total_dirty", "file_dirty");
	r->refault_file_total =
		stat_get(g, "total_workingset_refault_file", "workingset_refault_file");
	r->refault_anon_total =
		stat_get(g, "total_workingset_refault_anon", "workingset_refault_anon");
	if (!e->parts) {
		e->parts = true;
		e->first_refault_file = r->refault_file_total;
		e->first_refault_anon = r->refault_anon_total;
		e->first_some_us = r->some_total_us;
	}
	r->first_refault_file_total = e->first_refault_file;
	r->first_refault_anon_total = e->first_refault_anon;
	r->first_some_total_us = e->first_some_us;
}

/* A group that holds what it held, to the byte, and met no limit since. NULL: it is to be read. */
static const struct cgroup_usage *idle_record(const struct cgroups *g, const struct cgroup_entry *e)
{
	const struct last *l = g->watched ? groups_find(&g->last, &e->id) : NULL;

	return l && clock_mono_ns() < l->read_ns + LAST_NS && l->usage_bytes == e->usage_bytes &&
			       l->swap_bytes == e->swap_bytes && l->limit_bytes == e->limit_bytes &&
			       l->hits == e->limit_hits && l->high_hits == e->high_hits &&
			       l->oom_kills == e->oom_kills
		       ? &l->r
		       : NULL;
}

static void last_keep(struct cgroups *g, const struct cgroup_entry *e, const struct cgroup_usage *r)
{
	struct last *l;

	if (!g->watched)
		return;
	if (g->last.n > LAST_MOST)
		groups_clear(&g->last); /* most of them are gone */
	l = groups_get(&g->last, &e->id);
	if (l)
		*l = (struct last){*r, e->usage_bytes, e->swap_bytes, e->limit_bytes, e->limit_hits,
			e->high_hits, e->oom_kills, clock_mono_ns()};
}

/* False: it is gone, or nothing is to be said of it. */
static bool group_read(
	struct cgroups *g, struct cgroup_entry *e, u16 flags, struct cgroup_usage *ret)
{
	const struct cgroup_usage *same = idle_record(g, e);
	struct cgroup_memory m;
	int n = snprintf(g->group.dir, sizeof(g->group.dir), "%s%s", g->tree.hierarchy.mount,
		cgroups_tree_path(&g->tree, e));

	g->group.version = g->tree.hierarchy.version;
	if (n < 0 || (size_t)n >= sizeof(g->group.dir))
		return false;
	if (same) {
		*ret = *same;
		pressure_add(g, ret); /* which tasks that reclaim for nothing make, too */
		return true;
	}
	if (cgroup_memory_read(&g->group, &m))
		return false;
	*ret = usage_record(e, &m, flags);
	if (!ret->h.flags)
		return false;
	pressure_add(g, ret);
	cgroups_parts_add(g, e, ret);
	last_keep(g, e, ret);
	return true;
}

static int group_send(struct capture *c, struct cgroups *g, const struct chosen *ch)
{
	struct cgroup_entry *e = &g->tree.list.v[ch->at];
	struct cgroup_usage r;
	u64 hash;
	int rc;

	if (!group_read(g, e, ch->flags, &r))
		return 0;
	hash = XXH3_64bits(&r.h.flags, sizeof(r.h.flags)) ^
	       XXH3_64bits(&r.cgroup, sizeof(r) - sizeof(r.h));
	if (hash == e->sent && !c->ending && !g->watched)
		return 0;
	e->sent = hash;
	rc = names_cgroup(c->names, e->id);
	return rc ? rc : capture_emit(c, &r.h);
}

static u64 cost_part(const struct cgroups *g)
{
	return g->service ? SERVICE_COST_PART : COST_PART;
}

static int tell_bounds(struct capture *c, struct cgroups *g, u64 every_ns)
{
	u64 usual_ns = MAX(EVERY_NS, c->opt.sample_ns);
	int rc = 0;

	/* The first scan, which makes the kernel's entries, takes longer than those after it. */
	if (every_ns > usual_ns && g->tree.scans > 1 && !g->told_stretch) {
		g->told_stretch = true;
		rc = capture_note(c, NOTE_INFO,
			"reading %zu groups takes %.1f ms: sampled every %.1f s instead of %g s, "
			"so that it costs at most %g %% of a CPU",
			g->tree.list.n, (double)every_ns / cost_part(g) / NSEC_PER_MSEC,
			(double)every_ns / NSEC_PER_SEC, (double)usual_ns / NSEC_PER_SEC,
			100.0 / (double)cost_part(g));
	}
	if (!rc && g->tree.truncated && !g->told_truncated) {
		g->told_truncated = true;
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"control groups beyond the first %u, or more than %u levels deep",
			CGROUPS_MAX, CGROUPS_LEVELS);
	}
	return rc;
}

static int cgroups_sample(struct capture *c, void *state)
{
	struct cgroups *g = state;
	u64 now = clock_mono_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), every_ns;
	size_t most = g->watched ? WATCHED_MAX : SENT_MAX;
	int rc;

	if (!g->tree.hierarchy.version || (!c->ending && now < g->next_ns))
		return 0;
	g->tree.sparing = (g->service || g->watched) && !c->ending;
	rc = cgroups_tree_scan(&g->tree);
	if (rc && rc != -ENOMEM)
		rc = 0; /* the group asked for is gone */
	if (!rc)
		rc = groups_choose(g);
	for (size_t i = 0; i < MIN(g->chosen.n, most) && !rc; i++)
		rc = group_send(c, g, &g->chosen.v[i]);
	if (!rc)
		rc = cgroups_dying_send(c, &g->dying, &g->tree);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	every_ns = cpu * cost_part(g);
	g->next_ns = now + MAX(GAP_NS, every_ns);
	return rc || c->ending ? rc : tell_bounds(c, g, every_ns);
}

static int cgroups_survey(struct capture *c)
{
	_cleanup_free_ struct cgroup_mounts *m = calloc(1, sizeof(*m));
	const char *method = NULL, *missing = NULL;
	int rc = m ? cgroup_mounts_read(m) : -ENOMEM;

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		missing = "no cgroup hierarchy is mounted: mount cgroup2 on /sys/fs/cgroup";
	else if (m->memory.version == 1)
		method = "cgroup v1, memory controller";
	else
		method = "cgroup v2";
	return capture_method(c, "memory of control groups", method, missing);
}

/* Where the group asked for is. Its id may be one of the other hierarchy, or it is gone. */
static int scope_find(struct capture *c, struct cgroups *g)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	const char *path = NULL;

	g->scope_id = c->opt.scope.cgroup_id;
	if (c->opt.cgroup_version ==
			(g->tree.hierarchy.version == 1 ? SCOPE_CGROUP_V1 : SCOPE_CGROUP_V2) &&
		!cgroup_ids_load(&g->tree.hierarchy, &ids))
		path = cgroup_ids_path(&ids, g->scope_id);
	if (!path) {
		g->tree.hierarchy.version = 0;
		return capture_note(c, NOTE_NOT_CHECKED,
			"the group's limits: its memory is accounted in another hierarchy");
	}
	snprintf(g->tree.top, sizeof(g->tree.top), "%s", strcmp(path, "/") ? path : "");
	return 0;
}

static int cgroups_open(struct capture *c, void *state, struct err *err)
{
	_cleanup_free_ struct cgroup_mounts *m = calloc(1, sizeof(*m));
	struct cgroups *g = state;
	int rc = m ? cgroups_survey(c) : -ENOMEM;

	g->watched = c->opt.watch_ns != 0;
	g->service = capture_is_service(c);
	g->large_bytes = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / LARGE_PART;
	groups_init(&g->last, sizeof(u64), sizeof(struct last));
	if (!rc && !cgroup_mounts_read(m)) {
		g->tree.hierarchy = m->memory;
		if (c->opt.scope.cgroup_id)
			rc = scope_find(c, g);
	}
	return rc ? err_errno(err, rc, "cgroups") : 0;
}

static void cgroups_close(void *state)
{
	struct cgroups *g = state;

	cgroups_tree_free(&g->tree);
	vec_free(&g->chosen);
	keyvals_free(&g->stat);
	groups_free(&g->last);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct cgroups),
	.every_ns = EVERY_NS,
	.open = cgroups_open,
	.sample = cgroups_sample,
	.close = cgroups_close,
	.survey = cgroups_survey,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_CGROUP_MEMORY, struct cgroup_usage, "cgroup_memory", CGROUP_USAGE_FIELDS,
		"a control group that is worth a look; flags: 1 near its limit, 2 swaps, 4 limit "
		"hit or OOM kill since the start, 8 asked for, 16 pressure known, 32 parts known, "
		"64 watched, 128 its OOM killer is off and tasks wait"),
	RECORD_KIND(REC_CGROUP_DYING, struct cgroup_dying, "cgroup_dying", CGROUP_DYING_FIELDS,
		"control groups that were removed and that the kernel keeps; flags: 1 what they "
		"hold is known"),
};

const struct probe probe_cgroups = {
	.name = "cgroups",
	.summary = "Control groups near their memory limit, in swap, or killed at it",
	.details =
		"Reads the usage, limits and events of all control groups every second, less often "
		"where there are so many that this would take more than 1 % of a CPU, and reports "
		"those in trouble. It feeds `memwhy check` and has no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.sampler = &sampler,
	.cheap = true,
};
