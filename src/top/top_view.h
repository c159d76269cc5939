/* Private to the view of `top`: its state, and the functions that fill its tables from it. */
#ifndef MEMWHY_TOP_TOP_VIEW_H
#define MEMWHY_TOP_TOP_VIEW_H

#include "base/groups.h"
#include "probes/frag/frag.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "top/recent_findings.h"
#include "top/top.h"

/* One process, by its number. */
struct top_process {
	struct process_memory now; /* the last sample; h.size 0: none */
	struct process_memory was; /* the sample before; h.size 0: none */
	u64 looked_ns, near_ns;    /* when the next ones were seen; 0: they were not */
	u64 pss_bytes;
	double thp_ratio, local_ratio;
	u64 cgroup;                 /* as events say, where there is no sample */
	u64 minor, major, fault_ns; /* of the interval */
	u64 stalls, stall_ns;
	u64 fault_stall_ns; /* of stall_ns: in page faults */
	u64 swap_in_ns;     /* of fault_ns */
	char comm[COMM_LEN];
};

struct top_path_key {
	u32 tgid;
	u32 stack;
	u8 what; /* enum top_path */
	u8 map;  /* enum mapping_kind */
	u8 reserved[6];
	char file[AGG_NAME_LEN];
};

enum top_path { TOP_PATH_MINOR, TOP_PATH_MAJOR, TOP_PATH_ALLOCATION, TOP_PATH_CHARGE };

struct top_path_sum {
	u64 count, ns;
	char comm[COMM_LEN];
};

struct top_zone_key {
	u32 node;
	char zone[FRAG_ZONE_NAME];
};

/* Records of one sample follow one another closely. */
struct top_sample {
	u64 begin_ns, end_ns;
};

/* Samples and intervals are a second apart both, and not in step: an interval may have none. What
 * changed is between the last two samples, whether or not they are of this interval. */
struct top_due {
	bool processes, usage, values;  /* no sample was in the interval so far */
	u64 values_first_ns, values_ns; /* of the two that v->facts has */
};

#define TOP_RESOURCES (SYSTEM_CPU + 1)

struct top_view {
	struct facts facts; /* of the interval */
	struct system_pressure pressure[TOP_RESOURCES], pressure_first[TOP_RESOURCES];
	bool pressure_due[TOP_RESOURCES]; /* as struct top_due */
	struct groups processes;          /* u32 to struct top_process */
	struct groups usage;            /* cgroup id to struct cgroup_usage of the sample before */
	struct groups zones;            /* struct top_zone_key to struct frag_zone */
	struct groups paths;            /* struct top_path_key to struct top_path_sum */
	struct top_sample sample;       /* the last one of processes */
	struct top_sample usage_sample; /* of groups */
	struct top_due due;
	struct rec_cost cost, cost_last; /* at the interval's begin, and so far */
	struct held held;                /* what the rules say */
};

/* Rows of the processes that are there; NULL: no memory. (processes.c) */
const struct table *top_processes_report(struct top_view *v, struct report *r);
/* Is it one of the last sample, or did something in the interval? */
bool top_process_is_there(const struct top_view *v, const struct top_process *p);
/* Sums of these rows, which are those of processes. (users.c) */
void top_users_report(struct report *r, const struct table *processes);
void top_groups_report(struct top_view *v, struct report *r);  /* (groups.c) */
void top_machine_report(struct top_view *v, struct report *r); /* (machine.c) */
void top_paths_report(struct top_view *v, struct report *r);   /* (paths.c) */

/* A table of top_tables. NULL: no memory. */
static inline struct table *top_table(struct report *r, enum top_table which, const char *title)
{
	const struct view_table *t = &top_tables[which];

	return report_table(r, t->name, title, t->cols, t->n_cols);
}

static inline struct cell cell_per_s(const struct report *r, u64 n)
{
	return cell_f64((double)n / report_seconds(r));
}

static inline struct cell cell_share(const struct report *r, u64 ns)
{
	return cell_f64((double)ns / 1e9 / report_seconds(r));
}

/* For reclaim and compaction, and for what was read back from swap. What a swap-in waits for room
 * is part of its time, and of a stall it is known only that it was in some fault: of both the
 * longer counts. */
static inline u64 top_stall_ns(const struct top_process *p)
{
	return p->stall_ns - p->fault_stall_ns + MAX(p->fault_stall_ns, p->swap_in_ns);
}

/* What threads of a process waited for: of a wait that began before the interval and ended in it
 * no more than has room in it. */
static inline u64 top_waited_ns(const struct report *r, const struct top_process *p, u64 ns)
{
	u64 threads = p->now.h.flags & PROCESS_EXACT ? MAX(p->now.threads, p->was.threads) : 0;

	return threads ? MIN(ns, threads * stream_interval_ns(r->stream)) : ns;
}

/* Between two samples; of the interval, where their times are not known. */
static inline double top_seconds(const struct report *r, u64 was_ns, u64 now_ns)
{
	return now_ns > was_ns && was_ns ? (double)(now_ns - was_ns) / 1e9 : report_seconds(r);
}

#endif
