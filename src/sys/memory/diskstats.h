/* What all disks have read since boot, from /proc/diskstats. Owns the format. */
#ifndef MEMWHY_SYS_DISKSTATS_H
#define MEMWHY_SYS_DISKSTATS_H

#include "base/str.h"

/*
 * Sums over all devices and their partitions, of which each read counts twice or more: only the
 * two numbers beside each other mean something.
 */
struct disk_reads {
	u64 bytes;
	u64 ns; /* that reads took, each from its start to its end */
};

/* -EINVAL where no line could be read. */
int disk_reads_parse(const char *text, struct disk_reads *ret);
int disk_reads_read(struct str *text, struct disk_reads *ret);

#endif
