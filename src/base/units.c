/* See units.h. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"

static char *fmt_scaled(char buf[UNIT_BUF], double v, const char *unit)
{
	int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(buf, UNIT_BUF, "%.*f %s", digits, v, unit);
	return buf;
}

char *fmt_bytes(char buf[UNIT_BUF], u64 bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(buf, UNIT_BUF, "%llu B", bytes);
		return buf;
	}
	for (; v >= 1023.5 && i + 1 < ARRAY_SIZE(units); i++)
		v /= 1024;
	return fmt_scaled(buf, v, units[i]);
}

char *fmt_ns(char buf[UNIT_BUF], u64 ns)
{
	if (ns < 1000)
		snprintf(buf, UNIT_BUF, "%llu ns", ns);
	else if (ns < 999500)
		fmt_scaled(buf, (double)ns / 1e3, "us");
	else if (ns < 999500000)
		fmt_scaled(buf, (double)ns / 1e6, "ms");
	else
		fmt_scaled(buf, (double)ns / 1e9, "s");
	return buf;
}

char *fmt_count(char buf[UNIT_BUF], u64 n)
{
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	double v = (double)n / 1000;
	size_t i = 0;

	if (n < 10000) {
		snprintf(buf, UNIT_BUF, "%llu", n);
		return buf;
	}
	for (; v >= 999.5 && i + 1 < ARRAY_SIZE(units); i++)
		v /= 1000;
	return fmt_scaled(buf, v, units[i]);
}

struct scale {
	const char *suffix;
	double factor;
};

/* A non-negative decimal number with one of the suffixes; the product fits in 63 bits. */
static int parse_scaled(const char *text, const struct scale *scales, size_t n, u64 *ret)
{
	char *end;
	double v;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	v = strtod(text, &end);
	if (end == text || !isfinite(v))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(end, scales[i].suffix))
			continue;
		v *= scales[i].factor;
		if (v > 9.2e18)
			return -ERANGE;
		*ret = (u64)v;
		return 0;
	}
	return -EINVAL;
}

int parse_duration(const char *text, u64 *ret_ns)
{
	static const struct scale scales[] = {
		{"", 1e9},
		{"s", 1e9},
		{"ms", 1e6},
		{"us", 1e3},
		{"ns", 1},
		{"m", 60e9},
		{"h", 3600e9},
	};

	return parse_scaled(text, scales, ARRAY_SIZE(scales), ret_ns);
}

int parse_size(const char *text, u64 *ret_bytes)
{
	static const struct scale scales[] = {
		{"", 1},
		{"B", 1},
		{"K", 0x1p10},
		{"KB", 0x1p10},
		{"KiB", 0x1p10},
		{"k", 0x1p10},
		{"M", 0x1p20},
		{"MB", 0x1p20},
		{"MiB", 0x1p20},
		{"m", 0x1p20},
		{"G", 0x1p30},
		{"GB", 0x1p30},
		{"GiB", 0x1p30},
		{"g", 0x1p30},
		{"T", 0x1p40},
		{"t", 0x1p40},
		{"TiB", 0x1p40},
	};

	return parse_scaled(text, scales, ARRAY_SIZE(scales), ret_bytes);
}

int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int parse_u64(const char *text, u64 min, u64 max, u64 *ret)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}
