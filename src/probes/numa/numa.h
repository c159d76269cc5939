/*
 * The records of `numa`, whatever their source: BPF programs of a live session, a recording, or a
 * perf.data file of another machine. Sources create them; the consumer (numa_feed.h) knows no
 * source.
 *
 * What is exact and what is not:
 * - Maps, tasks, blocks, moves, thread moves: every event that was seen, at its own time (exact).
 *   What a source cannot see is not invented: a process that existed before is announced with
 *   NUMA_MAP_HELD at the start of the session.
 * - Samples: some of the accesses. `weight` says how many one stands for (an estimate; 0: one).
 * - Node of the page: see enum numa_page_from.
 *
 * Order: records may come in any order within NUMA_WINDOW_NS of time. Records with the same time
 * count in the order they came. A record with time 0 precedes all others.
 *
 * All nodes are s32; -1: not known. Nodes from NUMA_NODES on are treated as not known, and counted.
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

/* One access to memory. Flags: enum numa_sample_flags. */
#define NUMA_SAMPLE_FIELDS(F, R)                                                                   \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread")                                                               \
	F(R, u64, address, HEX, "what was accessed; 0: not known")                                 \
	F(R, u64, ip, HEX, "the instruction; 0: not known")                                        \
	F(R, u64, sp, HEX, "stack pointer of the thread; 0: not known")                            \
	F(R, u64, weight, COUNT, "accesses it stands for (estimated); 0: one")                     \
	F(R, u32, ustack, STACK, "where it was accessed")                                          \
	F(R, u32, kstack, HIDDEN, "")                                                              \
	F(R, u32, latency, NONE, "in ns or cycles, see flags; 0: not known")                       \
	F(R, s32, cpu, ID, "processor; -1: not known")                                             \
	F(R, s32, cpu_node, ID, "node of the processor; -1: not known")                            \
	F(R, s32, page_node, ID, "node of the page; -1: not known")                                \
	F(R, u8, op, ID,                                                                           \
		"1 load, 2 store, 3 both, 4 instruction fetch; 0: not known") /* enum numa_op */   \
	F(R, u8, level, ID,                                                                        \
		"where the data was: 1 L1, 2 fill buffer, 3 L2, 4 L3, 5 a remote cache, 6 RAM, 7 " \
		"local RAM, 8 remote RAM, 9 CXL, 10 PMEM, 11 uncached; 0: not known")              \
	F(R, u8, source, ID,                                                                       \
		"1 PEBS, 2 IBS, 3 SPE, 4 NUMA hint fault, 5 first touch, 6 another page fault, 7 " \
		"another perf event") /* enum numa_source */                                       \
	F(R, u8, node_from, ID,                                                                    \
		"how page_node is known: 1 seen at the access, 2 of the physical address, 4 of "   \
		"level; 0: it is not") /* enum numa_page_from */                                   \
	F(R, u8, page_shift, ID, "size of the page as a power of two; 0: not known")               \
	F(R, u8[3], reserved, HIDDEN, "")                                                          \
	F(R, u64, ran_ns, NS, "CPU time of the thread until then; 0: not known")
RECORD(numa_sample, NUMA_SAMPLE_FIELDS);

enum numa_mapping_what {
	NUMA_MAP_HELD = 1, /* was there before: of /proc/PID/maps, or what perf synthesised */
	NUMA_MAP_MADE,     /* mmap, shmat, brk up: it takes the place of what was there */
	NUMA_MAP_GONE,     /* munmap, shmdt, brk down: the range, whatever is in it */
	NUMA_MAP_NOW =
		5, /* of perf: is there now; new, merged with another, or its rights changed */
	NUMA_MAP_MOVED = 4, /* mremap: old_start, old_bytes became start, bytes */
};

enum numa_mapping_flags { NUMA_MAP_GROWS = 1 }; /* MAP_GROWSDOWN; a MAPPING_STACK held does */

/* A mapping came, went or moved. Also of threads of other processes than those sampled. Flags: enum
 * numa_mapping_flags. */
