/*
 * Changes of address spaces: what the BPF program, the probe and its view agree on, and the
 * records.
 */
#ifndef MEMWHY_PROBES_MAPS_H
#define MEMWHY_PROBES_MAPS_H

#include "bpf/shared.h"

/* The system calls. On disk. */
enum maps_call {
	MAPS_NONE = 0,
	MAPS_MMAP = 1,
	MAPS_MUNMAP = 2,
	MAPS_MREMAP = 3,
	MAPS_BRK = 4,
	MAPS_MPROTECT = 5,
	MAPS_PKEY_MPROTECT = 6,
	MAPS_MADVISE = 7,
	MAPS_PROCESS_MADVISE = 8,
	MAPS_REMAP_FILE_PAGES = 9,
	MAPS_MEMFD_CREATE = 10,
	MAPS_SHMGET = 11,
	MAPS_SHMAT = 12,
	MAPS_SHMDT = 13,
	MAPS_SHMCTL = 14,
	MAPS_SHM_OPEN = 15,   /* open and openat below /dev/shm: args are 0, path, flags, mode */
	MAPS_SHM_UNLINK = 16, /* unlink and unlinkat there: args are 0, path */
	MAPS_MLOCK = 17,
	MAPS_MLOCK2 = 18,
	MAPS_MUNLOCK = 19,
	MAPS_MLOCKALL = 20,
	MAPS_MUNLOCKALL = 21,
	MAPS_FORK = 22,  /* fork, vfork, clone, clone3: only where they fail, and only in bursts */
	MAPS_OTHER = 23, /* any other that meets a limit, in bursts: detail has its number */
	MAPS_CALL_N,
};

/* What is mapped. On disk. */
enum maps_kind {
	MAPS_KIND_UNKNOWN = 0, /* of what a call names by its address: mapped before we looked */
	MAPS_ANON = 1,
	MAPS_HEAP = 2,     /* the break */
	MAPS_RESERVED = 3, /* anonymous, PROT_NONE: address space alone */
	MAPS_STACK = 4,    /* MAP_STACK or MAP_GROWSDOWN */
	MAPS_FILE = 5,
	MAPS_FILE_SHARED = 6,
	MAPS_ANON_SHARED = 7,
	MAPS_POSIX_SHM = 8, /* a file of the tmpfs at /dev/shm */
	MAPS_MEMFD = 9,
	MAPS_SYSV_SHM = 10,
	MAPS_HUGETLB = 11,
	MAPS_DEVICE = 12, /* a character device, or what has no name in a file system */
	MAPS_TMPFS = 13,  /* a file of another tmpfs */
	MAPS_KIND_N,
};

/* Why a call failed, where the kernel's own numbers at that moment say so. On disk. */
enum maps_why {
	MAPS_WHY_UNKNOWN = 0,
	MAPS_WHY_MAP_COUNT = 1,  /* vm.max_map_count mappings; limit: that number */
	MAPS_WHY_AS = 2,         /* RLIMIT_AS; limit: its bytes */
	MAPS_WHY_DATA = 3,       /* RLIMIT_DATA */
	MAPS_WHY_MEMLOCK = 4,    /* RLIMIT_MEMLOCK */
	MAPS_WHY_SIZE = 5,       /* larger than any address space */
	MAPS_WHY_STRICT = 6,     /* none of these, and vm.overcommit_memory is 2 */
	MAPS_WHY_OBVIOUS = 7,    /* … 0: more than memory and swap together */
	MAPS_WHY_HUGETLB = 8,    /* the pool has no such huge pages */
	MAPS_WHY_BELOW = 9,      /* brk: below the start of the heap */
	MAPS_WHY_TASKS = 10,     /* fork: that of a control group; limit: 0 where it is not known */
	MAPS_WHY_FILES = 11,     /* RLIMIT_NOFILE; limit: that number */
	MAPS_WHY_ALL_FILES = 12, /* fs.file-max */
	MAPS_WHY_INSTANCES = 13, /* fs.inotify.max_user_instances */
	MAPS_WHY_WATCHES = 14,   /* fs.inotify.max_user_watches */
	MAPS_WHY_EPOLL = 15,     /* fs.epoll.max_user_watches */
	MAPS_WHY_IPC = 16,       /* as many System V identifiers as the kernel allows */
	MAPS_WHY_SIGNALS = 17,   /* RLIMIT_SIGPENDING, which has POSIX timers too */
	MAPS_WHY_FULL = 18,      /* a tmpfs is full; limit: its bytes, 0: not known */
	MAPS_WHY_NPROC = 19,     /* fork: RLIMIT_NPROC; limit: that number */
	MAPS_WHY_THREADS = 20,   /* … kernel.threads-max */
	MAPS_WHY_PIDS = 21,      /* … kernel.pid_max */
	MAPS_WHY_INODES = 22,    /* a tmpfs has no free inode; limit: how many it may have */
	MAPS_WHY_TERMINALS = 23, /* as many pseudo-terminals as there may be; limit: that number */
	MAPS_WHY_N,
};

