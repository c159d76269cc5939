/* Transparent huge pages: what the BPF programs, the probe, its view and rules agree on. */
#ifndef MEMWHY_PROBES_THP_H
#define MEMWHY_PROBES_THP_H

#include "bpf/shared.h"

#define THP_SUM_HELP                                                                         \
	"5: ns zeroing, ns compacting, ns of fallbacks; 7, 8: times begun with free memory " \
	"above the high watermarks, their ns, pages reclaimed"

#define THP_FLAGS_HELP "1 of a file, 2 by a kernel thread, 4 free memory was compared"

#define THP_KIND_HELP                                                                          \
	"1 huge fault, 2 fallback, 3 split of a mapping, 4 split of a page, 5 fault handled, " \
	"6 compaction of a zone, 7 direct reclaim, 8 kswapd, 9 scan, 10 collapse"

#define THP_ORDER 9 /* HPAGE_PMD_ORDER on x86-64 */

/* What is counted. On disk. */
enum thp_kind {
	THP_OTHER = 0,
	THP_FAULT,      /* a fault got a huge page: thp_fault_alloc */
	THP_FALLBACK,   /* … got small pages instead: thp_fault_fallback */
	THP_SPLIT_PMD,  /* a huge mapping became 512 small ones: thp_split_pmd */
	THP_SPLIT_PAGE, /* a huge page became 512 small ones: thp_split_page */
	THP_HANDLED,    /* a fault was in do_huge_pmd_anonymous_page, with its time */
	THP_COMPACT,    /* a zone was compacted directly for a huge page */
	THP_RECLAIM,    /* direct reclaim for a huge page */
	THP_KSWAPD,     /* kswapd awake for a huge page */
	THP_SCAN,       /* khugepaged or MADV_COLLAPSE looked at a range: the result */
	THP_COLLAPSE,   /* … went on to collapse it: the result */
	THP_KIND_N,
};

enum thp_flags {
	THP_FILE = 1,       /* THP_SCAN, THP_COLLAPSE: of a file or of shared memory */
	THP_KERNEL = 2,     /* THP_COMPACT, THP_RECLAIM: by a kernel thread (khugepaged) */
	THP_FREE_KNOWN = 4, /* THP_RECLAIM, THP_KSWAPD: free memory was compared */
};

struct thp_config {
	u64 min_ns;     /* with --each: shorter ones do not count, nor those without a duration */
	u64 free_pages; /* address of the kernel's vm_zone_stat, 0: not known */
	u64 high_pages; /* the sum of the zones' high watermarks, and a huge page; 0: not known */
};

/* Key of the table of sums. */
struct thp_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* ids in the stack maps, 0: none */
	u32 result;         /* THP_SCAN, THP_COLLAPSE: enum scan_result of the running kernel */
	u8 kind;            /* enum thp_kind */
	u8 flags;
	u8 reserved[2];
};

/* The meaning of agg_value.sum[], by kind. */
enum { HANDLED_ZERO_NS, HANDLED_COMPACT_NS, HANDLED_FALLBACK_NS };
enum { RECLAIM_ABOVE, RECLAIM_ABOVE_NS, RECLAIM_PAGES }; /* and THP_KSWAPD's, but for the last */

/* In the ring (--each); the same on disk but for the stacks, which become one. The time of the
 * record is the end. */
#define THP_EVENT_FIELDS(F, R)                                 \
	F(R, u32, tgid, ID, "process")                         \
	F(R, u32, tid, ID, "thread")                           \
	F(R, u32, ustack, STACK, "where it happened")          \
	F(R, u32, kstack, HIDDEN, "")                          \
	F(R, u64, ns, NS, "duration; 0: not known")            \
	F(R, u64[3], sum, NONE, THP_SUM_HELP)                  \
	F(R, u64, cgroup, CGROUP, "control group of the task") \
	F(R, u32, result, ID, "as in thp_agg")                 \
	F(R, u8, kind, ID, THP_KIND_HELP)                      \
	F(R, u8, flags, HEX, THP_FLAGS_HELP)                   \
	F(R, u8[2], reserved, HIDDEN, "")                      \
	F(R, char[COMM_LEN], comm, NONE, "name of the task")
