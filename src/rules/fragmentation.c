/* Free memory that is there but in pieces too small: external fragmentation. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/frag/frag.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/memory/extfrag.h"

#define ORDER 3         /* PAGE_ALLOC_COSTLY_ORDER: above it the kernel gives up sooner */
#define SEVERE_RATE 1.0 /* events a second that make it more than an accident */

struct zone_key {
	u32 node;
	char zone[FRAG_ZONE_NAME];
};

struct state {
	struct facts facts;
	struct groups zones;  /* zone_key -> last struct frag_zone */
	struct groups causes; /* tgid -> severe events */
	u32 pageblock_order;
	u64 severe, mild;
};

static int fragmentation_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	s->pageblock_order = 9;
	facts_init(&s->facts);
	groups_init(&s->zones, sizeof(struct zone_key), sizeof(struct frag_zone));
	groups_init(&s->causes, sizeof(u32), sizeof(u64));
	return 0;
}

static int fragmentation_zone_feed(struct state *s, const struct frag_zone *z)
{
	struct zone_key key = {.node = z->node};
	struct frag_zone *last;

	memcpy(key.zone, z->zone, sizeof(key.zone) - 1);
	last = groups_get(&s->zones, &key);
	if (!last)
		return -ENOMEM;
	*last = *z;
	return 0;
}

/* Severe: a block smaller than a pageblock was taken from another type, so pages of both now
 * share it (`fragmenting` of mm_page_alloc_extfrag, include/trace/events/kmem.h). */
static int fragmentation_event_feed(struct state *s, const struct frag_agg *e)
{
	u64 *n;

	if (e->fallback_order >= s->pageblock_order) {
		s->mild += e->count;
		return 0;
	}
	s->severe += e->count;
	n = groups_get(&s->causes, &e->tgid);
	if (!n)
		return -ENOMEM;
	*n += e->count;
	return 0;
}

static int fragmentation_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_FRAG_ZONE)
		return fragmentation_zone_feed(s, (const void *)r);
	if (r->kind == REC_FRAG_AGG)
		return fragmentation_event_feed(s, (const void *)r);
	if (r->kind == REC_HOST && ((const struct rec_host *)r)->pageblock_order)
		s->pageblock_order = ((const struct rec_host *)r)->pageblock_order;
	return facts_feed(&s->facts, r);
}

static struct zone_blocks fragmentation_blocks_of(const struct frag_zone *z)
{
	struct zone_blocks b = {.id.node = z->node, .orders = MIN(z->orders, (u32)FRAG_ORDERS)};

	memcpy(b.id.zone, z->zone, MIN(sizeof(b.id.zone), sizeof(z->zone)) - 1);
	for (u32 i = 0; i < b.orders; i++)
		b.blocks[i] = z->free_blocks[i];
	return b;
}

/* The populated zone whose free memory is least usable at ORDER; NULL: none is fragmented, that
 * is, has a fragmentation index towards 1000 with free memory above its low watermark. */
static const struct frag_zone *worst_zone(const struct state *s, int *ret_index, int *ret_unusable)
{
	const struct frag_zone *worst = NULL;

	*ret_unusable = 0;
	for (size_t i = 0; i < s->zones.n; i++) {
		const struct frag_zone *z = groups_value(&s->zones, i);
		struct zone_blocks b = fragmentation_blocks_of(z);
		int index = extfrag_index(&b, ORDER), unusable = extfrag_unusable(&b, ORDER);

		if (z->managed_pages < 4096 || index < 500 || z->free_pages <= z->low_pages)
			continue;
		if (unusable <= *ret_unusable)
			continue;
		worst = z;
		*ret_index = index;
		*ret_unusable = unusable;
	}
	return worst;
}

static void tell_change(struct report *r, struct finding *f, const struct state *s)
{
	u64 now = facts_last(&s->facts, "vm.min_free_kbytes");
	u64 next = now ? min_free_next(r, now, s->pageblock_order) : 0;

	if (next) {
		finding_line(r, f->try_,
			"Keep three more pageblocks per node free (it is now %llu):", now);
		finding_line(r, f->try_, "`sysctl -w vm.min_free_kbytes=%llu`", next);
		finding_line(r, f->undo, "`sysctl -w vm.min_free_kbytes=%llu`", now);
	} else {
		try_compact(r, f, &s->facts);
	}
	finding_line(r, f->verify, "`memwhy frag --for 60s --by process`");
}

