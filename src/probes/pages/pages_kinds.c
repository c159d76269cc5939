/* See pages_kinds.h. */
#include "probes/pages/pages_kinds.h"

#include "base/util.h"
#include "probes/pages/pages.h"

#define WHO(type_, member_, name_, ftype_, unit_, help_)                                 \
	{                                                                                \
		.name = name_, .offset = offsetof(type_, who.member_), .type = (ftype_), \
		.unit = (unit_), .count = 1, .help = (help_)                             \
	}

#define WHO_FIELDS(type_)                                                                       \
	WHO(type_, cgroup, "cgroup", FIELD_U64, UNIT_CGROUP, "control group of the task"),      \
		WHO(type_, tgid, "tgid", FIELD_U32, UNIT_ID, "process"),                        \
		WHO(type_, tid, "tid", FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"), \
		WHO(type_, stack, "stack", FIELD_U32, UNIT_STACK, "where it happened"),         \
		WHO(type_, gfp, "gfp", FIELD_U32, UNIT_HEX,                                     \
			"allocation flags (enum gfp); 0: not counted by them"),                 \
		WHO(type_, order, "order", FIELD_U8, UNIT_ID, "2^order pages; 255: unknown"),   \
		WHO(type_, migratetype, "migratetype", FIELD_U8, UNIT_ID,                       \
			"of the allocation (enum migratetype)"),                                \
		WHO(type_, flags, "flags", FIELD_U8, UNIT_HEX,                                  \
			"1 only the name of the process is known"),                             \
	{                                                                                       \
		.name = "comm", .offset = offsetof(type_, who.comm), .type = FIELD_CHARS,       \
		.unit = UNIT_NONE, .count = COMM_LEN, .help = "thread name"                     \
	}

static const struct field alloc_fields[] = {
	WHO_FIELDS(struct pages_alloc),
	FIELD(struct pages_alloc, count, FIELD_U64, UNIT_COUNT, "allocations that got a page"),
	FIELD(struct pages_alloc, failures, FIELD_U64, UNIT_COUNT, "allocations that got none"),
	FIELD(struct pages_alloc, direct, FIELD_U64, UNIT_COUNT,
		"of the former, taken from the buddy lists"),
	FIELD(struct pages_alloc, refilled, FIELD_U64, UNIT_COUNT,
		"of the former, that refilled the list of the CPU"),
	FIELD(struct pages_alloc, refill_pages, FIELD_U64, UNIT_PAGES, "by so many pages"),
	FIELD(struct pages_alloc, untracked, FIELD_U64, UNIT_COUNT,
		"of the count, could not be followed: the table was full"),
};

static const struct field free_fields[] = {
	WHO_FIELDS(struct pages_free),
	FIELD(struct pages_free, count, FIELD_U64, UNIT_COUNT, "frees (mm_page_free)"),
	FIELD(struct pages_free, batched, FIELD_U64, UNIT_COUNT,
		"frees in batches (mm_page_free_batched), which mm_page_free has too"),
};

static const struct field pcp_fields[] = {
	FIELD(struct pages_pcp, cpu, FIELD_U32, UNIT_ID, "CPU"),
	FIELD(struct pages_pcp, direct, FIELD_U64, UNIT_COUNT,
		"blocks taken from the buddy lists past the list of the CPU"),
	FIELD(struct pages_pcp, refill_runs, FIELD_U64, UNIT_COUNT, "refills of its lists"),
	FIELD(struct pages_pcp, refill_pages, FIELD_U64, UNIT_PAGES, "pages refilled"),
	FIELD(struct pages_pcp, drain_runs, FIELD_U64, UNIT_COUNT, "drains of its lists"),
	FIELD(struct pages_pcp, drain_pages, FIELD_U64, UNIT_PAGES, "pages drained"),
	FIELD(struct pages_pcp, allocations, FIELD_U64, UNIT_COUNT, "allocations on this CPU"),
	FIELD(struct pages_pcp, frees, FIELD_U64, UNIT_COUNT, "frees on this CPU"),
	FIELD(struct pages_pcp, waits, FIELD_U64, UNIT_COUNT,
		"waits for zone->lock; 0 also where it was not looked at"),
	FIELD(struct pages_pcp, wait_ns, FIELD_U64, UNIT_NS, "how long these took"),
};

static const struct field imbalance_fields[] = {
	FIELD(struct pages_imbalance, from, FIELD_U32, UNIT_ID, "CPU that drained last"),
	FIELD(struct pages_imbalance, to, FIELD_U32, UNIT_ID, "CPU that refilled"),
	FIELD(struct pages_imbalance, pages, FIELD_U64, UNIT_PAGES, "such pages"),
};

static const struct field held_fields[] = {
	WHO_FIELDS(struct pages_held),
	FIELD(struct pages_held, count, FIELD_U64, UNIT_COUNT, "allocations held at this time"),
	FIELD(struct pages_held, oldest_ns, FIELD_U64, UNIT_NS, "age of the oldest"),
	FIELD_ARRAY(struct pages_held, hist, FIELD_U32, UNIT_COUNT, PAGES_HELD_SLOTS,
		"log2 histogram of ages: slot i is 2^(i-1) to 2^i ns"),
	FIELD(struct pages_held, old, FIELD_U64, UNIT_COUNT,
		"of the count, older than old_ns of the pages_follow before"),
};

static const struct field lifetime_fields[] = {
	WHO_FIELDS(struct pages_lifetime),
	FIELD(struct pages_lifetime, count, FIELD_U64, UNIT_COUNT, "frees of pages followed"),
	FIELD(struct pages_lifetime, total_ns, FIELD_U64, UNIT_NS, "sum of their lifetimes"),
	FIELD(struct pages_lifetime, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD_ARRAY(struct pages_lifetime, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS + 8,
		"log2 histogram of lifetimes: slot i is 2^(i-1) to 2^i ns; slot 10 has all below"),
};

static const struct field follow_fields[] = {
	FIELD(struct pages_follow, held, FIELD_U64, UNIT_COUNT, "allocations followed now"),
	FIELD(struct pages_follow, room, FIELD_U64, UNIT_COUNT, "that can be, at most"),
	FIELD(struct pages_follow, untracked, FIELD_U64, UNIT_COUNT,
		"allocations that found no room, since the start"),
	FIELD(struct pages_follow, unknown, FIELD_U64, UNIT_COUNT,
		"frees of pages that were not followed, since the start"),
	FIELD(struct pages_follow, parts, FIELD_U64, UNIT_COUNT,
		"allocations freed in parts, since the start"),
	FIELD(struct pages_follow, lifetimes_full, FIELD_U64, UNIT_COUNT,
		"frees whose lifetime found no room, since the start"),
	FIELD(struct pages_follow, old_ns, FIELD_U64, UNIT_NS, "two thirds of the time so far"),
};

static const struct field failure_fields[] = {
	FIELD(struct pages_failure, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct pages_failure, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct pages_failure, ustack, FIELD_U32, UNIT_STACK, "where it happened"),
	FIELD(struct pages_failure, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct pages_failure, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct pages_failure, order, FIELD_U8, UNIT_ID, "2^order pages were asked for"),
	FIELD(struct pages_failure, migratetype, FIELD_U8, UNIT_ID, "enum migratetype"),
	FIELD_ARRAY(struct pages_failure, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field lists_fields[] = {
	FIELD(struct pages_lists, flags, FIELD_U32, UNIT_HEX,
		"fraction is 1 vm.percpu_pagelist_high_fraction, 2 vm.percpu_pagelist_fraction; 4 "
		"what follows it is known"),
	FIELD(struct pages_lists, lists, FIELD_U32, UNIT_COUNT, "lists: CPUs times zones"),
	FIELD(struct pages_lists, fraction, FIELD_U64, UNIT_COUNT,
		"0: the kernel sizes the lists by itself"),
	FIELD(struct pages_lists, high_pages, FIELD_U64, UNIT_PAGES, "their limits together"),
	FIELD(struct pages_lists, count_pages, FIELD_U64, UNIT_PAGES, "pages on them"),
	FIELD(struct pages_lists, batch_pages, FIELD_U64, UNIT_PAGES, "the largest batch"),
};

static const struct field sampled_fields[] = {
	FIELD(struct pages_sampled, bursts, FIELD_U64, UNIT_COUNT, "bursts"),
	FIELD(struct pages_sampled, on_ns, FIELD_U64, UNIT_NS, "how long they counted"),
	FIELD(struct pages_sampled, covered_ns, FIELD_U64, UNIT_NS,
		"the time they stand for; in the rest there was little to count"),
};

const struct kind pages_kinds[PAGES_KINDS] = {
	KIND(REC_PAGES_ALLOC, struct pages_alloc, "pages_alloc", alloc_fields,
		"page allocations of one kind since the last such record"),
	KIND(REC_PAGES_FREE, struct pages_free, "pages_free", free_fields,
		"page frees of one kind since the last such record"),
	KIND(REC_PAGES_PCP, struct pages_pcp, "pages_pcp", pcp_fields,
		"what one CPU did with its lists since the last such record"),
	KIND(REC_PAGES_IMBALANCE, struct pages_imbalance, "pages_imbalance", imbalance_fields,
		"pages refilled on one CPU that another had drained, since the last such record"),
	KIND(REC_PAGES_HELD, struct pages_held, "pages_held", held_fields,
		"pages of one kind held at this time"),
	KIND(REC_PAGES_LIFETIME, struct pages_lifetime, "pages_lifetime", lifetime_fields,
		"how long pages of one kind were held that were freed since the last such record"),
	KIND(REC_PAGES_FOLLOW, struct pages_follow, "pages_follow", follow_fields,
		"how well pages could be followed"),
	KIND(REC_PAGES_FAILURE, struct pages_failure, "pages_failure", failure_fields,
		"one allocation that failed"),
	KIND(REC_PAGES_LISTS, struct pages_lists, "pages_lists", lists_fields,
		"the per-CPU lists of all zones at this time"),
	KIND(REC_PAGES_SAMPLED, struct pages_sampled, "pages_sampled", sampled_fields,
		"what was counted in bursts: for how long, and what that stands for"),
};
