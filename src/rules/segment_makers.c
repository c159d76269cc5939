/* See segment_makers.h. */
#include "rules/segment_makers.h"

#include <errno.h>
#include <string.h>

int segment_makers_feed(struct groups *comms, const struct faults_agg *r)
{
	char *comm = groups_get(comms, &r->tgid);

	if (!comm)
		return -ENOMEM;
	memcpy(comm, r->comm, COMM_LEN - 1);
	return 0;
}

/* The name of who made a segment that is new since the look began; NULL: not new, or not known. */
static const char *maker_of(const struct report *r, const struct held *h,
	const struct groups *comms, const struct held_segment *g)
{
	if (!held_is_orphan(h, g) || (double)g->idle_ns >= report_seconds(r) * 1e9)
		return NULL;
	return groups_find(comms, &g->creator_tgid);
}

/* The program that made most of those, though its processes have ended: their page faults were
 * seen, some before they got their name by exec(). NULL: not known, or several. */
const char *segment_makers(
	const struct report *r, const struct held *h, const struct groups *comms, u32 *ret_n)
{
	const struct groups *all = &h->segments;
	const char *name = NULL, *maker;
	u32 lead = 0, n = 0;

	for (size_t i = 0; i < all->n; i++) { /* who has the majority, if anybody has */
		maker = maker_of(r, h, comms, groups_value(all, i));
		if (!maker)
			continue;
		n++;
		if (!lead)
			name = maker;
		lead = strcmp(name, maker) ? lead - 1 : lead + 1;
	}
	*ret_n = 0;
	for (size_t i = 0; i < all->n && name; i++) {
		maker = maker_of(r, h, comms, groups_value(all, i));
		*ret_n += maker && !strcmp(name, maker);
	}
	return *ret_n * 2 > n ? name : NULL;
}
