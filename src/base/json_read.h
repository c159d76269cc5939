/*
 * JSON that others wrote, read for a few of its strings, without building a tree. The input may be
 * anything; invalid JSON yields some strings or none.
 */
#ifndef MEMWHY_BASE_JSON_READ_H
#define MEMWHY_BASE_JSON_READ_H

#include <stddef.h>

#include "base/types.h"

#define JSON_READ_DEPTH 32
#define JSON_READ_KEY 96
#define JSON_READ_VALUE 4096

/* A string value. Longer keys and values are not delivered. */
struct json_string {
	u32 depth;          /* of objects and arrays around it: 1 for a member of the outermost */
	const char *parent; /* key of the object or array that it is in; "" */
	const char *key;    /* its own; in an array, the array's */
	const char *value;  /* in UTF-8 */
};

typedef void (*json_string_fn)(void *arg, const struct json_string *s);

/* Each string that is a value, in their order. Ends where it is nested too deep. */
void json_each_string(const char *text, size_t n, json_string_fn fn, void *arg);

#endif
