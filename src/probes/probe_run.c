/* A probe at work: what all probes do alike. See probe.h. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "capture/map_memory.h"
#include "capture/names/names.h"
#include "capture/object.h"
#include "capture/ring.h"
#include "capture/table.h"
#include "probes/burst.h"
#include "probes/losses.h"
#include "probes/probe.h"
#include "probes/walks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define WAKE_ROOM_MIN 64
#define ASIDE_NS (4 * NSEC_PER_SEC)
#define SAME_LOOK_NS (200 * NSEC_PER_MSEC)

struct probe_run {
	const struct probe *probe;
	struct capture *c;
	struct attached *attached;
	struct ring *ring;
	bool records; /* come through it; else it only wakes us before the tables are full */
	bool woken;
	struct table *tables[PROBE_TABLES];
	struct table_ctx {
		struct probe_run *run;
		const struct probe_table *table;
	} ctx[PROBE_TABLES];
	struct stack_maps stacks;
	struct burst burst;
	u64 settled;                /* events that the programs did not count */
	u64 made;                   /* keys of all its tables, ever, as of before the last drain */
	struct probe_counts counts; /* as of then */
	struct loss_sent {
		u64 seen, delivered, lost;
		bool once;
	} sent;
	void *state;     /* of the sampler */
	void *source;    /* state of the source; NULL: it is not open */
	void *bpf_state; /* capture.state */
	u64 looked_ns, next_sample_ns;
	u64 aside_ns; /* until then nothing is read, where somebody watches something else */
};

/* What follows is this probe's. */
static void run_enter(struct probe_run *run)
{
	probe_enter(run->probe, run->c);
	run->c->state = run->bpf_state;
}

static const struct table_values *values_of(
	const struct probe_run *run, const struct probe_table *t)
{
	if (t->values_of)
		return t->values_of(run->c);
	return t->values ? t->values : &table_agg;
}

static u32 entries_of(const struct probe_run *run, const struct probe_table *t)
{
	size_t value = values_of(run, t)->size;

	return t->many_keys ? attach_stacks_entries(run->c, t->key_size, value)
			    : attach_table_entries(run->c, t->key_size, value);
}

static int probe_run_prepare(struct bpf_object *obj, void *arg)
{
	struct probe_run *run = arg;
	const struct probe_bpf *b = run->probe->bpf;
	int rc = 0;

	for (size_t i = 0; i < PROBE_TABLES && b->tables[i].map && !rc; i++)
		rc = attach_set_entries(obj, b->tables[i].map, entries_of(run, &b->tables[i]));
	return rc || !b->prepare ? rc : b->prepare(obj, run->c);
}

static struct attach_spec spec_of(struct probe_run *run)
{
	const struct probe_bpf *b = run->probe->bpf;
	struct attach_spec spec = {
		.hooks = b->hooks,
		.n_hooks = b->n_hooks,
		.needs_btf = b->needs_btf,
		.only_load = b->only_load,
		.options = b->options ? b->options(run->c) : 0,
		.prepare = probe_run_prepare,
		.arg = run,
	};

	walk_choose(run->c, run->probe, &spec);
	return spec;
}

static int table_added(void *arg, const void *key, const void *value)
{
	struct table_ctx *t = arg;

	return t->table->added(t->run->c, &t->run->stacks, key, value);
}

static int ring_record(void *arg, const struct rec *r)
{
	struct probe_run *run = arg;

	return run->probe->bpf->record(run->c, &run->stacks, r);
}

