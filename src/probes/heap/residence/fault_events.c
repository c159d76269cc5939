/* See fault_events.h. */
#include "probes/heap/residence/fault_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/vec.h"
#include "capture/perf_ring.h"

#define RING_PAGES 256         /* of data, for each CPU: some 12,000 faults … */
#define RINGS_PAGES (32U << 8) /* … but of all CPUs 32 MiB … */
#define RING_PAGES_LEAST 16    /* … or what is allowed */
#define SP_REGISTER 7          /* PERF_REG_X86_SP, asm/perf_regs.h */

struct cpu_events {
	struct perf_ring ring; /* of minor faults and execs, and of the major ones too */
	int major;
	u64 major_id;
};

struct fault_events {
	VEC(struct cpu_events) cpus;
	bool user_only;
	u64 lost;
};

/* As SAMPLE lays it out. */
struct fault_sample {
	struct perf_event_header h;
	u64 id;
	u32 pid, tid;
	u64 time, address;
	u64 abi;
	u64 sp; /* where abi is not 0 */
};

#define SAMPLE                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
		PERF_SAMPLE_REGS_USER)

/* The end of any other record. */
struct sample_id {
	u32 pid, tid;
	u64 time, id;
};

struct lost_record {
	struct perf_event_header h;
	u64 id, lost;
};

static int fault_event_open(const struct fault_events *f, pid_t pid, int cpu, u64 config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = SAMPLE,
		.sample_id_all = 1,
		.sample_regs_user = 1ULL << SP_REGISTER,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.exclude_kernel = f->user_only,
		.comm = config == PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.comm_exec = config == PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1U << 30,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The kernel limits what may be mapped without privilege (perf_event_mlock_kb). */
static int fault_events_ring_open(
	const struct fault_events *f, pid_t pid, int cpu, u32 pages, struct perf_ring *ret)
{
	int rc = -EPERM;

	for (; rc == -EPERM && pages >= RING_PAGES_LEAST; pages /= 2) {
		int fd = fault_event_open(f, pid, cpu, PERF_COUNT_SW_PAGE_FAULTS_MIN);

		rc = fd < 0 ? fd : perf_ring_map(fd, pages, ret);
		if (fd < 0)
			break;
	}
	return rc;
}

static int cpu_open(struct fault_events *f, pid_t pid, int cpu, u32 pages)
{
	struct cpu_events e = {};
	int rc = fault_events_ring_open(f, pid, cpu, pages, &e.ring);

	if (rc)
		return rc;
	e.major = fault_event_open(f, pid, cpu, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	if (e.major < 0 || ioctl(e.major, PERF_EVENT_IOC_SET_OUTPUT, e.ring.fd) ||
		ioctl(e.major, PERF_EVENT_IOC_ID, &e.major_id))
		rc = e.major < 0 ? e.major : -errno;
	rc = rc ? rc : vec_push(&f->cpus, e);
	if (rc) {
		perf_ring_close(&e.ring);
		if (e.major >= 0)
			close(e.major);
	}
	return rc;
}

static u32 fault_events_pages_each(long cpus)
{
	u32 pages = RING_PAGES;

	while (pages > RING_PAGES_LEAST && pages * (u64)cpus > RINGS_PAGES)
		pages /= 2;
	return pages;
}

int fault_events_open(pid_t pid, struct fault_events **ret)
{
	struct fault_events *f = calloc(1, sizeof(*f));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int rc = f ? 0 : -ENOMEM;

	for (int cpu = 0; cpu < cpus && !rc; cpu++) {
		rc = cpu_open(f, pid, cpu, fault_events_pages_each(cpus));
		if (rc == -EACCES && !f->user_only && !f->cpus.n) {
			f->user_only = true;
			rc = cpu_open(f, pid, cpu, fault_events_pages_each(cpus));
		}
		rc = rc == -ENODEV ? 0 : rc; /* it is offline */
	}
	if (!rc && !f->cpus.n)
		rc = -ENODEV;
	if (rc)
		fault_events_close(f);
	else
		*ret = f;
	return rc;
}

struct reading {
	struct fault_events *f;
	const struct cpu_events *cpu;
	int (*take)(void *arg, const struct fault_seen *s);
	void *arg;
};

static int fault_events_sample_take(const struct reading *r, const struct fault_sample *e)
{
	bool has_sp = e->h.size >= sizeof(*e) && e->abi;

	return r->take(
		r->arg, &(struct fault_seen){
				.time_ns = e->time,
				.address = e->address,
				.sp = has_sp ? e->sp : 0,
				.tgid = e->pid,
				.tid = e->tid,
				.what = e->id == r->cpu->major_id ? FAULT_IS_MAJOR : FAULT_IS_MINOR,
			});
}

static int exec_take(const struct reading *r, const struct perf_event_header *head)
{
	const struct sample_id *id = (const void *)((const char *)head + head->size - sizeof(*id));

	return r->take(r->arg, &(struct fault_seen){.time_ns = id->time,
				       .tgid = id->pid,
				       .tid = id->tid,
				       .what = FAULT_IS_EXEC});
}

static int fault_events_record_take(void *arg, const struct perf_event_header *head)
{
	struct reading *r = arg;

	switch (head->type) {
	case PERF_RECORD_SAMPLE:
		return head->size >= offsetof(struct fault_sample, sp)
			       ? fault_events_sample_take(r, (const void *)head)
			       : 0;
	case PERF_RECORD_COMM:
		return head->misc & PERF_RECORD_MISC_COMM_EXEC &&
				       head->size > sizeof(struct sample_id)
			       ? exec_take(r, head)
			       : 0;
	case PERF_RECORD_LOST:
		if (head->size >= sizeof(struct lost_record))
			r->f->lost += ((const struct lost_record *)(const void *)head)->lost;
	}
	return 0;
}

int fault_events_read(
	struct fault_events *f, int (*take)(void *arg, const struct fault_seen *s), void *arg)
{
	int rc = 0;

	vec_each (cpu, &f->cpus) {
		struct reading r = {f, cpu, take, arg};

		rc = rc ? rc : perf_ring_read(&cpu->ring, fault_events_record_take, &r);
	}
	return rc;
}

bool fault_events_user_only(const struct fault_events *f)
{
	return f->user_only;
}

u64 fault_events_lost(const struct fault_events *f)
{
	return f->lost;
}

void fault_events_close(struct fault_events *f)
{
	if (!f)
		return;
	vec_each (cpu, &f->cpus) {
		close(cpu->major);
		perf_ring_close(&cpu->ring);
	}
	vec_free(&f->cpus);
	free(f);
}
