/* See growth.h. */
#include "rules/growth.h"

#include <string.h>

#include "base/clock.h"

#define MIN_RATE (64.0 * 1024) /* bytes a second */
#define MIN_GROWTH (2.0 * 1024 * 1024)
#define LARGE_PART 0.25 /* of the room there was at first: it hurts whatever it is */
#define LONG_S 60.0     /* what grows for so long is no start, and no phase of a second or two */
#define SOMETIME_S (48 * 3600.0)
#define CLOCKWORK 0.99
#define IN_MINUTES_S 180.0
#define ROOM_TAKEN 0.9
#define NEW_SECONDS 8.0 /* began within the look: what grew so long is told, … */
#define NEW_FIT 0.97    /* … if it did like a clock */
#define BOUND_S 60.0    /* room that is full before is no bound */
/* What has grown like this since it was started goes on as long again a good many times. */
#define LIFE_TIMES 100.0
#define LIFE_PART 0.3 /* by as much what it has may differ from its rate times its age */
/* What grew like a clock through the whole look, and is that old, is no start any more. */
#define STEADY_NS (30 * NSEC_PER_SEC)

/* The group nearest to its limit that a process is in. */
static u64 room_in_group(const struct growth_seen *s, const struct report *r, u64 cgroup)
{
	const char *path = stream_cgroup(r->stream, cgroup);
	u64 room = ~0ULL;

	for (size_t i = 0; path && i < s->facts->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&s->facts->cgroups, i);
		const char *top = stream_cgroup(r->stream, cg->cgroup);
		size_t n = top ? strlen(top) : 0;
		u64 used;

		if (cg->limit_bytes == CGROUP_USAGE_NONE || n < 2 || strncmp(path, top, n) != 0 ||
			(path[n] && path[n] != '/'))
			continue;
		used = cg->usage_bytes;
		if (cg->h.flags & CGROUP_HAS_PARTS) /* page cache makes room */
			used -= MIN(used, cg->file_bytes);
		room = MIN(room, cg->limit_bytes > used ? cg->limit_bytes - used : 0);
	}
	return room;
}

static void when_it_hurts(
	const struct growth_seen *s, const struct report *r, u64 cgroup, struct growth_verdict *d)
{
	u64 group = cgroup ? room_in_group(s, r, cgroup) : ~0ULL;

	d->left = -1;
	d->what = "available memory";
	if (facts_known(s->facts, "MemAvailable")) {
		d->room = facts_last(s->facts, "MemAvailable");
		d->left = (double)d->room / d->rate;
	}
	if (group != ~0ULL && (d->left < 0 || group < d->room)) {
		d->room = group;
		d->what = "room below the limit of its cgroup";
		d->group = true;
		d->left = (double)group / d->rate;
	}
}

/* What lasts, or is large against the room there is, is told louder than what may end soon. */
static int growth_judge_level_of(const struct growth_verdict *d)
{
	double horizon = d->seconds >= LONG_S
				 ? SOMETIME_S
				 : MIN(MAX(LIFE_TIMES * d->life, GROWTH_LATER_S), SOMETIME_S);
	bool large = d->left >= 0 && d->grown >= LARGE_PART * ((double)d->room + d->grown);

	if (d->drifts || d->bounded)
		return LEVEL_NOTE;
	/* Its group is full in some minutes, and it grows like a clock: its youth is no comfort. */
	if (d->group && !d->newer && d->fit >= CLOCKWORK && d->left < IN_MINUTES_S)
		return d->young ? LEVEL_RISK : LEVEL_WARNING;
	if (d->newer || d->young)
		return large ? LEVEL_RISK : LEVEL_NOTE;
	if (large || (d->left >= 0 && d->left < GROWTH_SOON_S))
		return LEVEL_WARNING;
	if (d->left < 0 || d->left < horizon)
		return LEVEL_RISK;
	return LEVEL_NOTE;
}

