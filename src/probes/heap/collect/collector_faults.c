/* See collector.h: page faults and resident memory, in the collector's thread. */
#include <errno.h>

#include "base/clock.h"
#include "probes/heap/collect/collector_inner.h"
#include "probes/heap/residence/fault_events.h"

#define CHECK_MS 10  /* how often a process's peak is read … */
#define CHECK_EACH 2 /* … or so many ms for each there is */

void collector_count(struct collector *c, struct fault_events *f)
{
	c->faults = f;
	access_lookup_begin(&c->answers);
	c->answers.counts = true;
}

static int fault_ask(void *arg, const struct fault_seen *f)
{
	struct collector *c = arg;

	const struct question q = {
		.tgid = f->tgid,
		.tid = f->tid,
		.touch = {.address = f->address,
			.time_ns = f->time_ns,
			.sp = f->sp,
			.fault = f->what},
	};

	return access_lookup_ask(&c->answers, &q);
}

/* A fault is in its ring within the time of an interrupt: what comes later than it was settled is
 * answered all the same, from what is known by then. */
int collector_faults_turn(struct collector *c)
{
	u64 until = clock_mono_ns();
	int rc;

	if (!c->faults || c->ended)
		return 0;
	rc = fault_events_read(c->faults, fault_ask, c);
	return rc ? rc : collector_answers_settle(c, until);
}

int collector_faults_end(struct collector *c)
{
	int rc = collector_faults_turn(c);

	access_lookup_end(&c->answers);
	vec_each (i, &c->tracked)
		(*i)->settled = false;
	c->ended = true;
	return rc;
}

/* A process that waits at its end has told all it did before, and that is read in this turn or in
 * the next: it is looked at in that one. */
static int collector_faults_process_look(
	struct tracked_program *program, struct heap_process *p, u64 now_ms, u64 every_ms)
{
	struct residence *r = p->residence;
	u32 *leaving = &program->head->processes[p->index].leaving;
	bool waits = __atomic_load_n(leaving, __ATOMIC_ACQUIRE) == TRACK_LEAVING;
	int rc = 0;

	if (waits && r->leaving)
		residence_hurry(r);
	if (!p->foreign && !p->exec_ns && residence_due(r, p->pid, now_ms, every_ms))
		rc = residence_look(r, p->pid, &p->account, &p->mappings);
	if (waits && r->leaving)
		__atomic_store_n(leaving, TRACK_LOOKED, __ATOMIC_RELEASE);
	r->leaving = waits;
	return rc;
}

int collector_faults_look(struct collector *c, u64 now_ms)
{
	u64 every_ms = MAX(CHECK_EACH * c->alive.n, (u64)CHECK_MS);
	int rc = 0;

	if (!c->faults)
		return 0;
	vec_each (i, &c->tracked)
		for (u32 k = 0, left = (*i)->n_alive; k < TRACK_PROCESSES && left && !rc; k++) {
			struct heap_process *p = (*i)->processes[k];

			left -= p != NULL;
			if (p && p->residence)
				rc = collector_faults_process_look(*i, p, now_ms, every_ms);
		}
	return rc;
}

/* It has its program and most libraries mapped, and may be over before it is looked at again. */
int collector_faults_image(struct collector *c, struct tracked_program *program)
{
	if (!c->faults)
		return 0;
	program->head->looks = 1;
	program->settled = true;
	program->residence = residence_new(&c->names);
	return program->residence ? residence_read(program->residence, (u32)program->pid) : -ENOMEM;
}

int collector_faults_process(
	struct collector *c, struct tracked_program *program, struct heap_process *p)
{
	if (!c->faults)
		return 0;
	p->residence = p->parent ? residence_new(&c->names) : take_ptr(program->residence);
	if (!p->residence)
		p->residence = residence_new(&c->names);
	if (!p->residence)
		return -ENOMEM;
	return p->residence->maps.list.n || p->foreign ? 0 : residence_read(p->residence, p->pid);
}

bool collector_faults(const struct collector *c, struct collector_faults *ret)
{
	if (c->faults)
		*ret = (struct collector_faults){c->answers.asked, c->answers.guessed,
			c->answers.strangers, fault_events_lost(c->faults),
			fault_events_user_only(c->faults)};
	return c->faults;
}

const char *collector_name(const struct collector *c, u32 number)
{
	return number && number <= c->names.list.n ? c->names.list.v[number - 1] : "";
}

void collector_faults_free(struct collector *c)
{
	fault_events_close(c->faults);
	residence_names_free(&c->names);
}
