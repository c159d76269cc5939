/* See kernel_data.h. */
#include "sys/kernel/kernel_data.h"

#include <stdio.h>
#include <string.h>

#include "sys/root.h"

/* A line is "address type name", and for symbols of modules "[module]" behind a tab. Returns how
 * many were found. */
static size_t line_match(const char *line, const char *const *names, size_t n, u64 *ret)
{
	const char *at = strchr(line, ' ');
	size_t len, found = 0;

	if (!at || !at[1] || at[2] != ' ')
		return 0;
	at += 3;
	len = strcspn(at, "\n");
	for (size_t i = 0; i < n; i++)
		if (!ret[i] && strlen(names[i]) == len && !memcmp(at, names[i], len)) {
			ret[i] = strtoull(line, NULL, 16);
			found += ret[i] != 0;
		}
	return found;
}

void kernel_data_find(const char *const *names, size_t n, u64 *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	char path[PATH_MAX];
	size_t cap = 0, left = n;

	memset(ret, 0, n * sizeof(*ret));
	if (sys_path(path, "/proc/kallsyms"))
		return;
	f = fopen(path, "re");
	while (f && left && getline(&line, &cap, f) > 0)
		left -= line_match(line, names, n, ret);
}
