/*
 * User stacks of programs without frame pointers, for all probes of a session: keeps the maps by
 * which BPF programs walk (bpf/unwind.bpf.h). A process has its tables when it is asked for, at the
 * start or by a program that met it; from then on they follow its exec, its mappings, its end. Must
 * not know probes.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_H
#define MEMWHY_CAPTURE_UNWIND_H

#include "base/str.h"
#include "capture/capture.h"

/*
 * Makes the maps, which every object of the session then uses (capture.shared).
 * -EOPNOTSUPP: the walk does not work here, which leaves the kernel's own; ret_why says why.
 */
int unwind_open(struct capture *c, struct unwind **ret, const char **ret_why);
void unwind_close(struct unwind *u);
/* Makes the tables of a process now. */
int unwind_process(struct unwind *u, u32 tgid);
/* Makes the tables of a program that will be run, by its name, and of the libraries it says it
 * needs. What is not found is left for later. */
int unwind_program(struct unwind *u, const char *name);
/* Readable when a program asks. */
int unwind_fd(const struct unwind *u);
/* Takes what programs ask for, and what has changed. */
int unwind_take(struct unwind *u);
/* What the maps take. */
u64 unwind_bytes(const struct unwind *u);
/* Tables take at most so much at a level of capture.shrink. */
u64 unwind_pages_bytes(u32 shrink);
void unwind_limit(struct unwind *u, u32 shrink);
/* How those stacks were had that had to wait for their tables. */
struct unwind_counts;
const struct unwind_counts *unwind_late_ones(const struct unwind *u);
struct unwind_files_stats;
const struct unwind_files_stats *unwind_stats(const struct unwind *u);
/* How the stacks were had, by shares, in one line; are there others than exact ones? */
bool unwind_shares(const struct unwind_counts *counts, struct str *ret);
/* Says that, where not all are exact, and what is wrong with tables. */
void unwind_tell(const struct unwind *u, struct capture *c);

/* The maps of bpf/unwind.bpf.h, made before any object that uses them (unwind_maps.c). */
/* Into c->shared. */
int unwind_maps_make(struct capture *c);
/* Pages of 1 MiB at most, at a level of capture.shrink. */
u32 unwind_maps_pages(u32 shrink);
/* The size of all of them but the pages, by the kernel's own accounting. */
u64 unwind_maps_bytes(const struct capture *c);

#endif
