/*
 * The records with which a stream describes itself: host, interval, methods, losses, cost, and
 * the dictionaries (strings, tasks, cgroups, frames, stacks, enums) that give names to the ids in
 * the records of the probes. They may come before or after the records that use them.
 */
#ifndef MEMWHY_EVENT_META_H
#define MEMWHY_EVENT_META_H

#include "event/schema.h"

#define REC_HOST_FIELDS(F, R)                                                                \
	F(R, u32, cpus, COUNT, "CPUs online")                                                \
	F(R, u32, nodes, COUNT, "NUMA nodes online")                                         \
	F(R, u32, page_bytes, BYTES, "size of a base page")                                  \
	F(R, u32, pageblock_order, ID,                                                       \
		"a pageblock is 2^order base pages: the unit of migratetypes")               \
	F(R, u64, memory_bytes, BYTES, "memory the kernel manages")                          \
	F(R, u64, huge_page_bytes, BYTES, "size of a transparent huge page mapped by a PMD") \
	F(R, char[64], kernel, NONE, "release of the running kernel (uname -r)")
RECORD(rec_host, REC_HOST_FIELDS);

#define REC_SESSION_FIELDS(F, R)                                                              \
	F(R, u64, wall_ns, NS, "time since 1970 (UTC) at the time of this record")            \
	F(R, char[32], command, NONE, "the memwhy command that made the stream")              \
	F(R, char[200], scope, NONE, "what was observed: system-wide, pid 12, a cgroup, ...") \
	F(R, u32, options, HEX, "1 single events, 2 stacks") /* enum session_options */       \
	F(R, u32, reserved, HIDDEN, "")                                                       \
	F(R, char[64], by, NONE, "keys of --by; empty where that was not said")
RECORD(rec_session, REC_SESSION_FIELDS);

enum session_options {
	SESSION_EACH = 1,
	SESSION_STACKS = 2,
	SESSION_NO_SUMS = 4, /* of the heap, followed only for who asks about accesses */
	SESSION_GENTLE = 8,  /* what fires often was looked at in bursts (struct probe_bursts) */
};

/* Flags: enum method_flags. */
#define REC_METHOD_FIELDS(F, R)                                                           \
	F(R, char[PROBE_NAME_LEN], probe, NONE, "the probe")                              \
	F(R, char[48], data, NONE, "which part of what the probe tells")                  \
	F(R, char[64], method, NONE, "how it was obtained; empty: it was not")            \
	F(R, char[160], missing, NONE, "when it was not: why, and what would provide it") \
	F(R, char[64], needs, NONE, "what would provide it, alone; empty: not known")
RECORD(rec_method, REC_METHOD_FIELDS);

/* METHOD_REFUSED: all of it, or with a method a part of it, was not looked at for want of rights.
 */
enum method_flags { METHOD_REFUSED = 1 };

/* Cumulative since the start of the session. seen = delivered + lost. */
#define REC_LOSS_FIELDS(F, R)                                                                 \
	F(R, char[PROBE_NAME_LEN], probe, NONE, "the probe")                                  \
	F(R, u64, seen, COUNT, "events seen in the kernel since the start: delivered + lost") \
	F(R, u64, delivered, COUNT, "events counted or handed on since the start")            \
	F(R, u64, lost, COUNT, "events lost since the start")                                 \
	F(R, char[64], reason, NONE, "why events were lost, when there are any")
RECORD(rec_loss, REC_LOSS_FIELDS);

/* bpf_ns and bpf_runs are scaled up from those that were measured. */
enum cost_flags { COST_ESTIMATED = 1 };

/* Cumulative since the start of the session. Flags: enum cost_flags. */
#define REC_COST_FIELDS(F, R)                                                               \
	F(R, u64, cpu_ns, NS, "user and system time of memwhy itself since the start")      \
	F(R, u64, bpf_ns, NS,                                                               \
		"run time of its BPF programs since the start, paid by the observed tasks") \
	F(R, u64, bpf_runs, COUNT, "runs of its BPF programs since the start")              \
	F(R, u64, rss_bytes, BYTES, "peak RSS of memwhy")                                   \
	F(R, u64, bpf_bytes, BYTES, "memory of its BPF maps")                               \
	F(R, u64, now_bytes, BYTES,                                                         \
		"memory of its processes at this time, what they share counted once")
RECORD(rec_cost, REC_COST_FIELDS);

/* The end of one interval (-i) or, as REC_END, of the session. */
struct rec_tick {
	struct rec h;
};

struct rec_string {
	struct rec h;
	u32 id;
	u32 length;
	char text[];
};

/* It has ended and everything it did was delivered: its name is needed only until the end of the
 * interval. Live sessions only; no file contains this record, because names in a file hold for all
 * of it. */
