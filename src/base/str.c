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

static bool str_grow(struct str *s, size_t more)
{
	size_t cap = s->cap ? s->cap : 64;
	char *buf;

	if (s->failed)
		return false;
	while (cap < s->len + more + 1)
		cap *= 2;
	buf = realloc(s->buf, cap);
	if (!buf) {
		s->failed = true;
		return false;
	}
	s->buf = buf;
	s->cap = cap;
	return true;
}

static inline bool str_reserve(struct str *s, size_t more)
{
	return (s->cap > s->len + more && !s->failed) || str_grow(s, more);
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
	if (!str_reserve(s, 1))
		return;
	s->buf[s->len++] = c;
	s->buf[s->len] = '\0';
}

/* Formats where there is room, and once more where that was too little. */
void str_addf(struct str *s, const char *fmt, ...)
{
	size_t room = s->failed ? 0 : s->cap - s->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? s->buf + s->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room) {
		if (room)
			s->buf[s->len] = '\0';
		if (!str_reserve(s, (size_t)n))
			return;
		va_start(ap, fmt);
		n = vsnprintf(s->buf + s->len, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	s->len += n > 0 ? (size_t)n : 0;
}

void str_add_u64(struct str *s, u64 value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	str_addn(s, digits + at, sizeof(digits) - at);
}

void str_add_s64(struct str *s, s64 value)
{
	if (value < 0)
		str_addc(s, '-');
	str_add_u64(s, value < 0 ? -(u64)value : (u64)value);
}

void str_add_hex(struct str *s, u64 value)
{
	char digits[18];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	digits[--at] = 'x';
	digits[--at] = '0';
	str_addn(s, digits + at, sizeof(digits) - at);
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

static void str_add_safe(struct str *s, const char *text, const char *backslash)
{
	size_t n = strlen(text);

	while (n) {
		unsigned char c = (unsigned char)*text;
		size_t len = utf8_len(text, n);

		if (c == '\\') {
			str_add(s, backslash);
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

void str_add_escaped(struct str *s, const char *text)
{
	str_add_safe(s, text, "\\\\");
}

void str_add_printable(struct str *s, const char *text)
{
	str_add_safe(s, text, "\\");
}

bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

size_t text_width(const char *text)
{
	size_t w = 0;

	for (; *text; text++)
		w += ((unsigned char)*text & 0xc0) != 0x80;
	return w;
}
