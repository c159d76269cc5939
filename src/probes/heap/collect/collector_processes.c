/* See collector.h: the processes that are tracked, from their first event to their end. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/heap/collect/collector_inner.h"
#include "probes/heap/events/event_writer.h"

/* Told when it ends. One that is gone by now is read to its end at once. */
static void process_watch(struct collector *c, struct heap_process *p)
{
	p->pidfd = p->foreign ? -1 : (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0 || collector_watch(c, p->pidfd, p->id))
		p->gone = !p->foreign && p->pidfd < 0;
	c->n_gone += p->gone;
	p->gone_ns = p->gone ? clock_mono_ns() : 0;
}

struct heap_process *collector_process_found(struct tracked_program *program, u32 index, void *arg)
{
	const struct track_process *t = &program->head->processes[index];
	u32 above = __atomic_load_n(&t->parent, __ATOMIC_RELAXED);
	struct heap_process *p = calloc(1, sizeof(*p)), *parent = NULL;
	struct collector *c = arg;

	if (!p || vec_reserve(&c->alive, 1) || vec_push(&c->processes, p)) {
		free(p);
		return NULL;
	}
	c->alive.v[c->alive.n++] = p;
	if (above && above <= TRACK_PROCESSES)
		parent = program->last[above - 1];
	p->id = (u32)c->processes.n;
	p->pidfd = -1;
	p->index = index;
	p->program = program->id;
	p->program_ns = program->open_ns;
	p->start_ns = clock_mono_ns();
	p->account.sample_bytes = c->sample_bytes;
	p->account.beat = &program->head->heartbeat;
	p->pid = t->pid;
	p->foreign = t->nested;
	program->last[index] = p;
	if (parent) {
		p->original = parent;
		p->before = p->parent = parent->id;
		p->cgroup = parent->cgroup;
		memcpy(p->comm, parent->comm, sizeof(p->comm));
	} else if (!above) {
		p->foreign |= p->pid != (u32)program->pid;
		p->pid = (u32)program->pid;
		p->before = program->before;
		p->cgroup = program->cgroup;
		memcpy(p->comm, program->comm, sizeof(p->comm));
	}
	if (c->events && event_writer_open(p->id, program->id, &p->events))
		return NULL;
	if (c->answers.on) {
		p->touched = block_lookup_new(&c->answers.told, c->least_bytes);
		if (!p->touched || collector_faults_process(c, program, p))
			return NULL;
	}
	process_watch(c, p);
	return p;
}

static struct tracked_program *tracked_of(struct collector *c, const struct heap_process *p)
{
	vec_each (i, &c->tracked)
		if ((*i)->id == p->program)
			return *i;
	return NULL;
}

static bool pid_known(const struct collector *c, u32 program, u32 pid)
{
	vec_each (p, &c->alive)
		if ((*p)->program == program && (*p)->pid == pid && !(*p)->ended)
			return true;
	return false;
}

/*
 * A fork may do its first allocation in the child of a vfork(), which is over soon, while it goes
 * on: when a fork seems to have ended whose parent lives, has the file and never told of itself,
 * that parent may be what it is. (Of an orphan the parent is an alien.)
 */
static bool process_goes_on(struct collector *c, struct heap_process *p)
{
	struct tracked_program *program = tracked_of(c, p);
	u32 ppid =
		program && p->parent && !p->foreign ? program->head->processes[p->index].ppid : 0;

	if (!ppid || ppid == p->pid || pid_known(c, p->program, ppid) ||
		tracked_is_unused(program) || !tracked_is_of(program, ppid))
		return false;
	close(p->pidfd);
	p->pid = ppid;
	c->answers.newest = 0; /* of this pid something may wait */
	p->pidfd = (int)syscall(SYS_pidfd_open, ppid, 0);
	return p->pidfd >= 0 && !collector_watch(c, p->pidfd, p->id);
}

int collector_process_over(struct collector *c, struct heap_process *p)
{
	struct tracked_program *program = tracked_of(c, p);
	int rc = 0;

	if (p->ended)
		return 0;
	p->end_ns = p->gone_ns ? p->gone_ns : clock_mono_ns();
	if (program && program->processes[p->index] == p)
		rc = tracked_end(program, p, collector_now_ms(), &c->news);
	combined_peak_look(&c->together, c->tracked.v, c->tracked.n, p);
	p->ended = true;
	c->n_gone -= p->gone;
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	return rc;
}

/* Its end was noticed; accesses before it may still be asked about. */
static int process_gone(struct collector *c, struct heap_process *p)
{
	if (!c->answers.on || p->ended)
		return collector_process_over(c, p);
	if (p->gone)
		return 0;
	if (p->pidfd >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, p->pidfd, NULL);
	p->gone_ns = clock_mono_ns();
	p->gone = true;
	c->n_gone++;
	return 0;
}

/* exec: what this pid was before is no more. */
int collector_pid_over(struct collector *c, pid_t pid)
{
	int rc = 0;

	for (size_t i = 0; i < c->alive.n && !rc; i++) /* an end may bring others to light */
		if (!c->alive.v[i]->foreign && c->alive.v[i]->pid == (u32)pid)
			rc = process_gone(c, c->alive.v[i]);
	return rc;
}

int collector_process_ended(struct collector *c, struct heap_process *p)
{
	return p->ended || process_goes_on(c, p) ? 0 : process_gone(c, p);
}

void collector_alive_look(struct collector *c)
{
	size_t kept = 0;

	vec_each (p, &c->alive)
		if (!(*p)->ended)
			c->alive.v[kept++] = *p;
	c->alive.n = kept;
}
