/* The heap probe: a command under the preload library, and its processes' accounts as records. */
#include "probes/heap/heap.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "capture/block_access.h"
#include "capture/names/names.h"
#include "probes/heap/attach/heap_attach.h"
#include "probes/heap/collect/collector.h"
#include "probes/heap/collect/filters.h"
#include "probes/heap/collect/heap_faults.h"
#include "probes/heap/collect/heap_names.h"
#include "probes/heap/collect/near.h"
#include "probes/heap/collect/untracked.h"
#include "probes/heap/heap_inner.h"
#include "probes/heap/heap_opts.h"
#include "probes/heap/heap_records.h"
#include "probes/heap/view/heap_view.h"
#include "probes/numa/numa.h"
#include "probes/probe.h"
#include "sys/group/cgroup.h"

#define WAIT_MS 2000 /* a program waits no longer for a memwhy that stands still */

/* Records whose stacks get their names, which are by program, just before they are sent. */
struct site_to_send {
	struct heap_site r;
	u32 program;
};

struct mapping_to_send {
	struct heap_mapping r;
	u32 program;
};

struct residence_to_send {
	struct heap_residence r;
	u32 program;
};

struct heap_state {
	struct collector *collector;
	struct cgroup_mounts *cgroups;
	struct heap_names names;
	VEC(struct heap_total) totals; /* to be sent */
	VEC(struct site_to_send) sites;
	VEC(struct heap_thread) threads;
	VEC(struct mapping_to_send) mappings;
	VEC(struct heap_mapped) mapped;
	VEC(struct residence_to_send) residences;
	VEC(struct heap_looked) looked;
	struct heap_together_record together;
	struct untracked untracked;
	struct near near;
	struct filters *filters; /* NULL: we may load no BPF program, or cannot here */
	struct blocks blocks;
	bool asked; /* somebody asks which blocks were accessed … */
	bool sums;  /* … of all; else small ones are not told of, and sums would not be right */
};

static int blocks_settle(struct capture *c, void *arg, u64 time_ns);

static int blocks_touched(void *arg, u32 tgid, u32 tid, u64 address, u64 time_ns)
{
	return collector_ask(((struct heap_state *)arg)->collector, tgid, tid, address, time_ns);
}

static int blocks_forked(void *arg, u32 tgid, u32 from_tgid, u64 time_ns)
{
	return collector_forked(((struct heap_state *)arg)->collector, tgid, from_tgid, time_ns);
}

static int open_source(struct capture *c, void *state, struct err *err)
{
	const struct heap_opts *o = OPTS_OF(struct heap_opts, c->opts);
	struct heap_state *s = state;
	int rc;

	if (!c->preload.open) {
		err_set(err, -EINVAL, "heap needs a command to run");
		return err_hint(err, "memwhy heap -- CMD");
	}
	heap_names_init(&s->names);
	s->cgroups = calloc(1, sizeof(*s->cgroups));
	if (s->cgroups && cgroup_mounts_read(s->cgroups)) {
		free(s->cgroups);
		s->cgroups = NULL;
	}
	s->near.cgroups = s->cgroups;
	rc = collector_open(
		&c->preload, s->cgroups, o->no_wait ? 0 : WAIT_MS, o->sample_bytes, &s->collector);
	if (rc)
		return err_errno(err, rc, "heap: preparing to collect");
	rc = untracked_begin(&s->untracked, c, s->collector);
	if (rc)
		return err_errno(err, rc, "heap: preparing to follow the command's processes");
	filters_open(&s->filters);
	collector_filters(s->collector, s->filters);
	if (o->events)
		collector_keep_events(s->collector);
	s->names.tell = o->events;
	rc = heap_faults_open(c, s->collector, err);
	if (rc)
		return rc;
	s->blocks = (struct blocks){s, blocks_touched, blocks_forked, blocks_settle};
	c->blocks = &s->blocks;
	return capture_method(c, "allocations of a command",
		c->preload.file.fd >= 0 ? "preload library, from a file for this run"
					: "preload library",
		NULL);
}

static int start(struct capture *c, void *state)
{
	struct heap_state *s = state;

	s->asked = c->blocks_wanted;
	if (s->asked)
		collector_answer(s->collector, c->opt.least_bytes);
	s->sums = !s->asked || !c->opt.least_bytes;
	return collector_start(s->collector);
}

