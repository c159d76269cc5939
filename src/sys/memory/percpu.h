/*
 * The first chunk of per-cpu memory. The kernel takes it before it hands memory to the page
 * allocator, so it is in `Percpu` of /proc/meminfo and not in `MemTotal` (pcpu_setup_first_chunk(),
 * mm/percpu.c, 5.10 to 6.18). Only the kernel's log of its start says how large it is.
 */
#ifndef MEMWHY_SYS_PERCPU_H
#define MEMWHY_SYS_PERCPU_H

#include "base/util.h"

/* Pages a cpu, from the line "percpu: Embedded 53 pages/cpu". -ENODATA: the log has no such line.
 */
int percpu_first_parse(const char *log, u64 *ret_pages);
/* Bytes of all cpus. -EPERM: the log is closed to us; -ENODATA: it has been overwritten. */
int percpu_first_read(u64 *ret_bytes);

#endif
