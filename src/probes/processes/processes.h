/* Processes and their memory: the records. */
#ifndef MEMWHY_PROBES_PROCESSES_H
#define MEMWHY_PROBES_PROCESSES_H

#include <stdbool.h>

#include "event/wire.h"

/* Who watches wants to know what page tables say too, from the next sample on, or no longer. */
void processes_closely(bool on);

enum process_flags {
	PROCESS_EXACT = 1, /* exact_anon_bytes, swap_bytes and what comes from status are known */
	PROCESS_OOM = 2,   /* oom_score and oom_score_adj are known */
	/* Sent at each sample while it is looked at: one that is not among a sample's is gone, or
	 * no longer stands out. */
	PROCESS_EVERY = 4,
	PROCESS_USER = 8, /* uid and user are known */
	/* Its first thread has ended and others run on: it looks like a zombie. */
	PROCESS_HEADLESS = 16,
	PROCESS_SOFT_HEAP = 32, /* heap_limit_bytes is GOMEMLIMIT: no wall, but where it collects */
};

/*
 * One process worth looking at: among the biggest, or grown since it was first seen, or asked
 * for. Sent at each sample at which it changed, or had grown by more than 1 MiB since it was first
 * seen, and of all such processes that are still there, at the end.
 Flags: enum process_flags. */
#define PROCESS_MEMORY_FIELDS(F, R)                                                             \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, ppid, ID, "its parent")                                                       \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                                \
	F(R, u64, cgroup, CGROUP, "control group that its memory is charged to")                \
	F(R, u64, rss_bytes, BYTES, "resident memory")                                          \
	F(R, u64, anon_bytes, BYTES,                                                            \
		"anonymous resident memory, as resident less shared of statm (approximate)")    \
	F(R, u64, first_anon_bytes, BYTES, "anon_bytes when it was first seen")                 \
	F(R, u64, first_ns, NS, "when that was")                                                \
	F(R, u64, exact_anon_bytes, BYTES,                                                      \
		"anonymous resident memory, as in status; only with flag 1")                    \
	F(R, u64, swap_bytes, BYTES, "anonymous memory in swap; only with flag 1")              \
	F(R, u64, minflt_total, COUNT, "minor faults since its start")                          \
	F(R, u64, majflt_total, COUNT, "major faults since its start")                          \
	F(R, u64, utime_ns, NS, "cpu time in user mode since its start")                        \
	F(R, u64, stime_ns, NS, "cpu time in the kernel since its start")                       \
	F(R, char[COMM_LEN], comm, NONE, "its name")                                            \
	F(R, u64, vm_bytes, BYTES, "its address space; 0: not known")                           \
	F(R, u64, first_vm_bytes, BYTES, "vm_bytes when it was first seen")                     \
	F(R, u64, rss_file_bytes, BYTES, "resident pages of files; only with flag 1")           \
	F(R, u64, rss_shmem_bytes, BYTES, "resident shared memory and tmpfs; only with flag 1") \
	F(R, u64, page_table_bytes, BYTES, "page tables; only with flag 1")                     \
	F(R, u32, threads, COUNT, "its threads; only with flag 1")                              \
	F(R, s32, oom_score_adj, NONE, "its oom_score_adj; only with flag 2")                   \
	F(R, u32, oom_score, NONE, "its oom_score; only with flag 2")                           \
	F(R, u32, uid, ID, "its effective user; only with flag 8")                              \
	F(R, u64, low_anon_bytes, BYTES,                                                        \
		"the least that anon_bytes was since the last record; 0: not known")            \
	F(R, u32, user, STRING, "the name of that, or the number; only with flag 8")            \
	F(R, u32, reserved, HIDDEN, "")                                                         \
	F(R, u64, stack_bytes, BYTES, "the stack of its first thread; only with flag 1")        \
	F(R, u64, heap_limit_bytes, BYTES,                                                      \
		"what it was started with allows the heap of its runtime; 0: not known; with "  \
		"flag 32 GOMEMLIMIT")                                                           \
	F(R, u64, collector_ns, NS,                                                             \
		"cpu time since its start of threads that only collect garbage; 0: not known")
RECORD(process_memory, PROCESS_MEMORY_FIELDS);

/*
 * Processes of one name and one descent: a server with its workers, or the children of one parent.
 * Sent at each sample once together they had grown by more than 1 MiB. Memory that they share
 * since a fork is counted in each.
 */
#define PROCESS_FAMILY_FIELDS(F, R)                                                                \
	F(R, u32, leader, ID, "the first of them, or the parent of all")                           \
	F(R, u32, biggest, ID, "the process with most memory")                                     \
	F(R, u32, processes, COUNT, "how many there are")                                          \
	F(R, u32, first_processes, COUNT, "how many there were at first")                          \
	F(R, u64, anon_bytes, BYTES, "their anonymous memory; what they share is counted in each") \
	F(R, u64, first_anon_bytes, BYTES, "anon_bytes when first seen")                           \
	F(R, u64, rss_bytes, BYTES, "their resident memory")                                       \
	F(R, u64, first_ns, NS, "when they were first seen")                                       \
	F(R, char[COMM_LEN], comm, NONE, "their name")                                             \
	F(R, u64, oldest_ns, NS, "start of the oldest, of CLOCK_MONOTONIC; 0: not known")
