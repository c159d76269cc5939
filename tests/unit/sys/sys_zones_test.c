/* Tests of sys/memory/buddyinfo.h, sys/memory/pagetypeinfo.h, sys/memory/extfrag.h and
 * sys/memory/zoneinfo.h. */
#include "data/sys/fixture.h"
#include "sys/keyvals.h"
#include "sys/memory/buddyinfo.h"
#include "sys/memory/extfrag.h"
#include "sys/root.h"
#include "sys/scan.h"
#include "sys/memory/pagetypeinfo.h"
#include "sys/memory/zoneinfo.h"

static const struct zone_id node1_dma32 = {1, "DMA32"};
static const struct zone_id node0_normal = {0, "Normal"};

static void test_buddyinfo(void **state)
{
	_cleanup_buddyinfo_ struct buddyinfo info = {};
	const struct zone_blocks *zone;

	(void)state;
	assert_int_equal(buddyinfo_parse("Node 0, zone   Normal    516     52      0      1 \n"
					 "Node 1, zone    DMA32      1",
				 &info),
		0);
	assert_int_equal(info.zones.n, 2);
	zone = &info.zones.v[0];
	assert_true(zone_id_equal(&zone->id, &node0_normal));
	assert_int_equal(zone->orders, 4);
	assert_int_equal(zone->blocks[0], 516);
	assert_int_equal(zone->blocks[1], 52);
	assert_int_equal(zone->blocks[3], 1);
	assert_true(zone_id_equal(&info.zones.v[1].id, &node1_dma32));
	assert_int_equal(info.zones.v[1].orders, 1);
}

static void test_buddyinfo_nasty(void **state)
{
	static const char *const bad[] = {"", "\n", "Node", "Node 0, zone", "Node 0, zone Normal",
		"Node 0 zone Normal 1", "Node -1, zone Normal 1", "Node 1024, zone Normal 1",
		"Node 0, zone , 1", "Node 0, zone Normal x", "Node 0, zone Normal -1",
		"Node 0, zone a_zone_name_of_16 1"};
	_cleanup_buddyinfo_ struct buddyinfo info = {};
	_cleanup_str_ struct str text = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(buddyinfo_parse(bad[i], &info), -EINVAL);
	str_add(&text, "Node 0, zone DMA ");
	for (int i = 0; i < 100; i++)
		str_add(&text, "18446744073709551615 ");
	assert_int_equal(buddyinfo_parse(str_get(&text), &info), 0);
	assert_int_equal(info.zones.v[0].orders, PAGE_ORDERS_MAX);
	str_clear(&text);
	for (int i = 0; i < ZONES_MAX + 5; i++)
		str_add(&text, "Node 0, zone DMA 1\n");
	assert_int_equal(buddyinfo_parse(str_get(&text), &info), 0);
	assert_int_equal(info.zones.n, ZONES_MAX);
}

/* A line of /sys/kernel/debug/extfrag/{extfrag_index,unusable_index}, in 1/1000. */
struct extfrag_row {
	struct zone_id id;
	u32 orders;
	s32 value[PAGE_ORDERS_MAX];
};

struct extfrag {
	VEC(struct extfrag_row) rows;
};

#define _cleanup_extfrag_ _cleanup_(extfrag_free)

static void extfrag_free(struct extfrag *table)
{
	vec_free(&table->rows);
}

/* The kernel prints index / 1000 and index % 1000 with "%d.%03d", so that -500 is " 0.-500". */
static bool value_parse(struct scan *s, s32 *ret)
{
	struct scan at = *s;
	s64 whole;
	s64 part;

	if (!scan_s64(&at, &whole) || scan_done(&at) || *at.p != '.')
		return false;
	at.p++;
	if (!scan_s64(&at, &part) || whole < -1000 || whole > 1000 || part < -999 || part > 999)
		return false;
	*s = at;
	*ret = (s32)(whole * 1000 + part);
	return true;
}

static int extfrag_parse(const char *text, struct extfrag *ret)
{
	_cleanup_extfrag_ struct extfrag table = {};
	struct scan s;

	while (table.rows.n < ZONES_MAX && scan_line(&text, &s)) {
		struct extfrag_row row = {};

		if (!scan_zone(&s, &row.id))
			continue;
		while (row.orders < PAGE_ORDERS_MAX && value_parse(&s, &row.value[row.orders]))
			row.orders++;
		if (row.orders && vec_push(&table.rows, row))
			return -ENOMEM;
	}
	if (!table.rows.n)
		return -EINVAL;
	extfrag_free(ret);
	*ret = table;
	table = (struct extfrag){};
	return 0;
}

