/* The tables of `heap` other than that of heaps, one file each, and what a report on a part says
 * about itself. Private to the view. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_HEAP_TABLES_H
#define MEMWHY_PROBES_HEAP_VIEW_HEAP_TABLES_H

#include "analysis/by.h"
#include "probes/heap/events/event_replay.h"
#include "probes/heap/heap.h"
#include "report/report.h"
#include "report/view.h"

/* heap_processes.c: the table of processes. */
extern const struct view_table heap_process_tables[];

struct table *heap_process_table(struct report *r);
/* mapped: NULL where nothing is known of it. -ENOMEM */
int heap_process_row(struct table *t, struct report *r, const struct heap_total *total,
	const struct heap_mapped *mapped);

/* heap_tree.c: who started whom: the process tree, with sums over all that a process began. */
extern const struct view_table heap_tree_tables[];

/* of: as they were first seen, all with different numbers. together: NULL where it is not known. No
 * rows of one process alone. */
int heap_tree_add(struct report *r, const struct heap_total *const *of, size_t n,
	const struct heap_together_record *together);

/* heap_growth.c: how the live bytes of processes went, in bounded room. */
#define GROWTH_SPANS 16 /* when there are twice as many, two are joined */

/* How a process stood at the end of a span. */
struct growth_mark {
	u64 time_ns;
	u64 live_bytes, allocations, bytes;
};

struct heap_growth {
	u32 n;        /* marks that stay */
	u32 per_span; /* records in a span; 0: there was none yet */
	u32 in_span;
	struct growth_mark begin;
	struct growth_mark v[2 * GROWTH_SPANS]; /* v[n]: of the present span */
};

extern const struct view_table heap_growth_tables[];

struct table *heap_growth_table(struct report *r);
void heap_growth_add(struct heap_growth *g, const struct heap_total *t);
/* Rows of a process; none of one that was seen only for a moment. -ENOMEM */
int heap_growth_rows(struct table *t, struct report *r, const struct heap_growth *g,
	const struct heap_total *of);
/* The next interval begins. */
void heap_growth_reset(struct heap_growth *g);

/* heap_mappings.c: what programs mapped by themselves, and what the table of processes shows
 * of it. */
struct heap_mappings {
	struct by_sums sums;
	struct groups sites, mapped; /* the latest record of each, and as the interval began */
};

extern const struct view_table heap_mapping_tables[];

int heap_mappings_init(struct heap_mappings *m, const struct view *v, const struct view_options *o,
	struct err *err);
int heap_mapping_feed(struct heap_mappings *m, const struct heap_mapping *r);
int heap_mapped_feed(struct heap_mappings *m, const struct heap_mapped *r);
/* What a process mapped; NULL: nothing. */
const struct heap_mapped *heap_mapped_find(const struct heap_mappings *m, u32 process);
/* total_of: what is known of a process by its number, or NULL. */
int heap_mappings_report(struct heap_mappings *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg);
void heap_mappings_reset(struct heap_mappings *m);
void heap_mappings_free(struct heap_mappings *m);

/* heap_residence.c: page faults and resident memory (--faults), by who asked for it, and what was
 * looked at. */
struct heap_residences {
	struct by_sums sums;
	struct groups places, looked; /* the latest record of each, and as the interval began */
};

extern const struct view_table heap_residence_tables[];

int heap_residences_init(struct heap_residences *m, const struct view *v,
	const struct view_options *o, struct err *err);
int heap_residence_feed(struct heap_residences *m, const struct heap_residence *r);
int heap_looked_feed(struct heap_residences *m, const struct heap_looked *r);
/* total_of: what is known of a process by its number, or NULL. */
int heap_residences_report(struct heap_residences *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg);
void heap_residences_reset(struct heap_residences *m);
void heap_residences_free(struct heap_residences *m);

/* heap_part.c: a part of a recording (--from, --to), or of a process that memwhy attached to late.
 */

/* to_ns: UINT64_MAX: the end. */
void heap_part_tell(const struct event_replay *replay, u64 from_ns, u64 to_ns, struct report *r);

#endif
