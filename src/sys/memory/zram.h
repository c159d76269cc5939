/*
 * The zram devices of this machine, whatever they are used for: a compressed disk in memory can be
 * swap, have a file system, be below another device, or be written by programs directly.
 */
#ifndef MEMWHY_SYS_ZRAM_H
#define MEMWHY_SYS_ZRAM_H

#include "sys/memory/swaps.h"

enum zram_use {
	ZRAM_RAW, /* none of the others */
	ZRAM_SWAP,
	ZRAM_MOUNTED,
	ZRAM_BELOW, /* another block device is made of it */
};

struct zram_device {
	char path[32]; /* "/dev/zram0" */
	struct zram_stat stat;
	u64 size_bytes; /* that it may store, before compression */
	u32 use;        /* enum zram_use */
	char on[128];   /* where it is mounted, or which device is above it; cut where longer */
};

struct zram_devices {
	VEC(struct zram_device) list; /* those that store anything */
};

#define _cleanup_zram_devices_ _cleanup_(zram_devices_free)

void zram_devices_free(struct zram_devices *d);
/* Replaces what ret held. -ENOMEM. */
int zram_devices_read(struct zram_devices *ret);

#endif
