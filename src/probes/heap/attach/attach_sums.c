/* See attach.h: what the programs counted, as the records of heap.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/heap/attach/heap_attach.h"
#include "probes/heap/heap_opts.h"
#include "sys/process/proc.h"

static void attach_sums_site_add(void *to, const void *from)
{
	*(struct heap_site_now *)to = *(const struct heap_site_now *)from;
}

static void site_subtract(void *of, const void *was)
{
	struct heap_site_now *sum = of;
	const struct heap_site_now *last = was;

	sum->events -= last->events;
	sum->allocations -= last->allocations;
	sum->bytes -= last->bytes;
	sum->frees -= last->frees;
	sum->freed_bytes -= last->freed_bytes;
	sum->gone -= last->gone;
	sum->gone_bytes -= last->gone_bytes;
	sum->temporary -= last->temporary;
	sum->moved -= last->moved;
	sum->variance -= last->variance;
	sum->freed_variance -= last->freed_variance;
	sum->life_ms -= last->life_ms;
	for (u32 i = 0; i < HEAP_TIMES; i++)
		sum->lives[i] -= last->lives[i];
}

const struct table_values heap_site_values = {
	.size = sizeof(struct heap_site_now),
	.add = attach_sums_site_add,
	.subtract = site_subtract,
};

static struct heap_site_sum *site_of(
	struct capture *c, const struct stack_maps *stacks, const struct heap_site_key *k, u32 tgid)
{
	struct heap_attach *h = c->state;
	size_t had = h->sites.n;
	struct heap_site_sum *s = groups_get(&h->sites, k);

	if (!s || h->sites.n == had)
		return s;
	s->r = REC_INIT(struct heap_site, REC_HEAP_SITE, 0);
	s->r.tgid = tgid;
	s->r.process = k->process + 1;
	s->r.site = (u32)h->sites.n;
	s->r.stack = names_callers(c->names, stacks, tgid, k->stack);
	return s;
}

u32 heap_site_stack(
	struct capture *c, const struct stack_maps *stacks, const struct heap_site_key *k, u32 tgid)
{
	const struct heap_site_sum *s = site_of(c, stacks, k, tgid);

	return s ? s->r.stack : 0;
}

int heap_site_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct heap_site_key *k = key;
	const struct heap_site_now *v = value;
	struct heap_attach *h = c->state;
	struct heap_attached *p = k->process < h->processes.n ? &h->processes.v[k->process] : NULL;
	struct heap_site_sum *s;

	if (!p)
		return 0;
	if (k->stack == HEAP_STACK_EARLIER) {
		p->unknown_frees += v->frees;
		return 0;
	}
	s = v->events || v->gone ? site_of(c, stacks, k, p->pid) : NULL;
	if (!s)
		return v->events ? -ENOMEM : 0;
	s->changed = true;
	s->r.allocations += v->allocations;
	s->r.bytes += v->bytes;
	s->r.frees += v->frees;
	s->r.temporary += v->temporary;
	s->r.moved += v->moved;
	s->r.life_ms += v->life_ms;
	for (u32 i = 0; i < HEAP_TIMES; i++)
		s->r.lives[i] += v->lives[i];
	s->freed_bytes += v->freed_bytes;
	s->gone += v->gone;
	s->gone_bytes += v->gone_bytes;
	s->variance += v->variance;
	s->freed_variance += v->freed_variance;
	s->peak_variance = v->peak_variance;
	s->peak = v->peak;
	s->r.peak_blocks = v->peak_blocks;
	s->r.peak_bytes = v->peak_bytes;
	s->r.max_life_ms = v->max_life_ms;
	s->r.min_bytes = v->min_bytes;
	s->r.max_bytes = v->max_bytes;
	s->r.live_blocks = s->r.allocations - s->r.frees - s->gone;
	s->r.live_bytes = s->r.bytes - s->freed_bytes - s->gone_bytes;
	return 0;
}

/* The standard error of a sum of variances, in bytes. */
static u64 error_of(const struct heap_attach *h, double variance)
{
	return (u64)(sqrt(variance) * (double)(1ULL << h->error_shift) + 0.5);
}

static void errors_fill(
	const struct heap_attach *h, struct heap_attached *p, struct heap_site_sum *s)
{
	double live = (double)(s->variance - s->freed_variance);

	s->r.error_bytes = error_of(h, (double)s->variance);
	s->r.live_error_bytes = error_of(h, live);
	s->r.peak_error_bytes = error_of(h, (double)s->peak_variance);
	p->variance += (double)s->variance;
	p->live_variance += live;
	p->peak_variance += (double)s->peak_variance;
}

/* What a process has in its sites. A site that did not change since the peak has all of it still.
 */
static int sites_send(struct capture *c, struct heap_attached *p, u64 peak)
{
	struct heap_attach *h = c->state;
	int rc = 0;

	p->allocations = p->bytes = p->frees = p->overwritten = p->temporary = p->moved = 0;
	p->live_blocks = p->live_bytes = 0;
	p->variance = p->live_variance = p->peak_variance = 0;
	for (size_t i = 0; i < h->sites.n && !rc; i++) {
		const struct heap_site_key *k = groups_key(&h->sites, i);
		struct heap_site_sum *s = groups_value(&h->sites, i);

		if (k->process != p->number)
			continue;
		if (s->peak != peak) {
			s->peak = peak;
			s->r.peak_blocks = s->r.live_blocks;
			s->r.peak_bytes = s->r.live_bytes;
			s->peak_variance = s->variance - s->freed_variance;
			s->changed = true;
		}
		errors_fill(h, p, s);
		p->allocations += s->r.allocations;
		p->bytes += s->r.bytes;
		p->frees += s->r.frees;
		p->overwritten += s->gone;
		p->temporary += s->r.temporary;
		p->moved += s->r.moved;
		p->live_blocks += s->r.live_blocks;
		p->live_bytes += s->r.live_bytes;
		if (s->changed || (p->old_ms && s->r.live_blocks))
			rc = capture_emit(c, &s->r.h);
		s->changed = false;
	}
	return rc;
}

