/*
 * Stalled allocations: what the BPF programs, the probe and its view agree on, and the records.
 * A stall is one allocation (or one charge to a control group) that had to wait; its steps are
 * what it did meanwhile.
 */
#ifndef MEMWHY_PROBES_STALLS_H
#define MEMWHY_PROBES_STALLS_H

#include "bpf/shared.h"

#define STALLS_DONE_HELP "pages reclaimed; pages migrated by compaction"

#define STALLS_RESULT_HELP                                                                      \
	"reclaim: 1 got pages; compaction: the highest enum compact_result of the zones, with " \
	"16 the allocation had its page after it; retry: 1 announced"

#define STALLS_STEP_HELP                                                                       \
	"1 woke kswapd, 2 compaction, 3 direct reclaim, 4 reclaim in a control group, 5 node " \
	"reclaim, 6 retry, 7 OOM kill, 8 sleep, 9 the sum of all further steps"

#define STALLS_OUTCOME_HELP "as far as events tell: 1 got its pages, 2 failed, 3 OOM kill"

#define STALLS_TRIGGER_HELP \
	"1 page fault, 2 system call, 3 kernel thread, 4 khugepaged, 0 not known"

#define STALLS_KIND_HELP "1 allocation of pages, 2 charge to a control group"

#define STALLS_NODE_HELP "NUMA node of the CPU it began on"

/* What had to wait. On disk. */
enum stalls_kind {
	STALLS_ALLOCATION = 1, /* of pages: none was free */
	STALLS_CHARGE = 2,     /* of pages to a control group at its limit */
};

/* What the allocation was for. On disk. */
enum stalls_trigger {
	STALLS_FOR_UNKNOWN = 0,
	STALLS_FOR_FAULT = 1, /* a page fault of user code */
	STALLS_FOR_SYSCALL = 2,
	STALLS_FOR_KTHREAD = 3,
	STALLS_FOR_KHUGEPAGED = 4,
};

/* As far as the events tell (stalls_outcome). On disk. */
enum stalls_outcome {
	STALLS_GOT = 1, /* it got its pages */
	STALLS_FAILED = 2,
	STALLS_OOM = 3, /* it had a process killed */
};

/* On disk. */
enum stalls_step_kind {
	STALLS_WAKE = 1,    /* woke kswapd */
	STALLS_COMPACT = 2, /* one try_to_compact_pages(): all zones */
	STALLS_DIRECT = 3,  /* one round of direct reclaim */
	STALLS_MEMCG = 4,   /* reclaim in a control group */
	STALLS_NODE = 5,    /* node reclaim */
	STALLS_RETRY = 6,   /* from the decision to try again to the next step */
	STALLS_KILL = 7,    /* the OOM killer chose a victim */
	STALLS_SLEEP = 8,   /* put to sleep between steps (before 5.16) */
	STALLS_MORE = 9,    /* those for which the record has no room */
	STALLS_STEP_KIND_N,
};

/* include/linux/compaction.h: enum compact_result, the same from 5.10 to 7.3. */
enum stalls_compact_result {
	STALLS_COMPACT_SKIPPED = 1,
	STALLS_COMPACT_DEFERRED = 2,
	STALLS_COMPACT_SUCCESS = 8,
	STALLS_COMPACT_PAGE = 16, /* ours, added: the allocation got its page after it */
};

#define STALLS_PRIO_ASYNC 2 /* enum compact_priority */
#define STALLS_COSTLY 3     /* PAGE_ALLOC_COSTLY_ORDER */
#define STALLS_ROOM 16      /* steps in a record */
#define STALLS_NO_SYSCALL (-1)

struct stalls_config {
	u64 min_ns;       /* with --each: stalls shorter than this do not count */
	u32 gfp_direct;   /* flags of the running kernel: may wait, */
	u32 gfp_noretry;  /* __GFP_NORETRY, */
	u32 gfp_final;    /* __GFP_RETRY_MAYFAIL and __GFP_THISNODE */
	u32 thread_bytes; /* THREAD_SIZE and the padding at its top, for kernels before 5.15 */
	u8 lru_gen;
	u8 suitable; /* mm_compaction_suitable reports zones that need no compaction */
	u8 reserved[6];
};

/* Key of the table of stalls. The tgid comes first. */
struct stalls_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u32 gfp;
	s16 syscall; /* its number; STALLS_NO_SYSCALL */
	s16 node;    /* of the CPU it began on */
	u8 kind;
	u8 order;
	u8 trigger;
	u8 outcome;
};

