/* See str.h. */
#include "base/str.h"

#include <stdarg.h>
#include <string.h>

void str_free(struct str *s)
{
	free(s->buf);
	*s = (struct str){};
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->buf)
		s->buf[0] = '\0';
}

static bool str_reserve(struct str *s, size_t more)
{
	size_t cap = s->cap ? s->cap : 64;
	char *buf;

	if (s->failed)
		return false;
	while (cap < s->len + more + 1)
		cap *= 2;
	if (cap == s->cap)
		return true;
	buf = realloc(s->buf, cap);
	if (!buf) {
		s->failed = true;
		return false;
	}
	s->buf = buf;
	s->cap = cap;
	return true;
}

void str_addn(struct str *s, const char *text, size_t n)
{
	if (!str_reserve(s, n))
		return;
	memcpy(s->buf + s->len, text, n);
	s->len += n;
	s->buf[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !str_reserve(s, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(s->buf + s->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	s->len += (size_t)n;
}

const char *str_get(const struct str *s)
{
	return s->buf ? s->buf : "";
}

static bool utf8_cont(const char *p, size_t n, size_t want)
{
	if (n < want)
		return false;
	for (size_t i = 1; i < want; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_len(const char *p, size_t n)
{
	unsigned char c = n ? (unsigned char)p[0] : 0;
	unsigned char d = n > 1 ? (unsigned char)p[1] : 0;

	if (!n)
		return 0;
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return utf8_cont(p, n, 2) ? 2 : 0;
	if (c >= 0xe0 && c <= 0xef) {
		if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f)) /* overlong, surrogates */
			return 0;
		return utf8_cont(p, n, 3) ? 3 : 0;
	}
	if (c >= 0xf0 && c <= 0xf4) {
		if ((c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f)) /* overlong, > U+10FFFF */
			return 0;
		return utf8_cont(p, n, 4) ? 4 : 0;
	}
	return 0;
}

/* C1 control characters: U+0080 to U+009F. */
static bool utf8_is_c1(const char *p, size_t len)
{
	return len == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0;
}

void str_add_escaped(struct str *s, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		unsigned char c = (unsigned char)*text;
		size_t len = utf8_len(text, n);

		if (c == '\\') {
			str_add(s, "\\\\");
		} else if (c == '\n') {
			str_add(s, "\\n");
		} else if (c == '\t') {
			str_add(s, "\\t");
		} else if (!len || c < 0x20 || c == 0x7f || utf8_is_c1(text, len)) {
			len = len ? len : 1;
			for (size_t i = 0; i < len; i++)
				str_addf(s, "\\x%02x", (unsigned char)text[i]);
		} else {
			str_addn(s, text, len);
		}
		text += len;
		n -= len;
	}
}

size_t text_width(const char *text)
{
	size_t w = 0;

	for (; *text; text++)
		w += ((unsigned char)*text & 0xc0) != 0x80;
	return w;
}
