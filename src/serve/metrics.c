/* See metrics.h. */
#include "serve/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/oom/oom.h"
#include "probes/slab/slab.h"
#include "probes/thp/thp.h"
#include "probes/waits/waits.h"
#include "serve/sums.h"

#define SWEEP_EVERY 2 /* intervals */
#define ROWS_MAX 8192 /* zones, caches of the kernel, … */

struct metrics {
	pthread_mutex_t lock;
	struct sums s;
	u64 max_series;
	u32 intervals;
};

int metrics_new(u64 max_series, struct metrics **ret)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m || tally_new(&m->s.tally)) {
		free(m);
		return -ENOMEM;
	}
	pthread_mutex_init(&m->lock, NULL);
	m->max_series = max_series;
	m->s.started_wall_ns = clock_wall_ns();
	*ret = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	tally_free(m->s.tally);
	vec_free(&m->s.losses);
	vec_free(&m->s.memory);
	vec_free(&m->s.slab);
	vec_free(&m->s.zones);
	vec_free(&m->s.findings);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Room for groups is what all else leaves. */
static void limit_apply(struct metrics *m)
{
	u64 fixed = m->s.fixed_series;

	if (!fixed)
		return;
	tally_limit(m->s.tally, m->max_series > fixed ? (m->max_series - fixed) / GROUP_SERIES : 0);
}

void metrics_limit(struct metrics *m, u64 max_series)
{
	pthread_mutex_lock(&m->lock);
	m->max_series = max_series;
	limit_apply(m);
	pthread_mutex_unlock(&m->lock);
}

static void add(struct durations *d, u64 count, u64 ns, u64 max_ns, const u32 *slots)
{
	durations_add(d, count, ns, max_ns, slots, AGG_SLOTS);
}

static void stalls_take(struct sums *s, const struct rec *rec)
{
	const struct stalls_agg *r = (const struct stalls_agg *)rec;
	enum group_stall kind = r->kind == STALLS_CHARGE ? GROUP_CHARGE : GROUP_ALLOCATION;
	enum stall_part reclaim = kind == GROUP_CHARGE ? PART_CGROUP : PART_DIRECT;
	u64 known = r->reclaim_ns + r->compact_ns;
	struct group_sums *g = tally_sums(s->tally, r->cgroup);

	add(&s->stalls[kind], r->count, r->total_ns, r->max_ns, r->hist);
	s->stall_parts_ns[reclaim] += r->reclaim_ns;
	s->stall_parts_ns[PART_COMPACTION] += r->compact_ns;
	s->stall_parts_ns[PART_OTHER] += r->total_ns > known ? r->total_ns - known : 0;
	g->stalls[kind] += r->count;
	g->stall_ns[kind] += r->total_ns;
}

static void step_take(struct sums *s, const struct rec *rec)
{
	const struct stalls_step_agg *r = (const struct stalls_step_agg *)rec;

	if (r->kind < STALLS_STEP_KIND_N)
		add(&s->steps[r->kind], r->count, r->total_ns, r->max_ns, r->hist);
}

static void faults_take(struct sums *s, const struct rec *rec)
{
	const struct faults_agg *r = (const struct faults_agg *)rec;
	enum group_fault kind = r->flags & FAULT_MAJOR ? GROUP_MAJOR : GROUP_MINOR;
	struct group_sums *g = tally_sums(s->tally, r->cgroup);

	add(&s->faults[kind], r->timed, r->total_ns, r->max_ns, r->hist);
	if (fault_is_swap_in(r))
		add(&s->swap_ins, r->timed, r->total_ns, r->max_ns, r->hist);
	g->faults[kind] += r->count;
	g->fault_ns[kind] += r->total_ns;
}

static void compaction_take(struct sums *s, const struct rec *rec)
{
	const struct compaction_agg *r = (const struct compaction_agg *)rec;

	if (r->kind < COMPACTION_KIND_N)
		add(&s->compaction[r->kind], r->count, r->total_ns, r->max_ns, r->hist);
}

