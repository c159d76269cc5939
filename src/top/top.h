/*
 * What `memwhy top` shows of one interval, as tables: processes, control groups, users, the
 * machine's memory, its zones, the code paths that cost time, and the findings of the rules. A view
 * like any other: every format has it, and the screen draws nothing else.
 */
#ifndef MEMWHY_TOP_TOP_H
#define MEMWHY_TOP_TOP_H

#include "report/view.h"

extern const struct view top_view;

enum top_table {
	TOP_PROCESSES,
	TOP_GROUPS,
	TOP_USERS,
	TOP_MACHINE,
	TOP_MEMORY,
	TOP_ZONES,
	TOP_PATHS
};
#define TOP_TABLES 7

/* Ends with a NULL name; in the order of enum top_table. */
extern const struct view_table top_tables[];

/* The columns of the tables, by what the screen and its tests need to know of them. */
enum top_process_column {
	TOP_PID,
	TOP_COMM,
	TOP_RSS,
	TOP_GROWTH,
	TOP_ANON,
	TOP_FILE,
	TOP_SHMEM,
	TOP_SWAP,
	TOP_PSS,
	TOP_THP,
	TOP_LOCAL,
	TOP_MINOR,
	TOP_MAJOR,
	TOP_FAULT,
	TOP_STALL,
	TOP_CPU,
	TOP_TABLE_BYTES,
	TOP_OOM,
	TOP_OOM_ADJ,
	TOP_THREADS,
	TOP_LIMIT,
	TOP_ROOM,
	TOP_CGROUP,
	TOP_USER,
	TOP_PROCESS_COLUMNS,
};

enum top_group_column {
	TOP_G_CGROUP,
	TOP_G_USAGE,
	TOP_G_GROWTH,
	TOP_G_LIMIT,
	TOP_G_ROOM,
	TOP_G_ANON,
	TOP_G_FILE,
	TOP_G_SHMEM,
	TOP_G_KERNEL,
	TOP_G_SWAP,
	TOP_G_PRESSURE,
	TOP_G_REFAULTS,
	TOP_G_HITS,
	TOP_G_KILLS,
	TOP_G_PROCESSES,
	TOP_G_MAJOR,
	TOP_G_STALL,
	TOP_G_LEVEL,
	TOP_GROUP_COLUMNS,
};

enum top_user_column {
	TOP_U_USER,
	TOP_U_RSS,
	TOP_U_GROWTH,
	TOP_U_ANON,
	TOP_U_FILE,
	TOP_U_SHMEM,
	TOP_U_SWAP,
	TOP_U_MINOR,
	TOP_U_MAJOR,
	TOP_U_FAULT,
	TOP_U_STALL,
	TOP_U_CPU,
	TOP_U_PROCESSES,
	TOP_USER_COLUMNS,
};

enum top_machine_column {
	TOP_M_TOTAL,
	TOP_M_AVAILABLE,
	TOP_M_SWAP_TOTAL,
	TOP_M_SWAP_USED,
	TOP_M_MEMORY_SOME,
	TOP_M_MEMORY_FULL,
	TOP_M_IO_SOME,
	TOP_M_IO_FULL,
	TOP_M_CPU_SOME,
	TOP_M_FAULTS,
	TOP_M_MAJOR,
	TOP_M_KSWAPD,
	TOP_M_DIRECT,
	TOP_M_RECLAIMED,
	TOP_M_KCOMPACTD,
	TOP_M_COMPACT_STALLS,
	TOP_M_SWAP_IN,
	TOP_M_SWAP_OUT,
	TOP_M_REFAULTS,
	TOP_M_KILLS,
	TOP_M_TOP_CPU,
	TOP_M_TOP_BPF,
	TOP_M_TOP_RSS,
	TOP_M_TOP_MAPS,
	TOP_MACHINE_COLUMNS,
};

enum top_memory_column { TOP_P_PART, TOP_P_BYTES, TOP_P_RATIO, TOP_MEMORY_COLUMNS };

enum top_zone_column {
	TOP_Z_NODE,
	TOP_Z_ZONE,
	TOP_Z_FREE,
	TOP_Z_MIN,
	TOP_Z_LOW,
	TOP_Z_HIGH,
	TOP_Z_BLOCKS,
	TOP_Z_KSWAPD,
	TOP_Z_KCOMPACTD,
	TOP_ZONE_COLUMNS,
};

enum top_path_column {
	TOP_X_PID,
	TOP_X_COMM,
	TOP_X_WHAT,
	TOP_X_MAPPING,
	TOP_X_COUNT,
	TOP_X_TIME,
	TOP_X_STACK,
	TOP_PATH_COLUMNS,
};

#endif
