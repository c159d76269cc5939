/*
 * The records of `numa`, whatever they come from: BPF programs of a live session, a recording, or a
 * perf.data file of another machine. One side makes them, the other (numa_feed.h) knows no source.
 *
 * What is exact, and what is not:
 *  - maps, tasks, blocks, moves, thread moves: each event that was seen, at its own time (exact).
 *    What a source cannot see is not made up: a process that was there before is told of with
 *    NUMA_MAP_HELD, at the begin of the session.
 *  - samples: some of the accesses. `weight` says how many one stands for (an estimate; 0: one).
 *  - node of the page: see enum numa_page_from.
 *
 * Order: records may come in any order within NUMA_WINDOW_NS of time. At equal times they count in
 * the order they came. A record whose time is 0 is from before all others.
 *
 * All nodes are s32, -1: not known. Nodes from NUMA_NODES on are taken as not known, and counted.
 */
#ifndef MEMWHY_PROBES_NUMA_NUMA_H
#define MEMWHY_PROBES_NUMA_NUMA_H

#include "base/mapping_kind.h"
#include "bpf/shared.h"

#define NUMA_NODES 64
#define NUMA_WINDOW_NS 10000000000ULL /* records come at most so late, in time of the stream */

enum numa_op { NUMA_OP_UNKNOWN, NUMA_LOAD, NUMA_STORE, NUMA_LOAD_STORE, NUMA_FETCH };

/* Where the data was found. */
enum numa_level {
	NUMA_LEVEL_UNKNOWN,
	NUMA_L1,
	NUMA_FILL_BUFFER, /* LFB, MAB: on its way to L1 */
	NUMA_L2,
	NUMA_L3,
	NUMA_REMOTE_CACHE, /* of another socket */
	NUMA_RAM,          /* of a node that the source does not tell */
	NUMA_LOCAL_RAM,
	NUMA_REMOTE_RAM,
	NUMA_CXL,
	NUMA_PMEM,
	NUMA_UNCACHED, /* I/O memory */
	NUMA_LEVELS,
};

enum numa_source {
	NUMA_SOURCE_UNKNOWN,
	NUMA_PEBS,
	NUMA_IBS,
	NUMA_SPE,
	NUMA_HINT_FAULT,  /* of automatic NUMA balancing */
	NUMA_FIRST_TOUCH, /* the page was put there by this access */
	NUMA_FAULT,       /* another page fault, of a page that was there */
	NUMA_PERF,        /* a perf event with an address */
	NUMA_SOURCES,
};

/* How the node of the page is known, best first. */
enum numa_page_from {
	NUMA_PAGE_UNKNOWN,   /* page_node is -1 */
	NUMA_PAGE_SEEN,      /* by the kernel at the access, before it moved the page (exact) */
	NUMA_PAGE_FRAME,     /* of the physical address in the sample (exact) */
	NUMA_PAGE_LEVEL = 4, /* the level says local memory: the node of the CPU */
	NUMA_PAGE_FROMS,
};

enum numa_sample_flags {
	NUMA_REMOTE = 1,     /* the hardware says it came from another socket … */
	NUMA_LOCAL = 2,      /* … or did not; neither: it does not say */
	NUMA_HITM = 4,       /* it came out of another CPU's cache, where it was modified */
	NUMA_CYCLES = 8,     /* latency is in cycles, not in ns */
	NUMA_IN_KERNEL = 16, /* the kernel accessed it, for the thread */
	NUMA_TLB_MISS = 32,  /* the translation was walked for */
};

/* One access to memory. */
struct numa_sample {
	struct rec h; /* flags: enum numa_sample_flags */
	u32 tgid, tid;
	u64 address; /* 0: not known */
	u64 ip;      /* the instruction; 0: not known */
	u64 sp;      /* the thread's stack pointer in user mode; 0: not known */
	u64 weight;  /* accesses it stands for (the period); 0: one */
	u32 ustack;  /* on disk: REC_STACK, kernel and user frames; its first frame is the ip's */
	u32 kstack;  /* in the ring only */
	u32 latency; /* 0: not known */
	s32 cpu;
	s32 cpu_node, page_node;
	u8 op;         /* enum numa_op */
	u8 level;      /* enum numa_level */
	u8 source;     /* enum numa_source */
	u8 node_from;  /* enum numa_page_from */
	u8 page_shift; /* of the page's mapping: 12, 21, 30; 0: not known */
	u8 reserved[3];
	u64 ran_ns; /* CPU time of the thread until then, within a tick; 0: not known */
};

enum numa_mapping_what {
	NUMA_MAP_HELD = 1, /* was there before: of /proc/PID/maps, or what perf synthesised */
	NUMA_MAP_MADE,     /* mmap, shmat, brk up: it takes the place of what was there */
	NUMA_MAP_GONE,     /* munmap, shmdt, brk down: the range, whatever is in it */
	NUMA_MAP_NOW =
		5, /* of perf: is there now; new, merged with another, or its rights changed */
	NUMA_MAP_MOVED = 4, /* mremap: old_start, old_bytes became start, bytes */
};

enum numa_mapping_flags { NUMA_MAP_GROWS = 1 }; /* MAP_GROWSDOWN; a MAPPING_STACK held does */

/* A mapping came, went or moved. Also of threads of other processes than those sampled. */
struct numa_mapping {
	struct rec h;  /* flags: enum numa_mapping_flags */
	u32 tgid, tid; /* who did it; tid 0: not known */
	u64 start, bytes;
	u64 old_start, old_bytes; /* of NUMA_MAP_MOVED; old_bytes 0: the old one stays (a copy) */
	u64 offset;               /* into the file */
	u64 inode;
	u32 device; /* as major << 20 | minor */
	u32 file;   /* REC_STRING, 0: none */
	u32 ustack; /* as in numa_sample; 0: not known */
	u32 kstack;
	u8 what; /* enum numa_mapping_what */
	u8 kind; /* enum mapping_kind */
	u8 prot; /* 1 read, 2 write, 4 execute */
	u8 shared;
	u8 reserved[4];
};

