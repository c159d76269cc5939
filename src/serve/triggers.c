/* See triggers.h. */
#include "serve/triggers.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "probes/cgroups/cgroups.h"
#include "probes/oom/oom.h"
#include "probes/stalls/stalls.h"
#include "probes/system/system.h"

#define HITS_MAX 4096  /* groups whose hits are remembered */
#define RESTS_MAX 1024 /* reasons that rest; beyond that the one whose rest ends first */

/* A reason that does not fire again for a while, by what it is of: "stall 4711" of a group. */
struct rested {
	char what[64];
	u64 until_ns;
};

struct hits {
	u64 cgroup, total;
};

struct triggers {
	struct trigger_config cfg;
	struct fired fired;
	VEC(struct rested) rests;
	VEC(struct hits) hits;
	u64 longest_ns; /* of all stalls so far */
};

int triggers_new(const struct trigger_config *cfg, struct triggers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->cfg = *cfg;
	return 0;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	vec_free(&t->rests);
	vec_free(&t->hits);
	free(t);
}

void triggers_config(struct triggers *t, const struct trigger_config *cfg)
{
	t->cfg = *cfg;
}

/* Says whether this fired a short time ago; notes that it did now. */
static bool is_resting(struct triggers *t, const char *what)
{
	u64 now = clock_mono_ns();
	struct rested row = {.until_ns = now + t->cfg.again_ns}, *first = NULL;

	vec_each (r, &t->rests) {
		if (r->until_ns > now && !strcmp(r->what, what))
			return true;
		if (!first || r->until_ns < first->until_ns)
			first = r;
	}
	snprintf(row.what, sizeof(row.what), "%s", what);
	if (first && (first->until_ns <= now || t->rests.n == RESTS_MAX))
		*first = row;
	else
		(void)vec_push(&t->rests, row); /* else it may fire again sooner */
	return false;
}

static void fire(struct triggers *t, const char *kind, const char *fmt, ...) _printf_(3, 4);
static void fire(struct triggers *t, const char *kind, const char *fmt, ...)
{
	struct fired *f = &t->fired;
	va_list args;

	f->urgent |=
		!strcmp(kind, "oom-kill") || !strcmp(kind, "daemon-kill") || !strcmp(kind, "asked");
	if (!f->n) {
		snprintf(f->kind, sizeof(f->kind), "%s", kind);
		f->first_ns = clock_mono_ns();
	}
	if (f->n == TRIGGER_REASONS) {
		f->more++;
		return;
	}
	va_start(args, fmt);
	vsnprintf(f->reasons[f->n++], TRIGGER_TEXT, fmt, args);
	va_end(args);
}

static void kill_look(struct triggers *t, const struct stream *names, const struct rec *rec)
{
	const struct oom_kill *k = (const struct oom_kill *)rec;
	const char *path = stream_cgroup(names, k->victim_cgroup);

	fire(t, "oom-kill", "the OOM killer killed %.*s (%u)%s%.120s", COMM_LEN, k->victim_comm,
		k->victim_tgid ? k->victim_tgid : k->victim_tid, path ? " of " : "",
		path ? path : "");
}

void triggers_daemon_kill(
	struct triggers *t, const struct stream *names, const struct daemon_kill *k)
{
	const char *path = stream_cgroup(names, k->victim_cgroup);
	bool killed = k->signal == SIGKILL;

	fire(t, "daemon-kill", "%.*s %s %.*s (%u)%s%.120s%s", COMM_LEN, k->comm,
		killed ? "killed" : "told", COMM_LEN, k->victim_comm, k->victim_tgid,
		path ? " of " : "", path ? path : "", killed ? "" : " to end");
}

/*
 * The longest of the stalls that a record sums up took at least this. Its histogram says in which
 * slot the longest were, and its total what these took, if all others took as long as they can
 * have.
 */
static u64 longest_at_least(const struct stalls_agg *r)
{
	u64 others_ns = 0, ns;
	int top = AGG_SLOTS - 1;

	while (top > 0 && !r->hist[top])
		top--;
	if (!r->hist[top])
		return 0;
	for (int i = 0; i < top; i++)
		others_ns += r->hist[i] * (1ULL << i);
	ns = r->total_ns > others_ns ? (r->total_ns - others_ns) / r->hist[top] : 0;
	return MAX(ns, top ? 1ULL << (top - 1) : 0);
}