static void thp_take(struct sums *s, const struct rec *rec)
{
	const struct thp_agg *r = (const struct thp_agg *)rec;

	if (r->kind == THP_HANDLED)
		add(&s->thp_faults, r->timed, r->total_ns, r->max_ns, r->hist);
}

static void lock_take(struct sums *s, const struct rec *rec)
{
	const struct waits_lock *r = (const struct waits_lock *)rec;

	add(&s->lock_waits[!!(r->flags & WAITS_WRITE)], r->count, r->total_ns, r->max_ns, r->hist);
}

static void dirty_take(struct sums *s, const struct rec *rec)
{
	const struct waits_dirty *r = (const struct waits_dirty *)rec;

	s->dirty_sleeps += r->count;
	s->dirty_ns += r->total_ns;
}

static void oom_take(struct sums *s, const struct rec *rec)
{
	const struct oom_kill *r = (const struct oom_kill *)rec;

	s->oom_kills++;
	tally_sums_of_killed(s->tally, r->victim_cgroup)->oom_kills++;
}

static void value_take(struct sums *s, const struct rec *rec)
{
	struct system_value v = *(const struct system_value *)rec;
	int i;

	v.name[sizeof(v.name) - 1] = '\0';
	if (v.source == SYSTEM_VMSTAT) {
		i = sums_vmstat_index(v.name);
		if (i >= 0) {
			s->vmstat[i] = v.value;
			s->vmstat_known[i] = true;
		}
		return;
	}
	if (v.source != SYSTEM_MEMINFO)
		return;
	vec_each (old, &s->memory) {
		if (!strcmp(old->name, v.name)) {
			old->value = v.value;
			return;
		}
	}
	if (s->memory.n < ROWS_MAX && vec_push(&s->memory, v))
		return; /* it comes again */
}

static void pressure_take(struct sums *s, const struct rec *rec)
{
	const struct system_pressure *r = (const struct system_pressure *)rec;

	if (r->resource < ARRAY_SIZE(s->pressure))
		s->pressure[r->resource] = *r;
}

static void metrics_zone_take(struct sums *s, const struct rec *rec)
{
	struct frag_zone z = *(const struct frag_zone *)rec;

	z.zone[sizeof(z.zone) - 1] = '\0';
	z.orders = MIN(z.orders, (u32)FRAG_ORDERS);
	vec_each (old, &s->zones) {
		if (old->node == z.node && !strcmp(old->zone, z.zone)) {
			*old = z;
			return;
		}
	}
	if (s->zones.n < ROWS_MAX && vec_push(&s->zones, z))
		return; /* it comes again */
}

static void slab_take(struct sums *s, const struct rec *rec)
{
	const struct slab_usage *r = (const struct slab_usage *)rec;
	struct sums_slab c = {.bytes = r->bytes,
		.used_bytes =
			r->active_objects * (r->used_bytes ? r->used_bytes : r->object_bytes)};

	memcpy(c.name, r->name, sizeof(r->name));
	vec_each (old, &s->slab) {
		if (!strcmp(old->name, c.name)) {
			*old = c;
			return;
		}
	}
	if (s->slab.n < ROWS_MAX && vec_push(&s->slab, c))
		return; /* it comes again */
}

static void loss_take(struct sums *s, const struct rec *rec)
{
	struct rec_loss l = *(const struct rec_loss *)rec;

	l.probe[sizeof(l.probe) - 1] = '\0';
	vec_each (old, &s->losses) {
		if (!strcmp(old->probe, l.probe)) {
			*old = l;
			return;
		}
	}
	if (s->losses.n < ROWS_MAX && vec_push(&s->losses, l))
		return; /* it comes again */
}

static void metrics_cost_take(struct sums *s, const struct rec *r)
{
	s->cost = *(const struct rec_cost *)r;
}

static void host_take(struct sums *s, const struct rec *r)
{
	s->host = *(const struct rec_host *)r;
	s->host.kernel[sizeof(s->host.kernel) - 1] = '\0';
}

