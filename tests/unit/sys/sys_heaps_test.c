/* Structures of allocators and runtimes: each is found where it holds, at any place; bytes of which
 * one matters that is another are refused, and nothing reads beyond what there is. */
#include "data/sys/fixture.h"

#include "sys/heap/heaps.h"
#include "sys/heap/hsperf.h"
#include "sys/heap/managed.h"

#define PAGE 4096ULL

static void test_tcmalloc(void **unused)
{
	/* system, free, unmapped, committed, scavenges, commits, bytes, decommits, bytes, ... */
	const u64 good[] = {90 * PAGE, 20 * PAGE, 30 * PAGE, 60 * PAGE, 1, 9, 95 * PAGE, 3,
		35 * PAGE, 8, 90 * PAGE};
	const size_t matters[] = {0, 2, 3, 6, 8, 10};
	u64 words[32] = {};
	struct heap_tcmalloc h = {};

	(void)unused;
	memcpy(words + 7, good, sizeof(good));
	assert_true(heap_tcmalloc_find(words, 32, &h));
	assert_int_equal(h.system_bytes, 90 * PAGE);
	assert_int_equal(h.free_bytes, 20 * PAGE);
	assert_int_equal(h.committed_bytes, 60 * PAGE);
	assert_false(heap_tcmalloc_find(words, 17, &h));
	assert_false(heap_tcmalloc_find(words, 0, &h));
	for (size_t i = 0; i < ARRAY_SIZE(matters); i++) {
		words[7 + matters[i]] += PAGE;
		assert_false(heap_tcmalloc_find(words, 32, &h));
		words[7 + matters[i]] -= PAGE;
	}
	/* more committed than there is, and so much given back that the sum is right again */
	words[7 + 3] = 95 * PAGE;
	words[7 + 2] = 0 - 5 * PAGE;
	words[7 + 8] = 0;
	assert_false(heap_tcmalloc_find(words, 32, &h));
}

static void test_go(void **unused)
{
	u64 words[16] = {[5] = 80 * 8192, 30 * PAGE, 20 * PAGE, 900000, 500000, 100 * 8192};
	const u64 ordinary[] = {65536, 0, 0, 3, 0, 0x7f12a0001000, 65536, 0, 0, 3, 0, 70000};
	const u64 mapped = 215 * PAGE;
	struct heap_go h = {};

	(void)unused;
	assert_true(heap_go_find(words, 16, mapped, &h));
	assert_int_equal(h.used_bytes, 80 * 8192);
	assert_int_equal(h.released_bytes, 30 * PAGE);
	assert_int_equal(h.free_bytes, 20 * PAGE);
	assert_int_equal(h.live_bytes, 400000);
	/* what is smaller than what was found elsewhere is not it */
	assert_false(heap_go_find(words, 16, mapped, &h));
	h = (struct heap_go){};
	assert_false(heap_go_find(words, 10, mapped, &h));
	assert_false(heap_go_find(words, 16, 100 * PAGE, &h)); /* more than its mappings */
	assert_false(heap_go_find(words, 16, 240 * PAGE, &h)); /* less than these */
	words[10] = 100 << 20;
	assert_false(heap_go_find(words, 16, mapped, &h)); /* much more */
	words[10] = 100 * 8192;
	words[9] = 900000;
	assert_false(heap_go_find(words, 16, mapped, &h)); /* all was freed */
	words[9] = 0;
	assert_false(heap_go_find(words, 16, mapped, &h)); /* more lives than is in use */
	assert_false(heap_go_find(ordinary, ARRAY_SIZE(ordinary), 64 << 20, &h));
}

/* The largest that looks so, wherever it lies. */
static void test_go_several(void **unused)
{
	const u64 small[] = {8192, 0, 0, 9, 3, 220 * PAGE};
	const u64 large[] = {160 * PAGE, 30 * PAGE, 20 * PAGE, 900000, 500000, 200 * PAGE};
	u64 words[32] = {};
	struct heap_go h = {};

	(void)unused;
	memcpy(words, small, sizeof(small));
	memcpy(words + 10, large, sizeof(large));
	memcpy(words + 20, small, sizeof(small));
	assert_true(heap_go_find(words, 32, 215 * PAGE, &h));
	assert_int_equal(h.used_bytes, 160 * PAGE);
}

