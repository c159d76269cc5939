/*
 * The tables of maps other than the main one: calls, failures, and what is known of address spaces
 * and limits. Private to the view.
 */
#ifndef MEMWHY_PROBES_MAPS_TABLES_H
#define MEMWHY_PROBES_MAPS_TABLES_H

#include "analysis/durations.h"
#include "analysis/trend.h"
#include "base/groups.h"
#include "probes/maps/maps.h"
#include "report/view.h"

/* A process: its address space, and what findings say of its calls. */
struct maps_proc {
	bool known;                /* the sizes are */
	bool over;                 /* it has ended */
	u64 first, last;           /* VmSize as its records have it */
	u64 first_data, last_data; /* VmData */
	u64 before, before_data;   /* signed: change of those that had the same id before */
	u64 base, base_data;       /* where the interval began */
	u32 mappings, execs;
	struct trend trend; /* of VmSize */
	/* In the interval. */
	u64 maps, unmaps, map_bytes; /* mmap and munmap that succeeded; lengths mapped */
	u64 drops, drop_bytes;       /* MADV_DONTNEED, MADV_FREE */
	u64 map_ns, drop_ns;         /* time in them */
};

/* Calls that failed alike. */
struct maps_failure_key {
	u32 tgid;
	u32 detail;
	u64 limit;
	u16 error;
	u8 call, why;
	u32 stack; /* only by stack */
};

struct maps_tables {
	struct groups processes; /* u32 -> struct maps_proc */
	struct groups calls;     /* struct call_key -> struct call_sums */
	struct groups failures;  /* struct maps_failure_key -> u64 */
	struct groups names;     /* struct name_key -> name of what is mapped */
	struct groups limits;    /* name -> u64 */
	bool stacks;
};

extern const struct view_table maps_side_tables[];

/* What several tables say of a call. */
#define MAPS_CALL_HELP "system call; shm_open and shm_unlink: open and unlink below /dev/shm"
#define MAPS_DETAIL_HELP "advice of madvise, command of shmctl"

void maps_tables_init(struct maps_tables *t, bool stacks);
int maps_tables_feed(struct maps_tables *t, const struct rec *r);
int maps_tables_report(struct maps_tables *t, struct report *r);
void maps_tables_reset(struct maps_tables *t);
void maps_tables_free(struct maps_tables *t);

/* NULL: it made no call. */
const struct maps_proc *maps_proc_find(const struct maps_tables *t, u32 tgid);
/* Changes in the interval. */
s64 maps_proc_change(const struct maps_proc *p);
s64 maps_proc_data_change(const struct maps_proc *p);
/* The name of an object mapped in the interval; NULL: not known. */
const char *maps_object_name(const struct maps_tables *t, u8 kind, u64 object);
/* false: not known. */
bool maps_limit_get(const struct maps_tables *t, const char *name, u64 *ret);

/* What of the calls is worth a change. */
void maps_findings(const struct maps_tables *t, struct report *r);

#endif
