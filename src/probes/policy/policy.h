/*
 * NUMA memory policy calls, their effect on pages, and the policies in force: what the BPF
 * programs, the probe and its view agree on, and the records.
 */
#ifndef MEMWHY_PROBES_POLICY_H
#define MEMWHY_PROBES_POLICY_H

#include "base/mapping_kind.h"
#include "bpf/page_node.h"
#include "bpf/shared.h"
#include "sys/calls/mempolicy_abi.h"

#define POLICY_LOOKS 512 /* pages of a range, and statuses of move_pages, that are looked at */
#define POLICY_NODES PLACE_NODES
#define POLICY_FILE 32

/* What is wrong with a call, or with what came of it. On disk. */
enum policy_warning {
	POLICY_CUT = 1,        /* maxnode cuts off nodes that the mask has */
	POLICY_EMPTY = 2,      /* no node in the mask, where the mode needs some */
	POLICY_UNUSABLE = 4,   /* nodes without memory, or not allowed: left out in silence */
	POLICY_STAYED = 8,     /* mbind without a flag to move, and pages are elsewhere */
	POLICY_REMAINED = 16,  /* told to move them, and pages are elsewhere after it */
	POLICY_PAGECACHE = 32, /* the range maps a file: its page cache knows no such policy */
	POLICY_LATE = 64,      /* set_mempolicy by a process that has memory already */
	POLICY_SMALL = 128,    /* MPOL_BIND to nodes with less memory than it needs */
	POLICY_UNMOVED = 256,  /* migrate_pages, move_pages: not all pages are where they should */
	POLICY_WARNING_N = 9,  /* bits */
};

#define POLICY_LATE_BYTES (16UL << 20)

/* How reading a mask went: enum mask_state of sys/calls/mempolicy_abi.h. */
struct policy_mask {
	u64 bits[MASK_WORDS]; /* those that the kernel takes */
	u64 cut;              /* of the last word: those that maxnode cuts off */
	u8 state;
	u8 reserved[7];
};

/* Where a page is: a node below POLICY_NODES, or one of these. The errors are those that move_pages
 * has for single pages. On disk. */
enum policy_place {
	POLICY_ABSENT = PLACE_ABSENT,
	POLICY_SWAPPED = PLACE_SWAPPED,
	POLICY_BEYOND = PLACE_BEYOND,
	POLICY_NOT_KNOWN = PLACE_NOT_KNOWN,
	POLICY_PAGE_ENOENT, /* not there */
	POLICY_PAGE_EACCES, /* mapped by several processes, and MPOL_MF_MOVE_ALL was not given */
	POLICY_PAGE_EBUSY,
	POLICY_PAGE_EFAULT, /* not mapped, or the zero page */
	POLICY_PAGE_EIO,
	POLICY_PAGE_EINVAL,
	POLICY_PAGE_ENOMEM,
	POLICY_PAGE_ERROR, /* another */
	POLICY_PLACES = POLICY_NODES + 16,
};

/* Where pages are. */
struct policy_pages {
	u32 looked;
	u32 on; /* on a node that was asked for */
	u16 at[POLICY_PLACES];
};

enum policy_flags {
	POLICY_LOOKED = 1,   /* `before` is known */
	POLICY_AFTER = 2,    /* `after` is too; else nothing was moved, or it failed */
	POLICY_SHARED = 4,   /* the mapping is */
	POLICY_USABLE = 8,   /* `usable` is known */
	POLICY_STATUS = 16,  /* `status` is */
	POLICY_REFUSED = 32, /* by seccomp or ptrace */
	POLICY_ANSWER = 64,  /* get_mempolicy: `answer` is known */
};

/* In the ring, one a call; the same on disk but for the stacks, which become one. */
struct policy_call {
	struct rec h; /* its end */
	u32 tgid, tid;
	u32 ustack, kstack; /* on disk: ustack is a REC_STACK, kstack is 0 */
	u64 start_ns, ns;   /* 0: not known */
	s64 ret;
	u64 cgroup;
	u64 args[6];
	u32 call;                    /* enum mempolicy_call */
	u32 warnings;                /* enum policy_warning */
	u32 flags;                   /* enum policy_flags */
	s32 answer;                  /* of get_mempolicy: the mode, or a node */
	u64 moved, unmoved;          /* pages, as migrate:mm_migrate_pages reports */
	u64 anon_pages;              /* the process has, as it begins; 0: not known */
	u64 map_start, map_end;      /* the mapping that the range begins in; 0: not known */
	struct policy_mask masks[2]; /* of migrate_pages: from, to */
	u64 usable[MASK_WORDS];      /* nodes with memory that the task may use */
	struct policy_pages before, after;
	struct policy_pages wanted, status; /* of move_pages: its arrays of nodes and of status */
	char comm[COMM_LEN];
	char file[POLICY_FILE]; /* its name without directories */
	u8 map;                 /* enum mapping_kind */
	u8 reserved[7];
};

