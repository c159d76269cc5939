/* The sums behind the metrics, from the kernel and the BPF programs. Data only, shared by what adds
 * to it (metrics.c) and what writes it (metrics_text.c). */
#ifndef MEMWHY_SERVE_SUMS_H
#define MEMWHY_SERVE_SUMS_H

#include "analysis/durations.h"
#include "base/vec.h"
#include "event/meta.h"
#include "probes/compaction/compaction.h"
#include "probes/frag/frag.h"
#include "probes/slab/slab.h"
#include "probes/stalls/stalls.h"
#include "probes/system/system.h"
#include "serve/tally.h"
#include "serve/metrics.h"

/* What the time of a stall went to. */
enum stall_part { PART_DIRECT, PART_CGROUP, PART_COMPACTION, PART_OTHER, STALL_PARTS };

/* A number of /proc/vmstat, in the order of vmstat_series (metrics_text.c). */
#define VMSTAT_SERIES_MAX 64

struct sums_finding {
	char rule[48];
	int level;
};

struct sums_slab {
	char name[SLAB_CACHE_NAME_LEN + 1];
	u64 bytes, used_bytes;
};

struct sums {
	u64 started_wall_ns, last_ns; /* when it began; time of the last record (monotonic) */
	struct rec_host host;
	struct rec_cost cost;
	VEC(struct rec_loss) losses; /* by probe */
	struct durations stalls[GROUP_STALLS];
	u64 stall_parts_ns[STALL_PARTS];
	struct durations steps[STALLS_STEP_KIND_N];
	struct durations compaction[COMPACTION_KIND_N];
	struct durations faults[GROUP_FAULTS];
	struct durations swap_ins, thp_faults, lock_waits[2]; /* [1]: for writing */
	u64 dirty_sleeps, dirty_ns;
	u64 oom_kills; /* seen by BPF */
	u64 daemon_kills;
	u64 vmstat[VMSTAT_SERIES_MAX];
	bool vmstat_known[VMSTAT_SERIES_MAX];
	VEC(struct system_value) memory; /* of /proc/meminfo, by name */
	VEC(struct sums_slab) slab;
	struct system_pressure pressure[SYSTEM_CPU + 1];
	VEC(struct frag_zone) zones;
	VEC(struct sums_finding) findings;
	struct tally *tally;
	u64 fixed_series; /* all but those of groups, at the last time they were written */
};

/* Index of a counter of /proc/vmstat that is shown; -1: it is not. */
int sums_vmstat_index(const char *name);
void sums_expose(struct sums *s, struct exposition *e, const struct serve_counts *counts);

#endif