static int tables_open(struct probe_run *run)
{
	const struct probe_bpf *b = run->probe->bpf;
	int rc = 0;

	for (size_t i = 0; i < PROBE_TABLES && b->tables[i].map && !rc; i++) {
		run->ctx[i] = (struct table_ctx){run, &b->tables[i]};
		rc = table_open(
			&(struct table_spec){
				.map = attach_map(run->attached, b->tables[i].map),
				.key_size = bpf_map__key_size(bpf_object__find_map_by_name(
					attach_object(run->attached), b->tables[i].map)),
				.values = values_of(run, &b->tables[i]),
				.slots = b->tables[i].slots
						 ? attach_map(run->attached, b->tables[i].slots)
						 : 0,
				.slot_key = b->tables[i].slot_key,
				.slot_sums = b->tables[i].slot_sums,
				.added = table_added,
				.arg = &run->ctx[i],
				.tgid = b->tables[i].tgid,
				.batch = &run->c->batch,
				.capture = run->c,
			},
			&run->tables[i]);
	}
	return rc;
}

/* Once a quarter of the room in the first table is taken (gentle: half) we are to be woken: others
 * may want the CPU too. With hardly any room a drain would make none: most keys are of who lives.
 */
static void wake_arm(struct probe_run *run)
{
	int map = attach_map(run->attached, "table_fill");
	u32 room = table_room(run->tables[0]), made = 0, wake = 1;
	u64 n = 0, at;

	run->woken = false;
	if (map < 0 || bpf_map_lookup_elem(map, &made, &n))
		return;
	at = room < WAKE_ROOM_MIN ? 0 : n + room / (run->c->opt.gentle ? 2 : 4);
	bpf_map_update_elem(map, &wake, &at, BPF_ANY);
}

static int bpf_attach(struct probe_run *run, struct err *err)
{
	struct attach_spec spec = spec_of(run);
	u32 every = run->c->opt.stack_every;
	int rc = 0;

	if (!run->probe->bpf->frequent)
		run->c->opt.stack_every = 0;
	if (err)
		rc = walk_attach(run->c, run->probe, &spec, &run->attached, err);
	else
		attach_ahead(run->c, &spec);
	run->c->opt.stack_every = every;
	return rc;
}

static int bpf_open(struct probe_run *run, struct err *err)
{
	int rc = run->probe->bpf->open ? run->probe->bpf->open(run->c, err) : 0;

	if (rc)
		return rc;
	rc = bpf_attach(run, err); /* its options may be what it found there */
	if (rc && run->probe->bpf->optional)
		return capture_refused(run->c, "events", err ? err->msg : strerror(-rc), rc, NULL);
	if (rc)
		return rc;
	if (!attach_object(run->attached)) { /* no hook is left, which was told */
		attach_close(run->attached);
		run->attached = NULL;
		return 0;
	}
	run->stacks = (struct stack_maps){
		.stacks = attach_map(run->attached, "stacks"),
		.user_stacks = attach_map(run->attached, "user_stacks"),
	};
	if (run->stacks.user_stacks < 0)
		run->stacks.user_stacks = attach_map(run->attached, "recent_stacks");
	vec_each (pid, &run->c->opt.scope.tasks)
		if (!rc)
			rc = probe_scope_add(run, *pid);
	if (!rc)
		rc = tables_open(run);
	run->records = run->probe->bpf->record && (run->c->opt.each || run->probe->bpf->single);
	if (!rc && (run->records || run->tables[0]))
		rc = ring_open(attach_map(run->attached, "ring"), run->records ? ring_record : NULL,
			run, &run->ring);
	if (!rc && run->records && run->probe->bpf->rings)
		rc = ring_each_cpu(
			run->ring, run->attached, run->probe->bpf->rings, run->c->opt.ring_bytes);
	if (rc)
		return err_errno(err, rc, "%s: reading BPF maps", run->probe->name);
	if (run->tables[0])
		wake_arm(run);
	return run->probe->bpf->attach ? run->probe->bpf->attach(run->c, run->attached, err) : 0;
}

/* Of a screen, and of a service, which nobody watches at all. */
static bool is_aside(const struct probe_run *run)
{
	return run->probe->aside && capture_lasts(run->c);
}

