/*
 * Where the machine swaps to: /proc/swaps, and what a zram device says of itself in mm_stat. Owns
 * both formats.
 */
#ifndef MEMWHY_SYS_SWAPS_H
#define MEMWHY_SYS_SWAPS_H

#include <limits.h>

#include "base/vec.h"

#define SWAPS_MAX 64 /* the kernel has fewer (MAX_SWAPFILES) */

struct swap_area {
	char path[PATH_MAX]; /* raw: blanks and newlines are characters again */
	bool is_file;        /* a swap file; otherwise a block device */
	u64 size_bytes, used_bytes;
	s64 priority; /* higher is used first; negative where the kernel chose it */
};

/* To be zeroed before its first use. */
struct swaps {
	VEC(struct swap_area) list; /* in the order of the file */
};

#define _cleanup_swaps_ _cleanup_(swaps_free)

void swaps_free(struct swaps *swaps);
/* Replaces what ret held; no area at all is no error. Lines of another form are skipped; -ENOMEM.
 */
int swaps_parse(const char *text, struct swaps *ret);
/* -ENOENT where the kernel has no swap (CONFIG_SWAP). */
int swaps_read(struct swaps *ret);

struct zram_stat {
	u64 data_bytes;       /* stored, before compression */
	u64 compressed_bytes; /* … and after */
	u64 memory_bytes;     /* with what the allocator needs */
};

/* -EINVAL when the line does not begin with three numbers. */
int zram_stat_parse(const char *text, struct zram_stat *ret);
/* The device with this path ("/dev/zram0"). -ENOENT: not a zram device. */
int zram_stat_read(const char *path, struct zram_stat *ret);

#endif
