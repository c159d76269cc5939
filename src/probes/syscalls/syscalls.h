/* System calls: what the BPF programs, the probe and its view agree on, and the records. */
#ifndef MEMWHY_PROBES_SYSCALLS_H
#define MEMWHY_PROBES_SYSCALLS_H

#include "bpf/shared.h"
#include "bpf/syscall.h"

#define SYSCALLS_COPY_HELP                                                                \
	"of three arguments, what follows the record: index plus one, and 16 a text, 32 " \
	"bytes that go in, 48 bytes that come out, else a structure; 0: none"

#define SYSCALLS_ABI_HELP "0: native, 1: compat (32-bit), 2: x32"

/* What a program copies of an argument: index of the argument plus one, and how. 0: nothing. */
enum syscalls_copy {
	SYSCALLS_COPY_ARG = 0x07,
	SYSCALLS_COPY_OUT = 0x08, /* IOV and MSG: what comes out, as much as the call returns. Of
				     32: as kept, and after. Others: one of those below */
	SYSCALLS_COPY_4 = 0x00,
	SYSCALLS_COPY_TEXT = 0x10,   /* up to its NUL */
	SYSCALLS_COPY_BYTES = 0x20,  /* as many as the next argument says */
	SYSCALLS_COPY_RESULT = 0x30, /* … as the call returns */
	SYSCALLS_COPY_8 = 0x40,
	SYSCALLS_COPY_16 = 0x50,
	SYSCALLS_COPY_64 = 0x60,
	SYSCALLS_COPY_12 = 0x70,
	SYSCALLS_COPY_ARGV = 0x80, /* texts of an array, each with its NUL; of execve only */
	SYSCALLS_COPY_32 = 0x90,
	SYSCALLS_COPY_POLL = 0xa0,   /* 8 bytes each, as many as the next argument says */
	SYSCALLS_COPY_EVENTS = 0xb0, /* 12 bytes each, as many as the call returns */
	SYSCALLS_COPY_SOCK = 0xc0,   /* as BYTES, up to SYSCALLS_ADDRESS */
	SYSCALLS_COPY_LENGTH = 0xd0, /* struct syscalls_length; the next argument points to it */
	SYSCALLS_COPY_IOV = 0xe0,    /* struct syscalls_iov each, as many as the next says */
	SYSCALLS_COPY_MSG = 0xf0,    /* struct msghdr, its parts as above, its address */
	SYSCALLS_COPY_HOW = 0xf0,
	/* Fixed, with COPY_OUT: */
	SYSCALLS_COPY_MASK = 0x08, /* a pointer and a size, and the 8 bytes it points to */
	SYSCALLS_COPY_SETS = 0x48, /* struct syscalls_sets */
	SYSCALLS_COPY_112 = 0x58,
	SYSCALLS_COPY_127 = 0x68,
};

/* What is kept of what an argument points to as a call begins that changes it: with its index. */
enum syscalls_keep {
	SYSCALLS_KEEP_ARG = 0x07,
	SYSCALLS_KEEP_4 = 0x10,    /* a length */
	SYSCALLS_KEEP_NAME = 0x20, /* that of struct msghdr's address */
	SYSCALLS_KEEP_16 = 0x30,   /* struct timespec */
	SYSCALLS_KEEP_SETS = 0x40, /* the first part of struct syscalls_sets */
	SYSCALLS_KEEP_WHAT = 0x70,
};

/* What select was given, and what it made of that: descriptors up to 63, and the time. */
struct syscalls_sets {
	u64 given[3], given_time[2];
	u64 found[3], left[2];
};

#define SYSCALLS_KEPT 5 /* words */

#define SYSCALLS_COPIES 3
#define SYSCALLS_ARGS 6
#define SYSCALLS_COPIED 512 /* numbers of a table that have copies */
#define SYSCALLS_TEXT 128   /* most that is copied of an argument, with --each; more of MSG */
#define SYSCALLS_COPY_MOST 424
#define SYSCALLS_DATA 32  /* of what is read and written, as strace */
#define SYSCALLS_ARGV 256 /* of all texts of execve, each up to SYSCALLS_DATA */
#define SYSCALLS_ADDRESS 112
#define SYSCALLS_IOVS 4 /* parts of a vector that are copied */
#define SYSCALLS_MSGHDR 56
#define SYSCALLS_POLLS 15
#define SYSCALLS_EVENTS 10

/* What is kept of the arguments of a call in flight: 80, 48 and 32 bytes. */
#define SYSCALLS_FLIGHT_TEXT 160
#define SYSCALLS_FLIGHT_AT(k_) ((k_) == 0 ? 0 : (k_) == 1 ? 80 : 128)
#define SYSCALLS_FLIGHT_ROOM(k_) ((k_) == 0 ? 80 : (k_) == 1 ? 48 : 32)

/* A part of a vector, with the beginning of its data. */
struct syscalls_iov {
	u64 base, len;
	u16 got; /* bytes of data; SYSCALLS_UNREAD: they could not be read */
	u8 cut;  /* there are more */
	u8 reserved[5];
	char data[SYSCALLS_DATA];
};

