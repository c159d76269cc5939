/*
 * Where the memory of one process is, by NUMA node, where its threads run, and what decides that:
 * its policies, its cpuset, its CPUs. Read from /proc/PID/numa_maps, task/TID/stat, status and
 * cmdline.
 *
 * Exact: pages, policies, what is allowed. Estimated: where threads ran; the CPU time of each
 * thread is attributed to the node of the CPU that it last ran on.
 */
#ifndef MEMWHY_SYS_WHEREABOUTS_H
#define MEMWHY_SYS_WHEREABOUTS_H

#include "base/groups.h"
#include "base/str.h"
#include "sys/host.h"
#include "sys/process/numa_maps.h"

#define WHEREABOUTS_NODES 8 /* those from here on are left out */
#define WHEREABOUTS_POLICY 64
#define WHEREABOUTS_CPUS 256
#define WHEREABOUTS_COMMAND 1024
#define WHEREABOUTS_THREADS 512 /* looked at */
/* Between the words of a command line in one text; a command line that has it is left out. */
#define WHEREABOUTS_WORD_END '\x1f'

struct whereabouts {
	u64 pages[WHEREABOUTS_NODES]; /* resident, of the base page size, hugetlb included */
	/* Those of the pages that are in mappings whose policy names the node they are on. */
	u64 policy_pages[WHEREABOUTS_NODES];
	u64 ran_ns[WHEREABOUTS_NODES]; /* CPU time of its threads */
	u32 threads[WHEREABOUTS_NODES];
	u32 threads_total;  /* more than the sum of threads when not all were looked at */
	u32 allowed_nodes;  /* bit i: the main thread may run on CPUs of node i; 0: not known */
	u32 allowed_memory; /* bit i: its cpuset allows memory on node i; 0: not known */
	char policy[WHEREABOUTS_POLICY]; /* of most of policy_pages: "bind:1"; "": there are none */
	bool own;                        /* … that of its mappings (mbind), not of the process */
	char cpus[WHEREABOUTS_CPUS]; /* that it may run on: "0-3,8"; "": not known, or too long */
	char command[WHEREABOUTS_COMMAND]; /* its command line; "": not known, or too long */
};

/*
 * maps: of the process, as numa_maps_read() has it. ran: the CPU time of each thread (u32 to u64)
 * up to the last look, to report what came since, and is brought up to date; NULL: since they
 * began.
 */
void whereabouts_read(int pid, const struct host *host, const struct numa_maps *maps,
	struct groups *ran, struct whereabouts *ret);
/* The nodes that a policy names, in the words of numa_maps: "bind:0-1", "prefer (many):0",
 * "bind=static:1". 0: none, as of "default" and "local". Nodes from WHEREABOUTS_NODES on are left
 * out. */
u32 whereabouts_policy_nodes(const char *policy);

#endif
