/* Rings of a process, read: the order between threads, events never finished, and words that
 * nobody sane would have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <x86intrin.h>

#include "probes/heap/collect/ring_reader.h"

struct rig {
	struct tracked_program *program;
	struct heap_process process;
	struct ring_reader *readers[3];
	u64 head[3];
	news_buffer news;
	int file;
};

static int rig_make(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(tracked_open(1, 1, 0, false, &r->program, &r->file), 0);
	r->process.id = 7;
	for (u32 i = 0; i < 3; i++) {
		r->program->head->slot[i].tid = 10 + i;
		assert_int_equal(
			ring_reader_open(r->program->head, i, 0, &r->process, &r->readers[i]), 0);
		assert_int_equal(vec_push(&r->process.readers, r->readers[i]), 0);
	}
	*state = r;
	return 0;
}

static int rig_free(void **state)
{
	struct rig *r = *state;

	for (u32 i = 0; i < 3; i++)
		ring_reader_close(r->readers[i]);
	account_free_all(&r->process.account);
	mappings_free(&r->process.mappings);
	vec_free(&r->news);
	vec_free(&r->process.readers);
	tracked_close(r->program);
	close(r->file);
	free(r);
	return 0;
}

static void put(struct rig *r, u32 ring, u64 word)
{
	struct ring_reader *c = r->readers[ring];

	c->ring[r->head[ring]++ & c->mask] = word;
}

/* With the time at which it happened. */
static void put_alloc(struct rig *r, u32 ring, u64 time, u64 address, u64 size, u64 stack)
{
	put(r, ring, (time >> TRACK_TIME_LOW) << TRACK_ARG_SHIFT | TRACK_TIME);
	put(r, ring, time << (64 - TRACK_TIME_LOW) | address | TRACK_ALLOC);
	put(r, ring, stack << TRACK_STACK_SHIFT | size << TRACK_SIZE_SHIFT);
}

static void put_free(struct rig *r, u32 ring, u64 time, u64 address)
{
	put(r, ring, (time >> TRACK_TIME_LOW) << TRACK_ARG_SHIFT | TRACK_TIME);
	put(r, ring, time << (64 - TRACK_TIME_LOW) | address | TRACK_FREE);
}

static s64 rig_read_some(struct rig *r, size_t n, u64 now_ms)
{
	return ring_readers_read_until(
		r->readers, n, __rdtsc() >> TRACK_TIME_SHIFT, now_ms, &r->news);
}

static s64 rig_read(struct rig *r)
{
	return rig_read_some(r, 3, 1);
}

static void a_free_follows_its_allocation(void **state)
{
	struct rig *r = *state;
	const struct account *a = &r->process.account;

	/* One address, from thread to thread, the later ones' rings first. */
	put_free(r, 0, 400000, 0x1000);
	put_free(r, 1, 200000, 0x1000);
	put_alloc(r, 1, 300000, 0x1000, 30, 2);
	put_alloc(r, 2, 100000, 0x1000, 10, 1);
	assert_true(rig_read(r) > 0);
	assert_int_equal(a->allocations, 2);
	assert_int_equal(a->unknown_frees, 0);
	assert_int_equal(a->live.n, 0);
}

static void threads_are_merged_by_time(void **state)
{
	struct rig *r = *state;
	const struct account *a = &r->process.account;

	put_alloc(r, 0, 100, 0x1000, 10, 1);
	put_free(r, 0, 70000, 0x2000); /* of the other thread's block */
	put_alloc(r, 0, 90000, 0x2000, 7, 3);
	put_alloc(r, 1, 200, 0x2000, 20, 2);
	put_free(r, 1, 95000, 0x1000);
	put_free(r, 1, 96000, 0x2000);
	assert_int_equal(rig_read(r), 9 + 6);
	assert_int_equal(a->allocations, 3);
	assert_int_equal(a->frees, 3);
	assert_int_equal(a->unknown_frees + a->overwritten, 0);
	assert_int_equal(a->live.n, 0);
	assert_int_equal(a->peak_bytes, 30);
}

