/* The account of mappings: ranges by hand, and held against a map of single pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/heap/account/mappings.h"
#include "tracker/ring.h"

#define P TRACK_PAGE
#define BASE 0x7f0000000000ULL

static const struct mapping_site *site(struct mappings *m, u32 stack, u32 kind)
{
	struct mapping_site *s = groups_find(&m->sites, &(struct mapping_site_key){stack, kind});

	if (s)
		mappings_settle(m, s);
	return s;
}

static void parts_are_unmapped(void **state)
{
	struct mapping_taken taken = {};
	struct mappings m = {};

	(void)state;
	assert_int_equal(mappings_map(&m, 1, TRACK_MAPPED_ANONYMOUS, BASE, 10 * P, 5), 0);
	assert_int_equal(mappings_unmap(&m, BASE + 4 * P, 2 * P, false, &taken), 0);
	assert_int_equal(m.live, 8 * P);
	/* The first page again, and two before it that nobody mapped. */
	assert_int_equal(mappings_unmap(&m, BASE - 2 * P, 3 * P, false, &taken), 0);
	assert_int_equal(m.live, 7 * P);
	assert_int_equal(m.unknown, 2 * P);
	assert_int_equal(m.unmapped, 3 * P);
	assert_int_equal(m.unmaps, 2);
	assert_int_equal(m.ranges.n, 2);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_ANONYMOUS)->peak_bytes, 10 * P);
	assert_int_equal(m.peak_ms, 5);
	vec_free(&taken.v);
	mappings_free(&m);
}

static void the_new_takes_the_place_of_the_old(void **state)
{
	struct mappings m = {};

	(void)state;
	mappings_map(&m, 1, TRACK_MAPPED_ANONYMOUS, BASE, 10 * P, 1);
	mappings_map(&m, 2, TRACK_MAPPED_FILE, BASE + 9 * P, 3 * P, 1);
	assert_int_equal(m.replaced, P);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_ANONYMOUS)->live, 9 * P);
	assert_int_equal(site(&m, 2, TRACK_MAPPED_FILE)->live, 3 * P);
	assert_int_equal(m.mapped, 13 * P);
	assert_int_equal(m.unmapped, P);
	assert_int_equal(m.peak_bytes, 12 * P);
	mappings_free(&m);
}

static void what_grew_belongs_to_who_grew_it(void **state)
{
	struct mapping_taken taken = {};
	struct mappings m = {};

	(void)state;
	mappings_map(&m, 1, TRACK_MAPPED_SHARED, BASE, 2 * P, 1);
	mappings_unmap(&m, BASE, 2 * P, true, &taken);
	mappings_moved(&m, 2, BASE + 100 * P, 5 * P, &taken, 1);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_SHARED)->live, 2 * P);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_SHARED)->unmapped, 0);
	assert_int_equal(site(&m, 2, TRACK_MAPPED_SHARED)->live, 3 * P);
	assert_int_equal(m.unmapped, 0);
	/* Of ten pages, of which five are known, four stay: all of these are the first five. */
	mappings_unmap(&m, BASE + 100 * P, 10 * P, true, &taken);
	mappings_moved(&m, 3, BASE + 100 * P, 4 * P, &taken, 1);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_SHARED)->live, 2 * P);
	assert_int_equal(site(&m, 2, TRACK_MAPPED_SHARED)->live, 2 * P);
	assert_int_equal(site(&m, 3, TRACK_MAPPED_SHARED)->mapped, 0);
	assert_int_equal(m.unknown, 5 * P);
	/* A move of what is not known, growing. */
	mappings_unmap(&m, BASE + 500 * P, 3 * P, true, &taken);
	mappings_moved(&m, 4, BASE + 600 * P, 7 * P, &taken, 1);
	assert_int_equal(site(&m, 4, 0)->live, 4 * P);
	assert_int_equal(m.unknown, 5 * P);
	assert_int_equal(m.mapped - m.unmapped, m.live);
	vec_free(&taken.v);
	mappings_free(&m);
}

static void what_failed_is_as_it_was(void **state)
{
	struct mapping_taken taken = {};
	struct mappings m = {};

	(void)state;
	mappings_map(&m, 1, TRACK_MAPPED_ANONYMOUS, BASE, 4 * P, 1);
	mappings_unmap(&m, BASE + P, 6 * P, false, &taken);
	assert_int_equal(m.live, P);
	mappings_restore(&m, 9, BASE + P, 6 * P, &taken, 1);
	assert_int_equal(m.live, 4 * P);
	assert_int_equal(m.unmapped + m.unknown + m.unmaps, 0);
	assert_int_equal(site(&m, 9, 0)->failed, 1);
	assert_int_equal(m.peak_bytes, 4 * P);
	/* Not what another call took. */
	mappings_unmap(&m, BASE, P, false, &taken);
	mappings_restore(&m, 9, BASE + P, P, &taken, 1);
	assert_int_equal(m.live, 3 * P);
	assert_int_equal(m.failed, 2);
	mappings_failed(&m, 1, TRACK_MAPPED_ANONYMOUS);
	assert_int_equal(site(&m, 1, TRACK_MAPPED_ANONYMOUS)->failed, 1);
	vec_free(&taken.v);
	mappings_free(&m);
}

