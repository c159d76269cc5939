/*
 * For whom the kernel keeps the memory that a control group is charged with: processes with what
 * they have open and mapped, or names that are looked up and do not exist.
 */
#ifndef MEMWHY_RULES_CHARGE_OWNERS_H
#define MEMWHY_RULES_CHARGE_OWNERS_H

#include "rules/facts.h"

struct kept {
	struct groups processes; /* tgid -> struct held_process, the last */
	struct groups
		misses; /* struct kept_misses_key -> u64: lookups that found nothing, sampled */
	u64 on_ns;      /* time in which these counted */
	struct groups waits; /* struct kept_wait_key -> struct kept_wait: in the group's reclaim */
};

void kept_init(struct kept *k);
int kept_feed(struct kept *k, const struct rec *r);
void kept_reset(struct kept *k);
void kept_free(struct kept *k);

/* "worker (4 processes, pid 7 has most) has 70.0 MiB in socket buffers"; "": nobody has much of the
 * group's memory of the kernel. *ret_tgid: that process; *ret_unread: it goes when
 * somebody reads it. */
const char *kept_text(struct report *r, const struct kept *k, const struct cgroup_usage *cg,
	u32 *ret_tgid, bool *ret_unread);
/* "its tasks look up 9000 names a second that do not exist, …", or who does most of that; "": they
 * do not, or the kernel keeps few such names. *ret_tgid: who, if it is one. */
const char *kept_names_text(struct report *r, const struct kept *k, const struct facts *f,
	const struct cgroup_usage *cg, u32 *ret_tgid);
/* "probably inodes and dentries of the files that find (pid 7) looks up …"; "": who waits most for
 * room in the group does not look up files meanwhile. *ret_tgid: that process. */
const char *kept_files_text(
	struct report *r, const struct kept *k, const struct cgroup_usage *cg, u32 *ret_tgid);

#endif
