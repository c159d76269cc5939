/* What is read of another process, here of this one: nothing that is not there, no more than may be
 * read, and of structures that claim more than they can have, or lie within another, nothing. */
#include "data/sys/fixture.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/heap/heaps.h"
#include "sys/heap/managed.h"
#include "sys/heap/process_heap.h"

#define PAGE 4096ULL
#define MIB (1ULL << 20)
#define SEGMENT (32 * MIB)
#define PLENTY (1ULL << 30)

/* Of the mapping, at an address that is a multiple of a segment; what is before it, but for a page,
 * is a library's. */
struct room {
	u8 *whole, *at, *library;
	u64 bytes;
	struct maps maps;
	struct managed got;
};

static void room_make_beside(struct room *r, const char *library, u64 library_bytes, u64 bytes)
{
	char text[512];
	u64 at;

	*r = (struct room){.bytes = bytes};
	r->whole = mmap(NULL, bytes + 2 * SEGMENT, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(r->whole != MAP_FAILED);
	/* EINVAL: the kernel has no huge pages */
	assert_true(!madvise(r->whole, bytes + 2 * SEGMENT, MADV_NOHUGEPAGE) || errno == EINVAL);
	at = ((u64)r->whole + PAGE + library_bytes + SEGMENT - 1) & ~(SEGMENT - 1);
	r->at = (u8 *)at;
	r->library = r->at - PAGE - library_bytes;
	snprintf(text, sizeof(text),
		"%llx-%llx rw-p 0 08:01 7 /usr/lib/%s\n%llx-%llx rw-p 0 00:00 0 \n",
		(u64)r->library, at - PAGE, library, at, at + bytes);
	r->library[0] = 1;
	assert_int_equal(maps_parse(text, &r->maps), 0);
}

static void room_make(struct room *r, const char *library, u64 bytes)
{
	room_make_beside(r, library, PAGE, bytes);
}

static void room_end(struct room *r)
{
	munmap(r->whole, r->bytes + 2 * SEGMENT);
	maps_free(&r->maps);
	managed_free(&r->got);
}

/* The bytes that its parts have; returns whether it was cut. *left: of what may be read. */
static bool room_read_of(struct room *r, u64 *left, u64 *ret_committed, u64 *ret_reserved)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};

	*ret_committed = *ret_reserved = 0;
	assert_int_equal(outside_open(getpid(), &r->maps, *left, &o), 0);
	assert_int_equal(managed_read(&o, &r->maps, true, &r->got), 0);
	vec_each (p, &r->got.list) {
		*ret_committed += p->bytes[MANAGED_COMMITTED];
		*ret_reserved += p->bytes[MANAGED_RESERVED];
	}
	assert_true(!o.cut || !o.left);
	*left = o.left;
	return o.cut;
}