/* As a thread does that found its ring full: it goes on in the one it is given. */
static void a_larger_ring_is_gone_on_in(void **state)
{
	struct rig *r = *state;
	struct ring_reader *c = r->readers[1];
	struct rings *rings = &r->program->rings;
	u64 words = c->mask + 1, time = 1000;
	u32 given;

	assert_false(ring_reader_wants(c, false));
	for (; time < 1000 + words / 3; time++)
		put_alloc(r, 1, time, 0x1000 + 16 * time, 10, 1);
	c->slot->full = 1;
	assert_true(ring_reader_wants(c, false));
	assert_false(ring_reader_wants(c, false));
	given = rings_take(rings, 1, c->grown);
	assert_true(track_words(1, given) > words);
	ring_reader_give(c, given);
	assert_int_equal(c->slot->grown, given);
	/* It has not yet: all is read where it was. */
	assert_true(rig_read(r) > 0);
	assert_int_equal(c->mask + 1, words);
	assert_int_equal(c->slot->tail, r->head[1]);
	c->slot->turned = given;
	c->ring = (u64 *)((char *)r->program->head + track_ring_offset(1, given));
	c->mask = track_words(1, given) - 1;
	for (u64 end = time + words; time < end; time++)
		put_alloc(r, 1, time, 0x1000 + 16 * time, 10, 1);
	c->mask = words - 1;
	assert_int_equal(rig_read(r), 3 * words);
	assert_int_equal(c->grown, given);
	assert_int_equal(c->mask + 1, track_words(1, given));
	assert_int_equal(r->process.account.allocations, words / 3 + words);
	/* Of a first ring nothing is left to be released; of a thread that stays, what it was
	 * given. */
	assert_int_equal(c->left, 0);
	given = rings_take(rings, 1, 0);
	ring_reader_give(c, given);
	c->slot->turned = TRACK_STAYS;
	assert_int_equal(rig_read(r), 0);
	assert_int_equal(c->left, given);
	c->left = 0;
	c->slot->full = 9;
	assert_false(ring_reader_wants(c, false));
}

static void chunks_are_given_and_come_back(void **state)
{
	struct rig *r = *state;
	struct rings *rings = &r->program->rings;
	u32 given[TRACK_CHUNKS + 1] = {}, n = 0, left = rings->free;
	bool seen[TRACK_CHUNKS] = {};

	while ((given[n] = rings_take(rings, n + 1, 0)))
		n++;
	assert_true(n > 60 && !rings->free);
	for (u32 i = 0; i < n; i++)
		for (u32 k = 0; k < track_grown_n(given[i]); k++) {
			u32 chunk = track_grown_chunk(given[i]) + k;

			assert_true(chunk < TRACK_CHUNKS && !seen[chunk]);
			seen[chunk] = true;
		}
	for (u32 i = 0; i < n; i++) {
		u64 *ring = (u64 *)((char *)r->program->head + track_ring_offset(0, given[i]));

		ring[track_words(0, given[i]) - 1] = 5;
		rings_release(rings, i + 1, given[i]);
		assert_int_equal(ring[track_words(0, given[i]) - 1], 0);
	}
	assert_int_equal(rings->free, left);
	/* There is nothing larger than the largest; many threads get the same. */
	assert_int_equal(rings_take(rings, 1, track_grown(8, TRACK_GROWN_CHUNKS)), 0);
	rings_prepare(rings, 1000);
	assert_int_equal(track_grown_n(rings_take(rings, 1, 0)), 1);
	assert_int_equal(track_ring_offset(0, track_grown(TRACK_CHUNKS, 1)), TRACK_FILE_BYTES);
}