static int fd(const void *state)
{
	return collector_fd(((const struct heap_state *)state)->collector);
}

static int heap_events_take(struct capture *c, void *state)
{
	struct heap_state *s = state;

	return heap_names_take(&s->names, c, s->collector);
}

/* As struct blocks says. */
static int blocks_settle(struct capture *c, void *arg, u64 time_ns)
{
	struct heap_state *s = arg;
	block_lookup_buffer told = {};
	const char *asker = c->probe;
	int rc = collector_settle(s->collector, time_ns, &told);

	c->probe = "heap";
	rc = rc || !told.n ? rc : heap_events_take(c, s);
	for (size_t i = 0; i < told.n && !rc; i++) {
		const struct block_lookup_block *t = &told.v[i];
		struct numa_block b = heap_block_of(t);

		b.ustack = heap_names_stack(&s->names, t->program, t->stack);
		rc = capture_emit(c, &b.h);
	}
	vec_free(&told);
	c->probe = asker;
	return rc;
}

static int threads_copy(struct heap_state *s, const struct heap_process *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->account.threads.n && !rc; i++)
		rc = vec_push(&s->threads, heap_thread_of(p, i));
	return rc;
}

/* What was live at a peak changes with a new peak also for sites that did nothing since, and ages
 * change with time; so all of them are looked at. */
static int sites_copy(struct heap_state *s, struct heap_process *p)
{
	const struct account *a = &p->account;
	int rc = 0;

	for (size_t i = 0; i < a->sites.n && !rc; i++)
		if (a->sites.v[i].changed || a->sites.v[i].peak != a->peak ||
			(a->old_ms && a->sites.v[i].live_blocks))
			rc = vec_push(
				&s->sites, ((struct site_to_send){heap_site_of(p, i), p->program}));
	return rc;
}

static int mappings_copy(struct heap_state *s, struct heap_process *p)
{
	const struct mappings *m = &p->mappings;
	int rc = 0;

	for (size_t i = 0; i < m->sites.n && !rc; i++) {
		const struct mapping_site *site = groups_value(&m->sites, i);

		if (!site->changed && site->peak == m->peak)
			continue;
		rc = vec_push(&s->mappings,
			((struct mapping_to_send){heap_mapping_of(p, i), p->program}));
	}
	if (m->sites.n || m->unmaps)
		rc = rc ? rc : vec_push(&s->mapped, heap_mapped_of(p));
	return rc;
}

/* The next interval looks anew. */
static int residences_copy(const struct capture *c, struct heap_state *s, struct heap_process *p)
{
	struct residence *r = p->residence;
	int rc = 0;

	for (size_t i = 0; r && i < r->sums.n && !rc; i++) {
		const struct residence_key *k = groups_key(&r->sums, i);
		struct residence_to_send e = {.program = p->program};

		if (!((const struct residence_sums *)groups_value(&r->sums, i))->changed)
			continue;
		e.r = heap_residence_of(p, i);
		if (k->what == HEAP_PLACE_FILE || k->what == HEAP_PLACE_SHARED)
			snprintf(e.r.file, sizeof(e.r.file), "%.31s",
				collector_name(s->collector, k->id));
		rc = vec_push(&s->residences, e);
	}
	if (r) {
		rc = rc ? rc : vec_push(&s->looked, heap_looked_of(p));
		r->again = !c->ending;
	}
	return rc;
}

static bool did_nothing(const struct heap_process *p)
{
	return !p->account.allocations && !p->account.unknown_frees && !p->dropped &&
	       !p->mappings.sites.n && !p->mappings.unmaps &&
	       !(p->residence && p->residence->sums.n);
}

/* From here on only its totals are asked for, and who it was. */
static void process_sent(struct heap_process *p)
{
	p->sent = true;
	vec_free(&p->account.sites);
	vec_free(&p->account.ages);
	vec_free(&p->account.threads);
	vec_free(&p->names);
	block_lookup_free_all(take_ptr(p->touched));
}

/* How things stand, while they stand still: between intervals the sums of processes, and where
 * growth is judged those of stacks too. */
