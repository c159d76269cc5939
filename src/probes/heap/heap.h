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

/* A process: what one exec began, until its end or its next exec; or a fork of one. Flags: enum
 * heap_flags. */
#define HEAP_TOTAL_FIELDS(F, R)                                                                    \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, process, ID, "number of the process in this recording")                          \
	F(R, u32, parent, ID, "number of the one it is a fork of; 0: none")                        \
	F(R, u32, threads, COUNT, "threads that allocated or freed")                               \
	F(R, u64, start_ns, NS, "its first event")                                                 \
	F(R, u64, end_ns, NS, "its end; 0: it goes on")                                            \
	F(R, u64, allocations, COUNT, "blocks allocated")                                          \
	F(R, u64, bytes, BYTES, "asked for")                                                       \
	F(R, u64, frees, COUNT, "of these blocks, freed")                                          \
	F(R, u64, temporary, COUNT, "freed before the next allocation of the same thread")         \
	F(R, u64, moved, COUNT, "of the allocations, by realloc of another block")                 \
	F(R, u64, live_blocks, COUNT, "allocated and not freed")                                   \
	F(R, u64, live_bytes, BYTES, "asked for these")                                            \
	F(R, u64, peak_blocks, COUNT, "live blocks when live bytes were most")                     \
	F(R, u64, peak_bytes, BYTES, "most live bytes")                                            \
	F(R, u64, peak_ns, NS, "when that was")                                                    \
	F(R, u64, unknown_frees, COUNT, "frees of blocks from before, or inherited")               \
	F(R, u64, overwritten, COUNT,                                                              \
		"blocks whose address was given out again: their free was not seen")               \
	F(R, u64, lost, COUNT, "events lost")                                                      \
	F(R, u64, cgroup, CGROUP, "control group")                                                 \
	F(R, char[COMM_LEN], comm, NONE, "process name")                                           \
	F(R, u32[HEAP_SIZES], sizes, COUNT, "allocations by size: slot i is 2^(i-1) to 2^i bytes") \
	F(R, u64, old_ms, NONE,                                                                    \
		"from which age on, in ms, live blocks count as old; 0: ages were not looked at")  \
	F(R, u64, live_error_bytes, BYTES, "standard error of live_bytes; 0: exact")               \
	F(R, u64, peak_error_bytes, BYTES, "standard error of peak_bytes")                         \
	F(R, u64, error_bytes, BYTES, "standard error of bytes")                                   \
	F(R, u32, before, ID,                                                                      \
		"number of what it was before its exec, else of the one that started it; 0: none " \
		"known")                                                                           \
	F(R, u32, reserved, HIDDEN, "")
RECORD(heap_total, HEAP_TOTAL_FIELDS);

/* What one stack of a process allocated. Two threads that have the same new stack at the same time
 * may give it a number each: the sums of both are the stack's. */
#define HEAP_SITE_FIELDS(F, R)                                                           \
	F(R, u32, tgid, ID, "process")                                                   \
	F(R, u32, process, ID, "as in heap_total")                                       \
	F(R, u32, stack, STACK, "who allocated; 0: not known")                           \
	F(R, u32, max_life_ms, NONE, "longest life of a freed block, in ms")             \
	F(R, u64, allocations, COUNT, "blocks allocated")                                \
	F(R, u64, bytes, BYTES, "asked for")                                             \
	F(R, u64, frees, COUNT, "of these blocks, freed")                                \
	F(R, u64, temporary, COUNT, "as in heap_total")                                  \
	F(R, u64, moved, COUNT, "as in heap_total")                                      \
	F(R, u64, live_blocks, COUNT, "allocated and not freed")                         \
	F(R, u64, live_bytes, BYTES, "asked for these")                                  \
	F(R, u64, peak_blocks, COUNT, "live at the peak of the process")                 \
	F(R, u64, peak_bytes, BYTES, "asked for these")                                  \
	F(R, u64, slack_bytes, BYTES, "usable beyond what was asked for")                \
	F(R, u64, life_ms, NONE, "lives of the freed blocks, summed, in ms")             \
	F(R, u32, min_bytes, BYTES, "smallest allocation")                               \
	F(R, u32, max_bytes, BYTES, "largest allocation, at most 4 GiB - 1")             \
	F(R, u32, site, ID, "number of the stack in its program")                        \
	F(R, u32, oldest_ms, NONE, "age of the oldest live block, in ms")                \
	F(R, u64, old_blocks, COUNT, "old live blocks, see old_ms of heap_total")        \
	F(R, u64, old_bytes, BYTES, "asked for these")                                   \
	F(R, u32[HEAP_TIMES], ages, COUNT,                                               \
		"live blocks by age: slot 0 is below 1 ms, slot i is 2^(i-1) to 2^i ms") \
	F(R, u32[HEAP_TIMES], lives, COUNT, "freed blocks by life: the same slots")      \
	F(R, u64, live_error_bytes, BYTES, "standard error of live_bytes; 0: exact")     \
	F(R, u64, peak_error_bytes, BYTES, "standard error of peak_bytes")               \
	F(R, u64, error_bytes, BYTES, "standard error of bytes")
