/*
 * A growable string. Appending never fails halfway: when memory runs out the string keeps what
 * it had and `failed` is set, to be looked at once, at the end.
 */
#ifndef MEMWHY_BASE_STR_H
#define MEMWHY_BASE_STR_H

#include "base/util.h"

struct str {
	char *buf; /* NUL-terminated once anything was added; may be NULL before */
	size_t len;
	size_t cap;
	bool failed;
};

#define _cleanup_str_ _cleanup_(str_free)

void str_free(struct str *s);
void str_clear(struct str *s);
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) _printf_(2, 3);
/* As %llu, %lld and 0x%llx, in a fraction of their time. */
void str_add_u64(struct str *s, u64 value);
void str_add_s64(struct str *s, s64 value);
void str_add_hex(struct str *s, u64 value);
/* The text, never NULL. Owned by s. */
const char *str_get(const struct str *s);

/*
 * Appends text from the system (a process name, a path, a label) so that it cannot steer a
 * terminal: control characters, DEL, C1 controls and bytes that are not UTF-8 become \n, \t or
 * \xHH, a backslash becomes two.
 */
void str_add_escaped(struct str *s, const char *text);
/* The same with backslashes as they are: of commands to copy, in which they are a shell's. */
void str_add_printable(struct str *s, const char *text);
bool begins_with(const char *text, const char *with);
/* The last part of a path: the whole of it where it has none or ends in a slash. */
const char *path_name(const char *path);
/* Columns of a terminal that UTF-8 text fills, counting each code point as one. */
size_t text_width(const char *text);
/* Bytes of the UTF-8 sequence at p (at most n bytes long), 0 if it is not valid UTF-8. */
size_t utf8_len(const char *p, size_t n);

#endif
