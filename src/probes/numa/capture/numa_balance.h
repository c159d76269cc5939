/*
 * The settings of automatic NUMA balancing that this kernel has, and the changes requested. Private
 * to the capture of numa.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_BALANCE_H
#define MEMWHY_PROBES_NUMA_CAPTURE_BALANCE_H

#include "capture/capture.h"
#include "capture/kernel_settings.h"

/* kernel.numa_balancing: 0 off, 1 on, 2 tiering; -ENOENT: the kernel has none. */
int numa_balancing_mode(void);
/* --balancing, --scan. *ret NULL: nothing was asked for. Says with notes what was changed. */
int numa_balancing_change(struct capture *c, struct settings **ret, struct err *err);

#endif
