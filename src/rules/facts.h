/*
 * What several rules need to know: the first and last value of each counter and setting of the
 * system, memory pressure, and the last state of each cgroup and slab cache. Fed by records;
 * every rule keeps its own.
 */
#ifndef MEMWHY_RULES_FACTS_H
#define MEMWHY_RULES_FACTS_H

#include "base/clock.h"
#include "base/groups.h"
#include "probes/cgroups/cgroups.h"
#include "probes/processes/processes.h"
#include "probes/slab/slab.h"
#include "probes/system/system.h"
#include "report/view.h"

struct facts {
	struct groups values;  /* name -> struct fact */
	struct groups cgroups; /* id -> struct cgroup_usage, the last */
	struct groups fullest; /* id -> struct cgroup_usage, that with most memory, of full ones the
				  last */
	struct groups slabs;   /* name -> struct slab_usage, the last */
	struct system_pressure pressure_first, pressure; /* of memory; h.size 0: not known */
	struct system_pressure disks_first, disks;       /* of I/O; the same */
};

void facts_init(struct facts *f);
int facts_feed(struct facts *f, const struct rec *r);
void facts_free(struct facts *f);
/* The next interval begins: what was last is first. */
void facts_reset(struct facts *f);

/* Was the value ever sent? */
bool facts_known(const struct facts *f, const char *name);
u64 facts_last(const struct facts *f, const char *name);  /* 0 when not known */
u64 facts_delta(const struct facts *f, const char *name); /* over the interval; 0 when it fell */
/* The sum of facts_delta over all names that begin so ("allocstall_"). */
u64 facts_delta_all(const struct facts *f, const char *prefix);
/* The share of the time in which some task waited for memory (PSI of the machine). */
double facts_waited_share(const struct facts *f, const struct report *r);
/* For how long tasks waited for memory, at least: of what they read back after it was pushed out,
 * if this many such pages are most of the machine's; else 0. */
u64 facts_refault_wait_ns(const struct facts *f, u64 refaults);
/* For how long tasks waited for disks, as far as so many bytes are of all that went to and from
 * them; 0: not known. */
u64 facts_disk_wait_ns(const struct facts *f, u64 bytes);
/* Huge pages in the pools that nobody has, nor was promised: what is free is what they left. */
u64 facts_idle_pools(const struct facts *f);
/* A setting's word; "" when not known. */
const char *facts_text(const struct facts *f, const char *name);
/* The i-th group with its counters as they are at the end, and its parts as they were when it had
 * most: processes that were killed or have ended are no longer in the last sample. */
struct cgroup_usage facts_cgroup_fullest(const struct facts *f, size_t i);

/* What a group has most of. */
enum cgroup_filler { BY_ANON, BY_FILE, BY_SHMEM, BY_KERNEL, BY_UNKNOWN };
enum cgroup_filler cgroup_filler(const struct cgroup_usage *cg);
/* Most of it can go nowhere, for mlock. */
static inline bool cgroup_is_locked(const struct cgroup_usage *cg)
{
	return cg->h.flags & CGROUP_HAS_PARTS && cg->locked_bytes * 2 > cg->usage_bytes;
}

/* A flag of a copy, never of a record: what it has as its limit is its memory.high. */
#define CGROUP_BY_HIGH 0x8000

/* Throttled at memory.high, which is below its hard limit. */
bool cgroup_is_throttled(const struct cgroup_usage *cg);
/* As it is where that is its limit (CGROUP_BY_HIGH); else as it is. */
struct cgroup_usage cgroup_by_high(const struct cgroup_usage *cg);
/* The group to which reclaim leaves most (memory.min, memory.low), and how much that is. A group
 * below has no more of that than those above it. NULL: none. */
const struct cgroup_usage *facts_protected(const struct facts *f, u64 *ret_bytes);
/* The group, or one above it, that is at its limit; of several that of the lowest limit. False:
 * none is. */
bool facts_cgroup_at_limit(
	const struct facts *f, const struct report *r, u64 cgroup, struct cgroup_usage *ret);

/* The group at its limit that is full of so much of this, or to whose limit shared memory of so
 * much is half; 0: none is. */
