/*
 * How an allocator other than glibc's gives back to the kernel what a program has freed. Fed by the
 * rule of `check` and by the view of `where` alike; knows no record.
 */
#ifndef MEMWHY_ANALYSIS_GIVE_BACK_H
#define MEMWHY_ANALYSIS_GIVE_BACK_H

#include "report/report.h"

struct give_back {
	const char *allocator; /* "jemalloc" */
	const char *process;   /* its name */
	u32 tgid;
	u64 kept_bytes;    /* pages with nothing but free blocks */
	u64 between_bytes; /* free blocks on pages with live ones */
	s64 decay_ms;      /* of jemalloc; below 0: not known, or never */
};

/* Is there so much of such pages, or of these and free blocks, beside what the process has? */
bool give_back_matters(const struct give_back *g, u64 has_bytes);
/* Adds try, undo, verify and why. false: nothing is known of this allocator. */
bool give_back_tell(struct report *r, struct finding *f, const struct give_back *g);

#endif
