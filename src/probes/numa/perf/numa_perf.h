/*
 * perf.data files as records of `numa`: what perf mem record, perf c2c record and perf record -d
 * wrote, on this machine or another. Knows the reader (perfdata) and the records (numa.h), and
 * nothing of what is made of them.
 */
#ifndef MEMWHY_PROBES_NUMA_PERF_H
#define MEMWHY_PROBES_NUMA_PERF_H

#include "base/err.h"
#include "event/sink.h"
#include "perfdata/perfdata.h"
#include "probes/numa/numa.h"

/*
 * Sends all of the file, from REC_HOST to REC_END. 0; -ENODATA: the file is cut or damaged (err
 * says how; what could be read was sent); -EINVAL: it cannot be used (err says why); -errno.
 */
int numa_perf_read(int fd, const char *path, struct sink *sink, struct err *err);
/* Whether a file that begins with these bytes is one for numa_perf_read(). */
bool numa_perf_is(const void *head, size_t n);

/* How an event's samples are to be taken. */
struct numa_perf_event {
	bool accesses;   /* they have the addresses of accesses */
	bool has_source; /* and the processor says of each what it was */
	u8 source;       /* enum numa_source */
};

struct numa_perf_event numa_perf_event_of(
	const struct perfdata_event *e, const struct perfdata_host *h);
/*
 * A sample but for its stack. False: it is of no access to memory, as the processor says: IBS
 * samples any operation.
 */
bool numa_perf_sample(const struct perfdata_record *r, const struct perfdata_host *h,
	const struct numa_perf_event *how, struct numa_sample *ret);
/* A mapping but for its file's name; m is of a process. */
void numa_perf_mapping(const struct perfdata_record *r, struct numa_mapping *ret);
/* A path that names a file; NULL for "//anon" and the like, where the kernel has no name. */
const char *numa_perf_path(const char *path);

#endif
