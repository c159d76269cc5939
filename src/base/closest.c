/* See closest.h. */
#include "base/closest.h"

#include <string.h>

#include "base/util.h"

#define CLOSEST_MAX 64

/* Levenshtein distance of two words shorter than CLOSEST_MAX. */
static size_t distance(const char *a, const char *b)
{
	size_t row[CLOSEST_MAX + 1], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t replace = diagonal + (a[i - 1] != b[j - 1]);
			size_t edit = MIN(row[j], row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = MIN(replace, edit);
		}
	}
	return row[n];
}

const char *closest(const char *name, const char *const *names, size_t n)
{
	size_t limit = MAX(2UL, strlen(name) / 3), best = limit + 1;
	const char *found = NULL;

	if (!name[0] || strlen(name) >= CLOSEST_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = strlen(names[i]) < CLOSEST_MAX ? distance(name, names[i]) : best;

		if (d >= best || d >= strlen(names[i]))
			continue;
		best = d;
		found = names[i];
	}
	return found;
}
