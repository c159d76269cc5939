/*
 * What the preload library and memwhy share: a file in memory (memfd) for each program that is
 * executed, with a ring of events for each of its threads. The program writes, memwhy reads, also
 * after the program's death. Included by both; knows neither.
 *
 * Whatever is in here may have been written by a program gone wild: the reader trusts nothing.
 */
#ifndef MEMWHY_TRACKER_RING_H
#define MEMWHY_TRACKER_RING_H

#include "base/filter_marks.h"
#include "base/types.h"

#define TRACK_MAGIC 0x6b63617274796877ULL /* "whytrack" */
#define TRACK_VERSION 6

/*
 * The variable that names the abstract socket at which a program asks for its file: the name, two
 * tokens, and how many seccomp filters memwhy has, with a colon between them. Everybody can see the
 * socket, and bind its name once memwhy has ended; only who inherits the environment knows the
 * tokens. So the program shows the first one, and takes a file only from who answers with the
 * second.
 */
#define TRACK_ENV "MEMWHY_TRACK"
#define TRACK_NAME_MAX 64
#define TRACK_TOKEN 32 /* hexadecimal digits */

struct track_tokens {
	char ask[TRACK_TOKEN], answer[TRACK_TOKEN];
};

#define TRACK_ENV_MAX (TRACK_NAME_MAX + 1 + 2 * TRACK_TOKEN + 1 + 11)

/* Comes with the file, and where memwhy has them with the marks of who has a seccomp filter
 * (base/filter_marks.h). */
struct track_answer {
	u64 version;
	char token[TRACK_TOKEN];
};

#define TRACK_PROCESSES 2048 /* an executed program and its forks, at one time */
#define TRACK_SLOTS 4096
#define TRACK_DEPTH 128 /* frames of a stack */

/*
 * Each slot has a small first ring of its own. A thread that finds it full is given a larger one
 * out of chunks that all share; it goes on there once memwhy has read all that is in the one it
 * leaves. All of it together is address space of every tracked program, so it is kept small.
 */
#define TRACK_ROOMY_SLOTS 512 /* with a first ring of TRACK_ROOMY_WORDS; the others' is small */
#define TRACK_ROOMY_WORDS (1U << 10)
#define TRACK_SMALL_WORDS (1U << 9)
#define TRACK_CHUNKS 176
#define TRACK_CHUNK_WORDS (1U << 13)
#define TRACK_GROWN_CHUNKS 8 /* of a large ring, where there are enough; else it is one chunk */

/*
 * A word of the ring is 0 until it was written, and again after it was read. The lowest three bits
 * of the first word of an event say what it is; in all words that follow they are 0, so that the
 * reader finds its way again behind an event whose writer never came back.
 *
 *   ALLOC, MOVED   address, then size, stack
 *   FREE, MOVE     address
 *   TIME           what is above the low bits of times (TRACK_TIME_LOW), from bit 3 on, and the
 *                  node of the CPU, plus one, from TRACK_NODE_SHIFT on
 *   STACK          number and depth, then a word a frame, innermost first
 *   EXTRA          what no other has room for: enum track_extra
 */
enum track_kind {
	TRACK_ALLOC = 1,
	TRACK_FREE,
	TRACK_MOVE,  /* realloc begins: its block is freed; MOVED or RESTORE follows */
	TRACK_MOVED, /* realloc has a block; without MOVE before it, it was given none */
	TRACK_TIME,
	TRACK_STACK,
	TRACK_EXTRA,
};

enum track_extra {
	TRACK_RESTORE = 1, /* realloc failed: the block that MOVE freed lives on */
	TRACK_SIZE,        /* size of the ALLOC or MOVED that follows */
	TRACK_MODULE,      /* code of a file: the number of words that follow, which are, << 3: its
			    * start, end, offset in the file, device, inode; then its path, seven
			    * bytes a word, << 8 */
	TRACK_MAPPING,     /* the address space changes: what (enum track_mapping) and what kind
			    * (enum track_mapped), with the time where events bear times; three
			    * words follow: address; size, << 3; stack, << 3 */
	TRACK_SLACK,       /* slack of the ALLOC or MOVED that follows */
};

