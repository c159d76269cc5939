/*
 * The verdicts of numa from hint faults: programs of each pattern run in a model of what automatic
 * NUMA balancing lets see of them. A scan takes the mapping of all pages away, the next access to a
 * page is a fault, and the page goes to a node that had it twice. CPUs run in parallel, or in
 * slices as in a guest whose CPUs share one.
 */
#include "probes/numa/numa_trace.h"

#define ROUNDS 40
#define MS 1000000ULL
#define BASE 0x7f0000000000ULL
#define THREADS 4
#define PAGES 1024
#define STEP 4 /* pages between which another CPU can come in */

enum use {
	USE_ALL,
	USE_PART,
	USE_TURNS,
	USE_OTHER,
	USE_HANDED,
	USE_BACK,
	USE_MERGED,
	USE_TAKEN,
	USES
};

struct world {
	struct trace t;
	enum use use;
	u32 threads; /* one a node */
	u32 pages;
	u32 period_ms, turn_ms, length_ms;
	u32 rate;     /* pages a thread walks in a millisecond */
	u32 slice_ms; /* 0: CPUs run in parallel */
	bool busy;    /* threads that wait use their CPU, too */
	bool random;  /* not one page after another */
	bool own;     /* laid out as it is used */
	bool still;   /* pages are not moved */
	u32 sticky;   /* percent: who was first at a page is so again */
	u64 start_ns;
	u8 marked[PAGES], home[PAGES], last[PAGES];
	u32 at[THREADS];
	u64 ran[THREADS];
};

static u32 owner(const struct world *w, u32 page)
{
	return MIN(page / (w->pages / w->threads), w->threads - 1);
}

/* At the end one thread walks the parts of all. */
static bool merging(const struct world *w, u32 ms)
{
	return ms >= w->length_ms - MIN(600U, w->length_ms / 5);
}

/* Thread 1 takes the pages of thread 0 over, one after another, while both go on. */
static u32 taken(const struct world *w, u32 thread, u32 ms, u32 at)
{
	u32 low = 1 + (w->pages - 2) * (w->length_ms - MIN(ms, w->length_ms)) / w->length_ms;

	return thread ? low + at % (w->pages - low) : at % low;
}

/* Does this thread use the object in this millisecond? */
static bool uses(const struct world *w, u32 thread, u32 ms)
{
	u32 third = w->length_ms / 3;

	switch (w->use) {
	case USE_TURNS:
		return ms / w->turn_ms % w->threads == thread;
	case USE_OTHER:
		return thread == 1;
	case USE_HANDED:
		return thread == (ms >= third);
	case USE_BACK:
		return thread == (ms >= third && ms < 2 * third);
	case USE_MERGED:
		return !thread || !merging(w, ms);
	default:
		return true;
	}
}

static u32 page_next(struct world *w, u32 thread, u32 ms)
{
	u32 part = w->pages / w->threads, at = w->at[thread]++;

	if (w->random)
		at = trace_any(&w->t, PAGES);
	if (w->use == USE_TAKEN)
		return taken(w, thread, ms, at);
	if (w->use == USE_MERGED && merging(w, ms))
		return at % w->pages;
	return w->use == USE_PART || w->use == USE_MERGED ? thread * part + at % part
							  : at % w->pages;
}

static void fault(struct world *w, u32 thread, u32 page, u64 time_ns)
{
	struct numa_sample s = TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID,
		.tid = PID + 1 + thread, .address = BASE + page * 4096ULL, .cpu_node = (s32)thread,
		.page_node = w->home[page], .op = NUMA_LOAD, .source = NUMA_HINT_FAULT,
		.node_from = NUMA_PAGE_SEEN, .cpu = -1, .ran_ns = w->ran[thread], .page_shift = 12);
	struct numa_move m = TRACE_REC(struct numa_move, REC_NUMA_MOVE, .tgid = PID, .tid = s.tid,
		.address = s.address, .pages = 1, .from = w->home[page], .to = (s32)thread,
		.why = NUMA_MOVE_BALANCING);

	s.h.time_ns = m.h.time_ns = time_ns;
	w->t.accesses++;
	trace_take(&w->t, &s);
	w->marked[page] = 0;
	if (w->last[page] == thread + 1 && w->home[page] != thread && !w->still) {
		w->home[page] = (u8)thread;
		trace_take(&w->t, &m);
	}
	w->last[page] = (u8)(thread + 1);
}

/* A fault takes longer than to walk some pages: who is ahead falls back. */
static void walk(struct world *w, u32 thread, u32 ms, u64 time_ns)
{
	for (u32 i = 0; i < STEP; i++) {
		u32 page = page_next(w, thread, ms);

		if (!w->marked[page])
			continue;
		if (w->last[page] && w->last[page] != thread + 1 &&
			trace_any(&w->t, 100) < w->sticky)
			continue;
		fault(w, thread, page, time_ns);
		return;
	}
}

