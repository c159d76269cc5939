/*
 * The record: the one unit that flows from the probes to the analysis, live or through a file.
 * This header is shared by BPF programs, user space and the log on disk; it knows nothing else.
 *
 * Every record starts with struct rec. Numbers are little-endian, times are CLOCK_MONOTONIC
 * nanoseconds. A record may grow at its end: readers take what they know and see zeroes for what
 * an older writer did not send. Kind numbers are on disk: never reuse one.
 */
#ifndef MEMWHY_EVENT_WIRE_H
#define MEMWHY_EVENT_WIRE_H

#include "base/types.h"

#define REC_MAX_SIZE (64U << 10)
#define REC_KINDS 1024 /* numbers of kinds are below */
#define COMM_LEN 16    /* TASK_COMM_LEN in the kernel */
#define PROBE_NAME_LEN 16

struct rec {
	u32 size;  /* bytes of the whole record, this header included; a multiple of 8 */
	u16 kind;  /* enum rec_kind */
	u16 flags; /* meaning given by the kind */
	u64 time_ns;
};

/*
 * A record is declared once, as a list of its fields in the order of their bytes:
 *
 *	#define FAULTS_AGG_FIELDS(F, R)                              \
 *		F(R, u32, tgid, ID, "process")                       \
 *		F(R, u32[AGG_SLOTS], hist, COUNT, "log2 histogram")
 *	RECORD(faults_agg, FAULTS_AGG_FIELDS);
 *
 * A field has a type, a name, a unit (enum unit in event/schema.h, without UNIT_) and what it
 * means. RECORD() makes the struct, RECORD_KIND() of event/schema.h what the log's schema says of
 * it. The unit HIDDEN leaves a field out of the schema: padding, and what means something in rings
 * only. R is the schema's own.
 */
#define RECORD(name_, LIST_)            \
	struct name_ {                  \
		struct rec h;           \
		LIST_(RECORD_MEMBER, _) \
	}
#define RECORD_MEMBER(R, type_, name_, unit_, help_) __typeof__(type_) name_;

/* Starts a record of a type whose first member is struct rec, zeroed. */
#define REC_INIT(type_, kind_, time_ns_)                                              \
	(type_)                                                                       \
	{                                                                             \
		.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = (time_ns_)}, \
	}

/* How a user stack was had: flags of a REC_STACK, with the detail in the upper byte. On disk. */
enum stack_method {
	STACK_EXACT,   /* by call-frame information, to the outermost frame; or not known */
	STACK_GUESSED, /* … but some frames by frame pointer: code without information */
	STACK_CUT,     /* not to the outermost frame; detail: enum cfi_stop */
	STACK_BY_FRAME_POINTERS, /* all of them; detail: enum stack_fallback */
	STACK_METHODS,
};

enum stack_fallback {
	STACK_KERNEL,     /* nothing else works here */
	STACK_NOT_READY,  /* the tables of the process were being made */
	STACK_NO_ROOM,    /* there was no room for them */
	STACK_BUSY,       /* another walk was going on on this CPU */
	STACK_OTHER_CODE, /* 32-bit code */
};

enum rec_kind {
	REC_NONE = 0, /* in rings only: wakes their reader */

