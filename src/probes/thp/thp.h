/* Transparent huge pages: what the BPF programs, the probe, its view and rules agree on. */
#ifndef MEMWHY_PROBES_THP_H
#define MEMWHY_PROBES_THP_H

#include "bpf/shared.h"

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

/* Of the table of sums. */
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
struct thp_event {
	struct rec h;
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 ns;             /* 0: not known */
	u64 sum[3];         /* as above */
	u64 cgroup;
	u32 result;
	u8 kind;
	u8 flags;
	u8 reserved[2];
	char comm[COMM_LEN];
};

/* On disk: what was counted for one key since the last record of it. */
struct thp_agg {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	u32 result;
	u8 kind;
	u8 flags;
	u8 reserved[6];
	u64 count;
	u64 timed, total_ns, max_ns; /* max_ns: since the start */
	u64 sum[3];
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[AGG_SLOTS];
};

enum thp_source {
	THP_SETTING = 1, /* by its path below transparent_hugepage/; a word in text, or a number */
	THP_VMSTAT = 2,  /* /proc/vmstat, since boot */
	THP_SIZE = 3,    /* "64kB/anon_fault_alloc": of one size, since boot (nr_*: now) */
	THP_MEMORY = 4,  /* pages: "free", "high" (of all zones), "total" */
};

#define THP_NAME_LEN 48
#define THP_TEXT_LEN 24

/* One value: sent at the start, and again when it was seen to have changed. */
struct thp_value {
	struct rec h;
	u64 value;
	u16 source; /* enum thp_source */
	u8 reserved[6];
	char name[THP_NAME_LEN];
	char text[THP_TEXT_LEN];
};

/* Huge pages that a process has mapped, and what a sample of them held. */
struct thp_process {
	struct rec h;
	u32 tgid;
	u32 sampled; /* huge pages that were read */
	u64 start_ns;
	u64 rss_bytes, anon_huge_bytes, shmem_huge_bytes, file_huge_bytes;
	u64 waste_bytes; /* estimated: zero-filled base pages in anon_huge_bytes; with sampled */
	u64 error_bytes; /* twice the standard error of it */
	u64 cgroup;
	u32 candidates; /* huge pages that could have been read */
	u32 exact;      /* 1: the kernel told which pages are huge; 0: those fully mapped */
	char comm[COMM_LEN];
};

#define THP_RESULT_SET "thp_scan_result" /* REC_ENUM: names of thp_key.result */

#endif
