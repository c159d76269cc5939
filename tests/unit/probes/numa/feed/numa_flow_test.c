/*
 * The feed of numa: records out of order become the same objects and flows as in order; lifetimes
 * (reuse, realloc, mremap, fork, exec), variables, stacks, huge pages; what is late or damaged is
 * counted. handed_over() is an analysis of one's own over the flows, as numa_feed.h invites to.
 */
#include "probes/numa/numa_trace.h"

#include "base/vec.h"

static struct trace t;

static int setup(void **state)
{
	(void)state;
	trace_open(&t, 1, 2, 2);
	t.noise_percent = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	trace_close(&t);
	return 0;
}

static void touch(u64 address, u32 tid, s32 from)
{
	trace_touch(&t, (struct trace_access){.address = address, .tid = tid, .from = from});
}

/* The object of the n-th access of all, and what it is. */
static u32 object_of(u32 n, struct object *ret)
{
	struct numa_flow flow = numa_flow_all(t.feed);
	const struct numa_access *a = NULL;

	for (u32 i = 0; i <= n; i++)
		a = numa_flow_next(&flow);
	assert_non_null(a);
	assert_true(numa_object(t.feed, a->object, ret));
	return a->object;
}

/*
 * An analysis of one's own: of the objects that two threads touched, how many had all accesses of
 * the first before any of the second.
 */
static u32 handed_over(struct numa_feed *f)
{
	u32 count = 0;

	for (u32 i = 0; i < numa_objects(f); i++) {
		struct numa_flow flow = numa_flow_object(f, i);
		const struct numa_access *a = numa_flow_next(&flow);
		u32 first = a ? a->thread : NUMA_NONE, last = first, changes = 0;

		while ((a = numa_flow_next(&flow))) {
			changes += a->thread != last;
			last = a->thread;
		}
		count += changes == 1 && last != first;
	}
	return count;
}

static void test_own_analysis(void **state)
{
	struct numa_flow flow;
	u32 n = 0;

	(void)state;
	for (u32 i = 0; i < 20; i++) {
		trace_block(&t, NUMA_BLOCK_ALLOC, 0x10000 + i * 256, 200, PID, 0, 5);
		touch(0x10000 + i * 256, PID, 0);
		touch(0x10000 + i * 256 + 199, PID + 1, 1);
		if (i % 2)
			touch(0x10000 + i * 256, PID, 0);
	}
	trace_attributed(&t);
	assert_int_equal(handed_over(t.feed), 10);
	flow = numa_flow_thread(t.feed, numa_thread_find(t.feed, PID, PID + 1));
	while (numa_flow_next(&flow))
		n++;
	assert_int_equal(n, 20);
}

static void test_reuse_and_realloc(void **state)
{
	struct object first, second, third;
	struct numa_block r = TRACE_REC(struct numa_block, REC_NUMA_BLOCK, .tgid = PID, .tid = PID,
		.address = 0x20000, .bytes = 400, .old_address = 0x10000,
		.what = NUMA_BLOCK_REALLOC, .ustack = 7);

	(void)state;
	trace_block(&t, NUMA_BLOCK_ALLOC, 0x10000, 200, PID, 0, 5);
	touch(0x10000, PID, 0);
	trace_block(&t, NUMA_BLOCK_FREE, 0x10000, 0, PID + 1, 1, 0);
	trace_block(&t, NUMA_BLOCK_ALLOC, 0x10000, 200, PID, 0, 6);
	touch(0x10000, PID, 0);
	trace_take(&t, &r);
	touch(0x20000 + 399, PID, 0);
	trace_attributed(&t);
	assert_int_not_equal(object_of(0, &first), object_of(1, &second));
	object_of(2, &third);
	assert_int_equal(first.stack, 5);
	assert_int_equal(first.free_node, 1);
	assert_int_equal(numa_thread(t.feed, first.freer)->tid, PID + 1);
	assert_int_equal(second.stack, 6);
	assert_true(second.begin_ns >= first.end_ns);
	assert_int_equal(third.stack, 7);
}

/* A big realloc is an mremap first: the same object, elsewhere. */
/* As the tracker tells: at the first access, or, where its allocator wrote to it before, as it is
 * returned. What was unmapped in between was not it. */
