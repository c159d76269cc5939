/*
 * Private to the processes probe: the processes there are, what statm says of each, and which of
 * them deserve more. Owns the scan of /proc and the ranking; sends nothing.
 */
#ifndef MEMWHY_PROBES_PROCESSES_TABLE_H
#define MEMWHY_PROBES_PROCESSES_TABLE_H

#include "base/greatest.h"
#include "capture/proc_scope.h"
#include "probes/processes/processes_files.h"

/* Processes beyond are not looked at. */
#define PROCESSES_MAX (1U << 17)
#define PROCESSES_BIGGEST 32
#define PROCESSES_GROWN 64
#define PROCESSES_GROWN_BYTES (1U << 20)
#define PROCESSES_VAST 8    /* by growth of their address space, beyond that of their memory */
#define PROCESSES_SHARERS 4 /* by growth of what they have of files and shared memory */
#define PROCESSES_SWING_BYTES (2U << 20) /* a fall by so much */
#define PROCESSES_SWINGS 8               /* of those that swing, looked at in between */
#define PROCESSES_BIGGEST_DIPS 4
#define PROCESSES_DEEP 10 /* by anonymous memory, and as many by its growth */
/* Up to this number, all processes in scope are sent. */
#define PROCESSES_SCOPED TOP_MAX

enum process_entry_flags {
	ENTRY_FRESH = 1,   /* seen for the first time in this scan */
	ENTRY_MEMBER = 2,  /* within the scope's tasks */
	ENTRY_MATCHES = 4, /* and has its name and cgroup */
	ENTRY_READ = 8,    /* statm was read at least once */
	ENTRY_CHOSEN = 16,
	ENTRY_DEEP = 32,
	ENTRY_OOM = 64,     /* oom_score_adj is known */
	ENTRY_SWINGS = 128, /* its memory goes up and down */
	ENTRY_USER = 256,
	ENTRY_HEAP = 512, /* its command line and environment were read */
};

struct process_entry {
	u32 pid;
	u32 ppid;  /* 0 until it was needed */
	u16 flags; /* enum process_entry_flags */
	u16 idle;  /* scans while it had no memory */
	u64 rss_bytes, anon_bytes, vm_bytes;
	u64 low_bytes; /* the least anonymous memory since its last record; 0: none was read */
	u64 first_anon_bytes, first_vm_bytes, first_shared_bytes, first_ns;
	u64 start_ticks;      /* of stat: who it is; with start_ns */
	u64 start_ns;         /* of CLOCK_MONOTONIC; 0 until its record is made */
	u64 began_ns;         /* the same, as first known; 0: not yet */
	u64 cgroup;           /* likewise */
	u64 heap_limit_bytes; /* with ENTRY_HEAP; 0: not known */
	u64 collector_ns;     /* as last read; 0: not known */
	u64 collector_ticks;  /* CPU time of all of it as of then, plus one; 0: not read */
	u64 faults;           /* minor ones, as last read, and when: 0: not yet */
	u64 faults_read_ns, faults_second;
	bool heap_is_soft;
	s32 oom_score_adj;
	u32 uid, user; /* with ENTRY_USER */
	struct process_files files;
	u64 sent;            /* hash of the last record; 0: none yet */
	char comm[COMM_LEN]; /* as known some seconds later; "" of what has no memory */
};

/* To be zeroed before its first use. */
struct processes_table {
	VEC(struct process_entry) list, before; /* by pid */
	VEC(u32) pids;
	struct proc_iter iter;
	struct str text;
	u64 scans;
	u64 begin_ns;                    /* of the first */
	bool truncated;                  /* there were more than PROCESSES_MAX */
	struct process_files_room files; /* of those with memory; none: nothing stays open */
	struct top by_rss, by_anon, by_growth, by_rate, by_vm, by_shared;
	VEC(u32) chosen; /* the deep ones first, by anonymous memory */
};

/* As process_file_read(). */
int processes_file_read(struct processes_table *t, struct process_entry *e, enum process_file which,
	struct str *out);
/* NULL: there is none of this number. */
const struct process_entry *processes_find(const struct processes_table *t, u32 pid);
/* Brings the list up to date. -ENOMEM, or why /proc cannot be read. */
int processes_scan(struct processes_table *t, struct proc_scope *s, u64 now_ns);
/* Reads again only those in `chosen`; what is gone keeps its numbers. */
void processes_refresh(struct processes_table *t, u64 now_ns);
/* Only those of them that go up and down: how low they come. */
void processes_dip(struct processes_table *t, u64 now_ns);
/* Fills the tops and `chosen`. watched: more of them, and all deep. */
int processes_choose(
	struct processes_table *t, const struct proc_scope *s, u64 now_ns, bool watched);
/* Anonymous memory, since it was first seen. */
u64 process_entry_growth(const struct process_entry *e);
/* This number is another process than when it was first seen. */
void process_entry_restart(struct process_entry *e, u64 now_ns);
void processes_table_free(struct processes_table *t);

#endif
