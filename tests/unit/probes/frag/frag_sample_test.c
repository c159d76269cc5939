/* The sampler of the frag probe on a tree of files: which records it makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "probes/frag/frag.h"
#include "probes/frag/frag_sample.h"
#include "sys/root.h"

struct seen {
	struct sink sink;
	struct frag_zone zones[8];
	struct frag_pagetype types[16];
	struct rec_enum enums[16];
	struct rec_method methods[8];
	size_t n_zones, n_types, n_enums, n_methods;
};

static int seen_put(struct sink *sink, const struct rec *r)
{
	struct seen *s = (struct seen *)sink;

	if (r->kind == REC_FRAG_ZONE)
		s->zones[s->n_zones++] = *(const struct frag_zone *)r;
	else if (r->kind == REC_FRAG_PAGETYPE)
		s->types[s->n_types++] = *(const struct frag_pagetype *)r;
	else if (r->kind == REC_ENUM)
		s->enums[s->n_enums++] = *(const struct rec_enum *)r;
	else if (r->kind == REC_METHOD)
		s->methods[s->n_methods++] = *(const struct rec_method *)r;
	return 0;
}

static char root[] = "/tmp/memwhy-frag-XXXXXX";

static void file_write(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void dir_make(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static const char buddyinfo[] = "Node 0, zone    DMA32      7      0      2 \n"
				"Node 0, zone   Normal      5      6      1 \n";

/* Zones without memory are in zoneinfo, and give the others their numbers. */
static const char zoneinfo[] =
	"Node 0, zone      DMA\n  pages free     0\n        present  0\n"
	"Node 0, zone    DMA32\n"
	"  pages free     15\n        boost    1\n        min      2\n        low      3\n"
	"        high     4\n        spanned  100\n        present  90\n        managed  80\n"
	"        protection: (0, 0, 500, 600)\n      nr_free_cma  6\n  start_pfn:           4096\n"
	"Node 0, zone   Normal\n"
	"  pages free     21\n        min      5\n        low      6\n"
	"        protection: (0, 0, 0, 0)\n  start_pfn:           1048576\n"
	"Node 0, zone  Movable\n  pages free     0\n        present  0\n";

static const char pagetypeinfo[] =
	"Page block order: 9\nPages per block:  512\n\n"
	"Free pages count per migrate type at order       0      1      2 \n"
	"Node    0, zone    DMA32, type    Unmovable      7      0      1 \n"
	"Node    0, zone    DMA32, type      Movable      0 >100000      1 \n"
	"Node    0, zone   Normal, type    Unmovable      0      0      0 \n"
	"Node    0, zone   Normal, type      Movable      5      6      1 \n"
	"\nNumber of blocks type     Unmovable      Movable \n"
	"Node 0, zone    DMA32            3           77 \n"
	"Node 0, zone   Normal            4           88 \n";

static int tree_make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	dir_make("/proc");
	dir_make("/proc/sys");
	dir_make("/proc/sys/vm");
	file_write("/proc/buddyinfo", buddyinfo);
	file_write("/proc/zoneinfo", zoneinfo);
	file_write("/proc/pagetypeinfo", pagetypeinfo);
	file_write("/proc/sys/vm/extfrag_threshold", "400\n");
	return sys_root_set(root);
}

static void file_remove(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	remove(full);
}

static int tree_remove(void **state)
{
	(void)state;
	file_remove("/proc/buddyinfo");
	file_remove("/proc/zoneinfo");
	file_remove("/proc/pagetypeinfo");
	file_remove("/proc/sys/vm/extfrag_threshold");
	file_remove("/proc/sys/vm");
	file_remove("/proc/sys");
	file_remove("/proc");
	file_remove("");
	return 0;
}

