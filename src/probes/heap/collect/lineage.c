/* See lineage.h. */
#include "probes/heap/collect/lineage.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <uthash.h>

#include "base/clock.h"
#include "capture/perf_ring.h"

#define LIBRARY "memwhy-track" /* what both names of the library's file have */
#define RING_PAGES 128         /* of data, for each CPU … */
#define RING_PAGES_LEAST 4     /* … or what is allowed (perf_event_mlock_kb) */
#define LATE_NS 1000000        /* a record is in its ring by then */
#define OVER_MOST 4096
#define LOW_END (1ULL << 32) /* of the address space of programs of 32 bits */

struct process {
	UT_hash_handle hh;
	u32 pid;
	u64 net; /* inode of its network namespace; 0: ours */
	struct lineage_program program;
};

/* A record out of a ring, to be sorted by time. */
struct pending {
	u64 time;
	struct perf_event_header *event;
};

struct lineage {
	VEC(struct perf_ring) rings;
	VEC(struct pending) pending;
	VEC(struct lineage_program) over;
	size_t asked; /* for these of them */
	struct process *processes;
	u64 net; /* ours */
	u64 lost;
};

/* Ends every record, as sample_id_all asks for. */
struct sample_id {
	u32 pid, tid;
	u64 time;
};

/* namespaces: it takes privilege to be told of them. */
static int lineage_event_open(pid_t pid, int cpu, bool namespaces)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.namespaces = namespaces,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd;

	attr.watermark = 1;
	attr.wakeup_watermark = RING_PAGES_LEAST * 4096 / 2;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int lineage_ring_open(pid_t pid, int cpu, struct perf_ring *ret)
{
	int rc = -EPERM;

	for (u32 pages = RING_PAGES; rc == -EPERM && pages >= RING_PAGES_LEAST; pages /= 2) {
		int fd = lineage_event_open(pid, cpu, true);

		if (fd == -EACCES || fd == -EPERM)
			fd = lineage_event_open(pid, cpu, false);
		if (fd < 0)
			return fd;
		rc = perf_ring_map(fd, pages, ret);
	}
	return rc;
}

static struct process *lineage_process_get(struct lineage *l, u32 pid)
{
	struct process *p;

	HASH_FIND(hh, l->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = p->program.pid = pid;
	HASH_ADD(hh, l->processes, pid, sizeof(pid), p);
	return p;
}

int lineage_open(pid_t root, struct lineage **ret)
{
	struct lineage *l = calloc(1, sizeof(*l));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct stat net;
	int rc = l ? 0 : -ENOMEM;

	for (int cpu = 0; cpu < cpus && !rc; cpu++) {
		struct perf_ring r;

		rc = lineage_ring_open(root, cpu, &r);
		if (!rc && vec_push(&l->rings, r)) {
			perf_ring_close(&r);
			rc = -ENOMEM;
		}
		rc = rc == -ENODEV ? 0 : rc; /* offline */
	}
	if (!rc && (!l->rings.n || !lineage_process_get(l, (u32)root)))
		rc = -ENODEV;
	if (rc) {
		lineage_close(l);
		return rc;
	}
	l->net = stat("/proc/self/ns/net", &net) ? 0 : net.st_ino;
	*ret = l;
	return 0;
}

int lineage_fd(const struct lineage *l, size_t i)
{
	return i < l->rings.n ? l->rings.v[i].fd : -1;
}

/* What it was is no more. */
static int program_end(struct lineage *l, const struct lineage_program *p)
{
	if (!p->exec_ns || (p->loaded && !p->apart))
		return 0;
	if (l->over.n >= OVER_MOST) {
		l->lost++;
		return 0;
	}
	return vec_push(&l->over, *p) ? -ENOMEM : 0;
}

/* The kernel maps a program before its loader, and that before it runs. */
static void mmap_take(struct process *p, const struct perf_mmap2 *e)
{
	struct lineage_program *program = &p->program;

	if (e->path[0] != '/' || !strncmp(e->path, "//anon", 6))
		return;
	if (!program->file[0]) {
		snprintf(program->file, sizeof(program->file), "%.255s", e->path);
		program->inode = e->ino;
	} else if (e->ino != program->inode) {
		program->dynamic = true;
	}
	/* That of programs of 32 bits has nothing in it. */
	if (strstr(e->path, LIBRARY) && e->start >= LOW_END)
		program->loaded = true;
}

static int lineage_comm_take(
	struct lineage *l, struct process *p, const struct perf_comm *e, u64 time)
{
	int rc = 0;