RECORD(thp_event, THP_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define THP_AGG_FIELDS(F, R)                                                  \
	F(R, u32, tgid, ID, "process; of 9 and 10: whose memory it is")       \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                \
	F(R, u32, stack, STACK, "where it happened")                          \
	F(R, u32, result, ID, "of 9 and 10: enum scan_result of that kernel") \
	F(R, u8, kind, ID, THP_KIND_HELP)                                     \
	F(R, u8, flags, HEX, THP_FLAGS_HELP)                                  \
	F(R, u8[6], reserved, HIDDEN, "")                                     \
	F(R, u64, count, COUNT, "how many")                                   \
	F(R, u64, timed, COUNT, "of these, with a known duration")            \
	F(R, u64, total_ns, NS, "their time")                                 \
	F(R, u64, max_ns, NS, "the longest since the start")                  \
	F(R, u64[3], sum, NONE, THP_SUM_HELP)                                 \
	F(R, u64, cgroup, CGROUP, "control group of the task")                \
	F(R, char[COMM_LEN], comm, NONE, "its name")                          \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(thp_agg, THP_AGG_FIELDS);

enum thp_source {
	THP_SETTING = 1, /* by its path below transparent_hugepage/; a word in text, or a number */
	THP_VMSTAT = 2,  /* /proc/vmstat, since boot */
	THP_SIZE = 3,    /* "64kB/anon_fault_alloc": of one size, since boot (nr_*: now) */
	THP_MEMORY = 4,  /* pages: "free", "high" (of all zones), "total" */
};

#define THP_NAME_LEN 48
#define THP_TEXT_LEN 24

/* One value: sent at the start, and again when it was seen to have changed. */
#define THP_VALUE_FIELDS(F, R)                                                             \
	F(R, u64, value, NONE, "in the kernel's own unit")                                 \
	F(R, u16, source, ID,                                                              \
		"1 setting; 2 /proc/vmstat; 3 statistics of a size; 4 pages: free, high "  \
		"(watermarks), total") /* enum thp_source */                               \
	F(R, u8[6], reserved, HIDDEN, "")                                                  \
	F(R, char[THP_NAME_LEN], name, NONE, "settings: path below transparent_hugepage/") \
	F(R, char[THP_TEXT_LEN], text, NONE, "the selected word of a setting that is no number")
RECORD(thp_value, THP_VALUE_FIELDS);

/* Huge pages that a process has mapped, and what a sample of them held. */
#define THP_PROCESS_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                           \
	F(R, u32, sampled, COUNT, "huge pages that were read")                                   \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                                 \
	F(R, u64, rss_bytes, BYTES, "resident memory")                                           \
	F(R, u64, anon_huge_bytes, BYTES, "anonymous memory in huge pages")                      \
	F(R, u64, shmem_huge_bytes, BYTES, "shared memory in huge pages")                        \
	F(R, u64, file_huge_bytes, BYTES, "files in huge pages")                                 \
	F(R, u64, waste_bytes, BYTES,                                                            \
		"zero-filled base pages in anon_huge_bytes (estimated); with sampled")           \
	F(R, u64, error_bytes, BYTES, "twice the standard error of that")                        \
	F(R, u64, cgroup, CGROUP, "control group")                                               \
	F(R, u32, candidates, COUNT, "huge pages of which the sample was drawn")                 \
	F(R, u32, exact, ID,                                                                     \
		"1: the kernel told which are huge; 0: ranges fully mapped were taken for huge") \
	F(R, char[COMM_LEN], comm, NONE, "its name")                                             \
	F(R, u32, untouched, COUNT, "of sampled, those that are all zero")                       \
	F(R, u32, reserved, NONE, "0")
RECORD(thp_process, THP_PROCESS_FIELDS);

#define THP_RESULT_SET "thp_scan_result" /* REC_ENUM: names of thp_key.result */

#endif