static bool room_read(struct room *r, u64 left, u64 *ret_committed, u64 *ret_reserved)
{
	return room_read_of(r, &left, ret_committed, ret_reserved);
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

/* As heaps.c has them. */
static void arena_put(u8 *at, u64 active_pages, u64 decay_ms)
{
	u64 *w = (u64 *)at;

	memset(at, 0, HEAP_JEMALLOC_ARENA);
	w[10656 / 8] = active_pages;
	for (u64 i = 0; i < 3; i++)
		w[(HEAP_JEMALLOC_DIRTY + i * 19440) / 8 + 1] = i + 1;
	w[69440 / 8] = decay_ms;
	w[69448 / 8] = decay_ms * 5000;
}

static void arenas_make(struct room *r)
{
	u64 *pointers = (u64 *)r->library;

	for (u64 i = 0; i < 4; i++) {
		pointers[300 + i] = (u64)r->at + i * 128 * 1024;
		arena_put(r->at + i * 128 * 1024, 100, 10000);
	}
}

static void page_heap_make(struct room *r)
{
	const u64 words[] = {90 * PAGE, 20 * PAGE, 30 * PAGE, 60 * PAGE, 1, 9, 95 * PAGE, 3,
		35 * PAGE, 8, 90 * PAGE};

	memset(r->library, 1, (u64)(r->at - PAGE - r->library));
	memcpy(r->at - 2 * PAGE, words, sizeof(words));
}

static void segments_make(struct room *r)
{
	segment_put(r->at, SEGMENT);
	segment_put(r->at + SEGMENT, SEGMENT);
}

static void chunks_make(struct room *r)
{
	for (u64 i = 0; i < 8; i++)
		chunk_put(r->at + i * MIB / 4, MIB / 4);
}

/* Pools of blocks of 48 bytes, 64 to an arena. */
static void pools_make(struct room *r)
{
	for (u64 i = 0; i < 512; i++) {
		u64 pool[] = {7, PAGE, 0, 0, i / 64 | 2ULL << 32, 480 | (PAGE - 48) << 32};

		memcpy(r->at + i * PAGE, pool, sizeof(pool));
	}
}

/* Wherever what may be read ends, within a search, what was found until then is told, and what all
 * may be read for comes out whole. */
static void test_searches(void **unused)
{
	static const struct {
		const char *library;
		void (*make)(struct room *r);
		u64 committed; /* 0: what is resident of it */
		bool parts;    /* of several structures */
	} of[] = {
		{"libjemalloc.so.2", arenas_make, 400 * PAGE, true},
		{"libtcmalloc.so.4", page_heap_make, 60 * PAGE, false},
		{"libmimalloc.so.2", segments_make, 0, true},
		{"libnode.so.108", chunks_make, 2 * MIB, true},
		{"libpython3.11.so.1.0", pools_make, 2 * MIB, true},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		u64 all, committed, before = 0, reserved, left = PLENTY, need;
		u32 in_part = 0;
		struct room r;

		room_make_beside(&r, of[i].library, MIB, 2 * SEGMENT);
		of[i].make(&r);
		assert_false(room_read_of(&r, &left, &all, &reserved));
		assert_true(of[i].committed ? all == of[i].committed : all > 0);
		need = PLENTY - left;
		for (u64 may = 0; may < need; may += need / 50 + 1) {
			assert_true(room_read(&r, may, &committed, &reserved));
			assert_true(committed >= before && committed <= all);
			before = committed;
			in_part += committed && committed < all;
		}
		assert_true(!of[i].parts || in_part);
		assert_false(room_read(&r, need, &committed, &reserved));
		assert_int_equal(committed, all);
		room_end(&r);
	}
}

/* What arenas say is told of all together: a time that not all have is not known, and what is more
 * than there is of memory without a file is none of jemalloc's. */
static void test_arenas(void **unused)
{
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make(&r, "libjemalloc.so.2", 8 * MIB);
	arenas_make(&r);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(r.got.list.v[0].decay_ms, 10000);
	arena_put(r.at + 128 * 1024, 100, 5000);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(r.got.list.v[0].decay_ms, HEAP_JEMALLOC_UNKNOWN);
	arena_put(r.at + 128 * 1024, 3000, 10000);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 3300 * PAGE);
	arena_put(r.at + 128 * 1024, 1 << 20, 10000);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 0);
	assert_int_equal(r.got.seen, 1U << MANAGED_JEMALLOC);
	room_end(&r);
}

/* Each pool says that it is of another arena: together they have no more than there is. */
static void test_pools(void **unused)
{
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make(&r, "libpython3.11.so.1.0", 4 * MIB);
	pools_make(&r);
	for (u64 i = 0; i < 512; i++)
		((u32 *)(r.at + i * PAGE))[8] = (u32)i;
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 4 * MIB);
	room_end(&r);
}

/* Of more variables than are looked through, the first ones are. Without a file there are none. */
static void test_data(void **unused)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	struct process_heap heap = {};
	struct maps maps = {};
	char text[64];
	u64 committed, reserved;
	struct room r;

	(void)unused;
	room_make_beside(&r, "libtcmalloc.so.4", 20 * MIB, MIB);
	page_heap_make(&r);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 0); /* it is behind these */
	memcpy(r.library + MIB, r.at - 2 * PAGE, PAGE);
	assert_false(room_read(&r, PLENTY, &committed, &reserved));
	assert_int_equal(committed, 60 * PAGE);
	room_end(&r);

	room_make(&r, "libc.so.6", MIB);
	snprintf(text, sizeof(text), "%llx-%llx rw-p 0 00:00 0 \n", (u64)r.at, (u64)r.at + MIB);
	assert_int_equal(maps_parse(text, &maps), 0);
	assert_int_equal(outside_open(getpid(), &maps, PLENTY, &o), 0);
	assert_int_equal(process_heap_read(&o, &maps, &heap), 0);
	assert_false(heap.found);
	assert_int_equal(managed_read(&o, &maps, true, &r.got), 0);
	assert_int_equal(r.got.list.n, 0);
	/* all that is read is where a segment of mimalloc would begin, which has no file */
	assert_true(PLENTY - o.left <= 4 * PAGE);
	maps_free(&maps);
	room_end(&r);
}