/* Opens the sampler, takes n samples without a pause, closes it. */
static void run(struct seen *s, int n)
{
	struct capture c = {.sink = &s->sink, .probe = "frag"};
	void *state = calloc(1, frag_sampler.size);
	struct err err = {};

	*s = (struct seen){.sink = {seen_put}};
	assert_int_equal(frag_sampler.open(&c, state, &err), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(frag_sampler.sample(&c, state), 0);
	frag_sampler.close(state);
	free(state);
}

static void test_zone_records(void **state)
{
	struct seen s;
	const struct frag_zone *z = s.zones;

	(void)state;
	run(&s, 2); /* the second follows at once and is left out */
	assert_int_equal(s.n_zones, 2);
	assert_string_equal(z->zone, "DMA32");
	assert_int_equal(z->flags, FRAG_MARKS | FRAG_COMPACTION);
	assert_int_equal(z->threshold, 400);
	assert_int_equal(z->orders, 3);
	assert_int_equal(z->free_blocks[2], 2);
	assert_int_equal(z->index, 1);
	assert_int_equal(z->kernel_index, 2);
	assert_int_equal(z->free_pages, 15);
	assert_int_equal(z->cma_pages, 6);
	assert_int_equal(z->min_pages, 2);
	assert_int_equal(z->low_pages, 3);
	assert_int_equal(z->high_pages, 4);
	assert_int_equal(z->boost_pages, 1);
	assert_int_equal(z->managed_pages, 80);
	assert_int_equal(z->spanned_pages, 100);
	assert_int_equal(z->start_pfn, 4096);
	assert_int_equal(z->reserve_pages[2], 500);
	assert_int_equal(z[1].index, 2);
	assert_true(z->h.time_ns);
}

static void test_type_records(void **state)
{
	struct seen s;

	(void)state;
	run(&s, 1);
	assert_int_equal(s.n_enums, 2);
	assert_string_equal(s.enums[1].set, "migratetype");
	assert_string_equal(s.enums[1].name, "Movable");
	assert_int_equal(s.enums[1].value, 1);
	assert_int_equal(s.n_types, 4);
	assert_int_equal(s.types[1].migratetype, 1);
	assert_int_equal(s.types[1].clamped, 2);
	assert_int_equal(s.types[1].pageblocks, 77);
	assert_int_equal(s.types[1].flags, 0);
	assert_string_equal(s.types[3].zone, "Normal");
	assert_int_equal(s.types[3].free_blocks[1], 6);
	assert_int_equal(s.types[3].pageblocks, 88);
}

static void test_mixed(void **state)
{
	char text[2048];
	struct seen s;

	(void)state;
	snprintf(text, sizeof(text),
		"%s\nNumber of mixed blocks    Unmovable      Movable \n"
		"Node 0, zone    DMA32            1            2 \n",
		pagetypeinfo);
	file_write("/proc/pagetypeinfo", text);
	run(&s, 1);
	assert_int_equal(s.types[1].flags, FRAG_MIXED);
	assert_int_equal(s.types[1].mixed_pageblocks, 2);
	assert_int_equal(s.types[2].flags, 0);
	file_write("/proc/pagetypeinfo", pagetypeinfo);
}

static void test_what_is_missing(void **state)
{
	struct seen s;

	(void)state;
	file_remove("/proc/zoneinfo");
	file_remove("/proc/pagetypeinfo");
	file_remove("/proc/sys/vm/extfrag_threshold");
	run(&s, 1);
	assert_int_equal(s.n_methods, 3);
	assert_string_equal(s.methods[0].method, "/proc/buddyinfo");
	assert_string_equal(s.methods[1].method, "");
	assert_non_null(strstr(s.methods[1].missing, "/proc/zoneinfo: No such file"));
	assert_non_null(strstr(s.methods[2].missing, "/proc/pagetypeinfo"));
	assert_int_equal(s.n_types, 0);
	assert_int_equal(s.n_zones, 2);
	assert_int_equal(s.zones[0].flags, 0);
	assert_int_equal(s.zones[0].free_blocks[0], 7);
	file_remove("/proc/buddyinfo");
	run(&s, 1);
	assert_int_equal(s.n_zones, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zone_records),
		cmocka_unit_test(test_type_records),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_what_is_missing),
	};

	return cmocka_run_group_tests_name("frag_sample", tests, tree_make, tree_remove);
}