static void test_blocks_told_late(void **state)
{
	struct numa_block held = TRACE_REC(struct numa_block, REC_NUMA_BLOCK, .tgid = PID,
		.tid = PID, .address = 0x10000, .bytes = 8192, .what = NUMA_BLOCK_HELD, .ustack = 7,
		.begin_ns = 1000);
	struct numa_block early = held;
	struct object o;
	u64 begin;

	(void)state;
	trace_map(&t, 0x10000, 0x10000, MAPPING_ANON, NUMA_MAP_MADE, PID, 1);
	trace_take(&t, &held);
	touch(0x11fff, PID, 0);
	trace_block(&t, NUMA_BLOCK_FREE, 0x10000, 0, PID, 0, 0);
	touch(0x14000, PID, 0); /* before: another mapping */
	trace_map(&t, 0x10000, 0x10000, MAPPING_ANON, NUMA_MAP_MADE, PID, 2);
	begin = t.time_ns;
	touch(0x14000, PID, 0);     /* calloc */
	touch(0x14000, PID + 1, 0); /* somebody else */
	touch(0x13fe8, PID, 0);     /* the word before it */
	touch(0x17000, PID, 0);     /* elsewhere */
	early.h.flags = NUMA_BLOCK_EARLY;
	early.address = 0x14000;
	early.begin_ns = begin;
	trace_take(&t, &early);
	trace_attributed(&t);
	object_of(0, &o);
	assert_int_equal(o.kind, OBJECT_BLOCK);
	assert_int_equal(o.begin_ns, 1000);
	assert_int_equal(o.stack, 7);
	object_of(1, &o);
	assert_int_equal(o.stack, 1);
	object_of(2, &o);
	assert_int_equal(o.kind, OBJECT_BLOCK);
	object_of(3, &o);
	assert_int_equal(o.kind, OBJECT_ANON);
	object_of(4, &o);
	assert_int_equal(o.kind, OBJECT_BLOCK);
	object_of(5, &o);
	assert_int_equal(o.stack, 2);
}

static void test_mremap_with_block(void **state)
{
	struct numa_mapping m = TRACE_REC(struct numa_mapping, REC_NUMA_MAP, .tgid = PID,
		.tid = PID, .old_start = 0x7f0000000000, .old_bytes = 0x10000,
		.start = 0x7e0000000000, .bytes = 0x20000, .what = NUMA_MAP_MOVED);
	struct numa_block r = TRACE_REC(struct numa_block, REC_NUMA_BLOCK, .tgid = PID, .tid = PID,
		.address = 0x7e0000000010, .bytes = 0x1f000, .old_address = 0x7f0000000010,
		.what = NUMA_BLOCK_REALLOC, .ustack = 7);
	struct object before, after;

	(void)state;
	trace_map(&t, 0x7f0000000000, 0x10000, MAPPING_ANON, NUMA_MAP_MADE, PID, 4);
	trace_block(&t, NUMA_BLOCK_ALLOC, 0x7f0000000010, 0xf000, PID, 0, 5);
	touch(0x7f0000000800, PID, 0);
	trace_take(&t, &m);
	trace_take(&t, &r);
	touch(0x7e000001e000, PID, 1);
	trace_attributed(&t);
	assert_int_equal(object_of(0, &before), object_of(1, &after));
	assert_int_equal(after.start, 0x7e0000000010);
	assert_int_equal(after.stack, 5);
}