static void test_python(void **unused)
{
	struct {
		u32 count, pad;
		u64 free, next, prev;
		u32 arena, size_index, next_offset, last_offset;
	} p = {.count = 7, .free = 4096, .arena = 3, .size_index = 2, .next_offset = 480};
	struct heap_python got = {};
	static const u32 pools[] = {4096, 16384}, aligns[] = {8, 16};

	(void)unused;
	for (size_t i = 0; i < 4; i++) {
		p.last_offset = pools[i / 2] - 3 * aligns[i % 2];
		assert_true(heap_python_pool(&p, &got));
		assert_int_equal(got.pool_bytes, pools[i / 2]);
		assert_int_equal(got.block_bytes, 3 * aligns[i % 2]);
		assert_int_equal(got.blocks, 7);
		assert_int_equal(got.arena, 3);
	}
	p.last_offset++;
	assert_false(heap_python_pool(&p, &got));
	p.last_offset--;
	p.count = 400;
	assert_false(heap_python_pool(&p, &got));
	memset(&p, 0, sizeof(p));
	assert_false(heap_python_pool(&p, &got));
	memset(&p, 0xff, sizeof(p));
	assert_false(heap_python_pool(&p, &got));
}

static void slice_put(u64 *words, u64 i, u32 slices, u32 capacity, u32 used, u32 block)
{
	u64 *w = words + 33 + 10 * i;

	w[0] = slices;
	w[1] = (u64)capacity << 16 | (u64)capacity << 32;
	w[3] = used | (u64)block << 32;
}

static void test_mimalloc(void **unused)
{
	_cleanup_free_ u64 *words = calloc(1, HEAP_MIMALLOC_HEAD);
	size_t n = HEAP_MIMALLOC_HEAD / 8;
	struct heap_mimalloc s = {};

	(void)unused;
	words[26] = 2;
	words[28] = 512;
	words[29] = 1;
	words[31] = 512;
	slice_put(words, 1, 1, 64, 10, 1000);
	slice_put(words, 2, 9, 8, 3, 65536);
	slice_put(words, 11, 501, 0, 0, 0);
	assert_true(heap_mimalloc_segment(words, n, &s));
	assert_int_equal(s.bytes, 512 * 65536);
	assert_int_equal(s.used_bytes, 10 * 1000 + 3 * 65536);
	for (u32 i = 0; i < HEAP_MIMALLOC_SLICES; i++)
		assert_int_equal(s.idle[i], i >= 11);
	assert_false(heap_mimalloc_segment(words, 1000, &s));
	slice_put(words, 2, 9, 8, 0, 65536); /* a page without a block in use */
	assert_true(heap_mimalloc_segment(words, n, &s));
	for (u32 i = 0; i < HEAP_MIMALLOC_SLICES; i++)
		assert_int_equal(s.idle[i], i >= 2);
	slice_put(words, 1, 1, 64, 65, 1000); /* more than there is */
	assert_false(heap_mimalloc_segment(words, n, &s));
	slice_put(words, 1, 0, 64, 10, 1000);
	assert_false(heap_mimalloc_segment(words, n, &s));
	slice_put(words, 1, 1, 64, 10, 1000);
	words[26] = 3; /* pages in use */
	assert_false(heap_mimalloc_segment(words, n, &s));
}

static void test_v8(void **unused)
{
	const u64 at = 0x7993ac0000;
	u64 words[] = {0x40000, 0x4, 0x27f53ec0, at + 0x1148, at + 0x40000, 0x3eeb0, 8, 0};
	struct heap_v8 c = {};

	(void)unused;
	assert_true(heap_v8_chunk(words, at, &c));
	assert_false(c.young);
	assert_int_equal(c.bytes, 0x40000);
	assert_int_equal(c.used_bytes, 0x3eeb0);
	words[1] = 0xa;
	assert_true(heap_v8_chunk(words, at, &c) && c.young);
	assert_false(heap_v8_chunk(words, at + 0x40000, &c));
	words[5] = 0x40000;
	assert_false(heap_v8_chunk(words, at, &c));
}

