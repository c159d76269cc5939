/*
 * The verdicts of numa: each pattern of use, made up over random sizes, nodes, threads and noise,
 * on heap blocks, mappings, variables and stacks; alone and mixed; and programs that have none.
 */
#include "probes/numa/numa_trace.h"

#define ROUNDS 60
#define HEAP 0x10000000ULL
#define MAPS 0x7f0000000000ULL
#define DATA 0x400000ULL
#define STACKS 0x7e0000000000ULL

enum where { ON_HEAP, ON_MAP, ON_DATA, WHERES };

/* An object to play with: its own site (stack or name) by number. */
struct thing {
	u64 start, bytes;
	u32 number;
	s32 on;
};

static void variable(struct trace *t, u64 start, u64 bytes, u32 name)
{
	struct numa_variable v = TRACE_REC(struct numa_variable, REC_NUMA_VARIABLE, .tgid = PID,
		.start = start, .bytes = bytes, .name = name, .file = 77, .section = NUMA_DATA);

	v.h.time_ns = 0;
	assert_int_equal(numa_feed_take(t->feed, &v.h), 0);
}

static struct thing make(
	struct trace *t, enum where where, u32 number, u64 bytes, u32 tid, s32 node)
{
	struct thing x = {.bytes = bytes, .number = number, .on = node};
	u64 at = (u64)number << 32;

	if (where == ON_HEAP) {
		x.start = HEAP + at;
		trace_block(t, NUMA_BLOCK_ALLOC, x.start, bytes, tid, node, number);
	} else if (where == ON_MAP) {
		x.start = MAPS + at;
		trace_map(t, x.start, (bytes + 4095) & ~4095ULL, MAPPING_ANON, NUMA_MAP_MADE, tid,
			number);
	} else {
		x.start = DATA + at;
		trace_map(t, x.start, (bytes + 4095) & ~4095ULL, MAPPING_FILE, NUMA_MAP_HELD, 0, 0);
		variable(t, x.start, bytes, number);
	}
	return x;
}

static u64 any_offset(struct trace *t, u64 bytes)
{
	return (((u64)trace_any(t, 1U << 30) << 8) + trace_any(t, 256)) % bytes;
}

static void touch(struct trace *t, const struct thing *x, u64 offset, u32 tid, s32 from)
{
	trace_touch(t, (struct trace_access){.address = x->start + offset,
			       .tid = tid,
			       .from = from,
			       .on = x->on,
			       .op = (u8)(1 + trace_any(t, 2))});
}

/* A thread of each node: its number says which. */
static u32 thread_on(s32 node)
{
	return PID + 1 + (u32)node;
}

static u64 any_bytes(struct trace *t)
{
	return 8192ULL << trace_any(t, 10);
}

static u32 producer(struct trace *t, enum where where, u32 number)
{
	u32 uses = 200 + trace_any(t, 2000);
	s32 home = (s32)trace_any(t, t->nodes);
	s32 user = (home + 1 + (s32)trace_any(t, t->nodes - 1)) % (s32)t->nodes;
	struct thing x = make(t, where, number, any_bytes(t), thread_on(home), home);

	for (u32 i = 0; i < trace_any(t, uses / 4); i++)
		touch(t, &x, any_offset(t, x.bytes), thread_on(home), home);
	for (u32 i = 0; i < uses; i++)
		touch(t, &x, any_offset(t, x.bytes), thread_on(user), user);
	return NUMA_PRODUCER;
}

static u32 alternating(struct trace *t, enum where where, u32 number)
{
	s32 home = (s32)trace_any(t, t->nodes);
	struct thing x = make(t, where, number, any_bytes(t), thread_on(home), home);
	u32 turns = 6 + trace_any(t, 10);

	for (u32 turn = 0; turn < turns; turn++) {
		s32 node = (home + (s32)turn) % (s32)t->nodes;
		u32 uses = 60 + trace_any(t, 150);

		for (u32 i = 0; i < uses; i++)
			touch(t, &x, any_offset(t, x.bytes), thread_on(node), node);
	}
	return NUMA_ALTERNATING;
}

static u32 concurrent(struct trace *t, enum where where, u32 number)
{
	s32 home = (s32)trace_any(t, t->nodes);
	struct thing x = make(t, where, number, any_bytes(t), thread_on(home), home);
	u32 uses = 600 + trace_any(t, 3000);

	for (u32 i = 0; i < uses; i++) {
		s32 node = (s32)trace_any(t, t->nodes);

		touch(t, &x, any_offset(t, x.bytes), thread_on(node), node);
	}
	return NUMA_CONCURRENT;
}