struct policy_config {
	u64 min_ns;             /* with --each: calls shorter than this do not count */
	u64 memory[MASK_WORDS]; /* nodes that have memory; none: not known */
	u64 node_pages[POLICY_NODES];
	u32 nodes;
	u8 find_vma; /* the kernel has bpf_find_vma (5.17) */
	u8 places;   /* pages are looked at, see bpf/page_node.h */
	u8 reserved[2];
};

/* Key of the table of calls. The tgid comes first. */
struct policy_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u32 call;
	u32 mode;  /* of mbind and set_mempolicy */
	u32 flags; /* of mbind, get_mempolicy, move_pages */
	s32 error; /* 0: it succeeded */
	u32 warnings;
	u32 reserved;
};

/* The meaning of agg_value.sum[] there. Pages of a range: counted, or taken from those looked at.
 */
enum {
	POLICY_PAGES, /* of the ranges, or arrays */
	POLICY_MOVED,
	POLICY_NOT_MOVED,
	POLICY_ON_BEFORE,  /* present and on a node that was asked for, and */
	POLICY_OFF_BEFORE, /* present elsewhere */
	POLICY_ON_AFTER,
	POLICY_OFF_AFTER,
};

/* On disk: what was counted for one key since the last record of it. max_ns: since the start. */
#define POLICY_AGG_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                  \
	F(R, u32, stack, STACK, "where it was called")                                          \
	F(R, u32, call, ID, "number of the system call, as in policy_call")                     \
	F(R, u32, mode, HEX, "of mbind and set_mempolicy, with its flags")                      \
	F(R, u32, flags, HEX, "of mbind, get_mempolicy and move_pages")                         \
	F(R, s32, error, ID, "errno; 0: success")                                               \
	F(R, u32, warnings, HEX, "as in policy_call")                                           \
	F(R, u64, count, COUNT, "calls")                                                        \
	F(R, u64, timed, COUNT, "calls whose duration is known")                                \
	F(R, u64, total_ns, NS, "their time")                                                   \
	F(R, u64, max_ns, NS, "the longest since the start")                                    \
	F(R, u64, pages, PAGES, "of their ranges or arrays")                                    \
	F(R, u64, moved, PAGES, "pages the kernel migrated in them")                            \
	F(R, u64, unmoved, PAGES, "pages it tried to migrate in vain")                          \
	F(R, u64, on_before, PAGES,                                                             \
		"pages present on a node that was asked for, before (scaled from those looked " \
		"at)")                                                                          \
	F(R, u64, off_before, PAGES, "pages present elsewhere, before")                         \
	F(R, u64, on_after, PAGES, "pages present on a node that was asked for, after")         \
	F(R, u64, off_after, PAGES, "pages present elsewhere, after")                           \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                  \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                         \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)
RECORD(policy_agg, POLICY_AGG_FIELDS);

/* `policy show`: a mapping with its policy and its pages. */
struct policy_mapping {
	struct rec h;
	u32 tgid;
	u32 policy; /* REC_STRING */
	u32 file;   /* REC_STRING, 0: none */
	u8 map;     /* enum mapping_kind */
	u8 shared;
	u8 reserved[2];
	u64 start, end;
	u64 page_bytes; /* of the pages below; 0: there are none */
	u32 nodes[];    /* pairs: node, pages */
};

/* `policy show`: a thread. */
#define POLICY_THREAD_FIELDS(F, R)                                      \
	F(R, u32, tgid, ID, "process")                                  \
	F(R, u32, tid, ID, "thread")                                    \
	F(R, u32, policy, STRING, "as numa_maps has it; 0: not known")  \
	F(R, s32, node, ID, "of the CPU it last ran on; -1: not known") \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(policy_thread, POLICY_THREAD_FIELDS);

/* A node of the machine. */
#define POLICY_NODE_FIELDS(F, R)              \
	F(R, u32, node, ID, "node")           \
	F(R, u32, reserved, HIDDEN, "")       \
	F(R, u64, bytes, BYTES, "its memory") \
	F(R, u64, free_bytes, BYTES, "of it, free")
RECORD(policy_node, POLICY_NODE_FIELDS);

#endif
