/* See program.h. */
#include "sym/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_find(const char *name, char ret[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *d; d += *d == ':') {
		size_t n = strcspn(d, ":");

		if (snprintf(ret, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? d : ".", name) <
				PATH_MAX &&
			!access(ret, X_OK))
			return true;
		d += n;
	}
	return false;
}
