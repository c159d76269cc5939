/*
 * The account of what a process mapped by itself: each range, and sums by the stack that mapped it
 * and the kind of mapping. Fed one event after the other, in their order. Bytes belong to who
 * mapped them, also where mremap moved them; what it adds belongs to who called it.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_MAPPINGS_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_MAPPINGS_H

#include "base/groups.h"
#include "base/vec.h"
#include "objects/ranges.h"

struct mapping_site_key {
	u32 stack; /* number of the stack; 0: not known */
	u32 kind;  /* enum track_mapped */
};

struct mapping_site {
	u32 index;
	u32 peak;          /* number of the peak that peak_bytes belongs to, see account.h */
	u64 calls, failed; /* that mapped; that failed, munmap's too */
	u64 mapped, unmapped, live, peak_bytes;
	bool changed; /* since it was last sent */
};

struct mappings {
	struct ranges ranges; /* their values: index of the site */
	struct groups sites;
	u32 peak;                  /* number of the peak */
	u64 calls, failed, unmaps; /* unmaps: those that did not fail */
	u64 mapped, unmapped, live;
	u64 peak_bytes, peak_ms;
	u64 unknown;  /* bytes unmapped that were not known to be mapped */
	u64 replaced; /* of those unmapped: something was mapped in their place */
};

/* What an unmap or a move took away, in order. */
struct mapping_taken {
	u64 address, bytes;
	u64 unknown;
	bool moving; /* a move took it */
	VEC(struct range) v;
};

/* Each of these: 0, -ENOMEM, or -EINVAL: there is no such range, nothing was done. */
int mappings_map(struct mappings *m, u32 stack, u32 kind, u64 address, u64 bytes, u64 now_ms);
/* Replaces what *taken held. */
int mappings_unmap(
	struct mappings *m, u64 address, u64 bytes, bool moving, struct mapping_taken *taken);
/* What was taken away is here now. */
int mappings_moved(struct mappings *m, u32 stack, u64 address, u64 bytes,
	struct mapping_taken *taken, u64 now_ms);
/* What was taken away is where it was: the call of this stack failed. */
int mappings_restore(struct mappings *m, u32 stack, u64 address, u64 bytes,
	struct mapping_taken *taken, u64 now_ms);
int mappings_failed(struct mappings *m, u32 stack, u32 kind);
/* Brings peak_bytes of a site up to the last peak. */
void mappings_settle(const struct mappings *m, struct mapping_site *s);
/* Only the sums are wanted from here on. */
void mappings_forget(struct mappings *m);
void mappings_free(struct mappings *m);

#endif
