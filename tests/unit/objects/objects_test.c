/*
 * Objects with lifetimes (src/objects): ranges and address spaces are held against plain arrays
 * over random changes; each kind of event by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "objects/objects.h"
#include "objects/ranges.h"

static u64 seed = 1;

static u32 any(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(seed >> 33) % below;
}

#define CELLS 3000U

static void ranges_against(const struct ranges *t, const u32 *cells)
{
	struct range r;

	for (u32 a = 0; a < CELLS; a++) {
		u32 next = a;

		if (cells[a]) {
			assert_true(ranges_find(t, a, &r));
			assert_int_equal(r.value, cells[a]);
		} else {
			assert_false(ranges_find(t, a, &r));
		}
		while (next < CELLS && !cells[next])
			next++;
		assert_int_equal(ranges_next(t, a, &r), next < CELLS);
		if (next < CELLS)
			assert_int_equal(r.value, cells[next]);
	}
}

static void batches_against(const struct ranges *t, const u32 *cells)
{
	for (u32 a = 0; a < CELLS;) {
		struct range r[RANGES_BATCH];
		u64 at[RANGES_BATCH];
		u32 n = MIN(1 + any(RANGES_BATCH), CELLS - a);

		for (u32 i = 0; i < n; i++)
			at[i] = a + i;
		ranges_find_all(t, at, n, r);
		for (u32 i = 0; i < n; i++, a++) {
			assert_int_equal(r[i].end != 0, cells[a] != 0);
			assert_true(!r[i].end || (r[i].value == cells[a] && a < r[i].end));
		}
	}
}

static void cells_step(struct ranges *t, u32 *cells, u32 value)
{
	u32 a = any(CELLS), n = 1 + any(4);

	if (cells[a]) {
		u32 was = cells[a];
		struct range r;

		assert_true(ranges_find(t, a, &r));
		assert_int_equal(ranges_remove(t, r.start), 0);
		for (u32 i = 0; i < CELLS; i++)
			cells[i] = cells[i] == was ? 0 : cells[i];
		return;
	}
	for (u32 i = a; i < a + n; i++)
		if (i >= CELLS || cells[i])
			return;
	assert_int_equal(ranges_add(t, (struct range){a, a + n, value}), 0);
	for (u32 i = a; i < a + n; i++)
		cells[i] = value;
}

/* With copies taken along the way, which must not change. */
static void test_ranges_like_cells(void **state)
{
	static u32 cells[CELLS], kept_cells[4][CELLS];
	struct ranges t = {}, kept[4] = {};
	u32 n = 0;

	(void)state;
	memset(cells, 0, sizeof(cells));
	for (u32 i = 1; i < 40000; i++) {
		cells_step(&t, cells, i);
		if (i % 9000 == 0) {
			ranges_copy(&t, &kept[n]);
			memcpy(kept_cells[n++], cells, sizeof(cells));
		}
		if (i % 2500 == 0)
			ranges_against(&t, cells);
		if (i % 2500 == 0)
			batches_against(&t, cells);
	}
	for (u32 i = 0; i < n; i++) {
		ranges_against(&kept[i], kept_cells[i]);
		ranges_free(&kept[i]);
	}
	for (u32 i = 0; i < CELLS; i++)
		assert_int_equal(ranges_remove(&t, i), 0);
	assert_null(t.root);
	assert_int_equal(t.n, 0);
	memset(cells, 0, sizeof(cells));
	batches_against(&t, cells);
	ranges_free(&t);
}

static void test_ranges_upwards(void **state)
{
	struct ranges t = {};
	struct range r;

	(void)state;
	for (u32 i = 0; i < 100000; i++)
		assert_int_equal(ranges_add(&t, (struct range){i * 16ULL, i * 16ULL + 8, i}), 0);
	for (u32 i = 0; i < 100000; i++) {
		assert_true(ranges_find(&t, i * 16ULL + 7, &r));
		assert_int_equal(r.value, i);
		assert_false(ranges_find(&t, i * 16ULL + 8, &r));
	}
	ranges_free(&t);
}

/* A model: what an address is in, by process, as labels. */
#define SPACES 3U
#define PLACES 200U
#define UNIT 0x1000ULL

struct model {
	u32 maps[SPACES][PLACES], blocks[SPACES][PLACES];
	u32 next;
	u32 *ids; /* of labels: object + 1 */
};