/* In a session that lasts all look at the same times, as each time it wakes up costs by itself. */
static int sampler_look(struct probe_run *run, u64 now_ns)
{
	const struct probe_sampler *s = run->probe->sampler;
	u64 gap = MAX(s->every_ns, run->c->opt.sample_ns), due;

	if (is_aside(run))
		gap = MAX(gap, ASIDE_NS);
	due = now_ns + gap;
	if (capture_lasts(run->c) && gap)
		due -= (now_ns - MIN(run->c->begin_ns, now_ns)) % gap;
	run->looked_ns = now_ns;
	run->next_sample_ns = s->every_ns ? due : UINT64_MAX;
	return s->sample(run->c, run->state);
}

/* Of an interval: what was looked at in the same turn is not looked at again where it lasts. */
static int sampler_conclude(struct probe_run *run)
{
	u64 now = clock_mono_ns();
	bool again = capture_lasts(run->c) && now < run->looked_ns + SAME_LOOK_NS;

	return again && !run->c->ending ? 0 : sampler_look(run, now);
}

static int probe_run_sampler_open(struct probe_run *run, struct err *err)
{
	const struct probe_sampler *s = run->probe->sampler;
	int rc = 0;

	run->state = calloc(1, MAX(s->size, 1UL));
	if (!run->state)
		return err_errno(err, -ENOMEM, "%s", run->probe->name);
	if (s->open)
		rc = s->open(run->c, run->state, err);
	return rc ? rc : sampler_look(run, clock_mono_ns());
}

static bool bpf_wanted(const struct probe *p, const struct capture *c)
{
	return p->bpf && (!p->only_named || capture_named(c) || burst_wanted(p, c)) &&
	       (!p->bpf->wanted || p->bpf->wanted(c));
}

static int source_open(struct probe_run *run, struct err *err)
{
	const struct probe_source *s = run->probe->source;
	void *state = calloc(1, MAX(s->size, 1UL));
	int rc;

	if (!state)
		return err_errno(err, -ENOMEM, "%s", run->probe->name);
	rc = s->open(run->c, state, err);
	if (rc)
		free(state);
	else
		run->source = state;
	return rc;
}

int probe_start(struct probe_run *run)
{
	return run->source ? run->probe->source->start(run->c, run->source) : 0;
}

int probe_new(const struct probe *p, struct capture *c, struct probe_run **ret)
{
	struct probe_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	*run = (struct probe_run){.probe = p, .c = c};
	if (p->bpf && p->bpf->state_size) {
		run->bpf_state = calloc(1, p->bpf->state_size);
		if (!run->bpf_state) {
			free(run);
			return -ENOMEM;
		}
	}
	*ret = run;
	return 0;
}

bool probe_counts_on(struct probe_run *run)
{
	run_enter(run);
	return probe_preloads(run->probe, run->c) ||
	       (bpf_wanted(run->probe, run->c) && !burst_wanted(run->probe, run->c));
}

/* One that looks around before is not known yet. */
void probe_ahead(struct probe_run *run)
{
	run_enter(run);
	if (run->c->ahead && bpf_wanted(run->probe, run->c) && !run->probe->bpf->open)
		(void)bpf_attach(run, NULL);
}

int probe_open(struct probe_run *run, struct err *err)
{
	const struct probe *p = run->probe;
	struct capture *c = run->c;
	int rc = 0;

	run_enter(run);
	if (bpf_wanted(p, c))
		rc = bpf_open(run, err);
	if (!rc && run->attached && burst_wanted(p, c))
		burst_open(&run->burst, p->bpf->bursts, c, run->attached);
	if (!rc && p->sampler)
		rc = probe_run_sampler_open(run, err);
	if (!rc && probe_preloads(p, c) && !run->attached)
		rc = source_open(run, err);
	return rc;
}

int probe_scope_add(struct probe_run *run, u32 tgid)
{
	u8 one = 1;

	if (!run->attached)
		return 0;
	return bpf_map_update_elem(attach_map(run->attached, "scope_tasks"), &tgid, &one, BPF_ANY)
		       ? -errno
		       : 0;
}

