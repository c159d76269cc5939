/* See numa_hardware.h: events opened on CPUs, and samples out of their rings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "perfdata/perfdata.h"
#include "probes/numa/numa_hardware.h"
#include "probes/numa/numa_perf.h"
#include "sys/host.h"
#include "sys/root.h"

#define RING_PAGES 128 /* of data, for each event and CPU */

struct ring_of_cpu {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: of a leader, which does not sample */
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

static int ring_add(
	struct numa_hardware *h, const struct numa_event_spec *s, int cpu, int group, int *ret_fd)
{
	struct perf_event_attr attr = s->attr;
	struct ring_of_cpu r = {.how = {true, s->source != NUMA_PERF, s->source}};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int rc;

	r.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
	if (r.fd < 0)
		return -errno;
	if (!s->leads) {
		void *p = mmap(
			NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);

		rc = p == MAP_FAILED ? -errno : 0;
		r.page = p;
		if (rc) {
			close(r.fd);
			return rc;
		}
	}
	rc = vec_push(&h->rings, r);
	if (rc)
		close(r.fd);
	*ret_fd = s->leads ? r.fd : -1;
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
		ioctl(r->fd, request, 0);
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

static int record_take(struct numa_hardware *h, const struct ring_of_cpu *ring, const void *bytes,
	int (*take)(void *arg, struct numa_sample *s, u64 phys), void *arg)
{
	const struct perf_event_header *head = bytes;
	const struct hardware_sample *e = bytes;
	struct numa_sample s;

	if (head->type == PERF_RECORD_LOST && head->size >= sizeof(struct hardware_lost))
		h->lost += ((const struct hardware_lost *)bytes)->lost;
	if (head->type != PERF_RECORD_SAMPLE || head->size < sizeof(*e) ||
		!sample_decode(e, ring, &s))
		return 0;
	s.h.size = sizeof(s);
	return take(arg, &s, e->phys);
}

/* A record may go over the end of the ring. */
static int ring_read(struct numa_hardware *h, struct ring_of_cpu *r,
	int (*take)(void *arg, struct numa_sample *s, u64 phys), void *arg)
{
	const char *data = (const char *)r->page + r->page->data_offset;
	u64 size = r->page->data_size, at = r->page->data_tail,
	    end = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	_Alignas(8) char whole[256];
	int rc = 0;

	while (at < end && !rc) {
		const struct perf_event_header *head = (const void *)(data + at % size);
		u64 len = head->size, first = size - at % size;
		const void *bytes = head;

		if (len < sizeof(*head) || len > end - at)
			break; /* cannot be */
		if (first < len && len <= sizeof(whole)) {
			memcpy(whole, head, first);
			memcpy(whole + first, data, len - first);
			bytes = whole;
		}
		rc = record_take(h, r, bytes, take, arg);
		at += len;
	}
	__atomic_store_n(&r->page->data_tail, at < end && !rc ? end : at, __ATOMIC_RELEASE);
	return rc;
}

int numa_hardware_read(
	struct numa_hardware *h, int (*take)(void *arg, struct numa_sample *s, u64 phys), void *arg)
{
	int rc = 0;

	vec_each (r, &h->rings) {
		if (r->page)
			rc = ring_read(h, r, take, arg);
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
	vec_each (r, &h->rings) {
		if (r->page)
			munmap(r->page, (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE));
		close(r->fd);
	}
	vec_free(&h->rings);
	free(h);
}
