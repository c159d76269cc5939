/*
 * The processes of a perf.data file: their mappings, as they change, for the names of addresses.
 * Whether files and the kernel that are here now are those of the recording is decided here.
 */
#ifndef MEMWHY_PROBES_NUMA_PERF_SPACE_H
#define MEMWHY_PROBES_NUMA_PERF_SPACE_H

#include "base/groups.h"
#include "base/vec.h"
#include "capture/names/names.h"
#include "perfdata/perfdata.h"

struct perf_spaces {
	const struct perfdata_host *host; /* borrowed, as is the next */
	struct names *names;
	struct groups by_pid;    /* u32 to struct process_map * */
	struct groups files;     /* hash of path and build-id to u32: 1 same, 2 not */
	struct groups build_ids; /* hash of path to u32: index + 1 in host->build_ids */
	size_t build_ids_seen;
	bool same_host;    /* its name and kernel are those of ours */
	bool kernel_known; /* a mapping of the kernel was seen */
	u64 changes;       /* how often a name could have become another */
	u64 files_other;   /* are not as they were recorded, or not here */
};

void perf_spaces_init(struct perf_spaces *s, const struct perfdata_host *host, struct names *names);
/* The host is known; there are no more records. */
void perf_spaces_begin(struct perf_spaces *s);
void perf_spaces_end(struct perf_spaces *s);
void perf_spaces_free(struct perf_spaces *s);
/* A MMAP or MMAP2 record, of a process or the kernel. 0, -ENOMEM. */
int perf_spaces_map(struct perf_spaces *s, const struct perfdata_record *r);
int perf_spaces_fork(struct perf_spaces *s, u32 child, u32 parent);
/* It has ended, or runs another program. */
void perf_spaces_forget(struct perf_spaces *s, u32 pid);
/* NULL: nothing is known of it. */
const struct process_map *perf_spaces_of(struct perf_spaces *s, u32 pid);

#endif
