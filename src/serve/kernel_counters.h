/* Counters of /proc/vmstat that are metrics: the kernel's own numbers, since boot. */
#ifndef MEMWHY_SERVE_KERNEL_COUNTERS_H
#define MEMWHY_SERVE_KERNEL_COUNTERS_H

#include "serve/sums.h"

void kernel_counters_expose(const struct sums *s, struct exposition *e);

#endif
