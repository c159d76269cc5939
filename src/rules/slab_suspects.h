/*
 * Who makes objects of the kernel, where these grow: by what else a process got more of meanwhile,
 * or by the pages that it took. Each is a conclusion, never a count of what grew.
 */
#ifndef MEMWHY_RULES_SLAB_SUSPECTS_H
#define MEMWHY_RULES_SLAB_SUSPECTS_H

#include "base/groups.h"
#include "probes/pages/pages.h"
#include "rules/holdings.h"

#define SLAB_LARGE_PART 2 /* one in so many bytes: then it is these blocks that grew, or one has \
			   */

struct slab_makers {
	struct groups takers; /* tgid -> who takes memory on each CPU, how often */
	struct groups blocks; /* tgid -> u64: bytes that it took in large blocks */
	struct groups pages;  /* tgid -> pages that cannot be moved, and what it freed */
	struct pages_sampled sampled;
};

void slab_makers_init(struct slab_makers *m);
int slab_makers_feed(struct slab_makers *m, const struct rec *r);
void slab_makers_reset(struct slab_makers *m);
void slab_makers_free(struct slab_makers *m);

/* What a process did meanwhile that makes objects of the kernel. */
struct slab_suspect {
	u32 tgid; /* 0: nobody */
	u64 n;
	const char *what;
	bool bytes; /* n is in bytes */
	bool took;  /* it took as much, and may have given it back */
};

struct slab_suspect slab_suspect_find(
	const struct slab_makers *m, const struct held *h, double seconds);

/* Of the buffer arrays of its pipes (a held_amount). */
u64 slab_slots_bytes(const struct held_process *p);
/* Blocks that are in no cache; NULL: not known. */
const struct slab_usage *slab_large_find(const struct facts *f);

#endif
