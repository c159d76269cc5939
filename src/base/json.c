/* See json.h. */
#include "base/json.h"

#include <math.h>
#include <string.h>

static void json_newline(struct json *j)
{
	if (!j->pretty)
		return;
	str_addc(j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		str_add(j->out, "  ");
}

/* The comma and the line break that come before a value or a key. */
static void json_separate(struct json *j)
{
	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (!j->depth)
		return;
	if (j->has_items[j->depth - 1])
		str_addc(j->out, ',');
	j->has_items[j->depth - 1] = true;
	json_newline(j);
}

static void json_open(struct json *j, char bracket)
{
	json_separate(j);
	str_addc(j->out, bracket);
	if (j->depth < JSON_DEPTH)
		j->has_items[j->depth++] = false;
}

static void json_close(struct json *j, char bracket)
{
	bool had = j->depth && j->has_items[j->depth - 1];

	if (j->depth)
		j->depth--;
	if (had)
		json_newline(j);
	str_addc(j->out, bracket);
}

void json_begin_object(struct json *j)
{
	json_open(j, '{');
}

void json_end_object(struct json *j)
{
	json_close(j, '}');
}

void json_begin_array(struct json *j)
{
	json_open(j, '[');
}

void json_end_array(struct json *j)
{
	json_close(j, ']');
}

/* How many bytes from s on need no escape and are ASCII. */
static size_t plain_len(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x7f && s[i] != '"' &&
		s[i] != '\\')
		i++;
	return i;
}

static void json_quote(struct str *out, const char *s)
{
	size_t n = strlen(s);

	str_addc(out, '"');
	for (;;) {
		size_t plain = plain_len(s, n), len;
		unsigned char c;

		str_addn(out, s, plain);
		s += plain;
		n -= plain;
		if (!n)
			break;
		c = (unsigned char)*s;
		len = utf8_len(s, n);
		if (c == '"' || c == '\\')
			str_addf(out, "\\%c", c);
		else if (c == '\n')
			str_add(out, "\\n");
		else if (c == '\t')
			str_add(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			str_addf(out, "\\u%04x", c);
		else if (len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0) /* C1 controls */
			str_addf(out, "\\u%04x", (unsigned char)s[1]);
		else if (!len)
			str_add(out, "\xef\xbf\xbd");
		else
			str_addn(out, s, len);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
	str_addc(out, '"');
}

void json_key(struct json *j, const char *key)
{
	json_separate(j);
	json_quote(j->out, key);
	str_add(j->out, j->pretty ? ": " : ":");
	j->after_key = true;
}

void json_str(struct json *j, const char *value)
{
	json_separate(j);
	json_quote(j->out, value);
}

void json_u64(struct json *j, u64 value)
{
	json_separate(j);
	str_add_u64(j->out, value);
}

void json_s64(struct json *j, s64 value)
{
	json_separate(j);
	str_add_s64(j->out, value);
}

void json_f64(struct json *j, double value)
{
	json_separate(j);
	if (isfinite(value))
		str_addf(j->out, "%.9g", value);
	else
		str_add(j->out, "null");
}

void json_bool(struct json *j, bool value)
{
	json_separate(j);
	str_add(j->out, value ? "true" : "false");
}

void json_null(struct json *j)
{
	json_separate(j);
	str_add(j->out, "null");
}