static u32 parted(struct trace *t, enum where where, u32 number)
{
	s32 home = (s32)trace_any(t, t->nodes);
	u64 part = (64ULL << trace_any(t, 6)) * 4096;
	struct thing x = make(t, where, number, part * t->nodes, thread_on(home), home);
	u32 uses = 800 + trace_any(t, 3000);

	for (u32 i = 0; i < uses; i++) {
		s32 node = (s32)trace_any(t, t->nodes);

		touch(t, &x, part * (u64)node + any_offset(t, part), thread_on(node), node);
	}
	return NUMA_PARTITIONED;
}

/* Each thread has a line of its own in each of some pages. */
static u32 false_page(struct trace *t, enum where where, u32 number)
{
	s32 home = (s32)trace_any(t, t->nodes);
	u32 pages = 1 + trace_any(t, 4);
	struct thing x = make(t, where, number, pages * 4096ULL, thread_on(home), home);
	u32 uses = 1500 + trace_any(t, 3000);

	for (u32 i = 0; i < uses; i++) {
		s32 node = (s32)trace_any(t, t->nodes);

		touch(t, &x, trace_any(t, pages) * 4096ULL + (u64)node * 64 + trace_any(t, 8) * 8,
			thread_on(node), node);
	}
	return NUMA_FALSE_PAGE;
}

static u32 false_huge(struct trace *t, u32 number)
{
	s32 home = (s32)trace_any(t, t->nodes);
	u64 bytes = 2ULL << 20;
	struct thing x = make(t, ON_MAP, number, bytes, thread_on(home), home);
	u32 pages = 64, uses = 3000 + trace_any(t, 3000);

	for (u32 i = 0; i < uses; i++) {
		u32 page = trace_any(t, pages);
		s32 node = (s32)(page % t->nodes);

		trace_touch(t, (struct trace_access){
				       .address = x.start + page * 4096ULL + trace_any(t, 4096),
				       .tid = thread_on(node),
				       .from = node,
				       .on = home,
				       .page_shift = 21,
				       .op = NUMA_STORE});
	}
	return NUMA_FALSE_HUGE;
}

static u32 page_cache(struct trace *t, u32 number)
{
	struct thing x = {.start = MAPS + ((u64)number << 32), .bytes = 4ULL << 20};
	s32 user = 1 + (s32)trace_any(t, t->nodes - 1);
	struct numa_mapping m = TRACE_REC(struct numa_mapping, REC_NUMA_MAP, .tgid = PID,
		.tid = thread_on(user), .start = x.start, .bytes = x.bytes, .what = NUMA_MAP_MADE,
		.kind = MAPPING_FILE, .prot = 1, .shared = 1, .file = number);

	trace_take(t, &m);
	for (u32 i = 0; i < 1000; i++)
		touch(t, &x, any_offset(t, x.bytes), thread_on(user), user);
	return NUMA_PAGE_CACHE;
}

static u32 used_elsewhere(struct trace *t, enum where where, u32 number, bool made)
{
	s32 home = (s32)trace_any(t, t->nodes), now = (home + 1) % (s32)t->nodes;
	u32 tid = thread_on(home) + 100, uses = 300 + trace_any(t, 1000);
	struct thing x = make(t, where, number, any_bytes(t), made ? tid : tid - 100, home);
	struct numa_thread_move m = TRACE_REC(struct numa_thread_move, REC_NUMA_THREAD_MOVE,
		.tgid = PID, .tid = tid, .from_node = home, .to_node = now);

	for (u32 i = 0; made && i < uses / 5; i++)
		touch(t, &x, any_offset(t, x.bytes), tid, home);
	trace_take(t, &m);
	for (u32 i = 0; i < uses; i++)
		touch(t, &x, any_offset(t, x.bytes), tid, now);
	return made ? NUMA_MOVED_AWAY : NUMA_PRODUCER;
}

/* What a thread made, it uses, after it was moved. */
static u32 moved(struct trace *t, enum where where, u32 number)
{
	return used_elsewhere(t, where, number, true);
}

/* What another made is used by a thread that was put elsewhere as it began. */
static u32 put_there(struct trace *t, enum where where, u32 number)
{
	return used_elsewhere(t, where, number, false);
}

