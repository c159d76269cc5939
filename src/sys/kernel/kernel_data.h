/*
 * Addresses of the kernel's variables, from /proc/kallsyms: of kernels that list them
 * (CONFIG_KALLSYMS_ALL), for readers that may see addresses.
 */
#ifndef MEMWHY_SYS_KERNEL_DATA_H
#define MEMWHY_SYS_KERNEL_DATA_H

#include "base/util.h"

/* For each of n names its address to ret; 0 where it is hidden or not there. One pass over a long
 * file: ask once. */
void kernel_data_find(const char *const *names, size_t n, u64 *ret);

#endif
