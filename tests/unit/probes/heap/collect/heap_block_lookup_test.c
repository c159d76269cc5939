/* Which block an access was in: told once, with its life, its thread and its node, while blocks
 * come, go and move at the same addresses. Fed through the rings, as the collector does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/heap/collect/ring_reader.h"

#define NODE(n) ((u64)(n) + 1)

struct rig {
	struct tracked_program *program;
	struct heap_process process, child;
	struct ring_reader *readers[2];
	block_lookup_buffer out;
	news_buffer news;
	int file;
	u64 head[2];
	u64 base; /* ms: when it began; events and accesses are so much later */
};

static int rig_make(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(tracked_open(1, 1, 0, false, &r->program, &r->file), 0);
	r->base = clock_mono_ns() / NSEC_PER_MSEC - 1000;
	r->process.id = 7;
	r->process.pid = 70;
	r->process.program = 3;
	r->process.touched = block_lookup_new(&r->out, 0);
	for (u32 i = 0; i < 2; i++) {
		r->program->head->slot[i].tid = 70 + i;
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

	for (u32 i = 0; i < 2; i++)
		ring_reader_close(r->readers[i]);
	vec_free(&r->process.readers);
	vec_free(&r->process.names);
	account_free_all(&r->process.account);
	account_free_all(&r->child.account);
	block_lookup_free_all(r->process.touched);
	block_lookup_free_all(r->child.touched);
	vec_free(&r->out);
	vec_free(&r->news);
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

static void event_put(struct rig *r, u32 ring, u64 time, u64 word, u64 second)
{
	put(r, ring,
		NODE(ring) << TRACK_NODE_SHIFT | (time >> TRACK_TIME_LOW) << TRACK_ARG_SHIFT |
			TRACK_TIME);
	put(r, ring, time << (64 - TRACK_TIME_LOW) | word);
	if (second)
		put(r, ring, second);
}

/* The reader gets all of it at once, at its time, in ms and in ticks. */
static void event(struct rig *r, u32 ring, u64 time, u64 word, u64 second)
{
	event_put(r, ring, time, word, second);
	assert_true(ring_readers_read_until(r->readers, 2, time, r->base + time, &r->news) > 0);
}

static void do_alloc(struct rig *r, u32 ring, u64 time, u64 address, u64 size, u64 stack)
{
	event(r, ring, time, address | TRACK_ALLOC,
		stack << TRACK_STACK_SHIFT | size << TRACK_SIZE_SHIFT);
}

static void do_free(struct rig *r, u32 ring, u64 time, u64 address)
{
	event(r, ring, time, address | TRACK_FREE, 0);
}

static void do_move(struct rig *r, u32 ring, u64 time, u64 old)
{
	event(r, ring, time, old | TRACK_MOVE, 0);
}

static void do_moved(struct rig *r, u32 ring, u64 time, u64 address, u64 size)
{
	event(r, ring, time, address | TRACK_MOVED,
		5ULL << TRACK_STACK_SHIFT | size << TRACK_SIZE_SHIFT);
}

static void ask(struct rig *r, u32 tid, u64 address, u64 ms)
{
	struct touch t = {.address = address, .time_ns = (r->base + ms) * 1000000, .ticks = ms};

	assert_int_equal(block_lookup_ask(&r->process, NULL, tid, &t), 0);
}

static const struct block_lookup_block *told(
	const struct rig *r, size_t i, enum block_lookup_what what)
{
	assert_true(i < r->out.n);
	assert_int_equal(r->out.v[i].what, what);
	return &r->out.v[i];
}

static void a_block_is_told_of_once(void **state)
{
	struct rig *r = *state;
	const struct block_lookup_block *b;

	do_alloc(r, 1, 100, 0x10000, 48, 9);
	do_alloc(r, 0, 110, 0x10040, 48, 8);
	ask(r, 70, 0x1002f, 120);
	ask(r, 70, 0x10000, 121);
	assert_int_equal(r->out.n, 1);
	b = told(r, 0, TOUCHED_HELD);
	assert_int_equal(b->address, 0x10000);
	assert_int_equal(b->bytes, 48);
	assert_int_equal(b->tgid, 70);
	assert_int_equal(b->tid, 71);
	assert_int_equal(b->node, 1);
	assert_int_equal(b->program, 3);
	assert_int_equal(b->stack, 9);
	assert_int_equal(b->begin_ns, (r->base + 100) * 1000000);
	assert_int_equal(b->time_ns, (r->base + 120) * 1000000 - 1);
	/* Between the two there is nothing. */
	ask(r, 70, 0x10030, 122);
	ask(r, 70, 0x1003f, 122);
	assert_int_equal(r->out.n, 1);
}

static void an_address_used_again_is_another_block(void **state)
{
	struct rig *r = *state;
	const struct block_lookup_block *b;

	do_alloc(r, 0, 100, 0x10000, 48, 9);
	ask(r, 70, 0x10008, 110);
	do_free(r, 1, 120, 0x10000);
	b = told(r, 1, TOUCHED_FREED);
	assert_int_equal(b->tid, 71);
	assert_int_equal(b->node, 1);
	assert_int_equal(b->ticks, 120);
	ask(r, 71, 0x10008, 125);
	assert_int_equal(r->out.n, 2);
	do_alloc(r, 0, 130, 0x10000, 32, 4);
	ask(r, 70, 0x10008, 140);
	assert_int_equal(told(r, 2, TOUCHED_HELD)->stack, 4);
	assert_int_equal(r->out.n, 3);
	/* One that nobody touched is not told of when it goes. */
	do_alloc(r, 0, 150, 0x20000, 32, 4);
	do_free(r, 0, 160, 0x20000);
	assert_int_equal(r->out.n, 3);
}

static void large_blocks_are_found_from_within(void **state)
{
	struct rig *r = *state;

	do_alloc(r, 0, 100, 0x100000, 1 << 20, 9);
	do_alloc(r, 0, 101, 0x300000, 4097, 7);
	ask(r, 70, 0x1fffff, 110);
	assert_int_equal(told(r, 0, TOUCHED_HELD)->address, 0x100000);
	ask(r, 70, 0x200000, 110);
	assert_int_equal(r->out.n, 1);
	ask(r, 70, 0x301000, 111);
	assert_int_equal(told(r, 1, TOUCHED_HELD)->stack, 7);
	do_free(r, 0, 120, 0x100000);
	ask(r, 70, 0x180000, 130);
	assert_int_equal(r->out.n, 3);
}

static void what_the_allocator_writes_first_is_the_block_s(void **state)
{
	struct rig *r = *state;
	const struct block_lookup_block *b;

	ask(r, 70, 0x101000, 90); /* calloc clears it … */
	ask(r, 71, 0x100010, 91); /* … while another thread does something else */
	assert_int_equal(r->out.n, 0);
	do_alloc(r, 0, 100, 0x100000, 1 << 20, 9);
	b = told(r, 0, TOUCHED_HELD);
	assert_true(b->early);
	assert_int_equal(b->begin_ns, (r->base + 90) * 1000000);
	assert_int_equal(b->ticks, 100);
	/* The next allocation has nothing to do with it. */
	do_alloc(r, 1, 110, 0x900000, 64, 9);
	do_alloc(r, 0, 111, 0x800000, 64, 9);
	assert_int_equal(r->out.n, 1);
	/* An edge counts too, and a free in between ends it. */
	ask(r, 70, 0xa00000 + 64 + 8, 120);
	do_alloc(r, 0, 121, 0xa00000, 64, 9);
	assert_true(told(r, 1, TOUCHED_HELD)->early);
	ask(r, 70, 0xb00000, 130);
	do_free(r, 0, 131, 0x800000);
	do_alloc(r, 0, 132, 0xb00000, 64, 9);
	assert_int_equal(r->out.n, 2);
	/* Long ago it may have been something else, where small blocks are not told of. */
	ask(r, 70, 0xc00000, 140);
	do_alloc(r, 0, 140 + (1ULL << 26), 0xc00000, 1 << 20, 9);
	assert_true(told(r, 2, TOUCHED_HELD)->early);
	r->process.touched->least_bytes = 4096;
	ask(r, 70, 0xd00000, 150);
	do_alloc(r, 0, 150 + (1ULL << 26), 0xd00000, 1 << 20, 9);
	assert_int_equal(r->out.n, 3);
	ask(r, 70, 0xe00000, 160 + (1ULL << 26));
	do_alloc(r, 0, 170 + (1ULL << 26), 0xe00000, 1 << 20, 9);
	assert_true(told(r, 3, TOUCHED_HELD)->early);
}

static void a_block_that_moves_goes_on(void **state)
{
	struct rig *r = *state;
	const struct block_lookup_block *b;

	do_alloc(r, 0, 100, 0x100000, 8192, 9);
	ask(r, 70, 0x100000, 105);
	do_move(r, 0, 110, 0x100000);
	ask(r, 71, 0x101000, 111); /* it is still there */
	do_moved(r, 0, 120, 0x100000, 16384);
	b = told(r, 1, TOUCHED_RESIZED);
	assert_int_equal(b->bytes, 16384);
	assert_int_equal(b->old_address, b->address);
	do_move(r, 0, 130, 0x100000);
	do_moved(r, 0, 140, 0x700000, 32768);
	b = told(r, 2, TOUCHED_RESIZED);
	assert_int_equal(b->old_address, 0x100000);
	assert_int_equal(b->address, 0x700000);
	ask(r, 70, 0x707fff, 150);
	ask(r, 70, 0x100000, 150);
	assert_int_equal(r->out.n, 3);
	/* Seen to be copied: another block. */
	do_move(r, 0, 160, 0x700000);
	ask(r, 70, 0x900100, 165);
	do_moved(r, 0, 170, 0x900000, 65536);
	assert_int_equal(told(r, 3, TOUCHED_FREED)->address, 0x700000);
	assert_true(told(r, 4, TOUCHED_HELD)->early);
	assert_int_equal(r->out.n, 5);
	/* To nothing. */
	do_move(r, 0, 180, 0x900000);
	do_alloc(r, 0, 190, 0x100, 16, 1);
	assert_int_equal(told(r, 5, TOUCHED_FREED)->address, 0x900000);
}

/* What grows a thousand times and was seen once is not told of a thousand times. */
static void resizes_are_bounded(void **state)
{
	struct rig *r = *state;

	do_alloc(r, 0, 1, 0x100000, 64, 9);
	ask(r, 70, 0x100000, 1);
	for (u32 i = 2; i < 1000; i += 2) {
		do_move(r, 0, i, 0x100000);
		do_moved(r, 0, i + 1, 0x100000, 64 + 16 * i);
	}
	assert_true(r->out.n < 10);
	assert_int_equal(r->out.v[r->out.n - 1].what, TOUCHED_FREED);
	ask(r, 70, 0x100000 + 1024, 1000);
	assert_int_equal(told(r, r->out.n - 1, TOUCHED_HELD)->bytes, 64 + 16 * 998);
}

static void a_failed_realloc_changes_nothing(void **state)
{
	struct rig *r = *state;

	do_alloc(r, 0, 100, 0x100000, 8192, 9);
	ask(r, 70, 0x100000, 105);
	do_move(r, 0, 110, 0x100000);
	put(r, 0,
		0x100000ULL << TRACK_VALUE_SHIFT | TRACK_RESTORE << TRACK_ARG_SHIFT | TRACK_EXTRA);
	ring_readers_read_until(r->readers, 2, 111, r->base + 111, &r->news);
	ask(r, 70, 0x101fff, 120);
	assert_int_equal(r->out.n, 1);
	do_free(r, 0, 130, 0x100000);
	told(r, 1, TOUCHED_FREED);
}

static void a_child_has_what_its_parent_has(void **state)
{
	struct rig *r = *state;
	struct touch before = {.address = 0x100010, .time_ns = (r->base + 300) * 1000000},
		     after = {.address = 0x200010, .time_ns = (r->base + 310) * 1000000};

	do_alloc(r, 0, 100, 0x100000, 64, 9);
	r->child.id = 8;
	r->child.pid = 80;
	r->child.program = 3;
	r->child.start_ns = (r->base + 200) * 1000000;
	r->child.touched = block_lookup_new(&r->out, 0);
	do_alloc(r, 0, 250, 0x200000, 64, 9); /* the parent's alone */
	assert_int_equal(block_lookup_ask(&r->child, &r->process, 80, &before), 0);
	assert_int_equal(block_lookup_ask(&r->child, &r->process, 80, &after), 0);
	assert_int_equal(r->out.n, 1);
	assert_int_equal(told(r, 0, TOUCHED_HELD)->tgid, 80);
	assert_int_equal(r->out.v[0].stack, 9);
	assert_int_equal(r->out.v[0].tid, 0);
}

/* A fork that has neither allocated nor freed yet tells nothing of itself. */
static void a_silent_fork_has_what_its_parent_had(void **state)
{
	struct rig *r = *state;
	u64 fork_ns = (r->base + 200) * 1000000;
	struct touch old = {.address = 0x100010, .time_ns = fork_ns + 100000000};
	struct touch young = {.address = 0x200010, .time_ns = fork_ns + 100000000};
	struct block_lookup_copy copy = {.tgid = 80, .fork_ns = fork_ns};
	struct groups copies;

	groups_init(&copies, sizeof(struct block_lookup_copy), sizeof(u8));
	do_alloc(r, 0, 100, 0x100000, 64, 9);
	do_alloc(r, 0, 250, 0x200000, 64, 9); /* the parent's alone */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			block_lookup_ask_copy(&r->process, fork_ns, copy, &old, &copies), 0);
		assert_int_equal(
			block_lookup_ask_copy(&r->process, fork_ns, copy, &young, &copies), 0);
	}
	assert_int_equal(r->out.n, 1);
	assert_int_equal(told(r, 0, TOUCHED_HELD)->tgid, 80);
	assert_int_equal(r->out.v[0].address, 0x100000);
	assert_int_equal(r->out.v[0].stack, 9);
	/* Another process with its pid has a copy of its own. */
	copy.fork_ns++;
	assert_int_equal(block_lookup_ask_copy(&r->process, fork_ns + 1, copy, &old, &copies), 0);
	assert_int_equal(r->out.n, 2);
	/* From its first event on it answers for itself. */
	r->child.pid = 80;
	r->child.start_ns = fork_ns;
	r->child.touched = block_lookup_new(&r->out, 0);
	assert_int_equal(block_lookup_copies_take(&r->child, fork_ns, &copies), 0);
	assert_int_equal(block_lookup_ask(&r->child, &r->process, 80, &old), 0);
	assert_int_equal(r->out.n, 2);
	groups_free(&copies);
}