static int extfrag_table_read(const char *name, struct extfrag *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/sys/kernel/debug/extfrag/%s", name);

	return rc ? rc : extfrag_parse(str_get(&text), ret);
}

static int extfrag_index_read(struct extfrag *ret)
{
	return extfrag_table_read("extfrag_index", ret);
}

static int extfrag_unusable_read(struct extfrag *ret)
{
	return extfrag_table_read("unusable_index", ret);
}

static void test_extfrag_formula(void **state)
{
	struct zone_blocks zone = {.orders = 11};

	(void)state;
	/* Nothing free: all of it is unusable, and it is not for fragmentation. */
	assert_int_equal(extfrag_unusable(&zone, 0), 1000);
	assert_int_equal(extfrag_index(&zone, 3), 0);
	/* One free page, two wanted: the kernel's arithmetic goes below 0. */
	zone.blocks[0] = 1;
	assert_int_equal(extfrag_unusable(&zone, 0), 0);
	assert_int_equal(extfrag_unusable(&zone, 1), 1000);
	assert_int_equal(extfrag_index(&zone, 0), EXTFRAG_WOULD_SUCCEED);
	assert_int_equal(extfrag_index(&zone, 1), 1000 - (1000 + 500));
	assert_int_equal(extfrag_index(&zone, 10), 1000 - (1000 + 0));
	/* Much free in single pages: fragmentation. */
	zone.blocks[0] = 100000;
	assert_int_equal(extfrag_index(&zone, 10), 1000 - (1000 + 97656) / 100000);
	zone.blocks[9] = 1;
	assert_int_equal(extfrag_unusable(&zone, 9), 994);
	assert_int_equal(extfrag_index(&zone, 9), EXTFRAG_WOULD_SUCCEED);
	/* Orders that the zone does not have. */
	assert_int_equal(extfrag_unusable(&zone, 11), 1000);
	assert_int_equal(extfrag_index(&zone, 11), 0);
}

static void test_extfrag_parse(void **state)
{
	static const char *const bad[] = {"", "Node 0, zone DMA", "Node 0, zone DMA 1", "x\n",
		"Node 0, zone DMA .5", "Node 0, zone DMA 99999.000", "Node 0, zone DMA 0.1000"};
	_cleanup_extfrag_ struct extfrag table = {};
	const struct extfrag_row *row;

	(void)state;
	assert_int_equal(extfrag_parse("Node 1, zone    DMA32 -1.000  0.-500  0.996 1.000 0.00\n"
				       "Node 0, zone   Normal 0.",
				 &table),
		0);
	assert_int_equal(table.rows.n, 1);
	row = table.rows.v;
	assert_true(zone_id_equal(&row->id, &node1_dma32));
	assert_int_equal(row->orders, 5);
	assert_int_equal(row->value[0], EXTFRAG_WOULD_SUCCEED);
	assert_int_equal(row->value[1], -500);
	assert_int_equal(row->value[2], 996);
	assert_int_equal(row->value[3], 1000);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(extfrag_parse(bad[i], &table), -EINVAL);
}

static bool indices_equal(const struct zone_blocks *zone, const struct extfrag_row *index,
	const struct extfrag_row *unusable)
{
	assert_true(zone_id_equal(&zone->id, &index->id));
	assert_true(zone_id_equal(&zone->id, &unusable->id));
	assert_int_equal(zone->orders, index->orders);
	assert_int_equal(zone->orders, unusable->orders);
	for (u32 order = 0; order < zone->orders; order++) {
		if (extfrag_index(zone, order) != index->value[order] ||
			extfrag_unusable(zone, order) != unusable->value[order])
			return false;
	}
	return true;
}

