/* Names of tasks, as /proc has them. */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_COMM_H
#define MEMWHY_PROBES_HEAP_COLLECT_COMM_H

#include "bpf/shared.h"

/* Of a thread, or with tid 0 of a process. Untouched where it is gone. */
void comm_read(u32 pid, u32 tid, char comm[COMM_LEN]);

#endif
