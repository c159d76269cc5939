/*
 * A streaming JSON writer over a str. It places commas and closes nothing by itself; text is
 * escaped and bytes that are not UTF-8 are replaced by U+FFFD, so that the output is always
 * valid JSON. Depth is bounded by JSON_DEPTH.
 */
#ifndef MEMWHY_BASE_JSON_H
#define MEMWHY_BASE_JSON_H

#include "base/str.h"

#define JSON_DEPTH 32

struct json {
	struct str *out;
	bool pretty; /* one member a line, two spaces a level */
	int depth;
	bool has_items[JSON_DEPTH];
	bool after_key;
};

void json_begin_object(struct json *j);
void json_end_object(struct json *j);
void json_begin_array(struct json *j);
void json_end_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *value);
void json_u64(struct json *j, u64 value);
void json_s64(struct json *j, s64 value);
void json_f64(struct json *j, double value); /* not finite: null */
void json_bool(struct json *j, bool value);
void json_null(struct json *j);

#endif