static int accounts_copy(const struct capture *c, struct heap_state *s, bool interval)
{
	u64 now = clock_mono_ns() / NSEC_PER_MSEC;
	size_t n;
	struct heap_process *const *all;
	int rc = 0;

	collector_lock(s->collector);
	rc = collector_flush_events(s->collector); /* the sums are of these */
	all = collector_processes(s->collector, &n);
	for (size_t i = 0; i < n && !rc; i++) {
		struct heap_process *p = all[i];
		bool whole = interval || p->ended;

		if (p->sent || did_nothing(p))
			continue;
		if (!p->ended && (c->ending || (interval && c->opt.outstanding)))
			rc = heap_process_look(p, now);
		rc = rc ? rc : vec_push(&s->totals, heap_total_of(p));
		if (whole || c->opt.outstanding) {
			rc = rc ? rc : sites_copy(s, p);
			rc = rc ? rc : mappings_copy(s, p);
		}
		if (whole) {
			rc = rc ? rc : threads_copy(s, p);
			rc = rc ? rc : residences_copy(c, s, p);
		}
		if (p->ended && !rc)
			process_sent(p);
	}
	s->together = heap_together_of(collector_together(s->collector));
	collector_unlock(s->collector);
	return rc;
}

static int accounts_emit(struct capture *c, struct heap_state *s)
{
	int rc = 0;

	vec_each (r, &s->totals) {
		rc = rc ? rc : names_task(c->names, r->tgid, 0, r->comm, r->cgroup);
		rc = rc ? rc : capture_emit(c, &r->h);
	}
	vec_each (e, &s->sites) {
		e->r.stack = heap_names_stack(&s->names, e->program, e->r.site);
		rc = rc ? rc : capture_emit(c, &e->r.h);
	}
	vec_each (e, &s->mappings) {
		e->r.stack = heap_names_stack(&s->names, e->program, e->r.site);
		rc = rc ? rc : capture_emit(c, &e->r.h);
	}
	vec_each (r, &s->mapped)
		rc = rc ? rc : capture_emit(c, &r->h);
	vec_each (e, &s->residences) {
		if (e->r.place == HEAP_PLACE_BLOCK || e->r.place == HEAP_PLACE_MAPPED)
			e->r.stack = heap_names_stack(&s->names, e->program, e->r.site);
		rc = rc ? rc : capture_emit(c, &e->r.h);
	}
	vec_each (r, &s->looked)
		rc = rc ? rc : capture_emit(c, &r->h);
	vec_each (r, &s->threads) {
		rc = rc ? rc : names_task(c->names, r->tgid, r->tid, r->comm, 0);
		rc = rc ? rc : capture_emit(c, &r->h);
	}
	return rc;
}

static const char *was(u32 n)
{
	return n == 1 ? " was" : "s were";
}

/* What a reader would miss. */
static void heap_losses_tell(struct capture *c, struct heap_state *s)
{
	bool known = untracked_tell(&s->untracked, c);
	struct collector_programs programs;
	u64 asked, guessed;

	collector_programs(s->collector, &programs);
	if (!programs.asked && !programs.unanswered && !known)
		capture_note(c, NOTE_WARNING,
			"no program was tracked: they are static, have more privileges than the "
			"user who runs them, or could not load the library");
	if (programs.refused)
		capture_note(c, NOTE_WARNING,
			"%u program%s not tracked, as memwhy's own limits (ulimit -n, -f) left no "
			"file for the events: %s",
			programs.refused, was(programs.refused), strerror(-programs.why));
	if (programs.narrow)
		capture_note(c, NOTE_WARNING,
			"%u program%s not tracked, the last '%.16s': the address space is limited "
			"to less than 128 MiB (ulimit -v)",
			programs.narrow, was(programs.narrow), programs.narrow_comm);
	if (programs.given_up)
		capture_note(c, NOTE_WARNING,
			"%u program%s went on without memwhy, which had not read for two seconds: "
			"what happened then is not known",
			programs.given_up, plural(programs.given_up));
	if (programs.unanswered)
		capture_note(c, NOTE_WARNING,
			"%u program%s not tracked, as memwhy did not answer: it was stopped, or "
			"too busy for two seconds",
			programs.unanswered, was(programs.unanswered));
	if (programs.dropped)
		capture_note(c, NOTE_WARNING,
			"%u connections were closed before they showed a token, as many were open "
			"at a time: others on this host connect to memwhy's socket, and programs "
			"of the command that were among the closed ones are not tracked",
			programs.dropped);
	near_tell(&s->near, c);
	heap_faults_tell(c, s->collector);
	collector_asked(s->collector, &asked, &guessed);
	if (guessed > asked / 20)
		capture_note(c, NOTE_INFO,
			"the heap changed before %llu of %llu accesses were looked up: accesses to "
			"blocks freed by then are not attributed to a block",
			guessed, asked);
}

