/*
 * Records of the kernel's log as /dev/kmsg gives them, one a read:
 * "priority,sequence,microseconds,flags[,…];text". Owns that format; knows no message.
 */
#ifndef MEMWHY_SYS_KMSG_H
#define MEMWHY_SYS_KMSG_H

#include "base/util.h"

#define KMSG_TEXT_MAX 1024   /* of the kernel's own (PRINTKRB_RECORD_MAX); longer is cut */
#define KMSG_RECORD_MAX 8192 /* with prefix, escapes and the lines " KEY=value" that follow */

struct kmsg_record {
	u32 priority; /* facility * 8 + level */
	u64 sequence;
	u64 time_us;              /* of the kernel's log: near CLOCK_MONOTONIC */
	char text[KMSG_TEXT_MAX]; /* escapes (\x1b) are undone */
};

/* -EINVAL: not such a record. */
int kmsg_parse(const char *record, struct kmsg_record *ret);
/* A descriptor that gives the records that come from now on, or first those that the log still
 * has; -errno. Needs CAP_SYSLOG where kernel.dmesg_restrict is set. */
enum kmsg_from { KMSG_NOW, KMSG_OLDEST };
int kmsg_open(enum kmsg_from from);
/* 1: *ret is the next one. 0: there is none now. -EPIPE: some were overwritten before they were
 * read; the next call goes on behind them. */
int kmsg_read(int fd, struct kmsg_record *ret);

#endif
