/* Fixed-width integers under the kernel's short names, the same in user space and in BPF. */
#ifndef MEMWHY_BASE_TYPES_H
#define MEMWHY_BASE_TYPES_H

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#endif