	if (e->h.misc & PERF_RECORD_MISC_COMM_EXEC) {
		rc = program_end(l, &p->program);
		p->program = (struct lineage_program){
			.pid = p->pid,
			.exec_ns = time,
			.apart = p->net && p->net != l->net,
		};
	}
	if (e->pid == e->tid)
		snprintf(p->program.comm, sizeof(p->program.comm), "%.15s", e->comm);
	return rc;
}

static int fork_take(struct lineage *l, const struct perf_task *e)
{
	struct process *parent, *child;

	if (e->pid == e->ppid)
		return 0; /* a thread */
	child = lineage_process_get(l, e->pid);
	HASH_FIND(hh, l->processes, &e->ppid, sizeof(e->ppid), parent);
	if (!child)
		return -ENOMEM;
	child->program = (struct lineage_program){.pid = e->pid};
	child->net = parent ? parent->net : 0;
	if (parent)
		memcpy(child->program.comm, parent->program.comm, COMM_LEN);
	return 0;
}

static int exit_take(struct lineage *l, const struct perf_task *e)
{
	struct process *p;
	int rc = 0;

	HASH_FIND(hh, l->processes, &e->pid, sizeof(e->pid), p);
	if (!p || e->pid != e->tid)
		return 0;
	rc = program_end(l, &p->program);
	HASH_DEL(l->processes, p);
	free(p);
	return rc;
}

struct namespaces_event {
	struct perf_event_header h;
	u32 pid, tid;
	u64 n;
	struct {
		u64 dev, inode;
	} of[];
};

static int event_take(struct lineage *l, const struct perf_event_header *h, u64 time)
{
	const struct perf_comm *e = (const void *)h; /* as all but a few begin */
	const struct namespaces_event *names = (const void *)h;
	struct process *p;

	if (h->type == PERF_RECORD_LOST)
		l->lost += ((const u64 *)h)[2];
	if (h->type == PERF_RECORD_FORK)
		return fork_take(l, (const void *)h);
	if (h->type == PERF_RECORD_EXIT)
		return exit_take(l, (const void *)h);
	if (h->type != PERF_RECORD_COMM && h->type != PERF_RECORD_MMAP2 &&
		h->type != PERF_RECORD_NAMESPACES)
		return 0;
	p = lineage_process_get(l, e->pid);
	if (!p)
		return -ENOMEM;
	if (h->type == PERF_RECORD_COMM)
		return lineage_comm_take(l, p, e, time);
	if (h->type == PERF_RECORD_MMAP2)
		mmap_take(p, (const void *)h);
	else if (names->n > NET_NS_INDEX)
		p->net = names->of[NET_NS_INDEX].inode;
	return 0;
}

/* Keeps a copy, to be sorted. */
static int lineage_record_take(void *arg, const struct perf_event_header *head)
{
	struct lineage *l = arg;
	char *copy = malloc(head->size);
	struct pending p = {.event = (void *)copy};

	if (!copy)
		return -ENOMEM;
	memcpy(copy, head, head->size);
	if (head->size > sizeof(struct sample_id))
		memcpy(&p.time, copy + head->size - sizeof(p.time), sizeof(p.time));
	if (!vec_push(&l->pending, p))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int lineage_by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

int lineage_take(struct lineage *l, bool all)
{
	u64 until = all ? UINT64_MAX : clock_mono_ns() - LATE_NS;
	size_t left = 0;
	int rc = 0;

	vec_each (r, &l->rings)
		rc = rc ? rc : perf_ring_read(r, lineage_record_take, l);
	if (l->pending.n)
		qsort(l->pending.v, l->pending.n, sizeof(*l->pending.v), lineage_by_time);
	vec_each (e, &l->pending) {
		if (e->time > until) {
			l->pending.v[left++] = *e;
			continue;
		}
		rc = rc ? rc : event_take(l, e->event, e->time);
		free(e->event);
	}
	l->pending.n = left;
	return rc;
}

bool lineage_over(struct lineage *l, struct lineage_program *ret)
{
	if (l->asked >= l->over.n) {
		l->asked = l->over.n = 0;
		return false;
	}
	*ret = l->over.v[l->asked++];
	return true;
}

size_t lineage_alive(const struct lineage *l, struct lineage_program *ret, size_t max)
{
	struct process *p, *tmp;
	size_t n = 0;

	HASH_ITER (hh, l->processes, p, tmp)
		if (n++ < max)
			ret[n - 1] = p->program;
	return n;
}

u64 lineage_lost(const struct lineage *l)
{
	return l->lost;
}

void lineage_close(struct lineage *l)
{
	struct process *p, *tmp;

	if (!l)
		return;
	HASH_ITER (hh, l->processes, p, tmp) {
		HASH_DEL(l->processes, p);
		free(p);
	}
	vec_each (r, &l->rings)
		perf_ring_close(r);
	vec_each (e, &l->pending)
		free(e->event);
	vec_free(&l->rings);
	vec_free(&l->pending);
	vec_free(&l->over);
	free(l);
}