#define LOOKED_AT 64 /* processes, each time */

static int limits_look(struct heap_state *s)
{
	struct heap_process *const *all;
	struct {
		u32 pid;
		char comm[COMM_LEN];
	} some[LOOKED_AT];
	size_t n, left = 0;
	int rc = 0;

	collector_lock(s->collector);
	all = collector_processes(s->collector, &n);
	for (; n && left < LOOKED_AT; n--) { /* the newest */
		const struct heap_process *p = all[n - 1];

		if (p->ended || p->gone || p->foreign)
			continue;
		some[left].pid = p->pid;
		memcpy(some[left++].comm, p->comm, COMM_LEN);
	}
	collector_unlock(s->collector);
	while (left-- && !rc)
		rc = near_look(&s->near, some[left].pid, some[left].comm);
	return rc;
}

/* Stacks that are counted by now have been told of, so they are named between the two. */
static int send(struct capture *c, void *state, bool interval)
{
	struct heap_state *s = state;
	int rc;

	s->totals.n = s->sites.n = s->threads.n = 0;
	s->mappings.n = s->mapped.n = s->residences.n = s->looked.n = 0;
	rc = untracked_look(&s->untracked, c->ending);
	rc = rc || c->ending ? rc : limits_look(s);
	if (!rc && c->ending && s->asked) {
		rc = collector_finish(s->collector);
		/* What became of blocks that were told of, behind the last access. */
		rc = rc ? rc : blocks_settle(c, s, UINT64_MAX);
	}
	rc = rc || !s->sums ? rc : accounts_copy(c, s, interval);
	rc = rc ? rc : heap_events_take(c, s);
	rc = rc ? rc : accounts_emit(c, s);
	if ((interval || c->ending) && s->sums)
		rc = rc ? rc : capture_emit(c, &s->together.h);
	if (!rc && c->ending)
		heap_losses_tell(c, s);
	return rc;
}

/* Of questions the last are asked and answered when all have stopped: see send(). */
static void stop(void *state)
{
	struct heap_state *s = state;

	if (s->asked)
		collector_halt(s->collector);
	else
		collector_stop(s->collector);
}

static void counts(void *state, u64 *ret_seen, u64 *ret_lost)
{
	struct heap_state *s = state;
	struct heap_process *const *all;
	u64 lost = 0;
	size_t n;

	collector_lock(s->collector);
	all = collector_processes(s->collector, &n);
	for (size_t i = 0; i < n; i++)
		lost += all[i]->dropped;
	*ret_seen = collector_events(s->collector) + lost;
	*ret_lost = lost;
	collector_unlock(s->collector);
}

static void close_source(void *state)
{
	struct heap_state *s = state;

	collector_close(s->collector);
	filters_close(s->filters);
	heap_names_free(&s->names);
	vec_free(&s->totals);
	vec_free(&s->sites);
	vec_free(&s->threads);
	vec_free(&s->mappings);
	vec_free(&s->mapped);
	vec_free(&s->residences);
	vec_free(&s->looked);
	untracked_free(&s->untracked);
	near_free(&s->near);
	free(s->cgroups);
}

static int heap_survey(struct capture *c)
{
	return capture_method(c, "allocations of a command",
		preload_file_beside() ? "preload library"
				      : "preload library, from a file for the run",
		NULL);
}

static const struct probe_source source = {
	.size = sizeof(struct heap_state),
	.open = open_source,
	.start = start,
	.fd = fd,
	.take = heap_events_take,
	.send = send,
	.stop = stop,
	.counts = counts,
	.close = close_source,
	.survey = heap_survey,
};

const struct probe probe_heap = {
	.name = "heap",
	.summary = "Who allocates heap memory, who holds it, and when it peaked",
	.details = heap_details,
	.examples = heap_examples,
	.output = heap_output,
	.kinds = heap_kinds,
	.n_kinds = HEAP_KINDS,
	.source = &source,
	.bpf = &heap_bpf,
	.view = &heap_view,
	.options = &heap_options,
	.only_named = true,
};