/* However late the first of the threads is. */
static void what_is_due_is_read(void **state)
{
	struct rig *r = *state;

	put_alloc(r, 0, 90000, 0x1000, 10, 1);
	put_alloc(r, 1, 70000, 0x2000, 20, 2);
	put_alloc(r, 2, 80000, 0x3000, 30, 3);
	ring_readers_read_until(r->readers, 3, 60000, 1, &r->news);
	assert_int_equal(r->process.account.allocations, 0); /* but now their times are known */
	assert_true(ring_readers_read_until(r->readers, 3, 85000, 1, &r->news) > 0);
	assert_int_equal(r->process.account.allocations, 2);
	assert_int_equal(r->process.account.live_bytes, 50);
}

static void times_may_be_early(void **state)
{
	struct rig *r = *state;
	const struct account *a = &r->process.account;

	/* Freed here, allocated a little later there; what is before it there comes before it. */
	put_free(r, 0, 70000, 0x1000);
	put_alloc(r, 1, 70010, 0x5000, 5, 1);
	put_alloc(r, 1, 70000 + TRACK_EARLY, 0x1000, 10, 1);
	/* Allocated here, what was there freed a little later; and one more in between. */
	put_alloc(r, 0, 80000, 0x2000, 20, 2);
	put_alloc(r, 1, 80200, 0x2000, 7, 3);
	put_free(r, 2, 80000 + TRACK_EARLY, 0x2000);
	assert_true(rig_read(r) > 0);
	assert_int_equal(a->unknown_frees + a->overwritten, 0);
	assert_int_equal(a->live_bytes, 5 + 7);
	assert_int_equal(a->frees, 2);
}

static void but_not_much_earlier(void **state)
{
	struct rig *r = *state;
	const struct account *a = &r->process.account;

	/* Of a block from before, whose address is given out again. */
	put_free(r, 0, 70000, 0x1000);
	put_alloc(r, 1, 70001 + TRACK_EARLY, 0x1000, 10, 1);
	put_alloc(r, 0, 80000, 0x1000, 20, 1); /* the free was not seen */
	put_free(r, 1, 80001 + TRACK_EARLY, 0x1000);
	assert_true(rig_read(r) > 0);
	assert_int_equal(a->unknown_frees, 1);
	assert_int_equal(a->overwritten, 1);
	assert_int_equal(a->live_bytes, 0);
}

/* Each waits for the other: nothing sane would write that. */
static void events_that_wait_for_each_other_do_not_hang(void **state)
{
	struct rig *r = *state;

	put_free(r, 0, 70000, 0x1000);
	put_alloc(r, 0, 70001, 0x2000, 8, 1);
	put_free(r, 1, 70000, 0x2000);
	put_alloc(r, 1, 70001, 0x1000, 8, 1);
	put_free(r, 2, 70000, 0x3000);
	assert_true(rig_read(r) > 0);
	assert_int_equal(r->process.account.allocations, 2);
	assert_int_equal(r->process.account.frees + r->process.account.unknown_frees, 3);
}

static void what_is_to_come_waits(void **state)
{
	struct rig *r = *state;
	u64 later = (__builtin_ia32_rdtsc() >> TRACK_TIME_SHIFT) + (1ULL << 40);

	put_alloc(r, 0, later, 0x1000, 10, 1);
	rig_read(r);
	assert_int_equal(r->process.account.allocations, 0);
	/* When nobody writes any more, whatever its time is. */
	assert_int_equal(ring_readers_finish(r->readers, 3, 1, &r->news), 0);
	assert_int_equal(r->process.account.allocations, 1);
}

