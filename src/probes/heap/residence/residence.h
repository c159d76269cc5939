/*
 * Who asked for the memory of a process that is there: its page faults and, of a look now and then,
 * its resident bytes, by the stack that allocated or mapped them, or by what else the memory is
 * (enum heap_place). Fed by block_lookup.h; knows no rings and no names of stacks.
 *
 * Bytes of a block count as resident where their page is. So a page that blocks of several sites
 * share is split by bytes, and what no live block has of it is the allocator's.
 */
#ifndef MEMWHY_PROBES_HEAP_RESIDENCE_H
#define MEMWHY_PROBES_HEAP_RESIDENCE_H

#include "base/groups.h"
#include "base/vec.h"
#include "probes/heap/account/account.h"
#include "probes/heap/account/mappings.h"
#include "probes/heap/heap.h"
#include "sys/process/maps.h"

/* Names of files, as many processes have the same. */
struct residence_names {
	VEC(char *) list;
};

struct residence_key {
	u32 what; /* enum heap_place */
	u32 id;   /* number of a stack in its program; of a name, plus one; 0: none */
	u32 kind; /* of HEAP_PLACE_MAPPED: enum track_mapped */
};

struct residence_sums {
	u64 minor, major;
	u64 resident, swapped, live; /* at the look that is kept */
	bool changed;                /* since it was last sent */
};

/* What /proc said at the look that is kept: the one that found most resident. */
struct residence_look {
	u64 time_ns;
	u64 rss, beyond; /* beyond: of rss, in mappings too large to be looked into */
};

struct residence {
	struct residence_names *names;  /* borrowed */
	struct groups sums;             /* residence_key -> residence_sums */
	struct groups stacks;           /* tid -> u64: its stack pointer at its last fault */
	struct maps maps;               /* as last read */
	VEC(struct residence_key) keys; /* of these */
	u64 maps_ns;
	u64 minor, major;
	struct residence_look look;
	u32 looks;
	u64 next_ms, again_ms;                   /* of looks: where there is more, or as much */
	u64 last_ns, kernel_minor, kernel_major; /* of the last one, as /proc says */
	u64 check_ms;                            /* when the kernel's peak is read again */
	u64 hwm, hwm_faults;                     /* it was that, when so many faults were counted */
	bool leaving;                            /* it waits for the last look */
	bool again;                              /* the next look is kept whatever it finds */
};

void residence_names_free(struct residence_names *n);
struct residence *residence_new(struct residence_names *names);
void residence_free(struct residence *r);

/* Counts a fault. 0 or -ENOMEM. */
int residence_count(struct residence *r, const struct residence_key *k, bool major);
/* One that was counted there is of blocks of this stack. */
int residence_adopt(struct residence *r, const struct residence_key *from, u32 stack, bool major);
/* A thread's stack is where its stack pointer is. */
int residence_stack(struct residence *r, u32 tid, u64 sp);
/* What the process mapped itself: a range of its mappings. */
struct residence_key residence_mapped(const struct mappings *m, const struct range *r);
/* What an address is that is in no block and in nothing the process mapped itself. parent: NULL, or
 * the process it is a fork of. pid: 0 where /proc is not to be asked again. time_ns: when
 * it was seen. */
struct residence_key residence_place(struct residence *r, const struct residence *parent, u32 pid,
	u64 address, u64 sp, u64 time_ns);
/* Reads the mappings, where the process is there. */
int residence_read(struct residence *r, u32 pid);

/* Is it time to look, and is there anything new to be seen? every_ms: how often the kernel is asked
 * for its peak, at most. */
bool residence_due(struct residence *r, u32 pid, u64 now_ms, u64 every_ms);
/* It waits to be looked at: now. */
void residence_hurry(struct residence *r);
/* Looks at what is resident; 0 also where the process is gone by now. */
int residence_look(struct residence *r, u32 pid, const struct account *a, const struct mappings *m);

/* Private to its parts: takes the mappings over, as they were read. */
int residence_maps(struct residence *r, struct maps *maps, u64 time_ns);
const struct residence_key *residence_key_of(const struct residence *r, const struct mapping *m);
bool residence_is_stack(const struct residence *r, const struct mapping *m);

#endif