u64 facts_cgroup_full_of(const struct facts *f, enum cgroup_filler filler, u64 bytes);
/* It hit its limit, half of which these bytes take: little for the machine, much for the group. */
bool facts_cgroup_pressed(const struct facts *f, u64 cgroup, u64 bytes);
/* NULL when there is no record of it. */
const struct cgroup_usage *facts_cgroup(const struct facts *f, u64 id);

/* How long something lasts: "40 seconds", "12 minutes", "9 hours". */
const char *time_left_text(struct report *r, double seconds);
/* The level of a share of time lost; -1: below `risk`. */
int share_level(double share, double risk, double warning, double critical);
/*
 * vm.min_free_kbytes to try: enough for the allocator to keep three pageblocks, one for each of
 * the common migratetypes, free on each node, added to what it is now; never above 5 % of memory.
 * 0: there is no room for such a step.
 */
u64 min_free_next(const struct report *r, u64 now_kib, u32 pageblock_order);
/* The directory of a cgroup of this version, as one would type it; where the hierarchy is mounted
 * on the host that reads the report, or its usual place. */
const char *cgroup_directory(struct report *r, u32 version, const char *path);
/* The limit as it is to be, and back. */
void cgroup_tell_limit(struct report *r, struct finding *f, const struct cgroup_usage *cg,
	const char *dir, u64 bytes);
/* What to try, undo and verify for a cgroup whose limit is too low. */
void cgroup_tell_raise(struct report *r, struct finding *f, const struct cgroup_usage *cg,
	const char *dir, const char *verify);

/* "Compact once", where compaction does not fail most of the time; else that it is in vain. */
void try_compact(struct report *r, struct finding *f, const struct facts *facts);
#define YOUNG_NS (60 * NSEC_PER_SEC) /* a process that may still be starting up, or end soon */
#define DROPS_OFTEN 2 /* times that caches are dropped in one look: what is read does not stay */
/* Is it another memwhy, which ends with its look? */
bool looks_too(const struct report *r, u32 tgid);
/* Says where vm.swappiness is why; swaps: memory is swapped, or else files find no room. */
void swappiness_tell(struct report *r, struct finding *f, const struct facts *facts, bool swaps);
/* The processes of one program, told together: `named` is one whose program is known, or `last`. */
const char *processes_text(struct report *r, u32 named, u32 n, u32 last);
/* Adds the innermost n lines of a stack to the evidence, and says so where there is no more. */
void finding_stack(struct report *r, struct finding *f, u32 stack, int n);
/* Does it say more than the innermost function? */
bool stack_has_caller(const struct report *r, u32 stack);
/* Adds the stack that most samples have to the evidence; what: "code path". False: they are too
 * few, or too different, to say anything, and nothing is added. */
bool finding_walked(
	struct report *r, struct finding *f, const struct process_path *path, const char *what);

/* "madvise(MADV_FREE)": an enum mmcalls_call. */
const char *mmcalls_name(struct report *r, u16 call, u16 advice);

/* A rule that sums by one key beside the facts. */
struct rule_sums {
	struct facts facts;
	struct groups by;
};

void rule_sums_init(struct rule_sums *s, size_t key_size, size_t value_size);
void rule_sums_reset(void *v);
void rule_sums_destroy(void *v);

/* A rule whose whole state is a struct facts. */
int facts_rule_init(void *v, const struct view_options *o, struct err *err);
int facts_rule_feed(void *v, const struct rec *r);
void facts_rule_reset(void *v);
void facts_rule_destroy(void *v);

#define SUMS_RULE(init_, feed_, report_)                                                     \
	{                                                                                    \
		.size = sizeof(struct rule_sums), .init = (init_), .feed = (feed_),          \
		.report = (report_), .reset = rule_sums_reset, .destroy = rule_sums_destroy, \
	}

#define FACTS_RULE(report_)                                                                     \
	{                                                                                       \
		.size = sizeof(struct facts), .init = facts_rule_init, .feed = facts_rule_feed, \
		.report = (report_), .reset = facts_rule_reset, .destroy = facts_rule_destroy,  \
	}

#endif
