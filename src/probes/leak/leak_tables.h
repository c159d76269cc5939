/* What the parts of the leak view share. Private to the view. */
#ifndef MEMWHY_PROBES_LEAK_TABLES_H
#define MEMWHY_PROBES_LEAK_TABLES_H

#include "analysis/by.h"
#include "probes/leak/leak_cells.h"
#include "probes/pages/pages.h"
#include "probes/slab/slab.h"
#include "probes/system/system.h"

/* Keys of --by beyond those of all tasks. */
enum { BY_CACHE = BY_OWN, BY_SITE = BY_OWN << 1 };

enum leak_kind { LEAK_OBJECTS, LEAK_LARGE, LEAK_PAGES };

struct leak_cache_key {
	char name[AGG_NAME_LEN]; /* "": none, or not known */
	u64 kind;                /* enum leak_kind */
};

struct leak_key {
	struct by_task_key task;
	struct leak_cache_key cache;
	u32 site;
	u32 order; /* of pages */
};

/* What was allocated at one site since the start. */
struct leak_site {
	struct leak_series series;
	u64 objects, bytes; /* outstanding; they wrap where a recording is damaged */
	u64 all_allocated, all_freed;
	u64 allocated, freed; /* in the interval */
	u64 untracked;
	u64 old, old_bytes, oldest_ns; /* of the last look; see slab_follow.old_ns */
	struct hist ages;
	struct durations lives;
};

/* A look at what is live: when, and what counts as old. */
struct leak_look {
	u64 time_ns, old_ns;
};

/* A cache, or all pages. */
struct leak_cache {
	u64 objects, bytes; /* outstanding */
	u64 allocated, freed;
	u64 old_frees, old_bytes; /* objects from before the start, or not followed */
	u64 all_old_frees;        /* since the start */
	u64 untracked;
};

struct leak_caches {
	struct groups sums;                      /* struct leak_cache_key -> struct leak_cache */
	struct groups usage;                     /* the same -> struct slab_usage, the last */
	struct pages_follow pages, pages_before; /* h.size 0: not followed */
};

extern const struct view_table leak_cache_tables[];
void leak_caches_init(struct leak_caches *c);
int leak_caches_feed(struct leak_caches *c, const struct rec *r);
/* Adds what was counted of objects outstanding, which the view works out. */
struct leak_cache *leak_caches_get(struct leak_caches *c, const struct leak_cache_key *k);
int leak_caches_report(const struct leak_caches *c, bool scoped, struct report *r);
void leak_caches_reset(struct leak_caches *c);
void leak_caches_free(struct leak_caches *c);
/* The state of a cache as the kernel reports it; NULL: not known. */
const struct slab_usage *leak_usage(const struct leak_caches *c, const struct leak_cache_key *k);
/* By how many objects the cache as a whole grew since the start, by /proc/slabinfo; false: not
 * known. */
bool leak_cache_grown(const struct leak_caches *c, const struct leak_cache_key *k, s64 *ret);

/* Objects that are outstanding and not there, where no scope hides others' frees; estimated. */
u64 leak_cache_unseen(const struct leak_caches *c, const struct leak_cache_key *k);

/* The kernel's own memory: what is neither free, nor on LRU lists, nor huge pages. */
struct leak_memory {
	struct {
		u64 first, last;
		bool known;
	} values[6];
};

void leak_memory_feed(struct leak_memory *m, const struct system_value *v);
/* By how many bytes it grew since the start; false: not known. */
bool leak_memory_grown(const struct leak_memory *m, s64 *ret);

/* Names for people. */
const char *leak_cache_text(struct report *r, const struct leak_cache_key *k);
const char *leak_site_text(struct report *r, const struct leak_key *k);
/* Were these pages taken for slabs? Their objects are counted by themselves. */
bool leak_is_slab_pages(const struct report *r, const struct leak_key *k);

/* A site to report. */
struct leak_suspect {
	const struct leak_key *key;
	const struct leak_site *site;
	struct leak_judgement judged;
	double stayed; /* share; below 0: not known */
};

/* Adds findings for the worst of the suspects. */
void leak_suspects_report(struct report *r, const struct leak_caches *c,
	const struct leak_memory *m, const struct leak_suspect *v, size_t n);

#endif