/* What was allocated before the fork is read after it, and booked at its time all the same. */
static void a_silent_fork_has_what_was_read_late(void **state)
{
	struct rig *r = *state;
	u64 fork_ns = (r->base + 200) * 1000000;
	struct touch t = {.address = 0x100010, .time_ns = fork_ns + 100000000};
	struct block_lookup_copy copy = {.fork_ns = fork_ns, .tgid = 80};
	struct groups copies;

	groups_init(&copies, sizeof(struct block_lookup_copy), sizeof(u8));
	r->program->held = r->program->settled = true;
	r->program->processes[0] = &r->process;
	r->program->n_alive = 1;
	r->program->until = 199;
	r->program->until_ms = r->base + 199;
	event_put(r, 0, 198, 0x100000 | TRACK_ALLOC,
		9ULL << TRACK_STACK_SHIFT | 64ULL << TRACK_SIZE_SHIFT);
	assert_true(tracked_read(r->program, r->base + 203, &r->news) > 0);
	assert_int_equal(block_lookup_ask_copy(&r->process, fork_ns, copy, &t, &copies), 0);
	assert_int_equal(r->out.n, 1);
	assert_int_equal(r->out.v[0].address, 0x100000);
	r->program->processes[0] = NULL;
	groups_free(&copies);
}

