/* Private to the where probe: what its view keeps, and the tables it makes of it. */
#ifndef MEMWHY_PROBES_WHERE_TABLES_H
#define MEMWHY_PROBES_WHERE_TABLES_H

#include "base/vec.h"
#include "probes/cgroups/cgroups.h"
#include "probes/holders/holders.h"
#include "probes/where/where.h"
#include "probes/where/where_arenas.h"
#include "probes/where/where_evictions.h"
#include "probes/where/where_files_view.h"
#include "probes/where/where_limits.h"
#include "probes/where/where_runtimes.h"
#include "probes/where/where_taken.h"
#include "report/report.h"
#include "report/view.h"

struct where_subject {
	struct where_ledger first, last;
};

struct where_tables {
	VEC(struct where_subject) subjects;
	VEC(struct where_owner) first, last; /* last: none but of a later look than first */
	u32 first_sample, last_sample;       /* plus one; 0: none yet */
	struct where_arenas arenas;
	struct where_runtimes runtimes;
	struct where_limits limits;
	struct where_evictions evictions;
	struct where_taken taken;
	struct where_files files;
	struct where_census census;       /* the latest; h.kind 0: none */
	struct cgroup_dying dying;        /* likewise */
	struct held_totals held;          /* h.kind 0: not seen */
	struct held_maps maps;            /* bytes 0: none */
	VEC(struct held_process) holders; /* of the latest look */
	bool look_over;                   /* its totals were seen, which come last */
};

extern const struct view_table where_tables_all[];

int where_tables_report(struct where_tables *t, struct report *r);
void where_tables_free(struct where_tables *t);

/* Adds a finding where a good part of a process's memory is unused parts of huge pages
 * (where_huge.c). */
void where_huge_advise(const struct where_ledger *l, struct report *r);

/* Control groups that were removed and that the kernel keeps (where_dying.c). */
extern const struct view_table where_dying_tables[];

/* d: h.kind 0 where there are few. */
int where_dying_report(const struct cgroup_dying *d, struct report *r);

#endif
