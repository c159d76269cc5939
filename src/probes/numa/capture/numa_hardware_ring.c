/* See numa_hardware.h: events opened on CPUs, and samples out of their rings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "capture/perf_ring.h"
#include "perfdata/perfdata.h"
#include "probes/numa/capture/numa_hardware.h"
#include "probes/numa/perf/numa_perf.h"
#include "sys/host.h"
#include "sys/root.h"

#define RING_PAGES 128 /* of data, for each event and CPU */

struct ring_of_cpu {
	struct perf_ring ring; /* page NULL: of a leader, which does not sample */
	struct numa_perf_event how;
};

struct numa_hardware {
	VEC(struct ring_of_cpu) rings;
	u64 lost;
};

/* As SAMPLE_TYPE lays it out (perf_event_open(2)). */
struct hardware_sample {
	struct perf_event_header h;
	u64 ip;
	u32 pid, tid;
	u64 time, addr;
	u32 cpu, reserved;
	u64 period, weight, data_src, phys;
};

struct hardware_lost {
	struct perf_event_header h;
	u64 id, lost;
};

static void ring_close(struct perf_ring *r)
{
	if (r->page)
		perf_ring_close(r);
	else
		close(r->fd);
}

static int ring_add(
	struct numa_hardware *h, const struct numa_event_spec *s, int cpu, int group, int *ret_fd)
{
	struct perf_event_attr attr = s->attr;
	struct ring_of_cpu r = {.how = {true, s->source != NUMA_PERF, s->source}};
	int rc = 0;

	r.ring.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
	if (r.ring.fd < 0)
		return -errno;
	if (!s->leads)
		rc = perf_ring_map(r.ring.fd, RING_PAGES, &r.ring);
	if (rc)
		return rc;
	rc = vec_push(&h->rings, r);
	if (rc)
		ring_close(&r.ring);
	*ret_fd = s->leads ? r.ring.fd : -1;
	return rc;
}

static int cpus_of(const struct numa_event_spec *s, const struct host *host, struct idset *ret)
{
	_cleanup_str_ struct str text = {};

	*ret = host->cpus_online;
	if (!s->cpus[0])
		return 0;
	if (sys_read(&text, "/sys/bus/event_source/devices/%s/cpus", s->cpus))
		return -ENODEV;
	return idset_parse(str_get(&text), ret);
}

int numa_hardware_open(const struct numa_event_spec *specs, size_t n, struct numa_hardware **ret,
	char why[NUMA_WHY_LEN])
{
	struct numa_hardware *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct host *host = calloc(1, sizeof(*host));
	struct idset cpus;
	int rc = h && host ? 0 : -ENOMEM;

	if (!rc) {
		host_read(host);
		rc = cpus_of(&specs[0], host, &cpus);
	}
	for (u32 cpu = rc ? IDSET_MAX : idset_next(&cpus, 0); cpu < IDSET_MAX && !rc;
		cpu = idset_next(&cpus, cpu + 1)) {
		int group = -1;

		for (size_t i = 0; i < n && !rc; i++)
			rc = ring_add(h, &specs[i], (int)cpu, group, &group);
	}
	if (rc) {
		snprintf(why, NUMA_WHY_LEN, "perf_event_open of type %u: %s", specs[0].attr.type,
			strerror(-rc));
		numa_hardware_close(h);
		return rc;
	}
	*ret = h;
	return 0;
}

static void all_set(struct numa_hardware *h, unsigned long request)
{
	vec_each (r, &h->rings)
		ioctl(r->ring.fd, request, 0);
}

void numa_hardware_start(struct numa_hardware *h)
{
	all_set(h, PERF_EVENT_IOC_ENABLE);
}

void numa_hardware_stop(struct numa_hardware *h)
{
	all_set(h, PERF_EVENT_IOC_DISABLE);
}

/* Through the decoder of perf.data files, so that both say the same. */
static bool sample_decode(
	const struct hardware_sample *e, const struct ring_of_cpu *ring, struct numa_sample *ret)
{
	static const struct perfdata_event event = {};
	static const struct perfdata_host nowhere = {};
	struct perfdata_record r = {
		.event = &event,
		.misc = e->h.misc,
		.where = {.have = PERFDATA_CPU,
			.pid = e->pid,
			.tid = e->tid,
			.time = e->time,
			.cpu = e->cpu},
		.sample = {.ip = e->ip,
			.addr = e->addr,
			.period = e->period,
			.data_src = e->data_src,
			.weight = e->weight},
	};

	return numa_perf_sample(&r, &nowhere, &ring->how, ret);
}

struct reading {
	struct numa_hardware *h;
	const struct ring_of_cpu *ring;
	int (*take)(void *arg, struct numa_sample *s, u64 phys);
	void *arg;
};

static int numa_hardware_ring_record_take(void *arg, const struct perf_event_header *head)
{
	const struct hardware_sample *e = (const void *)head;
	struct reading *r = arg;
	struct numa_sample s;

	if (head->type == PERF_RECORD_LOST && head->size >= sizeof(struct hardware_lost))
		r->h->lost += ((const struct hardware_lost *)(const void *)head)->lost;
	if (head->type != PERF_RECORD_SAMPLE || head->size < sizeof(*e) ||
		!sample_decode(e, r->ring, &s))
		return 0;
	s.h.size = sizeof(s);
	return r->take(r->arg, &s, e->phys);
}

int numa_hardware_read(
	struct numa_hardware *h, int (*take)(void *arg, struct numa_sample *s, u64 phys), void *arg)
{
	int rc = 0;

	vec_each (r, &h->rings) {
		struct reading reading = {h, r, take, arg};

		if (r->ring.page)
			rc = perf_ring_read(&r->ring, numa_hardware_ring_record_take, &reading);
		if (rc)
			break;
	}
	return rc;
}

u64 numa_hardware_lost(const struct numa_hardware *h)
{
	return h->lost;
}

void numa_hardware_close(struct numa_hardware *h)
{
	if (!h)
		return;
	vec_each (r, &h->rings)
		ring_close(&r->ring);
	vec_free(&h->rings);
	free(h);
}