RECORD(heap_site, HEAP_SITE_FIELDS);

#define HEAP_THREAD_FIELDS(F, R)                                             \
	F(R, u32, tgid, ID, "process")                                       \
	F(R, u32, process, ID, "as in heap_total")                           \
	F(R, u32, tid, ID, "thread")                                         \
	F(R, u32, thread, ID, "number of the thread in its process")         \
	F(R, u64, allocations, COUNT, "blocks allocated")                    \
	F(R, u64, bytes, BYTES, "asked for")                                 \
	F(R, u64, frees, COUNT, "blocks freed, whoever allocated them")      \
	F(R, u64, freed_bytes, BYTES, "in these")                            \
	F(R, u64, temporary, COUNT, "as in heap_total")                      \
	F(R, u64, live_blocks, COUNT, "allocated by it and freed by nobody") \
	F(R, u64, live_bytes, BYTES, "asked for these")                      \
	F(R, char[COMM_LEN], comm, NONE, "thread name")
RECORD(heap_thread, HEAP_THREAD_FIELDS);

/* All processes together. */
#define HEAP_TOGETHER_RECORD_FIELDS(F, R)                                                        \
	F(R, u64, peak_bytes, BYTES,                                                             \
		"most live bytes of all processes at one time, as seen turn by turn, each some " \
		"ms")                                                                            \
	F(R, u64, peak_most_bytes, BYTES, "it was not above this")                               \
	F(R, u64, peak_ns, NS, "when that was seen")
RECORD(heap_together_record, HEAP_TOGETHER_RECORD_FIELDS);

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
#define HEAP_MAPPING_FIELDS(F, R)                                                              \
	F(R, u32, tgid, ID, "process")                                                         \
	F(R, u32, process, ID, "as in heap_total")                                             \
	F(R, u32, stack, STACK, "who mapped; 0: not known")                                    \
	F(R, u32, site, ID, "number of the stack in its program")                              \
	F(R, u32, kind, NONE,                                                                  \
		"1 private anonymous, 2 shared anonymous, 3 private of a file, 4 shared of a " \
		"file, 5 the break; 0: not known") /* enum heap_mapped_kind */                 \
	F(R, u32, reserved, HIDDEN, "")                                                        \
	F(R, u64, calls, COUNT, "mmap, mremap, brk and sbrk that mapped or moved")             \
	F(R, u64, failed, COUNT, "calls that failed, munmap's too")                            \
	F(R, u64, mapped_bytes, BYTES, "mapped, whole pages")                                  \
	F(R, u64, unmapped_bytes, BYTES, "of these, unmapped by whomever")                     \
	F(R, u64, live_bytes, BYTES, "mapped and not unmapped")                                \
	F(R, u64, peak_bytes, BYTES, "live when the process had most mapped by itself")