#define SYSCALLS_UNREAD 0xffff

/* An address, or value, whose length a number says that the call reads and changes. */
struct syscalls_length {
	u32 before, after;
	char data[SYSCALLS_ADDRESS]; /* of what there is */
};

struct syscalls_probe_config {
	u8 comms;       /* count by the name the task has at the call */
	u8 errors;      /* count errors by name too */
	u8 copies;      /* copy arguments */
	u8 flight;      /* keep the last calls instead of counting */
	u8 by_process;  /* … of each process, not of each control group */
	u8 memory;      /* time spent in faults, reclaim and compaction */
	u8 dump_exit;   /* dump when a process ends; … */
	u8 dump_crash;  /* by a signal that kills it */
	u32 command;    /* process that is not to count before its execve; 0: none */
	s32 dump_error; /* dump when a call fails with this (a positive number); 0: no; -1: with any
			 */
	u64 dump_ns;    /* dump when a call took longer; 0: no */
	u64 min_ns;
	u32 rings;      /* of calls kept; each has one for each CPU */
	u32 ring_calls; /* calls in each of its halves: a power of two */
	u32 cpus;
	u8 silent_exec; /* 1: execve, 2: execveat is wanted for the sake of `command` only */
	u8 reserved[3];
	/* native and compat; the last says what is kept as the call begins */
	u8 copy[2][SYSCALLS_COPIED][SYSCALLS_COPIES + 1];
};

/* Parts of a call's time. */
enum syscalls_part {
	SYSCALLS_FAULTS,
	SYSCALLS_RECLAIM,
	SYSCALLS_COMPACTION,
	SYSCALLS_PARTS,
};

/* Key of the table of aggregates: no longer than what was asked for, as most of what a call costs
 * is the hash of its key. */
struct syscalls_key {
	u32 tgid_abi; /* the ABI in the upper two bits: ids have 22 */
	u32 nr;
	u32 tid; /* 0 unless by thread */
	u32 ustack;
	char comm[COMM_LEN]; /* "" unless config.comms */
};

#define SYSCALLS_KEY_ABI 30
#define SYSCALLS_KEY_LEAST 8    /* bytes: without a thread or a stack */
#define SYSCALLS_KEY_UNNAMED 16 /* without a name */

/* Per CPU. All up to hist is summed, but min_ns is the least and max_ns the most. */
struct syscalls_value {
	u64 count;
	u64 timed; /* of these the duration is known; total, min, max and hist are of these */
	u64 errors;
	u64 refused;
	u64 total_ns;
	u64 min_ns, max_ns;
	u64 part_ns[SYSCALLS_PARTS];
	u64 part_n[SYSCALLS_PARTS]; /* how many there were */
	u32 hist[AGG_SLOTS];
	u64 cgroup;
	char comm[COMM_LEN];
};

/* Key of the table of errors. */
struct syscalls_error_key {
	u32 tgid, tid;
	u32 nr;
	u16 error;
	u8 abi;
	u8 reserved;
	char comm[COMM_LEN];
};

enum syscalls_flags {
	SYSCALLS_NO_END = 1,        /* exit, exit_group: never returns */
	SYSCALLS_REFUSED = 2,       /* by seccomp or a tracer, before it began */
	SYSCALLS_TIMED = 4,         /* ns is known */
	SYSCALLS_UNDER_WAY = 8,     /* had not ended: its result and its times are not known */
	SYSCALLS_CUT_0 = 0x10,      /* there is more than what was copied; the others: << 1, << 2 */
	SYSCALLS_FAULTED_0 = 0x100, /* it could not be read */
};

/* In the ring, one a call (--each); the same on disk but for the stacks, which become one. What was
 * copied of arguments follows: copied[0] bytes, then copied[1] and copied[2]. Time: the end of the
 * call, or where it has none, its begin. */
