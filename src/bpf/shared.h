/*
 * What the BPF programs of every probe and their loader agree on: the scope filter, the counters
 * behind "seen = delivered + lost", and the names of the maps that carry them.
 */
#ifndef MEMWHY_BPF_SHARED_H
#define MEMWHY_BPF_SHARED_H

#include "event/wire.h"

#define STACK_DEPTH_MAX 127 /* kernel.perf_event_max_stack */

#define RING_LOOK_NS 50000000ULL /* how often the reader of the ring looks by itself */

/* Ids of stacks: with this bit a key of `user_stacks` or `recent_stacks`, else an id of `stacks`
 * plus one. 0: none. */
#define STACK_WALKED (1U << 31)

/*
 * A frame of a walked stack is an address, or with this bit a place: the number of a file in the
 * loader's table of modules, and the offset in it. So a stack is one for all processes that run the
 * same files, wherever these are mapped, and has its names when they are gone.
 */
#define STACK_PLACE (1ULL << 63)
#define STACK_PLACE_SHIFT 40 /* offsets are below */
#define STACK_PLACE_MODULE(frame_) ((u32)(((frame_) & ~STACK_PLACE) >> STACK_PLACE_SHIFT))
#define STACK_PLACE_OFFSET(frame_) ((frame_) & ((1ULL << STACK_PLACE_SHIFT) - 1))

/* A user stack as walked by our own code. */
struct user_stack {
	u64 hash; /* of all the rest; the key holds its low bits */
	u32 n;
	u8 method; /* enum stack_method */
	u8 detail;
	u8 reserved[2];
	u64 frames[STACK_DEPTH_MAX]; /* what is behind n is left from others */
};

/* The same as the kernel walks it by frame pointers, for sessions that last (bpf/recent.bpf.h). It
 * begins as a struct user_stack does. */
#define RECENT_DEPTH 32
struct recent_stack {
	u64 hash;
	u32 n;
	u8 method, detail;
	u8 reserved[2];
	u64 frames[RECENT_DEPTH];
};

#define STACK_HASH_STEP 0x9e3779b97f4a7c15ULL

static inline u64 stack_hash(u64 hash, u64 value)
{
	hash = (hash ^ value) * STACK_HASH_STEP;
	return hash ^ hash >> 32;
}

enum scope_cgroup {
	SCOPE_CGROUP_NONE,
	SCOPE_CGROUP_V1,
	SCOPE_CGROUP_V2,
	SCOPE_CGROUP_V2_WALK, /* only as by_cgroup: without the helper for ancestors (to 5.12) */
};

/* Read-only to the programs, so the verifier removes what is not asked for. */
struct scope_config {
	u8 by_task; /* the current tgid or tid must be in scope_tasks */
	u8 by_comm;
	u8 by_cgroup; /* enum scope_cgroup: the current task is in cgroup_id or below it */
	u8 follow;    /* children of tasks in scope_tasks are added to it */
	u8 cgroup_of; /* enum scope_cgroup: hierarchy whose cgroup ids records carry */
	u8 user_stacks;
	u8 kernel_stacks;
	u8 each;      /* send an event a record, not only aggregates */
	u8 by_thread; /* aggregates are wanted by thread, not only by process */
	u8 recent;    /* user stacks are kept in recent_stacks */
	u8 reserved[2];
	u32 except;       /* memwhy, which does not count, nor do those of scope_self; 0: all do */
	u32 stack_every;  /* take a stack at every Nth event of a CPU; 0 or 1: all */
	u32 cgroup_level; /* of cgroup_id below its hierarchy's root */
	u32 wake_bytes;   /* see ring_submit */
	u32 task; /* one of scope_tasks, which is not looked up: the command, or the first of -p */
	u64 cgroup_id;
	char comm[COMM_LEN];
};

/* Two readers, the openers of perf events and of files, a keeper of settings, who fetches debug
 * files, and two of the command's own. */
#define SELF_HELPERS 8

/* The element of the array scope_self, which all objects of a session have in common. */
struct scope_self {
	u32 tgid[SELF_HELPERS]; /* processes that work for memwhy; 0: none */
	u32 paused; /* nothing counts: while the others are attached or detached one by one */
};

/* The element of a probe's array of bursts (struct probe_bursts): count until then. */
struct burst_now {
	u64 number;   /* 0: between two */
	u64 since_ns; /* of bpf_ktime_get_ns(), as the next */
	u64 until_ns; /* we may come late to end it */
};

#define AGG_SLOTS 32
#define AGG_HIST_HELP "log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"
#define AGG_SUMS 7
#define AGG_NAME_LEN 32

/*
 * What is counted for one key of a table of aggregates, per CPU. Everything up to hist is summed
 * over CPUs, max_ns is the maximum; the rest is written when the key is first seen on a CPU.
 */
struct agg_value {
	u64 count;
	u64 timed; /* events whose duration is known; hist, total_ns and max_ns are of these */
	u64 total_ns;
	u64 max_ns;
	u64 sum[AGG_SUMS];   /* as the probe says */
	u32 hist[AGG_SLOTS]; /* of durations: slot 0: 0 ns, slot i: 2^(i-1) <= ns < 2^i */
	u64 cgroup;
	char comm[COMM_LEN];
	char name[AGG_NAME_LEN];
};

#define LIFETIME_SHIFT 10 /* see agg_lifetime */

/*
 * The lean value, for events that come by the million and have no duration: as agg_value, but all
 * up to cgroup is summed over CPUs.
 */
#define SUM_SLOTS 5

struct sum_value {
	u64 count;
	u64 sum[SUM_SLOTS]; /* as the probe says */
	u64 cgroup;
	char comm[COMM_LEN];
};

/* Per CPU, summed by the loader. */
struct probe_counts {
	u64 seen;       /* events within the scope */
	u64 lost_ring;  /* the ring was full */
	u64 lost_map;   /* the table of aggregates was full */
	u64 lost_state; /* there was no memory for what is kept of a thread */
	u64 lost_stack; /* the event is counted, its stack is not known */
	u64 lost_task;  /* the event is counted, of its task only the name is known */
	u64 lost_scope; /* a child that could not be added to scope_tasks */
	u64 lost_busy;  /* a program was already running on that CPU (added to by the loader) */
	u64 rescued;    /* of what a busy program would have lost: counted by another one */
	u64 unpaired;   /* the end of something whose start was not seen, or the reverse */
};

#endif