/* Kinds of mappings; all are whole pages. */
enum track_mapping {
	TRACK_MAP = 1,     /* is mapped, in the place of whatever was there */
	TRACK_UNMAP,       /* munmap begins; TRACK_MAP_RESTORE follows where it fails */
	TRACK_MAP_MOVE,    /* mremap begins; TRACK_MAP_MOVED or TRACK_MAP_RESTORE follows */
	TRACK_MAP_MOVED,   /* what TRACK_MAP_MOVE took is here; more than that is new */
	TRACK_MAP_RESTORE, /* it failed: all is as it was before */
	TRACK_MAP_FAILED,  /* nothing was mapped */
};

enum track_mapped {
	TRACK_MAPPED_UNKNOWN,
	TRACK_MAPPED_ANONYMOUS, /* private */
	TRACK_MAPPED_SHARED,    /* anonymous */
	TRACK_MAPPED_FILE,      /* private */
	TRACK_MAPPED_FILE_SHARED,
	TRACK_MAPPED_BREAK, /* the program moved its break */
	TRACK_MAPPED_KINDS,
};

#define TRACK_MAPPING_WORDS 4
#define TRACK_MAPPED_SHIFT 4 /* in the value of a TRACK_MAPPING, below the time */
#define TRACK_PAGE 4096ULL

/* First word: kind, address >> 3, and where threads' events are to be ordered, low bits of the
 * time stamp counter. */
#define TRACK_KIND_MASK 7
#define TRACK_ADDRESS_BITS 48
#define TRACK_ADDRESS_MASK (((1ULL << TRACK_ADDRESS_BITS) - 1) & ~7ULL)
#define TRACK_TIME_SHIFT 2 /* a unit is 4 cycles: less than any hand-over between processors */
#define TRACK_TIME_LOW 16
#define TRACK_EARLY 512 /* units: so much too early may a time be, where not all are exact */
#define TRACK_NODE_SHIFT 54

/* Second word of an allocation. Slack is usable / 8 - size / 8. */
#define TRACK_STACK_SHIFT 3
#define TRACK_STACK_BITS 22
#define TRACK_SLACK_SHIFT 25
#define TRACK_SLACK_BITS 9
#define TRACK_SLACK_BIG ((1U << TRACK_SLACK_BITS) - 1) /* see TRACK_SLACK */
#define TRACK_SIZE_SHIFT 34
#define TRACK_SIZE_BITS 30
#define TRACK_SIZE_BIG ((1U << TRACK_SIZE_BITS) - 1) /* see TRACK_SIZE */

/* STACK and EXTRA: what, and a number, in the first word. */
#define TRACK_ARG_SHIFT 3
#define TRACK_ARG_BITS 8
#define TRACK_VALUE_SHIFT 11

#define TRACK_MASK(bits) ((1ULL << (bits)) - 1)

enum track_state { TRACK_UNUSED, TRACK_TAKING, TRACK_TAKEN };

/* Why nobody writes any more. */
enum track_off { TRACK_ON, TRACK_OFF_ENDED, TRACK_OFF_WAITED };

/* Where memwhy looks at the memory of processes: at its exit a process waits for the last look. */
enum track_leaving { TRACK_STAYS, TRACK_LEAVING, TRACK_LOOKED };

/* A process: the program after its exec, or a fork of it. */
struct track_process {
	u32 state;  /* enum track_state: set by the process, reset by memwhy */
	u32 pid;    /* as the process itself sees it */
	u32 parent; /* index of the process it is a fork of, plus one; 0: none */
	u32 missed; /* events for which there was no ring */
	u32 nested; /* it has a pid namespace of its own */
	u32 ppid;
	u32 leaving; /* enum track_leaving: set by the process, answered by memwhy */
	u32 reserved[9];
};

