/* Who fills the page cache, and whose pages go for it, sampled for `check`. */
#ifndef MEMWHY_PROBES_CACHE_H
#define MEMWHY_PROBES_CACHE_H

#include "bpf/shared.h"

/* One page in this many of each file is followed: everything that happens to it, always the same
 * pages. */
#define CACHE_STRIDE 64

enum cache_flags {
	CACHE_REFAULT = 1,   /* read back: it had been pushed out while we looked */
	CACHE_BY_KSWAPD = 2, /* … by the kernel's own thread, in the background */
	CACHE_WRITTEN = 4,   /* it came by a write */
};

/* Calls by which pages go that nobody needed room for; their numbers (asm/unistd_64.h). */
enum cache_call {
	CACHE_CALL_MADVISE = 28,          /* MADV_PAGEOUT */
	CACHE_CALL_FADVISE = 221,         /* POSIX_FADV_DONTNEED */
	CACHE_CALL_PROCESS_MADVISE = 440, /* MADV_PAGEOUT */
	CACHE_CALL_GROUP = 1000,          /* a write to a file of a control group */
	CACHE_CALL_DROP = 1001,           /* a write to vm.drop_caches */
};

struct cache_key {
	u32 tgid; /* who had it read, or wrote it */
	u32 tid;  /* 0 */
	u32 ustack, kstack;
	u32 evictor; /* of refaults: who pushed it out before; 0: not a process */
	u16 flags;   /* enum cache_flags */
	u16 call;    /* of refaults: enum cache_call of the evictor; 0: none of these */
	u32 device;  /* that the file is on, as the kernel has it (linux/kdev_t.h) */
	u32 reserved;
};

#define CACHE_FILE_LOST 0 /* of the table's sums: refaults for whose file there was no room */

/* Whose pages of which file came back, and who had pushed them out. */
struct cache_file_key {
	u32 tgid, evictor; /* as above */
	u64 file;          /* a number: of one file */
};

#define CACHE_NAME 48

struct cache_file_value {
	u64 count;
	char name[CACHE_NAME], directory[CACHE_NAME]; /* the last two parts of its path; "": none */
};

/* On disk: pages put into the page cache since the last such record. */
#define CACHE_AGG_FIELDS(F, R)                                                              \
	F(R, u32, tgid, ID, "process that had the page read")                               \
	F(R, u32, tid, ID, "0")                                                             \
	F(R, u32, stack, STACK, "0")                                                        \
	F(R, u32, evictor, ID, "of refaults: process that had pushed it out; 0: none")      \
	F(R, u16, flags, HEX,                                                               \
		"1 read back after it was pushed out, 2 by kswapd, 4 came by a write")      \
	F(R, u16, call, ID,                                                                 \
		"of refaults: the call that had it pushed out, 28 madvise, 221 fadvise64, " \
		"440 process_madvise, 1000 a write to a file of a control group, 1001 to "  \
		"vm.drop_caches; 0: none")                                                  \
	F(R, u32, device, HEX, "that the file is on: major number << 20 | minor number")    \
	F(R, u64, count, COUNT, "pages that were looked at, one in 64")                     \
	F(R, u64, total_ns, NS, "of refaults: time from pushed out to read back, sum")      \
	F(R, u64, cgroup, CGROUP, "cgroup of the process")                                  \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                     \
	F(R, u64, file_lost, COUNT,                                                         \
		"of refaults: those of which no cache_file tells the file, as the table "   \
		"was full")                                                                 \
	F(R, u64, asked_bytes, BYTES,                                                       \
		"what the process has asked for in read calls since its start (rchar of "   \
		"/proc/PID/io); from here on of those that read much, else 0")              \
	F(R, u64, asks, COUNT, "its read calls and major faults since its start")           \
	F(R, u64, faults, COUNT, "its page faults since its start")                         \
	F(R, u64, read_ahead_bytes, BYTES, "of the device; 0: not known")                   \
	F(R, u32, read_ahead_file, STRING, "where that is set; 0: not known")               \
	F(R, u32, reserved, HIDDEN, "")
RECORD(cache_agg, CACHE_AGG_FIELDS);

/* On disk: of which file the refaults since the last such record were. */
#define CACHE_FILE_FIELDS(F, R)                                                     \
	F(R, u32, tgid, ID, "process that had the pages read back")                 \
	F(R, u32, evictor, ID, "process that had pushed them out; 0: none, kswapd") \
	F(R, u32, name, STRING, "the file: its directory and its name; 0: no name") \
	F(R, u32, reserved, HIDDEN, "")                                             \
	F(R, u64, count, COUNT, "pages that were looked at, one in 64")
RECORD(cache_file, CACHE_FILE_FIELDS);

/* The records above count for a part of the time. Since the last one: */
#define CACHE_SAMPLED_FIELDS(F, R)                          \
	F(R, u64, bursts, COUNT, "bursts")                  \
	F(R, u64, on_ns, NS, "time in which pages counted") \
	F(R, u64, covered_ns, NS, "time it stands for")
RECORD(cache_sampled, CACHE_SAMPLED_FIELDS);

#endif