static u32 stack_moved(struct trace *t, u32 number)
{
	struct thing x = {.start = STACKS + ((u64)number << 32), .bytes = 1 << 20};
	u32 tid = PID + 50 + number;

	trace_map(t, x.start, x.bytes, MAPPING_ANON, NUMA_MAP_MADE, PID, 9000 + number);
	for (u32 i = 0; i < 600; i++) {
		u64 sp = x.start + x.bytes - 4096 - trace_any(t, 2048);

		trace_touch(t, (struct trace_access){.address = sp + trace_any(t, 1024),
				       .sp = sp,
				       .tid = tid,
				       .from = 1,
				       .on = 0,
				       .op = NUMA_STORE});
	}
	return NUMA_MOVED_AWAY;
}

static u32 slow_tier(struct trace *t, enum where where, u32 number, s32 tier)
{
	struct thing x = make(t, where, number, any_bytes(t), thread_on(0), 0);

	x.on = tier;
	for (u32 i = 0; i < 800; i++) {
		s32 node = (s32)trace_any(t, t->nodes);

		touch(t, &x, any_offset(t, x.bytes), thread_on(node), node);
	}
	return NUMA_SLOW_TIER;
}

static void local(struct trace *t, enum where where, u32 number, u32 uses)
{
	s32 node = (s32)trace_any(t, t->nodes);
	struct thing x = make(t, where, number, any_bytes(t), thread_on(node), node);

	for (u32 i = 0; i < uses; i++)
		touch(t, &x, any_offset(t, x.bytes), thread_on(node), node);
}

/* What is judged of the site of this number. */
static u32 verdict_of(struct trace *t, u32 number, u32 *ret_others)
{
	struct numa_groups g;
	u32 pattern = NUMA_NO_PATTERN;

	trace_attributed(t);
	assert_int_equal(numa_groups_make(t->feed, false, &g), 0);
	*ret_others = 0;
	for (u32 i = 0; i < g.list.n; i++) {
		const struct numa_site *s = &g.list.v[i].site;
		struct numa_verdict v = numa_judge(t->feed, &g, i);

		assert_true(v.saved_ratio >= 0 && v.saved_ratio <= 1);
		if (s->stack == number || s->name == number || s->file == number ||
			(s->kind == OBJECT_STACK && number == 0))
			pattern = v.pattern;
		else
			*ret_others += v.pattern > NUMA_THIN;
	}
	numa_groups_free(&g);
	return pattern;
}

struct score {
	u32 right, all, wrong_others;
};

static void score_add(struct score *s, struct trace *t, u32 number, u32 want)
{
	u32 others, got = verdict_of(t, number, &others);

	s->right += got == want;
	s->all++;
	s->wrong_others += others;
	if (got != want)
		print_message("seed: wanted '%s', judged '%s'\n", numa_pattern_name(want),
			numa_pattern_name(got));
	trace_close(t);
}

static void assert_right(const struct score *s)
{
	print_message("%u of %u right\n", s->right, s->all);
	assert_true(s->right * 100 >= s->all * 95);
	assert_int_equal(s->wrong_others, 0);
}

/* With a local object beside it, which is never named. */
static void each_where(u32 (*program)(struct trace *t, enum where where, u32 number))
{
	struct score s = {};

	for (u32 round = 0; round < ROUNDS; round++) {
		struct trace t;
		u32 want, nodes = 2 + 2 * (round % 2);

		trace_open(&t, round, nodes, nodes);
		local(&t, round % WHERES, 8, 400);
		want = program(&t, (round / 2) % WHERES, 5);
		score_add(&s, &t, 5, want);
	}
	assert_right(&s);
}

static void test_producer(void **state)
{
	(void)state;
	each_where(producer);
}

static void test_alternating(void **state)
{
	(void)state;
	each_where(alternating);
}

static void test_concurrent(void **state)
{
	(void)state;
	each_where(concurrent);
}

static void test_parted(void **state)
{
	(void)state;
	each_where(parted);
}

static void test_false_page(void **state)
{
	(void)state;
	each_where(false_page);
}

static void test_moved(void **state)
{
	(void)state;
	each_where(moved);
	each_where(put_there);
}

static void test_single(void **state)
{
	struct score s = {};

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct trace t;
		u32 nodes = 2 + 2 * (round % 2), want;

		trace_open(&t, round, nodes, nodes);
		want = false_huge(&t, 5);
		score_add(&s, &t, 5, want);
		trace_open(&t, round, nodes, nodes);
		want = page_cache(&t, 5);
		score_add(&s, &t, 5, want);
		trace_open(&t, round, nodes, nodes);
		want = stack_moved(&t, 5);
		score_add(&s, &t, 0, want);
		trace_open(&t, round, nodes + 1, nodes);
		want = slow_tier(&t, round % WHERES, 5, (s32)nodes);
		score_add(&s, &t, 5, want);
	}
	assert_right(&s);
}