enum numa_task_what {
	NUMA_TASK_FORK = 1,    /* process tgid begins as a copy of parent's memory */
	NUMA_TASK_THREAD,      /* thread tid of process tgid begins */
	NUMA_TASK_EXEC,        /* its memory is gone, the maps that follow are the new ones */
	NUMA_TASK_THREAD_EXIT, /* thread tid ended */
	NUMA_TASK_EXIT,        /* the process ended */
	NUMA_TASK_HELD,        /* a thread that was there before, for its stack and tls */
};

/* A process or thread came, went, or changed what it runs. */
struct numa_task {
	struct rec h;
	u32 tgid, tid;
	u32 parent; /* process, of NUMA_TASK_FORK */
	u8 what;    /* enum numa_task_what */
	u8 reserved[3];
	u64 stack; /* an address within the thread's stack; 0: not known */
	u64 tls;   /* the thread pointer (fs base); 0: not known */
};

enum numa_block_what {
	NUMA_BLOCK_ALLOC = 1,
	NUMA_BLOCK_FREE,    /* address only */
	NUMA_BLOCK_REALLOC, /* old_address became address, bytes; it may have stayed in place */
	NUMA_BLOCK_HELD,    /* is there: allocated at begin_ns, and told of when it was accessed */
};

enum numa_block_flags {
	NUMA_BLOCK_EARLY = 1, /* what its thread accessed there since begin_ns was it, … */
};

/* … also the allocator's own words, right before and behind it. */
#define NUMA_BLOCK_EDGE 32

/* A heap block. Where not all are told of (only big ones, or a sample), the rest of the heap is
 * attributed to the mapping it is in. */
struct numa_block {
	struct rec h; /* flags: enum numa_block_flags */
	u32 tgid, tid;
	u64 address, bytes;
	u64 old_address;
	u32 ustack, kstack; /* as in numa_sample */
	s32 cpu_node;       /* where the thread ran */
	u8 what;            /* enum numa_block_what */
	u8 reserved[3];
	u64 begin_ns; /* of NUMA_BLOCK_HELD */
};

enum numa_section { NUMA_DATA = 1, NUMA_BSS, NUMA_TLS, NUMA_RODATA, NUMA_KERNEL_DATA };

/*
 * A variable of an ELF file (or of the kernel: tgid 0), where it is in this process. May come at
 * any time; h.time_ns is when its file was mapped, 0: before all. Forked children have their
 * parent's. Need be sent only for those near which a sample is.
 */
struct numa_variable {
	struct rec h;
	u32 tgid;
	u32 tid; /* of NUMA_TLS; else 0 */
	u64 start, bytes;
	u32 name, file; /* REC_STRING */
	u8 section;     /* enum numa_section */
	u8 reserved[7];
};

/* As enum migrate_reason of the kernel, by name: its numbers change. */
enum numa_move_why {
	NUMA_MOVE_UNKNOWN,
	NUMA_MOVE_BALANCING,
	NUMA_MOVE_SYSCALL, /* move_pages, migrate_pages, mbind */
	NUMA_MOVE_COMPACTION,
	NUMA_MOVE_DEMOTION, /* to a slower tier */
	NUMA_MOVE_OTHER,
};

/* The kernel migrated pages. */
struct numa_move {
	struct rec h;
	u32 tgid, tid; /* in whose context; of NUMA_MOVE_BALANCING: whose pages */
	u64 address;   /* 0: not known */
	u64 pages;     /* base pages moved */
	u64 failed;    /* base pages that it tried to move in vain */
	s32 from, to;
	u8 why; /* enum numa_move_why */
	u8 reserved[7];
};

/* The scheduler took a thread to another CPU; need be sent only where nodes differ. */
struct numa_thread_move {
	struct rec h;
	u32 tgid, tid;
	s32 from_cpu, to_cpu;
	s32 from_node, to_node;
};

enum numa_place_flags {
	NUMA_PLACE_SUM = 1, /* of numa_maps: `pages` are somewhere in the range */
};

/* Where pages are, at h.time_ns: `pages` of the size given, from start on, on this node (exact at
 * that time). Of move_pages; or one record a node and mapping, with NUMA_PLACE_SUM. */
struct numa_place {
	struct rec h; /* flags: enum numa_place_flags */
	u32 tgid;
	s32 node; /* -1: not present (or not readable) */
	u64 start;
	u64 bytes; /* of the range */
	u64 pages; /* of page_bytes each */
	u32 page_bytes;
	u32 reserved;
};

enum numa_node_flags { NUMA_NODE_CPUS = 1, NUMA_NODE_MEMORY = 2 };

/* A node of the machine (exact, at the start). */
struct numa_node {
	struct rec h; /* flags: enum numa_node_flags */
	u32 node;
	s32 tier; /* of memory_tiering: less is faster; -1: not known */
	u64 bytes, free_bytes;
	u8 distances[NUMA_NODES]; /* as in sysfs; 0: not known */
};

struct numa_cpu {
	struct rec h;
	u32 cpu;
	s32 node;
};

/* A call that set a policy, and succeeded. */
struct numa_policy {
	struct rec h;
	u32 tgid, tid;
	u64 start, bytes; /* of mbind */
	u64 nodes;        /* bit i: node i; those from 64 on are left out */
	u32 ustack;       /* as in numa_sample */
	u32 kstack;
	u32 call; /* enum mempolicy_call of sys/mempolicy_abi.h */
	u32 mode; /* with its flags */
};

#endif
