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
	u64 victim_start_ns; /* since boot */
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
struct oom_report {
	struct rec h;
	u32 flags; /* enum oom_report_flags */
	u32 tid;   /* of the task that asked */
	u32 gfp;
	s32 order;
	s32 adj, victim_adj;
	u32 why; /* enum oom_why */
	u32 victim_tid, victim_uid;
	u32 reserved;
	u64 total_vm_bytes, anon_bytes, file_bytes, shmem_bytes, page_table_bytes;
	u64 usage_bytes, limit_bytes, failcnt;
	u64 swap_usage_bytes, swap_limit_bytes;
	char comm[COMM_LEN];
	char victim_comm[COMM_LEN];
	char oom_path[OOM_PATH_LEN];    /* the group at its limit; "" for the machine */
	char victim_path[OOM_PATH_LEN]; /* cut when longer */
};

/* A candidate: a line of the kernel's table of tasks. The big ones only. */
struct oom_task {
	struct rec h;
	u32 tgid, uid;
	s32 adj;
	u32 reserved;
	u64 total_vm_pages, rss_pages, swap_pages;
	u64 page_table_bytes;
	char comm[COMM_LEN];
};

enum oom_zone_flags {
	OOM_ZONE_SAMPLED = 1, /* read from /proc/zoneinfo before the kill, not from its report */
	OOM_ZONE_BLOCKS = 2,  /* free_blocks is known */
};

/* A zone against its watermarks. */
struct oom_zone {
	struct rec h;
	u32 flags; /* enum oom_zone_flags */
	u32 node;
	char zone[OOM_ZONE_NAME];
	u64 free_bytes, min_bytes, low_bytes, high_bytes, managed_bytes;
	u32 orders; /* in use of free_blocks */
	u32 reserved;
	u64 free_blocks[OOM_ORDERS];
};

#define OOM_LEDGER_ROWS 24

/* What the kernel's report says of memory at the kill, in rows that do not overlap: of the machine,
 * or of the group at its limit, whose total is usage_bytes of the report. */
struct oom_ledger {
	struct rec h;
	u32 of_group;
	u32 known; /* rows, a bit each */
	u64 total_bytes;
	u64 bytes[OOM_LEDGER_ROWS]; /* enum oomlog_row (sys/oomlog_memory.h) */
};

/* The machine as it was read right after a kill. */
struct oom_state {
	struct rec h;
	u32 victim_tid;
	u32 load1, load5, load15; /* in 1/100 */
	u32 runnable, tasks;
	u32 last_pid;
	u32 reserved;
};

enum oom_freed_how { OOM_FREED_EXIT = 1, OOM_FREED_REAPER = 2 };

/* The victim's memory came back. */
struct oom_freed {
	struct rec h;
	u32 victim_tid;
	u32 how; /* enum oom_freed_how */
};

/*
 * A daemon that watches memory (systemd-oomd, earlyoom, …) told a process to end: not the kernel's
 * OOM killer, which counts none of it. Known by the name of the thread that sent the signal.
 */
struct daemon_kill {
	struct rec h;
	u32 tgid; /* the daemon */
	u32 victim_tgid;
	u32 signal; /* SIGKILL, or SIGTERM, which it may survive for a while */
	u32 reserved;
	u64 victim_cgroup;
	u64 rss_pages, swap_pages; /* of the victim; 0: not known */
	char comm[COMM_LEN];
	char victim_comm[COMM_LEN];
};

/* Somebody wrote to vm.drop_caches, as the kernel's log says. */
struct caches_dropped {
	struct rec h;
	u32 tgid; /* the thread that wrote, in fact */
	u32 what; /* 1 page cache, 2 slab, 3 both */
	char comm[COMM_LEN];
};

#endif