static void nonsense_is_refused(void **state)
{
	struct mapping_taken taken = {};
	struct mappings m = {};

	(void)state;
	assert_int_equal(mappings_map(&m, 1, 0, BASE, 0, 1), -EINVAL);
	assert_int_equal(mappings_map(&m, 1, 0, ~0ULL << 12, 2 * P, 1), -EINVAL);
	assert_int_equal(mappings_map(&m, 1, 0, P, ~0ULL << 12, 1), -EINVAL);
	assert_int_equal(mappings_unmap(&m, ~0ULL << 12, 4 * P, false, &taken), 0);
	assert_int_equal(mappings_moved(&m, 1, BASE, 0, &taken, 1), -EINVAL);
	assert_int_equal(m.live + m.unknown, 0);
	vec_free(&taken.v);
	mappings_free(&m);
}

/* What each page of a small address space is: stack of who mapped it, 0: nothing. */
#define PAGES 200

static u64 x = 88172645463325252ULL;

static u32 any(u32 below)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (u32)(x >> 20) % below;
}

static void move_of_pages(u8 *pages, u32 from, u32 n, u32 to, u32 grown, u8 stack)
{
	u8 were[PAGES];

	memcpy(were, pages + from, n);
	memset(pages + from, 0, n);
	for (u32 i = 0; i < grown; i++)
		pages[to + i] = i < n ? were[i] : stack;
}

static void agree(struct mappings *m, const u8 *pages)
{
	u64 live[5] = {}, all = 0;

	for (u32 i = 0; i < PAGES; i++) {
		struct range r;
		bool there = ranges_find(&m->ranges, BASE + i * P, &r);
		const struct mapping_site_key *k = there ? groups_key(&m->sites, r.value) : NULL;

		assert_int_equal(k ? k->stack : 0, pages[i]);
		live[pages[i]] += P;
		all += pages[i] ? P : 0;
	}
	for (u32 i = 1; i < 5; i++) {
		const struct mapping_site *s = site(m, i, TRACK_MAPPED_ANONYMOUS);

		assert_int_equal(s ? s->live : 0, live[i]);
		assert_true(!s || s->mapped - s->unmapped == s->live);
	}
	assert_int_equal(m->live, all);
	assert_int_equal(m->mapped - m->unmapped, m->live);
}

static void pages_agree(void **state)
{
	struct mapping_taken taken = {};
	struct mappings m = {};
	u8 pages[PAGES] = {};

	(void)state;
	for (u32 i = 0; i < 30000; i++) {
		u32 from = any(PAGES - 20), n = 1 + any(20), to = any(PAGES - 20),
		    grown = 1 + any(20);
		u32 stack = 1 + any(4);

		switch (any(4)) {
		case 0:
			mappings_map(&m, stack, TRACK_MAPPED_ANONYMOUS, BASE + from * P, n * P, 1);
			memset(pages + from, (int)stack, n);
			break;
		case 1:
			mappings_unmap(&m, BASE + from * P, n * P, false, &taken);
			memset(pages + from, 0, n);
			break;
		case 2:
			mappings_unmap(&m, BASE + from * P, n * P, any(2), &taken);
			mappings_restore(&m, stack, BASE + from * P, n * P, &taken, 1);
			break;
		case 3: /* as the kernel has it: of what is mapped, and not onto itself */
			if (!pages[from] || (to < from + n && from < to + grown && to != from))
				break;
			mappings_unmap(&m, BASE + from * P, n * P, true, &taken);
			if (!taken.v.n)
				break;
			mappings_moved(&m, stack, BASE + to * P, grown * P, &taken, 1);
			move_of_pages(pages, from, n, to, grown, (u8)stack);
			break;
		}
		agree(&m, pages);
	}
	assert_true(m.peak_bytes >= m.live);
	vec_free(&taken.v);
	mappings_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_unmapped),
		cmocka_unit_test(the_new_takes_the_place_of_the_old),
		cmocka_unit_test(what_grew_belongs_to_who_grew_it),
		cmocka_unit_test(what_failed_is_as_it_was),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(pages_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
