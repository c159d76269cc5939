/*
 * What can be read from a struct zone: which one it is, its free pages and watermarks, and the
 * fragmentation index. Needs the kernel's BTF; without it nothing here is known.
 */
#ifndef MEMWHY_PROBES_COMPACTION_ZONE_BPF_H
#define MEMWHY_PROBES_COMPACTION_ZONE_BPF_H

#include "bpf/common.bpf.h"
#include "probes/compaction/compaction.h"

const volatile struct compaction_config config = {};

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct free_area {
	unsigned long nr_free;
} __attribute__((preserve_access_index));

struct pglist_data;

struct zone {
	unsigned long _watermark[3]; /* min, low, high: enum zone_watermarks, 5.10 to 7.3 */
	unsigned long watermark_boost;
	struct pglist_data *zone_pgdat;
	unsigned long zone_start_pfn;
	struct free_area free_area[1];
	struct {
		long counter;
	} vm_stat[1];
} __attribute__((preserve_access_index));

struct pglist_data {
	struct zone node_zones[1];
	int node_id;
} __attribute__((preserve_access_index));

enum zone_stat_item {
	NR_FREE_PAGES = 0, /* CO-RE: the value in the running kernel is used */
};

/* A zone at a moment. */
struct zone_state {
	u64 free, min, low, high;
	s32 index;
	u8 flags; /* COMPACTION_STATE, COMPACTION_INDEX */
};

static __always_inline bool zone_is_readable(const struct zone *z)
{
	return z && bpf_core_field_exists(z->zone_pgdat);
}

/* Node, and number of the zone in it. */
static __always_inline void zone_name(const struct zone *z, struct compaction_zone_key *key)
{
	struct pglist_data *node;

	if (!zone_is_readable(z))
		return;
	node = BPF_CORE_READ(z, zone_pgdat);
	key->node = BPF_CORE_READ(node, node_id);
	key->zone = ((u64)z - (u64)__builtin_preserve_access_index(&node->node_zones)) /
		    bpf_core_type_size(struct zone);
}

struct free_blocks {
	u64 blocks, pages;
	u64 suitable; /* blocks of the order that could be cut out of what is free */
};

static __always_inline void free_blocks_add(
	struct free_blocks *b, const struct zone *z, u32 i, u32 order)
{
	const void *area = (const void *)__builtin_preserve_access_index(&z->free_area) +
			   i * bpf_core_type_size(struct free_area);
	u64 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n),
		(const void *)__builtin_preserve_access_index(
			&((const struct free_area *)area)->nr_free));
	b->blocks += n;
	b->pages += n << i;
	if (i >= order)
		b->suitable += n << (i - order);
}

/* __fragmentation_index() of mm/vmstat.c, as src/sys/memory/extfrag.c computes it; the same
 * from 5.10 to 7.3. */
static __always_inline s32 zone_index(const struct zone *z, u32 order)
{
	struct free_blocks b = {};

	for (u32 i = 0; i < COMPACTION_ORDERS_MAX && i < config.orders; i++)
		free_blocks_add(&b, z, i, order);
	if (!b.blocks)
		return 0;
	if (b.suitable)
		return COMPACTION_WOULD_SUCCEED;
	return 1000 - (s32)((1000 + (b.pages * 1000 >> order)) / b.blocks);
}

static __always_inline void zone_look(const struct zone *z, s8 order, struct zone_state *s)
{
	unsigned long marks[3] = {}, boost;
	s64 free = 0;

	if (!zone_is_readable(z))
		return;
	bpf_probe_read_kernel(marks, sizeof(marks),
		(const void *)__builtin_preserve_access_index(&z->_watermark));
	boost = BPF_CORE_READ(z, watermark_boost);
	bpf_probe_read_kernel(&free, sizeof(free),
		(const void *)__builtin_preserve_access_index(&z->vm_stat) +
			bpf_core_enum_value(enum zone_stat_item, NR_FREE_PAGES) * sizeof(free));
	s->free = free > 0 ? free : 0;
	s->min = marks[0] + boost;
	s->low = marks[1] + boost;
	s->high = marks[2] + boost;
	s->flags = COMPACTION_STATE;
	if (order >= 0 && (u32)order < config.orders) {
		s->index = zone_index(z, (u32)order);
		s->flags |= COMPACTION_INDEX;
	}
}

#endif
