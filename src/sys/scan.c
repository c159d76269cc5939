/* See scan.h. */
#include "sys/scan.h"

#include <errno.h>

#include "base/units.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool scan_line(const char **text, struct scan *ret_line)
{
	const char *p = *text;
	const char *nl;

	if (!*p)
		return false;
	nl = strchrnul(p, '\n');
	*ret_line = (struct scan){p, nl};
	*text = *nl ? nl + 1 : nl;
	return true;
}

void scan_blanks(struct scan *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
}

bool scan_u64(struct scan *s, u64 *ret)
{
	struct scan at = *s;
	u64 v = 0;

	scan_blanks(&at);
	if (scan_done(&at) || !is_digit(*at.p))
		return false;
	for (; at.p < at.end && is_digit(*at.p); at.p++) {
		if (__builtin_mul_overflow(v, 10ULL, &v) ||
			__builtin_add_overflow(v, (u64)(*at.p - '0'), &v))
			return false;
	}
	*s = at;
	*ret = v;
	return true;
}

bool scan_s64(struct scan *s, s64 *ret)
{
	struct scan at = *s;
	bool negative;
	u64 v;

	scan_blanks(&at);
	negative = !scan_done(&at) && *at.p == '-';
	if (negative)
		at.p++;
	if (scan_done(&at) || is_blank(*at.p) || !scan_u64(&at, &v) || v > (u64)INT64_MAX)
		return false;
	*s = at;
	*ret = negative ? -(s64)v : (s64)v;
	return true;
}

bool scan_hex(struct scan *s, u64 *ret)
{
	struct scan at = *s;
	const char *start;
	u64 v = 0;

	scan_blanks(&at);
	for (start = at.p; at.p < at.end && hex_value(*at.p) >= 0; at.p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (u64)hex_value(*at.p);
	}
	if (at.p == start)
		return false;
	*s = at;
	*ret = v;
	return true;
}

bool scan_u32(struct scan *s, u32 max, u32 *ret)
{
	struct scan at = *s;
	u64 v;

	if (!scan_u64(&at, &v) || v > max)
		return false;
	*s = at;
	*ret = (u32)v;
	return true;
}

bool scan_decimal(struct scan *s, double *ret)
{
	struct scan at = *s;
	double unit = 1;
	double v;
	u64 whole;

	if (!scan_u64(&at, &whole))
		return false;
	v = (double)whole;
	if (!scan_done(&at) && *at.p == '.') {
		for (at.p++; at.p < at.end && is_digit(*at.p); at.p++) {
			unit /= 10;
			v += unit * (*at.p - '0');
		}
	}
	*s = at;
	*ret = v;
	return true;
}

bool scan_lit(struct scan *s, const char *lit)
{
	struct scan at = *s;
	size_t n = strlen(lit);

	scan_blanks(&at);
	if (scan_len(&at) < n || memcmp(at.p, lit, n) != 0)
		return false;
	s->p = at.p + n;
	return true;
}

bool scan_word(struct scan *s, struct scan *ret_word)
{
	struct scan at = *s;
	const char *start;

	scan_blanks(&at);
	for (start = at.p; at.p < at.end && !is_blank(*at.p); at.p++)
		;
	if (at.p == start)
		return false;
	*s = at;
	*ret_word = (struct scan){start, at.p};
	return true;
}

bool scan_until(struct scan *s, char c, struct scan *ret)
{
	const char *hit = scan_done(s) ? NULL : memchr(s->p, c, scan_len(s));
	struct scan word;

	if (!hit)
		return false;
	word = (struct scan){s->p, hit};
	s->p = hit + 1;
	*ret = word;
	return true;
}

bool scan_zone(struct scan *s, struct zone_id *ret)
{
	struct zone_id id = {};
	struct scan at = *s;
	struct scan name;

	if (!scan_lit(&at, "Node") || !scan_u32(&at, NODES_MAX - 1, &id.node) ||
		!scan_lit(&at, ",") || !scan_lit(&at, "zone") || !scan_word(&at, &name))
		return false;
	if (name.end[-1] == ',')
		name.end--;
	if (scan_done(&name) || !scan_copy(&name, id.zone, sizeof(id.zone)))
		return false;
	*s = at;
	*ret = id;
	return true;
}

bool scan_is(const struct scan *word, const char *text)
{
	size_t n = strlen(text);

	return scan_len(word) == n && !memcmp(word->p, text, n);
}

bool scan_copy(const struct scan *word, char *buf, size_t size)
{
	size_t n = MIN(scan_len(word), size - 1);

	memcpy(buf, word->p, n);
	buf[n] = '\0';
	return n == scan_len(word);
}

bool scan_cut_deleted(struct scan *path)
{
	static const char mark[] = " (deleted)";
	size_t n = sizeof(mark) - 1;

	if (scan_len(path) <= n || memcmp(path->end - n, mark, n) != 0)
		return false;
	path->end -= n;
	return true;
}

int scan_choice(const char *text, char *ret, size_t size)
{
	struct scan word;
	struct scan s;

	if (!scan_line(&text, &s))
		return -EINVAL;
	if (scan_until(&s, '[', &word)) {
		if (!scan_until(&s, ']', &word))
			return -EINVAL;
	} else if (!scan_word(&s, &word)) {
		return -EINVAL;
	}
	if (scan_done(&word) || scan_len(&word) >= size)
		return -EINVAL;
	scan_copy(&word, ret, size);
	return 0;
}

static int octal_byte(const char *p)
{
	int v = 0;

	for (int i = 0; i < 3; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		v = v * 8 + (p[i] - '0');
	}
	return v;
}

void scan_unescape(char *text, const char *set)
{
	char *to = strchr(text, '\\');

	if (!to)
		return;
	for (const char *from = to; *from;) {
		int c = *from == '\\' ? octal_byte(from + 1) : -1;

		if (c > 0 && c < 0x80 && strchr(set, c)) {
			*to++ = (char)c;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

bool scan_store(
	const struct scan_field *table, size_t n, const struct scan *name, u64 value, void *obj)
{
	for (size_t i = 0; i < n; i++) {
		void *at = (char *)obj + table[i].offset;
		u32 narrow = (u32)value;

		if (!scan_is(name, table[i].name))
			continue;
		if (table[i].size == sizeof(u64))
			memcpy(at, &value, sizeof(value));
		else if (table[i].size == sizeof(u32) && value <= INT32_MAX)
			memcpy(at, &narrow, sizeof(narrow));
		else
			return false;
		return true;
	}
	return false;
}
