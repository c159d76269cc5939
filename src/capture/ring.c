/* See ring.h. */
#include "capture/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/vec.h"
#include "capture/attach.h"

#define CPU_RING_MIN (64U << 10)

struct ring {
	struct ring_buffer *rb;
	int (*record)(void *arg, const struct rec *r);
	void *arg;
	u64 delivered;
	bool woken;
	u32 batch;    /* of RING_BATCH, those taken */
	VEC(int) own; /* rings of CPUs: closed here */
};

static int ring_sample(void *ctx, void *data, size_t size)
{
	struct ring *r = ctx;
	const struct rec *rec = data;
	int rc;

	if (size < sizeof(*rec) || rec->size > size)
		return 0; /* not ours: cannot be */
	if (rec->kind == REC_NONE || !r->record) {
		r->woken = true;
		return 0;
	}
	r->delivered++;
	rc = r->record(r->arg, rec);
	return !rc && ++r->batch == RING_BATCH ? -EAGAIN : rc; /* which ends this drain */
}

int ring_open(int map, int (*record)(void *arg, const struct rec *r), void *arg, struct ring **ret)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->record = record;
	r->arg = arg;
	r->rb = ring_buffer__new(map, ring_sample, r, NULL);
	if (!r->rb) {
		int rc = -errno;

		free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

int ring_prepare(struct bpf_object *obj, const char *map)
{
	struct bpf_map *rings = bpf_object__find_map_by_name(obj, map);
	int fd, rc;

	if (!rings)
		return -ENOENT;
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, CPU_RING_MIN, NULL);
	if (fd < 0)
		return -errno;
	/* It takes the descriptor only as it succeeds. */
	rc = bpf_map__set_inner_map_fd(rings, fd);
	if (rc)
		close(fd);
	return rc ? rc : bpf_map__set_max_entries(rings, (u32)libbpf_num_possible_cpus());
}

static int cpu_ring_add(struct ring *r, int map, u32 cpu, u32 bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cpu_ring", 0, 0, bytes, NULL), rc;

	if (fd < 0)
		return -errno;
	rc = vec_push(&r->own, fd);
	if (rc) {
		close(fd);
		return rc;
	}
	rc = ring_buffer__add(r->rb, fd, ring_sample, r);
	if (!rc && bpf_map_update_elem(map, &cpu, &fd, BPF_ANY))
		rc = -errno;
	return rc;
}

int ring_each_cpu(struct ring *r, struct attached *a, const char *map, u64 bytes)
{
	int cpus = libbpf_num_possible_cpus(), rc = 0;
	u64 each = bytes / (u64)MAX(1, cpus), least = MIN(bytes, (u64)CPU_RING_MIN);
	u32 size = 4096;

	while ((size < each || size < least) && size < 1U << 30)
		size *= 2;
	for (int i = 0; i < cpus && !rc; i++)
		rc = cpu_ring_add(r, attach_map(a, map), (u32)i, size);
	attach_keep_bytes(a, (u64)MAX(1, cpus) * size);
	return rc;
}

int ring_fd(const struct ring *r)
{
	return ring_buffer__epoll_fd(r->rb);
}

int ring_drain(struct ring *r)
{
	int rc;

	r->batch = 0;
	rc = ring_buffer__consume(r->rb);
	if (r->batch == RING_BATCH)
		return 1;
	return rc < 0 ? rc : 0;
}

bool ring_woken(struct ring *r)
{
	bool woken = r->woken;

	r->woken = false;
	return woken;
}

u64 ring_delivered(const struct ring *r)
{
	return r->delivered;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	vec_each (fd, &r->own)
		close(*fd);
	vec_free(&r->own);
	free(r);
}