#define SYSCALLS_CALL_FIELDS(F, R)                                                                 \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread")                                                               \
	F(R, u32, ustack, STACK, "who called")                                                     \
	F(R, u32, kstack, HIDDEN, "")                                                              \
	F(R, s64, ret, NONE, "what it returned, or -errno")                                        \
	F(R, u64, ns, NS, "duration, where flags has 4")                                           \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                     \
	F(R, u32, nr, ID, "number of the call in its ABI")                                         \
	F(R, u16, flags, HEX,                                                                      \
		"1 never returns, 2 refused before it began, 4 timed, 8 had not ended, 16, 32 "    \
		"and 64 the first, second and third copy is cut, 256, 512 and 1024 it could not "  \
		"be read") /* enum syscalls_flags */                                               \
	F(R, u8, abi, ID, SYSCALLS_ABI_HELP)                                                       \
	F(R, u8[SYSCALLS_COPIES], copy, HEX, SYSCALLS_COPY_HELP) /* enum syscalls_copy */          \
	F(R, u16[SYSCALLS_COPIES], copied, BYTES, "bytes of each")                                 \
	F(R, u64[SYSCALLS_ARGS], args, HEX, "arguments")                                           \
	F(R, u64[SYSCALLS_PARTS], part_ns, NS, "of the time, in page faults, reclaim, compaction") \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(syscalls_call, SYSCALLS_CALL_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define SYSCALLS_AGG_FIELDS(F, R)                                                                  \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread, 0 unless by thread")                                           \
	F(R, u32, stack, STACK, "who called")                                                      \
	F(R, u32, nr, ID, "number of the call in its ABI")                                         \
	F(R, u8, abi, ID, SYSCALLS_ABI_HELP)                                                       \
	F(R, u8[7], reserved, HIDDEN, "")                                                          \
	F(R, u64, count, COUNT, "calls")                                                           \
	F(R, u64, timed, COUNT, "of these, with a duration")                                       \
	F(R, u64, errors, COUNT, "of these, failed")                                               \
	F(R, u64, refused, COUNT, "of these, refused by seccomp or a tracer")                      \
	F(R, u64, total_ns, NS, "time in them")                                                    \
	F(R, u64, min_ns, NS, "shortest, since the start")                                         \
	F(R, u64, max_ns, NS, "longest, since the start")                                          \
	F(R, u64[SYSCALLS_PARTS], part_ns, NS, "of the time, in page faults, reclaim, compaction") \
	F(R, u64[SYSCALLS_PARTS], part_n, COUNT, "page faults, reclaims, compactions")             \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                     \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                            \
	F(R, u32[AGG_SLOTS], hist, COUNT, "log2 histogram of the durations in ns")
RECORD(syscalls_agg, SYSCALLS_AGG_FIELDS);

/* On disk: errors of one name. */
#define SYSCALLS_ERROR_FIELDS(F, R)                            \
	F(R, u32, tgid, ID, "process")                         \
	F(R, u32, tid, ID, "thread, 0 unless by thread")       \
	F(R, u32, nr, ID, "number of the call in its ABI")     \
	F(R, u16, error, ID, "errno")                          \
	F(R, u8, abi, ID, SYSCALLS_ABI_HELP)                   \
	F(R, u8, reserved, HIDDEN, "")                         \
	F(R, u64, count, COUNT, "calls that failed so")        \
	F(R, u64, cgroup, CGROUP, "control group of the task") \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(syscalls_error, SYSCALLS_ERROR_FIELDS);

/* One call kept in flight, and what a reader needs to see that it is whole. */
struct syscalls_slot {
	u64 sequence; /* of the call in its ring, from 1; 0 while it is written */
	u64 time_ns;  /* its end */
	u64 ns;
	s64 ret;
	u32 tgid, tid;
	u32 nr;
	u16 flags;
	u8 abi;
	u8 copy[SYSCALLS_COPIES];
	u16 copied[SYSCALLS_COPIES];
	char comm[COMM_LEN];
	u64 args[SYSCALLS_ARGS];
	char text[SYSCALLS_FLIGHT_TEXT];
};

/* A ring of calls kept, on all CPUs. */
struct syscalls_ring {
	u64 owner;   /* control group (its id plus one) or process; 0: free since the start */
	u64 missed;  /* dumps that were not made, as the one before was still to be read */
	u32 dumping; /* user space is to read it */
	u32 half;    /* the half that calls go into */
};

struct syscalls_flight {
	u64 ready;    /* rings may be given out */
	u64 homeless; /* calls for which there was no ring left */
};

enum syscalls_why {
	SYSCALLS_WHY_ASKED, /* at the end, at an interval, by a signal to memwhy */
	SYSCALLS_WHY_SLOW,
	SYSCALLS_WHY_FAILED,
	SYSCALLS_WHY_EXIT,
	SYSCALLS_WHY_CRASH,
	SYSCALLS_WHYS,
};

/* In the ring and on disk: the calls of this ring are to be shown. Its REC_SYSCALLS_KEPT follow. */
#define SYSCALLS_DUMP_FIELDS(F, R)                                                                \
	F(R, u64, key, ID, "whose calls: a control group, or a process")                          \
	F(R, u64, detail, NONE,                                                                   \
		"of a slow call its ns, of a failed one errno, of an end the wait status")        \
	F(R, u64, kept, COUNT, "calls kept so far")                                               \
	F(R, u64, missed, COUNT,                                                                  \
		"slow or failed calls that made no dump, as the one before was still to be read") \
	F(R, u32, ring, ID, "number of the ring")                                                 \
	F(R, u32, tgid, ID, "process that made it dump")                                          \
	F(R, u32, tid, ID, "thread that did")                                                     \
	F(R, u8, why, ID,                                                                         \
		"0 asked for, 1 slow call, 2 failed call, 3 end of a process, 4 by a signal")     \
	F(R, u8, by_process, ID, "1: key is a process")                                           \
	F(R, u8[2], reserved, HIDDEN, "")                                                         \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(syscalls_dump, SYSCALLS_DUMP_FIELDS);

/* On disk a dump is followed by its calls, in order of time: each a syscalls_call of the kind
 * REC_SYSCALLS_KEPT, without a stack. */

/* REC_ENUM: the arguments of calls that memwhy has no table of, as the kernel's metadata has them:
 * "int fd, struct stat * statbuf". The value is ABI << 32 | number. */
#define SYSCALLS_ARGS_SET "syscall-args"

#endif
