/*
 * The records with which a stream describes itself: host, interval, methods, losses, cost, and
 * the dictionaries (strings, tasks, cgroups, frames, stacks, enums) that give names to the ids in
 * the records of the probes. They may come before or after the records that use them.
 */
#ifndef MEMWHY_EVENT_META_H
#define MEMWHY_EVENT_META_H

#include "event/schema.h"

struct rec_host {
	struct rec h;
	u32 cpus;  /* online */
	u32 nodes; /* online NUMA nodes */
	u32 page_bytes;
	u32 pageblock_order;
	u64 memory_bytes;
	u64 huge_page_bytes; /* PMD size */
	char kernel[64];     /* uname -r */
};

struct rec_session {
	struct rec h;
	u64 wall_ns;      /* time since 1970 at h.time_ns */
	char command[32]; /* the memwhy command */
	char scope[200];  /* "system-wide", "pid 12", … */
	u32 options;      /* enum session_options */
	u32 reserved;
	char by[64]; /* keys asked for by --by; "" where that was not said */
};

enum session_options {
	SESSION_EACH = 1,
	SESSION_STACKS = 2,
	SESSION_NO_SUMS = 4, /* of the heap, followed only for who asks about accesses */
	SESSION_GENTLE = 8,  /* what fires often was looked at in bursts (struct probe_bursts) */
};

struct rec_method {
	struct rec h; /* h.flags: enum method_flags */
	char probe[PROBE_NAME_LEN];
	char data[48];     /* which part of what the probe tells */
	char method[64];   /* how it was obtained; empty: it was not */
	char missing[160]; /* when it was not: why, and what would provide it */
	char needs[64];    /* … what would provide it, alone; empty: not known */
};

/* METHOD_REFUSED: all of it, or with a method a part of it, was not looked at for want of rights.
 */
enum method_flags { METHOD_REFUSED = 1 };

/* Cumulative since the start of the session. seen = delivered + lost. */
struct rec_loss {
	struct rec h;
	char probe[PROBE_NAME_LEN];
	u64 seen;
	u64 delivered;
	u64 lost;
	char reason[64]; /* of the losses, when there are any */
};

/* bpf_ns and bpf_runs are scaled up from those that were measured. */
enum cost_flags { COST_ESTIMATED = 1 };

/* Cumulative since the start of the session. */
struct rec_cost {
	struct rec h; /* h.flags: enum cost_flags */
	u64 cpu_ns;   /* user and system time of memwhy itself */
	u64 bpf_ns;   /* run time of its BPF programs (paid by the observed tasks) */
	u64 bpf_runs;
	u64 rss_bytes; /* peak */
	u64 bpf_bytes; /* memory of the BPF maps */
};

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

/* It has ended, and what it did was told: its name is of use until the end of the interval only. Of
 * a live session; such a record is in no file, where names are for all of it. */
enum task_flags { TASK_OVER = 1 };

/* tid 0: the process. Later records replace earlier ones of the same tgid and tid. */
struct rec_task {
	struct rec h; /* h.flags: enum task_flags */
	u32 tgid;
	u32 tid;
	u64 cgroup;
	char comm[COMM_LEN];
	/* REC_STRING: what people know the process by, where its name is that of an interpreter:
	 * "python3 worker.py". 0: its name will do, or it was gone. */
	u32 program;
	u32 reserved;
};

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
 * process had ended; offset is within the file. */
struct rec_frame {
	struct rec h; /* h.flags: enum frame_space */
	u32 id;
	u32 module; /* REC_STRING, 0: unknown */
	u64 offset;
	u64 address;
};

struct sym_line {
	u32 function; /* REC_STRING */
	u32 file;     /* REC_STRING, 0: unknown */
	u32 line;
	u32 offset; /* from the start of the function, in the last element only */
};

#define MODULE_BUILD_ID 64

/* What is known of a file with code. A later record of the same path replaces the earlier one. */
struct rec_module {
	struct rec h;
	u32 path;   /* REC_STRING, as in the frames */
	u32 length; /* bytes of build_id */
	u8 build_id[MODULE_BUILD_ID];
};

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
struct rec_enum {
	struct rec h;
	char set[24];
	u64 value;
	char name[40];
};

/* Something the reader should know: level 0 a note, 1 something that was not looked at, 3 something
 * that was not looked at for want of rights. */
struct rec_note {
	struct rec h; /* h.flags: enum note_level */
	char probe[PROBE_NAME_LEN];
	char text[240];
};

/* How the command ended that was run (-- CMD). */
struct rec_exit {
	struct rec h;
	u32 status; /* as a shell says it: 128 + the signal that killed it */
	u32 signal; /* that killed it; 0: it ended by itself */
};

enum note_level { NOTE_INFO = 0, NOTE_NOT_CHECKED = 1, NOTE_WARNING = 2, NOTE_REFUSED = 3 };

extern const struct kind meta_kinds[];
extern const size_t meta_kinds_n;

#endif
