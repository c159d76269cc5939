/* How long the CPUs were at work in the kernel, from /proc/stat. */
#ifndef MEMWHY_SYS_CPU_TIME_H
#define MEMWHY_SYS_CPU_TIME_H

#include "base/util.h"

/* From the line "cpu": system time in ticks, of programs and kernel threads. -EINVAL */
int cpu_time_parse(const char *text, u64 *ret_ticks);
/* Since boot; 0: it cannot be read. */
u64 cpu_time_kernel_ns(void);

#endif