static void block_out(struct model *m, u32 s, u32 label)
{
	for (u32 i = 0; label && i < PLACES; i++)
		if (m->blocks[s][i] == label)
			m->blocks[s][i] = 0;
}

static void cut(struct model *m, u32 s, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++) {
		m->maps[s][i] = 0;
		block_out(m, s, m->blocks[s][i]);
	}
}

static struct object what(u32 from, u32 to)
{
	return (struct object){
		.kind = OBJECT_ANON, .start = from * UNIT, .bytes = (to - from) * UNIT};
}

static void model_move(struct model *m, struct objects *o, const struct object_by *by, u32 s,
	u32 from, u32 old, u32 n)
{
	u32 to = any(PLACES - n), keep = MIN(old, n), labels[64], blocks[64], last = 0;

	if (to < from + old && from < to + n)
		return; /* mremap refuses what overlaps */
	for (u32 i = from; i < from + old; i++)
		if (!m->maps[s][i])
			return;
	/* A block that is not wholly within what moves would be torn: no allocator does that. */
	for (u32 i = 0; i < PLACES; i++)
		for (u32 k = from; k < from + keep; k++)
			if ((i < from || i >= from + keep) && m->blocks[s][k] &&
				m->blocks[s][i] == m->blocks[s][k])
				return;
	assert_int_equal(objects_move(o, by, from * UNIT, old * UNIT, to * UNIT, n * UNIT), 0);
	cut(m, s, from + keep, from + old);
	for (u32 i = 0; i < keep; i++) {
		labels[i] = m->maps[s][from + i];
		blocks[i] = m->blocks[s][from + i];
		m->maps[s][from + i] = m->blocks[s][from + i] = 0;
		last = labels[i];
	}
	cut(m, s, to, to + n);
	for (u32 i = 0; i < n; i++) {
		m->maps[s][to + i] = i < keep ? labels[i] : last;
		m->blocks[s][to + i] = i < keep ? blocks[i] : 0;
	}
}

static void model_fork(struct model *m, struct objects *o, struct object_by *by, u32 s)
{
	u32 child = (s + 1) % SPACES, base = m->next;

	by->tgid = child + 100;
	assert_int_equal(objects_fork(o, by, s + 100), 0);
	for (u32 i = 0; i < PLACES; i++) {
		m->maps[child][i] = m->maps[s][i] ? base + m->maps[s][i] : 0;
		m->blocks[child][i] = m->blocks[s][i] ? base + m->blocks[s][i] : 0;
	}
	m->next = 2 * base;
}

#define LABELS (1U << 26)

static void model_step(struct model *m, struct objects *o, u64 time)
{
	u32 s = any(SPACES), from = any(PLACES - 20), n = 1 + any(20), to = from + n;
	struct object_by by = {.time_ns = time, .tgid = s + 100, .thread = 1, .node = 0};
	struct object w = what(from, to);
	u32 action = any(100);

	if (action < 30) {
		assert_int_equal(objects_map(o, &by, &w), 0);
		cut(m, s, from, to);
		m->next++;
		for (u32 i = from; i < to; i++)
			m->maps[s][i] = m->next;
	} else if (action < 45) {
		assert_int_equal(objects_unmap(o, &by, from * UNIT, n * UNIT), 0);
		cut(m, s, from, to);
	} else if (action < 65) {
		assert_int_equal(objects_alloc(o, &by, &w), 0);
		m->next++;
		for (u32 i = from; i < to; i++) {
			block_out(m, s, m->blocks[s][i]);
			m->blocks[s][i] = m->next;
		}
	} else if (action < 80) {
		u32 label = m->blocks[s][from];

		assert_int_equal(objects_free_block(o, &by, from * UNIT), 0);
		if (label && (!from || m->blocks[s][from - 1] != label))
			block_out(m, s, label);
	} else if (action < 98) {
		model_move(m, o, &by, s, from, 1 + any(20), n);
	} else if (m->next < LABELS / 4) {
		model_fork(m, o, &by, s);
	}
}

/* Some of what is asked for next; the rest, and what is after a change, is looked for anew. */
static void model_expect(struct objects *o, u32 tgid, u64 from)
{
	u64 at[OBJECTS_BATCH];
	u32 n = any(OBJECTS_BATCH + 1);

	for (u32 i = 0; i < n; i++)
		at[i] = (from + i) * UNIT + 5;
	objects_expect(o, tgid, at, n);
}

