/* See segment_makers.h. */
#include "rules/segment_makers.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

#define REMOVED 32 /* in one command */

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

static bool is_left(const struct held *h, const struct held_segment *g, bool ended)
{
	return held_is_orphan(h, g) && !(ended && g->creator);
}

/* By their numbers: what came since is not touched. A creator that lives on may attach its own
 * again. */
void segments_remove_try(struct report *r, struct finding *x, const struct held *h, u64 n)
{
	_cleanup_str_ struct str ids = {};
	u64 told = 0, ended = 0, listed;
	const char *most;

	for (size_t i = 0; i < h->segments.n; i++)
		ended += is_left(h, groups_value(&h->segments, i), true);
	for (size_t i = 0; i < h->segments.n && told < REMOVED; i++) {
		const struct held_segment *g = groups_value(&h->segments, i);

		if (!is_left(h, g, ended))
			continue;
		str_addf(&ids, "%s-m" COMMAND_WORD_END "%llu", told ? COMMAND_WORD_END : "", g->id);
		told++;
	}
	listed = ended ? ended : n;
	most = told < listed ? report_text(r, " (the first %llu of them)", told) : "";
	if (!ended)
		finding_line(r, x->try_,
			"%s: end it first, unless it will attach %s again; then remove %s%s:",
			n == 1 ? "Its creator still runs" : "Their creators still run",
			n == 1 ? "it" : "them", n == 1 ? "it" : "them", most);
	else if (ended < n)
		finding_line(r, x->try_,
			"Remove those whose creator has ended%s, unless a program attaches them "
			"again; the creators of %llu more still run:",
			most, n - ended);
	else
		finding_line(r, x->try_, "%s%s, unless a program attaches %s again:",
			n == 1 ? "Its creator has ended. Remove it"
			       : "Their creators have ended. Remove them",
			most, n == 1 ? "it" : "them");
	finding_command(r, x->try_, str_get(&ids), "`ipcrm");
}
