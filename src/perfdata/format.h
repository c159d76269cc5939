/*
 * The numbers of perf.data files, as the kernel (include/uapi/linux/perf_event.h, v6.18 and the
 * additions of v6.19 to v7.0) and perf (tools/perf/util/header.h,
 * tools/lib/perf/include/perf/event.h) have them. Written down here, so that what can be read does
 * not depend on the headers of the machine memwhy was built on. Knows nothing of how they are read.
 */
#ifndef MEMWHY_PERFDATA_FORMAT_H
#define MEMWHY_PERFDATA_FORMAT_H

#include "base/types.h"

#define PERFDATA_MAGIC "PERFILE2"
#define PERFDATA_MAGIC_SWAPPED "2ELIFREP"
#define PERFDATA_MAGIC_OLD "PERFFILE" /* written by perf before Linux 3.5 */

/* Types of records. From 64 on they are perf's own, below the kernel's. */
enum perfdata_type {
	PERFDATA_MMAP = 1,
	PERFDATA_LOST = 2,
	PERFDATA_COMM = 3,
	PERFDATA_EXIT = 4,
	PERFDATA_THROTTLE = 5,
	PERFDATA_UNTHROTTLE = 6,
	PERFDATA_FORK = 7,
	PERFDATA_READ = 8,
	PERFDATA_SAMPLE = 9,
	PERFDATA_MMAP2 = 10,
	PERFDATA_AUX = 11,
	PERFDATA_ITRACE_START = 12,
	PERFDATA_LOST_SAMPLES = 13,
	PERFDATA_SWITCH = 14,
	PERFDATA_SWITCH_CPU_WIDE = 15,
	PERFDATA_NAMESPACES = 16,
	PERFDATA_KSYMBOL = 17,
	PERFDATA_BPF_EVENT = 18,
	PERFDATA_CGROUP = 19,
	PERFDATA_TEXT_POKE = 20,
	PERFDATA_AUX_OUTPUT_HW_ID = 21,
	PERFDATA_CALLCHAIN_DEFERRED = 22,
	PERFDATA_KERNEL_TYPES = 64, /* types from here on are perf's */
	PERFDATA_ATTR = 64,
	PERFDATA_TRACING_DATA = 66,
	PERFDATA_BUILD_ID = 67,
	PERFDATA_FINISHED_ROUND = 68,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_EVENT_UPDATE = 78,
	PERFDATA_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
};

/* The misc field of a record's head. Some bits mean different things in different types. */
enum perfdata_misc {
	PERFDATA_MISC_MODE = 7,                /* mask of enum perfdata_mode */
	PERFDATA_MISC_DATA = 1 << 13,          /* MMAP, MMAP2: not executable */
	PERFDATA_MISC_EXEC = 1 << 13,          /* COMM */
	PERFDATA_MISC_OUT = 1 << 13,           /* SWITCH */
	PERFDATA_MISC_EXACT_IP = 1 << 14,      /* SAMPLE */
	PERFDATA_MISC_BUILD_ID = 1 << 14,      /* MMAP2 */
	PERFDATA_MISC_PREEMPT = 1 << 14,       /* SWITCH, with OUT */
	PERFDATA_MISC_BUILD_ID_SIZE = 1 << 15, /* BUILD_ID */
};

enum perfdata_mode {
	PERFDATA_MODE_UNKNOWN,
	PERFDATA_MODE_KERNEL,
	PERFDATA_MODE_USER,
	PERFDATA_MODE_HYPERVISOR,
	PERFDATA_MODE_GUEST_KERNEL,
	PERFDATA_MODE_GUEST_USER,
};

/* Fields of samples: bits of sample_type. */
enum perfdata_field {
	PERFDATA_IP = 1 << 0,
	PERFDATA_TID = 1 << 1,
	PERFDATA_TIME = 1 << 2,
	PERFDATA_ADDR = 1 << 3,
	PERFDATA_READ_VALUES = 1 << 4,
	PERFDATA_CALLCHAIN = 1 << 5,
	PERFDATA_ID = 1 << 6,
	PERFDATA_CPU = 1 << 7,
	PERFDATA_PERIOD = 1 << 8,
	PERFDATA_STREAM_ID = 1 << 9,
	PERFDATA_RAW = 1 << 10,
	PERFDATA_BRANCH_STACK = 1 << 11,
	PERFDATA_REGS_USER = 1 << 12,
	PERFDATA_STACK_USER = 1 << 13,
	PERFDATA_WEIGHT = 1 << 14,
	PERFDATA_DATA_SRC = 1 << 15,
	PERFDATA_IDENTIFIER = 1 << 16,
	PERFDATA_TRANSACTION = 1 << 17,
	PERFDATA_REGS_INTR = 1 << 18,
	PERFDATA_PHYS_ADDR = 1 << 19,
	PERFDATA_AUX_DATA = 1 << 20,
	PERFDATA_CGROUP_ID = 1 << 21,
	PERFDATA_DATA_PAGE_SIZE = 1 << 22,
	PERFDATA_CODE_PAGE_SIZE = 1 << 23,
	PERFDATA_WEIGHT_STRUCT = 1 << 24,
	PERFDATA_FIELDS = (1 << 25) - 1, /* those known here */
};

