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
};

/*
 * One process worth looking at: among the biggest, or grown since it was first seen, or asked
 * for. Sent at each sample at which it changed, or had grown by more than 1 MiB since it was first
 * seen, and of all such processes that are still there, at the end.
 */
struct process_memory {
	struct rec h; /* h.flags: enum process_flags */
	u32 tgid;
	u32 ppid;
	u64 start_ns; /* when it was started, since boot: with tgid, its identity */
	u64 cgroup;   /* the one its memory is charged to; 0: not known */
	u64 rss_bytes;
	/* Anonymous memory as resident less shared of statm. On kernels from 6.2 on, which count
	 * per cpu, rss_bytes and anon_bytes may be off by some pages a cpu. */
	u64 anon_bytes;
	u64 first_anon_bytes;           /* anon_bytes when it was first seen, … */
	u64 first_ns;                   /* … at this time (CLOCK_MONOTONIC) */
	u64 exact_anon_bytes;           /* RssAnon */
	u64 swap_bytes;                 /* VmSwap: anonymous memory in swap */
	u64 minflt_total, majflt_total; /* faults since its start, all threads */
	u64 utime_ns, stime_ns;
	char comm[COMM_LEN];
	u64 vm_bytes,
		first_vm_bytes; /* address space (VmSize), now and when first seen; 0: not known */
	/* From status, only with PROCESS_EXACT; zero in recordings of before they were added. */
	u64 rss_file_bytes, rss_shmem_bytes, page_table_bytes;
	u32 threads;
	s32 oom_score_adj;
	u32 oom_score; /* of 1000 (to 2000 with the adjustment): the highest is killed first */
	u32 uid;
	u64 low_anon_bytes; /* the least that anon_bytes was since the last record; 0: not known */
	u32 user;           /* string: the name of uid, or its number */
	u32 reserved;
};

/*
 * Processes of one name and one descent: a server with its workers, or the children of one parent.
 * Sent at each sample once together they had grown by more than 1 MiB. Memory that they share
 * since a fork is counted in each.
 */
struct process_family {
	struct rec h;
	u32 leader;  /* the first of them, or the parent of all, of another name */
	u32 biggest; /* the one with most memory; 0: there is none left */
	u32 processes, first_processes;
	u64 anon_bytes, first_anon_bytes; /* first_*: when it was first seen, at first_ns */
	u64 rss_bytes;
	u64 first_ns;
	char comm[COMM_LEN];
};

enum process_detail_flags {
	PROCESS_ROLLUP = 1, /* the members from pss_bytes on are known */
};

/* A closer look at the few processes with most, or fastest growing, anonymous memory. */
struct process_detail {
	struct rec h; /* h.flags: enum process_detail_flags */
	u32 tgid;
	u32 threads;
	u64 start_ns;
	/* From status. */
	u64 rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	u64 rss_peak_bytes;
	u64 swap_bytes;
	u64 page_table_bytes;
	u64 hugetlb_bytes;
	u64 locked_bytes;
	/* From smaps_rollup. */
	u64 pss_bytes; /* shared pages divided by those who share them */
	u64 anon_huge_bytes, shmem_huge_bytes, file_huge_bytes; /* mapped as huge pages */
	u64 lazy_free_bytes; /* given back by MADV_FREE, not yet reclaimed; part of the RSS */
	u64 swap_pss_bytes;
	char comm[COMM_LEN];
};

#define PROCESS_NODES 8

/* Of struct process_numa: the policy is of its mappings (mbind), not of the process. */
enum process_numa_flags { PROCESS_NUMA_OWN = 1 };

/*
 * Where a process's memory is and where its threads ran, on machines with several NUMA nodes.
 * Nodes from PROCESS_NODES on are left out.
 */
struct process_numa {
	struct rec h; /* flags: enum process_numa_flags */
	u32 tgid;
	u32 nodes; /* of the machine */
	u64 start_ns;
	u64 resident_pages[PROCESS_NODES]; /* by node, of the base page size, hugetlb included */
	u32 threads[PROCESS_NODES];        /* threads by the node of the cpu they last ran on */
	u32 allowed_nodes; /* bit i: the main thread may run on cpus of node i; 0: not known */
	u32 threads_total; /* more than the sum of threads when not all were looked at */
	char comm[COMM_LEN];
	/* Of resident_pages, those in mappings whose policy names the node that they are on. */
	u64 policy_pages[PROCESS_NODES];
	/* CPU time of its threads by the node of the cpu that each was on last: since they began;
	 * of the numa probe, since it last looked. */
	u64 ran_ns[PROCESS_NODES];
	u32 policy;         /* REC_STRING: of most of policy_pages, as numa_maps has it; 0: none */
	u32 command;        /* REC_STRING: its words, with 0x1f between them; 0: not known */
	u32 allowed_memory; /* bit i: its cpuset allows memory on node i; 0: not known */
	u32 cpu_nodes;      /* bit i: node i of the machine has cpus; 0: not known */
	u32 allowed_cpus;   /* REC_STRING: "0-3,8"; 0: not known */
	u32 reserved;
};

#endif
