/* Calls that change an address space, sampled for `check`: what programs and probe agree on. */
#ifndef MEMWHY_PROBES_MMCALLS_H
#define MEMWHY_PROBES_MMCALLS_H

#include "bpf/shared.h"

/* Numbers of system calls of x86-64. */
enum mmcalls_call {
	MMCALLS_MMAP = 9,
	MMCALLS_MPROTECT = 10,
	MMCALLS_MUNMAP = 11,
	MMCALLS_BRK = 12,
	MMCALLS_MREMAP = 25,
	MMCALLS_MADVISE = 28,
	MMCALLS_PKEY_MPROTECT = 329, /* counted as MMCALLS_MPROTECT */
	/* These change no address space: they wait until what was written is on disk. */
	MMCALLS_MSYNC = 26,
	MMCALLS_FSYNC = 74,
	MMCALLS_FDATASYNC = 75,
	MMCALLS_SYNC_FILE_RANGE = 277,
	MMCALLS_SYNCFS = 306,
	/* No call: a handler of the process gets a signal for memory that it may not access that
	 * way. */
	MMCALLS_SIGNAL = 0xffff,
};

struct mmcalls_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
	u16 call; /* enum mmcalls_call */
	u16 advice;
	u32 reserved;
};

static inline int mmcalls_syncs(u64 call)
{
	return call == MMCALLS_MSYNC || call == MMCALLS_FSYNC || call == MMCALLS_FDATASYNC ||
	       call == MMCALLS_SYNC_FILE_RANGE || call == MMCALLS_SYNCFS;
}

/* agg_value.sum */
enum { MMCALLS_BYTES };

/* On disk: calls of one kind, in the bursts since the last such record. */
#define MMCALLS_AGG_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                           \
	F(R, u32, tid, ID, "0")                                                                  \
	F(R, u32, stack, STACK, "where the call was made")                                       \
	F(R, u16, call, ID,                                                                      \
		"number of the system call: 9 mmap, 10 mprotect, 11 munmap, 12 brk, 25 mremap, " \
		"28 madvise; 65535: none, but a SIGSEGV or SIGBUS that a handler gets")          \
	F(R, u16, advice, ID, "of madvise")                                                      \
	F(R, u64, count, COUNT, "calls")                                                         \
	F(R, u64, bytes, BYTES, "their lengths; of brk 0")                                       \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                                       \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                          \
	F(R, u64, timed, COUNT, "calls whose end was seen")                                      \
	F(R, u64, total_ns, NS, "their time")
RECORD(mmcalls_agg, MMCALLS_AGG_FIELDS);

/* On disk: calls that wait until something is on disk, in the bursts since the last such record.
 * Of a call that began before the burst, only the part within it is counted: for calls longer than
 * a burst, the time is what they took at least. */
#define MMCALLS_SYNC_FIELDS(F, R)                                                   \
	F(R, u32, tgid, ID, "process")                                              \
	F(R, u32, tid, ID, "0")                                                     \
	F(R, u32, stack, STACK, "where the call was made")                          \
	F(R, u16, call, ID,                                                         \
		"number of the system call: 26 msync, 74 fsync, 75 fdatasync, 277 " \
		"sync_file_range, 306 syncfs")                                      \
	F(R, u16, reserved, HIDDEN, "")                                             \
	F(R, u64, count, COUNT, "calls that began or ended in a burst")             \
	F(R, u64, timed, COUNT, "calls whose end was seen")                         \
	F(R, u64, total_ns, NS, "their time")                                       \
	F(R, u64, max_ns, NS, "the longest, since the start")                       \
	F(R, u64, bytes, BYTES, "the lengths of the ranges that msync was given")   \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                          \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(mmcalls_sync, MMCALLS_SYNC_FIELDS);

/* The records above count bursts. Since the last one: */
#define MMCALLS_SAMPLED_FIELDS(F, R)                                                   \
	F(R, u64, bursts, COUNT, "bursts")                                             \
	F(R, u64, on_ns, NS, "time in which calls counted")                            \
	F(R, u64, covered_ns, NS, "time it stands for")                                \
	F(R, u64, shootdowns, COUNT,                                                   \
		"interrupts of CPUs for TLB shootdowns, in the time before the burst") \
	F(R, u64, shootdown_ns, NS, "that time")
RECORD(mmcalls_sampled, MMCALLS_SAMPLED_FIELDS);

#endif
