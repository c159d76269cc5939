/*
 * Any bytes as a perf.data file, through all that `numa --input` does with it: records, the stream
 * with its names, objects and flows.
 */
#include <stdint.h>
#include <stdio.h>

#include "../unit/perfdata/perfdata_fixture.h"
#include "event/stream.h"
#include "probes/numa/feed/numa_feed.h"
#include "probes/numa/perf/numa_perf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct taker {
	struct sink sink;
	struct stream stream;
	struct numa_feed *feed;
	bool ended;
};

static int taker_put(struct sink *sink, const struct rec *r)
{
	struct taker *t = (struct taker *)sink;

	if (r->size < sizeof(*r) || r->size % 8 || t->ended)
		abort();
	t->ended = r->kind == REC_END;
	return stream_feed(&t->stream, r) || numa_feed_take(t->feed, r) ? -ENOMEM : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct taker t = {.sink = {taker_put}};
	struct err err = {};
	char path[32];
	int fd = made_fd(data, n), rc;

	if (stream_init(&t.stream) || numa_feed_new(&t.feed))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = numa_perf_read(fd, path, &t.sink, &err);
	if (rc && (err.code != rc || !err.msg[0]))
		abort();
	if (!rc && !t.ended)
		abort();
	numa_feed_finish(t.feed);
	numa_feed_free(t.feed);
	stream_destroy(&t.stream);
	return 0;
}
