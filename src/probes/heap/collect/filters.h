/*
 * Tells programs under the preload library which of their processes have installed a seccomp filter
 * without a function of libc (bpf/filters.bpf.c), where memwhy may load BPF programs.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_FILTERS_H
#define MEMWHY_PROBES_HEAP_COLLECT_FILTERS_H

#include <sys/types.h>

#include "base/filter_marks.h"

struct filters;

/* -EPERM, and what libbpf says where the kernel cannot do it. */
int filters_open(struct filters **ret);
void filters_close(struct filters *f);
/* Of the marks, for who may only read them; borrowed. -1: there is none. f may be NULL, here and
 * below. */
int filters_fd(const struct filters *f);
/* Where the marks of a program will be that waits for us: its own code has not yet run. *ret_key is
 * for filters_drop(). */
struct filter_at filters_add(struct filters *f, pid_t pid, u64 *ret_key);
/* Nobody has the file of the program any more. key 0: it had no row. */
void filters_drop(struct filters *f, u64 key);
/* A process of the program is over; pid as it was to itself. */
void filters_forget(struct filters *f, u64 key, u32 pid);

#endif