/* Key of the table of steps. */
struct stalls_step_key {
	u8 kind;
	u8 mode; /* of compaction: enum compact_priority */
	u8 result;
	u8 order;
};

/* The meaning of agg_value.sum[] in each table. */
enum {
	STALLS_RECLAIM_NS,
	STALLS_COMPACT_NS,
	STALLS_THROTTLED_NS,
	STALLS_SCANNED,
	STALLS_RECLAIMED,
	STALLS_MIGRATED,
	STALLS_RETRIES,
};
enum { STALLS_STEP_SCANNED, STALLS_STEP_DONE, STALLS_STEP_FAILED, STALLS_STEP_WAIT_NS };

/* A step as it goes on. */
struct stalls_step {
	u64 start_ns, end_ns;      /* end_ns of compaction: its last event so far */
	u64 wait_ns;               /* of it, put to sleep */
	u64 zone;                  /* compaction: first page frame of the last zone compacted */
	u32 scanned, done, failed; /* reclaim: reclaimed; compaction: migrated, not migrated */
	u8 kind;                   /* 0: none */
	u8 mode;
	u8 result;
	u8 zones; /* compacted */
};

/* The stall of a thread, in a map by thread id: from its first step until something shows that it
 * is over. */
struct stalls_state {
	struct stalls_key key;
	u32 token;    /* with the thread id, key of the token (see stalls_state.bpf.h) */
	u64 start_ns; /* 0: none */
	u64 end_ns;   /* of the last step that ended */
	u64 reclaim_ns, compact_ns, throttled_ns;
	u64 scanned, reclaimed, migrated;
	u64 cgroup, address;
	u64 faults, switches; /* of the thread, when the last step ended */
	u64 returned;         /* by the last reclaim */
	u64 wake_ns;          /* kswapd was woken, maybe for the stall to come; 0: not */
	u64 retry_ns;         /* it was decided whether to try again; 0: not since the last step */
	struct stalls_step step;
	u32 wake_gfp;
	u32 tid;
	u32 retries;
	u32 steps;
	u8 wake_order;
	u8 last;       /* enum stalls_step_kind of the last step */
	u8 retry;      /* the decision: yes */
	u8 first;      /* the last compaction came before any reclaim */
	u8 killed;     /* the OOM killer ran */
	u8 page;       /* the last compaction gave the page */
	u8 zone_open;  /* a zone is being compacted */
	u8 zone_reset; /* see compact_reset() */
	char comm[COMM_LEN];
};

/* Steps of a stall, in order; the last entry is STALLS_MORE where they were more. */
struct stalls_steps {
	u64 start_ns[STALLS_ROOM]; /* after the stall's begin */
	u64 ns[STALLS_ROOM];
	u64 wait_ns[STALLS_ROOM];
	u64 zone[STALLS_ROOM];
	u32 scanned[STALLS_ROOM];
	u32 done[STALLS_ROOM];
	u32 failed[STALLS_ROOM];
	u8 kind[STALLS_ROOM];
	u8 mode[STALLS_ROOM];
	u8 result[STALLS_ROOM];
	u8 zones[STALLS_ROOM]; /* STALLS_MORE: how many steps, at most 255 */
};

/* In the ring, one a stall (--each); the same on disk but for the stacks, which become one, and
 * the mapping. The time of the record is when the stall was known to be over. */