enum maps_flags {
	MAPS_MIXED = 1,       /* other calls of the process overlapped: growth is by arguments */
	MAPS_BY_VMSIZE = 2,   /* growth is the difference of mm->total_vm; else by arguments */
	MAPS_SPACE_KNOWN = 4, /* vm_pages, mappings are known */
	MAPS_NAMED = 8,       /* name was read; it may be empty */
};

/* What hooks and sampler tell. */
#define MAPS_DATA_CALLS "calls that change address spaces"
#define MAPS_DATA_GROWTH "growth of address spaces"

#define MAPS_HELD_KNOWN 1 /* in maps_agg.h.flags: held_bytes is */

#define MAPS_PAGE 4096ULL
#define MAPS_TMPFS_MAGIC 0x01021994
#define MAPS_NAME_LEN 64

struct maps_config {
	u64 min_ns;        /* with --each: only calls that took at least this long */
	u32 max_map_count; /* vm.max_map_count; 0: not known */
	u8 overcommit;     /* vm.overcommit_memory */
	u8 comms;          /* count by the name the task has at the call */
	u8 mapping;        /* … by what is mapped: file, key, id */
	u8 sizes;          /* … by length */
	u64 commit_pages;  /* memory and swap */
	u8 held;           /* follow what is mapped until it is unmapped */
	u8 failures;       /* only calls that failed, in bursts */
	u8 reserved[6];
};

/* Key of the table of aggregates. */
struct maps_key {
	u32 tgid;
	u32 tid;    /* 0 unless by thread */
	u32 ustack; /* id in the stack map plus one, 0: none */
	u32 detail; /* advice of madvise, command of shmctl; otherwise 0 */
	u64 object; /* file, key or id; of a failed call the limit it met */
	u64 length; /* 0 unless config.sizes */
	u16 error;  /* errno; 0: the call succeeded */
	u8 call;
	u8 kind;
	u8 why;
	u8 reserved[3];
	char comm[COMM_LEN]; /* "" unless config.comms */
};

/* The meaning of agg_value.sum[]; name is that of the file, memfd or shared memory. */
enum {
	MAPS_SUM_LENGTH, /* bytes that successful calls asked for */
	MAPS_SUM_ADDED,  /* bytes by which VmSize grew in calls */
	MAPS_SUM_TAKEN,  /* … by which it shrank */
	MAPS_SUM_HELD,   /* signed: added, less what other calls released of it */
	MAPS_SUM_MIXED,  /* calls with MAPS_MIXED */
};

/* An address space as the program last saw it, by process. The program's own come last. */
struct maps_space {
	u64 calls;                 /* within the scope */
	u64 first_pages;           /* mm->total_vm before the first of them */
	u64 last_pages;            /* … after the last */
	u64 first_data, last_data; /* mm->data_vm */
	u64 mm;                    /* struct mm_struct *: another one after an exec */
	u32 execs;                 /* how often it was another one */
	u32 mappings;              /* mm->map_count after the last */
	u64 brk;                   /* what the last brk returned */
	u64 recent, recent_length; /* the mapping made last: see maps_held.bpf.h */
	u64 begun, running;        /* calls begun; calls not ended yet */
	char comm[COMM_LEN];
	u64 cgroup;
};

