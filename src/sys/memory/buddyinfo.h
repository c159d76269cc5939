/*
 * Free blocks per order and zone, from /proc/buddyinfo. Owns the format; what the counts mean for
 * an allocation is in extfrag.h.
 */
#ifndef MEMWHY_SYS_BUDDYINFO_H
#define MEMWHY_SYS_BUDDYINFO_H

#include "base/vec.h"
#include "sys/memory/zone.h"

/* To be zeroed before its first use. */
struct buddyinfo {
	VEC(struct zone_blocks) zones; /* populated zones, in the order of the file */
};

#define _cleanup_buddyinfo_ _cleanup_(buddyinfo_free)

void buddyinfo_free(struct buddyinfo *info);
/* Replaces what ret held. Lines of another form are skipped; -EINVAL when all are, -ENOMEM. A line
 * cut short has fewer orders. */
int buddyinfo_parse(const char *text, struct buddyinfo *ret);
int buddyinfo_read(struct buddyinfo *ret);

#endif
