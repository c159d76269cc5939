/* Numbers as people write and read them: sizes (KiB), times (ms), counts (k), and back. */
#ifndef MEMWHY_BASE_UNITS_H
#define MEMWHY_BASE_UNITS_H

#include "base/types.h"

#define UNIT_BUF 24

/* Each writes at most UNIT_BUF bytes with its NUL and returns buf. Three significant digits. */
char *fmt_bytes(char buf[UNIT_BUF], u64 bytes); /* 0 B, 512 B, 4.00 KiB, 1.50 GiB */
char *fmt_ns(char buf[UNIT_BUF], u64 ns);       /* 0 ns, 850 ns, 1.25 us, 3.00 ms, 12.5 s */
char *fmt_count(char buf[UNIT_BUF], u64 n);     /* 0, 999, 12.3 k, 1.50 M (exact below 10,000) */

/* "250ms", "10s", "1.5m", "2h", "30" (seconds) to nanoseconds. -EINVAL, -ERANGE. */
int parse_duration(const char *text, u64 *ret_ns);
/* "4096", "64K", "16M", "1G", "1GiB" to bytes (powers of 1024). -EINVAL, -ERANGE. */
int parse_size(const char *text, u64 *ret_bytes);
/* A whole decimal number between min and max. -EINVAL, -ERANGE. */
int parse_u64(const char *text, u64 min, u64 max, u64 *ret);
/* 0 to 15; -1: it is no hexadecimal digit. */
int hex_value(char c);

/* What a noun ends in behind this number. */
static inline const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

#endif