/* Zones of 5.10 and 6.1 guests with most memory in single pages, as the kernels judged them. */
static void test_extfrag_captured(void **state)
{
	char *buddy_text = fixture_text("fragmented", "/buddyinfo");
	char *index_text = fixture_text("fragmented", "/extfrag_index");
	char *unusable_text = fixture_text("fragmented", "/unusable_index");
	_cleanup_buddyinfo_ struct buddyinfo buddy = {};
	_cleanup_extfrag_ struct extfrag index = {};
	_cleanup_extfrag_ struct extfrag unusable = {};

	(void)state;
	assert_int_equal(buddyinfo_parse(buddy_text, &buddy), 0);
	assert_int_equal(extfrag_parse(index_text, &index), 0);
	assert_int_equal(extfrag_parse(unusable_text, &unusable), 0);
	assert_true(buddy.zones.n > 10);
	assert_int_equal(index.rows.v[0].value[8], 996);
	assert_int_equal(index.rows.n, buddy.zones.n);
	assert_int_equal(unusable.rows.n, buddy.zones.n);
	for (size_t i = 0; i < buddy.zones.n; i++)
		assert_true(
			indices_equal(&buddy.zones.v[i], &index.rows.v[i], &unusable.rows.v[i]));
	free(buddy_text);
	free(index_text);
	free(unusable_text);
}

#define LIVE_ZONES 64

/* How often a zone's free blocks stood still around the kernel's own answer, and how often that
 * answer was ours. */
struct agreement {
	int still[LIVE_ZONES];
	int equal[LIVE_ZONES];
};

static void extfrag_attempt(struct agreement *a)
{
	_cleanup_buddyinfo_ struct buddyinfo before = {};
	_cleanup_buddyinfo_ struct buddyinfo after = {};
	_cleanup_extfrag_ struct extfrag index = {};
	_cleanup_extfrag_ struct extfrag unusable = {};

	assert_int_equal(buddyinfo_read(&before), 0);
	assert_int_equal(extfrag_index_read(&index), 0);
	assert_int_equal(extfrag_unusable_read(&unusable), 0);
	assert_int_equal(buddyinfo_read(&after), 0);
	assert_int_equal(before.zones.n, index.rows.n);
	for (size_t i = 0; i < before.zones.n && i < LIVE_ZONES; i++) {
		const struct zone_blocks *zone = &before.zones.v[i];

		if (memcmp(zone, &after.zones.v[i], sizeof(*zone)) != 0)
			continue;
		a->still[i]++;
		a->equal[i] += indices_equal(zone, &index.rows.v[i], &unusable.rows.v[i]);
	}
}

static void test_extfrag_live(void **state)
{
	_cleanup_buddyinfo_ struct buddyinfo buddy = {};
	_cleanup_extfrag_ struct extfrag index = {};
	struct agreement a = {};
	bool any = false;

	(void)state;
	if (extfrag_index_read(&index))
		fixture_skip("no extfrag files: debugfs is not mounted, or not ours");
	assert_int_equal(buddyinfo_read(&buddy), 0);
	/* A zone may change and change back between two readings: more than one try. */
	for (int i = 0; i < 1000; i++)
		extfrag_attempt(&a);
	for (size_t i = 0; i < buddy.zones.n && i < LIVE_ZONES; i++) {
		const struct zone_id *id = &buddy.zones.v[i].id;

		print_message("node %u %s: equal in %d of %d\n", id->node, id->zone, a.equal[i],
			a.still[i]);
		any |= a.still[i] > 0;
		assert_true(!a.still[i] || a.equal[i] > 0);
	}
	if (!any)
		fixture_skip("free memory never stood still");
}

#define TYPES_HEADING "Number of blocks type     Unmovable      Movable  Reclaimable \n"

static void test_pagetypeinfo(void **state)
{
	_cleanup_pagetypeinfo_ struct pagetypeinfo info = {};

	(void)state;
	assert_int_equal(
		pagetypeinfo_parse(
			"Page block order: 9\nPages per block:  512\n\n"
			"Free pages count per migrate type at order       0      1      2 \n"
			"Node    0, zone   Normal, type    Unmovable      1 >100000      3 \n"
			"Node    0, zone   Normal, type      Movable >100000      5      6 "
			"\n\n" TYPES_HEADING
			"Node 0, zone   Normal           41          504           31 \n\n"
			"Number of mixed blocks     Unmovable      Movable \n"
			"Node 0, zone   Normal            1            2 \n",
			&info),
		0);
	assert_int_equal(info.pageblock_order, 9);
	assert_int_equal(info.pages_per_block, 512);
	assert_int_equal(info.free.n, 2);
	assert_string_equal(info.free.v[0].type, "Unmovable");
	assert_int_equal(info.free.v[0].orders, 3);
	assert_int_equal(info.free.v[0].clamped, 1 << 1);
	assert_int_equal(info.free.v[0].blocks[1], 100000);
	assert_int_equal(info.free.v[1].clamped, 1 << 0);
	assert_int_equal(info.free.v[1].blocks[2], 6);
	assert_int_equal(info.blocks.n, 3);
	assert_string_equal(info.blocks.v[2].type, "Reclaimable");
	assert_int_equal(info.blocks.v[2].pageblocks, 31);
	assert_int_equal(info.mixed.n, 2);
	assert_int_equal(info.mixed.v[1].pageblocks, 2);
}