static void cgroup_take(struct sums *s, const struct rec *r)
{
	tally_name(s->tally, (const struct rec_cgroup *)r);
}

static void usage_take(struct sums *s, const struct rec *r)
{
	tally_usage(s->tally, (const struct cgroup_usage *)r);
}

static const struct {
	u16 kind;
	void (*take)(struct sums *s, const struct rec *r);
	size_t size;
} takers[] = {
	{REC_FAULTS_AGG, faults_take, sizeof(struct faults_agg)},
	{REC_STALLS_AGG, stalls_take, sizeof(struct stalls_agg)},
	{REC_STALLS_STEP, step_take, sizeof(struct stalls_step_agg)},
	{REC_COMPACTION_AGG, compaction_take, sizeof(struct compaction_agg)},
	{REC_THP_AGG, thp_take, sizeof(struct thp_agg)},
	{REC_WAITS_LOCK, lock_take, sizeof(struct waits_lock)},
	{REC_WAITS_DIRTY, dirty_take, sizeof(struct waits_dirty)},
	{REC_OOM_KILL, oom_take, sizeof(struct oom_kill)},
	{REC_SYSTEM_VALUE, value_take, sizeof(struct system_value)},
	{REC_SYSTEM_PRESSURE, pressure_take, sizeof(struct system_pressure)},
	{REC_FRAG_ZONE, metrics_zone_take, sizeof(struct frag_zone)},
	{REC_SLAB_CACHE, slab_take, sizeof(struct slab_usage)},
	{REC_CGROUP_MEMORY, usage_take, sizeof(struct cgroup_usage)},
	{REC_CGROUP, cgroup_take, sizeof(struct rec_cgroup)},
	{REC_LOSS, loss_take, sizeof(struct rec_loss)},
	{REC_COST, metrics_cost_take, sizeof(struct rec_cost)},
	{REC_HOST, host_take, sizeof(struct rec_host)},
};

void metrics_feed(struct metrics *m, const struct rec *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(takers); i++) {
		if (takers[i].kind != r->kind || r->size < takers[i].size)
			continue;
		pthread_mutex_lock(&m->lock);
		takers[i].take(&m->s, r);
		m->s.last_ns = MAX(m->s.last_ns, r->time_ns);
		pthread_mutex_unlock(&m->lock);
		if (r->kind == REC_CGROUP)
			tally_look(m->s.tally, ((const struct rec_cgroup *)r)->id, &m->lock);
		return;
	}
}

void metrics_daemon_kill(struct metrics *m)
{
	pthread_mutex_lock(&m->lock);
	m->s.daemon_kills++;
	pthread_mutex_unlock(&m->lock);
}

void metrics_findings(struct metrics *m, const struct report *r)
{
	pthread_mutex_lock(&m->lock);
	m->s.findings.n = 0;
	vec_each (f, &r->findings) {
		struct sums_finding one = {.level = f->level};

		snprintf(one.rule, sizeof(one.rule), "%s", f->rule);
		if (vec_push(&m->s.findings, one))
			break;
	}
	if (!(m->intervals++ % SWEEP_EVERY))
		tally_sweep(m->s.tally);
	pthread_mutex_unlock(&m->lock);
	tally_look_again(m->s.tally, &m->lock);
}

const char *const *metrics_names(struct metrics *m, u64 cgroup)
{
	return tally_killed(m->s.tally, cgroup, &m->lock);
}

void metrics_settle(struct metrics *m)
{
	_cleanup_str_ struct str out = {};

	metrics_expose(m, EXPOSITION_CLASSIC, &(struct serve_counts){}, &out);
}

void metrics_expose(struct metrics *m, enum exposition_format format,
	const struct serve_counts *counts, struct str *out)
{
	struct exposition e = {.out = out, .format = format};

	pthread_mutex_lock(&m->lock);
	sums_expose(&m->s, &e, counts);
	limit_apply(m);
	pthread_mutex_unlock(&m->lock);
	exposition_end(&e);
}
