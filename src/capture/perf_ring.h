/*
 * The ring into which the kernel writes the records of perf events (perf_event_open(2)). Owns its
 * memory and its descriptor, and the layout of the records that several read (PERF_RECORD_* of
 * include/uapi/linux/perf_event.h); does not know what they are read for.
 */
#ifndef MEMWHY_CAPTURE_PERF_RING_H
#define MEMWHY_CAPTURE_PERF_RING_H

#include <linux/perf_event.h>

#include "base/util.h"

struct perf_mmap2 {
	struct perf_event_header h;
	u32 pid, tid;
	u64 start, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char path[];
};

struct perf_comm {
	struct perf_event_header h;
	u32 pid, tid;
	char comm[];
};

/* A fork or an end. */
struct perf_task {
	struct perf_event_header h;
	u32 pid, ppid;
	u32 tid, ptid;
};

struct perf_ring {
	int fd;
	struct perf_event_mmap_page *page;
	size_t bytes; /* of data */
};

/* pages: of data, a power of two. Takes the descriptor over, also where it fails. */
int perf_ring_map(int fd, u32 pages, struct perf_ring *ret);
/* Gives each record to take, whole, until it returns what is not 0; that is returned. What was
 * given is read, the failed one too. */
int perf_ring_read(struct perf_ring *r,
	int (*take)(void *arg, const struct perf_event_header *head), void *arg);
void perf_ring_close(struct perf_ring *r);

#endif