/* In the ring (--each); the same on disk but for the stacks, which become one. The time at which
 * the call began. */
#define MAPS_EVENT_FIELDS(F, R)                                                                    \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread")                                                               \
	F(R, u32, ustack, STACK, "where it was made")                                              \
	F(R, u32, kstack, HIDDEN, "")                                                              \
	F(R, u64, ns, NS, "duration; 0: not known")                                                \
	F(R, s64, result, NONE, "what it returned, or -errno")                                     \
	F(R, u64[6], args, HEX, "arguments; those of open, unlink: 0, path, ...")                  \
	F(R, s64, growth, BYTES, "change of VmSize")                                               \
	F(R, u64, vm_pages, PAGES, "VmSize after it")                                              \
	F(R, u64, object, HEX, "as in maps_agg")                                                   \
	F(R, u64, limit, NONE, "the limit it met")                                                 \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                     \
	F(R, u32, mappings, COUNT, "of the process after it")                                      \
	F(R, u8, call, ID, "as in maps_agg")                                                       \
	F(R, u8, kind, ID, "as in maps_agg")                                                       \
	F(R, u8, flags, HEX,                                                                       \
		"1 overlapped others of its process, 2 growth is measured (else by arguments), 4 " \
		"vm_pages and mappings are known, 8 name was read")                                \
	F(R, u8, why, ID, "as in maps_agg")                                                        \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                            \
	F(R, char[MAPS_NAME_LEN], name, NONE, "of the file, memfd or shared memory")
