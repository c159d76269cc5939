/* OOM kills: what the BPF programs, the probe, its view and its rule agree on, and the records. */
#ifndef MEMWHY_PROBES_OOM_H
#define MEMWHY_PROBES_OOM_H

#include "bpf/shared.h"

/* What the hooks tell, as REC_METHOD says it. */
#define OOM_KILLS_DATA "kills"
#define OOM_LOG_DATA "the kernel's report of each kill"

#define OOM_LEVELS 8 /* of the chain of control groups that is looked at */
#define OOM_NO_LIMIT (~0ULL)
#define OOM_ZONE_NAME 16
#define OOM_ORDERS 20 /* PAGE_ORDERS_MAX */
#define OOM_PATH_LEN 256

/* enum oom_constraint of include/linux/oom.h, the same from 5.10 to 7.3, and one of ours. */
enum oom_why {
	OOM_WHY_NONE = 0, /* the whole machine */
	OOM_WHY_CPUSET = 1,
	OOM_WHY_POLICY = 2,
	OOM_WHY_MEMCG = 3,
	OOM_WHY_UNKNOWN = 255,
};

enum oom_kill_flags {
	OOM_VICTIM_KNOWN = 1, /* all of the victim but its thread id: needs kernel BTF */
	OOM_ORDER_KNOWN = 2,
	OOM_GFP_KNOWN = 4,      /* as the allocation had it */
	OOM_GFP_OF_RECLAIM = 8, /* as its reclaim had it: a control group's changes some bits */
	OOM_CONTROL_KNOWN = 16, /* why, points, total_pages, oom_cgroup */
};

/* A control group of the victim's chain, as it was at the kill. */
struct oom_level {
	u64 cgroup;
	u64 usage_pages;
	u64 limit_pages; /* of its own; OOM_NO_LIMIT */
	u64 failcnt;     /* 0 where the kernel no longer counts it (v2 since 6.15) */
};

/*
 * The OOM killer marked a victim (oom:mark_victim), in the context of the task that asked for
 * memory. A victim that was already exiting is marked too, but not killed: the kernel counts and
 * logs only kills (see oom_report). In the ring, and on disk but for the stacks, which become one.
 */
struct oom_kill {
	struct rec h;
	u32 flags; /* enum oom_kill_flags */
	u32 tgid, tid;
	u32 gfp;
	s32 order; /* -1: asked for by sysrq */
	u32 why;   /* enum oom_why */
	u32 ustack, kstack;
	u32 victim_tgid, victim_tid;
	u32 victim_uid;
	s32 adj, victim_adj; /* oom_score_adj */
	u32 levels;          /* in use of chain */
	u64 cgroup, victim_cgroup;
	u64 oom_cgroup;      /* whose limit it was; 0: none */
	u64 total_pages;     /* that the score is a share of */
	s64 points;          /* of the victim, as the kernel reckoned when it chose */
	u64 victim_start_ns; /* of CLOCK_MONOTONIC */
	u64 victim_age_ns;   /* since then; 0: not known */
	u64 total_vm_pages, anon_pages, file_pages, shmem_pages, swap_pages;
	u64 page_table_bytes;
	char comm[COMM_LEN];
	char victim_comm[COMM_LEN];
	struct oom_level chain[OOM_LEVELS]; /* from the victim's group to the root */
};

/* Which level of the chain was at its limit; -1: none of those that are known. A charge fails
 * where the limit lacks room for it: not always the last page is in use. */
static inline int oom_level_at_limit(const struct oom_kill *k)
{
	u32 n = k->levels < OOM_LEVELS ? k->levels : OOM_LEVELS;

	for (u32 i = 0; i < n; i++)
		if (k->flags & OOM_CONTROL_KNOWN && k->oom_cgroup
				? k->chain[i].cgroup == k->oom_cgroup
				: k->chain[i].limit_pages != OOM_NO_LIMIT &&
					  k->chain[i].usage_pages + 64 >= k->chain[i].limit_pages)
			return (int)i;
	return -1;
}

enum oom_report_flags {
	OOM_REPORT_ASKED = 1,    /* gfp, order, adj, comm: the kernel limits how often it says */
	OOM_REPORT_ASKER_ID = 2, /* tid */
	OOM_REPORT_CHOICE = 4,   /* why and the paths */
	OOM_REPORT_KILLED = 8,   /* the kill was done and counted; sizes, uid, adj */
	OOM_REPORT_USAGE = 16,   /* usage_bytes, limit_bytes, failcnt of the group at its limit */
	OOM_REPORT_GROUP = 32,   /* killed for memory.oom.group */
	OOM_REPORT_ALLOCATING = 64, /* vm.oom_kill_allocating_task */
	OOM_REPORT_NO_VICTIM = 128, /* there was nobody to kill */
	OOM_REPORT_SWAP = 256,      /* swap_usage_bytes, swap_limit_bytes; v1: memory and swap */
};