/* The object at each address is the same one for the same label, and another for another. */
static void model_check(struct model *m, struct objects *o)
{
	for (u32 s = 0; s < SPACES; s++)
		for (u32 i = 0; i < PLACES; i++) {
			u32 label = m->blocks[s][i] ? m->blocks[s][i] : m->maps[s][i], id;
			enum object_found found;

			if (any(4) == 0)
				model_expect(o, s + 100, i);
			assert_int_equal(objects_find(o, s + 100, i * UNIT + 5, &found, &id), 0);
			assert_int_equal(found == OBJECT_FOUND, label != 0);
			if (!label)
				continue;
			if (!m->ids[label])
				m->ids[label] = id + 1;
			assert_int_equal(m->ids[label], id + 1);
		}
}

static void test_spaces_like_a_model(void **state)
{
	(void)state;
	for (u32 round = 0; round < 30; round++) {
		struct model *m = calloc(1, sizeof(*m));
		struct objects *o;

		seed = round + 1;
		m->ids = calloc(LABELS, sizeof(u32));
		assert_non_null(m->ids);
		assert_int_equal(objects_new(&o), 0);
		for (u32 i = 1; i < 400; i++) {
			model_step(m, o, i);
			if (i % 8 == round % 8)
				model_check(m, o);
		}
		objects_free(o);
		free(m->ids);
		free(m);
	}
}

static u32 found_at(struct objects *o, u32 tgid, u64 address)
{
	enum object_found found;
	u32 id;

	assert_int_equal(objects_find(o, tgid, address, &found, &id), 0);
	return found == OBJECT_FOUND ? id : OBJECT_NONE;
}

static void test_reuse_is_another_object(void **state)
{
	struct object_by by = {.time_ns = 1, .tgid = 7, .thread = 3, .node = 1};
	struct object w = what(16, 17), got;
	struct objects *o;
	u32 first, second;

	(void)state;
	assert_int_equal(objects_new(&o), 0);
	objects_alloc(o, &by, &w);
	first = found_at(o, 7, 0x10000);
	by.time_ns = 5;
	by.thread = 4;
	by.node = 0;
	objects_free_block(o, &by, 0x10000);
	by.time_ns = 6;
	objects_alloc(o, &by, &w);
	second = found_at(o, 7, 0x10fff);
	assert_int_not_equal(first, second);
	assert_true(objects_get(o, first, &got));
	assert_int_equal(got.begin_ns, 1);
	assert_int_equal(got.end_ns, 5);
	assert_int_equal(got.thread, 3);
	assert_int_equal(got.freer, 4);
	assert_int_equal(got.node, 1);
	assert_int_equal(got.free_node, 0);
	assert_true(objects_get(o, second, &got));
	assert_int_equal(got.end_ns, 0);
	objects_free(o);
}

/* What nobody touched is not kept. */
static void test_untouched_is_forgotten(void **state)
{
	struct object_by by = {.time_ns = 1, .tgid = 7};
	struct object w = what(16, 17);
	struct objects *o;

	(void)state;
	assert_int_equal(objects_new(&o), 0);
	for (u32 i = 0; i < 1000; i++) {
		objects_alloc(o, &by, &w);
		objects_free_block(o, &by, w.start);
	}
	assert_int_equal(objects_count(o), 1);
	objects_free(o);
}

static void test_block_realloc(void **state)
{
	struct object_by by = {.time_ns = 1, .tgid = 7};
	struct object w = what(16, 18), more = what(16, 20), other = what(40, 44), got;
	struct objects *o;
	u32 first;

	(void)state;
	assert_int_equal(objects_new(&o), 0);
	objects_alloc(o, &by, &w);
	first = found_at(o, 7, 0x10000);
	objects_realloc(o, &by, w.start, &more);
	assert_int_equal(found_at(o, 7, 0x13fff), first);
	objects_realloc(o, &by, w.start, &other);
	assert_int_equal(found_at(o, 7, 0x10000), OBJECT_NONE);
	assert_int_not_equal(found_at(o, 7, 40 * UNIT), first);
	assert_true(objects_get(o, first, &got));
	assert_int_equal(got.bytes, 4 * UNIT);
	objects_free(o);
}

