/* What is read of another process, here of this one: nothing that is not there, no more than may be
 * read, and of structures that claim more than they can have, or lie within another, nothing. */
#include "data/sys/fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sys/managed.h"
#include "sys/process_heap.h"

#define PAGE 4096ULL
#define MIB (1ULL << 20)
#define SEGMENT (32 * MIB)
#define PLENTY (1ULL << 30)

/* Of the mapping, at an address that is a multiple of a segment; a page before it is a library's. */
struct room {
	u8 *whole, *at;
	u64 bytes;
	struct maps maps;
	struct managed got;
};

static void room_make(struct room *r, const char *library, u64 bytes)
{
	char text[512];
	u64 at;

	*r = (struct room){.bytes = bytes};
	r->whole = mmap(NULL, bytes + 2 * SEGMENT, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(r->whole != MAP_FAILED);
	assert_int_equal(madvise(r->whole, bytes + 2 * SEGMENT, MADV_NOHUGEPAGE), 0);
	at = ((u64)r->whole + 2 * PAGE + SEGMENT - 1) & ~(SEGMENT - 1);
	r->at = (u8 *)at;
	snprintf(text, sizeof(text),
		"%llx-%llx rw-p 0 08:01 7 /usr/lib/%s\n%llx-%llx rw-p 0 00:00 0 \n", at - 2 * PAGE,
		at - PAGE, library, at, at + bytes);
	r->at[-2 * (int)PAGE] = 1;
	assert_int_equal(maps_parse(text, &r->maps), 0);
}

static void room_end(struct room *r)
{
	munmap(r->whole, r->bytes + 2 * SEGMENT);
	maps_free(&r->maps);
	managed_free(&r->got);
}

/* The bytes that its parts have; returns whether it was cut. */
static bool room_read(struct room *r, u64 left, u64 *ret_committed, u64 *ret_reserved)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};

	*ret_committed = *ret_reserved = 0;
	assert_int_equal(outside_open(getpid(), &r->maps, left, &o), 0);
	assert_int_equal(managed_read(&o, &r->maps, &r->got), 0);
	vec_each (p, &r->got.list) {
		*ret_committed += p->bytes[MANAGED_COMMITTED];
		*ret_reserved += p->bytes[MANAGED_RESERVED];
	}
	assert_true(!o.cut || !o.left);
	return o.cut;
}

static void test_runs(void **unused)
{
	static const u64 touched[] = {3, 4, 5000, 5001, 5002, 9999};
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	struct outside_runs runs = {};
	struct room r;
	u64 at, n, k = 0;

	(void)unused;
	room_make(&r, "libc.so.6", 10000 * PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(touched); i++)
		r.at[touched[i] * PAGE] = 1;
	assert_int_equal(outside_open(getpid(), &r.maps, PLENTY, &o), 0);
	runs.at = (u64)r.at;
	runs.end = runs.at + r.bytes;
	while (outside_run(&o, &runs, &at, &n))
		for (u64 i = 0; i < n; i += PAGE)
			assert_int_equal((at + i - (u64)r.at) / PAGE, touched[k++]);
	assert_int_equal(k, ARRAY_SIZE(touched));
	/* of 40 MB that are not there next to nothing is read */
	assert_true(PLENTY - o.left < 256 << 10);
	assert_int_equal(outside_resident(&o, (u64)r.at, (u64)r.at + r.bytes), k * PAGE);
	room_end(&r);
}

static void test_budget(void **unused)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	u8 page[PAGE];
	u32 reads = 0;
	struct room r;

	(void)unused;
	room_make(&r, "libc.so.6", 2000 * PAGE);
	memset(r.at, 1, r.bytes);
	assert_int_equal(outside_open(getpid(), &r.maps, MIB, &o), 0);
	for (u32 i = 0; i < 2000; i++)
		reads += !outside_read(&o, (u64)r.at + i * PAGE, page, PAGE);
	assert_true(o.cut && !o.left);
	assert_true(reads > 100 && reads <= MIB / PAGE);
	assert_int_equal(outside_read(&o, (u64)r.at, page, 8), -ENODATA);
	room_end(&r);
}

static void segment_put(u8 *at, u64 bytes)
{
	u64 *w = (u64 *)at;

	w[26] = 1;
	w[28] = bytes / 65536;
	w[29] = 1;
	w[31] = 512;
	w[43] = 511;
	w[44] = 1ULL << 16 | 1ULL << 32;
	w[46] = 1 | 1000ULL << 32;
}

static void test_segments(void **unused)
{
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make(&r, "libmimalloc.so.2", 4 * SEGMENT);
	segment_put(r.at, SEGMENT);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(reserved, SEGMENT);
	assert_true(committed && committed < SEGMENT);
	/* what lies within another one is none of its own */
	segment_put(r.at + SEGMENT, 2 * SEGMENT);
	segment_put(r.at + 2 * SEGMENT, SEGMENT);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(reserved, 3 * SEGMENT);
	/* and none has more than there is without a file: 4 TiB, or a segment more */
	segment_put(r.at + SEGMENT, 1ULL << 42);
	segment_put(r.at + 2 * SEGMENT, 3 * SEGMENT);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(reserved, SEGMENT);
	room_end(&r);
}

static void chunk_put(u8 *at, u64 bytes)
{
	const u64 words[] = {bytes, 4, 0x27f53ec0, (u64)at + 0x1148, (u64)at + bytes, 0x100};

	memcpy(at, words, sizeof(words));
}

static void test_chunks(void **unused)
{
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make(&r, "libnode.so.108", MIB);
	chunk_put(r.at, MIB / 4);
	chunk_put(r.at + MIB / 2, MIB / 2);
	chunk_put(r.at + 3 * MIB / 4, MIB / 4);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 3 * MIB / 4);
	chunk_put(r.at + 3 * MIB / 4, MIB / 2);
	chunk_put(r.at + MIB / 2, 1ULL << 30);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, MIB / 4);
	room_end(&r);
}

/* Each search ends with what may be read, and the next one begins with nothing. */
static void test_searches(void **unused)
{
	static const char *const libraries[] = {"libjemalloc.so.2", "libtcmalloc.so.4",
		"libmimalloc.so.2", "libnode.so.108", "libpython3.11.so.1.0"};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		u64 committed, reserved;
		struct room r;

		room_make(&r, libraries[i], 8 * MIB);
		memset(r.at, 0, r.bytes);
		assert_true(room_read(&r, 100, &committed, &reserved));
		assert_int_equal(committed, 0);
		room_end(&r);
	}
}

/* What looks like many arenas of jemalloc's, a line of cache apart, costs no more than may be. */
static void test_hostile(void **unused)
{
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make(&r, "libjemalloc.so.2", 8 * MIB);
	for (u64 i = 0; i < r.bytes / 8; i++)
		((u64 *)r.at)[i] = i & 1;
	for (u64 i = 0; i < PAGE / 8; i++)
		((u64 *)(r.at - 2 * PAGE))[i] = (u64)r.at + i * 64;
	assert_true(room_read(&r, 4 * MIB, &committed, &reserved));
	assert_int_equal(committed, 0);
	assert_int_equal(r.got.seen, 1U << MANAGED_JEMALLOC);
	room_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_searches),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
