/* See follow.h. */
#include "capture/names/follow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <uthash.h>

#include "base/vec.h"
#include "capture/perf_ring.h"

#define RING_PAGES 64 /* of data, for each CPU */

struct process {
	UT_hash_handle hh;
	u32 tgid;
	bool complete; /* its map holds all there is: nothing is to be read from /proc */
	bool read;     /* /proc was read, or is gone */
	u8 ended;      /* calls of follow_named since its exit, plus one */
	u32 version;   /* see follow_version */
	char comm[16]; /* that it took last; "" unless seen */
	struct process_map map;
};

/* An event out of a ring, to be sorted by time. */
struct pending {
	u64 time;
	struct perf_event_header *event;
};

struct follow {
	struct module_table *modules;
	struct process *processes;
	VEC(struct perf_ring) rings;
	VEC(struct pending) pending;
	u64 lost, lost_before; /* as of the last follow_named */
};

/* Ends every record, as sample_id_all asks for. */
struct sample_id {
	u32 pid, tid;
	u64 time;
};

static int ring_map(int cpu, bool maps, struct perf_ring *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = maps,
		.mmap2 = maps,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1U << 30,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : perf_ring_map(fd, RING_PAGES, ret);
}

int follow_open(struct module_table *modules, bool maps, struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!f)
		return -ENOMEM;
	f->modules = modules;
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct perf_ring r;

		if (ring_map(cpu, maps, &r))
			continue; /* offline, or refused: /proc is left */
		if (vec_push(&f->rings, r))
			break;
	}
	*ret = f;
	return 0;
}

static struct process *follow_process_get(struct follow *f, u32 tgid)
{
	struct process *p;

	HASH_FIND(hh, f->processes, &tgid, sizeof(tgid), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	p->version = 1;
	process_map_init(&p->map, f->modules, (pid_t)tgid);
	HASH_ADD(hh, f->processes, tgid, sizeof(tgid), p);
	return p;
}

static void process_free(struct follow *f, struct process *p)
{
	HASH_DEL(f->processes, p);
	process_map_free(&p->map);
	free(p);
}

static void take_mmap(struct follow *f, const struct perf_mmap2 *e)
{
	struct process *p = follow_process_get(f, e->pid);
	const char *path = e->path[0] == '/' || e->path[0] == '[' ? e->path : "";

	if (!p)
		return;
	p->version++;
	process_map_add(&p->map, e->start, e->start + e->len, e->pgoff, makedev(e->maj, e->min),
		e->ino, strcmp(path, "//anon") ? path : "");
}

static void take_comm(struct follow *f, const struct perf_comm *e)
{
	struct process *p;

	p = e->pid == e->tid ? follow_process_get(f, e->pid) : NULL;
	if (!p)
		return;
	if (e->h.misc & PERF_RECORD_MISC_COMM_EXEC) {
		process_map_reset(&p->map);
		p->version++;
		p->complete = true;
	}
	snprintf(p->comm, sizeof(p->comm), "%.15s", e->comm);
}

static void take_fork(struct follow *f, const struct perf_task *e)
{
	struct process *parent, *child;

	if (e->pid == e->ppid)
		return; /* a thread */
	HASH_FIND(hh, f->processes, &e->pid, sizeof(e->pid), child);
	if (child)
		process_free(f, child); /* the id of an earlier process */
	HASH_FIND(hh, f->processes, &e->ppid, sizeof(e->ppid), parent);
	if (!parent || !(parent->complete || parent->read))
		return; /* read from /proc when it is asked for */
	child = follow_process_get(f, e->pid);
	if (!child)
		return;
	process_map_fork(&child->map, &parent->map);
	child->complete = true;
}

static void take_exit(struct follow *f, const struct perf_task *e)
{
	struct process *p;

	if (e->pid != e->tid)
		return;
	HASH_FIND(hh, f->processes, &e->pid, sizeof(e->pid), p);
	if (p)
		p->ended = 1;
}

static void take_event(struct follow *f, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_MMAP2)
		take_mmap(f, (const void *)h);
	else if (h->type == PERF_RECORD_COMM)
		take_comm(f, (const void *)h);
	else if (h->type == PERF_RECORD_FORK)
		take_fork(f, (const void *)h);
	else if (h->type == PERF_RECORD_EXIT)
		take_exit(f, (const void *)h);
	else if (h->type == PERF_RECORD_LOST)
		f->lost += ((const u64 *)h)[2];
}

/* Keeps a copy, to be sorted. */
static int follow_record_take(void *arg, const struct perf_event_header *head)
{
	struct follow *f = arg;
	char *copy = malloc(head->size);
	struct pending p = {.event = (void *)copy};
	int rc;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, head, head->size);
	if (head->size > sizeof(struct sample_id))
		memcpy(&p.time, copy + head->size - sizeof(p.time), sizeof(p.time));
	rc = vec_push(&f->pending, p);
	if (rc)
		free(copy);
	return rc;
}

static int follow_by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void follow_named(struct follow *f)
{
	struct process *p, *tmp;
	bool missed = !f->rings.n || f->lost != f->lost_before; /* exits may be among them */

	f->lost_before = f->lost;
	HASH_ITER (hh, f->processes, p, tmp) {
		if (missed && !p->ended && kill((pid_t)p->tgid, 0) && errno == ESRCH)
			p->ended = 1;
		if (p->ended && ++p->ended > 2)
			process_free(f, p);
	}
}

size_t follow_count(const struct follow *f)
{
	return HASH_COUNT(f->processes);
}

int follow_take(struct follow *f)
{
	int rc = 0;

	vec_each (r, &f->rings)
		rc = rc ? rc : perf_ring_read(r, follow_record_take, f);
	if (f->pending.n)
		qsort(f->pending.v, f->pending.n, sizeof(*f->pending.v), follow_by_time);
	vec_each (e, &f->pending) {
		take_event(f, e->event);
		free(e->event);
	}
	f->pending.n = 0;
	return rc;
}

struct process_map *follow_map(struct follow *f, u32 tgid)
{
	struct process *p = follow_process_get(f, tgid);
	struct process_map now;
	int rc;

	if (!p)
		return NULL;
	if (p->complete && f->rings.n)
		return &p->map;
	if (p->read && f->rings.n)
		return &p->map; /* kept current by the events */
	p->read = true;
	process_map_init(&now, f->modules, (pid_t)tgid);
	rc = process_map_read(&now);
	if (!rc && process_map_count(&now)) {
		process_map_free(&p->map);
		p->map = now;
	} else {
		process_map_free(&now);
	}
	if (!p->ended && (rc == -ENOENT || rc == -ESRCH)) /* its exit was before it was asked for */
		p->ended = 1;
	return &p->map;
}

u32 follow_version(const struct follow *f, u32 tgid)
{
	struct process *p;

	HASH_FIND(hh, f->processes, &tgid, sizeof(tgid), p);
	return p && !p->ended ? p->version : 0;
}

const char *follow_comm(const struct follow *f, u32 tgid)
{
	struct process *p;

	HASH_FIND(hh, f->processes, &tgid, sizeof(tgid), p);
	return p && p->comm[0] ? p->comm : NULL;
}

u64 follow_lost(const struct follow *f)
{
	return f->lost;
}

void follow_close(struct follow *f)
{
	struct process *p, *tmp;

	if (!f)
		return;
	HASH_ITER (hh, f->processes, p, tmp)
		process_free(f, p);
	vec_each (r, &f->rings)
		perf_ring_close(r);
	vec_free(&f->rings);
	vec_free(&f->pending);
	free(f);
}