static void total_fill(struct heap_total *r, const struct heap_process_now *now)
{
	r->h.flags |= now->ended_ns ? HEAP_ENDED : 0;
	r->end_ns = now->ended_ns;
	r->peak_blocks = now->peak_blocks;
	r->peak_bytes = now->peak_bytes;
	r->peak_ns = now->peak_ns;
	for (u32 i = 0; i < HEAP_SIZES; i++)
		r->sizes[i] = (u32)MIN(now->sizes[i], 0xffffffffULL);
}

/* Exits are of threads: those of a process that is still there do not end it. */
static void end_check(struct heap_attached *p, struct heap_process_now *now)
{
	if (now->replaced)
		return;
	if (!proc_has_ended((int)p->pid))
		now->ended_ns = 0;
	else if (!now->ended_ns)
		now->ended_ns = clock_mono_ns();
}

static void attach_sums_tell(
	struct capture *c, const struct heap_attached *p, const struct heap_process_now *now)
{
	if (now->replaced)
		capture_note(c, NOTE_INFO,
			"process %u ran another program (exec): that one is not followed", p->pid);
	if (now->forks)
		capture_note(c, NOTE_INFO, "process %u had %llu children, which are not followed",
			p->pid, now->forks);
	if (now->failed)
		capture_note(
			c, NOTE_INFO, "process %u: %llu allocations failed", p->pid, now->failed);
	if (now->unlisted || now->mixed)
		capture_note(c, NOTE_WARNING,
			"process %u: for %llu threads that ended and %llu frees of other threads' "
			"blocks there was no room in the tables: live bytes by thread are not "
			"exact, and thread 0 stands for several",
			p->pid, now->mixed, now->unlisted);
	if (now->untold)
		capture_note(c, NOTE_WARNING,
			"process %u: the return of %llu calls was not seen, so their result is "
			"unknown",
			p->pid, now->untold);
}

static int attach_sums_process_send(
	struct capture *c, struct attached *a, struct heap_attached *p, u64 lost)
{
	struct heap_total r = REC_INIT(struct heap_total, REC_HEAP_TOTAL, 0);
	const struct heap_attach *h = c->state;
	struct heap_process_now now;
	int rc;

	if (bpf_map_lookup_elem(attach_map(a, "heap_processes"), &p->number, &now))
		return -errno;
	end_check(p, &now);
	rc = names_task(c->names, p->pid, 0, p->comm, p->cgroup);
	rc = rc ? rc : sites_send(c, p, now.peak);
	r.h.flags = HEAP_ATTACHED | (p->awaits ? HEAP_WHOLE : 0) |
		    (OPTS_OF(struct heap_opts, c->opts)->sample_bytes ? HEAP_SAMPLED : 0) |
		    (lost ? HEAP_INCOMPLETE : 0);
	r.tgid = p->pid;
	r.process = p->number + 1;
	r.threads = p->threads;
	r.start_ns = now.begun_ns ? now.begun_ns : p->start_ns;
	r.allocations = p->allocations;
	r.bytes = p->bytes;
	r.frees = p->frees;
	r.temporary = p->temporary;
	r.moved = p->moved;
	r.unknown_frees = p->unknown_frees;
	r.overwritten = p->overwritten;
	r.live_blocks = p->live_blocks;
	r.live_bytes = p->live_bytes;
	r.old_ms = p->old_ms;
	r.error_bytes = error_of(h, p->variance);
	r.live_error_bytes = error_of(h, p->live_variance);
	r.peak_error_bytes = error_of(h, p->peak_variance);
	r.lost = h->processes.n == 1 ? lost : 0; /* else whose they are is not known */
	r.cgroup = p->cgroup;
	memcpy(r.comm, p->comm, sizeof(r.comm));
	total_fill(&r, &now);
	if (!rc && c->ending)
		attach_sums_tell(c, p, &now);
	return rc ? rc : capture_emit(c, &r.h);
}

static int processes_send(struct capture *c, struct attached *a)
{
	struct heap_attach *h = c->state;
	struct probe_counts n = {};
	int rc = attach_counts(a, &n);

	vec_each (p, &h->processes)
		rc = rc ? rc : attach_sums_process_send(c, a, p, n.lost_map + n.lost_busy);
	return rc;
}

int heap_settle(struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events)
{
	int rc = heap_threads_take(c, a);

	(void)stacks;
	(void)events; /* the programs count all of them */
	return !rc && c->opt.outstanding && !c->ending ? processes_send(c, a) : rc;
}

int heap_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks)
{
	int rc = c->ending || c->opt.outstanding ? heap_ages_look(c, a) : 0;

	(void)stacks;
	rc = rc ? rc : heap_threads_send(c, a);
	if (c->ending)
		attached_blocks_tell(&((struct heap_attach *)c->state)->blocks, c);
	return rc ? rc : processes_send(c, a);
}

void heap_attach_init(struct heap_attach *h)
{
	groups_init(&h->sites, sizeof(struct heap_site_key), sizeof(struct heap_site_sum));
	groups_init(&h->threads, sizeof(u64), sizeof(struct heap_thread_sum));
}

void heap_attach_free(struct heap_attach *h)
{
	vec_each (p, &h->processes)
		allocator_free(&p->allocator);
	vec_free(&h->processes);
	groups_free(&h->sites);
	groups_free(&h->threads);
	attached_blocks_free(&h->blocks);
}