static void millisecond(struct world *w, u32 ms, u32 alone)
{
	for (u32 step = 0; step < w->rate / STEP; step++)
		for (u32 n = 0, first = trace_any(&w->t, w->threads); n < w->threads; n++) {
			u32 thread = (first + n) % w->threads;

			if ((!w->slice_ms || thread == alone) && uses(w, thread, ms) &&
				trace_any(&w->t, 10))
				walk(w, thread, ms, w->start_ns + ms * MS + step * 10000 + n * 100);
		}
	for (u32 thread = 0; thread < w->threads; thread++)
		w->ran[thread] += uses(w, thread, ms) || w->busy ? MS : 0;
}

static void world_run(struct world *w)
{
	u32 scan = w->period_ms / 2, slice = 0, alone = 0;

	trace_map(&w->t, BASE, PAGES * 4096ULL, MAPPING_ANON, NUMA_MAP_MADE, PID, 5);
	w->start_ns = w->t.time_ns + MS;
	for (u32 ms = 0; ms < w->length_ms; ms++) {
		if (ms == scan) {
			memset(w->marked, 1, sizeof(w->marked));
			scan += w->period_ms / 2 + trace_any(&w->t, w->period_ms);
		}
		/* Who sleeps leaves the CPU to the others. */
		if (ms == slice || !uses(w, alone, ms)) {
			slice = ms + 1 + trace_any(&w->t, MAX(2 * w->slice_ms, 1U));
			for (u32 n = 0; n < w->threads; n++) {
				alone = (alone + 1) % w->threads;
				if (uses(w, alone, ms))
					break;
			}
		}
		millisecond(w, ms, alone);
	}
}

static struct world *world_new(u64 seed, enum use use)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->threads = 2 + 2 * (seed % 2);
	trace_open(&w->t, seed + 77, w->threads, w->threads);
	w->use = use;
	w->pages = PAGES >> trace_any(&w->t, 4);
	w->period_ms = 1000;
	w->length_ms = 20000;
	w->turn_ms = 200 + trace_any(&w->t, 1500);
	w->rate = 4U << trace_any(&w->t, 6);
	w->slice_ms = seed % 4 < 2 ? 0 : 2 + trace_any(&w->t, 8);
	w->random = trace_any(&w->t, 3) == 0;
	for (u32 i = 0; i < w->threads; i++)
		w->at[i] = trace_any(&w->t, PAGES);
	return w;
}

static u32 world_judge(struct world *w, struct numa_verdict *ret)
{
	struct numa_groups g;
	u32 pattern = NUMA_NO_PATTERN;

	for (u32 i = 0; w->own && i < PAGES; i++)
		w->home[i] = (u8)owner(w, i);
	world_run(w);
	trace_attributed(&w->t);
	assert_int_equal(numa_groups_make(w->t.feed, false, &g), 0);
	for (u32 i = 0; i < g.list.n; i++)
		if (g.list.v[i].site.stack == 5) {
			*ret = numa_judge(w->t.feed, &g, i);
			pattern = ret->pattern;
		}
	numa_groups_free(&g);
	trace_close(&w->t);
	free(w);
	return pattern;
}

static bool is_verdict(u32 pattern)
{
	return pattern > NUMA_THIN && pattern != NUMA_UNCLEAR;
}

struct score {
	u32 right, wrong, all;
	u32 of[NUMA_PATTERNS];
};

static void score_add(struct score *s, u32 got, u32 want)
{
	s->right += got == want;
	s->wrong += got != want && is_verdict(got);
	s->all++;
	s->of[got]++;
}

static void score_say(const struct score *s, const char *what)
{
	print_message("%s: %u of %u right, %u wrong;", what, s->right, s->all, s->wrong);
	for (u32 i = 0; i < NUMA_PATTERNS; i++)
		if (s->of[i])
			print_message(" %s %u", numa_pattern_name(i), s->of[i]);
	print_message("\n");
}

static struct score rounds(enum use use, u32 want, const char *what)
{
	struct score s = {};
	struct numa_verdict v;

	for (u32 round = 0; round < ROUNDS; round++)
		score_add(&s, world_judge(world_new(round, use), &v), want);
	score_say(&s, what);
	return s;
}