int probe_fd(struct probe_run *run)
{
	if (run->source)
		return run->probe->source->fd(run->source);
	return run->ring ? ring_fd(run->ring) : -1;
}

static int probe_run_settle(struct probe_run *run)
{
	const struct probe_bpf *b = run->probe->bpf;

	if (!run->attached || !b->settle)
		return 0;
	return b->settle(run->c, run->attached, &run->stacks, &run->settled);
}

u64 probe_next_sample(const struct probe_run *run)
{
	u64 sample = run->next_sample_ns ? run->next_sample_ns : UINT64_MAX;
	u64 burst = burst_next(&run->burst);

	return MIN(sample, burst);
}

int probe_sample(struct probe_run *run, u64 now_ns)
{
	const struct probe_sampler *s = run->probe->sampler;
	bool due = s && now_ns >= run->next_sample_ns;
	int rc;

	run_enter(run);
	rc = burst_step(&run->burst, now_ns);
	return rc || !due ? rc : sampler_look(run, now_ns);
}

/* What was seen was delivered or lost. Where it was not, something is wrong that no report may
 * hide: what is missing is lost. */
static void losses_check(
	struct probe_run *run, u64 seen, u64 delivered, u64 *lost, char *reason, size_t size)
{
	if (seen > delivered + *lost) {
		*lost = seen - delivered;
		snprintf(reason, size, "not accounted for: please report it");
	}
	if (seen < delivered + *lost)
		capture_note(run->c, NOTE_WARNING,
			"%llu events were seen, but %llu delivered and %llu lost: this is a bug, "
			"please report it",
			seen, delivered, *lost);
}

/* Who looks for causes (check) is told of missing stacks or durations where these are many enough
 * to hide one. */
static bool part_matters(const struct capture *c, u64 n, u64 of)
{
	return n && (!c->opt.gentle || n > of / 20);
}

/* What is not known of events that were counted. */
static void parts_tell(struct capture *c, const struct probe_counts *n)
{
	if (part_matters(c, n->lost_stack, n->seen / MAX(c->opt.stack_every, 1U)))
		capture_note(c, NOTE_WARNING, "%llu event%s counted without their stack",
			n->lost_stack, n->lost_stack == 1 ? " is" : "s are");
	if (n->lost_task)
		capture_note(c, NOTE_WARNING, "%llu event%s counted only by process name: %s",
			n->lost_task, n->lost_task == 1 ? " is" : "s are", losses_table_full(c));
	if (part_matters(c, n->unpaired, n->seen))
		capture_note(c, NOTE_INFO,
			"%llu event%s began or ended outside the interval and ha%s no duration",
			n->unpaired, plural(n->unpaired), n->unpaired == 1 ? "s" : "ve");
	if (n->lost_scope)
		capture_note(c, NOTE_WARNING, "%llu child%s could not be followed", n->lost_scope,
			n->lost_scope == 1 ? "" : "ren");
}

/* again: also where it is what was sent last. */
static int losses_send(struct probe_run *run, bool again)
{
	struct probe_counts n;
	u64 delivered = run->settled + (run->ring ? ring_delivered(run->ring) : 0), lost;
	int rc = attach_counts(run->attached, &n);
	char reason[64] = "";

	if (rc)
		return rc;
	n.seen += run->settled;
	for (size_t i = 0; i < PROBE_TABLES && run->tables[i]; i++)
		delivered += run->ctx[i].table->derived ? 0 : table_delivered(run->tables[i]);
	lost = n.lost_ring + n.lost_map + n.lost_state + n.lost_busy;
	if (lost)
		snprintf(reason, sizeof(reason), "%s", losses_reason(run->c, &n));
	if (run->c->ending)
		losses_check(run, n.seen, delivered, &lost, reason, sizeof(reason));
	if (run->c->ending)
		parts_tell(run->c, &n);
	if (!again && run->sent.once && run->sent.seen == n.seen &&
		run->sent.delivered == delivered && run->sent.lost == lost)
		return 0;
	run->sent = (struct loss_sent){n.seen, delivered, lost, true};
	return capture_loss(run->c, n.seen, delivered, lost, reason);
}

