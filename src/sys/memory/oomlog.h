/*
 * Parses what the kernel logs about an OOM kill (mm/oom_kill.c, mm/memcontrol.c, mm/show_mem.c;
 * 5.10 to 7.3): takes lines one by one and returns the kill they describe. Owns the words of those
 * lines.
 *
 * The kernel logs the full report at most ten times in five seconds; for other kills only the line
 * "Killed process". Reports do not interleave (oom_lock); unrelated lines in between are skipped.
 */
#ifndef MEMWHY_SYS_OOMLOG_H
#define MEMWHY_SYS_OOMLOG_H

#include "sys/memory/oomlog_memory.h"
#include "sys/memory/zone.h"

#define OOMLOG_COMM 16
#define OOMLOG_PATH 256
#define OOMLOG_TASKS 16 /* of the table of tasks: those that weigh most */
#define OOMLOG_ZONES 32

enum oomlog_known {
	OOMLOG_ASKED = 1,  /* comm, adj, gfp, gfp_names, order */
	OOMLOG_ASKER = 2,  /* pid */
	OOMLOG_CHOICE = 4, /* constraint, oom_path, victim_path */
	OOMLOG_USAGE = 8,
	OOMLOG_SWAP = 16,
	OOMLOG_GROUP = 32,      /* memory.oom.group */
	OOMLOG_ALLOCATING = 64, /* vm.oom_kill_allocating_task */
	OOMLOG_MEMCG = 128,     /* "Memory cgroup out of memory" */
};

struct oomlog_kill {
	u32 known; /* enum oomlog_known */
	char comm[OOMLOG_COMM];
	u32 pid;
	s32 adj;
	u64 gfp;
	s32 order;
	char constraint[16]; /* "NONE", "MEMCG", … */
	char oom_path[OOMLOG_PATH], victim_path[OOMLOG_PATH];
	u64 usage_bytes, limit_bytes, failcnt;
	u64 swap_usage_bytes, swap_limit_bytes; /* v1: memory and swap */
	u32 victim_pid, victim_uid;
	char victim_comm[OOMLOG_COMM];
	s32 victim_adj;
	u64 total_vm_bytes, anon_bytes, file_bytes, shmem_bytes, page_table_bytes;
};

struct oomlog_task {
	u32 pid, uid, tgid;
	s32 adj;
	u64 total_vm_pages, rss_pages, swap_pages;
	u64 page_table_bytes;
	char comm[OOMLOG_COMM];
};

struct oomlog_zone {
	struct zone_id id;
	u64 free_bytes, boost_bytes, min_bytes, low_bytes, high_bytes, managed_bytes;
	u32 orders; /* in use of blocks; 0: not known */
	u64 blocks[PAGE_ORDERS_MAX];
};

/* "bash (4711): drop_caches: 3", which the kernel writes each time somebody drops caches, unless
 * that bit 4 told it not to (fs/drop_caches.c). */
struct drop_line {
	char comm[OOMLOG_COMM];
	u32 pid;
	u32 what; /* 1 page cache, 2 slab, 3 both */
};

bool drop_line_parse(const char *line, struct drop_line *ret);

/* To be zeroed before its first use. */
struct oomlog {
	struct oomlog_kill kill;
	struct oomlog_task tasks[OOMLOG_TASKS]; /* heaviest first */
	u32 n_tasks;
	struct oomlog_zone zones[OOMLOG_ZONES];
	u32 n_zones;
	struct oomlog_memory memory;
	u32 reaped; /* pid */
	bool told;  /* the kill was: what comes now is of another */
	bool table; /* within the table of tasks */
	bool wide;  /* which has the columns rss_anon, rss_file and rss_shmem (since 6.9) */
};

enum oomlog_event {
	OOMLOG_NOTHING,
	OOMLOG_KILL,      /* kill; tasks and zones, if it is the first one that has them */
	OOMLOG_NO_VICTIM, /* kill, without a victim */
	OOMLOG_REAPED,    /* reaped */
};

/* All is valid until the next call. */
enum oomlog_event oomlog_feed(struct oomlog *l, const char *line);
/* For a group it adds up to the group's use. false: the log lacks something that is needed. */
bool oomlog_ledger(const struct oomlog *l, u64 page_bytes, struct oomlog_ledger *ret);

#endif