static void jemalloc_make(u64 *words)
{
	u64 *dirty = words + HEAP_JEMALLOC_DIRTY / 8, *bin = words + 79064 / 8;

	words[10656 / 8] = 100; /* active pages */
	for (u64 i = 0; i < 3; i++)
		dirty[i * 19440 / 8 + 1] = i + 1;
	dirty[0] = 30;
	dirty[-2 - 2 * 7] = 10 * PAGE; /* of two bins */
	dirty[-2 - 2 * 90] = 20 * PAGE;
	bin[0] = 700; /* blocks of 8 bytes */
	bin[1] = 100;
	bin[3] = 600;
	bin[6] = bin[8] = 2; /* slabs */
	words[69440 / 8] = 10000;
	words[69448 / 8] = 50000000;
}

static void test_jemalloc(void **unused)
{
	_cleanup_free_ u64 *words = calloc(1, HEAP_JEMALLOC_ARENA);
	size_t n = HEAP_JEMALLOC_ARENA / 8;
	struct heap_jemalloc a = {};

	(void)unused;
	assert_false(heap_jemalloc_arena(words, n, &a));
	jemalloc_make(words);
	assert_true(heap_jemalloc_may_be(words + HEAP_JEMALLOC_DIRTY / 8));
	assert_true(heap_jemalloc_arena(words, n, &a));
	assert_int_equal(a.active_bytes, 100 * PAGE);
	assert_int_equal(a.dirty_bytes, 30 * PAGE);
	assert_int_equal(a.retained_bytes, 0);
	assert_int_equal(a.used_bytes, 600 * 8 + 98 * PAGE);
	assert_int_equal(a.decay_ms, 10000);
	words[69440 / 8] = ~0ULL; /* never, whatever follows */
	assert_true(heap_jemalloc_arena(words, n, &a));
	assert_int_equal(a.decay_ms, -1);
	words[69440 / 8] = 0; /* at once; what is below is of muzzy pages */
	words[71232 / 8] = 7000;
	words[71240 / 8] = 7000 * 5000;
	assert_true(heap_jemalloc_arena(words, n, &a));
	assert_int_equal(a.decay_ms, 0);
	words[69440 / 8] = 10000;
	words[69448 / 8] = 7;
	assert_true(heap_jemalloc_arena(words, n, &a));
	assert_int_equal(a.decay_ms, HEAP_JEMALLOC_UNKNOWN);
	assert_false(heap_jemalloc_arena(words, n - 1, &a));
	words[HEAP_JEMALLOC_DIRTY / 8]++; /* not what its bins have */
	assert_false(heap_jemalloc_arena(words, n, &a));
	words[HEAP_JEMALLOC_DIRTY / 8]--;
	words[79064 / 8 + 3]++;
	assert_false(heap_jemalloc_arena(words, n, &a));
}

struct perf {
	u8 bytes[4096];
	size_t n;
};

static void put32(u8 *p, u32 v)
{
	memcpy(p, &v, sizeof(v));
}

static void entry_add(struct perf *f, const char *name, char type, const void *data, u32 size)
{
	u8 *e = f->bytes + f->n;
	u32 named = (u32)strlen(name) + 1, at = (20 + named + 7) & ~7U;
	u32 whole = (at + size + 7) & ~7U, count;

	put32(e, whole);
	put32(e + 4, 20);
	e[12] = (u8)type;
	put32(e + 16, at);
	memcpy(e + 20, name, named);
	memcpy(e + at, data, size);
	f->n += whole;
	memcpy(&count, f->bytes + 28, sizeof(count));
	put32(f->bytes + 28, count + 1);
}

static void number_add(struct perf *f, const char *name, u64 v)
{
	entry_add(f, name, 'J', &v, sizeof(v));
}