/* The heap grows by brk, in pieces: one object. The stack grows by being touched. */
static void test_heap_and_stack_grow(void **state)
{
	struct object_by by = {.time_ns = 1, .tgid = 7, .thread = 2};
	struct object heap = what(16, 18), more = what(18, 30), stack = what(1000, 1010), got;
	struct objects *o;
	u32 id;

	(void)state;
	heap.kind = more.kind = OBJECT_HEAP;
	stack.kind = OBJECT_STACK;
	stack.grows = 1;
	assert_int_equal(objects_new(&o), 0);
	objects_map(o, &by, &heap);
	objects_map(o, &by, &more);
	objects_held(o, &by, &stack);
	assert_int_equal(found_at(o, 7, 17 * UNIT), found_at(o, 7, 29 * UNIT));
	id = found_at(o, 7, 1005 * UNIT);
	assert_int_equal(found_at(o, 7, 990 * UNIT + 8), id);
	assert_int_equal(found_at(o, 7, 991 * UNIT), id);
	assert_true(objects_get(o, id, &got));
	assert_int_equal(got.start, 990 * UNIT);
	assert_int_equal(got.bytes, 20 * UNIT);
	objects_free(o);
}

/* What is held is where nothing else is known; exec ends all; kernel addresses are the kernel's. */
static void test_held_drop_kernel(void **state)
{
	struct object_by by = {.time_ns = 1, .tgid = 7};
	struct object w = what(20, 30), held = what(10, 40), got;
	struct objects *o;
	u32 made, id;

	(void)state;
	assert_int_equal(objects_new(&o), 0);
	objects_map(o, &by, &w);
	made = found_at(o, 7, 25 * UNIT);
	objects_held(o, &by, &held);
	assert_int_equal(found_at(o, 7, 25 * UNIT), made);
	assert_int_not_equal(found_at(o, 7, 12 * UNIT), made);
	assert_int_not_equal(found_at(o, 7, 39 * UNIT), OBJECT_NONE);
	by.time_ns = 9;
	objects_drop(o, &by);
	assert_int_equal(found_at(o, 7, 25 * UNIT), OBJECT_NONE);
	assert_true(objects_get(o, made, &got));
	assert_int_equal(got.end_ns, 9);
	id = found_at(o, 7, 0xffff888000001000);
	assert_true(objects_get(o, id, &got));
	assert_int_equal(got.kind, OBJECT_KERNEL);
	assert_int_equal(got.bytes, 0);
	objects_free(o);
}

/* A grandchild's objects are its own; its parents' go on without it. */
static void test_forks(void **state)
{
	struct object_by p = {.time_ns = 1, .tgid = 7}, c = {.time_ns = 2, .tgid = 8},
			 g = {.time_ns = 3, .tgid = 9};
	struct object w = what(16, 20), got;
	struct objects *o;
	u32 parent, child, grand;

	(void)state;
	assert_int_equal(objects_new(&o), 0);
	objects_map(o, &p, &w);
	objects_fork(o, &c, 7);
	objects_fork(o, &g, 8);
	objects_unmap(o, &p, w.start, w.bytes);
	grand = found_at(o, 9, w.start);
	child = found_at(o, 8, w.start);
	parent = found_at(o, 7, w.start);
	assert_int_equal(parent, OBJECT_NONE);
	assert_int_not_equal(grand, child);
	assert_true(objects_get(o, grand, &got));
	assert_int_equal(got.tgid, 9);
	assert_int_not_equal(got.from, OBJECT_NONE);
	objects_unmap(o, &g, w.start, 2 * UNIT);
	assert_true(objects_get(o, grand, &got));
	assert_int_equal(got.end_ns, 0);
	objects_unmap(o, &g, w.start + 2 * UNIT, 2 * UNIT);
	assert_true(objects_get(o, grand, &got));
	assert_int_not_equal(got.end_ns, 0);
	assert_int_equal(found_at(o, 8, w.start), child);
	objects_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_like_cells),
		cmocka_unit_test(test_ranges_upwards),
		cmocka_unit_test(test_spaces_like_a_model),
		cmocka_unit_test(test_reuse_is_another_object),
		cmocka_unit_test(test_untouched_is_forgotten),
		cmocka_unit_test(test_block_realloc),
		cmocka_unit_test(test_heap_and_stack_grow),
		cmocka_unit_test(test_held_drop_kernel),
		cmocka_unit_test(test_forks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