enum perfdata_read_format {
	PERFDATA_READ_ENABLED = 1 << 0,
	PERFDATA_READ_RUNNING = 1 << 1,
	PERFDATA_READ_ID = 1 << 2,
	PERFDATA_READ_GROUP = 1 << 3,
	PERFDATA_READ_LOST = 1 << 4,
	PERFDATA_READ_FORMATS = (1 << 5) - 1,
};

/* The bits of branch_sample_type that change the layout of a sample. */
#define PERFDATA_BRANCH_HW_INDEX (1ULL << 17)
#define PERFDATA_BRANCH_COUNTERS (1ULL << 19) /* v6.8 */

/* Bits 0 to 63 of the flags that follow read_format in the attributes of an event. */
#define PERFDATA_FLAG_FREQ (1ULL << 10)
#define PERFDATA_FLAG_SAMPLE_ID_ALL (1ULL << 18)
#define PERFDATA_FLAG_USE_CLOCKID (1ULL << 25)

/* Marks in a callchain: whose addresses follow. */
enum perfdata_context {
	PERFDATA_CONTEXT_NONE, /* before the first mark */
	PERFDATA_CONTEXT_HV,
	PERFDATA_CONTEXT_KERNEL,
	PERFDATA_CONTEXT_USER,
	PERFDATA_CONTEXT_GUEST,
	PERFDATA_CONTEXT_GUEST_KERNEL,
	PERFDATA_CONTEXT_GUEST_USER,
	PERFDATA_CONTEXT_DEFERRED, /* what follows is the cookie of a CALLCHAIN_DEFERRED */
	PERFDATA_CONTEXT_UNKNOWN,
};

#define PERFDATA_MARK_FIRST ((u64)-4095) /* what is as great is a mark and no address */

/* Features: what perf notes about the machine and the session. */
enum perfdata_feature {
	PERFDATA_FEAT_BUILD_ID = 2,
	PERFDATA_FEAT_HOSTNAME = 3,
	PERFDATA_FEAT_OSRELEASE = 4,
	PERFDATA_FEAT_VERSION = 5,
	PERFDATA_FEAT_ARCH = 6,
	PERFDATA_FEAT_NRCPUS = 7,
	PERFDATA_FEAT_CPUDESC = 8,
	PERFDATA_FEAT_CPUID = 9,
	PERFDATA_FEAT_TOTAL_MEM = 10,
	PERFDATA_FEAT_CMDLINE = 11,
	PERFDATA_FEAT_EVENT_DESC = 12,
	PERFDATA_FEAT_NUMA_TOPOLOGY = 14,
	PERFDATA_FEAT_SAMPLE_TIME = 21,
	PERFDATA_FEAT_MEM_TOPOLOGY = 22,
	PERFDATA_FEAT_CLOCKID = 23,
	PERFDATA_FEAT_DIR_FORMAT = 24,
	PERFDATA_FEAT_COMPRESSED = 27,
	PERFDATA_FEAT_CLOCK_DATA = 29,
	PERFDATA_FEAT_MAX = 256,
};

/* The head of a record. */
struct perfdata_head {
	u32 type;
	u16 misc;
	u16 size; /* with the head */
};

/* The head of a file; of one written to a pipe, magic and size are all there is. */
struct perfdata_section {
	u64 offset;
	u64 size;
};

struct perfdata_file_head {
	char magic[8];
	u64 size;      /* of this */
	u64 attr_size; /* of each entry of attrs: attributes, then the section of its ids */
	struct perfdata_section attrs;
	struct perfdata_section data;
	struct perfdata_section event_types;
	u64 features[PERFDATA_FEAT_MAX / 64];
};

#define PERFDATA_PIPE_HEAD 16

#endif
