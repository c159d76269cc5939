/* See json_read.h. */
#include "base/json_read.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

struct reading {
	const char *at, *end;
	u32 depth;
	bool in_array[JSON_READ_DEPTH];
	char keys[JSON_READ_DEPTH]
		 [JSON_READ_KEY]; /* the latest at each depth; of an array its own */
	char value[JSON_READ_VALUE];
};

/* A code point in UTF-8; 0 bytes where it is none, such as one half of a pair. */
static size_t utf8_make(u32 c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return c ? 1 : 0;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c >= 0xd800 && c < 0xe000)
		return 0;
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* What follows a backslash. */
static size_t escape_read(struct reading *r, char out[4])
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char c = *r->at++;
	const char *known = c ? strchr(from, c) : NULL;
	u32 code = 0;

	if (c != 'u') {
		out[0] = known ? to[known - from] : c;
		return c ? 1 : 0;
	}
	for (int i = 0; i < 4; i++) {
		int digit = r->at < r->end ? hex_value(*r->at) : -1;

		if (digit < 0)
			return 0;
		code = code << 4 | (u32)digit;
		r->at++;
	}
	return utf8_make(code, out);
}

/* Behind its first quote. False: it has no end, or is too long for r->value. */
static bool string_read(struct reading *r)
{
	size_t n = 0, more;
	bool whole = true;

	while (r->at < r->end && *r->at != '"') {
		char bytes[4] = {*r->at++};

		more = 1;
		if (bytes[0] == '\\') {
			if (r->at == r->end)
				return false;
			more = escape_read(r, bytes);
		} else if (!bytes[0]) {
			return false;
		}
		whole = whole && n + more < sizeof(r->value);
		if (whole)
			memcpy(r->value + n, bytes, more);
		n += more;
	}
	if (r->at == r->end)
		return false;
	r->at++;
	if (whole)
		r->value[n] = '\0';
	return whole;
}

static bool is_key(struct reading *r)
{
	const char *p = r->at;

	while (p < r->end && isspace((unsigned char)*p))
		p++;
	return p < r->end && *p == ':' && r->depth && !r->in_array[r->depth - 1];
}

static void string_take(struct reading *r, json_string_fn fn, void *arg)
{
	bool whole = string_read(r);
	u32 d = r->depth;

	if (is_key(r)) {
		whole = whole && strlen(r->value) < JSON_READ_KEY;
		snprintf(r->keys[d - 1], JSON_READ_KEY, "%.*s", JSON_READ_KEY - 1,
			whole ? r->value : "");
		return;
	}
	if (whole && d)
		fn(arg, &(struct json_string){.depth = d,
				.parent = d > 1 ? r->keys[d - 2] : "",
				.key = r->keys[d - 1],
				.value = r->value});
}

static bool nested(struct reading *r, bool array)
{
	if (r->depth == JSON_READ_DEPTH)
		return false;
	r->in_array[r->depth] = array;
	snprintf(r->keys[r->depth], JSON_READ_KEY, "%s",
		array && r->depth ? r->keys[r->depth - 1] : "");
	r->depth++;
	return true;
}

void json_each_string(const char *text, size_t n, json_string_fn fn, void *arg)
{
	struct reading *r = calloc(1, sizeof(*r));
	bool goes_on = r != NULL;

	if (r) {
		r->at = text;
		r->end = text + n;
	}
	while (goes_on && r->at < r->end) {
		char c = *r->at++;

		if (c == '"')
			string_take(r, fn, arg);
		else if (c == '{' || c == '[')
			goes_on = nested(r, c == '[');
		else if ((c == '}' || c == ']') && r->depth)
			r->depth--;
	}
	free(r);
}
