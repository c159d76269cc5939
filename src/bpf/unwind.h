/* What the walk over user stacks in BPF (unwind.bpf.h) and its loader agree on. */
#ifndef MEMWHY_BPF_UNWIND_H
#define MEMWHY_BPF_UNWIND_H

#include "cfi/step.h"

/* Pages are large, since adding one waits until no BPF program runs that may have seen the map as
 * it was before (14 ms where measured). */
#define UNWIND_PAGE_WORDS 262144
#define UNWIND_PAGES_MAX 256 /* of 1 MiB */
#define UNWIND_RULES_MAX 65536
#define UNWIND_MAPPINGS_MAX 256
#define UNWIND_DEPTH_MAX 127

/* Code of a process, and where its table is (cfi/blocks.h). */
struct unwind_mapping {
	u64 start;
	u64 end;
	u64 bias;   /* the table has an instruction at ip - bias */
	u32 index;  /* number of the word */
	u32 blocks; /* 0: there is no table */
	u32 rows;   /* number of the word that row 0 is */
	u32 reserved;
};

struct unwind_process {
	u32 n;
	u32 reserved;
	struct unwind_mapping mappings[UNWIND_MAPPINGS_MAX]; /* by address */
};

struct unwind_page {
	u32 words[UNWIND_PAGE_WORDS];
};

/* Words of the stack that are read at once, and how many of them below the one that is wanted. */
#define UNWIND_WINDOW 32
#define UNWIND_BELOW 7

/* A walk, per CPU. */
struct unwind_walk {
	struct cfi_regs regs;
	struct unwind_mapping mapping;
	u64 window_start;
	u64 window[UNWIND_WINDOW]; /* of the stack */
	u32 process;
	u32 stop;    /* enum cfi_stop */
	u32 n;       /* frames */
	u32 guessed; /* frames found by frame pointer */
	u32 busy;
	u32 zero; /* always */
	u64 ips[UNWIND_DEPTH_MAX + 1];
};

#endif
