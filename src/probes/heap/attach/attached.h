/*
 * The heap of running processes, observed by probes on their allocator: what the BPF programs and
 * the probe agree on. Its results are the records of heap.h.
 */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_ATTACHED_H
#define MEMWHY_PROBES_HEAP_ATTACH_ATTACHED_H

#include "probes/heap/heap.h"

/* What a function of an allocator takes. What gives a block returns its address, but for
 * CALLS_POSIX. */
enum heap_calls {
	CALLS_SIZE,         /* malloc(size) */
	CALLS_NEW,          /* the same: operator new, which may call malloc */
	CALLS_ARRAY,        /* calloc(n, size) */
	CALLS_RESIZE,       /* realloc(block, size) */
	CALLS_RESIZE_ARRAY, /* reallocarray(block, n, size) */
	CALLS_ALIGNED,      /* aligned_alloc(alignment, size) */
	CALLS_POSIX,        /* posix_memalign(&block, alignment, size) */
	CALLS_FREE,         /* free(block) */
	CALLS_N,
};

#define HEAP_ATTACHED_MAX 64 /* processes */

/* Cookie of a session: enum heap_calls, the process, and, with HEAP_COOKIE_MOVED, where in struct
 * pt_regs each of the three arguments is, in words. */
#define HEAP_COOKIE(process_, calls_) ((u64)(process_) << 8 | (calls_))
#define HEAP_COOKIE_MOVED (1ULL << 63)
#define HEAP_COOKIE_WORD_SHIFT(argument_) (40 + 5 * (argument_))
#define HEAP_COOKIE_WORD_MASK 31

/* Sampling: see heap_sample.bpf.h. */
#define HEAP_GAPS 1024
#define HEAP_GAP_SHIFT 20
#define HEAP_WEIGHTS 256
#define HEAP_WEIGHT_STEPS 16 /* to one sample_bytes */
#define HEAP_WEIGHT_SHIFT 16

struct heap_config {
	u64 sample_bytes; /* 0: all */
	u8 several;       /* processes: look up which one it is */
	u8 error_shift;   /* the two factors of variances are so many bits smaller */
	u8 never;         /* see stack_of_task */
	u8 reserved[5];
	u32 gaps[HEAP_GAPS];
	u32 weights[HEAP_WEIGHTS + 1];
	u32 reserved2;
};

/* A process, by number. */
struct heap_process_now {
	u32 number;
	u32 reserved;
	u32 on;       /* count; before and after, nothing is */
	u32 awaits;   /* its exec: it begins then */
	u64 begun_ns; /* that exec */
	u64 ended_ns; /* another exec, or the last exit of a thread */
	u64 replaced; /* it was an exec */
	u64 forks;    /* children, which are not followed */
	u64 live_blocks, live_bytes;
	u64 peak_blocks, peak_bytes, peak_ns;
	u64 peak;     /* number of it, see struct account */
	u64 failed;   /* allocations that got nothing */
	u64 untold;   /* calls whose return or beginning was not seen */
	u64 unlisted; /* frees of others' blocks that are not in whose sums they should be */
	u64 mixed;    /* threads that ended and could not be told apart */
	u64 sizes[HEAP_SIZES];
};

struct heap_site_key {
	u32 process;
	u32 stack; /* of a stack map; or: */
};

#define HEAP_STACK_NONE 0             /* it could not be kept */
#define HEAP_STACK_EARLIER 0xffffffff /* no stack: frees of blocks not seen allocated */

struct heap_site_now {
	u64 events; /* allocations and frees, each one whatever it stands for */
	u64 allocations, bytes, frees, freed_bytes;
	u64 gone, gone_bytes; /* of the blocks: address given out again, so freed unseen */
	u64 temporary, moved;
	u64 variance, freed_variance; /* of bytes, of freed_bytes; see block_variance */
	u64 life_ms;
	u32 lives[HEAP_TIMES];
	/* These are no sums: */
	u64 peak; /* number of the peak that these two belong to */
	u64 peak_blocks, peak_bytes, peak_variance;
	u32 max_life_ms;
	u32 min_bytes, max_bytes;
	u32 reserved;
};

/* A live block, by its address and its process. */
#define HEAP_BLOCK_KEY(process_, address_) ((u64)(process_) << 48 ^ (address_))

struct heap_block {
	struct heap_site_key site;
	u64 size;
	u64 time_ns;
	u64 thread; /* id of who allocated it */
	u32 event;  /* number of the allocation in its thread */
	u32 weight; /* how many blocks it stands for */
};

/* What a thread did. */
struct heap_thread_sums {
	u64 allocations, bytes, frees, freed_bytes, temporary;
	u64 own_blocks, own_bytes; /* of its frees: those that it had allocated itself */
	u32 process;
	u32 tgid;
	char comm[COMM_LEN];
};

/* Blocks of a thread that others freed, also after its end. */
struct heap_thread_gone {
	u64 blocks, bytes;
};

/* Id of a thread: its tid, and when it was first seen, since the kernel gives a tid again. Below
 * HEAP_ATTACHED_MAX: all those of a process for which there was no room as they ended. */
#define HEAP_THREAD_ID(tid_, ns_) ((u64)(tid_) << 32 | (u32)((ns_) >> 20))

/* A thread, and the call it is in. */
struct heap_thread_now {
	u64 sp; /* at the beginning of the outermost call under way; 0: none */
	u64 ip;
	u64 size;
	u64 where;  /* CALLS_POSIX: of the address; realloc: the block */
	u32 calls;  /* enum heap_calls */
	u32 weight; /* 0: not sampled */
	struct heap_block
		moved; /* realloc's, taken from the live ones; weight 0: it was not there */
	s64 until_sample;
	u64 freed; /* last */
	u64 id;
	u32 events;
	u32 reserved;
	struct heap_thread_sums sums;
};

#endif
