/* See pressure.h. */
#include "sys/memory/pressure.h"

#include <errno.h>

#include "sys/root.h"
#include "sys/scan.h"

static bool pressure_line_parse(struct scan *s, struct pressure_line *ret)
{
	struct pressure_line line;

	if (!scan_lit(s, "avg10=") || !scan_decimal(s, &line.avg10) || !scan_lit(s, "avg60=") ||
		!scan_decimal(s, &line.avg60) || !scan_lit(s, "avg300=") ||
		!scan_decimal(s, &line.avg300) || !scan_lit(s, "total=") ||
		!scan_u64(s, &line.total_us))
		return false;
	*ret = line;
	return true;
}

int pressure_parse(const char *text, struct pressure *ret)
{
	struct pressure p = {};
	bool has_some = false;
	struct scan s;

	while (scan_line(&text, &s)) {
		if (scan_lit(&s, "some "))
			has_some |= pressure_line_parse(&s, &p.some);
		else if (scan_lit(&s, "full "))
			p.has_full |= pressure_line_parse(&s, &p.full);
	}
	if (!has_some)
		return -EINVAL;
	*ret = p;
	return 0;
}

int pressure_read(const char *resource, struct pressure *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/pressure/%s", resource);

	return rc ? rc : pressure_parse(str_get(&text), ret);
}

int pressure_read_cgroup(const char *dir, const char *resource, struct pressure *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "%s/%s.pressure", dir, resource);

	return rc ? rc : pressure_parse(str_get(&text), ret);
}
