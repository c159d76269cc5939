/*
 * Which code is mapped where in every process, and its name, as they change: from the kernel's
 * MMAP2, COMM, FORK and EXIT events for what happens while we look, from /proc/PID/maps for what
 * was before. So stacks of processes that live for a millisecond can still be named. Knows no
 * symbols.
 */
#ifndef MEMWHY_CAPTURE_FOLLOW_H
#define MEMWHY_CAPTURE_FOLLOW_H

#include "sym/process_map.h"

struct follow;

/* maps: also listen to mappings. Where listening is refused, only /proc is read. */
int follow_open(struct module_table *modules, bool maps, struct follow **ret);
/* Takes the events that wait. */
int follow_take(struct follow *f);
/* All that was counted up to now has its names. A process that has ended is forgotten at the second
 * call after. */
void follow_named(struct follow *f);
/* Processes that something is known of. */
size_t follow_count(const struct follow *f);
/* The map of a process as far as it is known; owned by f, valid until the next call. */
struct process_map *follow_map(struct follow *f, u32 tgid);
/* Another number whenever the map may be another; 0: the process has ended, or is not known. */
u32 follow_version(const struct follow *f, u32 tgid);
/* The name a process took last, by exec or prctl; NULL when it was not seen to take one. */
const char *follow_comm(const struct follow *f, u32 tgid);
/* Events the kernel dropped because we were slow. */
u64 follow_lost(const struct follow *f);
void follow_close(struct follow *f);

#endif
