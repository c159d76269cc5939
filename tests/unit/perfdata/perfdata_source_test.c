/*
 * Data sources: each bit of perf_mem_data_src on its own, every pair of them without a crash, and
 * the codes that processors are known to write (arch/x86/events/intel/ds.c, amd/ibs.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/util.h"
#include "data/data_source_name.h"

#define OP(x) ((u64)(x))
#define LVL(x) ((u64)(x) << 5)
#define SNOOP(x) ((u64)(x) << 19)
#define LOCK(x) ((u64)(x) << 24)
#define TLB(x) ((u64)(x) << 26)
#define NUM(x) ((u64)(x) << 33)
#define REMOTE (1ULL << 37)
#define SNOOPX(x) ((u64)(x) << 38)
#define BLK(x) ((u64)(x) << 40)
#define HOPS(x) ((u64)(x) << 43)
#define REGION(x) ((u64)(x) << 46)
#define NA (OP(1) | LVL(1) | SNOOP(1) | LOCK(1) | TLB(1) | NUM(15) | BLK(1))

static struct data_src decode(u64 v)
{
	struct data_src d;

	data_src_decode(v, &d);
	return d;
}

static void nothing(void **state)
{
	static const u64 values[] = {0, NA, OP(1), LVL(1), NUM(15)};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct data_src d = decode(values[i]);

		assert_int_equal(d.op, 0);
		assert_int_equal(d.level, DATA_LEVEL_UNKNOWN);
		assert_int_equal(d.place, DATA_PLACE_UNKNOWN);
		assert_int_equal(d.snoop, DATA_SNOOP_UNKNOWN);
		assert_int_equal(d.tlb | d.hops | d.region, 0);
		assert_false(d.miss || d.locked || d.lock_known || d.blocked_data);
		assert_string_equal(data_source_name(&d), "");
	}
}

static void each_bit(void **state)
{
	static const struct {
		unsigned int bits;
		enum data_level level;
		enum data_place place;
	} old[] = {{8, DATA_L1, DATA_LOCAL}, {16, DATA_LFB, DATA_LOCAL}, {32, DATA_L2, DATA_LOCAL},
		{64, DATA_L3, DATA_LOCAL}, {128, DATA_RAM, DATA_LOCAL},
		{256, DATA_RAM, DATA_REMOTE}, {512, DATA_RAM, DATA_REMOTE},
		{1024, DATA_CACHE, DATA_REMOTE}, {2048, DATA_CACHE, DATA_REMOTE},
		{4096, DATA_IO, DATA_PLACE_UNKNOWN}, {8192, DATA_UNCACHED, DATA_PLACE_UNKNOWN}};
	static const enum data_level numbers[16] = {DATA_LEVEL_UNKNOWN, DATA_L1, DATA_L2, DATA_L3,
		DATA_L4, DATA_L2_MHB, DATA_MSC, DATA_L0, DATA_UNCACHED, DATA_CXL, DATA_IO,
		DATA_CACHE, DATA_LFB, DATA_RAM, DATA_PMEM, DATA_LEVEL_UNKNOWN};
	static const enum data_snoop snoops[] = {DATA_SNOOP_UNKNOWN, DATA_SNOOP_NONE,
		DATA_SNOOP_HIT, DATA_SNOOP_MISS, DATA_SNOOP_HITM};

	(void)state;
	for (u8 i = 1; i < 5; i++)
		assert_int_equal(decode(OP(1 << i)).op, 1 << (i - 1));
	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		assert_int_equal(decode(LVL(old[i].bits | 2)).level, old[i].level);
		assert_int_equal(decode(LVL(old[i].bits | 2)).place, old[i].place);
	}
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(decode(NUM(i)).level, numbers[i]);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(decode(SNOOP(1 << i)).snoop, snoops[i]);
	assert_true(decode(LVL(4)).miss);
	assert_true(decode(LOCK(2)).locked);
	assert_true(decode(LOCK(2)).lock_known);
	assert_false(decode(LOCK(1)).lock_known);
	for (u8 i = 1; i < 7; i++)
		assert_int_equal(decode(TLB(1 << i)).tlb, 1 << (i - 1));
	assert_int_equal(decode(REMOTE).place, DATA_REMOTE);
	assert_true(decode(SNOOPX(1)).forwarded);
	assert_true(decode(SNOOPX(2)).peer);
	assert_true(decode(BLK(2)).blocked_data);
	assert_true(decode(BLK(4)).blocked_address);
	for (u8 i = 1; i < 8; i++) {
		assert_int_equal(decode(HOPS(i)).hops, i);
		assert_int_equal(decode(HOPS(i)).place, i == 1 ? DATA_LOCAL : DATA_REMOTE);
	}
	for (u8 i = 0; i < 32; i++)
		assert_int_equal(decode(REGION(i)).region, i);
}

static void pairs(void **state)
{
	(void)state;
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 64; j++) {
			struct data_src d = decode(1ULL << i | 1ULL << j);

			assert_true(d.level < DATA_LEVELS);
			assert_non_null(data_source_name(&d));
		}
}

/* What processors write, and what it is to be called. */
static void processors(void **state)
{
	static const struct {
		u64 value;
		const char *name;
		enum data_place place;
	} codes[] = {
		/* Intel: Sapphire Rapids and before, pebs_data_source[] and pmem ones */
		{OP(2) | LVL(8 | 2) | NUM(1) | SNOOP(2), "L1", DATA_LOCAL},
		{OP(2) | LVL(16 | 2) | NUM(12) | SNOOP(2), "LFB", DATA_LOCAL},
		{OP(2) | LVL(64 | 2) | NUM(3) | SNOOP(16), "L3", DATA_LOCAL},
		{OP(2) | LVL(1024 | 2) | REMOTE | NUM(3) | SNOOP(4), "remote L3", DATA_REMOTE},
		{OP(2) | LVL(1024 | 2) | REMOTE | NUM(11) | SNOOP(16), "remote cache", DATA_REMOTE},
		{OP(2) | LVL(128 | 2) | NUM(13) | SNOOP(4), "local RAM", DATA_LOCAL},
		{OP(2) | LVL(256 | 2) | REMOTE | NUM(13) | SNOOP(2), "remote RAM", DATA_REMOTE},
		{OP(2) | NUM(14) | SNOOP(2), "local PMEM", DATA_LOCAL},
		{OP(2) | REMOTE | NUM(14) | SNOOP(2), "remote PMEM", DATA_REMOTE},
		{OP(4) | LVL(8 | 4), "L1", DATA_PLACE_UNKNOWN}, /* a store that missed L1 */
		/* AMD: g_data_src[] and g_zen4_data_src[] */
		{OP(2) | LVL(64 | 1024 | 2) | NUM(11) | HOPS(1), "cache of the node", DATA_LOCAL},
		{OP(2) | LVL(1024 | 2) | NUM(11) | REMOTE | HOPS(1), "cache of the node",
			DATA_LOCAL},
		{OP(2) | LVL(2048 | 2) | NUM(11) | REMOTE | HOPS(2), "remote cache", DATA_REMOTE},
		{OP(2) | LVL(256 | 2) | NUM(13) | REMOTE | HOPS(2), "remote RAM", DATA_REMOTE},
		{OP(2) | LVL(128 | 2) | NUM(13), "local RAM", DATA_LOCAL},
		{OP(2) | NUM(9), "CXL", DATA_PLACE_UNKNOWN},
		{OP(2) | LVL(4096 | 2) | NUM(10), "I/O", DATA_PLACE_UNKNOWN},
		{OP(2) | LVL(1) | NUM(15), "", DATA_PLACE_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct data_src d = decode(codes[i].value);

		assert_string_equal(data_source_name(&d), codes[i].name);
		assert_int_equal(d.place, codes[i].place);
	}
}

static void usable(void **state)
{
	struct data_src load = decode(OP(2) | NUM(13)), none = decode(NA), code = decode(OP(16));

	(void)state;
	assert_int_equal(data_src_use(&load, true, 0x1000), DATA_USABLE);
	assert_int_equal(data_src_use(&load, true, 0), DATA_NO_ADDRESS);
	assert_int_equal(data_src_use(&none, true, 0x1000), DATA_NO_ACCESS);
	assert_int_equal(data_src_use(&code, true, 0x1000), DATA_NO_ACCESS);
	assert_int_equal(data_src_use(&none, false, 0x1000), DATA_USABLE);
	assert_int_equal(data_src_use(&none, false, 0), DATA_NO_ADDRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),
		cmocka_unit_test(each_bit),
		cmocka_unit_test(pairs),
		cmocka_unit_test(processors),
		cmocka_unit_test(usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