RECORD(process_family, PROCESS_FAMILY_FIELDS);

/*
 * Which code path makes a process grow, from one second in which it was sampled: page faults on
 * memory without a file that is still there, sampled, with stacks that need no frame pointers.
 * Those with most samples are sent.
 */
#define PROCESS_PATH_FIELDS(F, R)                          \
	F(R, u32, tgid, ID, "process")                     \
	F(R, u32, stack, STACK, "its innermost frames")    \
	F(R, u64, count, COUNT, "samples with this stack") \
	F(R, u64, samples, COUNT, "samples of the process in all")
RECORD(process_path, PROCESS_PATH_FIELDS);

enum process_detail_flags {
	PROCESS_ROLLUP = 1, /* the members from pss_bytes on are known */
};

/* A closer look at the few processes with most, or fastest growing, anonymous memory. Flags: enum
 * process_detail_flags. */
#define PROCESS_DETAIL_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                            \
	F(R, u32, threads, COUNT, "its threads")                                                  \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                                  \
	F(R, u64, rss_bytes, BYTES, "resident memory")                                            \
	F(R, u64, rss_anon_bytes, BYTES, "anonymous resident memory")                             \
	F(R, u64, rss_file_bytes, BYTES, "resident pages of files")                               \
	F(R, u64, rss_shmem_bytes, BYTES, "resident shared memory and tmpfs")                     \
	F(R, u64, rss_peak_bytes, BYTES, "the most resident memory it had")                       \
	F(R, u64, swap_bytes, BYTES, "anonymous memory in swap")                                  \
	F(R, u64, page_table_bytes, BYTES, "page tables")                                         \
	F(R, u64, hugetlb_bytes, BYTES, "hugetlb pages, not part of rss_bytes")                   \
	F(R, u64, locked_bytes, BYTES, "locked memory (mlock)")                                   \
	F(R, u64, pss_bytes, BYTES,                                                               \
		"resident memory, shared pages divided by their sharers; from here on with flag " \
		"1")                                                                              \
	F(R, u64, anon_huge_bytes, BYTES, "anonymous memory in huge pages")                       \
	F(R, u64, shmem_huge_bytes, BYTES, "shared memory in huge pages")                         \
	F(R, u64, file_huge_bytes, BYTES, "files in huge pages")                                  \
	F(R, u64, lazy_free_bytes, BYTES, "freed by MADV_FREE, still resident")                   \
	F(R, u64, swap_pss_bytes, BYTES, "swap, divided by its sharers")                          \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(process_detail, PROCESS_DETAIL_FIELDS);

#define PROCESS_NODES 8

/* Flags of struct process_numa: the policy is that of its mappings (mbind), not of the process. */
enum process_numa_flags { PROCESS_NUMA_OWN = 1 };

/*
 * Where a process's memory is and where its threads ran, on machines with several NUMA nodes.
 * Nodes from PROCESS_NODES on are left out.
 Flags: enum process_numa_flags. */
#define PROCESS_NUMA_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                            \
	F(R, u32, nodes, COUNT, "NUMA nodes of the machine")                                      \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                                  \
	F(R, u64[PROCESS_NODES], resident_pages, PAGES,                                           \
		"resident memory by node, in base pages; nodes from 8 on are left out")           \
	F(R, u32[PROCESS_NODES], threads, COUNT, "threads by the node they last ran on")          \
	F(R, u32, allowed_nodes, HEX, "bit i: its main thread may run on node i; 0: not known")   \
	F(R, u32, threads_total, COUNT, "its threads, also those not looked at")                  \
	F(R, char[COMM_LEN], comm, NONE, "its name")                                              \
	F(R, u64[PROCESS_NODES], policy_pages, PAGES,                                             \
		"of resident_pages, under a policy that names the node")                          \
	F(R, u64[PROCESS_NODES], ran_ns, NS,                                                      \
		"CPU time of its threads, by the node that each was on last (estimated)")         \
	F(R, u32, policy, STRING, "of most of policy_pages; flag 1: of its mappings")             \
	F(R, u32, command, STRING, "its command line, 0x1f between words")                        \
	F(R, u32, allowed_memory, HEX, "bit i: its cpuset allows memory on node i; 0: not known") \
	F(R, u32, cpu_nodes, HEX, "bit i: node i has cpus; 0: not known")                         \
	F(R, u32, allowed_cpus, STRING, "cpus that it may run on")                                \
	F(R, u32, reserved, HIDDEN, "")
RECORD(process_numa, PROCESS_NUMA_FIELDS);

#endif
