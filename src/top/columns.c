/* The columns of `top`, each with where its number comes from. See top.h. */
#include "top/top.h"

static const struct column processes[] = {
	[TOP_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_MAIN, "process"},
	[TOP_COMM] = {"comm", "COMMAND", CELL_TEXT, UNIT_NONE, COL_MAIN | COL_ASIDE,
		"its name, and of an interpreter the program it runs (/proc/PID/stat, cmdline)"},
	[TOP_RSS] = {"rss_bytes", "RSS", CELL_U64, UNIT_BYTES, COL_MAIN | COL_LEVEL,
		"resident memory (/proc/PID/statm)"},
	[TOP_GROWTH] = {"growth_bytes_per_s", "GROWTH/s", CELL_S64, UNIT_BYTES,
		COL_CHANGE | COL_MAIN,
		"what the resident memory grew by a second, between the last two samples "
		"(/proc/PID/statm)"},
	[TOP_ANON] = {"anon_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"anonymous resident memory: heap, stacks, private pages that were written to "
		"(RssAnon of /proc/PID/status, else statm)"},
	[TOP_FILE] = {"file_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"resident pages of mapped files (RssFile of /proc/PID/status)"},
	[TOP_SHMEM] = {"shmem_bytes", "SHMEM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"resident shared memory and tmpfs (RssShmem of /proc/PID/status)"},
	[TOP_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"anonymous memory in swap (VmSwap of /proc/PID/status)"},
	[TOP_PSS] = {"pss_bytes", "PSS", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_WIDE,
		"resident memory, what is shared divided by who shares it (/proc/PID/smaps_rollup; "
		"key P, or where it is asked for)"},
	[TOP_THP] = {"thp_ratio", "THP%", CELL_F64, UNIT_RATIO, COL_LEVEL | COL_WIDE,
		"share of its anonymous memory that is in huge pages (AnonHugePages of "
		"/proc/PID/smaps_rollup; likewise)"},
	[TOP_LOCAL] = {"local_ratio", "LOCAL%", CELL_F64, UNIT_RATIO, COL_LEVEL | COL_WIDE,
		"share of its memory on NUMA nodes where its threads last ran "
		"(/proc/PID/numa_maps, "
		"/proc/PID/task/TID/stat; likewise, of the biggest, on several nodes)"},
	[TOP_MINOR] = {"minor_per_s", "MINOR/s", CELL_F64, UNIT_COUNT, COL_LESSER,
		"minor page faults a second (exact: BPF, else /proc/PID/stat)"},
	[TOP_MAJOR] = {"major_per_s", "MAJOR/s", CELL_F64, UNIT_COUNT, 0,
		"major page faults a second: those that waited for I/O (exact: BPF, else "
		"/proc/PID/stat)"},
	[TOP_FAULT] = {"fault_ratio", "FAULT%", CELL_F64, UNIT_RATIO, 0,
		"time its threads spent in page faults that ended in the interval, as a share of "
		"wall time: up to 100 % a thread (BPF, of the faults whose duration is known)"},
	[TOP_STALL] = {"stall_ratio", "STALL%", CELL_F64, UNIT_RATIO, COL_MAIN,
		"time its threads waited in allocations for reclaim or compaction, or for memory "
		"to be read back from swap, as a share of wall time: up to 100 % a thread (BPF; of "
		"a private mapping of a file swap-ins are not known; of those and of reclaim in "
		"page faults, which may be part of them, the longer counts)"},
	[TOP_CPU] = {"cpu_ratio", "CPU%", CELL_F64, UNIT_RATIO, COL_LESSER,
		"CPU time, as a share of one CPU (/proc/PID/stat)"},
	[TOP_TABLE_BYTES] = {"page_table_bytes", "PTABLES", CELL_U64, UNIT_BYTES,
		COL_LEVEL | COL_LESSER, "its page tables (VmPTE of /proc/PID/status)"},
	[TOP_OOM] = {"oom_score", "OOM", CELL_U64, UNIT_NONE, COL_LEVEL | COL_LESSER,
		"how near it is to being killed when memory runs out: the highest goes first "
		"(/proc/PID/oom_score)"},
	[TOP_OOM_ADJ] = {"oom_score_adj", "ADJ", CELL_S64, UNIT_NONE,
		COL_LEVEL | COL_LESSER | COL_WIDE,
		"what was set to be added to that: -1000 is never killed "
		"(/proc/PID/oom_score_adj)"},
	[TOP_THREADS] = {"threads", "THREADS", CELL_U64, UNIT_COUNT,
		COL_LEVEL | COL_LESSER | COL_WIDE, "its threads (/proc/PID/status)"},
	[TOP_LIMIT] = {"limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"the lowest limit of its control group and of those above it (memory.max, "
		"memory.high; memory.limit_in_bytes)"},
	[TOP_ROOM] = {"headroom_bytes", "ROOM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"the least that is left below one of those limits"},
	[TOP_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_ASIDE | COL_LESSER,
		"control group that its memory is charged to (/proc/PID/cgroup)"},
	[TOP_USER] = {"user", "USER", CELL_TEXT, UNIT_NONE, COL_LESSER | COL_WIDE,
		"whose rights it has (the owner of /proc/PID)"},
};

static const struct column users[] = {
	[TOP_U_USER] = {"user", "USER", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"user; the other numbers are sums over those of his processes that are listed"},
	[TOP_U_RSS] = {"rss_bytes", "RSS", CELL_U64, UNIT_BYTES, COL_MAIN | COL_LEVEL,
		"resident memory; what processes share counts in each"},
	[TOP_U_GROWTH] = {"growth_bytes_per_s", "GROWTH/s", CELL_S64, UNIT_BYTES,
		COL_CHANGE | COL_MAIN, "what that grew by a second"},
	[TOP_U_ANON] = {"anon_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_LEVEL, "anonymous memory"},
	[TOP_U_FILE] = {"file_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"resident pages of files"},
	[TOP_U_SHMEM] = {"shmem_bytes", "SHMEM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"resident shared memory and tmpfs"},
	[TOP_U_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"anonymous memory in swap"},
	[TOP_U_MINOR] = {"minor_per_s", "MINOR/s", CELL_F64, UNIT_COUNT, COL_LESSER,
		"minor page faults a second"},
	[TOP_U_MAJOR] = {"major_per_s", "MAJOR/s", CELL_F64, UNIT_COUNT, 0,
		"major page faults a second"},
	[TOP_U_FAULT] = {"fault_ratio", "FAULT%", CELL_F64, UNIT_RATIO, 0,
		"time spent in page faults, as a share of wall time"},
	[TOP_U_STALL] = {"stall_ratio", "STALL%", CELL_F64, UNIT_RATIO, COL_MAIN,
		"time that allocations waited, as a share of wall time"},
	[TOP_U_CPU] = {"cpu_ratio", "CPU%", CELL_F64, UNIT_RATIO, COL_LESSER,
		"CPU time, as a share of one CPU"},
	[TOP_U_PROCESSES] = {"processes", "PROCS", CELL_U64, UNIT_COUNT, COL_LEVEL,
		"how many processes that is"},
};

static const struct column groups[] = {
	[TOP_G_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_MAIN,
		"control group that has memory; all numbers but its processes' include the groups "
		"below"},
	[TOP_G_USAGE] = {"usage_bytes", "USAGE", CELL_U64, UNIT_BYTES, COL_MAIN | COL_LEVEL,
		"memory charged to it (memory.current, memory.usage_in_bytes)"},
	[TOP_G_GROWTH] = {"growth_bytes_per_s", "GROWTH/s", CELL_S64, UNIT_BYTES,
		COL_CHANGE | COL_MAIN, "what that grew by a second"},
	[TOP_G_LIMIT] = {"limit_bytes", "LIMIT", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"its own limit (the lower of memory.max and memory.high; memory.limit_in_bytes)"},
	[TOP_G_ROOM] = {"headroom_bytes", "ROOM", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what is left below it"},
	[TOP_G_ANON] = {"anon_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"anonymous memory (memory.stat)"},
	[TOP_G_FILE] = {"file_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"page cache of files (memory.stat)"},
	[TOP_G_SHMEM] = {"shmem_bytes", "SHMEM", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"tmpfs and shared memory (memory.stat)"},
	[TOP_G_KERNEL] = {"kernel_bytes", "KERNEL", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_LESSER,
		"what the kernel allocated for it (memory.stat)"},
	[TOP_G_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL, "memory in swap"},
	[TOP_G_PRESSURE] = {"pressure_ratio", "PSI", CELL_F64, UNIT_RATIO, 0,
		"share of the time in which one of its tasks waited for memory (memory.pressure)"},
	[TOP_G_REFAULTS] = {"refaults_per_s", "REFAULT/s", CELL_F64, UNIT_COUNT, 0,
		"pages a second that were needed again soon after they were reclaimed "
		"(workingset_refault of memory.stat)"},
	[TOP_G_HITS] = {"limit_hits_per_s", "HITS/s", CELL_F64, UNIT_COUNT, 0,
		"how often a second its usage was about to exceed the limit (memory.events, "
		"memory.failcnt)"},
	[TOP_G_KILLS] = {"oom_kills", "KILLS", CELL_U64, UNIT_COUNT, COL_LESSER,
		"processes killed by the OOM killer in the interval"},
	[TOP_G_PROCESSES] = {"processes", "PROCS", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_LESSER,
		"of the processes that are listed, those in the group itself"},
	[TOP_G_MAJOR] = {"major_per_s", "MAJOR/s", CELL_F64, UNIT_COUNT, COL_LESSER,
		"major page faults of these a second"},
	[TOP_G_STALL] = {"stall_ratio", "STALL%", CELL_F64, UNIT_RATIO, 0,
		"time these waited in allocations and for swap, as a share of wall time (BPF)"},
	[TOP_G_LEVEL] = {"level", "LEVEL", CELL_U64, UNIT_ID, COL_WIDE, "its depth: 0 is the root"},
};

static const struct column machine[] = {
	[TOP_M_TOTAL] = {"total_bytes", "TOTAL", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"MemTotal (/proc/meminfo)"},
	[TOP_M_AVAILABLE] = {"available_bytes", "AVAILABLE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"MemAvailable (/proc/meminfo)"},
	[TOP_M_SWAP_TOTAL] = {"swap_total_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"SwapTotal (/proc/meminfo)"},
	[TOP_M_SWAP_USED] = {"swap_used_bytes", "USED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"SwapTotal less SwapFree (/proc/meminfo)"},
	[TOP_M_MEMORY_SOME] = {"memory_some_ratio", "PSI MEM", CELL_F64, UNIT_RATIO, 0,
		"share of the interval in which a task waited for memory (/proc/pressure/memory)"},
	[TOP_M_MEMORY_FULL] = {"memory_full_ratio", "FULL", CELL_F64, UNIT_RATIO, 0,
		"share in which all tasks that were not idle did"},
	[TOP_M_IO_SOME] = {"io_some_ratio", "PSI IO", CELL_F64, UNIT_RATIO, 0,
		"share in which a task waited for I/O (/proc/pressure/io)"},
	[TOP_M_IO_FULL] = {"io_full_ratio", "FULL", CELL_F64, UNIT_RATIO, 0,
		"share in which all tasks that were not idle did"},
	[TOP_M_CPU_SOME] = {"cpu_some_ratio", "PSI CPU", CELL_F64, UNIT_RATIO, 0,
		"share in which a task waited for a CPU (/proc/pressure/cpu)"},
	[TOP_M_FAULTS] = {"faults_per_s", "FAULTS/s", CELL_F64, UNIT_COUNT, 0,
		"page faults a second (pgfault of /proc/vmstat)"},
	[TOP_M_MAJOR] = {"major_per_s", "MAJOR/s", CELL_F64, UNIT_COUNT, 0,
		"major ones (pgmajfault)"},
	[TOP_M_KSWAPD] = {"kswapd_pages_per_s", "KSWAPD/s", CELL_F64, UNIT_PAGES, 0,
		"pages kswapd looked at to reclaim them, a second (pgscan_kswapd)"},
	[TOP_M_DIRECT] = {"direct_pages_per_s", "DIRECT/s", CELL_F64, UNIT_PAGES, 0,
		"pages that allocating tasks looked at, a second (pgscan_direct)"},
	[TOP_M_RECLAIMED] = {"reclaimed_pages_per_s", "RECLAIMED/s", CELL_F64, UNIT_PAGES, 0,
		"pages reclaimed a second by either (pgsteal_kswapd, pgsteal_direct)"},
	[TOP_M_KCOMPACTD] = {"kcompactd_pages_per_s", "KCOMPACTD/s", CELL_F64, UNIT_PAGES, 0,
		"pages kcompactd looked at to move them, a second "
		"(compact_daemon_migrate_scanned)"},
	[TOP_M_COMPACT_STALLS] = {"compact_stalls_per_s", "COMPACT/s", CELL_F64, UNIT_COUNT, 0,
		"direct compactions a second (compact_stall)"},
	[TOP_M_SWAP_IN] = {"swap_in_pages_per_s", "SWAPIN/s", CELL_F64, UNIT_PAGES, 0,
		"pages read from swap a second (pswpin)"},
	[TOP_M_SWAP_OUT] = {"swap_out_pages_per_s", "SWAPOUT/s", CELL_F64, UNIT_PAGES, 0,
		"pages written to swap a second (pswpout)"},
	[TOP_M_REFAULTS] = {"refaults_per_s", "REFAULT/s", CELL_F64, UNIT_COUNT, 0,
		"pages a second that were needed again soon after they were reclaimed "
		"(workingset_refault_anon and _file)"},
	[TOP_M_KILLS] = {"oom_kills", "KILLS", CELL_U64, UNIT_COUNT, 0,
		"processes killed in the interval (oom_kill)"},
	[TOP_M_TOP_CPU] = {"self_cpu_ratio", "SELF", CELL_F64, UNIT_RATIO, 0,
		"CPU time of memwhy itself, as a share of one CPU"},
	[TOP_M_TOP_BPF] = {"self_bpf_ratio", "BPF", CELL_F64, UNIT_RATIO, 0,
		"CPU time of its BPF programs, which the tasks pay"},
	[TOP_M_TOP_RSS] = {"self_rss_bytes", "RSS", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory of memwhy's processes; the program file that they share counts once "
		"(/proc/PID/statm)"},
	[TOP_M_TOP_MAPS] = {"self_bpf_bytes", "MAPS", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"memory of its BPF maps"},
};

static const struct column memory[] = {
	[TOP_P_PART] = {"part", "PART", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"what the memory is used for; all parts together are MemTotal"},
	[TOP_P_BYTES] = {"bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_MAIN | COL_LEVEL,
		"of /proc/meminfo: anon AnonPages; cache Cached and Buffers without Shmem; shmem "
		"Shmem; slab Slab; tables PageTables and SecPageTables; kernel KernelStack, Percpu "
		"and KReclaimable beyond slab; huge the pools of hugetlb; free MemFree; other: the "
		"rest"},
	[TOP_P_RATIO] = {"ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_LEVEL, "share of MemTotal"},
};

static const struct column zones[] = {
	[TOP_Z_NODE] = {"node", "NODE", CELL_U64, UNIT_ID, COL_MAIN | COL_KEY, "NUMA node"},
	[TOP_Z_ZONE] = {"zone", "ZONE", CELL_TEXT, UNIT_NONE, COL_MAIN, "zone (/proc/zoneinfo)"},
	[TOP_Z_FREE] = {"free_bytes", "FREE", CELL_U64, UNIT_BYTES, COL_LEVEL, "free memory"},
	[TOP_Z_MIN] = {"min_bytes", "MIN", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"watermark: below it allocations reclaim by themselves"},
	[TOP_Z_LOW] = {"low_bytes", "LOW", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"watermark: below it kswapd is woken"},
	[TOP_Z_HIGH] = {"high_bytes", "HIGH", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"watermark: kswapd sleeps again"},
	[TOP_Z_BLOCKS] = {"free_blocks", "FREE BLOCKS BY ORDER", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"free blocks of 1, 2, 4 ... pages (/proc/buddyinfo)"},
	[TOP_Z_KSWAPD] = {"kswapd_ratio", "KSWAPD%", CELL_F64, UNIT_RATIO, 0,
		"CPU time of the node's kswapd, as a share of one CPU; the same for each zone of a "
		"node (/proc/PID/stat, in clock ticks)"},
	[TOP_Z_KCOMPACTD] = {"kcompactd_ratio", "KCOMPACTD%", CELL_F64, UNIT_RATIO, 0,
		"the same of its kcompactd"},
};

static const struct column paths[] = {
	[TOP_X_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_MAIN, "process"},
	[TOP_X_COMM] = {"comm", "COMMAND", CELL_TEXT, UNIT_NONE, COL_ASIDE, "its name"},
	[TOP_X_WHAT] = {"event", "EVENT", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"minor fault, major fault, allocation (one that had to wait), charge (one that "
		"waited "
		"at the limit of its group)"},
	[TOP_X_MAPPING] = {"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"kind of mapping, or the file, of major faults"},
	[TOP_X_COUNT] = {"count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT | COL_MAIN,
		"how often in the interval; of minor faults only one in 61 has its stack "
		"(sampled)"},
	[TOP_X_TIME] = {"total_ns", "TIME", CELL_U64, UNIT_NS, COL_MAIN,
		"time they took, where it is known"},
	[TOP_X_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path"},
};

#define TABLE(name_, cols_)                                        \
	{                                                          \
		name_, cols_, ARRAY_SIZE(cols_), sizeof(cols_[0]), \
	}

const struct view_table top_tables[] = {
	[TOP_PROCESSES] = TABLE("top", processes),
	[TOP_GROUPS] = TABLE("cgroups", groups),
	[TOP_USERS] = TABLE("users", users),
	[TOP_MACHINE] = TABLE("machine", machine),
	[TOP_MEMORY] = TABLE("memory", memory),
	[TOP_ZONES] = TABLE("zones", zones),
	[TOP_PATHS] = TABLE("paths", paths),
	{},
};
