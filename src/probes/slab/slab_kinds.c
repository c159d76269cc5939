/* See slab_kinds.h. */
#include "probes/slab/slab_kinds.h"

#include "base/util.h"
#include "probes/slab/slab.h"

static const struct field usage_fields[] = {
	FIELD(struct slab_usage, active_objects, FIELD_U64, UNIT_COUNT,
		"objects in use, or free on a slab that a cpu holds"),
	FIELD(struct slab_usage, objects, FIELD_U64, UNIT_COUNT, "objects, in use or free"),
	FIELD(struct slab_usage, object_bytes, FIELD_U64, UNIT_BYTES, "of one, with padding"),
	FIELD(struct slab_usage, slabs, FIELD_U64, UNIT_COUNT, "slabs"),
	FIELD(struct slab_usage, bytes, FIELD_U64, UNIT_BYTES, "pages of all slabs"),
	FIELD(struct slab_usage, first_bytes, FIELD_U64, UNIT_BYTES,
		"bytes at the start; 0 for a cache made since"),
	FIELD(struct slab_usage, first_active_objects, FIELD_U64, UNIT_COUNT,
		"active_objects at the start"),
	FIELD_ARRAY(struct slab_usage, name, FIELD_CHARS, UNIT_NONE, SLAB_CACHE_NAME_LEN,
		"cache; merged ones have one name for all"),
	FIELD(struct slab_usage, used_bytes, FIELD_U64, UNIT_BYTES,
		"of one object, without padding; 0: not known"),
	FIELD(struct slab_usage, held_slabs, FIELD_U64, UNIT_COUNT, "slabs that CPUs hold"),
	FIELD(struct slab_usage, aliases, FIELD_U32, UNIT_COUNT, "caches merged into this one"),
	FIELD(struct slab_usage, reclaimable, FIELD_U32, UNIT_COUNT,
		"1: given back when memory is short"),
};

static const struct field agg_fields[] = {
	FIELD(struct slab_agg, tgid, FIELD_U32, UNIT_ID, "process; 0: not counted by process"),
	FIELD(struct slab_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct slab_agg, stack, FIELD_U32, UNIT_STACK, "code path"),
	FIELD(struct slab_agg, site, FIELD_U32, UNIT_ID, "frame of the call of the allocator"),
	FIELD(struct slab_agg, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct slab_agg, bytes, FIELD_U32, UNIT_BYTES,
		"allocated to one object, with padding; 0: not known"),
	FIELD(struct slab_agg, object_bytes, FIELD_U32, UNIT_BYTES,
		"of one object of the cache, without padding; 0: kmalloc, see requested"),
	FIELD(struct slab_agg, node, FIELD_S32, UNIT_ID, "NUMA node asked for; -1: any"),
	FIELD(struct slab_agg, event, FIELD_U8, UNIT_ID,
		"0 kmalloc, 1 kmalloc_node, 2 kmem_cache_alloc, 3 kmem_cache_alloc_node, 4 kfree, "
		"5 kmem_cache_free"),
	FIELD(struct slab_agg, flags, FIELD_U8, UNIT_HEX,
		"1 failed, or of a NULL pointer; 2 whole pages; 4 free of an object whose "
		"allocation was seen; 8 charged to the control group"),
	FIELD(struct slab_agg, count, FIELD_U64, UNIT_COUNT, "events"),
	FIELD(struct slab_agg, requested, FIELD_U64, UNIT_BYTES, "asked of kmalloc"),
	FIELD(struct slab_agg, squares, FIELD_U64, UNIT_COUNT,
		"sum of the squares of what was asked of kmalloc, modulo 2^64"),
	FIELD(struct slab_agg, freed, FIELD_U64, UNIT_COUNT,
		"objects allocated so that were freed since the last record (live tracking)"),
	FIELD(struct slab_agg, untracked, FIELD_U64, UNIT_COUNT,
		"objects that could not be followed: the table was full"),
	FIELD(struct slab_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct slab_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct slab_agg, cache, FIELD_CHARS, UNIT_NONE, AGG_NAME_LEN,
		"name of the cache; none: not known, or whole pages"),
};