#define NUMA_MAPPING_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, tid, ID, "thread; 0: not known")                                              \
	F(R, u64, start, HEX, "its first address")                                              \
	F(R, u64, bytes, BYTES, "its length")                                                   \
	F(R, u64, old_start, HEX, "where it was before it moved")                               \
	F(R, u64, old_bytes, BYTES, "its length there")                                         \
	F(R, u64, offset, BYTES, "into the file")                                               \
	F(R, u64, inode, ID, "of the file")                                                     \
	F(R, u32, device, ID, "of the file: major << 20 | minor")                               \
	F(R, u32, file, STRING, "path of the file; 0: none")                                    \
	F(R, u32, ustack, STACK, "where it was mapped")                                         \
	F(R, u32, kstack, HIDDEN, "")                                                           \
	F(R, u8, what, ID,                                                                      \
		"1 was there before, 2 made, 3 gone, 4 moved, 5 is there now: new, merged or "  \
		"with other rights") /* enum numa_mapping_what */                               \
	F(R, u8, kind, ID,                                                                      \
		"1 anonymous, 2 heap, 3 stack, 4 file, 5 shared memory, 6 hugetlb, 7 vdso; 0: " \
		"not known") /* enum mapping_kind */                                            \
	F(R, u8, prot, HEX, "1 read, 2 write, 4 execute")                                       \
	F(R, u8, shared, NONE, "1: a shared mapping")                                           \
	F(R, u8[4], reserved, HIDDEN, "")
RECORD(numa_mapping, NUMA_MAPPING_FIELDS);

enum numa_task_what {
	NUMA_TASK_FORK = 1,    /* process tgid begins as a copy of parent's memory */
	NUMA_TASK_THREAD,      /* thread tid of process tgid begins */
	NUMA_TASK_EXEC,        /* its memory is gone, the maps that follow are the new ones */
	NUMA_TASK_THREAD_EXIT, /* thread tid ended */
	NUMA_TASK_EXIT,        /* the process ended */
	NUMA_TASK_HELD,        /* a thread that was there before, for its stack and tls */
};

/* A process or thread came, went, or changed what it runs. */
#define NUMA_TASK_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                         \
	F(R, u32, tid, ID, "thread")                                                           \
	F(R, u32, parent, ID, "process that forked it")                                        \
	F(R, u8, what, ID,                                                                     \
		"1 fork, 2 thread begins, 3 exec, 4 thread ends, 5 process ends, 6 was there " \
		"before") /* enum numa_task_what */                                            \
	F(R, u8[3], reserved, HIDDEN, "")                                                      \
	F(R, u64, stack, HEX, "an address in the thread's stack; 0: not known")                \
	F(R, u64, tls, HEX, "thread pointer; 0: not known")
RECORD(numa_task, NUMA_TASK_FIELDS);

enum numa_block_what {
	NUMA_BLOCK_ALLOC = 1,
	NUMA_BLOCK_FREE,    /* address only */
	NUMA_BLOCK_REALLOC, /* old_address became address, bytes; it may have stayed in place */
	NUMA_BLOCK_HELD,    /* exists: allocated at begin_ns, and sent when it was accessed */
};

enum numa_block_flags {
	NUMA_BLOCK_EARLY = 1, /* what its thread accessed there since begin_ns was it, … */
};

/* … also the allocator's own words, right before and behind it. */
#define NUMA_BLOCK_EDGE 32

/* A heap block. Where not all are sent (only big ones, or a sample), the rest of the heap is
 * attributed to the mapping it is in. Flags: enum numa_block_flags. */
#define NUMA_BLOCK_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                        \
	F(R, u32, tid, ID, "thread")                                                          \
	F(R, u64, address, HEX, "of the block")                                               \
	F(R, u64, bytes, BYTES, "its size")                                                   \
	F(R, u64, old_address, HEX, "of realloc: where it was")                               \
	F(R, u32, ustack, STACK, "where it was allocated")                                    \
	F(R, u32, kstack, HIDDEN, "")                                                         \
	F(R, s32, cpu_node, ID, "node the thread ran on; -1: not known")                      \
	F(R, u8, what, ID,                                                                    \
		"1 allocated, 2 freed, 3 reallocated, 4 is there") /* enum numa_block_what */ \
	F(R, u8[3], reserved, HIDDEN, "")                                                     \
	F(R, u64, begin_ns, NS, "of what is there: when it was allocated")
RECORD(numa_block, NUMA_BLOCK_FIELDS);

enum numa_section { NUMA_DATA = 1, NUMA_BSS, NUMA_TLS, NUMA_RODATA, NUMA_KERNEL_DATA };

/*
 * A variable of an ELF file (or of the kernel: tgid 0), where it is in this process. May come at
 * any time; h.time_ns is when its file was mapped, 0: before all. Forked children have their
 * parent's. Need be sent only for those near which a sample is.
 */
#define NUMA_VARIABLE_FIELDS(F, R)                                                           \
	F(R, u32, tgid, ID, "process; 0: the kernel")                                        \
	F(R, u32, tid, ID, "thread, of a thread's own variable")                             \
	F(R, u64, start, HEX, "where it is")                                                 \
	F(R, u64, bytes, BYTES, "its size")                                                  \
	F(R, u32, name, STRING, "its name")                                                  \
	F(R, u32, file, STRING, "path of the file it is of")                                 \
	F(R, u8, section, ID, "1 .data, 2 .bss, 3 thread-local, 4 .rodata, 5 of the kernel") \
	F(R, u8[7], reserved, HIDDEN, "")