RECORD(maps_event, MAPS_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define MAPS_AGG_FIELDS(F, R)                                                                      \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                     \
	F(R, u32, stack, STACK, "where the calls were made")                                       \
	F(R, u32, detail, ID, "advice of madvise, command of shmctl; of another call its number")  \
	F(R, u64, object, HEX,                                                                     \
		"file (a number made of inode and device), key or id; of failed calls the limit "  \
		"they met; 0: not counted by it")                                                  \
	F(R, u64, length, BYTES, "0: not counted by it")                                           \
	F(R, u16, error, ID, "errno; 0: they succeeded")                                           \
	F(R, u8, call, ID,                                                                         \
		"1 mmap, 2 munmap, 3 mremap, 4 brk, 5 mprotect, 6 pkey_mprotect, 7 madvise, 8 "    \
		"process_madvise, 9 remap_file_pages, 10 memfd_create, 11 shmget, 12 shmat, 13 "   \
		"shmdt, 14 shmctl, 15 open below /dev/shm, 16 unlink there, 17 mlock, 18 mlock2, " \
		"19 munlock, 20 mlockall, 21 munlockall, 22 fork, 23 another, by detail")          \
	F(R, u8, kind, ID,                                                                         \
		"0 not known, 1 anonymous, 2 heap, 3 reserved, 4 stack, 5 file, 6 shared file, 7 " \
		"shared anonymous, 8 POSIX shared memory, 9 memfd, 10 SysV shared memory, 11 "     \
		"hugetlb, 12 device, 13 tmpfs")                                                    \
	F(R, u8, why, ID,                                                                          \
		"why they failed: 0 not known, 1 vm.max_map_count, 2 RLIMIT_AS, 3 RLIMIT_DATA, 4 " \
		"RLIMIT_MEMLOCK, 5 larger than the address space, 6 strict overcommit, 7 obvious " \
		"overcommit, 8 no huge pages, 9 below the heap, 10 a limit on tasks, 11 "          \
		"RLIMIT_NOFILE, 12 fs.file-max, 13 inotify instances, 14 inotify watches, 15 "     \
		"epoll watches, 16 System V identifiers, 17 RLIMIT_SIGPENDING, 18 a full tmpfs, "  \
		"19 RLIMIT_NPROC, 20 kernel.threads-max, 21 kernel.pid_max, 22 a tmpfs without a " \
		"free inode, 23 pseudo-terminals")                                                 \
	F(R, u8[3], reserved, HIDDEN, "")                                                          \
	F(R, u64, count, COUNT, "calls")                                                           \
	F(R, u64, timed, COUNT, "calls whose duration is known")                                   \
	F(R, u64, total_ns, NS, "their time")                                                      \
	F(R, u64, max_ns, NS, "the longest since the start")                                       \
	F(R, u64, length_bytes, BYTES,                                                             \
		"lengths that the calls named; that failed ones named, where error is set")        \
	F(R, u64, added_bytes, BYTES, "growth of VmSize in calls")                                 \
	F(R, u64, taken_bytes, BYTES, "shrinkage of VmSize in calls")                              \
	F(R, s64, held_bytes, BYTES,                                                               \
		"mapped, less what was unmapped of it by whomever; with flags 1 only")             \
	F(R, u64, mixed, COUNT, "calls that overlapped others of their process")                   \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                     \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                            \
	F(R, char[AGG_NAME_LEN], name, NONE, "name of what is mapped")                             \
	F(R, u32[AGG_SLOTS], hist, COUNT, AGG_HIST_HELP)                                           \
	F(R, u32, where, STRING, "file of the limit on tasks that was met; 0: not known")          \
	F(R, u32, parent_tgid, ID,                                                                 \
		"of a limit of the process that was met: the process that started it; 0: not "     \
		"known")                                                                           \
	F(R, u64, hard, NONE,                                                                      \
		"of a limit of the process that was met: its hard limit; 0: not known")            \
	F(R, u64, start_ns, NS,                                                                    \
		"of such a process: its start, of CLOCK_MONOTONIC; all ones: it has ended")        \
	F(R, u64, parent_soft, NONE, "of such a limit: that of the parent")                        \
	F(R, u64, parent_hard, NONE, "of such a limit: the parent's hard limit")                   \
	F(R, u32, parent, STRING, "the parent's name")                                             \
	F(R, u32, reserved_end, HIDDEN, "")
RECORD(maps_agg, MAPS_AGG_FIELDS);

/* The bytes of calls that succeeded. */
static inline u64 maps_length(const struct maps_agg *r)
{
	return r->error ? 0 : r->length_bytes;
}

/* On disk: an address space, when it was changed. */
#define MAPS_PROCESS_FIELDS(F, R)                                       \
	F(R, u32, tgid, ID, "process")                                  \
	F(R, u32, execs, COUNT, "new programs since first seen")        \
	F(R, u64, calls, COUNT, "since the last such record")           \
	F(R, u64, first_bytes, BYTES, "VmSize when first seen")         \
	F(R, u64, last_bytes, BYTES, "VmSize after its last call")      \
	F(R, u64, first_data_bytes, BYTES, "VmData when first seen")    \
	F(R, u64, last_data_bytes, BYTES, "VmData after its last call") \
	F(R, u32, mappings, COUNT, "mappings after its last call")      \
	F(R, u32, reserved, HIDDEN, "")                                 \
	F(R, u64, cgroup, CGROUP, "its control group")                  \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(maps_process, MAPS_PROCESS_FIELDS);

/* On disk: failures were counted in bursts, since the last such record. */
#define MAPS_SAMPLED_FIELDS(F, R)                                \
	F(R, u64, on_ns, NS, "calls were looked at for so long") \
	F(R, u64, covered_ns, NS, "in the place of that")
RECORD(maps_sampled, MAPS_SAMPLED_FIELDS);

#define MAPS_LIMIT_LEN 40

/* A limit or size of the machine by which calls fail: at the start and when it has changed. */
#define MAPS_LIMIT_FIELDS(F, R)                                 \
	F(R, u64, value, NONE, "bytes, or as sysctl(8) has it") \
	F(R, char[MAPS_LIMIT_LEN], name, NONE, "of the sysctl, or in /proc/meminfo")
RECORD(maps_limit, MAPS_LIMIT_FIELDS);

#endif
