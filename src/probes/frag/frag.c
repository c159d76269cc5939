/* The frag probe: its hooks, its records, and what its table and ring become as records. */
#include "probes/frag/frag.h"

#include <string.h>

#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "probes/frag/frag_events.h"
#include "probes/frag/frag_sample.h"
#include "probes/frag/frag_view.h"
#include "probes/probe.h"

/* The record of the classic tracepoint is wanted, for the page and its pageblock. */
#define OPT_DETAIL 1

static const struct attach_hook hooks[] = {
	{
		.data = FRAG_EVENTS_DATA,
		.needs = "the tracepoint kmem:mm_page_alloc_extfrag",
		.methods =
			{
				{"tracepoint kmem:mm_page_alloc_extfrag", {"frag_tracepoint"}, {},
					OPT_DETAIL},
				{"raw tracepoint kmem:mm_page_alloc_extfrag", {"frag_raw"}, {}, 0},
			},
	},
};

/* The classic tracepoint takes 80 ms to detach (a grace period of RCU): check does without the
 * detail, unless raw ones would miss events. */
static u32 frag_options(const struct capture *c)
{
	return !c->opt.gentle || kbtf_raw_is_preemptible() ? OPT_DETAIL : 0;
}

static int frag_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct frag_key *k = key;
	const struct agg_value *v = value;
	struct frag_agg r = REC_INIT(struct frag_agg, REC_FRAG_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.order = k->order;
	r.fallback_order = k->fallback_order;
	r.migratetype = k->migratetype;
	r.fallback_migratetype = k->fallback_migratetype;
	r.flags = k->flags;
	r.count = v->count;
	return capture_emit(c, &r.h);
}

static int frag_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct frag_event e;

	if (rec->kind != REC_FRAG_EVENT || rec->size != sizeof(e))
		return 0;
	e = *(const struct frag_event *)rec;
	names_event(c->names, stacks, &e);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = frag_options,
	.tables = {{"table", sizeof(struct frag_key), table_key_tgid, frag_added}},
	.record = frag_record,
	.optional = true,
};

/* What an event and a sum of events say alike. */

static const struct kind kinds[] = {
	RECORD_KIND(REC_FRAG_ZONE, struct frag_zone, "frag_zone", FRAG_ZONE_FIELDS,
		"free blocks and watermarks of a zone at this time"),
	RECORD_KIND(REC_FRAG_PAGETYPE, struct frag_pagetype, "frag_pagetype", FRAG_PAGETYPE_FIELDS,
		"free blocks and pageblocks of a migratetype in a zone at this time"),
	RECORD_KIND(REC_FRAG_AGG, struct frag_agg, "frag_agg", FRAG_AGG_FIELDS,
		"allocations of one kind that took a block of another migratetype, since the last "
		"such record"),
	RECORD_KIND(REC_FRAG_EVENT, struct frag_event, "frag_event", FRAG_EVENT_FIELDS,
		"one allocation that took a block of another migratetype"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy frag --limit 3 --for 2s\n"
	"memwhy frag - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"2.1 s from 2026-11-21 19:46:35 UTC - events: frag 0 - none lost\n"
	"cost: 2.2 % of one CPU, RSS 3.67 MiB\n"
	"\n"
	"An allocation of any order is served at once.\n"
	"\n"
	"Free blocks\n"
	"NODE  ZONE    ORDER      SIZE  BLOCKS  PAGES>=  CHANGE  UNUSABLE   INDEX  MEETS      "
	"TREND\n"
	"   0  Normal     10  4.00 MiB     281  287,744   6,144     0.870  -1.000  immediate  -\n"
	"   0  Normal      9  2.00 MiB     396  490,496   6,144     0.779  -1.000  immediate  -\n"
	"   0  Normal      8  1.00 MiB   1,017  750,848   6,400     0.662  -1.000  immediate  -\n"
	"... 30 more rows; --limit 0 shows all\n"
	"\n"
	"What an allocation meets now\n"
	"NODE  FOR     ORDER      SIZE  MEETS      ZONE    WHY\n"
	"   0  kernel      0  4.00 KiB  immediate  Normal  8.49 GiB free, low watermark 64.7 MiB\n"
	"   0  kernel      3  32.0 KiB  immediate  Normal  8.49 GiB free, low watermark 64.7 MiB\n"
	"   0  kernel      9  2.00 MiB  immediate  Normal  8.49 GiB free, low watermark 64.7 MiB\n"
	"... 1 more row; --limit 0 shows all\n"
	"\n"
	"Migratetypes\n"
	"NODE  ZONE    MIGRATETYPE  FREE PAGES  LARGEST ORDER  PAGEBLOCKS  CHANGE\n"
	"   0  Normal  Unmovable       162,764              9         518       0\n"
	"   0  Normal  Movable       2,057,832             10       4,548       0\n"
	"   0  Normal  Reclaimable       4,469              8         438       0\n"
	"... 3 more rows; --limit 0 shows all\n"
	"\n"
	"Allocations that took another migratetype's block\n"
	"No allocation in scope had to take a block of another migratetype.\n";

static const char *const examples[] = {
	"memwhy frag --for 10s",
	"free blocks by order, what allocations meet, and who fragments",
	"memwhy frag --for 1s -o json",
	"the state right now, for a program",
	"memwhy frag --for 60s --stacks=kernel",
	"the code paths that fragment memory",
	"memwhy frag --each",
	"each allocation that falls back, as it happens",
	NULL,
};

const struct probe probe_frag = {
	.name = "frag",
	.summary = "Is free memory fragmented, who fragments it, and what does an allocation meet",
	.details =
		"Shows the free blocks of each node, zone and order with the kernel's two "
		"indices. The unusable index is the part of free memory in blocks too small for "
		"the order. The fragmentation index says why an allocation of the order would "
		"fail: towards 0 memory is short, towards 1 it is fragmented; -1: a free block is "
		"there. Both are computed as in mm/vmstat.c and equal those in "
		"/sys/kernel/debug/extfrag.\n\n"
		"What an allocation meets is worked out by the rule of __zone_watermark_ok in "
		"mm/page_alloc.c for one that may sleep and has no right to reserves "
		"(GFP_KERNEL): it is served at once while more than the low watermark stays free "
		"and a large enough block is there; between low and min it is served too, and "
		"wakes kswapd. Otherwise the caller itself compacts, if that can help, or "
		"reclaims. Other nodes are tried first unless the caller insists on one.\n\n"
		"Events are allocations that found no free block of their migratetype and took "
		"one of another. They are severe when that block was smaller than a pageblock: "
		"then pages of two types share a pageblock (the tracepoint's own field is named "
		"fragmenting). If enough of the pageblock was free or of a compatible type it was "
		"claimed: it changed its type, and the types mix less. An allocation made by an "
		"interrupt counts for the task it interrupted.\n\n"
		"Free blocks and watermarks are read every second. The types of pageblocks are "
		"read rarely, since the kernel walks its free lists under the zone's lock for it: "
		"at the start, and then as often as costs a thousandth of the time.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &frag_sampler,
	.view = &frag_view,
	.cheap = true,
};
