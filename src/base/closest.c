/* See closest.h. */
#include "base/closest.h"

#include <string.h>

#include "base/util.h"

#define CLOSEST_MAX 64

/* How many letters to insert, leave out, change or swap with the next: of words shorter than
 * CLOSEST_MAX. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][CLOSEST_MAX + 1], n = strlen(b), i = 1;

	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (; a[i - 1]; i++) {
		size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t replace = last[j - 1] + (a[i - 1] != b[j - 1]);
			size_t edit = MIN(last[j], now[j - 1]) + 1;

			now[j] = MIN(replace, edit);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
	}
	return rows[(i - 1) % 3][n];
}

const char *closest(const char *name, const char *const *names, size_t n)
{
	/* two of four letters changed are another word */
	size_t limit = strlen(name) > 4 ? MAX(2UL, strlen(name) / 3) : 1, best = limit + 1;
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