static void test_pagetypeinfo_nasty(void **state)
{
	static const char *const bad[] = {"", "Page block order: 9\n", TYPES_HEADING,
		"Node 0, zone Normal, type", "Node 0, zone Normal, type Movable",
		"Node 0, zone Normal, type Movable >",
		"Node 0, zone Normal, type a_type_name_too_long 1", "Node 0, zone Normal 1 2 3"};
	_cleanup_pagetypeinfo_ struct pagetypeinfo info = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(pagetypeinfo_parse(bad[i], &info), -EINVAL);
	assert_int_equal(pagetypeinfo_parse("Page block order: 99\n"
					    "Node 0, zone Normal, type Movable 1 >2 x 3\n"
					    "Node 0, zone Normal 1 2 3\n" TYPES_HEADING
					    "Node 0, zone Normal 1",
				 &info),
		0);
	assert_int_equal(info.pageblock_order, -1);
	assert_int_equal(info.free.v[0].orders, 2);
	assert_int_equal(info.blocks.n, 1);
}

static const struct pagetype_free *free_of(
	const struct pagetypeinfo *info, const struct zone_id *id, const char *type)
{
	for (size_t i = 0; i < info->free.n; i++) {
		if (zone_id_equal(&info->free.v[i].id, id) && !strcmp(info->free.v[i].type, type))
			return &info->free.v[i];
	}
	fail_msg("no row for %u %s %s", id->node, id->zone, type);
	return NULL;
}

static u64 pageblocks_of(const struct pagetypeinfo *info, const struct zone_id *id)
{
	u64 sum = 0;

	for (size_t i = 0; i < info->blocks.n; i++) {
		if (zone_id_equal(&info->blocks.v[i].id, id))
			sum += info->blocks.v[i].pageblocks;
	}
	return sum;
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_pagetypeinfo_ struct pagetypeinfo types = {};
		_cleanup_buddyinfo_ struct buddyinfo buddy = {};
		_cleanup_zoneinfo_ struct zoneinfo zones = {};
		const struct zone_id *id = i == 3 ? &node0_normal : &node1_dma32;
		const struct zoneinfo_zone *zone;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(buddyinfo_read(&buddy), 0);
		assert_int_equal(buddy.zones.n, 3);
		vec_each (blocks, &buddy.zones)
			assert_int_equal(blocks->orders, 11);
		assert_int_equal(pagetypeinfo_read(&types), 0);
		assert_int_equal(types.pageblock_order, 9);
		assert_int_equal(free_of(&types, id, "Movable")->orders, 11);
		assert_int_equal(free_of(&types, id, "Movable")->clamped, 0);
		assert_int_equal(types.blocks.n, types.free.n);
		assert_int_equal(zoneinfo_read(&zones), 0);
		zone = zoneinfo_find(&zones, id);
		assert_non_null(zone);
		assert_true(zone->free_pages > 30000);
		assert_true(
			zone->min_pages < zone->low_pages && zone->low_pages < zone->high_pages);
		assert_true(zone->present_pages >= zone->managed_pages);
		/* A zone's pageblocks cover it, unless it has memory that is plugged in later. */
		if (i < 3)
			assert_true(pageblocks_of(&types, id) * 512 + 512 > zone->present_pages);
		assert_int_equal(zone->pcp_cpus, 2);
		assert_true(zone->pcp_batch_pages > 0);
		assert_true(zone->numa_hit > 0);
		assert_int_equal(zone->protections, 5);
		assert_int_equal(zone->node_unreclaimable, 0);
		assert_null(zoneinfo_find(&zones, &(struct zone_id){7, "Normal"}));
	}
	sys_root_set("");
}