static void stall_look(struct triggers *t, const struct rec *rec)
{
	const struct stalls_agg *r = (const struct stalls_agg *)rec;
	u64 ns = longest_at_least(r);
	char buf[UNIT_BUF], what[64];

	/* The maximum is since the start: news only if there was none as long. */
	if (r->count && r->max_ns > t->longest_ns)
		ns = t->longest_ns = r->max_ns;
	snprintf(what, sizeof(what), "stall %llu", r->cgroup);
	if (!t->cfg.on_stall_ns || ns < t->cfg.on_stall_ns || is_resting(t, what))
		return;
	fire(t, "stall", "%.*s (%u) waited %s for memory", COMM_LEN, r->comm, r->tgid,
		fmt_ns(buf, ns));
}

static void pressure_look(struct triggers *t, const struct rec *rec)
{
	const struct system_pressure *p = (const struct system_pressure *)rec;

	if (p->resource != SYSTEM_MEMORY || !t->cfg.on_pressure ||
		p->some_avg10 < t->cfg.on_pressure || is_resting(t, "pressure"))
		return;
	fire(t, "pressure", "tasks waited for memory %.1f %% of the last 10 s",
		p->some_avg10 / 100.0);
}

/* How often the group was at its limit when it was last told; at first, when it was first seen,
 * which may be before there was something to tell of it. */
static u64 hits_before(struct triggers *t, u64 cgroup, u64 first, u64 now)
{
	u64 before;

	vec_each (h, &t->hits) {
		if (h->cgroup != cgroup)
			continue;
		before = h->total;
		h->total = now;
		return before;
	}
	if (t->hits.n == HITS_MAX || vec_push(&t->hits, ((struct hits){cgroup, now})))
		return now; /* never known */
	return first;
}

static void limit_look(struct triggers *t, const struct stream *names, const struct rec *rec)
{
	const struct cgroup_usage *u = (const struct cgroup_usage *)rec;
	const char *path = stream_cgroup(names, u->cgroup);
	u64 before = hits_before(t, u->cgroup, u->first_limit_hit_total, u->limit_hit_total);
	char what[64];

	if (!t->cfg.on_limit || u->limit_hit_total <= MAX(before, u->first_limit_hit_total))
		return;
	snprintf(what, sizeof(what), "limit %llu", u->cgroup);
	if (!is_resting(t, what))
		fire(t, "limit", "%.150s was at its memory limit", path ? path : "a group");
}

void triggers_feed(struct triggers *t, const struct stream *names, const struct rec *r)
{
	if (r->kind == REC_OOM_KILL && r->size >= sizeof(struct oom_kill))
		kill_look(t, names, r);
	if (r->kind == REC_STALLS_AGG && r->size >= sizeof(struct stalls_agg))
		stall_look(t, r);
	if (r->kind == REC_SYSTEM_PRESSURE && r->size >= sizeof(struct system_pressure))
		pressure_look(t, r);
	if (r->kind == REC_CGROUP_MEMORY && r->size >= sizeof(struct cgroup_usage))
		limit_look(t, names, r);
}

void triggers_findings(struct triggers *t, const struct report *r)
{
	char what[64];

	vec_each (f, &r->findings) {
		if (f->level < t->cfg.on_level || !strcmp(f->rule, "oom") ||
			!strcmp(f->rule, "daemon-kill")) /* it fired at the kill */
			continue;
		snprintf(what, sizeof(what), "finding %.40s %llu", f->rule, f->cgroup);
		if (!is_resting(t, what))
			fire(t, f->rule, "%s: %.150s", finding_level_name(f->level), f->title);
	}
}

void triggers_ask(struct triggers *t)
{
	fire(t, "asked", "asked for by SIGUSR1");
}

bool triggers_urgent(const struct triggers *t)
{
	return t->fired.urgent;
}

u64 triggers_pending(const struct triggers *t)
{
	return t->fired.n ? t->fired.first_ns : 0;
}

void triggers_take(struct triggers *t, struct fired *ret)
{
	*ret = t->fired;
	t->fired = (struct fired){};
}
