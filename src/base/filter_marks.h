/*
 * Who has a seccomp filter: what a BPF program (bpf/filters.bpf.c) writes and the preload library
 * reads (tracker/forbid.c). A row is a program and its forks; in its place a process has a mark
 * that says which one it is, so that a process which has ended stands for no other one, and which
 * program, so that the row can be given to another one though user space cannot write to it.
 */
#ifndef MEMWHY_BASE_FILTER_MARKS_H
#define MEMWHY_BASE_FILTER_MARKS_H

#include "base/types.h"

#define FILTER_ROWS 128
#define FILTER_PLACES 128

struct filter_row {
	u32 mark[FILTER_PLACES];
};

#define FILTER_BYTES (FILTER_ROWS * sizeof(struct filter_row))

/* Of a program: where its marks are, and what they bear. generation 0: there are none. */
struct filter_at {
	u32 row;
	u16 generation;
	u16 reserved;
};

static inline __attribute__((always_inline)) u32 filter_place(u32 pid)
{
	return pid & (FILTER_PLACES - 1);
}

/* Ids have 22 bits at most (PID_MAX_LIMIT), so no process has the mark of another in its place. */
static inline __attribute__((always_inline)) u32 filter_mark(u16 generation, u32 pid)
{
	return (u32)generation << 16 | (pid / FILTER_PLACES & 0x7fff);
}

/* More than one process. */
static inline __attribute__((always_inline)) u32 filter_mark_any(u16 generation)
{
	return (u32)generation << 16 | 0xffff;
}

/* Does it count, and is it of this process? */
static inline __attribute__((always_inline)) int filter_is_of(u32 mark, u16 generation, u32 pid)
{
	return mark == filter_mark(generation, pid) || mark == filter_mark_any(generation);
}

static inline __attribute__((always_inline)) int filter_counts(u32 mark, u16 generation)
{
	return mark >> 16 == generation;
}

#endif