static void tell_cause(struct report *r, struct finding *f, const struct state *s)
{
	size_t worst = 0;

	for (size_t i = 1; i < s->causes.n; i++)
		if (*(u64 *)groups_value(&s->causes, i) > *(u64 *)groups_value(&s->causes, worst))
			worst = i;
	if (s->causes.n) {
		u32 tgid = *(const u32 *)groups_key(&s->causes, worst);

		finding_line(r, f->evidence, "most of them while %s (pid %u) allocated: %llu",
			stream_comm(r->stream, tgid, 0), tgid,
			*(u64 *)groups_value(&s->causes, worst));
	}
}

/* Where these take so much, the free memory is in small pieces since there is so little of it. */
static void yield_to_pools(
	const struct report *r, struct finding *f, const struct state *s, bool loud)
{
	u64 idle = facts_idle_pools(&s->facts);

	if (idle < (u64)(HELD_MOST_PART * (double)r->stream->host.memory_bytes))
		return;
	f->symptom = true;
	f->losses = LOSS_COMPACTION;
	if (loud)
		f->level = LEVEL_RISK;
}

static int fragmentation_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	int index = 0, unusable = 0, level = LEVEL_RISK;
	const struct frag_zone *z = worst_zone(s, &index, &unusable);
	bool severe = (double)s->severe / report_seconds(r) >= SEVERE_RATE;
	u64 stalls = facts_delta(&s->facts, "compact_stall");
	struct finding *f;

	if (!z && !severe)
		return 0;
	if (stalls && (z || severe))
		level = LEVEL_WARNING;
	f = report_finding(r, level, "fragmentation");
	if (!f)
		return -ENOMEM;
	f->title = z ? report_text(r,
			       "Memory of node %u zone %.15s is fragmented: order-%d allocations "
			       "need compaction",
			       z->node, z->zone, ORDER)
		     : report_text(r, "Memory is being fragmented: %llu severe events in %.0f s",
			       s->severe, report_seconds(r));
	f->confidence = stalls ? "high: allocations stalled in compaction in that time"
			       : "medium: no allocation was seen waiting for it yet";
	if (z)
		finding_line(r, f->evidence,
			"fragmentation index %.3f, unusable %.3f at order %d (0 is good, 1 is bad)",
			index / 1000.0, unusable / 1000.0, ORDER);
	finding_line(r, f->evidence, "%llu severe and %llu mild fallbacks to other migratetypes",
		s->severe, s->mild);
	tell_cause(r, f, s);
	if (stalls)
		finding_line(r, f->evidence, "%llu direct compactions (compact_stall), %llu failed",
			stalls, facts_delta(&s->facts, "compact_fail"));
	f->why = z ? "Unmovable pages were placed among movable ones. Enough memory is free, but "
		     "not in blocks of the size that huge pages, network buffers and drivers need."
		   : "Unmovable pages were placed among movable ones: when these are freed, they "
		     "no longer form large blocks.";
	tell_change(r, f, s);
	yield_to_pools(r, f, s, level > LEVEL_RISK);
	return 0;
}

static void fragmentation_rule_reset(void *v)
{
	struct state *s = v;

	groups_clear(&s->causes);
	s->severe = s->mild = 0;
	facts_reset(&s->facts);
}

static void fragmentation_rule_destroy(void *v)
{
	struct state *s = v;

	groups_free(&s->zones);
	groups_free(&s->causes);
	facts_free(&s->facts);
}

const struct view rule_fragmentation = {
	.size = sizeof(struct state),
	.init = fragmentation_rule_init,
	.feed = fragmentation_rule_feed,
	.report = fragmentation_rule_report,
	.reset = fragmentation_rule_reset,
	.destroy = fragmentation_rule_destroy,
};
