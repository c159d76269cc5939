/* See percpu.h. */
#include "sys/memory/percpu.h"

#include <errno.h>
#include <string.h>

#include "sys/idset.h"
#include "sys/kernel/klog.h"
#include "sys/root.h"
#include "sys/scan.h"

/* Both allocators say it: "Embedded 53 pages/cpu s186136" and "53 4K pages/cpu s186136". */
int percpu_first_parse(const char *log, u64 *ret_pages)
{
	static const char head[] = "percpu: ";

	while ((log = strstr(log, head))) {
		struct scan s = scan_text(log += strlen(head));
		u64 pages;

		scan_lit(&s, "Embedded");
		if (!scan_u64(&s, &pages))
			continue;
		scan_lit(&s, "4K");
		if (!scan_lit(&s, "pages/cpu"))
			continue;
		*ret_pages = pages;
		return 0;
	}
	return -ENODATA;
}

static int units_read(u64 *ret)
{
	_cleanup_str_ struct str text = {};
	struct idset cpus;
	int rc = sys_read(&text, "/sys/devices/system/cpu/possible");

	if (!rc)
		rc = idset_parse(str_get(&text), &cpus);
	if (!rc)
		*ret = idset_count(&cpus);
	return rc;
}

int percpu_first_read(u64 *ret_bytes)
{
	_cleanup_free_ char *log = NULL;
	size_t size = 0;
	u64 pages, units;
	int rc = klog_text(&log, &size);

	if (!rc)
		rc = percpu_first_parse(log, &pages);
	if (!rc)
		rc = units_read(&units);
	if (!rc)
		*ret_bytes = pages * units * (u64)sysconf(_SC_PAGESIZE);
	return rc;
}
