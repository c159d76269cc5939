/* See perf_ring.h. */
#include "capture/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* Of a record that goes over the end of the ring: paths are below 4096. */
#define WHOLE_BYTES 8192

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int perf_ring_map(int fd, u32 pages, struct perf_ring *ret)
{
	size_t bytes = pages * page_bytes();
	void *p = mmap(NULL, bytes + page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*ret = (struct perf_ring){fd, p, bytes};
	return 0;
}

int perf_ring_read(struct perf_ring *r,
	int (*take)(void *arg, const struct perf_event_header *head), void *arg)
{
	const char *data = (const char *)r->page + page_bytes();
	u64 at = r->page->data_tail, end = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	_Alignas(8) char whole[WHOLE_BYTES];
	int rc = 0;

	while (at < end && !rc) {
		const struct perf_event_header *head = (const void *)(data + at % r->bytes);
		u64 n = head->size, first = r->bytes - at % r->bytes;

		if (n < sizeof(*head) || n > end - at) {
			at = end; /* cannot be */
			break;
		}
		at += n;
		if (first < n) {
			if (n > sizeof(whole))
				continue;
			memcpy(whole, head, first);
			memcpy(whole + first, data, n - first);
			head = (const void *)whole;
		}
		rc = take(arg, head);
	}
	__atomic_store_n(&r->page->data_tail, at, __ATOMIC_RELEASE);
	return rc;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->page) {
		munmap(r->page, r->bytes + page_bytes());
		close(r->fd);
	}
	r->page = NULL;
}
