/* Records into sums: of slab and pages alike, by the keys of --by. Private to the view. */
#ifndef MEMWHY_PROBES_LEAK_FEED_H
#define MEMWHY_PROBES_LEAK_FEED_H

#include "probes/leak/leak_heap.h"
#include "probes/leak/leak_tables.h"

struct leak_state {
	struct by_sums sums; /* struct leak_key -> struct leak_site */
	struct groups tasks; /* tgid, tid -> name and cgroup, which looks do not bear */
	struct leak_clock clock;
	struct leak_look objects, pages; /* the last look at each */
	struct slab_follow follow, follow_before;
	struct leak_caches caches;
	struct leak_memory memory;
	struct leak_heap heap; /* of programs, without --kernel */
	u64 page_bytes;
	bool scoped; /* not the whole machine */
};

void leak_feed_init(struct leak_state *v);
int leak_feed(struct leak_state *v, const struct rec *r);

#endif