	/* What the stream says about itself (event/meta.h). */
	REC_HOST = 1,
	REC_SESSION = 2,
	REC_METHOD = 3,
	REC_LOSS = 4,
	REC_COST = 5,
	REC_TICK = 6,
	REC_END = 7,
	REC_STRING = 8,
	REC_TASK = 9,
	REC_CGROUP = 10,
	REC_FRAME = 11,
	REC_SYMBOL = 12,
	REC_STACK = 13,
	REC_ENUM = 14,
	REC_NOTE = 15,
	REC_EXIT = 16,
	REC_MODULE = 17,
	/* Records of probes, by number, so that the next free 32 are easy to see. Records that feed
	 * only `check` share 700 to 767. */
	REC_FAULTS_AGG = 64,
	REC_FAULT = 65,
	REC_RECLAIM_AGG = 96,
	REC_RECLAIM_STALL = 97,
	REC_RECLAIM_LRU = 98,
	REC_RECLAIM_KSWAPD = 99,
	REC_RECLAIM_SHRINKER = 100,
	REC_RECLAIM_THROTTLE = 101,
	REC_RECLAIM_WRITTEN = 102,
	REC_FRAG_ZONE = 128,
	REC_FRAG_PAGETYPE = 129,
	REC_FRAG_AGG = 130,
	REC_FRAG_EVENT = 131,
	REC_SYSTEM_VALUE = 160,
	REC_SYSTEM_PRESSURE = 161,
	REC_PROCESS_MEMORY = 192,
	REC_PROCESS_DETAIL = 193,
	REC_PROCESS_NUMA = 194,
	REC_CGROUP_MEMORY = 224,
	REC_SLAB_CACHE = 256,
	REC_SLAB_AGG = 257,
	REC_SLAB_CROSSING = 258,
	REC_SLAB_HELD = 259,
	REC_SLAB_LIFETIME = 260,
	REC_SLAB_FOLLOW = 261,
	REC_STALLS_AGG = 288,
	REC_STALLS_EVENT = 289,
	REC_STALLS_STEP = 290,
	REC_COMPACTION_AGG = 320,
	REC_COMPACTION_RUN = 321,
	REC_COMPACTION_ATTEMPTS = 322,
	REC_COMPACTION_ZONE = 323,
	REC_COMPACTION_DEFERRALS = 324,
	REC_COMPACTION_KCOMPACTD = 325,
	REC_SWAP_AGG = 352,
	REC_SWAP_EVENT = 353,
	REC_SWAP_DEVICE = 354,
	REC_SWAP_OWNER = 355,
	REC_SWAP_COUNTER = 356,
	REC_THP_VALUE = 384,
	REC_THP_AGG = 385,
	REC_THP_EVENT = 386,
	REC_THP_PROCESS = 387,
	REC_OOM_KILL = 416,
	REC_OOM_REPORT = 417,
	REC_OOM_TASK = 418,
	REC_OOM_ZONE = 419,
	REC_OOM_STATE = 420,
	REC_OOM_FREED = 421,
	REC_CACHES_DROPPED = 422,
	REC_OOM_LEDGER = 423,
	REC_DAEMON_KILL = 424,
	REC_PROCESS_CRASHED = 425,
	REC_PAGES_ALLOC = 448,
	REC_PAGES_FREE = 449,
	REC_PAGES_PCP = 450,
	REC_PAGES_IMBALANCE = 451,
	REC_PAGES_HELD = 452,
	REC_PAGES_LIFETIME = 453,
	REC_PAGES_FOLLOW = 454,
	REC_PAGES_FAILURE = 455,
	REC_PAGES_LISTS = 456,
	REC_PAGES_SAMPLED = 457,
	REC_COUNT_EVENT = 480,
	REC_COUNT_AGG = 481,
	REC_MAPS_AGG = 512,
	REC_MAPS_CALL = 513,
	REC_MAPS_PROCESS = 514,
	REC_MAPS_LIMIT = 515,
	REC_POLICY_AGG = 544,
	REC_POLICY_CALL = 545,
	REC_POLICY_MAPPING = 546,
	REC_POLICY_THREAD = 547,
	REC_POLICY_NODE = 548,
	REC_SYSCALLS_AGG = 576,
	REC_SYSCALLS_ERROR = 577,
	REC_SYSCALLS_CALL = 578,
	REC_SYSCALLS_DUMP = 579,
	REC_SYSCALLS_KEPT = 580,
	REC_HEAP_TOTAL = 608,
	REC_HEAP_SITE = 609,
	REC_HEAP_THREAD = 610,
	REC_HEAP_MAPPING = 611,
	REC_HEAP_MAPPED = 612,
	REC_HEAP_TOGETHER = 613,
	REC_HEAP_RESIDENCE = 614,
	REC_HEAP_LOOKED = 615,
	REC_HEAP_EVENTS = 616,
	REC_HEAP_STACKS = 617,
	REC_NUMA_SAMPLE = 672,
	REC_NUMA_MAP = 673,
	REC_NUMA_TASK = 674,
	REC_NUMA_BLOCK = 675,
	REC_NUMA_VARIABLE = 676,
	REC_NUMA_MOVE = 677,
	REC_NUMA_THREAD_MOVE = 678,
	REC_NUMA_PLACE = 679,
	REC_NUMA_NODE = 680,
	REC_NUMA_CPU = 681,
	REC_NUMA_POLICY = 682,
	REC_HELD_FILES = 700,
	REC_HELD_SEGMENT = 701,
	REC_HELD_PROCESS = 702,
	REC_HELD_THREAD = 703,
	REC_HELD_CHILDREN = 704,
	REC_MAPS_SAMPLED = 705,
	REC_LOOKUPS_AGG = 706,
	REC_LOOKUPS_SAMPLED = 707,
	REC_WAITS_LOCK = 732,
	REC_WAITS_DIRTY = 733,
	REC_MMCALLS_AGG = 734,
	REC_MMCALLS_SAMPLED = 735,
	REC_PROCESS_FAMILY = 736,
	REC_CACHE_AGG = 737,
	REC_CACHE_SAMPLED = 738,
	REC_WAITS_MADE = 739,
	REC_CGROUP_DYING = 740,
	REC_HELD_QUEUES = 741,
	REC_HELD_HEAP = 742,
	REC_HELD_MAPS = 743,
	REC_HELD_DISK = 744,
	REC_HELD_TRACE = 745,
	REC_CACHE_FILE = 746,
	REC_PROCESS_PATH = 747,
	REC_MMCALLS_SYNC = 748,
	REC_HELD_TOTALS = 708,
	REC_WHERE_LEDGER = 768,
	REC_WHERE_OWNER = 769,
	REC_WHERE_ARENA = 770,
	REC_WHERE_LIMIT = 771,
	REC_WHERE_CENSUS = 772,
	REC_WHERE_FILE = 773,
	REC_WHERE_MOUNT = 774,
	REC_WHERE_REMOVED = 775,
	REC_WHERE_RUNTIME = 776,
	REC_LIMIT_GROUP = 800,
	REC_LIMIT_MAPPED = 801,
	REC_LIMIT_FILES = 802,
};

#endif
