/* Lookups of names that do not exist, sampled for `check`: what programs and probe agree on. */
#ifndef MEMWHY_PROBES_LOOKUPS_H
#define MEMWHY_PROBES_LOOKUPS_H

#include "bpf/shared.h"

struct lookups_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
};

/* agg_value.sum */
enum { LOOKUPS_CUT }; /* not 0: its name is the end of a longer one */

/* On disk: calls that found nothing, in the bursts since the last such record. */
struct lookups_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	u32 cut;   /* 1: directory is the end of a longer name */
	u64 count;
	u64 cgroup;
	char comm[COMM_LEN];
	char directory[AGG_NAME_LEN]; /* where one of the names was looked for; empty: not known */
};

/* The records above count bursts. Since the last one: */
struct lookups_sampled {
	struct rec h;
	u64 on_ns;      /* counted */
	u64 covered_ns; /* in the place of this time */
};

#endif