/* Rare events may be reported at once: what was delivered is told with them. */
int probe_drain_ring(struct probe_run *run)
{
	u64 before = run->ring ? ring_delivered(run->ring) : 0;
	int rc;

	run_enter(run);
	if (run->source)
		return run->probe->source->take(run->c, run->source);
	if (!run->ring)
		return 0;
	rc = ring_drain(run->ring);
	run->woken |= ring_woken(run->ring);
	if (!run->records)
		return rc;
	rc = rc ? rc : probe_run_settle(run);
	if (rc || !run->probe->bpf->single || ring_delivered(run->ring) == before)
		return rc;
	return losses_send(run, true);
}

static int source_send(struct probe_run *run, bool sample)
{
	const struct probe_source *s = run->probe->source;
	u64 seen, lost;
	int rc = s->send(run->c, run->source, sample);

	s->counts(run->source, &seen, &lost);
	return rc ? rc
		  : capture_loss(run->c, seen, seen - lost, lost,
			    lost ? "memwhy did not read in time" : "");
}

bool probe_fills_up(const struct probe_run *run)
{
	return run->woken;
}

/* Tables that the last drain left empty are empty still where no key was made and nothing was seen
 * since: reading a map costs as much as it has room, not as it holds. */
static bool tables_may_hold(struct probe_run *run)
{
	struct probe_counts before = run->counts;
	u64 made_before = run->made;
	u32 zero = 0;
	int map;

	for (size_t i = 0; i < PROBE_TABLES && run->tables[i]; i++)
		if (table_keys(run->tables[i]))
			return true;
	map = attach_map(run->attached, "table_fill");
	if (map < 0 || bpf_map_lookup_elem(map, &zero, &run->made) ||
		attach_counts(run->attached, &run->counts))
		return true;
	return run->made != made_before || memcmp(&before, &run->counts, sizeof(before)) != 0;
}

static int tables_drain(struct probe_run *run)
{
	int rc = 0;

	if (!run->tables[0] || (!run->c->ending && !tables_may_hold(run)))
		return 0;
	for (size_t i = 0; i < PROBE_TABLES && run->tables[i] && !rc; i++)
		rc = table_drain(run->tables[i]);
	if (!rc)
		wake_arm(run);
	return rc;
}

/* What a service tells of an interval is all of it. */
static bool drain_waits(struct probe_run *run, bool sample)
{
	u64 every = MAX(run->c->opt.watch_ns, run->c->opt.sample_ns), now = clock_mono_ns();

	if (!is_aside(run) || run->c->ending || run->woken)
		return false;
	if (now < run->aside_ns && !(sample && capture_is_service(run->c)))
		return true;
	run->aside_ns = now + ASIDE_NS - every / 2;
	return false;
}

int probe_drain(struct probe_run *run, bool sample)
{
	int rc, leaves = 0;

	if (drain_waits(run, sample))
		return 0;
	do
		rc = probe_drain_ring(run);
	while (rc == 1 && !(leaves = capture_leaves(run->c)));
	rc = rc == 1 ? MIN(leaves, 0) : rc;
	if (!rc && !run->records)
		rc = probe_run_settle(run);
	rc = rc ? rc : tables_drain(run);
	if (!rc && run->attached && sample && run->probe->bpf->snapshot)
		rc = run->probe->bpf->snapshot(run->c, run->attached, &run->stacks);
	if (!rc && run->attached)
		rc = losses_send(run, sample || run->c->ending);
	if (!rc && sample && run->probe->sampler)
		rc = sampler_conclude(run);
	if (!rc && run->source)
		rc = source_send(run, sample);
	return rc;
}

int probe_stop(struct probe_run *run)
{
	int rc;

	if (run->source)
		run->probe->source->stop(run->source);
	if (!run->attached)
		return 0;
	run_enter(run);
	rc = burst_stop(&run->burst);
	if (run->probe->bpf->stop)
		run->probe->bpf->stop(run->c, run->attached);
	attach_stop(run->attached);
	return rc;
}