/* A thread. */
struct track_slot {
	u32 state;   /* set by the thread, reset by memwhy when it is gone */
	u32 process; /* index of its process */
	u32 tid;     /* 0: not known */
	u32 dropped; /* events for which the ring had no room in time */
	u32 full;    /* how often it had to wait for room */
	u32 turned;  /* the ring that it writes to: what `grown` was; or TRACK_STAYS */
	u64 reserved[5];
	u64 tail;  /* words read so far: by memwhy, in a cache line of its own */
	u32 grown; /* by memwhy: the ring to go on in, see track_grown(); 0: the first one */
	u32 reserved_more;
	u64 reserved_too[6];
};

/* The thread does not take the ring that it was given. */
#define TRACK_STAYS (~0U)

struct track_head {
	u64 magic;
	u32 version;
	u32 off;     /* enum track_off */
	u32 wait_ms; /* how long to wait for the reader when it stands still; 0: never */
	u32 reserved;
	u64 sample_bytes;     /* 0: every allocation */
	u32 heartbeat;        /* counts up while the reader lives */
	u32 slots;            /* slots ever used: those to look at */
	u32 next_stack;       /* number of the next stack; 0 means none */
	u32 missed_processes; /* forks for which there was no room */
	u32 timed;            /* events bear times also while there is one thread, exact ones */
	u32 looks;            /* see track_leaving */
	u64 huge_bytes;       /* of a page with MAP_HUGETLB, unless its flags say another size */
	u64 least_bytes;      /* of blocks that are reported; 0: all are */
	struct filter_at filters;
	struct track_process processes[TRACK_PROCESSES];
	struct track_slot slot[TRACK_SLOTS];
};

/* A ring of n chunks. */
static inline u32 track_grown(u32 chunk, u32 n)
{
	return n << 16 | (chunk + 1);
}

static inline u32 track_grown_chunk(u32 grown)
{
	return (grown & 0xffff) - 1;
}

static inline u32 track_grown_n(u32 grown)
{
	return grown >> 16;
}

static inline u64 track_words(u32 slot, u32 grown)
{
	if (grown)
		return track_grown_n(grown) * (u64)TRACK_CHUNK_WORDS;
	return slot < TRACK_ROOMY_SLOTS ? TRACK_ROOMY_WORDS : TRACK_SMALL_WORDS;
}

#define TRACK_HEAD_BYTES ((sizeof(struct track_head) + 4095) & ~4095ULL)
#define TRACK_ROOMY_BYTES (8ULL * TRACK_ROOMY_SLOTS * TRACK_ROOMY_WORDS)
#define TRACK_SMALL_BYTES (8ULL * (TRACK_SLOTS - TRACK_ROOMY_SLOTS) * TRACK_SMALL_WORDS)
#define TRACK_CHUNK_BYTES (8ULL * TRACK_CHUNK_WORDS)
#define TRACK_POOL_OFFSET (TRACK_HEAD_BYTES + TRACK_ROOMY_BYTES + TRACK_SMALL_BYTES)
#define TRACK_FILE_BYTES (TRACK_POOL_OFFSET + TRACK_CHUNKS * TRACK_CHUNK_BYTES)

/* Where a slot's first ring begins in the file; of TRACK_SLOTS: where all of them end. */
static inline u64 track_first_offset(u32 slot)
{
	u64 roomy = slot < TRACK_ROOMY_SLOTS ? slot : TRACK_ROOMY_SLOTS, small = slot - roomy;

	return TRACK_HEAD_BYTES + 8 * (roomy * TRACK_ROOMY_WORDS + small * TRACK_SMALL_WORDS);
}

static inline u64 track_ring_offset(u32 slot, u32 grown)
{
	return grown ? TRACK_POOL_OFFSET + track_grown_chunk(grown) * TRACK_CHUNK_BYTES
		     : track_first_offset(slot);
}

/* With a lower limit on its address space (RLIMIT_AS) a program needs what it has for itself. */
#define TRACK_SPACE_LEAST (128ULL << 20)

/* What is stated to users, in heap_texts.c and docs/internals/heap.md. */
_Static_assert(TRACK_FILE_BYTES < 30 << 20, "address space of a tracked program");

#endif
