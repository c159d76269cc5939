/* The tables of the pages view, each with its sums. Private to the view. */
#ifndef MEMWHY_PROBES_PAGES_TABLES_H
#define MEMWHY_PROBES_PAGES_TABLES_H

#include "analysis/by.h"
#include "analysis/gfp_text.h"
#include "probes/pages/pages.h"

/* Keys of --by beyond those of all tasks. */
enum { BY_ORDER = BY_OWN, BY_MIGRATETYPE = BY_OWN << 1, BY_GFP = BY_OWN << 2 };

extern const char *const pages_by_keys[];
#define PAGES_BY_DEFAULT "process,order,migratetype"

struct pages_view_key {
	struct by_task_key task;
	u32 gfp;
	u8 order, migratetype;
	u8 named; /* PAGES_WHO_NAMED */
	u8 reserved;
};

struct pages_view_key pages_view_key(u32 by, const struct pages_who *w);

/* Their columns; frees have neither migratetype nor flags. */
cell_get pages_pid_cell, pages_tid_cell, pages_comm_cell, pages_cgroup_cell, pages_order_cell;
/* A u8 of the key or the record: a migratetype, by the observed kernel's name for it. */
cell_get pages_type_cell;
/* A u64 of the sums that is a number of pages. */
cell_get pages_bytes_cell;

#define PAGES_TASK_CELLS \
	BY_TASK_CELLS_BY(pages_pid_cell, pages_tid_cell, pages_comm_cell, pages_cgroup_cell)

#define PAGES_KEY_CELLS                                                                           \
	PAGES_TASK_CELLS,                                                                         \
		CELL_BY(BY_ORDER, "order", "ORDER", CELL_U64, UNIT_ID, 0,                         \
			"2^order pages in one block", pages_order_cell),                          \
		CELL_FROM(BY_MIGRATETYPE, struct pages_view_key, migratetype, "migratetype",      \
			"TYPE", CELL_TEXT, UNIT_NONE, 0, "migratetype that was asked for",        \
			pages_type_cell),                                                         \
		CELL_FROM(BY_GFP, struct pages_view_key, gfp, "gfp", "GFP", CELL_TEXT, UNIT_NONE, \
			0, "allocation flags", gfp_cell)

u64 pages_page_bytes(const struct report *r);

/* Allocations and frees. */
extern const struct by_spec pages_alloc_spec, pages_free_spec;
extern const struct view_table pages_sum_tables[];
int pages_alloc_feed(struct by_sums *s, const struct pages_alloc *r);
int pages_free_feed(struct by_sums *s, const struct pages_free *r);
/* seconds: how long events were counted. */
int pages_alloc_report(struct by_sums *s, double seconds, struct report *r);
int pages_free_report(struct by_sums *s, double seconds, struct report *r);

/* The lists of each CPU. */
struct pages_cpus {
	struct groups cpus;       /* u32 -> struct pages_cpu_sums */
	struct groups pairs;      /* struct pages_pair -> u64 pages */
	struct pages_lists lists; /* h.size 0: not known */
	struct pages_sampled sampled;
};

/* How long events were counted, of the interval or in its bursts. */
double pages_cpus_seconds(const struct pages_cpus *p, const struct report *r);

extern const struct view_table pages_cpu_tables[];
void pages_cpus_init(struct pages_cpus *p);
int pages_cpus_feed(struct pages_cpus *p, const struct rec *r);
int pages_cpus_report(const struct pages_cpus *p, struct report *r);
void pages_cpus_clear(struct pages_cpus *p);
void pages_cpus_free(struct pages_cpus *p);

/* Pages that are held. */
struct pages_kept {
	struct by_sums sums;
	struct groups tasks;        /* tgid, tid -> name and cgroup, which held pages do not bear */
	struct pages_follow follow; /* h.size 0: pages were not followed */
	struct pages_follow before; /* what it was when the interval began */
};

extern const struct view_table pages_kept_tables[];
int pages_kept_init(
	struct pages_kept *p, const struct view *v, const struct view_options *o, struct err *err);
int pages_kept_feed(struct pages_kept *p, const struct rec *r);
int pages_kept_report(struct pages_kept *p, struct report *r);
void pages_kept_reset(struct pages_kept *p);
void pages_kept_free(struct pages_kept *p);

#endif
