/* What the walk over user stacks in BPF (unwind.bpf.h) and its loader (capture/unwind/unwind.h)
 * agree on.
 */
#ifndef MEMWHY_BPF_UNWIND_H
#define MEMWHY_BPF_UNWIND_H

#include "bpf/shared.h"
#include "cfi/step.h"

/* Pages are large, since adding one waits until no BPF program runs that may have seen the map as
 * it was before (14 ms where measured). */
#define UNWIND_PAGE_WORDS 262144
#define UNWIND_PAGES_MAX 256 /* of 1 MiB */
#define UNWIND_RULES_MAX 65536
#define UNWIND_MAPPINGS_MAX 65536 /* of all processes */
#define UNWIND_PROCESSES_MAX 8192
#define UNWIND_ASKS_BYTES 16384
#define UNWIND_KNOWN_MAX 4096 /* files */
#define UNWIND_COPIES_BYTES (1U << 20)
/* How much of a stack is copied: enough for 99 of 100 (docs/measurements.md); a per-CPU value is
 * limited to 32 KiB. */
#define UNWIND_COPY_BYTES 24576
#define UNWIND_COPY_CHUNK 2048
#define UNWIND_COPY_REST 256 /* where the next chunk is not there */
#define UNWIND_SEGMENTS 2    /* with code, of one file */
#define UNWIND_VMAS 64       /* with code, of a process that nobody has looked at */

/* Code of a process, and where its table is (cfi/blocks.h). */
struct unwind_mapping {
	u64 start;
	u64 end;
	u64 bias;   /* the table has an instruction at ip - bias */
	u64 file;   /* … and the file at ip - file */
	u32 index;  /* number of the word */
	u32 blocks; /* 0: there is no table */
	u32 rows;   /* number of the word that row 0 is; without a table, UNWIND_NO_FILE or 0 */
	u32 table;  /* number by which the loader knows it; 0: there is none */
	u32 module; /* the same of the file, see STACK_PLACE; 0: it is none */
	u32 reserved;
};

#define UNWIND_NO_FILE 1 /* code made at run time */

/* A file that has a table, as the kernel has it in a mapping's inode. */
struct unwind_file_key {
	u64 dev; /* as in super_block.s_dev */
	u64 ino;
	u64 size;
	u64 mtime_ns;
};

struct unwind_file {
	struct {
		u64 offset, size;
		u64 to; /* the table has the byte at an offset of the file at offset + to */
	} segments[UNWIND_SEGMENTS];
	u32 index, blocks, rows; /* as in struct unwind_mapping */
	u32 module;              /* … too */
	u32 generation;          /* under the key of no file, all zeroes: another one whenever files
				    are shown or hidden, so that nobody keeps what they were */
	u32 reserved;
};

/*
 * What is known of a process, by its id; and once more by what its address space was born as, for
 * children that nobody has looked at yet (unwind_identity).
 */
struct unwind_process {
	u64 identity; /* of the program that it is for: an exec makes it void */
	u32 first;    /* of its mappings, which are sorted by address */
	u32 n;        /* 0: there are none */
	u8 state;     /* enum unwind_state */
	u8 asked;     /* to look again, as code was met that is in no mapping */
	u8 reserved[6];
};

enum unwind_state {
	UNWIND_WAITING, /* user space was asked */
	UNWIND_READY,
	UNWIND_NO_ROOM, /* for its mappings */
};

#define UNWIND_BY_IDENTITY (1ULL << 63)

/* Tells address spaces apart: forks have their parent's, an exec makes another, by chance that the
 * kernel puts there for security. All three are in /proc/PID/stat too. */
static inline __attribute__((always_inline, unused)) u64 unwind_identity(
	u64 end_code, u64 start_stack, u64 start_brk)
{
	u64 id = (end_code * 0x9e3779b97f4a7c15 ^ start_stack) * 0xbf58476d1ce4e5b9 ^ start_brk;

	return (id ^ id >> 31) | UNWIND_BY_IDENTITY;
}

/* In the ring of asks. */
struct unwind_ask {
	u64 identity; /* which may be all that is left of it when it is looked at */
	u32 tgid;
	u32 again; /* it has a table */
};

/*
 * In the ring of copies: a stack that came before the tables of its code, and what it takes to walk
 * it when they are there (capture/unwind/unwind_late.h). In user_stacks it is until then what frame
 * pointers told, under a key that no other stack has.
 */
struct unwind_copy {
	u64 identity;                /* of the address space */
	u32 stack;                   /* id */
	u16 had;                     /* frames, by frame pointers */
	u16 n;                       /* bytes of the stack */
	u64 regs[21];                /* struct pt_regs (asm/ptrace.h) */
	u8 bytes[UNWIND_COPY_BYTES]; /* from the stack pointer on; cut behind n */
};

#define UNWIND_REGS_IP 16
#define UNWIND_REGS_SP 19

struct unwind_page {
	u32 words[UNWIND_PAGE_WORDS];
};

/* Per CPU, summed by the loader: stacks by how they were had. */
#define UNWIND_METHODS 4 /* at least STACK_METHODS */
#define UNWIND_DETAILS 16

struct unwind_counts {
	u64 stacks[UNWIND_METHODS][UNWIND_DETAILS];
};

/* Words of the stack that are read at once, and how many of them below the one that is wanted. */
#define UNWIND_WINDOW 32
#define UNWIND_BELOW 7

#define UNWIND_NODE_WORDS 32 /* of a maple tree */

enum unwind_by_file {
	UNWIND_NOT_BY_FILE,
	UNWIND_BY_NOTE, /* the process's mappings were looked at, all of them */
	UNWIND_BY_TREE, /* each is looked up */
};

/* A walk, per CPU. */
struct unwind_walk {
	struct cfi_regs regs;
	struct unwind_mapping mapping;
	u64 window_start;
	u64 window[UNWIND_WINDOW]; /* of the stack */
	u64 user_regs;             /* address of the thread's struct pt_regs */
	u32 first, n_mappings;
	u32 guessed; /* frames found by frame pointer */
	u32 busy;
	u32 copies; /* made */
	u32 zero;   /* always */
	u32 rule;   /* number of that of the frame; 0: it has none */
	u8 by_file; /* enum unwind_by_file: how its mappings are found */
	u8 unknown; /* … and one of them had no table */
	u8 later;   /* code was met that is mapped since the process was looked at */
	u8 reserved;
	u64 vma;                     /* the one found last */
	struct unwind_file_key key;  /* of its file: here, as the stack has no room for it */
	u64 node[UNWIND_NODE_WORDS]; /* of the kernel's tree of them */
	/* Those noted: */
	u32 n_vmas;
	u64 noted_mm; /* whose they are: its struct mm_struct; 0: nobody's */
	u64 noted_identity;
	u32 noted_seq;   /* of its mappings, see mm_seq */
	u32 noted_known; /* generation of the files that are known */
	struct unwind_mapping vmas[UNWIND_VMAS];
	struct user_stack stack;
};

#endif
