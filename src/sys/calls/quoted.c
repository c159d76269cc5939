/* See quoted.h. */
#include "sys/calls/quoted.h"

#include <string.h>

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void byte_add(struct str *s, unsigned char c, char next)
{
	static const char plain[] = "\n\t\r\v\f\"\\", letters[] = "ntrvf\"\\";
	const char *p = c ? strchr(plain, c) : NULL;

	if (p) {
		str_addc(s, '\\');
		str_addc(s, letters[p - plain]);
	} else if (is_plain(c)) {
		str_addc(s, (char)c);
	} else {
		str_addf(s, next >= '0' && next <= '9' ? "\\%03o" : "\\%o", c);
	}
}

void quoted_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '"');
	while (n) {
		size_t len = 0;
		bool c1;

		while (len < n && is_plain((unsigned char)p[len]))
			len++;
		str_addn(s, p, len);
		p += len;
		n -= (u32)len;
		if (!n)
			break;
		len = utf8_len(p, n);
		c1 = len == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0;
		if (len < 2 || c1) {
			byte_add(s, (unsigned char)*p, n > 1 ? p[1] : 0);
			len = 1;
		} else {
			str_addn(s, p, len);
		}
		p += len;
		n -= (u32)len;
	}
	str_add(s, cut ? "\"..." : "\"");
}

void hexed_add(struct str *s, const char *p, u32 n, bool cut)
{
	str_addc(s, '"');
	for (u32 i = 0; i < n; i++)
		str_addf(s, "\\x%02x", (unsigned char)p[i]);
	str_add(s, cut ? "\"..." : "\"");
}
