/* See interrupts.h. */
#include "sys/memory/interrupts.h"

#include <errno.h>
#include <string.h>

#include "sys/root.h"
#include "sys/scan.h"

int interrupts_parse(const char *text, const char *name, u64 *ret)
{
	struct scan line, word;

	while (scan_line(&text, &line)) {
		u64 sum = 0, n;

		scan_blanks(&line);
		if (!scan_until(&line, ':', &word) || !scan_is(&word, name))
			continue;
		for (scan_blanks(&line); scan_u64(&line, &n); scan_blanks(&line))
			sum += n;
		*ret = sum;
		return 0;
	}
	return -ENOENT;
}

int interrupts_read(struct str *text, const char *name, u64 *ret)
{
	int rc = sys_read(text, "/proc/interrupts");

	return rc ? rc : interrupts_parse(str_get(text), name, ret);
}