static void test_fork_and_exec(void **state)
{
	struct numa_task fork = TRACE_REC(struct numa_task, REC_NUMA_TASK, .tgid = 200, .tid = 200,
		.parent = PID, .what = NUMA_TASK_FORK);
	struct numa_task exec = TRACE_REC(
		struct numa_task, REC_NUMA_TASK, .tgid = 200, .tid = 200, .what = NUMA_TASK_EXEC);
	struct numa_sample s = TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = 200,
		.tid = 200, .address = 0x10010, .cpu_node = 1, .page_node = 0);
	struct numa_variable v = TRACE_REC(struct numa_variable, REC_NUMA_VARIABLE, .tgid = PID,
		.start = 0x400100, .bytes = 64, .name = 9, .section = NUMA_BSS);
	struct object parent, child, variable;

	(void)state;
	v.h.time_ns = 0;
	assert_int_equal(numa_feed_take(t.feed, &v.h), 0);
	trace_map(&t, 0x400000, 0x1000, MAPPING_FILE, NUMA_MAP_HELD, 0, 0);
	trace_block(&t, NUMA_BLOCK_ALLOC, 0x10000, 200, PID, 0, 5);
	touch(0x10000, PID, 0);
	trace_take(&t, &fork);
	trace_take(&t, &s);
	s.h.time_ns = 1;
	s.address = 0x400110;
	trace_take(&t, &s);
	trace_take(&t, &exec);
	s.h.time_ns = 1;
	s.address = 0x10010;
	trace_take(&t, &s);
	assert_int_equal(numa_feed_finish(t.feed), 0);
	assert_int_not_equal(object_of(0, &parent), object_of(1, &child));
	assert_int_equal(child.tgid, 200);
	assert_int_equal(child.stack, 5);
	assert_int_not_equal(child.from, NUMA_NONE);
	object_of(2, &variable);
	assert_int_equal(variable.kind, OBJECT_VARIABLE);
	assert_int_equal(variable.name, 9);
	assert_int_equal(variable.tgid, 200);
	/* What it maps now is not known yet. */
	assert_int_equal(numa_unattributed(t.feed, NUMA_WHY_NO_MAPS), 1);
}

/* Threads that have the same stack, one after the other: each has its own copy of a thread-local
 * variable in it, also where it is told of only at the end. */
static void test_thread_local(void **state)
{
	struct numa_variable v = TRACE_REC(struct numa_variable, REC_NUMA_VARIABLE, .tgid = PID,
		.start = 0x7f00000ff000, .bytes = 0x800, .name = 9, .section = NUMA_TLS);
	const u32 threads = 40;
	u64 begins[40];
	struct object o;

	(void)state;
	trace_map(&t, 0x7f0000000000, 0x100000, MAPPING_STACK, NUMA_MAP_MADE, PID, 4);
	for (u32 i = 0; i < threads; i++) {
		struct numa_task begin = TRACE_REC(struct numa_task, REC_NUMA_TASK, .tgid = PID,
			.tid = PID + 1 + i, .what = NUMA_TASK_THREAD, .tls = 0x7f00000ff900);

		trace_take(&t, &begin);
		begins[i] = t.time_ns;
		trace_touch(
			&t, (struct trace_access){.address = 0x7f00000ff7ff, .tid = PID + 1 + i});
		/* Another thread's access, and one beside it. */
		touch(0x7f00000ff000, PID, 0);
		touch(0x7f00000ff800, PID, 0);
	}
	for (u32 i = 0; i < threads; i++) {
		v.h.time_ns = begins[i];
		v.tid = PID + 1 + i;
		assert_int_equal(numa_feed_take(t.feed, &v.h), 0);
	}
	trace_attributed(&t);
	for (u32 i = 0; i < threads; i++) {
		assert_int_equal(object_of(3UL * i, &o), object_of(3UL * i + 1, &o));
		assert_int_equal(o.kind, OBJECT_VARIABLE);
		assert_int_equal(o.section, NUMA_TLS);
		assert_int_equal(numa_thread(t.feed, o.thread)->tid, PID + 1 + i);
		object_of(3UL * i + 2, &o);
		assert_int_equal(o.kind, OBJECT_STACK);
	}
}

/* Whoever's stack pointer is in a mapping, it is that thread's stack, also before. */
static void test_stacks(void **state)
{
	struct object o;

	(void)state;
	trace_map(&t, 0x7f0000000000, 0x100000, MAPPING_ANON, NUMA_MAP_MADE, PID, 4);
	touch(0x7f00000ff000, PID, 0);
	trace_touch(&t, (struct trace_access){.address = 0x7f00000fe000,
				.sp = 0x7f00000fdff0,
				.tid = PID + 1,
				.from = 1});
	/* A main thread's, of which no mapping tells. */
	trace_touch(&t,
		(struct trace_access){
			.address = 0x7ffff000e000, .sp = 0x7ffff000dff0, .tid = PID, .from = 1});
	trace_attributed(&t);
	assert_int_equal(object_of(0, &o), object_of(1, &o));
	assert_int_equal(o.kind, OBJECT_STACK);
	assert_int_equal(numa_thread(t.feed, o.thread)->tid, PID + 1);
	object_of(2, &o);
	assert_int_equal(o.kind, OBJECT_STACK);
	assert_int_equal(numa_thread(t.feed, o.thread)->tid, PID);
}

