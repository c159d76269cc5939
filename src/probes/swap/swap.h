/* Swapping: what the BPF programs, the probe, its view and rules agree on, and the records. */
#ifndef MEMWHY_PROBES_SWAP_H
#define MEMWHY_PROBES_SWAP_H

#include "bpf/shared.h"

/* What an event is. On disk. */
enum swap_type {
	SWAP_IN = 0,    /* a read from swap was begun: its pages are what pswpin counts */
	SWAP_OUT = 1,   /* a write to swap was begun: pswpout */
	SWAP_WAIT = 2,  /* a page fault that began at least one SWAP_IN or SWAP_ZSWAP is over */
	SWAP_ZSWAP = 3, /* pages came back from zswap, without I/O: zswpin */
	SWAP_TYPE_N,
};

/* Who reads or writes. On disk. */
enum swap_who {
	SWAP_BY_TASK = 0,
	SWAP_BY_KSWAPD = 1,
	SWAP_BY_KERNEL = 2, /* another kernel thread */
	SWAP_WHO_N,
};

/* What hooks tell, by which the view knows whether it was obtained. */
#define SWAP_DATA_IO "swap-ins and swap-outs"
#define SWAP_DATA_ZSWAP "pages that come back from zswap"

struct swap_config {
	u64 min_ns; /* with --each: only waits that took at least this long are events */
	u8 comms;   /* count by the name the task has at the time */
	u8 reserved[7];
};

/* Key of the table of aggregates. */
struct swap_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u8 type;            /* all but SWAP_WAIT */
	u8 who;
	u8 reserved[6];
	char comm[COMM_LEN]; /* "" unless config.comms */
};

/* The meaning of agg_value.sum[]. Its timed part is of the waits. */
enum { SWAP_PAGES };

/* In the ring (--each); the same on disk but for the stacks, which become one. */
#define SWAP_EVENT_FIELDS(F, R)                                                             \
	F(R, u32, tgid, ID, "process")                                                      \
	F(R, u32, tid, ID, "thread")                                                        \
	F(R, u32, ustack, STACK, "where it was begun")                                      \
	F(R, u32, kstack, HIDDEN, "")                                                       \
	F(R, u64, ns, NS, "of a wait: its time")                                            \
	F(R, u64, cgroup, CGROUP, "control group of the task")                              \
	F(R, u32, pages, PAGES, "pages read or written")                                    \
	F(R, u32, reads, COUNT, "of a wait: its reads")                                     \
	F(R, u8, type, ID,                                                                  \
		"0 swap-in, 1 swap-out, 2 wait, 3 swap-in from zswap") /* enum swap_type */ \
	F(R, u8, who, ID, "as in swap_agg")                                                 \
	F(R, u8[6], reserved, HIDDEN, "")                                                   \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(swap_event, SWAP_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define SWAP_AGG_FIELDS(F, R)                                             \
	F(R, u32, tgid, ID, "process")                                    \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")            \
	F(R, u32, stack, STACK, "where it was begun")                     \
	F(R, u8, type, ID, "0 swap-in, 1 swap-out, 3 swap-in from zswap") \
	F(R, u8, who, ID, "0 task, 1 kswapd, 2 other kernel thread")      \
	F(R, u8[2], reserved, HIDDEN, "")                                 \
	F(R, u64, count, COUNT, "reads or writes")                        \
	F(R, u64, pages, PAGES, "their pages")                            \
	F(R, u64, waits, COUNT, "page faults that had to read")           \
	F(R, u64, total_ns, NS, "their time")                             \
	F(R, u64, max_ns, NS, "the longest since the start")              \
	F(R, u64, cgroup, CGROUP, "control group of the task")            \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                   \
	F(R, u32[AGG_SLOTS], hist, COUNT, "log2 histogram of the waits' ns")
RECORD(swap_agg, SWAP_AGG_FIELDS);

#define SWAP_NAME_LEN 64

/* One device or file of /proc/swaps: at the start, at each interval and at the end. */
#define SWAP_DEVICE_FIELDS(F, R)                                                \
	F(R, u64, size_bytes, BYTES, "size")                                    \
	F(R, u64, used_bytes, BYTES, "in use")                                  \
	F(R, s32, priority, NONE, "higher is used first")                       \
	F(R, u8, is_file, ID, "1: a swap file")                                 \
	F(R, u8, is_zram, ID, "1: zram_* are known")                            \
	F(R, u8[2], reserved, HIDDEN, "")                                       \
	F(R, u64, zram_data_bytes, BYTES, "stored in zram, before compression") \
	F(R, u64, zram_compressed_bytes, BYTES, "the same after compression")   \
	F(R, u64, zram_memory_bytes, BYTES, "memory that it takes")             \
	F(R, char[SWAP_NAME_LEN], name, NONE, "path, or the end of it")
RECORD(swap_device, SWAP_DEVICE_FIELDS);

/* A process with memory in swap: at the same times. Not sent for a process without. */
#define SWAP_OWNER_FIELDS(F, R)                                                                \
	F(R, u32, tgid, ID, "process")                                                         \
	F(R, u32, reserved, HIDDEN, "")                                                        \
	F(R, u64, cgroup, CGROUP, "control group that its memory is charged to; 0: not known") \
	F(R, u64, swap_bytes, BYTES, "VmSwap")                                                 \
	F(R, u64, first_bytes, BYTES, "the same at the start; 0 for a process without")        \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(swap_owner, SWAP_OWNER_FIELDS);

enum swap_counter_flags {
	SWAP_COUNTER_TOTAL = 1, /* grows by events; otherwise the value is a size in bytes */
};

#define SWAP_COUNTER_LEN 40
#define SWAP_NODE_ALL (-1)

/* A counter of /proc/vmstat or a node's vmstat, or a size of /proc/meminfo, when it changed. Flags:
 * enum swap_counter_flags. */
#define SWAP_COUNTER_FIELDS(F, R)                                                                \
	F(R, u64, value, NONE,                                                                   \
		"flags 1: events since boot, in pages or as the kernel counts; otherwise bytes") \
	F(R, s32, node, ID, "NUMA node; -1: the machine")                                        \
	F(R, u32, reserved, HIDDEN, "")                                                          \
	F(R, char[SWAP_COUNTER_LEN], name, NONE, "name in vmstat or meminfo")
RECORD(swap_counter, SWAP_COUNTER_FIELDS);

#endif
