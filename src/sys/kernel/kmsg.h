/*
 * Records of the kernel's log, one a read. Owns the format of /dev/kmsg:
 * "priority,sequence,microseconds,flags[,…];text". Knows no message.
 */
#ifndef MEMWHY_SYS_KMSG_H
#define MEMWHY_SYS_KMSG_H

#include "base/util.h"

#define KMSG_TEXT_MAX 1024   /* of the kernel's own (PRINTKRB_RECORD_MAX); longer is cut */
#define KMSG_RECORD_MAX 8192 /* with prefix, escapes and the lines " KEY=value" that follow */

struct kmsg_record {
	u32 priority; /* facility * 8 + level */
	u64 sequence; /* 0: not known */
	u64 time_us;              /* of the kernel's log: near CLOCK_MONOTONIC */
	char text[KMSG_TEXT_MAX]; /* escapes (\x1b) are undone */
};

/* -EINVAL: not such a record. */
int kmsg_parse(const char *record, struct kmsg_record *ret);
/*
 * The kernel's log, by /dev/kmsg, or where that cannot be opened (in a container) by syslog(2),
 * which sees lines up to a second later. *ret gives what comes from now on, or first what the log
 * still has. Needs CAP_SYSLOG where kernel.dmesg_restrict is set. On failure, why /dev/kmsg cannot
 * be opened.
 */
struct kmsg;
enum kmsg_from { KMSG_NOW, KMSG_OLDEST };
int kmsg_open(enum kmsg_from from, struct kmsg **ret);
void kmsg_close(struct kmsg *k); /* NULL: nothing */
/* The next read looks at once, where it would look once a second. */
void kmsg_hurry(struct kmsg *k);
/* How it is read, for people. */
const char *kmsg_name(const struct kmsg *k);
/* 1: *ret is the next one. 0: there is none now. -EPIPE: some were overwritten before they were
 * read; the next call goes on behind them. */
int kmsg_read(struct kmsg *k, struct kmsg_record *ret);

#endif
