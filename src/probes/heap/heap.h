/* The heap of a command: the records. All of them say how things stand since the process began:
 * a later record of the same process (and stack and site, or thread) replaces the earlier one. */
#ifndef MEMWHY_PROBES_HEAP_H
#define MEMWHY_PROBES_HEAP_H

#include "bpf/shared.h"

#define HEAP_SIZES 40   /* log2 histogram: as in analysis/hist.h */
#define HEAP_MS_SLOT 20 /* 2^20 ns are a ms, near enough: slot i is i + 20 of ns */
#define HEAP_TIMES 20   /* the same, of ms: slot 0 is below 1 ms, the last has no end */

enum heap_flags {
	HEAP_ENDED = 1,      /* exit, or exec of something else */
	HEAP_FORKED = 2,     /* a fork that did not exec; what it inherited is not counted */
	HEAP_INCOMPLETE = 4, /* events were lost */
	HEAP_SAMPLED = 8,    /* sums are estimates; temporary is not known */
	HEAP_ATTACHED = 16,  /* by probes at its allocator: slack is not known */
	HEAP_WHOLE = 32,     /* with HEAP_ATTACHED: from its beginning on */
};

/* A process: what one exec began, until its end or its next exec; or a fork of one. */
struct heap_total {
	struct rec h; /* flags: enum heap_flags */
	u32 tgid;
	u32 process; /* number of it in the recording */
	u32 parent;  /* number of what it is a fork of; 0: none */
	u32 threads; /* ever */
	u64 start_ns, end_ns;
	u64 allocations, bytes, frees, temporary, moved;
	u64 live_blocks, live_bytes;
	u64 peak_blocks, peak_bytes, peak_ns; /* when live_bytes was largest */
	u64 unknown_frees;                    /* of blocks not allocated under the tracker */
	u64 overwritten; /* blocks whose address was given out again: freed unseen */
	u64 lost;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 sizes[HEAP_SIZES]; /* allocations by size, saturated */
	u64 old_ms;            /* how old a live block is that counts as old in its sites; 0: they
				* were not looked at */
	u64 live_error_bytes, peak_error_bytes, error_bytes; /* standard errors of estimates */
	u32 before; /* number of what it was before its exec, else of who started it; 0: none */
	u32 reserved;
};

/* What one stack of a process allocated. Two threads that have the same new stack at the same time
 * may give it a number each: the sums of both are the stack's. */
struct heap_site {
	struct rec h;
	u32 tgid;
	u32 process;
	u32 stack; /* REC_STACK */
	u32 max_life_ms;
	u64 allocations, bytes, frees, temporary, moved;
	u64 live_blocks, live_bytes;
	u64 peak_blocks, peak_bytes; /* at the peak of the process */
	u64 slack_bytes;             /* usable beyond bytes */
	u64 life_ms;                 /* of the freed blocks, summed */
	u32 min_bytes, max_bytes;    /* of an allocation; saturated */
	u32 site;                    /* number of the stack in its program */
	u32 oldest_ms;               /* of the live blocks; this and what follows: as old_ms says */
	u64 old_blocks,
		old_bytes;     /* of the live ones: from the first third of the process's time */
	u32 ages[HEAP_TIMES];  /* live blocks by age, saturated */
	u32 lives[HEAP_TIMES]; /* freed blocks by life, saturated */
	/* Standard errors of these sums, where they are estimates. */
	u64 live_error_bytes, peak_error_bytes, error_bytes;
};

struct heap_thread {
	struct rec h;
	u32 tgid;
	u32 process;
	u32 tid;
	u32 thread; /* number of it in the process: the kernel gives a tid again */
	u64 allocations, bytes, frees, freed_bytes, temporary;
	u64 live_blocks, live_bytes; /* allocated by it, freed by nobody */
	char comm[COMM_LEN];
};

/* All processes together. */
struct heap_together_record {
	struct rec h;
	u64 peak_bytes;      /* as seen turn by turn, each some ms */
	u64 peak_most_bytes; /* it was not above this */
	u64 peak_ns;
};

/* As enum track_mapped (tracker/ring.h). On disk. */
enum heap_mapped_kind {
	HEAP_MAPPED_UNKNOWN,
	HEAP_MAPPED_ANONYMOUS, /* private */
	HEAP_MAPPED_SHARED,    /* anonymous */
	HEAP_MAPPED_FILE,      /* private */
	HEAP_MAPPED_FILE_SHARED,
	HEAP_MAPPED_BREAK,
	HEAP_MAPPED_KINDS,
};