static const struct field crossing_fields[] = {
	FIELD(struct slab_crossing, from_cpu, FIELD_U32, UNIT_ID, "CPU that allocated"),
	FIELD(struct slab_crossing, to_cpu, FIELD_U32, UNIT_ID, "CPU that freed"),
	FIELD(struct slab_crossing, from_node, FIELD_U32, UNIT_ID, "its NUMA node"),
	FIELD(struct slab_crossing, to_node, FIELD_U32, UNIT_ID, "its NUMA node"),
	FIELD(struct slab_crossing, count, FIELD_U64, UNIT_COUNT, "objects"),
	FIELD(struct slab_crossing, bytes, FIELD_U64, UNIT_BYTES, "allocated to them"),
};

#define WHO(type_, member_, ftype_, unit_, help_)                                           \
	{                                                                                   \
		.name = #member_, .offset = offsetof(type_, who.member_), .type = (ftype_), \
		.unit = (unit_), .count = 1, .help = (help_)                                \
	}

#define WHO_FIELDS(type_)                                                                   \
	WHO(type_, tgid, FIELD_U32, UNIT_ID, "process; 0: not counted by process"),         \
		WHO(type_, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),    \
		WHO(type_, stack, FIELD_U32, UNIT_STACK, "code path of the allocation"),    \
		WHO(type_, site, FIELD_U32, UNIT_ID, "frame of the call of the allocator"), \
		WHO(type_, bytes, FIELD_U32, UNIT_BYTES,                                    \
			"allocated to one object, with padding; 0: not known"),             \
		WHO(type_, flags, FIELD_U32, UNIT_HEX, "2 whole pages"),                    \
	{                                                                                   \
		.name = "cache", .offset = offsetof(type_, who.cache), .type = FIELD_CHARS, \
		.unit = UNIT_NONE, .count = AGG_NAME_LEN,                                   \
		.help = "name of the cache; none: not known, or whole pages"                \
	}

static const struct field held_fields[] = {
	WHO_FIELDS(struct slab_held),
	FIELD(struct slab_held, count, FIELD_U64, UNIT_COUNT, "objects at this time"),
	FIELD(struct slab_held, old, FIELD_U64, UNIT_COUNT,
		"of these, older than old_ns of the slab_follow before"),
	FIELD(struct slab_held, oldest_ns, FIELD_U64, UNIT_NS, "age of the oldest"),
	FIELD_ARRAY(struct slab_held, hist, FIELD_U32, UNIT_COUNT, SLAB_AGE_SLOTS,
		"log2 histogram of ages: slot i is 2^(i-1) to 2^i ns"),
};

static const struct field lifetime_fields[] = {
	WHO_FIELDS(struct slab_lifetime),
	FIELD(struct slab_lifetime, count, FIELD_U64, UNIT_COUNT,
		"frees of objects followed: a sample, one in eight"),
	FIELD(struct slab_lifetime, total_ns, FIELD_U64, UNIT_NS, "sum of their lifetimes"),
	FIELD(struct slab_lifetime, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD_ARRAY(struct slab_lifetime, hist, FIELD_U32, UNIT_COUNT, SLAB_AGE_SLOTS,
		"log2 histogram of lifetimes: slot i is 2^(i-1) to 2^i ns; slot 10 has all below"),
};

static const struct field follow_fields[] = {
	FIELD(struct slab_follow, held, FIELD_U64, UNIT_COUNT, "objects followed now"),
	FIELD(struct slab_follow, room, FIELD_U64, UNIT_COUNT, "that can be, at most"),
	FIELD(struct slab_follow, old_ns, FIELD_U64, UNIT_NS, "two thirds of the time so far"),
	FIELD(struct slab_follow, lifetimes_full, FIELD_U64, UNIT_COUNT,
		"frees whose lifetime found no room, since the start"),
};

const struct kind slab_kinds[SLAB_KINDS] = {
	KIND(REC_SLAB_CACHE, struct slab_usage, "slab_cache", usage_fields,
		"the state of a cache of kernel objects"),
	KIND(REC_SLAB_AGG, struct slab_agg, "slab_agg", agg_fields,
		"slab allocations or frees of one place and cache, since the last such record"),
	KIND(REC_SLAB_CROSSING, struct slab_crossing, "slab_crossing", crossing_fields,
		"objects freed on another CPU than allocated, since the last such record"),
	KIND(REC_SLAB_HELD, struct slab_held, "slab_held", held_fields,
		"objects of one kind allocated since the start and not freed at this time"),
	KIND(REC_SLAB_LIFETIME, struct slab_lifetime, "slab_lifetime", lifetime_fields,
		"how long objects of one kind lived that were freed since the last such record"),
	KIND(REC_SLAB_FOLLOW, struct slab_follow, "slab_follow", follow_fields,
		"how well objects could be followed"),
};
