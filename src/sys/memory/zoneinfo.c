/* See zoneinfo.h. */
#include "sys/memory/zoneinfo.h"

#include "sys/root.h"
#include "sys/scan.h"

#define ZONE_FIELD(name, member) SCAN_FIELD(name, struct zoneinfo_zone, member)

/* By the first word of the line; "high" is the watermark, "high:" a per-cpu list's. */
static const struct scan_field fields[] = {
	ZONE_FIELD("boost", boost_pages),
	ZONE_FIELD("min", min_pages),
	ZONE_FIELD("low", low_pages),
	ZONE_FIELD("high", high_pages),
	ZONE_FIELD("promo", promo_pages),
	ZONE_FIELD("spanned", spanned_pages),
	ZONE_FIELD("present", present_pages),
	ZONE_FIELD("managed", managed_pages),
	ZONE_FIELD("cma", cma_pages),
	ZONE_FIELD("nr_free_cma", free_cma_pages),
	ZONE_FIELD("nr_zone_inactive_anon", inactive_anon_pages),
	ZONE_FIELD("nr_zone_active_anon", active_anon_pages),
	ZONE_FIELD("nr_zone_inactive_file", inactive_file_pages),
	ZONE_FIELD("nr_zone_active_file", active_file_pages),
	ZONE_FIELD("nr_zone_unevictable", unevictable_pages),
	ZONE_FIELD("nr_mlock", mlock_pages),
	ZONE_FIELD("numa_hit", numa_hit),
	ZONE_FIELD("numa_miss", numa_miss),
	ZONE_FIELD("numa_foreign", numa_foreign),
	ZONE_FIELD("numa_local", numa_local),
	ZONE_FIELD("numa_other", numa_other),
	ZONE_FIELD("start_pfn:", start_pfn),
	ZONE_FIELD("node_unreclaimable:", node_unreclaimable),
};

void zoneinfo_free(struct zoneinfo *info)
{
	vec_free(&info->zones);
}

/* "(0, 3019, 4171)" */
static void protection_parse(struct scan *s, struct zoneinfo_zone *zone)
{
	u64 v;

	zone->protections = 0;
	scan_lit(s, "(");
	while (zone->protections < ZONE_PROTECTION_MAX && scan_u64(s, &v)) {
		zone->protection_pages[zone->protections++] = v;
		scan_lit(s, ",");
	}
}

static void pageset_parse(const struct scan *word, u64 v, struct zoneinfo_zone *zone)
{
	if (scan_is(word, "cpu:"))
		zone->pcp_cpus++;
	else if (scan_is(word, "count:"))
		zone->pcp_count_pages += v;
	else if (scan_is(word, "high:"))
		zone->pcp_high_pages += v;
	else if (scan_is(word, "batch:"))
		zone->pcp_batch_pages = MAX(zone->pcp_batch_pages, v);
}

static void zoneinfo_line_parse(struct scan *s, struct zoneinfo_zone *zone)
{
	struct scan word;
	u64 v;

	if (!scan_word(s, &word))
		return;
	if (scan_is(&word, "protection:")) {
		protection_parse(s, zone);
		return;
	}
	if (scan_is(&word, "pages") && scan_lit(s, "free")) {
		scan_u64(s, &zone->free_pages);
		return;
	}
	if (!scan_u64(s, &v) || scan_store(fields, ARRAY_SIZE(fields), &word, v, zone))
		return;
	pageset_parse(&word, v, zone);
}

int zoneinfo_parse(const char *text, struct zoneinfo *ret)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	struct scan s;

	while (scan_line(&text, &s)) {
		struct zoneinfo_zone zone = {};

		if (scan_zone(&s, &zone.id)) {
			if (info.zones.n >= ZONES_MAX)
				break;
			if (vec_push(&info.zones, zone))
				return -ENOMEM;
		} else if (info.zones.n) {
			zoneinfo_line_parse(&s, &info.zones.v[info.zones.n - 1]);
		}
	}
	if (!info.zones.n)
		return -EINVAL;
	zoneinfo_free(ret);
	*ret = info;
	info = (struct zoneinfo){};
	return 0;
}

int zoneinfo_read(struct zoneinfo *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/zoneinfo");

	return rc ? rc : zoneinfo_parse(str_get(&text), ret);
}

const struct zoneinfo_zone *zoneinfo_find(const struct zoneinfo *info, const struct zone_id *id)
{
	for (size_t i = 0; i < info->zones.n; i++) {
		if (zone_id_equal(&info->zones.v[i].id, id))
			return &info->zones.v[i];
	}
	return NULL;
}
