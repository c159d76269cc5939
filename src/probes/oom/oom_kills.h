/*
 * The kills of a recording or session, each joined from its sources: BPF at once, the kernel's log
 * a moment later, then the victim's end; and with the last minute before it.
 */
#ifndef MEMWHY_PROBES_OOM_KILLS_H
#define MEMWHY_PROBES_OOM_KILLS_H

#include "base/vec.h"
#include "probes/oom/oom.h"
#include "probes/oom/oom_history.h"
#include "probes/where/where.h"

#define KILLS_MAX 4096 /* more are only counted */
#define DETAILS_MAX 32 /* kills that keep all below; the newest */
#define KILL_TASKS 16
#define KILL_ZONES 32
#define KILL_GROWN 32

/* A process at the time of the kill. */
struct kill_process {
	u32 tgid;
	bool candidate; /* of the kernel's table: pages, adj and page tables are its */
	bool sampled;   /* growth is known */
	bool victim;
	s32 adj;
	u32 uid;
	u64 rss_pages, swap_pages, page_table_bytes;
	u64 cgroup;
	struct growth growth;
	char comm[COMM_LEN];
};

struct kill_detail {
	u32 n_processes, n_zones;
	struct kill_process processes[KILL_TASKS + KILL_GROWN];
	struct oom_zone zones[KILL_ZONES];
	struct growth values[VALUE_N];
	struct growth groups[OOM_LEVELS]; /* of kill.chain */
	struct history_slab slabs[HISTORY_SLABS];
	struct history_pressure pressure[HISTORY_RESOURCES];
	struct oom_ledger logged;    /* h.size 0: the report had none */
	struct where_ledger machine; /* the last one before; h.size 0: there is none */
};

struct kill {
	u32 number; /* from 1 */
	u64 time_ns;
	bool seen;     /* by BPF: mark is filled */
	bool reported; /* by the kernel's log: report is filled */
	bool told;     /* in a report of ours */
	u32 counted;   /* "Killed process" lines: what oom_kill in /proc/vmstat counts */
	u64 freed_ns;  /* after the kill; 0: not known */
	u32 freed_how;
	struct oom_kill mark;
	struct oom_report report;
	struct oom_state state; /* h.size 0: not known */
	struct growth victim;   /* resident and swap */
	u32 detail;             /* index + 1, 0: none (any more) */
};

struct kills {
	struct history history;
	VEC(struct kill *) list;
	u32 beyond; /* KILLS_MAX */
	u32 only;   /* number of the one kill that keeps details; 0: the newest do */
	u32 page_bytes;
	u64 now_ns; /* time of the newest record */
	struct kill_detail details[DETAILS_MAX];
	u32 n_details;
	struct kill_detail dropped;        /* of a kill that keeps none */
	struct oom_task tasks[KILL_TASKS]; /* of the report to come */
	u32 n_tasks;
	struct oom_zone zones[KILL_ZONES]; /* the same */
	u32 n_zones;
	struct oom_zone sampled[KILL_ZONES]; /* the last of each */
	u32 n_sampled;
	struct oom_ledger logged;       /* of the report to come; h.size 0: none */
	struct where_ledger machine[2]; /* the latest, and the one before */
};

u64 kills_page(const struct kills *k); /* bytes */
int kills_feed(struct kills *k, const struct rec *r);
void kills_free(struct kills *k);
/* Has everything about it arrived, or is it no longer worth waiting for? */
bool kill_complete(const struct kills *k, const struct kill *x);
/* NULL: it has none. */
const struct kill_detail *kill_detail(const struct kills *k, const struct kill *x);

/* What is known of a kill, from whichever source has it. */
u32 kill_pid(const struct kill *x); /* the victim's process */
const char *kill_comm(const struct kill *x);
const char *kill_asker_comm(const struct kill *x); /* "" not known */
u32 kill_why(const struct kill *x);
struct kill_sizes {
	bool known;
	u64 anon, file, shmem, swap, page_tables, total_vm; /* bytes */
	bool swap_known;
};
struct kill_sizes kill_sizes(const struct kills *k, const struct kill *x);
bool kill_score(const struct kills *k, const struct kill *x, s64 *ret_pages);
/* The level of the chain that is at the limit, or -1. */
int kill_level(const struct kill *x);

#endif
