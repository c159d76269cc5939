/* See buddyinfo.h. */
#include "sys/memory/buddyinfo.h"

#include "sys/root.h"
#include "sys/scan.h"

void buddyinfo_free(struct buddyinfo *info)
{
	vec_free(&info->zones);
}

int buddyinfo_parse(const char *text, struct buddyinfo *ret)
{
	_cleanup_buddyinfo_ struct buddyinfo info = {};
	struct scan s;

	while (info.zones.n < ZONES_MAX && scan_line(&text, &s)) {
		struct zone_blocks zone = {};

		if (!scan_zone(&s, &zone.id))
			continue;
		while (zone.orders < PAGE_ORDERS_MAX && scan_u64(&s, &zone.blocks[zone.orders]))
			zone.orders++;
		if (zone.orders && vec_push(&info.zones, zone))
			return -ENOMEM;
	}
	if (!info.zones.n)
		return -EINVAL;
	buddyinfo_free(ret);
	*ret = info;
	info = (struct buddyinfo){};
	return 0;
}

int buddyinfo_read(struct buddyinfo *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/buddyinfo");

	return rc ? rc : buddyinfo_parse(str_get(&text), ret);
}