bool growth_is_young(const struct grown *g, const struct shape *s)
{
	bool steady = growth_seconds(s) >= NEW_SECONDS && trend_fit(&s->trend) >= CLOCKWORK;

	return g->start_ns && g->start_ns + (steady ? STEADY_NS : YOUNG_NS) > s->trend.last_ns &&
	       growth_seconds(s) < LONG_S;
}

/* Seconds that it has grown like a clock, at this rate from nothing on; 0: it has not. */
static double life_of(const struct grown *g, const struct growth_verdict *d)
{
	double age = g->start_ns ? ((double)g->anon.trend.last_ns - (double)g->start_ns) / 1e9 : 0;
	double made = d->rate * age;

	return d->fit >= CLOCKWORK && g->anon.trend.last >= (1 - LIFE_PART) * made &&
			       g->anon.trend.last <= (1 + LIFE_PART) * made
		       ? age
		       : 0;
}

/* A heap or a pool of a fixed size, or a guest, fills a mapping that is there: its address space
 * does not grow meanwhile, and it ends with what is mapped. Allocators map ahead, in ever larger
 * steps: what is full in a moment says nothing. */
static void bound_take(const struct grown *g, struct growth_verdict *d)
{
	double mapped = g->space.trend.last - g->anon.trend.last;

	if (!g->space.n || growth_bytes(&g->space) * 4 > d->grown || mapped < 0)
		return;
	d->mapped = (u64)mapped;
	d->bounded =
		d->room && mapped < ROOM_TAKEN * (double)d->room && mapped >= BOUND_S * d->rate;
}

bool growth_judge(const struct growth_seen *s, const struct report *r, const struct grown *g,
	struct growth_verdict *ret)
{
	struct growth_verdict d = {
		.grown = growth_bytes(&g->anon), .seconds = growth_seconds(&g->anon)};
	enum shape_kind kind = shape_judge(&g->anon, &d.rate);

	d.drifts = kind == SHAPE_DRIFTS;
	if (d.drifts)
		d.grown = d.rate * d.seconds;
	if ((kind != SHAPE_RISING && !d.drifts) || d.seconds < GROWTH_MIN_SECONDS ||
		d.rate < MIN_RATE || d.grown < MIN_GROWTH ||
		g->anon.trend.last_ns + GROWTH_GONE_NS < s->last_ns)
		return false;
	d.fit = trend_fit(&g->anon.trend);
	d.young = growth_is_young(g, &g->anon);
	d.life = d.young ? 0 : life_of(g, &d);
	d.newer = d.young && g->start_ns >= r->stream->first_ns;
	when_it_hurts(s, r, g->cgroup, &d);
	bound_take(g, &d);
	/* Where its group is full its ups and downs are of what is pushed out and comes back. */
	if (d.drifts && d.left >= 0 && d.left < GROWTH_FULL_S)
		return false;
	d.level = growth_judge_level_of(&d);
	*ret = d;
	/* What begins while others are looked at, and is not large, is a compiler or the like,
	 * unless it goes on and on. */
	return d.level > LEVEL_NOTE || !d.newer || r->scoped ||
	       (d.seconds >= NEW_SECONDS && d.fit >= NEW_FIT);
}

void growth_add(struct growth_verdict *all, const struct growth_verdict *d)
{
	all->rate += d->rate;
	all->grown += d->grown;
	all->seconds = MAX(all->seconds, d->seconds);
	all->fit = MIN(all->fit, d->fit);
	all->life = MIN(all->life, d->life);
	all->young &= d->young;
	all->newer &= d->newer;
	all->drifts &= d->drifts;
	all->bounded &= d->bounded;
	all->mapped += d->mapped;
}

void growth_judge_sum(
	const struct growth_seen *s, const struct report *r, u64 cgroup, struct growth_verdict *all)
{
	when_it_hurts(s, r, cgroup, all);
	all->level = growth_judge_level_of(all);
}