static u32 nobody(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return (u32)pid;
}

/* What a thread freed before it ended may have been allocated by another, just before. */
static void who_is_over_is_read_in_its_order(void **state)
{
	struct rig *r = *state;

	r->program->processes[0] = &r->process;
	r->program->n_alive = 1;
	r->process.pid = (u32)getpid();
	for (u32 i = 0; i < 2; i++)
		r->program->readers[i] = r->readers[i];
	r->readers[0]->tid = nobody();
	r->readers[1]->tid = (u32)gettid();
	event_put(r, 1, 10, 0x100000 | TRACK_ALLOC,
		9ULL << TRACK_STACK_SHIFT | 64ULL << TRACK_SIZE_SHIFT);
	event_put(r, 0, 20, 0x100000 | TRACK_FREE, 0);
	assert_int_equal(tracked_sweep(r->program, r->base + 30, &r->news), 0);
	assert_int_equal(r->process.readers.n, 2);
	assert_true(tracked_read(r->program, r->base + 31, &r->news) > 0);
	assert_int_equal(r->process.account.frees, 1);
	assert_int_equal(r->process.account.unknown_frees, 0);
	for (u32 i = 0; i < 2; i++) /* something was read since the last; nothing was */
		assert_int_equal(tracked_sweep(r->program, r->base + 131 + i, &r->news), 0);
	assert_int_equal(r->process.readers.n, 1);
	assert_ptr_equal(r->process.readers.v[0], r->readers[1]);
	r->readers[0] = NULL;
	r->program->readers[1] = NULL;
	r->program->processes[0] = NULL;
}

/* Read on, as its ring filled up, the block that is there now may not be the one of then. */
static void of_what_is_later_nothing_is_said(void **state)
{
	struct rig *r = *state;

	do_alloc(r, 0, 100, 0x100000, 64, 9);
	do_alloc(r, 0, 200, 0x200000, 64, 9);
	r->process.ahead = 200;
	ask(r, 70, 0x200000, 150);
	assert_int_equal(r->out.n, 0);
	ask(r, 70, 0x100000, 150);
	assert_int_equal(r->out.n, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_free)
	const struct CMUnitTest tests[] = {
		T(a_block_is_told_of_once),
		T(an_address_used_again_is_another_block),
		T(large_blocks_are_found_from_within),
		T(what_the_allocator_writes_first_is_the_block_s),
		T(a_block_that_moves_goes_on),
		T(resizes_are_bounded),
		T(a_failed_realloc_changes_nothing),
		T(a_child_has_what_its_parent_has),
		T(a_silent_fork_has_what_its_parent_had),
		T(a_silent_fork_has_what_was_read_late),
		T(who_is_over_is_read_in_its_order),
		T(of_what_is_later_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
