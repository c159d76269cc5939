/*
 * What no other probe sees: waits for the lock of an address space, writers that wait for the disk,
 * and who makes the objects for which the kernel keeps per-CPU counters. What the programs and the
 * probe agree on, and the records.
 */
#ifndef MEMWHY_PROBES_WAITS_H
#define MEMWHY_PROBES_WAITS_H

#include "bpf/shared.h"

enum waits_lock_flags {
	WAITS_WRITE = 1,        /* it wanted the lock for change */
	WAITS_READ_HELD = 2,    /* whoever had it had it for reading; it is the last to take it */
	WAITS_CALL_KNOWN = 4,   /* `call` is known */
	WAITS_HOLDER_KNOWN = 8, /* holder, holder_comm */
	WAITS_HOLDER_IN_CALL = 16, /* holder_call is known */
};

#define WAITS_NO_CALL 0xffff /* a page fault, or an interrupt */

struct waits_lock_key {
	u32 tgid;
	u32 tid;            /* 0 unless by thread */
	u32 ustack, kstack; /* id in the stack map plus one, 0: none */
	u32 space;          /* process whose address space it is; 0: not known */
	u32 holder;         /* process that had it; 0: not known */
	u16 flags;          /* enum waits_lock_flags */
	u16 call;           /* system call in which it waited */
	u16 holder_call;    /* system call in which the holder was */
	u16 reserved;
};

/* On disk: waits for the lock of an address space (mmap_lock) since the last such record. */
struct waits_lock {
	struct rec h;
	u32 tgid, tid;
	u32 stack; /* REC_STACK */
	u32 space, holder;
	u16 flags;
	u16 call;
	u16 holder_call;
	u16 reserved;
	u64 count;
	u64 total_ns, max_ns; /* max_ns: since the start */
	u64 cgroup;
	char comm[COMM_LEN];
	char holder_comm[AGG_NAME_LEN]; /* the thread's */
	u32 hist[AGG_SLOTS];
};

struct waits_dirty_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
	u64 owner; /* cgroup (v2) whose dirty pages these are; 0 or 1: of the machine */
	char device[16];
};

/* agg_value.sum */
enum { WAITS_DIRTIED };

/* On disk: sleeps of writers in balance_dirty_pages(). Their lengths are those that the kernel
 * ordered, in whole milliseconds. */
#define WAITS_DIRTY_FIELDS(F, R)                                                       \
	F(R, u32, tgid, ID, "process that wrote")                                      \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                         \
	F(R, u32, stack, STACK, "where it was made to wait")                           \
	F(R, u32, reserved, HIDDEN, "")                                                \
	F(R, u64, count, COUNT, "sleeps")                                              \
	F(R, u64, total_ns, NS, "their time, as the kernel ordered it")                \
	F(R, u64, max_ns, NS, "the longest, since the start")                          \
	F(R, u64, dirtied_pages, PAGES, "pages written since the sleep before")        \
	F(R, u64, owner, CGROUP, "cgroup whose dirty pages these are; 1: the machine") \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                             \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                \
	F(R, char[16], device, NONE, "name of the device, or its number, major:minor")
RECORD(waits_dirty, WAITS_DIRTY_FIELDS);

enum waits_made_kind {
	WAITS_GROUP_MADE = 1, /* a control group, in any hierarchy */
	WAITS_GROUP_REMOVED,
	WAITS_PERCPU, /* memory on each CPU: of groups, mounts, namespaces, BPF maps */
	WAITS_FORKED, /* a child with a copy of its address space, where that is large */
};

struct waits_made_key {
	u32 tgid;
	u32 tid; /* 0 unless by thread */
	u32 ustack, kstack;
	u32 kind; /* enum waits_made_kind */
	u32 reserved;
};

/* agg_value.sum */
enum { WAITS_MADE_BYTES, WAITS_MADE_PARENT, WAITS_MADE_CUT };

/* On disk: what a process made, or removed, since the last such record. */
#define WAITS_MADE_FIELDS(F, R)                                                      \
	F(R, u32, tgid, ID, "process")                                               \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                       \
	F(R, u32, stack, STACK, "where it did so")                                   \
	F(R, u32, kind, ID,                                                          \
		"1 made a control group, 2 removed one, 3 took memory on each CPU, " \
		"4 forked a large address space")                                    \
	F(R, u32, parent_tgid, ID, "its parent")                                     \
	F(R, u32, parent, STRING, "the parent's name")                               \
	F(R, u64, count, COUNT, "how often")                                         \
	F(R, u64, bytes, BYTES, "of kind 3: asked for, on one CPU")                  \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                           \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                              \
	F(R, char[AGG_NAME_LEN], where, NONE, "of groups: the path of one's parent") \
	F(R, u32, cut, NONE, "1: where is the end of a longer path")                 \
	F(R, u32, reserved, HIDDEN, "")
RECORD(waits_made, WAITS_MADE_FIELDS);

#endif