/* A mapping that goes on above the thread's own block was merged with its stack. */
static void test_merged_stack(void **state)
{
	struct numa_task held =
		TRACE_REC(struct numa_task, REC_NUMA_TASK, .tgid = PID, .what = NUMA_TASK_HELD);
	struct object o;

	(void)state;
	for (u32 merged = 0; merged < 2; merged++) {
		u64 base = 0x7f0000000000 + merged * 0x10000000ULL;

		trace_map(&t, base, 0x100000 + merged * 0x1000000ULL, MAPPING_ANON, NUMA_MAP_HELD,
			0, 0);
		held.h.time_ns = 1;
		held.tid = PID + 1 + merged;
		held.stack = base + 0xfdff0;
		held.tls = base + 0xff6c0;
		trace_take(&t, &held);
		trace_touch(&t, (struct trace_access){.address = base + 0xfe000,
					.sp = base + 0xfdff0,
					.tid = held.tid,
					.from = 1});
	}
	trace_attributed(&t);
	object_of(0, &o);
	assert_int_equal(o.kind, OBJECT_STACK);
	object_of(1, &o);
	assert_int_equal(o.kind, OBJECT_ANON);
}

static void test_reasons(void **state)
{
	struct numa_sample bad = TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID);
	struct numa_node node = TRACE_REC(struct numa_node, REC_NUMA_NODE, .node = 64);

	(void)state;
	touch(0x1000, PID, 0);
	trace_map(&t, 0x10000, 0x1000, MAPPING_ANON, NUMA_MAP_MADE, PID, 4);
	touch(0x20000, PID, 0);
	touch(0, PID, 0);
	touch(0xffff888000000000, PID, 0);
	bad.h.size = 24;
	assert_int_equal(numa_feed_take(t.feed, &bad.h), 0);
	assert_int_equal(numa_feed_take(t.feed, &node.h), 0);
	assert_int_equal(numa_feed_settle(t.feed, t.time_ns + 1), 0);
	bad.h.size = sizeof(bad);
	bad.h.time_ns = t.time_ns - 1000;
	bad.address = 0x10000;
	assert_int_equal(numa_feed_take(t.feed, &bad.h), 0);
	assert_int_equal(numa_feed_finish(t.feed), 0);
	assert_int_equal(numa_unattributed(t.feed, NUMA_WHY_NO_MAPS), 1);
	assert_int_equal(numa_unattributed(t.feed, NUMA_WHY_NOT_MAPPED), 1);
	assert_int_equal(numa_unattributed(t.feed, NUMA_WHY_NO_ADDRESS), 1);
	assert_int_equal(numa_unattributed(t.feed, NUMA_WHY_LATE), 1);
	assert_int_equal(numa_damaged(t.feed), 2);
}

/* Numbers in two bytes. */
static void test_weights(void **state)
{
	static const u64 values[] = {1, 2047, 2048, 4094, 1000003, 0xffffffff};

	(void)state;
	trace_map(&t, 0x10000, 0x1000, MAPPING_ANON, NUMA_MAP_MADE, PID, 4);
	for (u32 i = 0; i < ARRAY_SIZE(values); i++) {
		struct numa_sample s =
			TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID,
				.address = 0x10000, .weight = values[i], .latency = (u32)values[i]);
		struct numa_flow flow;
		const struct numa_access *a = NULL, *last = NULL;

		trace_take(&t, &s);
		assert_int_equal(numa_feed_finish(t.feed), 0);
		flow = numa_flow_all(t.feed);
		while ((a = numa_flow_next(&flow)))
			last = a;
		assert_non_null(last);
		assert_true(numa_access_weight(last) <= values[i]);
		assert_true((double)numa_access_weight(last) >= 0.999 * (double)values[i]);
		assert_int_equal(numa_access_weight(last), numa_access_latency(last));
	}
}

