/* The machine's own counters, settings and pressure: the records. */
#ifndef MEMWHY_PROBES_SYSTEM_H
#define MEMWHY_PROBES_SYSTEM_H

#include "event/wire.h"

enum system_source {
	SYSTEM_VMSTAT = 1,  /* /proc/vmstat: events since boot, in the kernel's own unit */
	SYSTEM_MEMINFO = 2, /* /proc/meminfo: bytes; HugePages_*: huge pages */
	SYSTEM_SYSCTL = 3,  /* /proc/sys, by its sysctl name, in its own unit */
	SYSTEM_SETTING = 4, /* /sys/kernel/mm and the like: a number, or a word in text */
	SYSTEM_COUNT =
		5, /* what the kernel counts of its own objects, by sys/counts.h; once a second */
};

#define SYSTEM_NAME_LEN 40
#define SYSTEM_TEXT_LEN 24

/*
 * One value: sent at the start, and again whenever it was seen to have changed. The difference
 * of two counters is the reader's. What this kernel does not have is not sent.
 *
 * Settings are named by their path with "thp/" for transparent_hugepage/: "thp/enabled",
 * "thp/khugepaged/max_ptes_none", "thp/hugepages-64kB/enabled", "lru_gen/enabled",
 * "numa/demotion_enabled", "ksm/run", "zswap/enabled".
 */
struct system_value {
	struct rec h;
	u64 value;  /* 0 where text has it */
	u16 source; /* enum system_source */
	u8 reserved[6];
	char name[SYSTEM_NAME_LEN];
	char text[SYSTEM_TEXT_LEN]; /* the selected word: "madvise"; empty for numbers */
};

enum system_resource {
	SYSTEM_MEMORY = 1,
	SYSTEM_IO = 2,
	SYSTEM_CPU = 3,
};

/*
 * Pressure stall information: sent at the start and whenever it changed. Shares of time are in
 * 1/100 percent (1234 is 12.34 %) and averaged by the kernel; totals are exact, since boot.
 */
struct system_pressure {
	struct rec h;
	u8 resource; /* enum system_resource */
	u8 has_full; /* the kernel tells "full" of this resource */
	u8 reserved[6];
	u32 some_avg10, some_avg60, some_avg300; /* at least one task waited */
	u32 full_avg10, full_avg60, full_avg300; /* all tasks that were not idle waited */
	u64 some_total_us, full_total_us;
};

#endif