RECORD(numa_variable, NUMA_VARIABLE_FIELDS);

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
#define NUMA_MOVE_FIELDS(F, R)                                                                     \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread")                                                               \
	F(R, u64, address, HEX, "of the pages; 0: not known")                                      \
	F(R, u64, pages, PAGES, "pages moved")                                                     \
	F(R, u64, failed, PAGES, "pages that could not be moved")                                  \
	F(R, s32, from, ID, "node; -1: not known")                                                 \
	F(R, s32, to, ID, "node; -1: not known")                                                   \
	F(R, u8, why, ID,                                                                          \
		"1 NUMA balancing, 2 a system call, 3 compaction, 4 demotion to a slower tier, 5 " \
		"other; 0: not known") /* enum numa_move_why */                                    \
	F(R, u8[7], reserved, HIDDEN, "")
RECORD(numa_move, NUMA_MOVE_FIELDS);

/* The scheduler took a thread to another CPU; need be sent only where nodes differ. */
#define NUMA_THREAD_MOVE_FIELDS(F, R)                      \
	F(R, u32, tgid, ID, "process")                     \
	F(R, u32, tid, ID, "thread")                       \
	F(R, s32, from_cpu, ID, "processor it was on")     \
	F(R, s32, to_cpu, ID, "processor it was moved to") \
	F(R, s32, from_node, ID, "node of the first")      \
	F(R, s32, to_node, ID, "node of the second")
RECORD(numa_thread_move, NUMA_THREAD_MOVE_FIELDS);

enum numa_place_flags {
	NUMA_PLACE_SUM = 1, /* of numa_maps: `pages` are somewhere in the range */
};

/*
 * Where pages are, at h.time_ns: `pages` of the size given, from start on, on this node (exact at
 * that time). From move_pages; or one record a node and mapping, with NUMA_PLACE_SUM. Flags: enum
 * numa_place_flags.
 */
#define NUMA_PLACE_FIELDS(F, R)                                     \
	F(R, u32, tgid, ID, "process")                              \
	F(R, s32, node, ID, "node; -1: not present")                \
	F(R, u64, start, HEX, "first address of the range")         \
	F(R, u64, bytes, BYTES, "its length")                       \
	F(R, u64, pages, COUNT, "pages of page_bytes on that node") \
	F(R, u32, page_bytes, BYTES, "size of a page")              \
	F(R, u32, reserved, HIDDEN, "")
RECORD(numa_place, NUMA_PLACE_FIELDS);

enum numa_node_flags { NUMA_NODE_CPUS = 1, NUMA_NODE_MEMORY = 2 };

/* A node of the machine (exact, at the start). Flags: enum numa_node_flags. */
#define NUMA_NODE_FIELDS(F, R)                                              \
	F(R, u32, node, ID, "node")                                         \
	F(R, s32, tier, ID, "of its memory, less is faster; -1: not known") \
	F(R, u64, bytes, BYTES, "its memory")                               \
	F(R, u64, free_bytes, BYTES, "of it, free")                         \
	F(R, u8[NUMA_NODES], distances, NONE, "to each node, as sysfs has it; 0: not known")
RECORD(numa_node, NUMA_NODE_FIELDS);

#define NUMA_CPU_FIELDS(F, R)           \
	F(R, u32, cpu, ID, "processor") \
	F(R, s32, node, ID, "its node")
RECORD(numa_cpu, NUMA_CPU_FIELDS);

/* A call that set a policy, and succeeded. */
#define NUMA_POLICY_FIELDS(F, R)                                                       \
	F(R, u32, tgid, ID, "process")                                                 \
	F(R, u32, tid, ID, "thread")                                                   \
	F(R, u64, start, HEX, "of mbind: first address of the range")                  \
	F(R, u64, bytes, BYTES, "of mbind: its length")                                \
	F(R, u64, nodes, HEX, "bit i: node i; those from 64 on are left out")          \
	F(R, u32, ustack, STACK, "where it was called")                                \
	F(R, u32, kstack, HIDDEN, "")                                                  \
	F(R, u32, call, ID, "number of the system call: 237 mbind, 238 set_mempolicy") \
	F(R, u32, mode, HEX, "mode of the policy, with its flags")
RECORD(numa_policy, NUMA_POLICY_FIELDS);

#endif
