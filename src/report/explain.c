/* From symptom to cause: findings that only tell what hurts go below the one that tells why, and
 * the time lost is shared out among the causes. See report.h. */
#include <string.h>

#include "base/units.h"
#include "report/report.h"

bool report_cgroup_within(const struct report *r, u64 cgroup, u64 top)
{
	const char *path = stream_cgroup(r->stream, cgroup), *above = stream_cgroup(r->stream, top);
	size_t n = above ? strlen(above) : 0;

	if (cgroup == top)
		return true;
	return path && n > 1 && !strncmp(path, above, n) && path[n] == '/';
}

#define MANY_TIMES 4
#define PART 3 /* one in so many, of a sum that is estimated on both sides */

/* One group is in the other, or both are in one that is not the top: its limit is of both. */
static bool shares_limit(const struct report *r, u64 a, u64 b)
{
	const char *of_a = stream_cgroup(r->stream, a), *of_b = stream_cgroup(r->stream, b);
	const char *name_a = of_a ? strrchr(of_a, '/') : NULL;
	const char *name_b = of_b ? strrchr(of_b, '/') : NULL;

	if (report_cgroup_within(r, a, b) || report_cgroup_within(r, b, a))
		return true;
	return name_a && name_b && name_a > of_a && name_a - of_a == name_b - of_b &&
	       !strncmp(of_a, of_b, (size_t)(name_a - of_a));
}

/* May `c` be why there is `s`? A trouble of one group is not why another one suffers. */
static bool explains(const struct report *r, const struct finding *c, const struct finding *s)
{
	if (!c->rule || c->symptom || (c->folds && c->folds >= s->folds) ||
		!(c->losses & s->losses))
		return false;
	if (s->folds)
		return s->losses & (LOSS_SPACE | LOSS_FLUSH) ? c->tgid == s->tgid
		       : s->grown_bytes ? c->grown_bytes >= s->grown_bytes / PART
					: c->held_bytes >= s->held_bytes / PART;
	if (s->yields)
		return !c->yields && s->cgroup && c->cgroup == s->cgroup;
	if (!s->cgroup || c->cgroup)
		return !s->cgroup || report_cgroup_within(r, s->cgroup, c->cgroup);
	/* A group reclaims for its own limit. */
	return !(s->losses & LOSS_RECLAIM) || !c->home || shares_limit(r, s->cgroup, c->home);
}

/* Of several the one of the same group, then that which costs most. */
static bool fits_better(const struct finding *s, const struct finding *a, const struct finding *b)
{
	bool a_same = s->cgroup && a->cgroup == s->cgroup,
	     b_same = s->cgroup && b->cgroup == s->cgroup;

	if (a_same != b_same)
		return a_same;
	if (s->folds)
		return a->held_bytes > b->held_bytes;
	return a->cost_ns != b->cost_ns ? a->cost_ns > b->cost_ns : a->level > b->level;
}

static struct finding *cause_find(struct report *r, const struct finding *s)
{
	struct finding *best = NULL;

	vec_each (c, &r->findings)
		if (explains(r, c, s) && (!best || fits_better(s, c, best)))
			best = c;
	return best;
}

static void lines_move(const char *to[FINDING_LINES], const char *const from[FINDING_LINES])
{
	size_t n = 0;

	while (n < FINDING_LINES && to[n])
		n++;
	for (size_t i = 0; i < FINDING_LINES && from[i] && n < FINDING_LINES; i++)
		to[n++] = from[i];
}

/* What fills a group may be wanted there: to raise its limit stays an advice. */
static void yield_take(struct report *r, struct finding *c, const struct finding *s)
{
	bool fills = c->losses & LOSS_GROUP && !(c->losses & LOSS_KILLED);

	c->losses |= s->losses; /* what that one explains this one does */
	if (!fills || s->level <= LEVEL_NOTE || !s->try_[0])
		return;
	finding_line(r, c->try_, "If it must stay there:");
	lines_move(c->try_, s->try_);
	lines_move(c->undo, s->undo);
}

static void absorb(struct report *r, struct finding *c, const struct finding *s)
{
	finding_line(r, c->evidence, "effect: %s", s->title ? s->title : s->rule);
	if (s->yields)
		yield_take(r, c, s);
	if (s->advises && s->try_[0])
		finding_line(r, c->try_, "For %s: %s", report_process(r, s->tgid), s->try_[0]);
	if (c->benign)
		return;
	c->level = MAX(c->level, s->level);
	c->cost_ns = MAX(c->cost_ns, s->cost_ns);
}

enum pass {
	PASS_YIELDS,
	PASS_SUMS, /* what passed meanwhile then goes to the cause with most of it */
	PASS_WALL,
};

static bool is_of(const struct finding *s, enum pass pass)
{
	if (pass == PASS_YIELDS)
		return s->yields;
	return (s->symptom || s->folds) && s->wall == (pass == PASS_WALL);
}

/* What folds below another of the same process costs far more than that: then it is the other way
 * round. */
static void turn(struct finding *c, struct finding *s)
{
	struct finding was = *c;

	if (!(s->losses & (LOSS_SPACE | LOSS_FLUSH)) || !c->cost_ns || c->wall != s->wall ||
		s->cost_ns / 2 <= c->cost_ns)
		return;
	*c = *s;
	*s = was;
}

static void absorb_all(struct report *r, enum pass pass)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->findings.n; i++) {
		struct finding *s = &r->findings.v[i];
		struct finding *c = is_of(s, pass) ? cause_find(r, s) : NULL;

		if (c) {
			turn(c, s);
			absorb(r, c, s);
			s->rule = NULL;
		}
	}
	vec_each (f, &r->findings)
		if (f->rule)
			r->findings.v[kept++] = *f;
	r->findings.n = kept;
}

static u64 lost_ns(const struct report *r)
{
	u64 sum = 0, wall = 0;

	vec_each (f, &r->findings) {
		if (f->wall)
			wall = MAX(wall, f->cost_ns);
		else
			sum += f->cost_ns;
	}
	return MAX(sum, wall);
}

/* What costs many times as much as f, and is worth no more than a risk; of the same clock. */
static bool lesser_costs_more(const struct report *r, const struct finding *f)
{
	vec_each (m, &r->findings)
		if (!m->benign && !m->symptom && m->wall == f->wall && m->level == LEVEL_RISK &&
			m->cost_ns / MANY_TIMES >= f->cost_ns)
			return true;
	return false;
}

/* By its size a finding may look worse than what costs many times as much time: that one is what a
 * person has to mend first. What was killed or hangs is bad whatever it cost. */
static void level_by_loss(struct report *r)
{
	vec_each (f, &r->findings)
		if (f->level == LEVEL_WARNING && f->cost_ns && !(f->losses & LOSS_KILLED) &&
			lesser_costs_more(r, f))
			f->level = LEVEL_RISK;
}

void report_explain(struct report *r)
{
	char a[UNIT_BUF];
	u64 lost;

	absorb_all(r, PASS_YIELDS);
	absorb_all(r, PASS_SUMS);
	absorb_all(r, PASS_WALL);
	level_by_loss(r);
	lost = lost_ns(r);
	vec_each (f, &r->findings)
		if (f->cost_ns && !f->symptom && f->level > LEVEL_NOTE)
			finding_line(r, f->evidence, "explains %.0f %% of the %s lost to memory",
				100.0 * (double)f->cost_ns / (double)lost, fmt_ns(a, lost));
}
