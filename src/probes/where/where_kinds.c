/* See where_kinds.h. */
#include "probes/where/where_kinds.h"

#include "base/util.h"
#include "probes/where/where.h"

#define LEDGER(member_, type_, unit_, help_) \
	FIELD(struct where_ledger, member_, type_, unit_, help_)
#define OWNER(member_, type_, unit_, help_) FIELD(struct where_owner, member_, type_, unit_, help_)

static const struct field ledger_fields[] = {
	LEDGER(scope, FIELD_U32, UNIT_ID, "0 the machine, 1 a process, 2 a control group"),
	LEDGER(sample, FIELD_U32, UNIT_ID, "number of the look"),
	LEDGER(tgid, FIELD_U32, UNIT_ID, "process"),
	LEDGER(name, FIELD_U32, UNIT_STRING, "its name"),
	LEDGER(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	LEDGER(total_bytes, FIELD_U64, UNIT_BYTES, "what all rows and the rest add up to"),
	LEDGER(known, FIELD_U64, UNIT_HEX, "rows that are known, a bit each"),
	LEDGER(estimated, FIELD_U64, UNIT_HEX, "rows that are estimated, a bit each"),
	LEDGER(known_parts, FIELD_U64, UNIT_HEX, "parts that are known, a bit each"),
	FIELD_ARRAY(struct where_ledger, bytes, FIELD_U64, UNIT_BYTES, WHERE_ROWS_MAX,
		"rows: free, free in lists of cpus, anonymous, swap cache, page cache, tmpfs, "
		"shared memory, hugetlb, slab, other reclaimable kernel memory, page tables, "
		"secondary page tables, kernel stacks, percpu, vmalloc, compressed swap, sockets, "
		"pipes, page array, bounce, fuse writeback, corrupted, balloon, gpu, kernel, heap, "
		"heap kept free, arenas, arenas kept free, stacks, private file pages, files, "
		"special"),
	FIELD_ARRAY(struct where_ledger, parts, FIELD_U64, UNIT_BYTES, WHERE_PARTS_MAX,
		"facts beside the rows: mapped, dirty, writeback, buffers, evictable file pages, "
		"reclaimable slab, free and reserved huge pages, locked, unevictable, anonymous "
		"and shared huge pages, free CMA, available, free and used swap, data compressed, "
		"limit, swapped, proportional set size, lazily freed, page tables"),
};

static const struct field owner_fields[] = {
	OWNER(row, FIELD_U32, UNIT_ID, "the row, as its place in the ledger"),
	OWNER(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	OWNER(scope, FIELD_U32, UNIT_ID, "of the ledger"),
	OWNER(of_tgid, FIELD_U32, UNIT_ID, "process of the ledger"),
	OWNER(name, FIELD_U32, UNIT_STRING, "who or what it is"),
	OWNER(detail, FIELD_U32, UNIT_STRING, "what else there is to say; 0: nothing"),
	OWNER(tgid, FIELD_U32, UNIT_ID, "process; 0: it is none"),
	OWNER(estimated, FIELD_U32, UNIT_NONE, "1: bytes are estimated"),
	OWNER(cgroup, FIELD_U64, UNIT_CGROUP, "control group; 0: it is none"),
	OWNER(bytes, FIELD_U64, UNIT_BYTES, "its part of the row"),
	OWNER(count, FIELD_U64, UNIT_COUNT, "objects, areas, attachments; 0: not known"),
	OWNER(free_bytes, FIELD_U64, UNIT_BYTES, "of bytes, kept without being used"),
};

#define ARENA(member_, type_, unit_, help_) FIELD(struct where_arena, member_, type_, unit_, help_)

static const struct field arena_fields[] = {
	ARENA(tgid, FIELD_U32, UNIT_ID, "process"),
	ARENA(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	ARENA(index, FIELD_U32, UNIT_ID, "0: the main arena"),
	ARENA(partial, FIELD_U32, UNIT_NONE, "1: it could not be read to its end"),
	ARENA(address, FIELD_U64, UNIT_HEX, "where it is"),
	ARENA(heaps, FIELD_U64, UNIT_COUNT, "its heaps"),
	ARENA(system_bytes, FIELD_U64, UNIT_BYTES, "what it has from the kernel"),
	ARENA(used_blocks, FIELD_U64, UNIT_COUNT,
		"blocks in use, those in fastbins and thread caches included"),
	ARENA(used_bytes, FIELD_U64, UNIT_BYTES, "their size, with glibc's own part"),
	ARENA(free_blocks, FIELD_U64, UNIT_COUNT, "free blocks in its bins"),
	ARENA(free_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(top_bytes, FIELD_U64, UNIT_BYTES, "free memory at its end"),
	ARENA(fast_blocks, FIELD_U64, UNIT_COUNT, "free blocks in fastbins"),
	ARENA(fast_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(cache_blocks, FIELD_U64, UNIT_COUNT, "free blocks in caches of threads"),
	ARENA(cache_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(kept_bytes, FIELD_U64, UNIT_BYTES, "resident pages with nothing but free blocks"),
	ARENA(trimmable_bytes, FIELD_U64, UNIT_BYTES, "of these, what malloc_trim(0) gives back"),
};

#define LIMIT(member_, type_, unit_, help_) FIELD(struct where_limit, member_, type_, unit_, help_)

static const struct field limit_fields[] = {
	LIMIT(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	LIMIT(level, FIELD_U32, UNIT_COUNT, "levels below the root"),
	LIMIT(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	LIMIT(of_cgroup, FIELD_U64, UNIT_CGROUP, "the group of the ledger: this one or one below"),
	LIMIT(usage_bytes, FIELD_U64, UNIT_BYTES, "memory charged to it"),
	LIMIT(limit_bytes, FIELD_U64, UNIT_BYTES, "its limit; all bits set: none"),
	LIMIT(high_bytes, FIELD_U64, UNIT_BYTES, "memory.high; all bits set: none"),
	LIMIT(swap_bytes, FIELD_U64, UNIT_BYTES, "in swap"),
	LIMIT(limit_hit_total, FIELD_U64, UNIT_COUNT, "how often it met its limit"),
};

const struct kind where_kinds[WHERE_KINDS] = {
	KIND(REC_WHERE_LEDGER, struct where_ledger, "where_ledger", ledger_fields,
		"where the memory of the machine, a process or a group is at one time"),
	KIND(REC_WHERE_OWNER, struct where_owner, "where_owner", owner_fields,
		"who has a part of a row of a ledger"),
	KIND(REC_WHERE_ARENA, struct where_arena, "where_arena", arena_fields,
		"an arena of glibc's malloc in a process"),
	KIND(REC_WHERE_LIMIT, struct where_limit, "where_limit", limit_fields,
		"the memory and limits of a control group, or of one above it"),
};