static void test_zoneinfo(void **state)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	const struct zoneinfo_zone *zone;

	(void)state;
	assert_int_equal(
		zoneinfo_parse(
			"Node 0, zone   Normal\n  per-node stats\n      nr_inactive_anon 2679\n"
			"  pages free     3840\n        boost    1\n        min      60\n"
			"        low      75\n        high     90\n        promo    105\n"
			"        spanned  4095\n        present  3998\n        managed  3841\n"
			"        cma      3\n        protection: (0, 3019, 4171)\n"
			"      nr_free_pages 1\n      nr_zone_active_file 11\n      nr_free_cma  "
			"2\n"
			"      numa_miss    12\n  pagesets\n    cpu: 0\n              count:    4\n"
			"              high:     378\n              batch:    63\n"
			"              high_min: 37\n  vm stats threshold: 4\n    cpu: 1\n"
			"              count:    5\n              high:     378\n"
			"              batch:    62\n  node_unreclaimable:  1\n"
			"  start_pfn:           4096\nNode 0, zone  Movable\n  pages free     0\n",
			&info),
		0);
	assert_int_equal(info.zones.n, 2);
	zone = info.zones.v;
	assert_int_equal(zone->free_pages, 3840);
	assert_int_equal(zone->boost_pages, 1);
	assert_int_equal(zone->min_pages, 60);
	assert_int_equal(zone->low_pages, 75);
	assert_int_equal(zone->high_pages, 90);
	assert_int_equal(zone->promo_pages, 105);
	assert_int_equal(zone->managed_pages, 3841);
	assert_int_equal(zone->cma_pages, 3);
	assert_int_equal(zone->free_cma_pages, 2);
	assert_int_equal(zone->active_file_pages, 11);
	assert_int_equal(zone->numa_miss, 12);
	assert_int_equal(zone->protections, 3);
	assert_int_equal(zone->protection_pages[2], 4171);
	assert_int_equal(zone->pcp_cpus, 2);
	assert_int_equal(zone->pcp_count_pages, 9);
	assert_int_equal(zone->pcp_high_pages, 756);
	assert_int_equal(zone->pcp_batch_pages, 63);
	assert_int_equal(zone->node_unreclaimable, 1);
	assert_int_equal(zone->start_pfn, 4096);
	assert_int_equal(info.zones.v[1].present_pages, 0);
}

static void test_zoneinfo_nasty(void **state)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};

	(void)state;
	assert_int_equal(zoneinfo_parse("", &info), -EINVAL);
	assert_int_equal(zoneinfo_parse("  pages free 1\nmin 2\n", &info), -EINVAL);
	assert_int_equal(zoneinfo_parse("min 1\nNode 0, zone DMA\nmin -1\npages\npages free x\n"
					"protection: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)\n"
					"low 99999999999999999999\ncpu: x\nhigh",
				 &info),
		0);
	assert_int_equal(info.zones.v[0].protections, ZONE_PROTECTION_MAX);
	assert_int_equal(info.zones.v[0].min_pages + info.zones.v[0].low_pages, 0);
	assert_int_equal(zoneinfo_parse("Node 0, zone DMA\nprotection: ", &info), 0);
	assert_int_equal(info.zones.v[0].protections, 0);
}

/* Free pages of all zones are what vmstat says is free, but for what moves in between. */
static void test_live(void **state)
{
	_cleanup_pagetypeinfo_ struct pagetypeinfo types = {};
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	_cleanup_keyvals_ struct keyvals vmstat = {};
	u64 sum = 0;
	u64 free_pages;
	int rc;

	(void)state;
	assert_int_equal(zoneinfo_read(&zones), 0);
	assert_int_equal(keyvals_read("/proc/vmstat", &vmstat), 0);
	free_pages = keyvals_get_or(&vmstat, "nr_free_pages", 0);
	for (size_t i = 0; i < zones.zones.n; i++)
		sum += zones.zones.v[i].free_pages;
	assert_in_range(sum, free_pages / 2, free_pages * 2);
	rc = pagetypeinfo_read(&types);
	if (rc == -EACCES)
		fixture_skip("/proc/pagetypeinfo is root's");
	assert_int_equal(rc, 0);
	assert_true(types.pageblock_order > 0 && types.blocks.n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buddyinfo),
		cmocka_unit_test(test_buddyinfo_nasty),
		cmocka_unit_test(test_extfrag_formula),
		cmocka_unit_test(test_extfrag_parse),
		cmocka_unit_test(test_extfrag_captured),
		cmocka_unit_test(test_extfrag_live),
		cmocka_unit_test(test_pagetypeinfo),
		cmocka_unit_test(test_pagetypeinfo_nasty),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_zoneinfo),
		cmocka_unit_test(test_zoneinfo_nasty),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
