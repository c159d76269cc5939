/* Stacks that the kernel walked by frame pointers: where they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "capture/names/names_sent.h"
#include "data/sys/fixture.h"
#include "event/stream.h"

#define GARBAGE 0x736e6f6974706fULL /* text, where a program has something else on its stack */
#define NEVER_THERE (1U << 22)      /* greater than any process id */

struct told {
	struct sink sink;
	u32 frames, stacks, depth; /* depth: of the last stack */
};

static int take(struct sink *sink, const struct rec *r)
{
	struct told *t = (void *)sink;

	t->frames += r->kind == REC_FRAME;
	t->stacks += r->kind == REC_STACK;
	if (r->kind == REC_STACK)
		t->depth = ((const struct rec_stack *)r)->n;
	return 0;
}

struct test {
	struct told told;
	struct capture c;
	struct names *names;
	struct stack_maps maps;
	u32 n;
};

static bool begin(struct test *t, bool gentle)
{
	struct names_options o = {.user_stacks = true, .capture = &t->c};

	*t = (struct test){.told.sink = {take}, .c.opt.gentle = gentle};
	t->maps.user_stacks = bpf_map_create(
		BPF_MAP_TYPE_HASH, "stacks", sizeof(u32), sizeof(struct user_stack), 64, NULL);
	if (t->maps.user_stacks < 0) {
		print_message("needs the right to make a BPF map\n");
		return false;
	}
	assert_int_equal(names_open(&t->told.sink, &o, &t->names), 0);
	return true;
}

static void end(struct test *t)
{
	names_close(t->names);
	close(t->maps.user_stacks);
}

static u32 stack(struct test *t, u32 tgid, u32 n, const u64 *frames)
{
	struct user_stack s = {.n = n, .method = STACK_BY_FRAME_POINTERS, .detail = STACK_KERNEL};
	u32 key = STACK_WALKED | ++t->n;

	memcpy(s.frames, frames, n * sizeof(*frames));
	assert_int_equal(bpf_map_update_elem(t->maps.user_stacks, &key, &s, BPF_ANY), 0);
	return names_stack(t->names, &t->maps, tgid, key, 0);
}

/* Whatever lies behind the last code that was found, it is one stack. */
static void a_walk_ends_where_no_code_is(void **state)
{
	u64 here = (u64)(uintptr_t)take, other = (u64)(uintptr_t)stack;
	struct test t;
	u32 id;

	(void)state;
	if (!begin(&t, false))
		skip();
	id = stack(&t, (u32)getpid(), 2, (u64[]){here, other});
	assert_true(id);
	assert_int_equal(t.told.depth, 2);
	assert_int_equal(t.told.frames, 2);
	for (u64 i = 0; i < 8; i++)
		assert_int_equal(
			stack(&t, (u32)getpid(), 4, (u64[]){here, other, GARBAGE + i, here}), id);
	assert_int_equal(t.told.frames, 2);
	assert_int_equal(t.told.stacks, 1);
	/* the innermost one was there, whatever it is */
	assert_true(stack(&t, (u32)getpid(), 2, (u64[]){GARBAGE, here}));
	assert_int_equal(t.told.depth, 2);
	end(&t);
}

/* Who watches for hours keeps no address for each process that came and went. */
static void addresses_of_nobody_are_not_kept(void **state)
{
	struct test t;

	(void)state;
	if (!begin(&t, true))
		skip();
	for (u64 i = 0; i < 8; i++) {
		assert_int_equal(stack(&t, NEVER_THERE, 2, (u64[]){GARBAGE + i, GARBAGE}), 0);
		assert_int_equal(stack(&t, (u32)getpid(), 1, (u64[]){GARBAGE + i}), 0);
	}
	assert_int_equal(t.told.frames, 0);
	assert_int_equal(t.told.stacks, 0);
	assert_true(stack(&t, (u32)getpid(), 1, (u64[]){(u64)(uintptr_t)take}));
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_ends_where_no_code_is),
		cmocka_unit_test(addresses_of_nobody_are_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