/* Several patterns in one program, each found by its object. */
static void test_mixtures(void **state)
{
	struct score s = {};

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		u32 (*const programs[])(struct trace * t, enum where where, u32 number) = {
			producer, alternating, concurrent, parted, false_page, moved};
		u32 a = round % ARRAY_SIZE(programs), b = (a + 1 + round / 6 % 5) % 6, others;
		struct trace t;
		u32 wants[2];

		trace_open(&t, round + 1000, 4, 4);
		wants[0] = programs[a](&t, ON_HEAP, 5);
		wants[1] = programs[b](&t, ON_MAP, 6);
		local(&t, ON_DATA, 8, 1000);
		s.right += verdict_of(&t, 5, &others) == wants[0];
		s.right += verdict_of(&t, 6, &others) == wants[1];
		s.all += 2;
		trace_close(&t);
	}
	assert_right(&s);
}

static void test_all_local(void **state)
{
	(void)state;
	for (u32 round = 0; round < 3 * ROUNDS; round++) {
		struct numa_groups g;
		struct trace t;
		double ratio;
		s32 node;

		trace_open(&t, round, 4, 4);
		for (u32 i = 0; i < 10; i++)
			local(&t, i % WHERES, 10 + i, trace_any(&t, 600));
		trace_attributed(&t);
		assert_int_equal(numa_groups_make(t.feed, false, &g), 0);
		for (u32 i = 0; i < g.list.n; i++)
			assert_true(numa_judge(t.feed, &g, i).pattern <= NUMA_THIN);
		assert_false(numa_all_on_one(&g, &node, &ratio));
		numa_groups_free(&g);
		trace_close(&t);
	}
}

/* A few samples are no verdict, however remote. */
static void test_thin(void **state)
{
	struct thing x;
	struct trace t;
	u32 others;

	(void)state;
	trace_open(&t, 3, 2, 2);
	t.noise_percent = 0;
	x = make(&t, ON_HEAP, 5, 65536, thread_on(0), 0);
	for (u32 i = 0; i < NUMA_MIN_SAMPLES - 10; i++)
		touch(&t, &x, any_offset(&t, x.bytes), thread_on(1), 1);
	assert_int_equal(verdict_of(&t, 5, &others), NUMA_THIN);
	trace_close(&t);
}

/* Many small objects, each handed over once. */
static void test_many_objects(void **state)
{
	struct numa_groups g;
	struct trace t;

	(void)state;
	trace_open(&t, 9, 2, 2);
	t.noise_percent = 0;
	for (u32 i = 0; i < 500; i++) {
		struct thing x = {.start = HEAP + (u64)(i % 16) * 256, .bytes = 200, .on = 0};

		trace_block(&t, NUMA_BLOCK_ALLOC, x.start, x.bytes, thread_on(0), 0, 5);
		touch(&t, &x, 8, thread_on(0), 0);
		for (u32 k = 0; k < 4; k++)
			touch(&t, &x, trace_any(&t, 200), thread_on(1), 1);
		trace_block(&t, NUMA_BLOCK_FREE, x.start, 0, thread_on(1), 1, 0);
	}
	trace_attributed(&t);
	assert_int_equal(numa_groups_make(t.feed, false, &g), 0);
	assert_int_equal(g.list.n, 1);
	assert_int_equal(g.list.v[0].n, 500);
	assert_int_equal(g.list.v[0].frees, 500);
	assert_int_equal(g.list.v[0].remote_frees, 500);
	assert_int_equal(g.list.v[0].shared_objects, 500);
	assert_int_equal(g.list.v[0].before_sharing, 500);
	assert_int_equal(g.list.v[0].by_allocator, 500);
	assert_int_equal(numa_judge(t.feed, &g, 0).pattern, NUMA_PRODUCER);
	numa_groups_free(&g);
	trace_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_producer),
		cmocka_unit_test(test_alternating),
		cmocka_unit_test(test_concurrent),
		cmocka_unit_test(test_parted),
		cmocka_unit_test(test_false_page),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_all_local),
		cmocka_unit_test(test_thin),
		cmocka_unit_test(test_many_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
