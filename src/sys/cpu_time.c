/* See cpu_time.h. */
#include "sys/cpu_time.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/root.h"
#include "sys/scan.h"

int cpu_time_parse(const char *text, u64 *ret_ticks)
{
	struct scan line;
	u64 user, nice;

	if (!scan_line(&text, &line) || !scan_lit(&line, "cpu ") || !scan_u64(&line, &user) ||
		!scan_u64(&line, &nice) || !scan_u64(&line, ret_ticks))
		return -EINVAL;
	return 0;
}

u64 cpu_time_kernel_ns(void)
{
	_cleanup_str_ struct str text = {};
	long hz = sysconf(_SC_CLK_TCK);
	u64 ticks;

	if (hz <= 0 || sys_read(&text, "/proc/stat") || cpu_time_parse(str_get(&text), &ticks))
		return 0;
	return ticks * (NSEC_PER_SEC / (u64)hz);
}
