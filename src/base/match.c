/* See match.h. */
#include "base/match.h"

#include <stddef.h>

/* After the set that begins behind its [, or NULL if it is not closed; whether c is in it. */
static const char *set_read(const char *p, char c, bool *ret_in)
{
	bool negated = *p == '!' || *p == '^', in = false;
	const char *first = p + negated;

	for (p = first; *p && (*p != ']' || p == first); p++) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			in |= p[0] <= c && c <= p[2];
			p += 2;
		} else {
			in |= *p == c;
		}
	}
	*ret_in = in != negated;
	return *p ? p + 1 : NULL;
}

/* After the part of the pattern that stands for one character, if it stands for c; else NULL. */
static const char *one_matches(const char *p, char c)
{
	const char *end;
	bool in;

	if (*p == '?')
		return p + 1;
	if (*p == '[' && (end = set_read(p + 1, c, &in)))
		return in ? end : NULL;
	if (*p == '\\' && p[1])
		p++;
	return *p == c ? p + 1 : NULL;
}

bool pattern_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL; /* behind the last *; where what it is for ends */

	while (*name || *pattern == '*') {
		const char *next = *pattern == '*' ? NULL : one_matches(pattern, *name);

		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (next) {
			pattern = next;
			name++;
		} else if (star) {
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
	return !*pattern;
}
