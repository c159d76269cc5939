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
struct swap_event {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 ns;             /* of a wait: from the first read to the end of the fault */
	u64 cgroup;
	u32 pages; /* of a wait: of all its reads */
	u32 reads; /* of a wait; otherwise 1 */
	u8 type;   /* enum swap_type */
	u8 who;
	u8 reserved[6];
	char comm[COMM_LEN];
};

/* On disk: what was counted for one key since the last record of it. */
struct swap_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	u8 type;   /* all but SWAP_WAIT */
	u8 who;
	u8 reserved[2];
	u64 count, pages;            /* reads or writes, and their pages */
	u64 waits, total_ns, max_ns; /* of SWAP_IN and SWAP_ZSWAP; max_ns: since the start */
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[AGG_SLOTS]; /* of the waits */
};

#define SWAP_NAME_LEN 64

/* One device or file of /proc/swaps: at the start, at each interval and at the end. */
struct swap_device {
	struct rec h;
	u64 size_bytes, used_bytes;
	s32 priority;
	u8 is_file; /* a swap file, not a device */
	u8 is_zram; /* zram_* are known */
	u8 reserved[2];
	/* What is stored in the zram device, what it became, and the memory it all takes. */
	u64 zram_data_bytes, zram_compressed_bytes, zram_memory_bytes;
	char name[SWAP_NAME_LEN]; /* the end of its path, if that is longer */
};

/* A process with memory in swap: the same times. Of one without, it is not sent. */
struct swap_owner {
	struct rec h;
	u32 tgid;
	u32 reserved;
	u64 cgroup;      /* 0: not known */
	u64 swap_bytes;  /* VmSwap: anonymous memory in swap */
	u64 first_bytes; /* when the recording began; 0 for a process started since */
	char comm[COMM_LEN];
};

enum swap_counter_flags {
	SWAP_COUNTER_TOTAL = 1, /* grows by events; otherwise the value is a size in bytes */
};

#define SWAP_COUNTER_LEN 40
#define SWAP_NODE_ALL (-1)

/* A counter of /proc/vmstat or a node's vmstat, or a size of /proc/meminfo, when it changed. */
struct swap_counter {
	struct rec h; /* h.flags: enum swap_counter_flags */
	u64 value;
	s32 node; /* SWAP_NODE_ALL: of the machine */
	u32 reserved;
	char name[SWAP_COUNTER_LEN];
};

#endif
