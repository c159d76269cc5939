/* The machine's own counters, settings and pressure: the records. */
#ifndef MEMWHY_PROBES_SYSTEM_H
#define MEMWHY_PROBES_SYSTEM_H

#include "event/wire.h"

enum system_source {
	SYSTEM_VMSTAT = 1,  /* /proc/vmstat: events since boot, in the kernel's own unit */
	SYSTEM_MEMINFO = 2, /* /proc/meminfo: bytes; HugePages_*: huge pages */
	SYSTEM_SYSCTL = 3,  /* /proc/sys, by its sysctl name, in its own unit */
	SYSTEM_SETTING = 4, /* /sys/kernel/mm and the like: a number, or a word in text */
	SYSTEM_COUNT = 5,   /* the kernel's own objects (sys/memory/counts.h), once a second */
	SYSTEM_THREAD = 6,  /* kswapd, kcompactd (of each node), ksmd, by name: CPU time in ns */
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
#define SYSTEM_VALUE_FIELDS(F, R)                                                                  \
	F(R, u64, value, NONE,                                                                     \
		"meminfo: bytes (HugePages_*: huge pages); counts of memory: bytes; otherwise in " \
		"the kernel's own unit")                                                           \
	F(R, u16, source, ID,                                                                      \
		"1 /proc/vmstat, counted since boot; 2 /proc/meminfo; 3 sysctl; 4 "                \
		"/sys/kernel/mm; 5 the kernel's counts of its own objects; 6 CPU time of a "       \
		"kernel thread in ns, by its name")                                                \
	F(R, u8[6], reserved, HIDDEN, "")                                                          \
	F(R, char[SYSTEM_NAME_LEN], name, NONE,                                                    \
		"name in its file; settings: path, with thp/ for transparent_hugepage/")           \
	F(R, char[SYSTEM_TEXT_LEN], text, NONE, "the selected word of a setting that is no number")
RECORD(system_value, SYSTEM_VALUE_FIELDS);

enum system_resource {
	SYSTEM_MEMORY = 1,
	SYSTEM_IO = 2,
	SYSTEM_CPU = 3,
};

/*
 * Pressure stall information: sent at the start and whenever it changed. Shares of time are in
 * 1/100 percent (1234 is 12.34 %) and averaged by the kernel; totals are exact, since boot.
 */
#define SYSTEM_PRESSURE_FIELDS(F, R)                                                               \
	F(R, u8, resource, ID, "1 memory, 2 io, 3 cpu") /* enum system_resource */                 \
	F(R, u8, has_full, NONE, "1: the members full_* are known")                                \
	F(R, u8[6], reserved, HIDDEN, "")                                                          \
	F(R, u32, some_avg10, NONE,                                                                \
		"time in which a task waited, average over 10 s, in 1/100 percent")                \
	F(R, u32, some_avg60, NONE, "the same over 60 s, in 1/100 percent")                        \
	F(R, u32, some_avg300, NONE, "the same over 300 s, in 1/100 percent")                      \
	F(R, u32, full_avg10, NONE,                                                                \
		"time in which all tasks that were not idle waited, over 10 s, in 1/100 percent")  \
	F(R, u32, full_avg60, NONE, "the same over 60 s, in 1/100 percent")                        \
	F(R, u32, full_avg300, NONE, "the same over 300 s, in 1/100 percent")                      \
	F(R, u64, some_total_us, NONE, "time in which a task waited, since boot, in microseconds") \
	F(R, u64, full_total_us, NONE,                                                             \
		"time in which all tasks that were not idle waited, since boot, in microseconds")
RECORD(system_pressure, SYSTEM_PRESSURE_FIELDS);

#endif
