/* Lookups of names that do not exist, sampled for `check`: what programs and probe agree on. */
#ifndef MEMWHY_PROBES_LOOKUPS_H
#define MEMWHY_PROBES_LOOKUPS_H

#include "bpf/shared.h"

struct lookups_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
};

/* agg_value.sum */
enum {
	LOOKUPS_CUT,     /* not 0: its name is the end of a longer one */
	LOOKUPS_REMOVED, /* calls that removed the name */
};

/* On disk: calls that found nothing, in the bursts since the last such record. */
#define LOOKUPS_AGG_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                         \
	F(R, u32, tid, ID, "0")                                                                \
	F(R, u32, stack, STACK, "where the call was made")                                     \
	F(R, u32, cut, NONE, "1: directory is the end of a longer name")                       \
	F(R, u64, count, COUNT,                                                                \
		"calls that failed with ENOENT: open, stat, access, readlink, unlink, execve") \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                                     \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                        \
	F(R, char[AGG_NAME_LEN], directory, NONE, "where one of the names was looked for")     \
	F(R, u64, removed, COUNT,                                                              \
		"of count: unlink that removed the name, and left it as one that does not exist")
RECORD(lookups_agg, LOOKUPS_AGG_FIELDS);

/* The records above count bursts. Since the last one: */
#define LOOKUPS_SAMPLED_FIELDS(F, R)                        \
	F(R, u64, on_ns, NS, "time in which calls counted") \
	F(R, u64, covered_ns, NS, "time it stands for")
RECORD(lookups_sampled, LOOKUPS_SAMPLED_FIELDS);

#endif