/* A random program, as records in order. */
struct story {
	VEC(struct numa_sample) all; /* the largest kind: others fit */
};

static void story_add(struct story *s, const void *rec, u32 size, u64 time)
{
	struct numa_sample copy = {};

	memcpy(&copy, rec, MIN(size, (u32)sizeof(copy)));
	copy.h.time_ns = time;
	assert_int_equal(vec_push(&s->all, copy), 0);
}

static void story_make(struct story *s, u64 seed)
{
	struct trace rng = {.seed = seed};
	u64 time = 1000000000;

	for (u32 i = 0; i < 6000; i++) {
		u32 place = trace_any(&rng, 50);
		struct numa_block b = TRACE_REC(struct numa_block, REC_NUMA_BLOCK, .tgid = PID,
			.tid = PID + trace_any(&rng, 4), .address = 0x10000 + place * 4096ULL,
			.bytes = 1 + trace_any(&rng, 4096), .ustack = i + 1);
		struct numa_sample a = TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID,
			.tid = PID + trace_any(&rng, 4), .cpu_node = 0, .page_node = 1,
			.address = 0x10000 + place * 4096ULL + trace_any(&rng, 4096));
		u32 what = trace_any(&rng, 10);

		b.what = what < 3 ? NUMA_BLOCK_ALLOC : NUMA_BLOCK_FREE;
		time += 1 + trace_any(&rng, 1000000);
		if (what < 5)
			story_add(s, &b, sizeof(b), time);
		else
			story_add(s, &a, sizeof(a), time);
	}
}

/* Where each access went, by the stack of its object. */
static void story_tell(struct story *s, u64 disorder_ns, u64 seed, bool marks, u32 *ret_stacks)
{
	struct trace rng = {.seed = seed};
	struct numa_feed *f;
	struct numa_flow flow;
	const struct numa_access *a;
	u32 n = 0;

	assert_int_equal(numa_feed_new(&f), 0);
	/* Each is swapped with one that is at most so far away in time. */
	for (size_t i = 0; disorder_ns && i < s->all.n; i++) {
		size_t k = i + trace_any(&rng, 40);

		if (k < s->all.n && s->all.v[k].h.time_ns - s->all.v[i].h.time_ns < disorder_ns) {
			struct numa_sample swap = s->all.v[i];

			s->all.v[i] = s->all.v[k];
			s->all.v[k] = swap;
		}
	}
	for (size_t i = 0; i < s->all.n; i++) {
		struct rec_loss l = {.h = {.size = sizeof(l), .kind = REC_LOSS}, .probe = "numa"};

		assert_int_equal(numa_feed_take(f, &s->all.v[i].h), 0);
		l.h.time_ns = s->all.v[i].h.time_ns;
		if (marks && i % 50 == 0)
			assert_int_equal(numa_feed_take(f, &l.h), 0);
	}
	assert_int_equal(numa_feed_finish(f), 0);
	assert_int_equal(numa_late(f), 0);
	flow = numa_flow_all(f);
	while ((a = numa_flow_next(&flow))) {
		struct object o;

		ret_stacks[n++] = numa_object(f, a->object, &o) ? o.stack : 0;
	}
	assert_true(n > 1000);
	ret_stacks[n] = NUMA_NONE;
	numa_feed_free(f);
}

static void test_any_order_is_the_same(void **state)
{
	static u32 want[6001], got[6001];

	(void)state;
	for (u32 round = 0; round < 20; round++) {
		struct story s = {};

		story_make(&s, round + 1);
		story_tell(&s, 0, 0, false, want);
		story_tell(&s, 500000000, round, round % 2, got);
		for (u32 i = 0; i == 0 || want[i - 1] != NUMA_NONE; i++)
			assert_int_equal(got[i], want[i]);
		vec_free(&s.all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_analysis, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse_and_realloc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blocks_told_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mremap_with_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_and_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread_local, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merged_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_weights, setup, teardown),
		cmocka_unit_test(test_any_order_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