u64 probe_seen(struct probe_run *run)
{
	struct probe_counts n = {};
	u64 seen, lost;

	if (run->source) {
		run->probe->source->counts(run->source, &seen, &lost);
		return seen;
	}
	if (run->attached)
		attach_counts(run->attached, &n);
	return n.seen + run->settled;
}

int probe_cost(struct probe_run *run, u64 *ret_ns, u64 *ret_runs, u64 *ret_map_bytes)
{
	if (run->attached)
		return attach_cost(run->attached, ret_ns, ret_runs, ret_map_bytes);
	*ret_ns = *ret_runs = 0;
	if (ret_map_bytes)
		*ret_map_bytes = 0;
	return 0;
}

void probe_close(struct probe_run *run)
{
	const struct probe_sampler *s;

	if (!run)
		return;
	s = run->probe->sampler;
	if (s && s->close && run->state)
		s->close(run->state);
	free(run->state);
	if (run->source)
		run->probe->source->close(run->source);
	free(run->source);
	for (size_t i = 0; i < PROBE_TABLES; i++)
		table_close(run->tables[i]);
	ring_close(run->ring);
	attach_close(run->attached);
	run_enter(run);
	if (run->bpf_state && run->probe->bpf->close)
		run->probe->bpf->close(run->c);
	free(run->bpf_state);
	free(run);
}

int probe_measure(const struct probe *p, struct capture *c, struct budget *b)
{
	struct probe_run run = {.probe = p, .c = c};
	struct err unused = {};
	struct attach_spec spec;
	int rc = 0;

	probe_enter(p, c);
	if (!bpf_wanted(p, c))
		return 0;
	run.bpf_state = calloc(1, MAX(p->bpf->state_size, 1UL));
	if (!run.bpf_state)
		return -ENOMEM;
	run_enter(&run);
	if (p->bpf->open)
		rc = p->bpf->open(c, &unused);
	spec = spec_of(&run);
	if (!rc)
		rc = budget_add(b, c, &spec);
	if (!rc && p->bpf->other_bytes)
		budget_add_bytes(b, p->bpf->other_bytes(c));
	if (p->bpf->close)
		p->bpf->close(c);
	free(run.bpf_state);
	return rc;
}

/* What is no hook, tried. */
static int survey_other(struct probe_run *run, struct err *err)
{
	const struct probe_bpf *b = run->probe->bpf;
	struct attach_spec spec = spec_of(run);
	int rc;

	run->bpf_state = calloc(1, MAX(b->state_size, 1UL));
	if (!run->bpf_state)
		return err_errno(err, -ENOMEM, "%s", run->probe->name);
	run_enter(run);
	rc = attach_open(run->c, &spec, &run->attached, err);
	if (!rc || rc == -EPERM)
		b->survey(run->c, run->attached);
	attach_close(run->attached);
	if (b->close)
		b->close(run->c);
	free(run->bpf_state);
	return rc;
}

static void hooks_refused(struct capture *c, const struct attach_spec *spec)
{
	for (size_t i = 0; i < spec->n_hooks; i++)
		if (!spec->hooks[i].only || spec->hooks[i].only & spec->options)
			capture_not_permitted(c, spec->hooks[i].data);
}

int probe_survey(const struct probe *p, struct capture *c, struct err *err)
{
	struct probe_run run = {.probe = p, .c = c};
	struct attach_spec spec;
	int rc = 0;

	run_enter(&run);
	if (p->bpf) {
		spec = spec_of(&run);
		rc = p->bpf->survey ? survey_other(&run, err) : attach_survey(c, &spec, err);
		if (rc == -EPERM)
			hooks_refused(c, &spec);
	}
	if (p->sampler && p->sampler->survey)
		p->sampler->survey(c);
	if (p->source)
		p->source->survey(c);
	return rc;
}
