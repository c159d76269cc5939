/* Page faults: what the BPF programs, the probe and its view agree on, and the records. */
#ifndef MEMWHY_PROBES_FAULTS_H
#define MEMWHY_PROBES_FAULTS_H

#include "base/mapping_kind.h"
#include "bpf/shared.h"

enum fault_flags {
	FAULT_MAJOR = 1,         /* needed I/O, as task_struct.maj_flt counts */
	FAULT_WRITE = 2,         /* the access was a write */
	FAULT_EXEC = 4,          /* … an instruction fetch */
	FAULT_KERNEL = 8,        /* … made in kernel mode (copy_to_user and the like) */
	FAULT_ACCESS_KNOWN = 16, /* WRITE, EXEC, KERNEL and the duration are known */
	FAULT_HUGE = 32,         /* a huge page was mapped */
	FAULT_MAP_KNOWN = 64,    /* the mapping was looked up at the fault */
	FAULT_REGION = 128,      /* object is address >> FAULT_REGION_SHIFT instead */
	FAULT_PRESENT = 256,     /* the page was mapped, but not for this access */
	FAULT_ALLOCATED = 512,   /* a page was allocated meanwhile */
	FAULT_NAMED = 1024,      /* of several processes of a name: only that is known */
};

#define FAULT_REGION_SHIFT 16

enum faults_mapping { FAULTS_MAPPING_NONE, FAULTS_MAPPING_MAJOR, FAULTS_MAPPING_ALL };

struct faults_config {
	u8 mapping; /* enum faults_mapping: for which faults the mapping is looked up */
	u8 comms;   /* count by the name the task has at the fault */
	u8 reserved[6];
	u64 min_ns; /* faults that took less, or whose duration is not known, do not count */
};

/* Key of the table of aggregates. */
struct fault_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u64 object;         /* inode of the mapped file, or a region (FAULT_REGION) */
	u16 flags;
	u8 map; /* enum mapping_kind */
	u8 reserved[5];
	char comm[COMM_LEN]; /* "" unless config.comms */
};

/* In the ring, one a fault (--each); the same on disk but for the stacks, which become one. */
#define FAULT_EVENT_FIELDS(F, R)                               \
	F(R, u32, tgid, ID, "process")                         \
	F(R, u32, tid, ID, "thread")                           \
	F(R, u32, ustack, STACK, "where the fault happened")   \
	F(R, u32, kstack, HIDDEN, "")                          \
	F(R, u64, address, HEX, "the address that faulted")    \
	F(R, u64, ns, NS, "duration, where flags has 16")      \
	F(R, u64, cgroup, CGROUP, "control group of the task") \
	F(R, u16, flags, HEX, "as in faults_agg")              \
	F(R, u8, map, ID, "as in faults_agg")                  \
	F(R, u8[5], reserved, HIDDEN, "")                      \
	F(R, char[COMM_LEN], comm, NONE, "thread name")        \
	F(R, char[AGG_NAME_LEN], file, NONE, "mapped file")
RECORD(fault_event, FAULT_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define FAULTS_AGG_FIELDS(F, R)                                                                    \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                     \
	F(R, u32, stack, STACK, "where the fault happened")                                        \
	F(R, u16, flags, HEX,                                                                      \
		"1 major, 2 write, 4 exec, 8 kernel mode, 16 access known, 32 huge, 64 mapping "   \
		"known, 128 object is a region, 256 the page was mapped but not for this access, " \
		"512 a page was allocated meanwhile, 1024 of several processes of this name: "     \
		"only that is known")                                                              \
	F(R, u8, map, ID,                                                                          \
		"mapping: 1 anonymous, 2 heap, 3 stack, 4 file, 5 shared memory, 6 hugetlb, 7 "    \
		"other")                                                                           \
	F(R, u8, reserved, HIDDEN, "")                                                             \
	F(R, u64, object, HEX, "inode, or address >> 16")                                          \
	F(R, u64, count, COUNT, "faults")                                                          \
	F(R, u64, timed, COUNT, "faults whose duration is known")                                  \
	F(R, u64, total_ns, NS, "their time")                                                      \
	F(R, u64, max_ns, NS, "the longest since the start")                                       \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                     \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                            \
	F(R, char[AGG_NAME_LEN], file, NONE, "mapped file")                                        \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(faults_agg, FAULTS_AGG_FIELDS);

/* A major fault on memory that has no file to be read from: a swap-in. For a private mapping of a
 * file this is unknown. */
static inline int fault_is_swap_in(const struct faults_agg *r)
{
	return r->flags & FAULT_MAJOR &&
	       (r->map == MAPPING_ANON || r->map == MAPPING_HEAP || r->map == MAPPING_STACK ||
		       r->map == MAPPING_SHMEM);
}

#endif
