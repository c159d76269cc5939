/* The heap in steps of time: what each stack has at the end of a step, and when all have most in
 * it, is what counting by hand says, also when steps were joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "probes/heap/events/event_steps.h"

#define STACKS 5
#define MOMENTS 64 /* of the finest steps */
#define EVENTS 7   /* at most, in each */
#define BLOCKS 200

/* By hand: what each stack had after each event. */
struct state {
	u64 bytes[STACKS], blocks[STACKS], all;
	u32 moment;
};

struct told {
	struct state states[MOMENTS * EVENTS + 1];
	size_t n;
};

struct live_block {
	u64 address, size;
	u32 stack;
};

static u32 random_next(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void event_do(
	struct account *a, struct told *t, struct live_block *blocks, u32 *seed, u32 moment)
{
	struct state *s = &t->states[t->n];
	struct live_block *b = &blocks[random_next(seed) % BLOCKS];

	*s = t->states[t->n - 1];
	s->moment = moment;
	t->n++;
	if (b->size) {
		account_free(a, 0, b->address, moment, NULL);
		s->bytes[b->stack] -= b->size;
		s->blocks[b->stack]--;
		s->all -= b->size;
		b->size = 0;
		return;
	}
	b->size = 16 + random_next(seed) % 1000;
	b->stack = random_next(seed) % STACKS;
	b->address = 0x10000 + (u64)(b - blocks) * 4096;
	assert_int_equal(
		account_alloc(a, 0, b->address, b->size, 0, b->stack + 1, false, moment), 0);
	s->bytes[b->stack] += b->size;
	s->blocks[b->stack]++;
	s->all += b->size;
}

/* As the page reads points: the last that is not later; where there is none of the step, what it
 * had before was there throughout. */
static const struct event_point *point_at(const event_points *v, u32 step)
{
	static const struct event_point none;
	const struct event_point *found = &none;

	vec_each (p, v)
		if (p->step <= step)
			found = p;
	return found;
}

static bool in_step(const struct state *s, u32 step, u32 moments)
{
	return s->moment / moments == step;
}

static void step_check(const struct event_steps *s, const struct told *t, const struct account *a,
	u32 step, u32 moments)
{
	const struct state *end = NULL, *most = NULL;

	for (size_t i = 1; i < t->n; i++) {
		if (t->states[i].moment / moments > step)
			break;
		end = &t->states[i];
		if (!in_step(end, step, moments))
			continue;
		if (!most) /* as the step begins */
			most = &t->states[i - 1];
		if (end->all > most->all)
			most = end;
	}
	if (!most)
		return;
	assert_int_equal(point_at(&s->whole, step)->step, step);
	assert_int_equal(point_at(&s->whole, step)->live_bytes, end->all);
	assert_int_equal(point_at(&s->whole, step)->peak_bytes, most->all);
	for (size_t i = 0; i < a->sites.n; i++) {
		const struct event_point *p = point_at(&s->sites.v[i], step);
		u32 stack = a->sites.v[i].stack - 1;

		assert_int_equal(p->live_bytes, end->bytes[stack]);
		assert_int_equal(p->live_blocks, end->blocks[stack]);
		if (p->step == step) {
			assert_int_equal(p->peak_bytes, most->bytes[stack]);
			assert_int_equal(p->peak_blocks, most->blocks[stack]);
		} else {
			assert_int_equal(p->live_bytes, most->bytes[stack]);
		}
	}
}

/* halve_at: after so many moments steps become twice as long, in the middle of one; 0: never. */
static void run_check(u32 seed, u32 halve_at)
{
	_cleanup_free_ struct told *t = calloc(1, sizeof(*t));
	struct live_block blocks[BLOCKS] = {};
	struct event_steps s = {};
	struct account a = {};
	u32 thread, moments = 1;
	u64 points = 0, had;

	assert_non_null(t);
	t->n = 1;
	assert_int_equal(account_thread(&a, 1, &thread), 0);
	for (u32 moment = 0; moment < MOMENTS; moment++) {
		u32 n = random_next(&seed) % EVENTS;

		if (n && moment / moments != s.step) {
			assert_int_equal(event_steps_close(&s, &a, &had), 0);
			points += had;
			s.step = moment / moments;
		}
		for (u32 i = 0; i < n; i++) {
			event_do(&a, t, blocks, &seed, moment);
			if (halve_at && moment && moment % halve_at == 0 && i == n / 2 &&
				moments < 16) {
				/* the step at hand goes on as a part of a longer one */
				event_steps_halve(&s, &points);
				moments *= 2;
			}
		}
	}
	assert_int_equal(event_steps_close(&s, &a, &had), 0);
	points += had;
	for (u32 step = 0; step <= (MOMENTS - 1) / moments; step++)
		step_check(&s, t, &a, step, moments);
	had = s.whole.n;
	vec_each (v, &s.sites)
		had += v->n;
	assert_int_equal(points, had);
	event_steps_free(&s);
	account_free_all(&a);
}

static void test_steps(void **state)
{
	(void)state;
	for (u32 seed = 1; seed < 200; seed++)
		run_check(seed, 0);
}

static void test_joined(void **state)
{
	(void)state;
	for (u32 seed = 1; seed < 200; seed++)
		for (u32 halve_at = 3; halve_at < 20; halve_at++)
			run_check(seed, halve_at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