RECORD(heap_mapping, HEAP_MAPPING_FIELDS);

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
#define HEAP_MAPPED_FIELDS(F, R)                                                                   \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, process, ID, "as in heap_total")                                                 \
	F(R, u64, calls, COUNT, "as in heap_mapping")                                              \
	F(R, u64, failed, COUNT, "as in heap_mapping")                                             \
	F(R, u64, unmaps, COUNT, "munmap, and brk and sbrk that gave back")                        \
	F(R, u64, mapped_bytes, BYTES, "as in heap_mapping")                                       \
	F(R, u64, unmapped_bytes, BYTES, "as in heap_mapping")                                     \
	F(R, u64, live_bytes, BYTES, "as in heap_mapping")                                         \
	F(R, u64, peak_bytes, BYTES, "most live bytes")                                            \
	F(R, u64, peak_ns, NS, "when that was")                                                    \
	F(R, u64, unknown_bytes, BYTES,                                                            \
		"unmapped though not mapped by such a call: inherited, of libc, or nothing there") \
	F(R, u64, replaced_bytes, BYTES,                                                           \
		"of those unmapped, by a mapping in their place (MAP_FIXED)")
RECORD(heap_mapped, HEAP_MAPPED_FIELDS);

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
#define HEAP_RESIDENCE_FIELDS(F, R)                                                               \
	F(R, u32, tgid, ID, "process")                                                            \
	F(R, u32, process, ID, "as in heap_total")                                                \
	F(R, u32, stack, STACK, "who allocated or mapped; 0: not known, or nobody")               \
	F(R, u32, site, ID, "number of the stack in its program, or of the file")                 \
	F(R, u32, place, NONE,                                                                    \
		"1 heap blocks, 2 mapped by the program itself, 3 anonymous memory of allocator " \
		"and libc, 4 stack, 5 file, 6 shared memory, 7 hugetlb, 8 the kernel's, 9 in a "  \
		"mapping too large to be looked into, 10 not known") /* enum heap_place */        \
	F(R, u32, kind, NONE, "of place 2, as in heap_mapping")                                   \
	F(R, u64, minor, COUNT, "minor faults there")                                             \
	F(R, u64, major, COUNT, "major faults there")                                             \
	F(R, u64, resident_bytes, BYTES,                                                          \
		"in memory, at the look that found most since the interval began")                \
	F(R, u64, swapped_bytes, BYTES, "in swap then")                                           \
	F(R, u64, live_bytes, BYTES, "of places 1 and 2: allocated or mapped then")               \
	F(R, char[AGG_NAME_LEN], file, NONE, "of places 5 and 6: its name")
RECORD(heap_residence, HEAP_RESIDENCE_FIELDS);

/* The same of all of a process, and what the kernel says. */
#define HEAP_LOOKED_FIELDS(F, R)                                                        \
	F(R, u32, tgid, ID, "process")                                                  \
	F(R, u32, process, ID, "as in heap_total")                                      \
	F(R, u32, looks, COUNT, "looks at its memory")                                  \
	F(R, u32, reserved, HIDDEN, "")                                                 \
	F(R, u64, minor, COUNT, "minor faults")                                         \
	F(R, u64, major, COUNT, "major faults")                                         \
	F(R, u64, look_ns, NS, "the look that found most resident; 0: none")            \
	F(R, u64, rss_bytes, BYTES, "resident then, by smaps")                          \
	F(R, u64, beyond_bytes, BYTES, "of it in mappings too large to be looked into") \
	F(R, u64, last_ns, NS, "the last look")                                         \
	F(R, u64, hwm_bytes, BYTES, "VmHWM, when last read, then or later")             \
	F(R, u64, kernel_minor, COUNT, "minor faults by the kernel's count then")       \
	F(R, u64, kernel_major, COUNT, "major faults by the kernel's count then")       \
	F(R, u64, hwm_faults, COUNT, "minor + major when hwm_bytes was read; 0: not known")
RECORD(heap_looked, HEAP_LOOKED_FIELDS);

struct report;

/* Notes what a report on this process, attached to late, cannot know. tgid 0: nothing. */
void heap_attached_tell(struct report *r, u32 tgid);

#endif
