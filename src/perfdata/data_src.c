/*
 * See data_src.h. The bits are union perf_mem_data_src of include/uapi/linux/perf_event.h; how
 * processors fill them in: arch/x86/events/intel/ds.c, arch/x86/events/amd/ibs.c,
 * arch/powerpc/perf/isa207-common.c, tools/perf/util/arm-spe.c.
 */
#include "perfdata/data_src.h"

#include "base/util.h"

static unsigned int bits_of(u64 v, unsigned int shift, unsigned int n)
{
	return (unsigned int)(v >> shift & ((1U << n) - 1));
}

enum { /* of the older field, a set */
	LVL_MISS = 0x4,
	LVL_L1 = 0x8,
	LVL_LFB = 0x10,
	LVL_L2 = 0x20,
	LVL_L3 = 0x40,
	LVL_LOC_RAM = 0x80,
	LVL_REM_RAM = 0x100 | 0x200,
	LVL_REM_CACHE = 0x400 | 0x800,
	LVL_IO = 0x1000,
	LVL_UNCACHED = 0x2000,
};

/* The newer field, a number; 5 and 6 since v6.11, 7 since v7.0, 8 since v6.6, 9 and 10 since v6.1.
 */
static const enum data_level level_numbers[16] = {
	[1] = DATA_L1,
	[2] = DATA_L2,
	[3] = DATA_L3,
	[4] = DATA_L4,
	[5] = DATA_L2_MHB,
	[6] = DATA_MSC,
	[7] = DATA_L0,
	[8] = DATA_UNCACHED,
	[9] = DATA_CXL,
	[10] = DATA_IO,
	[11] = DATA_CACHE,
	[12] = DATA_LFB,
	[13] = DATA_RAM,
	[14] = DATA_PMEM,
};

/* Several may be set: the one farthest out is where it came from. */
static enum data_level level_old(unsigned int lvl)
{
	static const struct {
		unsigned int bits;
		enum data_level level;
	} levels[] = {
		{LVL_REM_RAM | LVL_LOC_RAM, DATA_RAM},
		{LVL_IO, DATA_IO},
		{LVL_UNCACHED, DATA_UNCACHED},
		{LVL_REM_CACHE, DATA_CACHE},
		{LVL_L3, DATA_L3},
		{LVL_L2, DATA_L2},
		{LVL_LFB, DATA_LFB},
		{LVL_L1, DATA_L1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (lvl & levels[i].bits)
			return levels[i].level;
	return DATA_LEVEL_UNKNOWN;
}

static bool level_private(enum data_level level)
{
	return level == DATA_L0 || level == DATA_L1 || level == DATA_LFB || level == DATA_L2 ||
	       level == DATA_L2_MHB;
}

/*
 * The number of hops says most: with 1 it is another core of the same node, although AMD and Power
 * set the bit "remote" and the older "remote cache" with it. A CXL node has no CPUs, and
 * processors do not say whose it is.
 */
static enum data_place perf_data_src_place_of(
	const struct data_src *d, unsigned int lvl, bool remote)
{
	if (d->hops)
		return d->hops == 1 ? DATA_LOCAL : DATA_REMOTE;
	if (remote || lvl & (LVL_REM_RAM | LVL_REM_CACHE))
		return DATA_REMOTE;
	if (d->level == DATA_RAM || d->level == DATA_PMEM || d->level == DATA_L3 ||
		d->level == DATA_L4 || d->level == DATA_MSC || level_private(d->level))
		return d->miss ? DATA_PLACE_UNKNOWN : DATA_LOCAL;
	return DATA_PLACE_UNKNOWN;
}

static enum data_snoop snoop_of(unsigned int snoop)
{
	if (snoop & 16)
		return DATA_SNOOP_HITM;
	if (snoop & 4)
		return DATA_SNOOP_HIT;
	if (snoop & 8)
		return DATA_SNOOP_MISS;
	return snoop & 2 ? DATA_SNOOP_NONE : DATA_SNOOP_UNKNOWN;
}

void data_src_decode(u64 v, struct data_src *ret)
{
	unsigned int op = bits_of(v, 0, 5), lvl = bits_of(v, 5, 14), lock = bits_of(v, 24, 2);
	unsigned int num = bits_of(v, 33, 4), extra = bits_of(v, 38, 2), blk = bits_of(v, 40, 3);
	struct data_src d = {.op = (u8)(op >> 1), .miss = lvl & LVL_MISS};

	d.level = level_numbers[num];
	if (d.level == DATA_LEVEL_UNKNOWN)
		d.level = level_old(lvl);
	d.hops = (u8)bits_of(v, 43, 3);
	d.place = perf_data_src_place_of(&d, lvl, bits_of(v, 37, 1));
	d.snoop = snoop_of(bits_of(v, 19, 5));
	d.forwarded = extra & 1;
	d.peer = extra & 2;
	d.lock_known = lock && !(lock & 1);
	d.locked = lock & 2;
	d.tlb = (u8)(bits_of(v, 26, 7) >> 1);
	d.blocked_data = blk & 2;
	d.blocked_address = blk & 4;
	d.region = (u8)bits_of(v, 46, 5);
	*ret = d;
}

enum data_use data_src_use(const struct data_src *d, bool has_source, u64 addr)
{
	if (has_source && !(d->op & (DATA_LOAD | DATA_STORE)))
		return DATA_NO_ACCESS;
	return addr ? DATA_USABLE : DATA_NO_ADDRESS;
}
