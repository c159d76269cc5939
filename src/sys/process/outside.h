/*
 * The memory of another process, read from outside while it runs. Memory that is not resident is
 * never read, as that would make it resident. Owns how much is read of a process, whatever is in
 * its memory, and knows nothing of what that is.
 */
#ifndef MEMWHY_SYS_OUTSIDE_H
#define MEMWHY_SYS_OUTSIDE_H

#include "sys/process/maps.h"

struct outside {
	int pid, pagemap;
	u64 left; /* bytes that may still be read; a system call counts as 1 KiB */
	bool cut; /* more was asked for: from then on nothing is read */
};

/* pid: of a process, or of the thread that proc_memory_task() names. -EACCES: its memory may not be
 * read. */
int outside_open(int pid, const struct maps *maps, u64 left, struct outside *ret);
void outside_close(struct outside *o);
#define _cleanup_outside_ _cleanup_(outside_close)

/* arg: a struct outside. -ENODATA where some of it is not resident. At most 256 KiB. */
int outside_read(void *arg, u64 address, void *buf, size_t n);
/* All that is resident from one page to another; the rest is 0. The caller's; NULL: no memory. */
u64 *outside_words(struct outside *o, u64 start, u64 end);
/* Resident bytes of whole pages. */
u64 outside_resident(void *arg, u64 start, u64 end);

#define OUTSIDE_RUN 65536ULL
/* What is resident of whole pages, run after run. To be begun with .at and .end; who has read
 * further sets .at. */
struct outside_runs {
	u64 at, end;
	u64 from, until; /* of which the states are known */
	u8 states[4096];
};
/* At most OUTSIDE_RUN bytes of it. false: there is no more. */
bool outside_run(struct outside *o, struct outside_runs *r, u64 *ret_start, u64 *ret_bytes);

/* The variables of a program or library, its mappings one by one: the writable ones of the file,
 * and what follows them without a file; of all these the first 16 MiB. path "": none. Calls back
 * until that returns something else than 0, and returns that, or -ENOMEM. */
typedef int outside_take(void *arg, const u64 *words, size_t n, u64 address);
int outside_data(struct outside *o, const struct maps *maps, const char *path, outside_take *take,
	void *arg);

#endif
