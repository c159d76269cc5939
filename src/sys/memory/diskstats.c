/* See diskstats.h. */
#include "sys/memory/diskstats.h"

#include <errno.h>

#include "base/clock.h"
#include "sys/root.h"
#include "sys/scan.h"

#define SECTOR 512 /* whatever the device has: Documentation/block/stat.rst */

/* "254 0 vda READS MERGED SECTORS MILLISECONDS ..." */
static bool diskstats_line_add(struct scan *s, struct disk_reads *ret)
{
	struct scan name;
	u64 major, minor, reads, merged, sectors, ms;

	if (!scan_u64(s, &major) || !scan_u64(s, &minor) || !scan_word(s, &name) ||
		!scan_u64(s, &reads) || !scan_u64(s, &merged) || !scan_u64(s, &sectors) ||
		!scan_u64(s, &ms))
		return false;
	ret->bytes += sectors * SECTOR;
	ret->ns += ms * NSEC_PER_MSEC;
	return true;
}

int disk_reads_parse(const char *text, struct disk_reads *ret)
{
	struct disk_reads all = {};
	bool any = false;
	struct scan s;

	while (scan_line(&text, &s))
		any |= diskstats_line_add(&s, &all);
	if (!any)
		return -EINVAL;
	*ret = all;
	return 0;
}

int disk_reads_read(struct str *text, struct disk_reads *ret)
{
	int rc = sys_read(text, "/proc/diskstats");

	return rc ? rc : disk_reads_parse(str_get(text), ret);
}