/* One kill as the kernel's log has it: its own words and numbers. */
#define OOM_REPORT_FIELDS(F, R)                                                                    \
	F(R, u32, flags, HEX,                                                                      \
		"1 gfp, order, adj, comm known, 2 tid known, 4 why and paths known, 8 killed, 16 " \
		"usage known, 32 for memory.oom.group, 64 vm.oom_kill_allocating_task, 128 "       \
		"nobody to kill, 256 swap known") /* enum oom_report_flags */                      \
	F(R, u32, tid, ID, "task that asked")                                                      \
	F(R, u32, gfp, HEX, "allocation flags")                                                    \
	F(R, s32, order, ID, "order of the allocation; -1: sysrq")                                 \
	F(R, s32, adj, NONE, "oom_score_adj of the task that asked")                               \
	F(R, s32, victim_adj, NONE, "its oom_score_adj")                                           \
	F(R, u32, why, ID, "as in oom_kill") /* enum oom_why */                                    \
	F(R, u32, victim_tid, ID, "the victim")                                                    \
	F(R, u32, victim_uid, ID, "its user")                                                      \
	F(R, u32, reserved, HIDDEN, "")                                                            \
	F(R, u64, total_vm_bytes, BYTES, "its address space")                                      \
	F(R, u64, anon_bytes, BYTES, "its resident anonymous memory")                              \
	F(R, u64, file_bytes, BYTES, "its resident pages of files")                                \
	F(R, u64, shmem_bytes, BYTES, "its resident shared memory")                                \
	F(R, u64, page_table_bytes, BYTES, "its page tables")                                      \
	F(R, u64, usage_bytes, BYTES, "use of the group at its limit")                             \
	F(R, u64, limit_bytes, BYTES, "that limit")                                                \
	F(R, u64, failcnt, COUNT, "times it was hit")                                              \
	F(R, u64, swap_usage_bytes, BYTES, "its swap; version 1: with memory")                     \
	F(R, u64, swap_limit_bytes, BYTES, "limit of that")                                        \
	F(R, char[COMM_LEN], comm, NONE, "task that asked")                                        \
	F(R, char[COMM_LEN], victim_comm, NONE, "its name")                                        \
	F(R, char[OOM_PATH_LEN], oom_path, NONE, "the group at its limit")                         \
	F(R, char[OOM_PATH_LEN], victim_path, NONE, "the victim's group")
RECORD(oom_report, OOM_REPORT_FIELDS);

/* A candidate: a line of the kernel's table of tasks. The big ones only. */
#define OOM_TASK_FIELDS(F, R)                                 \
	F(R, u32, tgid, ID, "process")                        \
	F(R, u32, uid, ID, "its user")                        \
	F(R, s32, adj, NONE, "its oom_score_adj")             \
	F(R, u32, reserved, HIDDEN, "")                       \
	F(R, u64, total_vm_pages, PAGES, "its address space") \
	F(R, u64, rss_pages, PAGES, "its resident pages")     \
	F(R, u64, swap_pages, PAGES, "its pages in swap")     \
	F(R, u64, page_table_bytes, BYTES, "its page tables") \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(oom_task, OOM_TASK_FIELDS);

enum oom_zone_flags {
	OOM_ZONE_SAMPLED = 1, /* read from /proc/zoneinfo before the kill, not from its report */
	OOM_ZONE_BLOCKS = 2,  /* free_blocks is known */
};

/* A zone against its watermarks. */
#define OOM_ZONE_FIELDS(F, R)                                                               \
	F(R, u32, flags, HEX,                                                               \
		"1 sampled before the kill, 2 free_blocks known") /* enum oom_zone_flags */ \
	F(R, u32, node, ID, "NUMA node")                                                    \
	F(R, char[OOM_ZONE_NAME], zone, NONE, "zone")                                       \
	F(R, u64, free_bytes, BYTES, "free")                                                \
	F(R, u64, min_bytes, BYTES, "min watermark")                                        \
	F(R, u64, low_bytes, BYTES, "low watermark")                                        \
	F(R, u64, high_bytes, BYTES, "high watermark")                                      \
	F(R, u64, managed_bytes, BYTES, "managed by the page allocator")                    \
	F(R, u32, orders, COUNT, "orders in free_blocks")                                   \
	F(R, u32, reserved, HIDDEN, "")                                                     \
	F(R, u64[OOM_ORDERS], free_blocks, COUNT, "free blocks of 2^order pages")
RECORD(oom_zone, OOM_ZONE_FIELDS);

#define OOM_LEDGER_ROWS 24

