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
};

struct mmcalls_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
	u16 call; /* enum mmcalls_call */
	u16 advice;
	u32 reserved;
};

/* agg_value.sum */
enum { MMCALLS_BYTES };

/* On disk: calls of one kind, in the bursts since the last such record. */
struct mmcalls_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack;  /* REC_STACK */
	u16 call;   /* enum mmcalls_call */
	u16 advice; /* of madvise */
	u64 count;
	u64 bytes; /* the lengths that were asked for; of brk 0 */
	u64 cgroup;
	char comm[COMM_LEN];
};

/* The records above count bursts. Since the last one: */
struct mmcalls_sampled {
	struct rec h;
	u64 bursts;
	u64 on_ns;      /* counted */
	u64 covered_ns; /* in the place of this time */
	/* TLB shootdowns that CPUs were interrupted for, in shootdown_ns before the burst. */
	u64 shootdowns, shootdown_ns;
};

#endif