static void an_event_never_finished_is_passed(void **state)
{
	struct rig *r = *state;

	put(r, 0, 0); /* the head of an allocation that a signal handler never came back to */
	put(r, 0, 5 << TRACK_STACK_SHIFT);
	put(r, 0, 0x1000 | TRACK_ALLOC);
	put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	assert_int_equal(rig_read_some(r, 1, 1), 0);
	assert_int_equal(r->process.account.allocations, 0);
	/* Time is measured, not taken from what events are booked at: the same one each time. */
	for (u64 i = 1; i <= 3; i++) {
		usleep(60000);
		rig_read_some(r, 1, 1);
		assert_int_equal(r->process.account.allocations, i < 3 ? 0 : 3);
		put(r, 0, (0x1000 + 64 * i) | TRACK_ALLOC);
		put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	}
	assert_int_equal(r->process.dropped, 1);
}

/* What a handler wrote stands behind the event that it interrupted: the thread, which was idle long
 * before, has no CPU for a while, then finishes it. */
static void an_event_of_a_thread_without_a_cpu_is_waited_for(void **state)
{
	struct rig *r = *state;
	u64 at = r->head[0];

	rig_read_some(r, 1, 1);
	usleep(60000);
	rig_read_some(r, 1, 1);
	put(r, 0, 0);
	put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	put(r, 0, 0x1000 | TRACK_ALLOC);
	put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	for (u32 i = 0; i < 4; i++) {
		usleep(60000);
		rig_read_some(r, 1, 1);
		assert_int_equal(r->process.dropped, 0);
	}
	r->head[0] = at;
	put(r, 0, 0x2000 | TRACK_ALLOC);
	rig_read_some(r, 1, 1);
	assert_int_equal(r->process.account.allocations, 2);
	assert_int_equal(r->process.dropped, 0);
}

/* Nobody who waits for room waits for such an event. */
static void an_event_never_finished_does_not_fill_a_ring(void **state)
{
	struct rig *r = *state;

	put(r, 0, 0);
	put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	for (u64 i = 0; i <= r->readers[0]->mask / 4; i++) {
		put(r, 0, (0x1000 + 64 * i) | TRACK_ALLOC);
		put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
	}
	for (u32 i = 0; i < 3; i++) {
		rig_read_some(r, 1, 1);
		usleep(60000);
	}
	assert_int_equal(r->process.dropped, 1);
	assert_true(r->process.account.allocations > 1);
}

static void a_lap_is_as_good_as_another(void **state)
{
	struct rig *r = *state;
	u64 laps = 3 * (r->readers[0]->mask + 1) / 3;

	for (u64 i = 0; i < laps; i++) {
		put(r, 0, 0x1000 | TRACK_ALLOC);
		put(r, 0, 8ULL << TRACK_SIZE_SHIFT);
		put(r, 0, 0x1000 | TRACK_FREE);
		if (i % 100 == 0)
			assert_true(rig_read_some(r, 1, 1) > 0);
	}
	rig_read_some(r, 1, 1);
	assert_int_equal(r->process.account.allocations, laps);
	assert_int_equal(r->process.account.frees, laps);
	assert_int_equal(r->readers[0]->slot->tail, 3 * laps);
}

static void stacks_and_files_are_handed_on(void **state)
{
	struct rig *r = *state;
	const struct news *n;

	put(r, 0, 42ULL << TRACK_VALUE_SHIFT | 2 << TRACK_ARG_SHIFT | TRACK_STACK);
	put(r, 0, 0x400123ULL << TRACK_ARG_SHIFT);
	put(r, 0, 0x400456ULL << TRACK_ARG_SHIFT);
	rig_read(r);
	n = (const struct news *)r->news.v;
	assert_int_equal(n->kind, NEWS_STACK);
	assert_int_equal(n->process, 7);
	assert_int_equal(n->number, 42);
	assert_int_equal(n->words, 2);
	assert_int_equal(n->v[1] >> TRACK_ARG_SHIFT, 0x400456);
}