/* What the kernel's report says of memory at the kill, in rows that do not overlap: of the machine,
 * or of the group at its limit, whose total is usage_bytes of the report. */
#define OOM_LEDGER_FIELDS(F, R)                                                                 \
	F(R, u32, of_group, NONE, "1: of the group at its limit; 0: of the machine")            \
	F(R, u32, known, HEX, "rows that are known, a bit each")                                \
	F(R, u64, total_bytes, BYTES, "what there is in all")                                   \
	F(R, u64[OOM_LEDGER_ROWS], bytes, BYTES,                                                \
		"rows: free, free in lists of cpus, anonymous, page cache, shared memory, "     \
		"hugetlb, slab, other reclaimable kernel memory, page tables, secondary page "  \
		"tables, kernel stacks, bounce, percpu, vmalloc, sockets, zswap, other kernel " \
		"memory") /* enum oomlog_row (sys/memory/oomlog_memory.h) */
RECORD(oom_ledger, OOM_LEDGER_FIELDS);

/* The machine as it was read right after a kill. */
#define OOM_STATE_FIELDS(F, R)                                         \
	F(R, u32, victim_tid, ID, "the kill it belongs to")            \
	F(R, u32, load1, NONE, "load average over 1 minute, in 1/100") \
	F(R, u32, load5, NONE, "over 5 minutes")                       \
	F(R, u32, load15, NONE, "over 15 minutes")                     \
	F(R, u32, runnable, NONE, "tasks that run or could")           \
	F(R, u32, tasks, NONE, "tasks")                                \
	F(R, u32, last_pid, ID, "last process id given")               \
	F(R, u32, reserved, HIDDEN, "")
RECORD(oom_state, OOM_STATE_FIELDS);

enum oom_freed_how { OOM_FREED_EXIT = 1, OOM_FREED_REAPER = 2 };

/* The victim's memory came back. */
#define OOM_FREED_FIELDS(F, R)                  \
	F(R, u32, victim_tid, ID, "the victim") \
	F(R, u32, how, ID, "1 it has ended, 2 the OOM reaper took it") /* enum oom_freed_how */
RECORD(oom_freed, OOM_FREED_FIELDS);

/*
 * A daemon that watches memory (systemd-oomd, earlyoom, …) told a process to end: not the kernel's
 * OOM killer, which counts none of it. Known by the name of the thread that sent the signal, and by
 * its right to do so to any process (CAP_KILL).
 */
#define DAEMON_KILL_FIELDS(F, R)                                  \
	F(R, u32, tgid, ID, "the daemon")                         \
	F(R, u32, victim_tgid, ID, "the process that was to end") \
	F(R, u32, signal, ID, "9 SIGKILL, 15 SIGTERM")            \
	F(R, u32, reserved, HIDDEN, "")                           \
	F(R, u64, victim_cgroup, CGROUP, "its control group")     \
	F(R, u64, rss_pages, PAGES, "its resident pages")         \
	F(R, u64, swap_pages, PAGES, "its pages in swap")         \
	F(R, char[COMM_LEN], comm, NONE, "name of the daemon")    \
	F(R, char[COMM_LEN], victim_comm, NONE, "of the process")
RECORD(daemon_kill, DAEMON_KILL_FIELDS);

/* A process that a signal of its own ends, for which it has no handler: it aborts, or touches what
 * is not there. */
#define PROCESS_CRASHED_FIELDS(F, R)                                             \
	F(R, u32, tgid, ID, "the process")                                       \
	F(R, u32, tid, ID, "its thread")                                         \
	F(R, u32, signal, ID, "6 SIGABRT, 7 SIGBUS, 11 SIGSEGV")                 \
	F(R, s32, code, ID, "its si_code")                                       \
	F(R, u64, address, HEX, "that it touched; of 7 and 11")                  \
	F(R, u64, stack_pointer, HEX, "of its thread then; 0: not known")        \
	F(R, u64, stack_start, HEX, "where the stack of its first thread began") \
	F(R, u64, stack_limit, BYTES, "its RLIMIT_STACK; all bits: unlimited")   \
	F(R, u64, anon_pages, PAGES, "its resident anonymous pages")             \
	F(R, u64, swap_pages, PAGES, "its pages in swap")                        \
	F(R, u64, cgroup, CGROUP, "its control group")                           \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(process_crashed, PROCESS_CRASHED_FIELDS);

/* Somebody wrote to vm.drop_caches, as the kernel's log says. */
#define CACHES_DROPPED_FIELDS(F, R)                         \
	F(R, u32, tgid, ID, "thread that did it")           \
	F(R, u32, what, ID, "1 page cache, 2 slab, 3 both") \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(caches_dropped, CACHES_DROPPED_FIELDS);

#endif
