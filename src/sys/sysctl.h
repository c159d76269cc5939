/* Kernel settings below /proc/sys. Owns nothing but the way from a name to a number. */
#ifndef MEMWHY_SYS_SYSCTL_H
#define MEMWHY_SYS_SYSCTL_H

#include "base/types.h"

/* "vm.min_free_kbytes": the first number of the setting, in the setting's own unit. -ENOENT where
 * this kernel does not have it, -EINVAL for a name that is none or a value that is no number. */
int sysctl_read_u64(const char *name, u64 *ret);

#endif