static void perf_make(struct perf *f)
{
	static const u8 head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};

	memcpy(f->bytes, head, sizeof(head));
	put32(f->bytes + 24, 32);
	f->n = 32;
	entry_add(f, "sun.gc.generation.1.name", 'B', "old", 4);
	entry_add(f, "sun.gc.generation.1.space.0.name", 'B', "space", 6);
	number_add(f, "sun.gc.generation.1.space.0.maxCapacity", 9000);
	number_add(f, "sun.gc.generation.1.space.0.capacity", 8000);
	number_add(f, "sun.gc.generation.1.space.0.used", 7000);
	/* as G1 says of a survivor space that it does not have */
	entry_add(f, "sun.gc.generation.1.space.1.name", 'B', "s0", 3);
	number_add(f, "sun.gc.generation.1.space.1.capacity", 8);
	number_add(f, "sun.gc.metaspace.capacity", 0);
}

/* Cut at every byte, and with every byte another, it is read or refused; the sanitizers watch. */
static void test_java(void **unused)
{
	struct perf f = {};
	struct managed m = {};
	size_t whole = 0;
	u64 v;

	(void)unused;
	perf_make(&f);
	assert_int_equal(managed_java(f.bytes, f.n, &m), 0);
	assert_int_equal(m.list.n, 1);
	assert_string_equal(m.list.v[0].name, "old");
	assert_int_equal(m.list.v[0].bytes[MANAGED_RESERVED], 9000);
	assert_int_equal(m.list.v[0].bytes[MANAGED_COMMITTED], 8000);
	assert_int_equal(m.list.v[0].bytes[MANAGED_USED], 7000);
	assert_int_equal(m.list.v[0].known, 7);
	assert_false(hsperf_number(f.bytes, f.n, "sun.gc", &v));
	for (size_t n = 0; n <= f.n; n++) {
		_cleanup_free_ u8 *cut = malloc(n + !n);

		memcpy(cut, f.bytes, n);
		whole += hsperf_number(cut, n, "sun.gc.metaspace.capacity", &v);
	}
	assert_int_equal(whole, 1);
	for (size_t i = 0; i < f.n; i++) {
		f.bytes[i] ^= 0xff;
		m.list.n = 0;
		assert_int_equal(managed_java(f.bytes, f.n, &m), 0);
		f.bytes[i] ^= 0xff;
	}
	managed_free(&m);
}

/* A name that begins so is not enough. */
static void test_files(void **unused)
{
	static const struct {
		const char *path;
		u32 by;
	} files[] = {{"/usr/bin/node", MANAGED_NODE}, {"/opt/node20", MANAGED_NODE},
		{"/usr/lib/libnode.so.108", MANAGED_NODE}, {"/usr/bin/node_exporter", MANAGED_BY},
		{"/usr/bin/nodeinfo", MANAGED_BY}, {"/usr/bin/python3.11", MANAGED_PYTHON},
		{"/usr/bin/python", MANAGED_PYTHON},
		{"/usr/lib/libpython3.11.so.1.0", MANAGED_PYTHON},
		{"/usr/bin/pythonista", MANAGED_BY}, {"/usr/lib/python_helper.so", MANAGED_BY},
		{"/usr/lib/libjemalloc.so.2", MANAGED_JEMALLOC},
		{"/usr/lib/libtcmalloc_minimal.so.4", MANAGED_TCMALLOC},
		{"/usr/lib/libmimalloc.so.2.0", MANAGED_MIMALLOC},
		{"/usr/lib/libmimalloc-secure.so.2", MANAGED_MIMALLOC},
		{"/usr/lib/jvm/lib/server/libjvm.so", MANAGED_JAVA},
		{"/usr/lib/libjvmti_agent.so", MANAGED_BY}, {"/usr/lib/libc.so.6", MANAGED_BY},
		{"", MANAGED_BY}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(managed_by_file(files[i].path), files[i].by);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcmalloc),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_go_several),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_mimalloc),
		cmocka_unit_test(test_v8),
		cmocka_unit_test(test_jemalloc),
		cmocka_unit_test(test_java),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