static void assert_right(enum use use, u32 want, const char *what)
{
	struct score s = rounds(use, want, what);

	assert_true(s.right * 100 >= s.all * 95);
	assert_true(s.wrong * 100 <= s.all * 5);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_right(USE_ALL, NUMA_CONCURRENT, "at the same time");
	assert_right(USE_PART, NUMA_PARTITIONED, "each its part");
	assert_right(USE_TURNS, NUMA_ALTERNATING, "in turns");
	assert_right(USE_OTHER, NUMA_PRODUCER, "by another");
	assert_right(USE_HANDED, NUMA_PRODUCER, "handed over");
	assert_right(USE_MERGED, NUMA_PARTITIONED, "each its part, then one all");
}

/* Handed over and back: neither what it was made for, nor turns that will go on. */
static void test_back(void **state)
{
	struct score s = rounds(USE_BACK, NUMA_THIN, "handed over and back");

	(void)state;
	assert_true(s.wrong * 100 <= s.all * 5);
}

/* Each its own part, and there it lies. */
static void test_local(void **state)
{
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct world *w = world_new(round, USE_PART);

		w->own = true;
		assert_int_equal(world_judge(w, &v), NUMA_NO_PATTERN);
	}
}

/* Balancing moves a page to who is first at it, who then is first again more often than not. */
static void test_sticky(void **state)
{
	struct score s = {};
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct world *w = world_new(round, USE_ALL);

		w->sticky = 50;
		score_add(&s, world_judge(w, &v), NUMA_CONCURRENT);
	}
	score_say(&s, "who was first is so again");
	assert_true(s.right * 100 >= s.all * 95);
	assert_true(s.wrong * 100 <= s.all * 5);
}

/* Pages go over to another node for good: nodes do not share them. */
static void test_taken(void **state)
{
	struct score s = {};
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct world *w = world_new(2 * round, USE_TAKEN);

		assert_int_equal(w->threads, 2);
		score_add(&s, world_judge(w, &v), NUMA_PARTITIONED);
	}
	score_say(&s, "taken over");
	assert_int_equal(s.of[NUMA_CONCURRENT] + s.of[NUMA_ALTERNATING], 0);
}

/* A scan or two: few verdicts, hardly any wrong. */
static void test_short(void **state)
{
	static const u32 wants[USES] = {[USE_ALL] = NUMA_CONCURRENT,
		[USE_PART] = NUMA_PARTITIONED,
		[USE_TURNS] = NUMA_ALTERNATING,
		[USE_OTHER] = NUMA_PRODUCER,
		[USE_HANDED] = NUMA_PRODUCER,
		[USE_BACK] = NUMA_THIN,
		[USE_MERGED] = NUMA_PARTITIONED};
	struct score s = {};
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++)
		for (enum use use = 0; use <= USE_MERGED; use++) {
			struct world *w = world_new(round, use);

			w->length_ms = 1000 + trace_any(&w->t, 3000);
			score_add(&s, world_judge(w, &v), wants[use]);
		}
	score_say(&s, "in a few seconds");
	assert_true(s.wrong * 100 <= s.all * 5);
}

/* Where the merge is one look of a few. */
static void test_merged(void **state)
{
	struct score s = {};
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct world *w = world_new(round, USE_MERGED);

		w->length_ms = 4000 + trace_any(&w->t, 4000);
		score_add(&s, world_judge(w, &v), NUMA_PARTITIONED);
	}
	score_say(&s, "a merge after a few seconds");
	assert_true(s.right * 100 >= s.all * 75);
	assert_true(s.wrong * 100 <= s.all * 5);
}

/* Threads that wait for their turn with their CPU busy: it might be that one is always first. */
static void test_busy_turns(void **state)
{
	struct score s = {};
	struct numa_verdict v;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct world *w = world_new(round, USE_TURNS);

		w->busy = true;
		w->slice_ms = 0;
		score_add(&s, world_judge(w, &v), NUMA_UNCLEAR);
	}
	score_say(&s, "busy turns");
	assert_true(s.right * 100 >= s.all * 90);
	assert_true(s.wrong * 100 <= s.all * 5);
}

/* Balancing mends a wrong layout within a few scans: what the program asked for is told. */
static void test_balanced(void **state)
{
	struct numa_verdict v;
	struct world *w = world_new(2, USE_PART);

	(void)state;
	w->length_ms = 60000;
	assert_int_equal(world_judge(w, &v), NUMA_PARTITIONED);
	assert_true(v.balanced);
	assert_true(v.remote_ratio < NUMA_MIN_RATIO);
	assert_true(v.laid_ratio > 0.4);
	assert_true(v.saved_ratio > 0.9);
	w = world_new(2, USE_PART);
	w->still = true;
	assert_int_equal(world_judge(w, &v), NUMA_PARTITIONED);
	assert_false(v.balanced);
	assert_true(v.remote_ratio > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_sticky),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_busy_turns),
		cmocka_unit_test(test_balanced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