/* In words; NULL: not known. */
const char *heap_mapped_name(u32 kind);

/* What one stack of a process mapped, of one kind. */
struct heap_mapping {
	struct rec h;
	u32 tgid;
	u32 process;
	u32 stack; /* REC_STACK */
	u32 site;  /* number of the stack in its program */
	u32 kind;  /* enum heap_mapped_kind */
	u32 reserved;
	u64 calls, failed;
	u64 mapped_bytes, unmapped_bytes, live_bytes;
	u64 peak_bytes; /* at the peak of what the process had mapped */
};

/*
 * What a process allocated and freed, in its order (--events): a chunk of code, as event_model.h
 * says. To be read behind those before it.
 */
struct heap_events {
	struct rec h;
	u32 process;
	u32 program; /* number of its program, which numbers stacks */
	u64 before;  /* events in the chunks before */
	u32 bytes;   /* of code */
	u32 code[];  /* its bytes; the last ones may be padding */
};

/* What the numbers of stacks in a program stand for. */
struct heap_stacks {
	struct rec h;
	u32 program;
	u32 n;
	u32 v[]; /* n pairs: number, and its REC_STACK (0: not known) */
};

/* What a process mapped by itself. */
struct heap_mapped {
	struct rec h;
	u32 tgid;
	u32 process;
	u64 calls, failed, unmaps;
	u64 mapped_bytes, unmapped_bytes, live_bytes;
	u64 peak_bytes, peak_ns;
	u64 unknown_bytes;  /* unmapped, and not known to be mapped */
	u64 replaced_bytes; /* of those unmapped, by a mapping in their place */
};

/* What memory is, for --faults. On disk. */
enum heap_place {
	HEAP_PLACE_BLOCK = 1, /* live blocks of one stack */
	HEAP_PLACE_MAPPED,    /* mapped by the program itself, by one stack */
	HEAP_PLACE_LIBC,      /* anonymous, of no live block and not mapped by the program: the
			       * allocator's, libc's; what a fork inherited */
	HEAP_PLACE_STACK,     /* of the main thread, or where a thread's stack pointer was */
	HEAP_PLACE_FILE,      /* a file that libc or the kernel mapped, and its .bss */
	HEAP_PLACE_SHARED,    /* shared memory */
	HEAP_PLACE_HUGETLB,   /* not in Rss */
	HEAP_PLACE_KERNEL,    /* vdso and the like */
	HEAP_PLACE_BEYOND,    /* a mapping too large to be looked into */
	HEAP_PLACE_UNKNOWN,   /* nothing is known to be mapped there: it ended before it was read */
	HEAP_PLACES,
};

/* Faults and resident memory of one stack or other place of a process. The bytes are as of the look
 * that found most resident of the process since the interval began. */
struct heap_residence {
	struct rec h;
	u32 tgid;
	u32 process;
	u32 stack; /* REC_STACK, of blocks and mapped */
	u32 site;  /* number of the stack in its program, or of the file */
	u32 place; /* enum heap_place */
	u32 kind;  /* of HEAP_PLACE_MAPPED: enum heap_mapped_kind */
	u64 minor, major;
	u64 resident_bytes, swapped_bytes;
	u64 live_bytes; /* of blocks: asked for; of mapped: mapped */
	char file[AGG_NAME_LEN];
};

/* The same of all of a process, and what the kernel says. */
struct heap_looked {
	struct rec h;
	u32 tgid;
	u32 process;
	u32 looks; /* at its memory */
	u32 reserved;
	u64 minor, major;
	u64 look_ns;                 /* when most was resident; 0: it was never looked at */
	u64 rss_bytes, beyond_bytes; /* then, by smaps; of it in mappings not looked into */
	u64 last_ns;                 /* the last look, and what the kernel said then */
	u64 hwm_bytes, kernel_minor, kernel_major; /* (hwm_bytes: then or later) */
	u64 hwm_faults; /* minor and major ones when hwm_bytes was read; 0: not known */
};

struct report;

/* Notes what a report on this process, attached to late, cannot know. tgid 0: nothing. */
void heap_attached_tell(struct report *r, u32 tgid);

#endif