enum task_flags { TASK_OVER = 1 };

/* tid 0: the process. Later records replace earlier ones of the same tgid and tid. Flags: enum
 * task_flags. */
#define REC_TASK_FIELDS(F, R)                                                                   \
	F(R, u32, tgid, ID, "process")                                                          \
	F(R, u32, tid, ID, "thread; 0: the process as a whole")                                 \
	F(R, u64, cgroup, CGROUP, "its cgroup")                                                 \
	F(R, char[COMM_LEN], comm, NONE, "its name, as in /proc/PID/comm")                      \
	F(R, u32, program, STRING, "of an interpreter: with what it runs; 0: the name will do") \
	F(R, u32, reserved, HIDDEN, "")
RECORD(rec_task, REC_TASK_FIELDS);

static inline bool task_is_over(const struct rec *r)
{
	return r->kind == REC_TASK && r->size >= sizeof(struct rec_task) && r->flags & TASK_OVER;
}

struct rec_cgroup {
	struct rec h;
	u64 id; /* kernfs id = inode number of its directory */
	u32 length;
	u32 reserved;
	char path[];
};

enum frame_space { FRAME_USER = 0, FRAME_KERNEL = 1 };

/* One code address. address is the virtual address seen first, or 0 where the
 * process had ended; offset is within the file. Flags: enum frame_space. */
#define REC_FRAME_FIELDS(F, R)                                                     \
	F(R, u32, id, ID, "id by which it is meant in stacks")                     \
	F(R, u32, module, STRING, "file or kernel module of the code; 0: unknown") \
	F(R, u64, offset, HEX, "address within the module")                        \
	F(R, u64, address, HEX, "virtual address seen first; 0: the process had ended")
RECORD(rec_frame, REC_FRAME_FIELDS);

struct sym_line {
	u32 function; /* REC_STRING */
	u32 file;     /* REC_STRING, 0: unknown */
	u32 line;
	u32 offset; /* from the start of the function, in the last element only */
};

#define MODULE_BUILD_ID 64

/* What is known of a file with code. A later record of the same path replaces the earlier one. */
#define REC_MODULE_FIELDS(F, R)                                \
	F(R, u32, path, STRING, "the file, as frames have it") \
	F(R, u32, length, BYTES, "bytes of its build id")      \
	F(R, u8[MODULE_BUILD_ID], build_id, HEX, "its build id (the note NT_GNU_BUILD_ID)")
RECORD(rec_module, REC_MODULE_FIELDS);

/* The names of one frame, innermost inlined function first; the last element is the function
 * that was really called. */
struct rec_symbol {
	struct rec h;
	u32 frame;
	u32 n;
	struct sym_line lines[];
};

struct rec_stack {
	struct rec h; /* h.flags: enum stack_method, and its detail << 8; 0: see there */
	u32 id;       /* never 0 */
	u32 n;
	u32 frames[]; /* innermost first: kernel frames, then user frames */
};

/* "exact", "frame pointers", "cut: …", of the flags of a REC_STACK; never NULL. */
const char *stack_method_text(u16 flags);

#define GFP_SET "gfp" /* names of bits of gfp_t, and of some together */

/* A name the running kernel gives to a number: set is "migratetype", GFP_SET, "zone", … */
#define REC_ENUM_FIELDS(F, R)                                                        \
	F(R, char[24], set, NONE, "what the number is: migratetype, gfp, zone, ...") \
	F(R, u64, value, HEX, "the number")                                          \
	F(R, char[40], name, NONE, "the name the running kernel gives to it")
RECORD(rec_enum, REC_ENUM_FIELDS);

/* Something the reader should know: level 0 a note, 1 something that was not looked at, 3 something
 * that was not looked at for want of rights. Flags: enum note_level. */
#define REC_NOTE_FIELDS(F, R)                                                           \
	F(R, char[PROBE_NAME_LEN], probe, NONE, "the probe; empty: none in particular") \
	F(R, char[240], text, NONE, "what the reader of the numbers should know")
RECORD(rec_note, REC_NOTE_FIELDS);

/* How the command ended that was run (-- CMD). */
#define REC_EXIT_FIELDS(F, R)                                                             \
	F(R, u32, status, ID, "its exit status; of one that was killed 128 + the signal") \
	F(R, u32, signal, ID, "the signal that killed it; 0: none")
RECORD(rec_exit, REC_EXIT_FIELDS);

enum note_level { NOTE_INFO = 0, NOTE_NOT_CHECKED = 1, NOTE_WARNING = 2, NOTE_REFUSED = 3 };

extern const struct kind meta_kinds[];
extern const size_t meta_kinds_n;

#endif