struct stalls_event {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 start_ns, ns;
	u64 reclaim_ns, compact_ns, throttled_ns;
	u64 scanned, reclaimed, migrated;
	u64 cgroup;
	u64 address; /* of the fault; 0: none, or not known */
	u32 gfp;
	s32 syscall;
	s32 node;
	u32 retries;
	u32 n_steps; /* all, with those summed up in the last entry */
	u32 mapping; /* string: what address is in; 0: not known */
	u8 kind;
	u8 order;
	u8 trigger;
	u8 outcome;
	u8 reserved[4];
	char comm[COMM_LEN];
	struct stalls_steps steps;
};

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
#define STALLS_AGG_FIELDS(F, R)                                \
	F(R, u32, tgid, ID, "process")                         \
	F(R, u32, tid, ID, "thread; 0: not counted by thread") \
	F(R, u32, stack, STACK, "code path of the first step") \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")     \
	F(R, s32, syscall, ID, "number; -1: not in one")       \
	F(R, s32, node, ID, STALLS_NODE_HELP)                  \
	F(R, u8, kind, ID, STALLS_KIND_HELP)                   \
	F(R, u8, order, ID, "order of the allocation")         \
	F(R, u8, trigger, ID, STALLS_TRIGGER_HELP)             \
	F(R, u8, outcome, ID, STALLS_OUTCOME_HELP)             \
	F(R, u32, reserved, HIDDEN, "")                        \
	F(R, u64, count, COUNT, "stalls that are over")        \
	F(R, u64, total_ns, NS, "their time")                  \
	F(R, u64, max_ns, NS, "the longest since the start")   \
	F(R, u64, reclaim_ns, NS, "of it, in reclaim")         \
	F(R, u64, compact_ns, NS, "of it, in compaction")      \
	F(R, u64, throttled_ns, NS, "of it, put to sleep")     \
	F(R, u64, scanned, PAGES, "by reclaim")                \
	F(R, u64, reclaimed, PAGES, "by reclaim")              \
	F(R, u64, migrated, PAGES, "by compaction")            \
	F(R, u64, retries, COUNT, "rounds after the first")    \
	F(R, u64, cgroup, CGROUP, "control group of the task") \
	F(R, char[COMM_LEN], comm, NONE, "thread name")        \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(stalls_agg, STALLS_AGG_FIELDS);

/* On disk: steps of one kind with one result. */
#define STALLS_STEP_AGG_FIELDS(F, R)                                         \
	F(R, u8, kind, ID, STALLS_STEP_HELP)                                 \
	F(R, u8, mode, ID, "compaction: 0 sync full, 1 sync light, 2 async") \
	F(R, u8, result, ID, STALLS_RESULT_HELP)                             \
	F(R, u8, order, ID, "order of the allocation")                       \
	F(R, u32, reserved, HIDDEN, "")                                      \
	F(R, u64, count, COUNT, "steps")                                     \
	F(R, u64, total_ns, NS, "their time")                                \
	F(R, u64, max_ns, NS, "the longest since the start")                 \
	F(R, u64, scanned, PAGES, "pages scanned")                           \
	F(R, u64, done, PAGES, STALLS_DONE_HELP)                             \
	F(R, u64, failed, PAGES, "not migrated")                             \
	F(R, u64, wait_ns, NS, "of the time, put to sleep")                  \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(stalls_step_agg, STALLS_STEP_AGG_FIELDS);

/*
 * What both sides do with a state: the BPF programs when the next event shows that a step or a
 * stall is over, user space when no event comes.
 */

static inline void stalls_step_end(struct stalls_state *s)
{
	u64 ns = s->step.end_ns - s->step.start_ns;

	if (s->step.wait_ns > ns) /* it comes in jiffies */
		s->step.wait_ns = ns;
	if (s->step.kind == STALLS_COMPACT) {
		s->compact_ns += ns;
		s->migrated += s->step.done;
		if (s->page)
			s->step.result |= STALLS_COMPACT_PAGE;
	} else {
		s->reclaim_ns += ns;
		s->scanned += s->step.scanned;
		s->reclaimed += s->step.done;
	}
	s->throttled_ns += s->step.wait_ns;
	s->end_ns = s->step.end_ns;
	s->last = s->step.kind;
}

/*
 * Only one event shows that an allocation got its pages: compaction_defer_reset() after a
 * compaction. Otherwise it follows from how __alloc_pages_slowpath() goes on, and from its flags: a
 * small order that may retry is retried until it has its pages (or is killed), so reclaim with
 * nothing after it was the last that was needed. noretry, final: masks of __GFP_NORETRY, and of the
 * flags with which the OOM killer is not asked.
 */
static inline u8 stalls_outcome(const struct stalls_state *s, u32 noretry, u32 final)
{
	if (s->killed)
		return STALLS_OOM;
	if (s->retry_ns) /* decided, and no step came after */
		return s->retry || (s->key.order <= STALLS_COSTLY && !(s->key.gfp & final))
			       ? STALLS_GOT
			       : STALLS_FAILED;
	if (s->last == STALLS_COMPACT)
		return s->page ? STALLS_GOT : STALLS_FAILED;
	return s->returned || !(s->key.gfp & noretry) ? STALLS_GOT : STALLS_FAILED;
}

#endif
