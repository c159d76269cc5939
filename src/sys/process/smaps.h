/*
 * Huge pages of a process: their sum, from /proc/PID/smaps_rollup (or any text with its lines),
 * and the mappings that have some, from /proc/PID/smaps; and what is resident of each mapping. Owns
 * the formats. The kernel walks all page tables of the process for either file, with its mmap lock
 * held for reading.
 */
#ifndef MEMWHY_SYS_SMAPS_H
#define MEMWHY_SYS_SMAPS_H

#include "base/str.h"
#include "base/vec.h"
#include "sys/process/maps.h"

struct smaps_sum {
	u64 rss_bytes, pss_bytes, swap_pss_bytes;
	u64 anon_huge_bytes, shmem_huge_bytes, file_huge_bytes;
	u64 lazy_free_bytes;
};

/* -EINVAL without a line Rss. */
int smaps_rollup_parse(const char *text, struct smaps_sum *ret);
/* text: the reader's buffer. -ENOENT, -ESRCH: the process is gone; -EACCES: not ours. */
int smaps_rollup_read(int pid, struct str *text, struct smaps_sum *ret);

struct smaps_huge {
	u64 start, end;
	u64 anon_huge_bytes;
	bool dont_dump; /* "dd" in VmFlags: MADV_DONTDUMP */
};

/* To be zeroed before its first use. */
struct smaps {
	VEC(struct smaps_huge) list; /* mappings with anonymous huge pages, by address */
};

void smaps_free(struct smaps *s);
/* Replaces what ret held. -EINVAL: there was text but no mapping; -ENOMEM. */
int smaps_parse(const char *text, struct smaps *ret);
int smaps_read(int pid, struct str *text, struct smaps *ret);

/* What is resident of a mapping; its name and kind: maps_parse() takes the same text. */
struct smaps_rss {
	u64 start, end;
	u64 rss_bytes, swap_bytes;
	u64 pss_bytes, anon_bytes, anon_huge_bytes, locked_bytes, lazy_free_bytes;
	u64 referenced_bytes; /* touched since the last write to clear_refs, or since reclaim looked
			       */
};

/* To be zeroed before its first use. */
struct smaps_all {
	VEC(struct smaps_rss) list; /* by address */
};

void smaps_all_free(struct smaps_all *s);
/* Replaces what ret held. An empty text is an empty list; -ENOMEM. */
int smaps_all_parse(const char *text, struct smaps_all *ret);

/* A mapping and what is resident of it. To be zeroed before the first. */
struct mapping_rss {
	const struct mapping *map;
	const struct smaps_rss *rss;
	size_t maps_at, rss_at;
};

/* The next mapping that is in both; false: there is none. Both are lists of the same text. */
bool mapping_rss_next(
	const struct maps *maps, const struct smaps_all *all, struct mapping_rss *ret);

#endif