static void put_mapping(struct rig *r, u32 ring, u64 time, u32 what, u64 address, u64 bytes)
{
	put(r, ring, (time >> TRACK_TIME_LOW) << TRACK_ARG_SHIFT | TRACK_TIME);
	put(r, ring,
		time << (64 - TRACK_TIME_LOW) |
			((u64)TRACK_MAPPED_ANONYMOUS << TRACK_MAPPED_SHIFT | what)
				<< TRACK_VALUE_SHIFT |
			TRACK_MAPPING << TRACK_ARG_SHIFT | TRACK_EXTRA);
	put(r, ring, address);
	put(r, ring, bytes << TRACK_ARG_SHIFT);
	put(r, ring, 3 << TRACK_ARG_SHIFT);
}

/* One thread maps what the other has just unmapped. */
static void mappings_are_merged_by_time_too(void **state)
{
	struct rig *r = *state;
	const struct mappings *m = &r->process.mappings;

	put_mapping(r, 0, 200000, TRACK_MAP, 0x10000, 0x2000);
	put_mapping(r, 0, 500000, TRACK_UNMAP, 0x10000, 0x1000);
	put_mapping(r, 1, 100000, TRACK_MAP, 0x10000, 0x3000);
	put_mapping(r, 1, 150000, TRACK_UNMAP, 0x10000, 0x3000);
	put_mapping(r, 1, 400000, TRACK_MAP_MOVE, 0x11000, 0x1000);
	put_mapping(r, 1, 410000, TRACK_MAP_MOVED, 0x20000, 0x4000);
	assert_int_equal(rig_read(r), 6 * 5);
	assert_int_equal(m->calls, 3);
	assert_int_equal(m->unmaps, 2);
	assert_int_equal(m->replaced + m->unknown, 0);
	assert_int_equal(m->live, 0x4000);
	assert_int_equal(m->mapped, 0x8000);
	assert_int_equal(r->process.dropped, 0);
}

static void nonsense_is_survived(void **state)
{
	struct rig *r = *state;
	u64 x = 88172645463325252ULL;

	for (u32 round = 0; round < 20; round++) {
		for (u32 i = 0; i < 20000; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			put(r, i % 3, i % 7 ? x : x & 0xff);
		}
		assert_true(rig_read(r) >= 0);
		assert_int_equal(ring_readers_finish(r->readers, 3, 1, &r->news), 0);
		r->news.n = 0;
		/* Where the reader is, it goes on. */
		for (u32 i = 0; i < 3; i++)
			r->head[i] = r->readers[i]->tail;
	}
}

/* Its last mapping may be a fork's, or what it was given may be on its way. */
static void an_image_is_in_use_while_anybody_has_it(void **state)
{
	struct tracked_program *program;
	int file, status, ends[2];
	void *at;
	pid_t pid;

	(void)state;
	assert_int_equal(tracked_open(1, 1, 0, false, &program, &file), 0);
	assert_int_equal(pipe(ends), 0);
	assert_false(tracked_is_unused(program));
	at = mmap(NULL, TRACK_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
		0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(file);
	assert_false(tracked_is_unused(program));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit((int)read(ends[0], &status, 1));
	}
	munmap(at, TRACK_FILE_BYTES);
	assert_false(tracked_is_unused(program));
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(tracked_is_unused(program));
	tracked_close(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_free_follows_its_allocation, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(threads_are_merged_by_time, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(a_larger_ring_is_gone_on_in, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(chunks_are_given_and_come_back, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(what_is_due_is_read, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(times_may_be_early, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(but_not_much_earlier, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(
			events_that_wait_for_each_other_do_not_hang, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(what_is_to_come_waits, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(
			an_event_never_finished_is_passed, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(
			an_event_of_a_thread_without_a_cpu_is_waited_for, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(
			an_event_never_finished_does_not_fill_a_ring, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(a_lap_is_as_good_as_another, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(stacks_and_files_are_handed_on, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(
			mappings_are_merged_by_time_too, rig_make, rig_free),
		cmocka_unit_test_setup_teardown(nonsense_is_survived, rig_make, rig_free),
		cmocka_unit_test(an_image_is_in_use_while_anybody_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
