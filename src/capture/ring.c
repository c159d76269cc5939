/* See ring.h. */
#include "capture/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "base/util.h"

struct ring {
	struct ring_buffer *rb;
	int (*record)(void *arg, const struct rec *r);
	void *arg;
	u64 delivered;
	u32 batch; /* of RING_BATCH, those taken */
};

static int ring_sample(void *ctx, void *data, size_t size)
{
	struct ring *r = ctx;
	const struct rec *rec = data;
	int rc;

	if (size < sizeof(*rec) || rec->size > size)
		return 0; /* not ours: cannot be */
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

u64 ring_delivered(const struct ring *r)
{
	return r->delivered;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	free(r);
}
