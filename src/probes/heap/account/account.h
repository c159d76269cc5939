/*
 * The account of one process's heap: each live block, and sums by the stack that allocated it. Fed
 * one event after the other, in their order. Knows neither rings nor names.
 *
 * What was live at the peak is known exactly without looking twice: the peak has a number, which
 * rises with each new peak. A site keeps what it held at the peak, and brings that up to date when
 * it is about to change for the first time after a new one.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_H

#include "base/vec.h"
#include "probes/heap/account/live_blocks.h"
#include "probes/heap/account/owners.h"

#define ACCOUNT_SIZES 40 /* slots of the histogram, as in analysis/hist.h */
#define ACCOUNT_TIMES 20 /* the same, of ms; the last has no end */

/* The variance of estimates, in bytes squared: see account_variance_of(). */
struct account_variance {
	double live, peak, bytes;
};

/* What one stack allocated. */
struct account_site {
	u64 live_blocks, live_bytes;
	u64 allocations, bytes; /* ever; realloc's blocks are allocations too */
	u64 frees;
	u32 stack;                   /* number of the stack; 0: not known */
	u32 peak;                    /* number of the peak that peak_blocks belongs to */
	u64 peak_blocks, peak_bytes; /* see account_settle() */
	u64 slack;                   /* usable beyond what was asked for, of all allocations */
	u64 life_ms;                 /* of the freed blocks, summed */
	u64 moved;                   /* of the allocations, by realloc of a block there was */
	u64 temporary;               /* of the frees: before the same thread's next allocation */
	u32 life_max_ms;
	u32 min, max;             /* sizes; max saturates */
	bool changed;             /* since it was last sent */
	u32 owner, owner_thread;  /* the last one's number plus one, and its thread */
	u32 lives[ACCOUNT_TIMES]; /* freed blocks by life, saturated; those of slot 0 are the rest
				   */
	struct account_variance variance;
};

/* The live blocks of a site at some time. */
struct account_age {
	u64 old_blocks, old_bytes;
	u32 oldest_ms;
	u32 blocks[ACCOUNT_TIMES]; /* by age, saturated */
};

struct account_thread {
	u32 tid;
	u64 events; /* allocations seen */
	u64 allocations, bytes, frees, freed_bytes, temporary;
	u64 live_bytes, live_blocks; /* allocated by it, freed by nobody */
	u64 last;                    /* address of its last allocation */
};

struct account {
	struct live live;
	struct live big; /* sizes that have no room there */
	VEC(struct account_site) sites;
	struct owners owners;
	VEC(struct account_age) ages; /* of the sites there were at the last look */
	u64 old_ms;                   /* what counted as old then; 0: there was no look */
	VEC(struct account_thread) threads;
	u32 *site_of; /* by number of stack: index in sites plus one */
	u32 n_site_of;
	u32 peak; /* number of the peak */
	u64 live_bytes, live_blocks;
	u64 peak_bytes, peak_blocks;
	u64 peak_ms;
	u64 high_bytes; /* most live bytes since it was last set to live_bytes */
	u64 allocations, bytes, frees, temporary, moved;
	u64 unknown_frees; /* of blocks it never saw: from before, or inherited */
	u64 overwritten;   /* live blocks whose address was given out again: their free was not seen
			    */
	u64 sizes[ACCOUNT_SIZES];
	u64 sample_bytes; /* 0: every allocation is seen; else see account_weight() */
	u32 *beat;        /* counted up during what takes long, for who waits; may be NULL */
	struct account_variance variance;
};

/* What the free of a block was about, to undo it. */
struct account_moved {
	u64 address, size;
	u64 begin_ms;
	u32 owner;
	bool counted, temporary; /* there was a block; its free counted as temporary */
	u32 life_ms;
};

/*
 * Sampled by bytes, an allocation of `size` is seen with probability 1 - exp(-size / sample_bytes),
 * so it stands for the reciprocal of that many. That is rounded up or down at random, but always
 * the same for a block: so sums are whole, right on average, and come out even when it is freed.
 */
u64 account_weight(const struct account *a, u64 address, u64 size);
/*
 * What a block adds to the variance of a sum of bytes: size^2 w (w - 1), with the weight w before
 * it is rounded (Horvitz and Thompson, for draws that do not depend on each other); rounding adds a
 * little, which is left out.
 */
double account_variance_of(const struct account *a, u64 size);

#define ACCOUNT_MS_MAX ((1ULL << 40) - 1)

/* thread: an index in threads. now_ms: at most ACCOUNT_MS_MAX, as a block has no more room for it.
 * -ENOMEM: it is not in the account. */
int account_alloc(struct account *a, u32 thread, u64 address, u64 size, u64 slack, u32 stack,
	bool moved, u64 now_ms);
/* ret_moved may be NULL. */
void account_free(
	struct account *a, u32 thread, u64 address, u64 now_ms, struct account_moved *ret_moved);
/* The address is about to be given out again, though no free of its block was seen; account_alloc()
 * does the same by itself. */
void account_overwrite(struct account *a, u64 address);
/* As if it had not been freed. */
int account_restore(struct account *a, u32 thread, const struct account_moved *moved);
/* A live block, as others see it. */
struct account_view {
	u64 address, bytes;
	u64 begin_ms;
	u32 thread; /* that allocated it: index in threads */
	u32 stack;
};

/* The live block that begins at an address. */
bool account_find(const struct account *a, u64 address, struct account_view *ret);
/* The live block of at most ACCOUNT_SMALL bytes that an address is in. */
#define ACCOUNT_SMALL 4096U
bool account_around(const struct account *a, u64 address, struct account_view *ret);
/* Each live block, in no order. */
void account_each(const struct account *a,
	void (*take)(void *arg, u64 address, u64 bytes, u32 stack), void *arg);
/* What the free was about that may be undone; false: no block. */
bool account_moved_block(
	const struct account *a, const struct account_moved *m, struct account_view *ret);
/* Index of a new thread; -ENOMEM. */
int account_thread(struct account *a, u32 tid, u32 *ret);
/* Brings peak_blocks and peak_bytes of a site up to the last peak. */
void account_settle(const struct account *a, struct account_site *s);
void account_settle_all(struct account *a);
/* Looks at the ages of all live blocks. old_ms, above 0: what counts as old. */
int account_look(struct account *a, u64 now_ms, u64 old_ms);
/* What it takes of memory. */
u64 account_bytes(const struct account *a);
/* Only the sums are wanted from here on. */
void account_forget_blocks(struct account *a);
void account_free_all(struct account *a);

/* Is there a live block at this address? */
static inline bool account_has(const struct account *a, u64 address)
{
	return live_find(&a->live, address);
}

#endif