#define THREADS 6
#define BLOCKS 500

static pthread_barrier_t filled, looked;

static void *arena_fill(void *arg)
{
	void *blocks[BLOCKS];

	for (u32 i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(4000);
		assert_non_null(blocks[i]);
		memset(blocks[i], 1, 4000);
	}
	for (u32 i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	pthread_barrier_wait(&filled);
	pthread_barrier_wait(&looked);
	for (u32 i = 1; i < BLOCKS; i += 2)
		free(blocks[i]);
	return arg;
}

static void heap_look(u64 left, u64 *ret_left, struct process_heap *ret)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	struct maps maps = {};

	assert_int_equal(maps_read(getpid(), &maps), 0);
	assert_int_equal(outside_open(getpid(), &maps, left, &o), 0);
	assert_int_equal(process_heap_read(&o, &maps, ret), 0);
	*ret_left = o.left;
	maps_free(&maps);
}

/* Where what may be read ends within the blocks, the arenas and what they have from the kernel are
 * known all the same: what was not walked is no less than what was. */
static void test_heap_in_part(void **unused)
{
	struct process_heap all = {}, part = {};
	pthread_t threads[THREADS];
	u64 left, none, partial = 0;

	(void)unused;
	assert_int_equal(pthread_barrier_init(&filled, NULL, THREADS + 1), 0);
	assert_int_equal(pthread_barrier_init(&looked, NULL, THREADS + 1), 0);
	for (u32 i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, arena_fill, NULL), 0);
	pthread_barrier_wait(&filled);
	heap_look(PLENTY, &left, &all);
	heap_look((PLENTY - left) / 2, &none, &part);
	assert_true(all.found && part.found);
	assert_int_equal(part.arenas.list.n, all.arenas.list.n);
	for (size_t i = 0; i < all.arenas.list.n; i++) {
		assert_int_equal(
			part.arenas.list.v[i].system_bytes, all.arenas.list.v[i].system_bytes);
		partial += part.arenas.list.v[i].partial;
	}
	assert_true(partial || all.arenas.list.n < THREADS); /* the sanitizers have their own */
	pthread_barrier_wait(&looked);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	process_heap_free(&all);
	process_heap_free(&part);
}

/* Two allocators may be linked into a program: its data is read once. */
static void test_program(void **unused)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	struct maps maps = {};
	char text[256];
	struct room r;

	(void)unused;
	room_make_beside(&r, "none", MIB, MIB);
	page_heap_make(&r);
	snprintf(text, sizeof(text),
		"1000-2000 r-xp 0 08:01 7 /usr/bin/x\n%llx-%llx rw-p 0 08:01 7 /usr/bin/x\n"
		"%llx-%llx rw-p 0 00:00 0 \n",
		(u64)r.library, (u64)r.library + MIB, (u64)r.at, (u64)r.at + MIB);
	assert_int_equal(maps_parse(text, &maps), 0);
	assert_int_equal(outside_open(getpid(), &maps, PLENTY, &o), 0);
	assert_int_equal(managed_read(&o, &maps, true, &r.got), 0);
	assert_int_equal(r.got.seen, 1U << MANAGED_TCMALLOC);
	assert_true(PLENTY - o.left > MIB && PLENTY - o.left < 3 * MIB / 2);
	maps_free(&maps);
	room_end(&r);
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
		((u64 *)r.library)[i] = (u64)r.at + i * 64;
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
		cmocka_unit_test(test_arenas),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_heap_in_part),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
